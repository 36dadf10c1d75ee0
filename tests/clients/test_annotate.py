#!/usr/bin/env python3
"""What wick annotate shows, compared with perf annotate and with objdump."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wicktest import Skip, check, main, test  # noqa: E402

# Other names for the same instruction.
SAME = {"movabs": "mov", "ret": "ret", "retq": "ret", "cs": "", "data16": "", "nopl": "nop",
        "nopw": "nop", "bnd": "", "notrack": "", "cmovnb": "cmovae", "setnb": "setae",
        "jnb": "jae", "xchg": "nop"}


def annotate(box, function):
    done = box.wick("annotate", function, "--format", "json").ok()
    functions = json.loads(done.out)["functions"]
    check(len(functions) == 1, [f["function"] for f in functions])
    return functions[0]


@test
def instructions_have_the_samples_that_perf_gives(box):
    box.perf("version")
    box.record("-F", "3000", "--", box.build("shares.c"), "1", "80", "20")
    for name in "burn_a", "burn_b":
        function = annotate(box, name)
        done = box.perf("annotate", "--stdio", "-n", "-i", "perf.data", name)
        theirs = {int(m.group(2), 16): int(m.group(1)) for m in
                  re.finditer(r"^ *(\d+) +: +([0-9a-f]+):", done.out, re.MULTILINE)}
        if not theirs:
            raise Skip("perf annotate shows nothing here: " + done.err.strip()[-100:])
        ours = {int(i["address"], 16): i["samples"] for i in function["instructions"]}
        check(function["samples"] > 100, function["samples"])
        check(set(ours) == set(theirs), "other instructions:", set(ours) ^ set(theirs))
        different = {hex(at): (ours[at], theirs[at]) for at in ours if ours[at] != theirs[at]}
        check(not different, name, different)


def objdump(path, function):
    """[(address, bytes, text)] of the bytes of a function."""
    start, last = int(function["address"], 16), function["instructions"][-1]
    end = int(last["address"], 16) + len(last["bytes"]) // 2
    done = subprocess.run(["objdump", "-d", "-w", "-M", "intel", "--start-address=%d" % start,
                           "--stop-address=%d" % end, path],
                          stdout=subprocess.PIPE, text=True, check=True)
    lines = re.findall(r"^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t(.*)$", done.stdout, re.MULTILINE)
    return [(int(at, 16), code.replace(" ", ""), text) for at, code, text in lines]


def mnemonic(text):
    words = [SAME.get(word, word) for word in text.split()[:4]]
    return next((word for word in words if word), "")


def compare(function, path):
    ours = [(int(i["address"], 16), i["bytes"], i["text"]) for i in function["instructions"]]
    theirs = objdump(path, function)
    check(len(ours) > 5 and len(ours) == len(theirs), len(ours), len(theirs))
    for one, other in zip(ours, theirs):
        check(one[:2] == other[:2], "other bytes:", one, other)
        check(mnemonic(one[2]) == mnemonic(other[2]), "another instruction:", one, other)


@test
def instructions_are_those_of_objdump(box):
    if not shutil.which("objdump"):
        raise Skip("objdump is not installed")
    path = box.build("shares.c")
    box.record("--", path, "1", "80", "20")
    function = annotate(box, "burn_a")
    if function["instructions"][0]["text"].startswith(".byte"):
        raise Skip("this build of wick has no disassembler")
    compare(function, path)


@test
def a_large_function_of_a_library_too(box):
    """python's interpreter: tens of kilobytes, jump tables, much that is rare."""
    if not shutil.which("objdump"):
        raise Skip("objdump is not installed")
    box.record("--", sys.executable, "-c", "x = 0\nfor i in range(12000000): x += i * i")
    done = box.wick("annotate", "_PyEval_EvalFrameDefault", "--format", "json")
    functions = json.loads(done.out)["functions"] if done.status == 0 else []
    functions = [f for f in functions if f["size"] > 10000 and f["code"]]
    if not functions:
        raise Skip("this python names no large function")
    if functions[0]["instructions"][0]["text"].startswith(".byte"):
        raise Skip("this build of wick has no disassembler")
    compare(functions[0], os.path.realpath(functions[0]["path"]))


main()
