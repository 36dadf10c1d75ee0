"""Measures wick beside the newest perf and samply: bench.py --rivals.

They come from Debian sid, which debootstrap puts into a cache folder once. Only the files are used:
the programs run outside, through sid's own loader and libraries, so that all record the same
target with the same libc, in the same name spaces, and nothing has to be mounted while measuring.
Every run gives all numbers of its row at once; the recorders alternate. Two readers throw records
away: one has what --call-graph fp records, the other what wick records by default, with registers
and stack copies. What reading the files takes is a table of its own: reading.py.
"""
import contextlib
import glob
import gzip
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys

import bench as base
import reading

PACKAGES = "linux-perf,binutils,samply"
STACKS = ["-s", "24576", "-m", "2048"]  # what wick copies, into rings as large
PARANOID = "/proc/sys/kernel/perf_event_paranoid"


def cache_folder():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(home, "wick-rivals")


class Sid:
    """Debian sid in a folder; it gets its last name only when it is complete."""

    def __init__(self):
        self.folder = os.path.join(cache_folder(), "sid")
        if not os.path.isdir(self.folder):
            self.make(self.folder + ".part")
        self.loader = (glob.glob(self.folder + "/lib64/ld-linux-*.so.*") or
                       glob.glob(self.folder + "/lib/ld-linux-*.so.*"))[0]
        self.libraries = glob.glob(self.folder + "/usr/lib/*-linux-gnu")[0]

    def make(self, part):
        if not shutil.which("debootstrap"):
            sys.exit("bench: --rivals needs debootstrap")
        for mount in mounts_below(part):
            sys.exit("bench: %s is mounted; unmount it first" % mount)
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(os.path.dirname(part), exist_ok=True)
        print("bench: unpacking Debian sid into %s, once" % self.folder, file=sys.stderr)
        # Of a session of its own: what it started ends with it, and its /proc can be unmounted.
        process = subprocess.Popen(
            ["debootstrap", "--variant=minbase", "--include=" + PACKAGES, "sid", part],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True)
        try:
            output = process.communicate()[0]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for mount in reversed(mounts_below(part)):
                subprocess.run(["umount", "-l", mount], check=False)
        if process.returncode != 0:
            sys.exit("bench: debootstrap failed; more is in %s/debootstrap/debootstrap.log:\n%s" %
                     (part, "\n".join(output.splitlines()[-10:])))
        os.rename(part, self.folder)

    def command(self, name):
        return [self.loader, "--library-path", self.libraries,
                os.path.join(self.folder, "usr", "bin", name)]


def mounts_below(folder):
    with open("/proc/self/mountinfo") as file:
        points = [line.split()[4].encode().decode("unicode_escape") for line in file]
    return [point for point in points if point.startswith(os.path.realpath(folder) + "/")]


@contextlib.contextmanager
def paranoid(wanted):
    """samply does not start while perf_event_paranoid is 2, even as root."""
    with open(PARANOID) as file:
        before = file.read().strip()
    try:
        if int(before) > wanted:
            with open(PARANOID, "w") as file:
                file.write(str(wanted))
        yield
    finally:
        with open(PARANOID, "w") as file:
            file.write(before)


class Recorder:
    """How one of them is called, and how the samples of its file are counted."""

    def __init__(self, name, command, data, count):
        self.name = name
        self.command = command
        self.data = data
        self.count = count

    def record(self, target):
        return self.command + ["--"] + target

    def size(self):
        return os.path.getsize(self.data) if self.data else None


def count_with(perf, data):
    done = subprocess.run(perf + ["script", "-F", "time", "-i", data], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True)
    return len(re.findall(r"^\s*\d+\.\d+:\s*$", done.stdout, re.MULTILINE))


def count_samply(data):
    with gzip.open(data) as file:
        profile = json.load(file)
    return sum(thread["samples"]["length"] for thread in profile["threads"])


def perf_version(perf):
    return said(perf + ["version"]).replace(" version", "")


def said(command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def recorders(bench, sid):
    perfs = [["perf"]] if shutil.which("perf") else []
    perfs.append(sid.command("perf"))
    found = []

    def add(name, command, suffix, count):
        data = bench.path("rival%d%s" % (len(found), suffix))
        found.append(Recorder(name, command + ["-o", data], data, lambda stderr: count(data)))

    def count_wick(data):
        return count_with(perfs[0], data)

    wick = [base.WICK, "record", "-q", "-F", base.HZ]
    add("wick", wick, ".data", count_wick)
    add("wick --no-embed", wick + ["--no-embed"], ".data", count_wick)
    add("wick --call-graph fp --no-embed", wick + ["--call-graph", "fp", "--no-embed"], ".data",
        count_wick)
    for perf in perfs:
        record = perf + ["record", "-q", "-F", base.HZ]
        for words in (["-g"], ["-B", "-g"], ["--call-graph", "dwarf"]):
            add("%s %s" % (perf_version(perf), " ".join(words)), record + words, ".data",
                lambda data, perf=perf: count_with(perf, data))
    samply = sid.command("samply")
    add(said(samply + ["--version"]), samply + ["record", "--save-only", "-r", base.HZ],
        ".json.gz", count_samply)
    for name, flags in (("discarding reader, fp chains", []), ("discarding reader, 24 KiB stacks", STACKS)):
        found.append(Recorder(name, [bench.discard, "-F", base.HZ] + flags, None,
                              lambda stderr: int(re.search(r"(\d+) samples", stderr).group(1))))
    return found


def measure(bench, recorder):
    """(own CPU us a sample, CPU s, wall s, bytes a sample, samples) of one recording."""
    run = bench.watched(recorder.record([bench.target, str(bench.seconds)]))
    samples = recorder.count(run.stderr)
    if samples == 0:
        sys.exit("bench: %s recorded nothing" % recorder.name)
    size = recorder.size()
    return (1e6 * run.own / samples, run.cpu, run.wall, size / samples if size else None, samples)


def rows(recorders_, results, alone, true):
    yield ["", "own CPU a sample", "CPU, over alone", "wall, over alone", "bytes a sample",
           "samples", "record -- true"]
    for recorder in recorders_:
        name = recorder.name
        got = [None if column[0] is None else statistics.median(column)
               for column in zip(*results[name])]
        yield [name, "%.2f us" % got[0], "%.3f" % (got[1] / alone[0]),
               "%.3f" % (got[2] / alone[1]), "" if got[3] is None else "%.0f" % got[3],
               "%d" % got[4], "%.1f ms" % (1000 * true[name])]


def compare(options, folder):
    if os.geteuid() != 0:
        sys.exit("bench: --rivals needs root, for debootstrap and to lower "
                 "kernel.perf_event_paranoid for samply")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sid = Sid()
    bench = base.Bench(folder, options.seconds)
    every = recorders(bench, sid)
    print("%s, from Debian sid: %s, %s; medians of %d alternating runs\n" % (
        base.versions(), perf_version(sid.command("perf")),
        said(sid.command("samply") + ["--version"]), options.runs))
    with paranoid(1):
        functions = {"alone": lambda: bench.timed([bench.target, str(options.seconds)])}
        functions.update((r.name, lambda r=r: measure(bench, r)) for r in every)
        results = base.alternate(options.runs, functions)
        true = base.alternate(options.runs, {
            r.name: lambda r=r: bench.timed(r.record(["true"])) for r in every})
    alone = (base.median(results["alone"], 1), base.median(results["alone"], 0))
    true = {name: base.median(true[name], 0) for name in true}
    base.show(list(rows(every, results, alone, true)), options.markdown)
    print()
    reading.compare(bench, sid, options)
