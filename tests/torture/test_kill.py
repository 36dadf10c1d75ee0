"""Recorders and targets that are killed, stopped and changed at random moments."""
import os
import shutil
import signal
import time

from torture import SCALE, begin, cgroups_of, check_failure, dice, program, say
from wicktest import (NOBODY, WICK, Skip, as_user, check, count, is_root, main, paranoid,
                      parse_script, test, truth_of, wait_until)

HZ = 2000
LOST_S = 1.0  # what a killed recorder may lose: a second, and what was on its way
ON_ITS_WAY_S = 0.7
FEW = 5  # samples of 0.3 s of wall time, however busy the machine is


def kill_at(box, moments):
    """Starts a recorder each and kills it so many seconds later; [(folder, pid, when killed)]."""
    busy = program(box, "busy")
    killed = []
    for batch in range(0, len(moments), 4):
        running = []
        for number, moment in enumerate(moments[batch:batch + 4], batch):
            folder = box.path("kill%d" % number)
            os.mkdir(folder)
            recorder = box.start(WICK, "record", "-F", HZ, "--", busy, moment + 0.5, cwd=folder)
            running.append((time.monotonic() + moment, recorder, folder))
        for at, recorder, folder in sorted(running, key=lambda entry: entry[0]):
            time.sleep(max(0, at - time.monotonic()))
            os.kill(recorder.pid, signal.SIGKILL)
            killed.append((folder, recorder, time.monotonic()))
        for _, recorder, _ in running:
            recorder.process.wait()
    return killed


def last_time(text):
    samples = parse_script(text)
    return (samples[-1].time, len(samples)) if samples else (0, 0)


def check_killed(box, folder, moment, when, with_perf):
    file = os.path.join(folder, "perf.data")
    if not os.path.exists(file):
        check(moment < 1, "no file after %.2f s" % moment)
        return False
    done = box.wick("script", "-i", file)
    if done.status:
        check(moment < 1, "after %.2f s:" % moment, done.err)
        check_failure(done)
        return False
    last, samples = last_time(done.out)
    if moment > LOST_S + ON_ITS_WAY_S:
        check(samples, "no samples after %.2f s" % moment)
        check(when - last < LOST_S + ON_ITS_WAY_S,
              "killed after %.2f s, the last sample is %.2f s older" % (moment, when - last))
    box.wick("report", "-i", file).ok()
    if moment > LOST_S + ON_ITS_WAY_S and with_perf and shutil.which("perf"):
        perf = box.perf("script", "-i", file)
        check(perf.status == 0, "perf cannot read it:", perf.err)
        last, of_perf = last_time(perf.out)
        check(of_perf and when - last < 2 * LOST_S + ON_ITS_WAY_S,
              "perf reads %d samples, the last %.2f s older" % (of_perf, when - last))
    return True


@test
def a_killed_recorder_loses_a_second(box):
    random = dice("kills")
    moments = [random.uniform(0, 0.25) for _ in range(int(16 * SCALE))]
    moments += [random.uniform(0.4, 2.6) for _ in range(int(6 * SCALE))]
    killed = kill_at(box, moments)
    killed.sort(key=lambda entry: int(entry[0].rpartition("kill")[2]))
    readable = sum(check_killed(box, folder, moment, when, number % 2)
                   for number, (moment, (folder, _, when)) in enumerate(zip(moments, killed)))
    pids = [recorder.pid for _, recorder, _ in killed]
    for recorder in box.running:
        recorder.kill()  # the commands that were orphaned
    left = sum(len(cgroups_of(pid)) for pid in pids)

    def removed():
        box.wick("record", "-q", "-o", "next.data", "--", "true").ok()
        return not any(cgroups_of(pid) for pid in pids)

    wait_until(removed, 5, "left behind: %s" % [cgroups_of(pid) for pid in pids])
    say("kills: %d recorders killed after 0 to 2.6 s, %d files open, %d cgroups of theirs were "
        "removed by the next recorder" % (len(killed), readable, left))


