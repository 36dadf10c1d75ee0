"""Too much at once, too little room: what is lost is told exactly, what is there stays readable."""
import os
import resource
import shutil
import signal
import time

from torture import SCALE, begin, check_failure, dice, program, say
from wicktest import (WICK, Skip, check, functions_of, is_root, lost_of, main, parse_script, test,
                      truth_of)


def check_books(name, quality, samples, period_ns, slack=0.03):
    """Every sample that was due was kept, or counted as lost: the event's own count is the truth."""
    lost = lost_of(quality)
    due = quality["event_count"] / period_ns
    check(quality["samples"] == samples, "%s: %d samples told, %d there" % (
        name, quality["samples"], samples))
    check(quality["lost_read"] is not None and quality["lost"] is not None, quality)
    check(quality["lost"] <= quality["lost_read"],
          "%s: the records tell of %d lost samples, the event of %d" % (
              name, quality["lost"], quality["lost_read"]))
    check(quality["throttled"] or abs((samples + lost) / due - 1) < slack,
          "%s: %d samples and %d lost, %.0f were due" % (name, samples, lost, due))
    say("%s: %d samples, %d lost as the kernel counts (%d told in the records), %.0f due" % (
        name, samples, lost, quality["lost"], due))


@test
def a_slow_reader_loses_by_the_book(box):
    random = dice("slow reader")
    for pages, graph in ((1, "fp"), (2, "auto"), (4, "fp"), (4, "auto")):
        recorder = begin(box, "-F", "10000", "-m", pages, "--call-graph", graph, "--",
                         program(box, "busy"), "0.8", "2")
        for _ in range(2):
            time.sleep(random.uniform(0.02, 0.1))
            recorder.signal(signal.SIGSTOP)
            time.sleep(random.uniform(0.1, 0.25))
            recorder.signal(signal.SIGCONT)
        done = recorder.wait(20).check_sane().ok()
        quality = box.report()["quality"]
        check(lost_of(quality) > 0, "nothing was lost: this is no test", quality)
        check("lost" in done.err.lower() and "-m" in done.err, "not a word of the loss:", done.err)
        check_books("-m %d --call-graph %s" % (pages, graph), quality, len(box.script()),
                    1e9 / 10000)


@test
def many_threads_on_few_cpus(box):
    for hz in (997, 10000):
        done = box.record("-F", hz, "--", program(box, "busy"), "1", "64")
        quality = box.report()["quality"]
        # A timer of 100 us that comes late on a busy machine skips what was due meanwhile.
        check_books("64 threads at %d Hz" % hz, quality, len(box.script()), 1e9 / hz,
                    0.03 if hz < 2000 else 0.12)
        if lost_of(quality):
            check("lost" in done.err.lower() and "none lost" not in done.err, done.err)
        check(quality["coverage"] > 0.9 or lost_of(quality), quality)
        check(quality["samples"] > 3 * lost_of(quality), "most samples are lost:", quality)
        check_effort("64 threads at %d Hz" % hz, done, quality)


def check_effort(name, done, quality):
    """Stacks are whole, or the recorder has told that it cut them short to keep up."""
    stops = quality["stacks"]
    owed = sum(stops.values()) - stops["no_user"]
    whole = stops["root"] + stops["late"]
    say("%s: %.1f %% of the stacks whole, %.1f %% cut short in %.2f s" % (
        name, 100 * whole / owed, 100 * stops["behind"] / owed, quality["behind_ns"] / 1e9))
    check(bool(stops["behind"]) <= bool(quality["behind_ns"]), quality)
    check(not stops["behind"] or "could not keep up" in done.err, "not a word of it:", done.err)
    check(quality["by_pointers"] <= stops["behind"], quality)


