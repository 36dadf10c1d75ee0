"""Whole machines, chosen CPUs, cgroups, processes that are not there yet, pauses from outside."""
import os
import shutil
import signal
import time

from wicktest import WICK, Skip, check, count, main, test, wait_until


def need_root():
    if os.geteuid() != 0:
        raise Skip("only root may sample whole CPUs")


def busy(box, seconds="1.2"):
    return box.build("shares.c"), seconds, "100"


def coverage(box):
    quality = box.report()["quality"]
    return quality["period_sum"] / quality["cpu_ns"]


@test
def the_whole_machine_is_sampled_without_its_idleness(box):
    need_root()
    program = box.start(*busy(box))
    box.wick("record", "-a", "-d", "0.8").ok()
    program.wait()
    samples = box.script()
    mine = [s for s in samples if s.pid == program.pid or s.tid == program.pid]
    check(len(mine) >= 200, len(mine), len(samples))
    check(not [s for s in samples if s.tid == 0 and "idle" in str(s.names()[:1])], "idle samples")
    check(0.8 < coverage(box) < 1.25, coverage(box))


@test
def one_cpu_is_compared_with_its_own_time(box):
    need_root()
    others = box.start(*busy(box))
    pinned = box.start("taskset", "-c", "0", *busy(box))
    box.wick("record", "-a", "-C", "0", "-d", "0.8").ok()
    others.wait()
    pinned.wait()
    check({s.cpu for s in box.script()} == {0}, "another CPU")
    check(0.8 < coverage(box) < 1.25, coverage(box))
    done = box.wick("record", "-a", "-C", "4095", "-d", "1")
    check(done.status == 1 and "online" in done.err, done.err)


@test
def a_cgroup_that_exists_is_sampled(box):
    need_root()
    mount = [line.split()[4] for line in open("/proc/self/mountinfo") if " - cgroup2 " in line]
    if not mount:
        raise Skip("no cgroup v2 is mounted")
    group = os.path.join(mount[0], "wicktest-%d" % os.getpid())
    try:
        os.mkdir(group)
    except OSError as error:
        raise Skip("no cgroup can be made: %s" % error)
    try:
        outside = box.start(*busy(box))
        inside = box.start("sh", "-c", "echo $$ > %s/cgroup.procs; exec \"$@\"" % group, "sh",
                           *busy(box))
        time.sleep(0.2)
        box.wick("record", "-G", os.path.basename(group), "-d", "0.6").ok()
        outside.wait()
        inside.wait()
    finally:
        os.rmdir(group)
    samples = box.script()
    check(len(samples) >= 100, len(samples))
    check({s.tid for s in samples} == {inside.pid}, {s.tid for s in samples}, inside.pid)


@test
def a_process_that_is_not_there_yet_is_waited_for(box):
    program = busy(box, "0.6")
    name = os.path.basename(program[0])
    recorder = box.start(WICK, "record", "--wait-name", name)
    time.sleep(0.5)
    check(recorder.process.poll() is None, recorder.errors())
    box.run(*program).ok()
    recorder.wait().ok()
    samples = box.script()
    check(count(samples, "burn_a") >= 0.8 * len(samples) > 100, len(samples))


@test
def sampling_rests_and_goes_on_by_signal(box):
    recorder = box.start(WICK, "record", "-D", "-1", "--", *busy(box))
    wait_until(lambda: os.path.exists(box.path("perf.data")), 20, "no file")
    time.sleep(0.3)
    recorder.signal(signal.SIGUSR2)
    time.sleep(0.4)
    recorder.signal(signal.SIGUSR2)
    done = recorder.wait()
    check(done.status == 0, done.err)
    quality = box.report()["quality"]
    check(0 < quality["wall_ns"] < 1.0e9, quality["wall_ns"])
    check(0 < quality["samples"] <= 1.1 * quality["wall_ns"] / 1e9 * 997 + 2, quality["samples"])


@test
def sampling_is_controlled_through_a_fifo(box):
    for name in ("ctl", "ack"):
        os.mkfifo(box.path(name))
    recorder = box.start(WICK, "record", "-D", "-1", "--control", "fifo:ctl,ack", "--",
                         *busy(box))
    wait_until(lambda: os.path.exists(box.path("perf.data")), 20, "no file")
    with open(box.path("ctl"), "w") as ctl, open(box.path("ack")) as ack:
        for word in ("ping", "enable"):
            ctl.write(word + "\n")
            ctl.flush()
            check(ack.readline() == "ack\n", word)
        time.sleep(0.4)
        ctl.write("stop\n")
        ctl.flush()
        check(ack.readline() == "ack\n", "stop")
    recorder.wait()
    check(box.report()["quality"]["samples"] > 50, "no samples")


@test
def a_delay_leaves_the_beginning_out(box):
    box.record("-D", "500", "--", *busy(box))
    quality = box.report()["quality"]
    check(quality["wall_ns"] < 1.2e9 * 3, quality["wall_ns"])
    check(0 < quality["samples"] < 0.8 * 1.2 * 997, quality["samples"])
    check(box.script()[0].names()[-1] is not None, "no mappings from before the delay")


@test
def checkpoints_go_to_the_disk(box):
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    box.run("strace", "-f", "-e", "trace=fdatasync", "-o", "trace", WICK, "record", "--",
            *busy(box, "2.2")).ok()
    check(open(box.path("trace")).read().count("fdatasync(") >= 1, "no sync in two seconds")


if __name__ == "__main__":
    main()
