"""wick doctor: as root, as an ordinary user, under seccomp filters; it says what is so."""
import fcntl
import json
import os
import pty
import re
import resource
import shutil
import struct
import subprocess
import termios

from wicktest import WICK, Skip, as_user, check, is_root, main, need_paranoid, test

STATES = ("works", "limited", "refused", "absent")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Doctor:
    """The JSON of a run, by the findings' names."""

    def __init__(self, done):
        self.status = done.status
        self.whole = json.loads(done.out)
        check(self.whole["schema"] == "wick-doctor-1", self.whole["schema"])
        self.findings = {f["id"]: f for f in self.whole["findings"]}
        check(len(self.findings) == len(self.whole["findings"]), "an id comes twice")
        for finding in self.whole["findings"]:
            check(finding["state"] in STATES, finding)
            if finding["state"] == "refused":
                check(finding["knob"] and (finding["remedy"] or finding["capability"]), finding)
        check(self.status == (0 if self.whole["can_record"] else 1), self.status)

    def state(self, name):
        return self.findings[name]["state"]

    def knob(self, name):
        return self.findings[name].get("knob", "")


def doctor(box, *before, wick=WICK, **options):
    return Doctor(box.run(*before, wick, "doctor", "--format", "json", **options).check_sane())


def cgroups():
    """The cgroups of recorders that are there now."""
    found = []
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split()[4] for line in file if " - cgroup2 " in line]
    for mount in mounts:
        for folder, names, _ in os.walk(mount):
            found += [os.path.join(folder, n) for n in names if n.startswith("wick-")]
    return set(found)


