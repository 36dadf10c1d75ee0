"""How many stacks are complete, beside perf's: bench.py --complete.

Programs that people have (those that the differential test samples, tests/unwind/test_dwfl.py), and
programs whose own code knows its call chain (test_truth.py: every function work_X is reached on one
way only), where a stack that shows another way is wrong. Each is recorded by wick as it comes, and by
perf with copies of 8, 24 and 64 KiB of the stack. One measure for all, on the text that the tool's
own `script` prints: a stack is complete when a first function (_start, __libc_start_main, clone,
Go's goexit and mstart ...) is among its three outermost frames; in the programs whose truth is known,
when all of the known way is there, of the samples that are on one. Samples without user frames owe
none.
"late" is what wick read from the program afterwards and found unchanged, "system" what ends at the
root of a system stack of Go's, the goroutine that went there not read; it counts as complete.
"""
import json
import os
import re
import shutil
import subprocess
import sys

import bench as base

sys.path.insert(0, os.path.join(base.ROOT, "tests", "unwind"))
import test_dwfl  # noqa: E402
import test_truth  # noqa: E402

SECONDS = "2"
ROOT = re.compile(r"_start|__libc_start_(main|call_main).*|_dl_start.*|(__GI_)?_*clone3?|start_thread|"
                  r"thread_start|__start_context|runtime\.(goexit|mstart|rt0_go|mcall)(\.abi0)?")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")
GOROUTINE = "[goroutine not read]"
REAL = ("python3", "node", "g++", "git", "perl")
TRUE = ("gcc -O2", "gcc++ -O2", "musl", "rust", "go", "go switching")


def recorders(perf):
    found = {"wick": [base.WICK, "record", "-q", "-F", base.HZ]}
    for kib, size in (("8", "8192"), ("24", "24576"), ("64", "65528")):
        if perf:
            found["perf %s KiB" % kib] = ["perf", "record", "-q", "-F", base.HZ, "--call-graph",
                                          "dwarf," + size]
    return found


def stacks(name, data):
    """[[(symbol, module, address)], leaf first] of the samples that owe a user part."""
    command = [base.WICK, "script", "--no-inline", "-i", data]
    if name != "wick":
        command = ["perf", "script", "--no-inline", "--max-stack", "8200", "-i", data]
    text = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for block in text.decode(errors="replace").split("\n\n"):
        frames = []
        for line in block.split("\n")[1:]:
            match = FRAME.match(line)
            if match and not match.group(3).startswith("[kernel"):
                frames.append((re.sub(r"\+0x[0-9a-f]+$", "", match.group(2)), match.group(3),
                               match.group(1)))
        if any(module != "[unknown]" or not symbol.startswith("[") for symbol, module, _ in frames):
            yield frames


def is_complete(frames):
    return frames[-1][0] == GOROUTINE or any(ROOT.fullmatch(symbol) for symbol, _, _ in frames[-3:])


def function(symbol):
    """Without arguments, templates and namespaces, as test_truth knows functions."""
    symbol = re.sub(r"::h[0-9a-f]{16}$", "", symbol)
    symbol = re.sub(r"[(<].*$", "", symbol)
    return symbol.split("::")[-1]


def is_marker(frame):
    return frame[0].startswith("[") and frame[1] == "[unknown]" and frame[0] != "[unknown]"


def is_whole(frames, chains):
    """Where the truth is known: the known way, to its end."""
    return not sum(judge([frames], chains, 0))


def judge(every, chains, stop=None):
    """How many are wrong. Those that do not call themselves complete may end early, but on the way."""
    samples = []
    for frames in every:
        cut = not is_complete(frames) or is_marker(frames[-1])
        sample = test_truth.Sample((5 if cut else 0) if stop is None else stop, False)
        sample.frames = [(function(symbol), module, "", addr) for symbol, module, addr in frames
                         if not is_marker((symbol, module))]
        samples.append(sample)
    _, _, wrong, _ = test_truth.judge(samples, chains)
    return wrong.values()


def share_complete(every, chains):
    """Of programs whose truth is known: of the samples on a known way, else of all."""
    if not chains:
        return sum(map(is_complete, every)) / len(every)
    known = [frames for frames in every
             if any(test_truth.known_name(function(frame[0]), chains) for frame in frames)]
    whole = [frames for frames in known if is_whole(frames, chains) and
             (frames[-1][0] == GOROUTINE or not is_marker(frames[-1]))]
    return len(whole) / len(known) if known else 0


def measure(bench, recorders_, command, chains):
    """{recorder: (samples, complete share, wrong where known, late share, system share)}"""
    results = {}
    data = bench.path("complete.data")
    for name, record in recorders_.items():
        base.progress("%s, %s" % (os.path.basename(command[0]), name))
        subprocess.run(record + ["-o", data, "--"] + command, cwd=bench.folder,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        every = list(stacks(name, data))
        late = system = None
        if name == "wick":
            said = subprocess.run([base.WICK, "report", "--format", "json", "-i", data],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
            ends = json.loads(said)["quality"]["stacks"]
            late, system = ends["late"] / len(every), ends["switched"] / len(every)
        results[name] = (len(every), share_complete(every, chains),
                         sum(judge(every, chains)) if chains else None, late, system)
        os.unlink(data)
    return results


def row(name, results):
    samples, complete, wrong, late, system = results["wick"]
    cells = [name, "%d" % samples, "%.2f %%" % (100 * complete), "%.2f %%" % (100 * late),
             "%.2f %%" % (100 * system) if system else "", "" if wrong is None else "%d" % wrong]
    for other in list(results)[1:]:
        _, complete, wrong, _, _ = results[other]
        cells.append("%.2f %%%s" % (100 * complete, "" if wrong is None else ", %d wrong" % wrong))
    return cells


def programs(folder):
    """(name, command, chains or None); made one after another."""
    for name, command, _, _ in test_dwfl.commands(folder):
        if name in REAL and shutil.which(test_dwfl.program_of(command)):
            yield name, ["timeout", SECONDS] + command, None
    for build in test_truth.builds():
        if build.name in TRUE and shutil.which(build.compiler):
            made = os.path.join(folder, "build")
            os.mkdir(made)
            try:
                program = test_truth.compile_it(build, made)
            except (subprocess.CalledProcessError, OSError):
                shutil.rmtree(made)
                continue
            spend = "150" if build.compiler != "go" else "250"
            yield build.name, [program, spend], build.chains
            shutil.rmtree(made)


def compare(options, folder):
    bench = base.Bench(folder, options.seconds)
    every = recorders(shutil.which("perf"))
    header = ["", "samples", "wick: complete", "late", "system", "wrong"]
    rows = [header + [name for name in every if name != "wick"]]
    for name, command, chains in programs(folder):
        rows.append(row(name, measure(bench, every, command, chains)))
    base.progress("")
    print("%s; complete stacks at %s Hz\n" % (base.versions(), base.HZ))
    base.show(rows, options.markdown)
