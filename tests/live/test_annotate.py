#!/usr/bin/env python3
"""Code of hot functions travels in the recording: wick annotate, and what it says without it."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wicktest import Skip, check, functions_of, main, test  # noqa: E402


def recorded(box, *words):
    """A copy of a program that may be removed; its recording is perf.data."""
    path = box.path("program")
    shutil.copy(box.build("nested.c"), path)
    box.record(*words, "--", path, "1")
    return path


def annotate(box, function, *words, file="perf.data"):
    done = box.wick("annotate", function, "-i", file, "--format", "json", *words).ok()
    return json.loads(done.out)


def only(data):
    check(len(data["functions"]) == 1, [f["function"] for f in data["functions"]])
    return data["functions"][0]


def check_whole(function, samples_at_least=300):
    """Instructions cover the function without a gap, and hold all of its samples."""
    at = int(function["address"], 16)
    for one in function["instructions"]:
        check(int(one["address"], 16) == at, "a gap before", one)
        at += len(one["bytes"]) // 2
    missing = int(function["address"], 16) + function["size"] - at  # the padding behind it
    check(0 <= missing < 16, "not all of it:", hex(at), function["size"])
    check(function["samples"] >= samples_at_least, function["samples"], "samples")
    check(sum(i["samples"] for i in function["instructions"]) == function["samples"])
    check(sum(i["weight"] for i in function["instructions"]) == function["weight"])


@test
def code_comes_out_of_the_recording(box):
    path = recorded(box)
    before = annotate(box, "inner_work")
    function = only(before)
    check(function["code"] == "recording", function["code"])
    check_whole(function)
    os.remove(path)
    check(annotate(box, "inner_work") == before, "it changed when the program was removed")
    box.write("program", "something else")
    check(annotate(box, "inner_work") == before, "it changed when the program was replaced")


@test
def lines_sum_up_too(box):
    recorded(box)
    function = only(annotate(box, "inner_work"))
    if not function["lines"]:
        raise Skip("this build of wick reads no debug information")
    lined = sum(i["samples"] for i in function["instructions"] if i["line"])
    check(sum(line["samples"] for line in function["lines"]) == lined)
    check(lined >= 0.9 * function["samples"], lined, function["samples"])
    source = [line for line in function["lines"] if line["source"]]
    check(source and all(line["file"].endswith((".c", ".h")) for line in source), source[:3])
    text = open(source[0]["file"]).read().split("\n")[source[0]["line"] - 1]
    check(source[0]["source"] == text.expandtabs(), source[0], text)
    check(all(not line["source"] for line in
              only(annotate(box, "inner_work", "--no-source"))["lines"]))


@test
def the_file_is_read_where_nothing_is_embedded(box):
    path = recorded(box, "--no-embed")
    function = only(annotate(box, "inner_work"))
    check(function["code"] == "file", function["code"])
    check_whole(function)
    box.wick("export", "-o", "copy.data").ok()
    shutil.copy(box.build("shares.c"), path)  # of another build id
    function = only(annotate(box, "inner_work", file="copy.data"))
    check(function["code"] == "recording", function["code"])
    check_whole(function)
    done = box.wick("annotate", "inner_work")
    check("no function of the recording" in done.err and done.status == 1, done.err)


@test
def what_is_missing_is_said(box):
    path = recorded(box)
    data = open(box.path("perf.data"), "rb").read()
    at = data.rfind(b"wick-code 1\n")
    check(at > 0, "the recording has no code in it")
    box.write("bad.data", data[:at + 20] + b"\0\0\0\0" + data[at + 24:])
    os.remove(path)
    function = only(annotate(box, "inner_work", file="bad.data"))
    check(function["code"] is None and "is gone" in function["why"], function["why"])
    check(function["samples"] >= 300 and function["instructions"], "its samples are gone, too")
    done = box.wick("annotate", "inner_work", "bad.data").ok()
    check("its code is not there" in done.out, done.out)
    check("bad.data: the code in this file is damaged and was left out" in done.err, done.err)
    check("inner_work" in box.wick("report", "bad.data").ok().out)
    check(box.wick("annotate", "inner_work", "perf.data").ok().out.count("\n") > 20)


@test
def words_and_the_wrong_ones(box):
    recorded(box)
    check(box.wick("annotate").status == 2)
    check("no function of the recording is called nonsense" in
          box.wick("annotate", "nonsense").err)
    check(only(annotate(box, "program:inner_work"))["function"] == "inner_work")
    check(box.wick("annotate", "libc.so.6:inner_work").status == 1)
    check(box.wick("annotate", "-M", "nonsense", "inner_work").status == 2)
    intel = box.wick("annotate", "inner_work", "perf.data").ok().out
    att = box.wick("annotate", "-M", "att", "--symbol", "inner_work", "perf.data").ok().out
    check("%r" not in intel, intel)
    few = box.wick("annotate", "inner_work", "--limit", "2", "--no-source").ok().out
    check(len(few.split("\n")) < 15 < len(intel.split("\n")), few)
    check("..." in few, few)
    every = only(annotate(box, "inner_work"))
    hottest = only(annotate(box, "inner_work", "--limit", "2"))
    for what in ("instructions", "lines"):
        weights = sorted((one["weight"] for one in every[what]), reverse=True)
        least = max(weights[1], 1) if len(weights) > 2 else 0
        check(hottest[what] == [one for one in every[what] if one["weight"] >= least],
              what, hottest[what])
    check(len(hottest["instructions"]) < len(every["instructions"]), len(every["instructions"]))
    check(att != intel or ".byte" in intel, "both styles are the same")
    inlined = box.wick("annotate", "inlined_work")
    check(inlined.status == 0 or "inlined" in inlined.err, inlined.err)


@test
def code_of_the_vdso_travels(box):
    box.write("clock.c", """#include <time.h>
int main(void) {
	struct timespec first, now;

	clock_gettime(CLOCK_MONOTONIC, &first);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec - first.tv_sec < 2);
	return 0;
}
""")
    box.record("--", box.build("clock.c", sources=[box.path("clock.c")]))
    hot = [name for name, row in functions_of(box.report()).items()
           if row["module"] == "[vdso]" and row["self_pct"] > 20]
    if not hot:
        raise Skip("the clock is not read in the vdso here")
    function = only(annotate(box, "[vdso]:" + hot[0]))
    check(function["code"] == "recording", function["why"] if "why" in function else "")
    check(len(function["instructions"]) > 5, function)


@test
def code_of_jitdumps_travels(box):
    import platform
    if platform.machine() != "x86_64":
        raise Skip("the program's compiler makes x86_64 code")
    box.record("--", box.build("jits.c"), "1", box.folder, "3", "1")
    dumps = [name for name in os.listdir(box.folder) if name.startswith("jit-")]
    check(dumps, "no dump was left")
    for name in dumps:
        os.remove(box.path(name))
    function = only(annotate(box, "inner_1"))
    check(function["code"] == "recording", function)
    check_whole(function, 50)


main()
