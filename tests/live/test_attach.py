"""-p and -t: every thread that is there exactly once, and every one that comes later."""
import os
import signal
import subprocess
import time

from test_follow import by_tid, check_threads
from wicktest import (check, count, main, perf_fds, says_no_samples, test, truth_of,
                      wait_until)

RATE = 2000
PERIOD_NS = 1e9 / RATE


def waiting_program(box, threads, late, msec):
    program = box.start(box.build("threads.c"), threads, late, msec, "wait",
                        stdin=subprocess.PIPE)
    program.wait_line("ready")
    return program


def all_tids(pid):
    return sorted(int(tid) for tid in os.listdir("/proc/%d/task" % pid))


@test
def every_thread_exactly_once(box):
    program = waiting_program(box, 5, 0, 400)
    recorder = box.attach("-F", RATE, "-p", program.pid)
    program.say("go\n")
    truth = truth_of(program.wait().out)
    recorder.wait().ok()
    check_threads(box.script(), truth, PERIOD_NS)


@test
def threads_that_come_later_too(box):
    program = waiting_program(box, 4, 4, 400)
    recorder = box.attach("-F", RATE, "-p", program.pid)
    program.say("go\n")
    truth = truth_of(program.wait().out)
    recorder.wait().ok()
    check_threads(box.script(), truth, PERIOD_NS)


@test
def several_pids(box):
    programs = [waiting_program(box, 1, 1, 400) for _ in range(3)]
    recorder = box.attach("-F", RATE, "-p", ",".join(str(p.pid) for p in programs))
    for program in programs:
        program.say("go\n")
    truths = [truth_of(program.wait().out) for program in programs]
    recorder.wait().ok()
    samples = box.script()
    together = {"threads": [thread for truth in truths for thread in truth["threads"]]}
    check_threads(samples, together, PERIOD_NS)


@test
def one_thread_only(box):
    program = waiting_program(box, 4, 0, 300)
    tid = [tid for tid in all_tids(program.pid) if tid != program.pid][1]
    recorder = box.attach("-F", RATE, "-t", tid)
    program.say("go\n")
    truth = truth_of(program.wait().out)
    recorder.wait().ok()
    found = by_tid(box.script())
    check(set(found) == {tid}, "samples of other threads:", {k: len(v) for k, v in found.items()})
    thread = next(t for t in truth["threads"] if t["tid"] == tid)
    check(abs(len(found[tid]) * PERIOD_NS / thread["cpu_ns"] - 1) < 0.15, len(found[tid]), thread)


@test
def attached_for_a_time(box):
    program = waiting_program(box, 2, 0, 60000)
    program.say("go\n")
    wait_until(lambda: len(all_tids(program.pid)) == 3, 5, "threads")
    started = time.monotonic()
    done = box.wick("record", "-F", RATE, "-d", "1", "-p", program.pid).ok()
    check(time.monotonic() - started < 20, done.err)
    check(program.process.poll() is None, "the target did not survive")
    quality = box.report()["quality"]
    check(0.9e9 < quality["wall_ns"] < 2.5e9, quality["wall_ns"])
    check(len(by_tid(box.script())) == 3)


@test
def names_of_a_program_that_ran_before(box):
    program = waiting_program(box, 2, 0, 300)
    recorder = box.attach("-F", RATE, "-p", program.pid)
    program.say("go\n")
    truth = truth_of(program.wait().out)
    recorder.wait().ok()
    samples = box.script()
    for thread in truth["threads"]:
        mine = [s for s in samples if s.tid == thread["tid"]]
        check(count(mine, thread["function"]) >= 0.97 * len(mine), thread)
        if thread["tid"] != truth["pid"]:
            check({s.comm for s in mine} == {thread["name"]}, thread, {s.comm for s in mine})


@test
def children_of_the_attached_are_followed(box):
    shares = box.build("shares.c")
    shell = box.start("sh", "-c", "read line; %s 0.4 50; %s 0.4 0 50" % (shares, shares),
                      stdin=subprocess.PIPE)
    recorder = box.attach("-F", RATE, "-p", shell.pid)
    shell.say("go\n")
    shell.wait()
    recorder.wait().ok()
    samples = box.script()
    check(count(samples, "burn_a") > 600 and count(samples, "burn_b") > 600, len(samples))


@test
def the_end_of_the_target_ends_the_recording(box):
    program = waiting_program(box, 3, 0, 100)
    recorder = box.attach("-p", program.pid)
    check(perf_fds(recorder.pid) > 0)
    program.say("go\n")
    program.wait()
    recorder.wait(10).ok()


@test
def attached_to_an_idle_program(box):
    program = waiting_program(box, 2, 0, 100)
    recorder = box.attach("-p", program.pid)
    time.sleep(0.3)
    recorder.signal(signal.SIGINT)
    done = recorder.wait(10)
    check(done.status == 0, done.status, done.err)
    report = box.wick("report").ok()
    check(says_no_samples(report) and says_no_samples(done), report.out, done.err)


@test
def a_pid_that_is_gone(box):
    gone = subprocess.Popen(["true"])
    gone.wait()
    for option in ("-p", "-t"):
        done = box.wick("record", option, gone.pid)
        check(done.status not in (0, 3, 4), done.status)
        check(str(gone.pid) in done.err, done.err)


@test
def pids_that_are_no_pids(box):
    for word in ("abc", "", "-5", "0", "99999999999999999999", "1,,2", "1x"):
        done = box.wick("record", "-p", word)
        check(done.status not in (0, 3, 4), word, done.status)
        check(done.err.strip(), word)


if __name__ == "__main__":
    main()
