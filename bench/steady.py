"""What recording costs while it goes on, start-up and end apart: bench.py --steady.

Two busy threads of C++ without frame pointers. Two moments of a running recording: the CPU time
of the recorder between them (its process clock, read from outside) over the samples that were
taken meanwhile, which are the target's CPU time by its own clock times the frequency. The file's
bytes are those of the whole recording, over the samples in it.

Unwinding apart, by tests/unwind-samples on the same program, every sample's stack once as it
comes and then again and again (warm): nanoseconds a frame, what the rule cache answers, and what
a miss costs.
"""
import os
import re
import statistics
import subprocess
import sys
import time

import bench as base

SETTLED_S = 1.5  # most of the program's code has been met
AGAIN = "50"


class Steady:
    def __init__(self, folder, seconds):
        self.folder = folder
        self.seconds = seconds
        self.target = os.path.join(folder, "steady-target")
        self.discard = os.path.join(folder, "discard_reader")
        self.build(["g++", "-fomit-frame-pointer"], "two_threads.cpp", self.target)
        self.build(["gcc"], "discard_reader.c", self.discard)

    def build(self, compiler, source, path):
        subprocess.run(compiler + ["-O2", "-g", "-D_GNU_SOURCE", "-pthread", "-o", path,
                                   os.path.join(base.ROOT, "bench", source)], check=True)

    def find_target(self, process):
        while True:
            for child in base.children(process.pid):
                if base.exe(child) == self.target:
                    return child
            if process.poll() is not None:
                sys.exit("bench: no target: " + process.communicate()[1])
            time.sleep(0.002)

    def run(self, command):
        """(own CPU us a sample, samples of the whole recording)"""
        seconds = str(SETTLED_S + self.seconds + 1)
        process = subprocess.Popen(command + ["--", self.target, seconds], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        target = self.find_target(process)
        time.sleep(SETTLED_S)
        before, worked = base.cpu_clock(process.pid), base.cpu_clock(target)
        time.sleep(self.seconds)
        own, worked = base.cpu_clock(process.pid) - before, base.cpu_clock(target) - worked
        said = process.communicate()[1]
        if process.returncode != 0:
            sys.exit("bench: %s failed:\n%s" % (" ".join(command), said))
        return 1e6 * own / (worked * int(base.HZ)), 2 * float(seconds) * int(base.HZ)


def recorders(steady):
    wick = [base.WICK, "record", "-q", "-F", base.HZ, "-o"]
    found = {}
    for name, words in (("CFI", ["--no-embed"]),
                        ("CFI, not compressed", ["--no-embed", "--compression", "none"]),
                        ("frame pointers", ["--no-embed", "--call-graph", "fp"])):
        data = os.path.join(steady.folder, "steady%d.data" % len(found))
        found["wick, " + name] = (wick + [data] + words, data)
    found["reader that discards"] = ([steady.discard, "-F", base.HZ], None)
    return found


def unwinding(steady):
    """The last lines of unwind-samples as rows; nothing where the tests are not built."""
    tool = os.path.join(base.ROOT, "build", "tests", "unwind-samples")
    if not os.path.exists(tool):
        return [["(no %s: build with the tests)" % tool, ""]]
    done = subprocess.run([tool, "-F", base.HZ, "-s", "24576", "-r", AGAIN, "--", steady.target,
                           "2"], stdout=subprocess.PIPE, text=True, check=True)
    stats = "\n".join(line for line in done.stdout.splitlines() if line.startswith("stats"))

    def number(pattern):
        return float(re.search(pattern, stats).group(1))

    frames, samples = number(r"frames (\d+)"), number(r"samples (\d+)")
    misses, rows = number(r"misses (\d+)"), number(r"from rows (\d+)")
    return [
        ["frames a stack", "%.1f" % (frames / samples)],
        ["a frame, warm", "%.0f ns" % number(r"warm ([\d.]+) ns")],
        ["allocations, warm", "%d" % number(r"a frame, (\d+) allocations")],
        ["a frame, the first time, without misses", "%.0f ns" % number(r"([\d.]+) ns a frame wit")],
        ["found in the rule cache, of the first %d frames" % frames,
         "%.1f %%" % (100 * (1 - misses / frames))],
        ["of the misses: in a row worked out before", "%.0f %%" % (100 * rows / misses)],
        ["a miss", "%.1f us" % (number(r"a miss ([\d.]+) ns") / 1000)],
    ]


def compare(options, folder):
    steady = Steady(folder, options.seconds)
    found = recorders(steady)
    print("%s; medians of %d alternating runs\n" % (base.versions(), options.runs))
    results = base.alternate(options.runs, {
        name: lambda command=command: steady.run(command)
        for name, (command, data) in found.items()})
    rows = [["", "own CPU a sample", "least", "bytes a sample"]]
    for name, (_, data) in found.items():
        own = [result[0] for result in results[name]]
        size = "%.1f" % (os.path.getsize(data) / results[name][-1][1]) if data else ""
        rows.append([name, "%.2f us" % statistics.median(own), "%.2f us" % min(own), size])
    base.show(rows, options.markdown)
    print()
    base.show([["unwinding", ""]] + unwinding(steady), options.markdown)
