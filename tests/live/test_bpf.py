#!/usr/bin/env python3
"""BPF programs in the kernel have their names, also when they are gone by the end."""
import os
import platform
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from wicktest import Skip, check, count, functions_of, is_root, main, test  # noqa: E402


def jit_is_on():
    try:
        with open("/proc/sys/net/core/bpf_jit_enable") as file:
            return int(file.read()) > 0
    except (OSError, ValueError):
        return False


def recording(box):
    if not is_root():
        raise Skip("loading a BPF program needs root")
    if not jit_is_on():
        raise Skip("the kernel interprets BPF programs here: /proc/sys/net/core/bpf_jit_enable")
    done = box.wick("record", "-e", "cpu-clock", "--", box.build("bpf_burn.c"), "1")
    if done.status == 77:
        raise Skip("bpf() is refused here: " + done.err.strip().splitlines()[-1])
    check(done.status == 0, done.err)
    report = box.report()
    if report["quality"]["samples"] < 100 or "kernel" not in done.err + done.out:
        raise Skip("the kernel is not sampled here")
    return report


@test
def a_program_that_is_gone_has_its_name(box):
    functions = functions_of(recording(box))
    burn = [row for name, row in functions.items()
            if re.match(r"bpf_prog_[0-9a-f]{16}_wick_burn$", name)]
    check(len(burn) == 1, sorted(functions)[:20])
    check(burn[0]["self_pct"] > 50, burn)
    samples = box.script()
    inside = count(samples, burn[0]["name"])
    check(inside > 0.5 * len(samples), inside, len(samples))
    offsets = {frame[2] for s in samples for frame in s.frames if frame[1] == burn[0]["name"]}
    check(len(offsets) > 10 and max(offsets) < 100000, sorted(offsets)[:5])


@test
def perf_reads_the_records(box):
    recording(box)
    done = box.perf("script", "--show-bpf-events", "-i", "perf.data")
    if "unknown option" in done.err:
        raise Skip("this perf shows no such records")
    told = [line for line in done.out.splitlines() if "PERF_RECORD_KSYMBOL" in line]
    check(any("wick_burn" in line for line in told), told[:3], done.err)


main()
