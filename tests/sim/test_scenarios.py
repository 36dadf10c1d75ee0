#!/usr/bin/env python3
"""usage: test_scenarios.py WICK [--write]

Records every scenario beside this file twice: the two files must be the same, byte for byte, and
what wick reads out of them must be what NAME.txt says, which --write makes. TAP.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
QUALITY = ("samples", "period_sum", "event_count", "cpu_ns", "wall_ns", "lost", "lost_records",
           "lost_read", "throttled", "throttled_ns", "out_of_order", "bad_records",
           "unknown_records", "user_frames", "unnamed_frames", "coverage", "first_ns")


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120)
    if done.returncode or "ERROR" in done.stderr or "runtime error" in done.stderr:
        raise AssertionError("%s: %d\n%s" % (command, done.returncode, done.stderr[-2000:]))
    return done


def number(value):
    return "%.6f" % value if isinstance(value, float) else str(value)


def what_it_holds(wick, scenario, folder):
    paths = [os.path.join(folder, "%d.data" % i) for i in range(2)]
    said = [run([wick, "sim", scenario, "-o", path]).stderr.replace(path, "FILE")
            for path in paths]
    contents = [open(path, "rb").read() for path in paths]
    if contents[0] != contents[1] or said[0] != said[1]:
        raise AssertionError("two recordings of one scenario differ")
    quality = json.loads(run([wick, "report", "--format", "json", paths[0]]).stdout)["quality"]
    folded = os.path.join(folder, "x.folded")
    run([wick, "export", "-i", paths[0], "-o", folded])
    lines = [said[0].strip()]
    lines += ["%s: %s" % (key, number(quality[key])) for key in QUALITY]
    lines += ["stacks, %s: %d" % item for item in quality["stacks"].items() if item[1]]
    lines += sorted(open(folded).read().splitlines())
    return "\n".join(lines) + "\n"


def main():
    wick = sys.argv[1]
    scenarios = sorted(glob.glob(os.path.join(HERE, "*.scn")))
    failed = 0
    print("1..%d" % len(scenarios))
    for i, scenario in enumerate(scenarios, 1):
        golden = scenario[:-4] + ".txt"
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = what_it_holds(wick, scenario, folder)
                if "--write" in sys.argv:
                    open(golden, "w").write(text)
                wanted = open(golden).read().splitlines()
                differ = [line for line in text.splitlines() if line not in wanted]
                differ += ["not: " + line for line in wanted if line not in text.splitlines()]
                if differ:
                    raise AssertionError("\n".join(differ))
                print("ok %d - %s" % (i, os.path.basename(scenario)))
            except (AssertionError, OSError, KeyError, subprocess.TimeoutExpired) as why:
                failed += 1
                print("# " + str(why).replace("\n", "\n# "))
                print("not ok %d - %s" % (i, os.path.basename(scenario)))
    sys.exit(1 if failed else 0)


main()