@test
def stacks_too_deep_for_the_rate(box):
    """3,000 frames each, read late, 20,000 times a second: whole, or less of each and it is said."""
    deep = box.build("deep.c", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
    done = box.record("-F", "10000", "--", "sh", "-c", "%s 0.3 3000 & %s 0.3 3000; wait" % (
        deep, deep))
    report = box.report()
    quality = report["quality"]
    check(quality["lost"] <= quality["lost_read"], quality)
    check(sum(quality["stacks"].values()) == quality["samples"], quality)
    check_effort("3,000 frames at 10 kHz", done, quality)
    stops = quality["stacks"]
    check(stops["late"] + stops["behind"] > 0.8 * quality["samples"], stops)
    check(quality["samples"] > 3 * lost_of(quality), "most samples are lost:", quality)
    drawn = functions_of(report).get("[truncated: cut short to keep up]", {"total_samples": 0})
    check(drawn["total_samples"] == stops["behind"], drawn, stops)


def resident_kb(pid):
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


@test
def memory_does_not_grow_with_the_length(box):
    seconds = max(6.0, min(6 * SCALE, 22))
    recorder = begin(box, "-F", "997", "--", program(box, "busy"), "storm", seconds)
    start = time.monotonic()
    sizes = []
    while time.monotonic() - start < seconds - 0.3:
        sizes.append((time.monotonic() - start, resident_kb(recorder.pid)))
        time.sleep(0.1)
    done = recorder.wait(20).check_sane().ok()
    forks = truth_of(done.out)["count"]
    # The pages of the rings count as ours when they were touched for the first time.
    early = max(size for at, size in sizes if at < 2)
    late = max(size for at, size in sizes if at > seconds - 2)
    say("memory: %d kB resident in the first 2 s, %d kB in the last 2 of %.0f s, %d processes" % (
        early, late, seconds, forks))
    check(forks > 300 * seconds / 8, "only %d forks" % forks)
    check(late - early < 2048 + 0.1 * early,
          "from %d kB to %d kB with %d processes" % (early, late, forks))


def check_short(box, done, file):
    """A recording that was cut by a full disk: told, and what there is can be read."""
    done.check_sane()
    check(done.status not in (128 + signal.SIGXFSZ, 0), done.status, done.err)
    check_failure(done)
    if not os.path.exists(file):
        return 0
    read = box.wick("script", "-i", file)
    if read.status:
        check_failure(read)
        return 0
    samples = len(parse_script(read.out))
    if samples and shutil.which("perf"):
        perf = box.perf("script", "-i", file)
        check(perf.status == 0, "perf cannot read it:", perf.err)
        of_perf = len(parse_script(perf.out))
        check(of_perf == samples, "perf reads %d samples, wick %d" % (of_perf, samples))
    return samples


@test
def a_limit_of_the_file_size(box):
    if not shutil.which("prlimit"):
        raise Skip("prlimit is not installed")
    random = dice("file size")
    told = []
    for number in range(int(4 * SCALE)):
        limit = random.choice((0, 100, 104, random.randrange(200, 5000),
                               random.randrange(5000, 300000))) if number else 60000
        compression = random.choice(("none", "zstd"))
        file = box.path("f%d.data" % number)
        # The messages go through a pipe, as the limit holds for them, too.
        script = ("{ prlimit --fsize=%d -- %s record -F 10000 -o %s --compression %s -- %s 0.6 "
                  ">/dev/null; echo $? >status; } 2>&1 | cat >&2; exit $(cat status)" % (
                      limit, WICK, file, compression, program(box, "busy")))
        done = box.run("sh", "-c", script)
        name = "%d %s" % (limit, compression)
        if done.status == 0:  # it was small enough
            check(os.path.getsize(file) <= limit, os.path.getsize(file), limit)
            told.append(name + ": fits")
            continue
        told.append("%s: %d samples" % (name, check_short(box, done, file)))
        if os.path.exists(file):
            os.unlink(file)
    say("file size limits: " + ", ".join(told))


@test
def a_full_disk_at_any_size(box):
    if not (is_root() and shutil.which("unshare")):
        raise Skip("needs root to mount a small file system")
    random = dice("disk size")
    told = []
    for number in range(int(4 * SCALE)):
        kb = random.choice((4, 8, random.randrange(12, 100), random.randrange(100, 800)))
        compression = random.choice(("none", "zstd"))
        script = ("mkdir small && mount -t tmpfs -o size=%dk none small && cd small && "
                  "%s record -F 10000 --compression %s -o perf.data -- %s 0.6 2 >/dev/null; "
                  "status=$?; cp perf.data ../small.data 2>/dev/null; cd ..; "
                  "umount -l small; rmdir small; exit $status" % (
                      kb, WICK, compression, program(box, "busy")))
        done = box.run("unshare", "-m", "sh", "-c", script)
        file = box.path("small.data")
        if done.status == 0:
            told.append("%d kB %s: fits" % (kb, compression))
        else:
            told.append("%d kB %s: %d samples" % (kb, compression, check_short(box, done, file)))
            check("No space left" in done.err or "full" in done.err, done.err)
        if os.path.exists(file):
            os.unlink(file)
    say("disks: " + ", ".join(told))


@test
def a_full_disk_does_not_outlive_an_end(box):
    """The command goes on after the disk is full; Ctrl-C and SIGTERM still end both."""
    def lower():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

    recorder = begin(box, "-F", "10000", "--compression", "none", "--", program(box, "busy"),
                     "60", preexec_fn=lower)
    time.sleep(1.5)
    recorder.signal(signal.SIGTERM)
    done = recorder.wait(10).check_sane()
    check(done.status != 0, done.err)


@test
def closed_descriptors(box):
    """Whoever starts wick without stdin, stdout or stderr finds no recording in their place."""
    brief = program(box, "brief")
    box.record("-F", "5000", "-o", "whole.data", "--", brief, "20")
    for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
        script = "exec %s record -F 5000 -o cut.data -- %s 20 %s" % (WICK, brief, closed)
        done = box.run("sh", "-c", script).check_sane()
        check(done.status == 0, closed, done.status, done.err)
        check(len(box.script("cut.data")) > 50, closed)
        for words in ("report -i whole.data", "script -i whole.data",
                      "export -i whole.data -o closed.folded"):
            done = box.run("sh", "-c", "exec %s %s %s" % (WICK, words, closed)).check_sane()
            wants_stdout = "1>&-" in closed and not words.startswith("export")
            check((done.status != 0) == wants_stdout, closed, words, done.status, done.err)
            if wants_stdout and "2>&-" not in closed:
                check_failure(done)
        with open(box.path("closed.folded")) as file:
            check(all(line.rpartition(" ")[2].strip().isdigit() for line in file), closed)


@test
def a_command_finds_its_descriptors_as_they_were(box):
    for fd in "012":
        script = "exec %s record -o n.data -- sh -c 'test ! -e /proc/$$/fd/%s' %s>&-" % (
            WICK, fd, fd)
        box.run("sh", "-c", script).check_sane().ok()


@test
def output_that_does_not_fit(box):
    box.record("-F", "5000", "--", program(box, "brief"), "20")
    for words in ("report", "script", "report --format json", "--help", "record --help"):
        done = box.run("sh", "-c", "exec %s %s > /dev/full" % (WICK, words)).check_sane()
        check(done.status != 0, words, "into /dev/full succeeded")
        check_failure(done)
        check("No space left" in done.err, words, done.err)
    os.symlink("/dev/full", box.path("full.svg"))
    done = box.wick("export", "-o", "full.svg")
    check(done.status != 0, "export into /dev/full succeeded")
    check("full.svg" in done.err, done.err)


if __name__ == "__main__":
    main()
