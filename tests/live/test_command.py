"""The command that is recorded: its status, its standard streams, its signals; --strict."""
import os
import pty
import signal
import subprocess
import threading
import time

from wicktest import (WICK, Skip, check, count, is_root, main, need_paranoid, says_no_samples,
                      test, truth_of, user_record, wait_until)


@test
def exit_status_is_the_commands(box):
    for status in (0, 1, 7, 255):
        done = box.wick("record", "--", "sh", "-c", "exit %d" % status)
        check(done.status == status, done.status, status, done.err)


@test
def a_signal_is_128_and_its_number(box):
    for name, number in (("TERM", 15), ("KILL", 9), ("SEGV", 11)):
        # check_sane() would take the command's SEGV for wick's own.
        done = box.run(WICK, "record", "--", "sh", "-c", "kill -%s $$" % name)
        check(done.status == 128 + number, name, done.status, done.err)


@test
def a_command_that_does_not_exist(box):
    done = box.wick("record", "--", "no-such-program-anywhere")
    check(done.status == 127, done.status)
    check("no-such-program-anywhere" in done.err, done.err)
    check(not os.path.exists(box.path("perf.data")), "a recording of nothing was left")


@test
def a_command_that_is_not_executable(box):
    path = box.write("plain", "text\n")
    os.chmod(path, 0o644)
    for command in (path, box.folder):
        done = box.wick("record", "--", command)
        check(done.status == 126, command, done.status)
        check(os.path.basename(command) in done.err, done.err)


@test
def options_of_the_command_are_not_ours(box):
    done = box.wick("record", "--", "echo", "-o", "--help", "--").ok()
    check(done.out == "-o --help --\n", repr(done.out))
    done = box.wick("record", "echo", "-n", "x").ok()
    check(done.out == "x", repr(done.out))


@test
def stdin_stdout_and_stderr_are_the_commands(box):
    feed = bytes(range(256)) * 4096
    path = box.path("copy")
    done = box.run(WICK, "record", "--", "sh", "-c", "cat >%s; echo out; echo err >&2" % path,
                   feed=feed)
    check(done.status == 0)
    check(open(path, "rb").read() == feed, "stdin was changed")
    check(done.out == "out\n", repr(done.out))
    check("err\n" in done.err, done.err)


@test
def no_descriptor_of_ours_reaches_the_command(box):
    plain = box.run("sh", "-c", "ls -l /proc/self/fd").out
    done = box.wick("record", "--", "sh", "-c", "ls -l /proc/self/fd").ok()
    check("perf_event" not in done.out and "perf.data" not in done.out, done.out)
    check(len(done.out.splitlines()) == len(plain.splitlines()), plain, done.out)


@test
def signal_dispositions_of_the_command_are_untouched(box):
    command = ["sh", "-c", "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"]
    plain = box.run(*command).out
    done = box.wick("record", "--", *command).ok()
    check(done.out == plain, plain, done.out)


@test
def interrupt_keeps_the_data(box):
    for number in (signal.SIGINT, signal.SIGTERM):
        recorder = box.start(WICK, "record", "-F", "2000", "--", box.build("shares.c"), "30", "50")
        wait_until(lambda: "wick" not in comm_of_child(recorder.pid), 10, "the command starts")
        time.sleep(0.7)
        recorder.signal(number)
        done = recorder.wait(10)
        check("Sanitizer" not in done.err, done.err)
        samples = box.script()
        check(count(samples, "burn_a") > 300, number, len(samples), done.err)
        check(children_of(recorder.pid) == [], "the command was left running")
        os.unlink(box.path("perf.data"))


def children_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def comm_of_child(pid):
    for child in children_of(pid):
        try:
            with open("/proc/%d/comm" % child) as file:
                return file.read()
        except OSError:
            pass
    return "wick"