def in_terminal(columns, *command):
    """What a command prints on a terminal of that width, and its lines without colours."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", NO_COLOR="")
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execv(command[0], command)
    data = b""
    try:
        while True:
            data += os.read(fd, 65536)
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(fd)
    text = data.decode().replace("\r", "")
    return text, COLOURS.sub("", text).split("\n")


@test
def what_works_is_what_records(box):
    report = doctor(box)
    done = box.wick("record", "--", "true")
    check((done.status in (0, 3)) == report.whole["can_record"], done.status, done.err)
    if report.whole["can_record"]:
        event = box.report()["quality"]["event"].split(":")[0]
        check(report.whole["record"]["command"].startswith(event), event,
              report.whole["record"])


@test
def root_may_everything(box):
    if not is_root():
        raise Skip("needs root")
    report = doctor(box)
    if report.whole["system"]["user_namespace"] or report.whole["system"]["seccomp"] == 2:
        raise Skip("a container's root")
    for name in ("clock-user", "clock-kernel", "system-wide", "other-user", "rings"):
        check(report.state(name) in ("works", "limited"), report.findings[name])
    check(report.whole["capabilities_wanted"] == "", report.whole["capabilities_wanted"])


@test
def nothing_stays_behind(box):
    before, old = cgroups(), set(os.listdir("/proc"))
    doctor(box)
    check(cgroups() <= before, cgroups() - before)
    orphans = []
    for pid in set(os.listdir("/proc")) - old:
        try:
            with open("/proc/%s/comm" % pid) as file:
                orphans += [pid] if file.read().startswith("wick") else []
        except OSError:
            pass
    check(not orphans, orphans)
    check(not os.listdir(box.folder) or set(os.listdir(box.folder)) == {"out0", "err0"},
          os.listdir(box.folder))


@test
def an_ordinary_user_hears_of_paranoid_2(box):
    need_paranoid(2, 2)
    prefix, wick = as_user(box)
    report = doctor(box, *prefix, wick=wick)
    if report.whole["system"]["seccomp"] == 2:
        raise Skip("a container's filter")
    check(report.state("clock-user") == "works", report.findings["clock-user"])
    for name in ("clock-kernel", "system-wide"):
        check(report.state(name) == "refused", report.findings[name])
        check("perf_event_paranoid = 2" in report.knob(name), report.findings[name])
        check("sysctl kernel.perf_event_paranoid=" in report.findings[name]["remedy"],
              report.findings[name])
    check("cap_perfmon" in report.whole["capabilities_wanted"], report.whole)
    check(report.whole["can_record"] and "user code only" in report.whole["record"]["command"])


@test
def the_sysctl_that_it_names_helps(box):
    if not is_root():
        raise Skip("needs root to turn the knob")
    need_paranoid(2, 2)
    prefix, wick = as_user(box)
    path = "/proc/sys/kernel/perf_event_paranoid"
    remedies = {}
    report = doctor(box, *prefix, wick=wick)
    for name in ("clock-kernel", "system-wide", "kernel-symbols"):
        if report.state(name) == "refused":
            remedies[name] = re.search(r"perf_event_paranoid=(-?\d)",
                                       report.findings[name]["remedy"]).group(1)
    check(remedies, report.findings)
    try:
        for name, value in remedies.items():
            with open(path, "w") as file:
                file.write(value)
            check(doctor(box, *prefix, wick=wick).state(name) == "works", name, value)
    finally:
        with open(path, "w") as file:
            file.write("2")


@test
def the_capabilities_that_it_names_help(box):
    if not (is_root() and shutil.which("setcap")):
        raise Skip("needs root and setcap")
    need_paranoid(2, 2)
    prefix, _ = as_user(box)
    prefix = [word for word in prefix if "bounding" not in word]
    wick = box.path("wick-capable")
    shutil.copy(WICK, wick)
    os.chmod(wick, 0o755)
    report = doctor(box, *prefix, wick=wick)
    wanted = report.whole["capabilities_wanted"]
    check(wanted, report.whole)
    done = subprocess.run(["setcap", wanted + "=ep", wick], stderr=subprocess.PIPE)
    if done.returncode:
        raise Skip("no file capabilities on this file system: %s" % done.stderr)
    named = [f["id"] for f in report.findings.values() if f.get("capability")]
    after = doctor(box, *prefix, wick=wick)
    for name in named:
        check(after.state(name) == "works", after.findings[name])


@test
def a_seccomp_filter_is_named(box):
    refuse = box.build("refuse.c")
    for number, word in (("1", "EPERM"), ("38", "ENOSYS")):
        done = box.run(refuse, number, WICK, "doctor").check_sane()
        if done.status == 77:
            raise Skip("no seccomp filters here")
        check(done.status == 1, done.status)
        check("seccomp filter" in done.out and word in done.out, done.out)
        check("cannot be recorded here" in done.out, done.out)
        report = doctor(box, refuse, number)
        check("seccomp" in report.knob("clock-user"), report.findings["clock-user"])
        check(report.findings["clock-user"]["remedy"], report.findings["clock-user"])


@test
def little_memory_to_lock_is_named(box):
    need_paranoid(0, 2)
    prefix, wick = as_user(box)
    report = doctor(box, *prefix, wick=wick,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)))
    check(report.state("rings") == "limited", report.findings["rings"])
    check("mlock" in report.knob("rings").lower(), report.findings["rings"])


@test
def few_descriptors_are_named(box):
    report = doctor(box, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                               (64, 64)))
    check(report.state("files") == "limited", report.findings["files"])
    check("RLIMIT_NOFILE" in report.knob("files"), report.findings["files"])


@test
def it_fits_a_terminal(box):
    prefix, wick = as_user(box)
    before = [shutil.which(prefix[0])] + prefix[1:] if prefix else []
    for columns in (80, 40):
        text, lines = in_terminal(columns, *before, wick, "doctor")
        check("\x1b[32mworks" in text, "no colour on a terminal:", text[:300])
        for line in lines:
            # Commands are whole, so that they can be copied.
            copied = re.match(r"\s+(do  |setcap) ", line) and columns < 80
            check(copied or len(line) <= columns, len(line), line)


@test
def no_colour_elsewhere(box):
    check("\x1b" not in box.wick("doctor").out)


@test
def words_that_it_does_not_know(box):
    for words in (["--format", "xml"], ["--frobnicate"], ["operand"]):
        done = box.wick("doctor", *words)
        check(done.status == 2 and done.err, words, done.status)


if __name__ == "__main__":
    main()
