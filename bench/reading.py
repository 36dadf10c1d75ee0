"""What it takes to read a file: report and script of the same perf.data, by wick, by this machine's
perf and by the newest one; samply, which only converts, beside them.

The files are perf's, so that nobody reads what he alone knows: one with stack copies, which
everybody unwinds while reading, one with frame-pointer chains. CPU time of the whole tool; output
goes to /dev/null, frames are counted in a run of their own.
"""
import os
import re
import shutil
import subprocess

import bench as base

REPORT = {"wick": ["report", "--no-inline", "-i"], "": ["report", "--stdio", "--no-inline", "-i"]}
FRAME = re.compile(rb"^\s+[0-9a-f]+ .*\)$", re.MULTILINE)
HEAD = re.compile(rb"^\S.*\d+\.\d+:.*$", re.MULTILINE)


def record(bench, perf, name, words, hz):
    data = bench.path("read-%s.data" % name)
    subprocess.run(perf + ["record", "-q", "-F", hz] + words + ["-o", data, "--", bench.target,
                                                               str(bench.seconds)],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return data


def output_of(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True).stdout


def tools(sid):
    """{name: command before the words that follow}"""
    found = {"wick": [base.WICK]}
    if shutil.which("perf"):
        found["perf"] = ["perf"]
    found["sid's perf"] = sid.command("perf")
    return found


def convert(bench, sid, data):
    return sid.command("samply") + ["import", data, "--save-only", "-o", bench.path("read.json.gz")]


def cases(copied, chains):
    """(what, words, file, wanted)"""
    script = ["script", "--no-inline", "-i"]
    return [
        ("script --no-inline, copied stacks", script, copied, "<= 0.20"),
        ("script, copied stacks", ["script", "-i"], copied, ""),
        ("script --no-inline, fp chains", script, chains, ""),
        ("report --no-inline, copied stacks", REPORT, copied, ""),
        ("report --no-inline, fp chains", REPORT, chains,
         "<= 0.33"),
    ]


def frames_row(every, words, data):
    row = ["its samples / frames"]
    for command in every.values():
        text = output_of(command + words + [data])
        row.append("%d / %d" % (len(HEAD.findall(text)), len(FRAME.findall(text))))
    return row


def compare(bench, sid, options):
    every = tools(sid)
    perf = every.get("perf", every["sid's perf"])
    copied = record(bench, perf, "copied", ["--call-graph", "dwarf"], base.HZ)
    chains = record(bench, perf, "chains", ["-g"], "10000")
    runs = max(3, options.runs)
    rows = []
    for what, words, data, wanted in cases(copied, chains):
        functions = {}
        for name, command in every.items():
            more = words if isinstance(words, list) else words.get(name, words[""])
            line = command + more + [data]
            if subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                functions[name] = lambda line=line: bench.timed(line)
        samply = what.startswith("script --no-inline, copied")
        if samply:
            functions["samply"] = lambda: bench.timed(convert(bench, sid, data))
        results = base.alternate(runs, functions)
        cells = {name: base.median(results[name], 1) for name in results}
        best = cells.get("sid's perf")
        rows.append([what] + ["%.3f s" % cells[name] if name in cells else "fails" for name in every] +
                    ["%.3f s" % cells["samply"] if samply else "",
                     "%.2f" % (cells["wick"] / best) if best else "", wanted])
        if samply:
            rows.append(frames_row(every, words, data) + ["", "", ""])
    print("Reading files of perf's (%d MB with copied stacks, %d MB with chains), CPU; medians of %d "
          "alternating runs\n" % (os.path.getsize(copied) >> 20, os.path.getsize(chains) >> 20, runs))
    base.show([[""] + list(every) + ["samply import", "wick/sid's perf", "wanted"]] + rows,
              options.markdown)
