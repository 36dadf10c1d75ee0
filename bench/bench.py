#!/usr/bin/env python3
"""Measures wick beside perf on this machine and prints a table.

usage: bench.py [--runs N] [--seconds S] [--markdown] [--rivals | --complete | --names]

Runs alternate (wick, perf, the discarding reader, the program alone, and again), and medians are
shown, so that what the machine does besides hits all alike. What is measured:

  own CPU a sample   the CPU time of the recorder's own threads from the start of the target to the
                     recorder's end (its process clock, read from outside; at the end before it is
                     reaped), over the samples: start-up is apart, for everyone alike; all that is
                     done after the last sample, to the last byte written, is in. The second row
                     is wick record --call-graph fp --no-embed beside perf record -g -B
  CPU, wall          of recorder and target together, over the target alone
  record -- true     wall time of recording a program that does nothing
  report             wall time and peak memory of the report, on the same file
  bytes a sample     size of the file over the samples in it

--steady measures what recording costs between its start and its end: see steady.py.

--rivals measures recording alone, beside Debian sid's perf and samply, too: see rivals.py.
--complete counts complete and wrong stacks of real programs beside perf: see complete.py.
--names measures naming, with inlined functions and lines, beside Debian sid's perf: see names.py.
"""
import argparse
import collections
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WICK = os.environ.get("WICK") or os.path.join(ROOT, "build", "src", "cli", "wick")
HZ = "999"
FLAGS = ["-O2", "-g", "-fno-omit-frame-pointer", "-D_GNU_SOURCE", "-pthread"]

Run = collections.namedtuple("Run", "startup own cpu wall stderr")


class Bench:
    def __init__(self, folder, seconds):
        self.folder = folder
        self.seconds = seconds
        self.target = self.build("g++", "two_threads.cpp")
        self.discard = self.build("gcc", "discard_reader.c")
        self.measure = self.build("gcc", "measure.c")

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self, compiler, source):
        path = self.path(os.path.splitext(source)[0])
        subprocess.run([compiler] + FLAGS + ["-o", path, os.path.join(ROOT, "bench", source)],
                       check=True)
        return path

    def timed(self, command):
        """Runs to the end: (wall s, CPU s, peak MiB, stderr)."""
        done = subprocess.run([self.measure, self.path("measured")] + command, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, errors="replace")
        if done.returncode != 0:
            sys.exit("bench: %s failed:\n%s" % (" ".join(command), done.stderr))
        with open(self.path("measured")) as file:
            wall, cpu, peak = (int(word) for word in file.read().split())
        return wall / 1e9, cpu / 1e9, peak / 1024, done.stderr

    def recorder(self, who, data, command, hz=HZ):
        """As everybody calls it; "who -": frame-pointer chains, and no names or build ids after."""
        if who == "wick":
            return [WICK, "record", "-q", "-F", hz, "-o", data, "--"] + command
        if who == "wick -":
            return [WICK, "record", "-q", "--call-graph", "fp", "--no-embed", "-F", hz, "-o", data,
                    "--"] + command
        if who == "perf":
            return ["perf", "record", "-q", "-g", "-F", hz, "-o", data, "--"] + command
        if who == "perf -":
            return ["perf", "record", "-q", "-B", "-g", "-F", hz, "-o", data, "--"] + command
        return [self.discard, "-F", hz, "--"] + command

    def samples(self, who, data, stderr):
        """How many samples a recording has; perf counts for both files."""
        if who == "discard":
            return int(re.search(r"(\d+) samples", stderr).group(1))
        tool = ["perf", "script"] if shutil.which("perf") else [WICK, "script"]
        done = subprocess.run(tool + ["-F", "time", "-i", data] if tool[0] == "perf" else
                              tool + ["-i", data], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=True)
        if tool[0] == "perf":
            return len(re.findall(r"^\s*\d+\.\d+:\s*$", done.stdout, re.MULTILINE))
        return len(re.findall(r"^\S.*\d+\.\d+:\s+\d+ \S+:\s*$", done.stdout, re.MULTILINE))

    def own_cpu(self, who):
        """(own CPU ns a sample, samples, own CPU s before the target started)."""
        data = self.path(who + ".data")
        run = self.watched(self.recorder(who, data, [self.target, str(self.seconds)]))
        samples = self.samples(who, data, run.stderr)
        return 1e9 * run.own / samples, samples, run.startup

    def watched(self, command):
        """The recorder's own CPU time until its target starts (startup), and from then to its end
        (own); the CPU time of both, and the wall time."""
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not any(exe(child) == self.target for child in children(process.pid)):
            if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
                sys.exit("bench: no target: " + process.communicate()[1])
            time.sleep(0.001)
        startup = cpu_clock(process.pid)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        wall = time.monotonic() - begin
        total = cpu_clock(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said = process.communicate()[1]
        if process.returncode != 0:
            sys.exit("bench: %s failed:\n%s" % (" ".join(command), said))
        return Run(startup, total - startup, usage.ru_utime + usage.ru_stime, wall, said)


def children(pid):
    """Of every thread: a recorder may start its target from any."""
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(path) as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def exe(pid):
    try:
        return os.readlink("/proc/%d/exe" % pid)
    except OSError:
        return None


def cpu_clock(pid):
    """The CPU time of a process without its children: CPUCLOCK_SCHED of its clock id."""
    return time.clock_gettime((~pid << 3) | 2)


def alternate(runs, functions):
    """Calls each function once a round; returns {name: [results]}."""
    results = {name: [] for name in functions}
    for number in range(runs):
        for name, function in functions.items():
            progress("%s, run %d of %d" % (name, number + 1, runs))
            results[name].append(function())
    progress("")
    return results


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + text)
        sys.stderr.flush()