@test
def ctrl_c_on_a_terminal_ends_both_and_keeps_the_data(box):
    """The terminal sends the signal to the whole group: to wick and to the command."""
    leader, follower = pty.openpty()
    script = "%s record -F 2000 -- %s 30 50; echo \"status $?\"" % (WICK, box.build("shares.c"))
    shell = subprocess.Popen(["bash", "-mc", script], stdin=follower, stdout=follower,
                             stderr=follower, cwd=box.folder, start_new_session=True,
                             preexec_fn=lambda: take_terminal(follower))
    os.close(follower)
    said = []
    reader = threading.Thread(target=lambda: read_all(leader, said), daemon=True)
    reader.start()
    time.sleep(1.5)
    os.write(leader, b"\x03")
    try:
        shell.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        raise AssertionError("Ctrl-C does not end it: %r" % b"".join(said)[-500:])
    reader.join(5)
    check(count(box.script(), "burn_a") > 300, b"".join(said)[-500:])


def take_terminal(fd):
    import fcntl
    import termios
    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)


def read_all(fd, said):
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError:
            return
        if not data:
            return
        said.append(data)


@test
def a_recording_is_private_and_the_old_one_is_kept(box):
    box.record("--", box.build("shares.c"), "0.1", "50")
    first = open(box.path("perf.data"), "rb").read()
    box.record("--", box.build("shares.c"), "0.1", "0", "50")
    check(os.stat(box.path("perf.data")).st_mode & 0o777 == 0o600)
    check(open(box.path("perf.data.old"), "rb").read() == first, "perf.data.old is not the old one")


@test
def under_sudo_the_file_belongs_to_the_user(box):
    if not is_root():
        raise Skip("needs root")
    env = dict(os.environ, SUDO_UID="12345", SUDO_GID="23456")
    box.record("--", "true", env=env)
    stat = os.stat(box.path("perf.data"))
    check((stat.st_uid, stat.st_gid) == (12345, 23456), stat.st_uid, stat.st_gid)


@test
def a_command_that_ends_at_once(box):
    for _ in range(5):
        box.record("--", "true")
    report = box.wick("report").ok()
    check(says_no_samples(report) or box.script(), report.out)


@test
def strict_without_samples_is_3(box):
    done = box.wick("record", "--strict", "--", "sleep", "0.2")
    check(len(box.script()) > 0 or done.status == 3, done.status, done.err)
    done = box.wick("record", "--strict", "-c", "1000000000000", "--", "true")
    check(done.status == 3, done.status, done.err)
    check(done.err.strip())


@test
def strict_that_is_satisfied_is_0(box):
    box.record("--strict", "--", box.build("shares.c"), "0.5", "50")


@test
def strict_that_falls_short_is_4(box):
    """Threads that are shorter than a period are not seen where threads are followed."""
    need_paranoid(-1, 2)
    short = (box.build("shortlived.c"), "600", "400")
    done = user_record(box, "--strict", "-F", "499", "--", *short)
    check(done.status in (3, 4), done.status, done.err)
    quality = box.report()["quality"]
    if quality["samples"]:
        check(done.status == 4 and quality["coverage"] < 0.9, done.status, quality)
    check("overage" in done.err or says_no_samples(done), done.err)


@test
def short_threads_are_seen_with_privilege(box):
    if not is_root():
        raise Skip("needs root")
    done = box.record("--", box.build("shortlived.c"), "1000", "700")
    quality = box.report()["quality"]
    if quality["scope"] != "cgroup":
        raise Skip("no cgroup v2 to confine the command to: " + quality["scope"])
    sampled_ns = sum(s.period for s in box.script())
    check(sampled_ns > 0.95 * truth_of(done.out)["cpu_ns"], sampled_ns, done.out)
    check(quality["coverage"] > 0.97 and quality["coverage_clock"] > 0.95, quality)


@test
def strict_does_not_hide_the_commands_failure(box):
    done = box.wick("record", "--strict", "--", "sh", "-c", "exit 9")
    check(done.status == 9, done.status)


@test
def without_strict_no_samples_is_no_failure_but_loud(box):
    done = box.wick("record", "-c", "1000000000000", "--", "true")
    check(done.status == 0, done.status)
    check(says_no_samples(done), done.err)


if __name__ == "__main__":
    main()
