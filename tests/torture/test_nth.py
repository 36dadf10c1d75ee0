"""The nth allocation, the nth system call of a short script fail: each must be survived or told.

A run that only counts finds every call and where it comes from. The calls are failed in a random
order, those from new places first, until the budget is used up.
"""
import errno
import glob
import os
import re
import shutil
import subprocess
import threading

from torture import (Budget, cgroups_of, check_failure, dice, processes_in, say)
from wicktest import WICK, Box, Skip, check, main, parse_script, test

BUILDS = ("build", "build-asan")
HERE = os.path.dirname(os.path.abspath(__file__))
HANG_S = 20
BURN_MS = 4
SHOWN_MOST = 12
WORKERS = 3
HZ = 5000

SHORT = 0
CODES = {
    "alloc": [errno.ENOMEM],
    "open": [errno.EMFILE, errno.EACCES],
    "read": [errno.EIO, errno.EINTR],
    "write": [errno.ENOSPC, errno.EINTR, SHORT, errno.EIO],
    "mmap": [errno.ENOMEM, errno.EPERM],
    "ioctl": [errno.EIO],
    "poll": [errno.EINTR, errno.ENOMEM],
    "fork": [errno.EAGAIN],
    "pipe": [errno.EMFILE],
    "fcntl": [errno.EMFILE],
    "signalfd": [errno.EMFILE],
    "vmread": [errno.EPERM],
    "syscall": [errno.EMFILE, errno.ENOSYS, errno.EACCES],
    "space": [errno.ENOSPC, errno.EOPNOTSUPP],
    "names": [errno.EACCES],
    "stat": [errno.EACCES],
    "wait": [errno.EINTR],
}
HARMLESS = (errno.EINTR, SHORT)  # nothing was wrong: it must succeed


def shim(box):
    return box.build("nth", "-shared", "-fPIC", "-fno-sanitize=all", "-lgcc_s",
                     sources=[os.path.join(HERE, "nth.c")], output="nth.so")


def brief(box):
    return box.build("brief", sources=[os.path.join(HERE, "programs", "brief.c")],
                     output="brief")


def preload(box):
    """The shim, and behind it the sanitizer's library where wick is linked with it."""
    words = [shim(box)]
    done = subprocess.run(["ldd", WICK], stdout=subprocess.PIPE, text=True)
    found = re.search(r"libasan\S* => (\S+)", done.stdout)
    if found:
        words.append(found.group(1))
    return ":".join(words)


class Script:
    """One command of the script, and what its success looks like."""

    def __init__(self, box, name, words, judge):
        self.box = box
        self.name = name
        self.words = words
        self.judge = judge
        self.preload = preload(box)

    def run(self, box, plan):
        log = box.path("log")
        if os.path.exists(log):
            os.unlink(log)
        env = dict(os.environ)
        env.update(WICK_NTH=plan, WICK_NTH_LOG=log, LD_PRELOAD=self.preload)
        env["ASAN_OPTIONS"] = (env.get("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=1") +
                               ":verify_asan_link_order=0:allocator_may_return_null=1")
        env["LSAN_OPTIONS"] = "suppressions=%s:print_suppressions=0" % os.path.join(
            HERE, "lsan.supp")
        done = box.run("setarch", "-R", "env", *["%s=%s" % (key, env[key]) for key in (
            "WICK_NTH", "WICK_NTH_LOG", "LD_PRELOAD", "ASAN_OPTIONS", "LSAN_OPTIONS")],
                            WICK, *self.words, timeout=HANG_S)
        done.pid = box.running[-1].pid
        fired = []
        if os.path.exists(log):
            with open(log) as file:
                fired = [line.split() for line in file]
        return done, fired

    def points(self):
        """[(kind, n)] of every call, the first ones of each place in front."""
        done, calls = self.run(self.box, "count:0:0")
        done.check_sane().ok()
        self.judge(self.box, done, True)
        first, rest, places = [], [], set()
        for kind, n, place in calls:
            (rest if (kind, place) in places else first).append((kind, int(n)))
            places.add((kind, place))
        return first, rest


IMAGE_BASE = 0x555555554000  # of a PIE without address randomization