def median(results, part=None):
    return statistics.median(r if part is None else r[part] for r in results)


class Table:
    def __init__(self, markdown):
        self.markdown = markdown
        self.rows = []

    def row(self, what, wick, perf, floor="", wanted=""):
        ratio = "%.2f" % (wick[0] / perf[0]) if wick and perf and perf[0] else ""
        text = [("" if cell is None or cell == "" else cell if isinstance(cell, str)
                 else cell[1] % cell[0]) for cell in (wick, perf, floor)]
        self.rows.append([what] + text + [ratio, wanted])

    def show(self):
        header = ["", "wick", "perf", "discard", "wick/perf", "wanted"]
        show([header] + self.rows, self.markdown)


def show(rows, markdown):
    """The first row is the header."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("| " + " | ".join(cells) + " |" if markdown else "  ".join(cells).rstrip())
        if number == 0 and markdown:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def bench_own_cpu(bench, table, runs, tools):
    names = tools + [who + " -" for who in tools] + ["discard"]
    results = alternate(runs, {who: lambda who=who: bench.own_cpu(who) for who in names})
    cells = {who: (median(results[who], 0) / 1000, "%.2f us") for who in results}
    table.row("own CPU a sample, all of it", cells["wick"], cells.get("perf"))
    table.row("own CPU a sample, fp, no names after", cells["wick -"], cells.get("perf -"),
              cells["discard"], "<= 2 us")
    cells = {who: (1000 * median(results[who], 2), "%.1f ms") for who in results}
    table.row("own CPU until the target starts", cells["wick"], cells.get("perf"),
              cells["discard"])
    for who, name in (("wick", "bytes a sample"), ("wick -", "bytes a sample, fp, no names")):
        sizes = [(os.path.getsize(bench.path(tool + ".data")) / results[tool][-1][1], "%.0f")
                 if tool in results else None for tool in (who, who.replace("wick", "perf"))]
        table.row(name, *sizes)
    table.row("samples", *[(results[who][-1][1], "%d") if who in results else None
                           for who in ("wick", "perf", "discard")])


def bench_ratios(bench, table, runs, tools):
    command = [bench.target, str(bench.seconds)]
    functions = {"alone": lambda: bench.timed(command)}
    for who in tools + ["discard"]:
        functions[who] = lambda who=who: bench.timed(
            bench.recorder(who, bench.path("ratio.data"), command))
    results = alternate(runs, functions)
    for part, name in ((1, "CPU with the target, over alone"), (0, "wall, over alone")):
        alone = median(results["alone"], part)
        cells = [(median(results[who], part) / alone, "%.3f") if who in results else None
                 for who in ("wick", "perf", "discard")]
        table.row(name, *cells)


def bench_startup(bench, table, runs, tools):
    results = alternate(runs * 3, {who: lambda who=who: bench.timed(
        bench.recorder(who, bench.path("true.data"), ["true"])) for who in tools})
    cells = [(1000 * median(results[who], 0), "%.1f ms") if who in results else None
             for who in ("wick", "perf")]
    table.row("record -- true, wall", *cells, wanted="<= 50 ms")


def bench_report(bench, table, runs, tools, name, data):
    functions = {"wick": lambda: bench.timed([WICK, "report", "-i", data])}
    if "perf" in tools:
        functions["perf"] = lambda: bench.timed(["perf", "report", "--stdio", "-i", data])
        functions["perf --no-inline"] = lambda: bench.timed(
            ["perf", "report", "--stdio", "--no-inline", "-i", data])
    results = alternate(runs, functions)
    for other in ("perf", "perf --no-inline") if "perf" in tools else ("",):
        for part, unit, what in ((0, "%.3f s", "time"), (2, "%.1f MiB", "memory")):
            cells = [(median(results[who], part), unit) if who in results else None
                     for who in ("wick", other)]
            label = "report, %s, %s" % (name, what)
            table.row(label + (" (--no-inline)" if "--" in other else ""), *cells,
                      wanted="<= 0.33")


def versions():
    lines = []
    for command in (["uname", "-srm"], [WICK, "--version"], ["perf", "version"]):
        if shutil.which(command[0]):
            lines.append(subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.strip())
    return ", ".join(lines + ["%d CPUs" % os.cpu_count()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--steady", action="store_true")
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--names", action="store_true")
    options = parser.parse_args()
    options.runs = options.runs or (5 if options.rivals else 7)
    if options.steady:
        import steady
        with tempfile.TemporaryDirectory(prefix="wick-bench-") as folder:
            steady.compare(options, folder)
        return
    if options.complete:
        import complete
        with tempfile.TemporaryDirectory(prefix="wick-bench-") as folder:
            complete.compare(options, folder)
        return
    if options.names:
        import names
        with tempfile.TemporaryDirectory(prefix="wick-bench-") as folder:
            names.compare(options, folder)
        return
    if options.rivals:
        import rivals
        with tempfile.TemporaryDirectory(prefix="wick-bench-") as folder:
            rivals.compare(options, folder)
        return
    tools = ["wick"] + (["perf"] if shutil.which("perf") else [])
    table = Table(options.markdown)
    with tempfile.TemporaryDirectory(prefix="wick-bench-") as folder:
        bench = Bench(folder, options.seconds)
        print("%s; medians of %d alternating runs\n" % (versions(), options.runs))
        bench_own_cpu(bench, table, options.runs, tools)
        bench_ratios(bench, table, options.runs, tools)
        bench_startup(bench, table, options.runs, tools)
        for hz, name in ((HZ, "8,000 samples"), ("10000", "80,000 samples")):
            # The same file for both; it is wick's, so perf pays for nothing that only perf asks.
            data = bench.path("report%s.data" % hz)
            bench.timed(bench.recorder("wick", data, [bench.target, str(options.seconds)], hz))
            bench_report(bench, table, options.runs, tools, name, data)
    table.show()


if __name__ == "__main__":
    main()