@test
def an_end_at_any_moment_keeps_everything(box):
    random = dice("ends")
    busy = program(box, "busy")
    running = []
    for number in range(int(8 * SCALE)):
        folder = box.path("end%d" % number)
        os.mkdir(folder)
        recorder = box.start(WICK, "record", "-F", HZ, "--", busy, "20", cwd=folder)
        running.append((time.monotonic() + random.uniform(0, 0.8), recorder, folder,
                        random.choice((signal.SIGTERM, signal.SIGINT))))
    for at, recorder, folder, number in sorted(running, key=lambda entry: entry[0]):
        time.sleep(max(0, at - time.monotonic()))
        recorder.signal(number)
    for at, recorder, folder, number in running:
        done = recorder.wait(20).check_sane()
        check(not cgroups_of(recorder.pid), "left behind:", cgroups_of(recorder.pid))
        file = os.path.join(folder, "perf.data")
        # Before its own signals are held back wick may simply die of one.
        if not os.path.exists(file):
            check(done.status in (128 + number, 1), done.status, done.err)
            continue
        if done.status == 128 + number and "wick: wrote" not in done.err:
            check(not done.err.strip() or "wick:" in done.err, done.err)
        box.wick("script", "-i", file).ok()


@test
def a_command_that_ignores_the_end_is_ended(box):
    busy = program(box, "busy")
    recorder = begin(box, "--", busy, "ignore", "60")
    time.sleep(0.3)
    recorder.signal(signal.SIGINT)
    done = recorder.wait(20).check_sane()
    check(done.status == 128 + signal.SIGKILL, done.status, done.err)
    check(count(box.script(), "burn_busy") > FEW)


@test
def a_stopped_target_goes_on(box):
    recorder = begin(box, "-F", HZ, "--", program(box, "busy"), "1.5")
    for _ in range(3):
        time.sleep(0.1)
        os.kill(recorder.command_pid, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(recorder.command_pid, signal.SIGCONT)
    done = recorder.wait().check_sane().ok()
    truth = truth_of(done.out)
    sampled = sum(sample.period for sample in box.script())
    check(abs(sampled / truth["cpu_ns"] - 1) < 0.1, sampled, truth)
    quality = box.report()["quality"]
    check(quality["coverage"] > 0.95, quality)


@test
def a_killed_target_ends_the_recording(box):
    recorder = begin(box, "-F", HZ, "--", program(box, "busy"), "60")
    time.sleep(0.3)
    os.kill(recorder.command_pid, signal.SIGKILL)
    done = recorder.wait(10).check_sane()
    check(done.status == 128 + signal.SIGKILL, done.status, done.err)
    check(count(box.script(), "burn_busy") > FEW)
    check(box.report()["quality"]["coverage"] > 0.9)


@test
def a_killed_target_ends_the_attached_recording(box):
    target = box.start(program(box, "busy"), "60")
    recorder = box.attach("-F", HZ, "-p", target.pid)
    time.sleep(0.3)
    target.signal(signal.SIGKILL)
    target.process.wait()
    recorder.wait(10).check_sane().ok()
    check(count(box.script(), "burn_busy") > FEW)


@test
def exec_after_exec(box):
    for way in ((), ("--inherit",)):
        done = box.record("-F", HZ, *way, "--", program(box, "busy"), "exec", "100")
        truth = truth_of(done.out)
        samples = box.script()
        sampled = sum(sample.period for sample in samples)
        check(abs(sampled / truth["cpu_ns"] - 1) < 0.15, sampled, truth)
        named = count(samples, "burn_busy")
        check(named > 100 * 2 * HZ / 1000 * 0.7, "%d of %d named" % (named, len(samples)))
        check(box.report()["quality"]["coverage"] > 0.9)


@test
def a_setuid_program_of_an_ordinary_user(box):
    if not is_root():
        raise Skip("needs root to make a setuid program")
    if not -1 <= paranoid() <= 2:
        raise Skip("kernel.perf_event_paranoid is %d" % paranoid())
    owned = box.path("owned")
    shutil.copy(program(box, "busy"), owned)
    os.chmod(owned, 0o4755)
    prefix, wick = as_user(box) or ([], WICK)
    done = box.run(*prefix, wick, "record", "-F", HZ, "--", owned, "0.5").check_sane()
    check(truth_of(done.out)["cpu_ns"] > 0, "the command did not run to its end", done.err)
    if done.status:
        check_failure(done)
    quality = box.report()["quality"] if os.path.exists(box.path("perf.data")) else None
    if quality and quality["samples"] < 100:
        words = done.err.lower()
        check("none" in words or "coverage" in words, "few samples, and not a word:", done.err)
    check(os.stat(box.path("perf.data")).st_uid == NOBODY)


if __name__ == "__main__":
    main()