def told_place(fired):
    """The functions around the call that failed, innermost first."""
    if not fired or not shutil.which("addr2line"):
        return ""
    # Return addresses: the call is before them.
    addresses = ["%#x" % (int(word, 16) - IMAGE_BASE - 1) for word in fired[0][3:]]
    done = subprocess.run(["addr2line", "-fse", WICK] + addresses, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    lines = done.stdout.splitlines()
    return " < ".join("%s:%s" % (name, place.rpartition(":")[2].split()[0])
                      for name, place in zip(lines[::2], lines[1::2]) if name != "??")


def clean(box):
    for path in glob.glob(os.path.join(glob.escape(box.folder), "*")):
        if os.path.basename(path) in ("began", "done", "new.data", "new.data.old", "x.svg", "x.folded"):
            os.unlink(path)


def judge_record(box, done, harmless):
    began, ended = (os.path.exists(box.path(name)) for name in ("began", "done"))
    check(began == ended, "the command began and was left unfinished")
    check(not processes_in(box.folder), "left behind:", processes_in(box.folder))
    check(not cgroups_of(done.pid), "left behind:", cgroups_of(done.pid))
    if not os.path.exists(box.path("new.data")):
        check(done.status != 0, "success, and no file")
        return
    read = box.wick("script", "-i", "new.data")
    if done.status:
        if read.status:
            check_failure(read)
        return
    check(ended, "success without the command")
    samples = len(parse_script(read.ok().out))
    check(samples > BURN_MS * HZ / 1000 / 2 or not harmless and "NONE" in done.err,
          "%d samples" % samples, done.err)


def judge_same(expected, normal=lambda text: text):
    """Reading gives the same text; or less, where it says so (names, lines that are missing)."""
    def judge(box, done, harmless):
        if done.status:
            return
        out = normal(done.out)
        if harmless or not expected:
            if not expected:
                expected.append(out)
            check(out == expected[0], "another output:", out[:800])
            return
        check(counts(out) == counts(expected[0]), "other samples:", out[:800])
        if "Samples" in out and out != expected[0]:
            check(names_line(out) != names_line(expected[0]),
                  "less is named, and it does not say so:", first_difference(expected[0], out))
    return judge


def names_line(text):
    return re.findall(r"^.. (?:Names|Note) .*$", text, re.MULTILINE)


def first_difference(before, after):
    for one, other in zip(before.splitlines(), after.splitlines()):
        if one != other:
            return "%r became %r" % (one, other)
    return "its length"


def counts(text):
    """What must not change in a report or script when names cannot be had."""
    if "Samples" in text:
        return re.findall(r"Samples +\S+ in \S+ \S+", text)
    return [(s.tid, s.time, s.period, [f[0] for f in s.frames]) for s in parse_script(text)]


def judge_file(name, end):
    """What was written is what a run writes to which nothing happens."""
    whole = []

    def judge(box, done, harmless):
        if done.status:
            return
        with open(box.path(name)) as file:
            text = file.read()
        if not whole:
            whole.append(text)
        check(text.endswith(end), "success, and an end is missing:", text[-200:])
        check(text == whole[0], "another picture:", first_difference(whole[0], text))
    return judge


lock = threading.Lock()


def queue_of(items):
    """The next item, one worker at a time."""
    while True:
        with lock:
            item = next(items, None)
        if item is None:
            return
        yield item


def try_one(box, script, plan, code):
    """("missed", "failed" or "survived", the fault or None) of one call that fails."""
    fired = []
    clean(box)
    try:
        done, fired = script.run(box, plan)
        done.check_sane()
        if done.status:
            check(code not in HARMLESS or not fired,
                  "what was harmless failed:", done.err[-500:])
            check_failure(done)
        script.judge(box, done, code in HARMLESS)
    except Exception as fault:
        return "failed", "%s\n%s" % (told_place(fired), fault)
    finally:
        box.running.clear()
        box.log.clear()
    return "missed" if not fired else "failed" if done.status else "survived", None


def torture(box, script, seconds):
    """Fails call after call until the budget is used up; all faults are shown, then it fails."""
    random = dice(script.name)
    first, rest = script.points()
    random.shuffle(first)
    random.shuffle(rest)
    todo = [(kind, n, random.choice(CODES[kind])) for kind, n in first]
    for kind, n in first:
        todo += [(kind, n, code) for code in CODES[kind] if (kind, n, code) not in todo]
    todo += [(kind, n, random.choice(CODES[kind])) for kind, n in rest]
    only = os.environ.get("WICK_TORTURE_ONLY")  # "alloc:17:12", as a fault is shown
    if only:
        kind, n, code = only.split(":")
        todo = [(kind, int(n), int(code))]
    budget = Budget(seconds)
    queue = iter(todo)
    tried, results, faults = {}, [], []

    def work():
        with Box() as own:
            for kind, n, code in queue_of(queue):
                if budget.left() < 0:
                    return
                result, fault = try_one(own, script, "%s:%d:%d" % (kind, n, code), code)
                with lock:
                    results.append(result)
                    tried[kind] = tried.get(kind, 0) + 1
                    if fault:
                        faults.append(("%s:%d:%d" % (kind, n, code), fault))

    workers = [threading.Thread(target=work) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    missed, failed = results.count("missed"), results.count("failed")
    total = {}
    for kind, _ in first + rest:
        total[kind] = total.get(kind, 0) + 1
    say("%s: %d calls failed at %d places of %d (%d calls in all): %d runs succeeded, %d told of "
        "a failure, %d never came there" % (
            script.name, sum(tried.values()), min(sum(tried.values()), len(first)), len(first),
            sum(total.values()), results.count("survived"), failed, missed))
    say("  " + ", ".join("%s %d" % (kind, tried[kind]) for kind in sorted(tried)))
    for plan, fault in faults[:SHOWN_MOST]:
        say("WICK_TORTURE_ONLY=%s %s: %s" % (plan, script.name, fault[:1500]))
    check(not faults, "%d faults, see above" % len(faults))


@test
def a_recording_survives_or_says(box):
    torture(box, Script(box, "record", [
        "record", "-F", HZ, "-o", "new.data", "--", brief(box), BURN_MS], judge_record), 4)


def recorded(box):
    done = box.wick("record", "-F", HZ, "-o", "old.data", "--", brief(box), BURN_MS)
    if done.status and not os.path.exists(box.path("old.data")):
        raise Skip("nothing can be recorded here: " + done.err.strip())
    done.ok()


@test
def a_report_is_right_or_says(box):
    recorded(box)
    torture(box, Script(box, "report", ["report", "-i", box.path("old.data")], judge_same([])), 2)


@test
def a_script_is_right_or_says(box):
    recorded(box)
    torture(box, Script(box, "script", ["script", "-i", box.path("old.data")], judge_same([])), 1)


@test
def a_picture_is_whole_or_it_says(box):
    recorded(box)
    torture(box, Script(box, "export", ["export", "-i", box.path("old.data"), "-o", "x.svg"],
                        judge_file("x.svg", "</svg>\n")),
            1)


@test
def folded_stacks_are_whole_or_it_says(box):
    recorded(box)
    torture(box, Script(box, "folded", ["export", "-i", box.path("old.data"), "-o", "x.folded"],
                        judge_file("x.folded", "\n")), 1)


if __name__ == "__main__":
    main()
