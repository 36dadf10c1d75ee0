"""Where little is permitted: an ordinary user, a seccomp filter, no space, few descriptors."""
import os
import resource
import shutil
import subprocess

from wicktest import (NOBODY, WICK, Skip, check, is_root, lost_of, main, need_paranoid, paranoid,
                      test, truth_of, user_record)


@test
def an_ordinary_user_sees_the_user_part(box):
    need_paranoid(2, 2)
    done = user_record(box, "-F", "2000", "--", box.build("shares.c"), "0.6", "80", "20")
    check(done.status == 0, done.err)
    samples = box.script()
    check(len(samples) > 900, len(samples))
    check(all(s.frames[0][0] < 1 << 63 for s in samples if s.frames), "kernel frames")
    quality = box.report()["quality"]
    check(quality["coverage"] > 0.95, quality)


@test
def a_smaller_buffer_wakes_its_reader_in_time(box):
    need_paranoid(2, 2)
    lost = []
    for _ in range(6):
        done = user_record(box, "-F", "2000", "--", box.build("shares.c"), "0.5", "80", "20")
        check(done.status == 0, done.err)
        lost.append(lost_of(box.report()["quality"]))
    check(sum(lost) < 0.05 * 6 * 1000, lost)


@test
def hidden_kernel_time_is_said(box):
    need_paranoid(2, 2)
    done = user_record(box, "-F", "2000", "--", box.build("syscalls.c"), "500")
    check(done.status == 0, done.err)
    truth = truth_of(done.out)
    check(truth["kernel_ns"] > 0.6 * truth["cpu_ns"], truth)
    quality = box.report()["quality"]
    check(abs(quality["hidden_share"] - truth["kernel_ns"] / truth["cpu_ns"]) < 0.15,
          quality["hidden_share"], truth)
    report = box.wick("report").ok()
    check("kernel" in report.out and "perf_event_paranoid" in report.out, report.out)
    check("kernel" in done.err, done.err)


@test
def an_ordinary_user_gets_the_file(box):
    need_paranoid(-1, 2)
    if not is_root():
        raise Skip("we are one already")
    user_record(box, "--", "true").ok()
    check(os.stat(box.path("perf.data")).st_uid == NOBODY)


@test
def another_users_process(box):
    need_paranoid(-1, 2)
    if not is_root():
        raise Skip("needs root to have two users")
    victim = box.start("sleep", "30")
    done = user_record(box, "-p", victim.pid)
    check(done.status not in (0, 3, 4), done.status)
    check("perm" in done.err.lower() or "allow" in done.err.lower(), done.err)
    check(str(victim.pid) in done.err, done.err)


@test
def paranoid_3_says_its_name(box):
    if not (is_root() and paranoid() <= 2):
        raise Skip("needs root to set kernel.perf_event_paranoid")
    path = "/proc/sys/kernel/perf_event_paranoid"
    old = open(path).read()
    try:
        with open(path, "w") as file:
            file.write("3")
        done = user_record(box, "--", "true")
        # The upstream kernel treats 3 as 2; Debian's and Ubuntu's refuse everything.
        if done.status != 0:
            check("perf_event_paranoid" in done.err, done.err)
    finally:
        with open(path, "w") as file:
            file.write(old)


@test
def a_seccomp_filter_is_named(box):
    refuse = box.build("refuse.c")
    for number in ("1", "38"):  # EPERM as Docker answers, ENOSYS as it did before
        marker = box.path("ran" + number)
        done = box.run(refuse, number, WICK, "record", "--", "touch", marker).check_sane()
        if done.status == 77:
            raise Skip("no seccomp filters here")
        check(done.status not in (0, 3, 4), done.status)
        check("seccomp" in done.err, done.err)
        check(not os.path.exists(marker), "the command ran without a profile")
        check(not os.path.exists(box.path("perf.data")), "an empty recording was left")


@test
def few_descriptors(box):
    program = box.start(box.build("threads.c"), 60, 0, 100, "wait", stdin=subprocess.PIPE)
    program.wait_line("ready")

    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    done = box.run(WICK, "record", "-d", "1", "-p", program.pid, preexec_fn=lower).check_sane()
    check(done.status != 0, "60 threads with 40 descriptors")
    check("descriptor" in done.err or "RLIMIT_NOFILE" in done.err or "ulimit" in done.err,
          done.err)


@test
def a_low_soft_limit_is_raised(box):
    program = box.start(box.build("threads.c"), 60, 0, 50, "wait", stdin=subprocess.PIPE)
    program.wait_line("ready")

    def lower():
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard))

    recorder = box.attach("-F", "2000", "-p", program.pid, preexec_fn=lower)
    program.say("go\n")
    truth = truth_of(program.wait().out)
    recorder.wait().ok()
    sampled = len(box.script())
    check(abs(sampled * 5e5 / truth["cpu_ns"] - 1) < 0.15, sampled, truth["cpu_ns"])


@test
def ring_memory_is_halved_until_it_fits(box):
    need_paranoid(0, 2)

    def lower():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))

    done = user_record(box, "-m", "4096", "--", box.build("shares.c"), "0.3", "50",
                       preexec_fn=lower).ok()
    sampled, lost = len(box.script()), lost_of(box.report()["quality"])
    check(sampled > 20 and sampled + lost > 200, sampled, lost)
    check("page" in done.err or "ring" in done.err or "mlock" in done.err.lower(), done.err)


@test
def a_full_disk_keeps_what_was_written(box):
    if not (is_root() and shutil.which("unshare")):
        raise Skip("needs root to mount a small file system")
    script = ("mkdir small && mount -t tmpfs -o size=3m none small && cd small && "
              "%s record -F 10000 --compression none -o perf.data -- %s 2 0 1200; "
              "echo status=$?; cp perf.data .. ; cd ..; umount small"
              % (WICK, box.build("threads.c")))
    done = box.run("unshare", "-m", "sh", "-c", script).check_sane()
    check("status=" in done.out, done.out, done.err)
    check("full" in done.err or "No space left" in done.err, done.err)
    check("status=0" not in done.out, "a recording that lacks its end is no success:", done.out)
    check(os.path.exists(box.path("perf.data")), done.err)
    samples = box.script()
    check(len(samples) > 5000, len(samples))
    check(not box.wick("report").ok().err)


@test
def a_file_size_limit_keeps_what_was_written(box):
    def lower():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, 2 << 20))

    done = box.run(WICK, "record", "-F", "10000", "--compression", "none", "--",
                   box.build("threads.c"), "2", "0", "1000", preexec_fn=lower)
    check(done.status not in (0, 128 + 25), "SIGXFSZ or no word of it:", done.status)
    check(done.err.strip())
    check(len(box.script()) > 3000, done.err)


@test
def output_that_cannot_be_written(box):
    for path in ("/dev/full", "/nonexistent/perf.data", box.folder):
        marker = box.path("ran")
        done = box.wick("record", "-o", path, "--", "touch", marker)
        check(done.status != 0, path, done.status)
        check(path in done.err, path, done.err)
        if path != "/dev/full":
            check(not os.path.exists(marker), "the command ran without a file to write to")
    check(os.path.exists("/dev/full"), "/dev/full was renamed away")


if __name__ == "__main__":
    main()
