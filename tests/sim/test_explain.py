#!/usr/bin/env python3
"""usage: test_explain.py WICK

docs/HOW-PERF-WORKS.md tells along what `wick sim --explain` prints. Indented lines of it that look
like the narration belong to the command that stands, indented, before them: those of the first
must be its whole output, line by line, those of others a part of it without a gap. TAP.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "HOW-PERF-WORKS.md")
COMMAND = re.compile(r"^    wick (sim --explain.*)$")
LINE = re.compile(r"^    (\S.* +\d+\.\d{3} ms  .*)$")


def excerpts():
    """[(words of the command, [its lines])]"""
    found = []
    for line in open(PAGE):
        command, said = COMMAND.match(line), LINE.match(line)
        if command:
            found.append((command.group(1).split(), []))
        elif said:
            found[-1][1].append(said.group(1))
    return found


def holds(wick, words, lines, whole):
    done = subprocess.run([wick] + words, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    printed = done.stdout.splitlines()
    if done.returncode or done.stderr:
        raise AssertionError("it ended with %d: %s" % (done.returncode, done.stderr))
    if not lines:
        raise AssertionError("the page quotes nothing of it")
    if whole and printed != lines:
        raise AssertionError("\n".join(["it prints:"] + [
            "%s %s" % ("=" if line in lines else "!", line) for line in printed] + [
            "? " + line for line in lines if line not in printed]))
    if not any(printed[i:i + len(lines)] == lines for i in range(len(printed))):
        raise AssertionError("the page's lines are not in it:\n" + "\n".join(printed))


def main():
    failed = 0
    found = excerpts()
    print("1..%d" % len(found))
    for i, (words, lines) in enumerate(found):
        try:
            holds(sys.argv[1], words, lines, i == 0)
            print("ok %d - the page is what wick %s says" % (i + 1, " ".join(words)))
        except (AssertionError, OSError, subprocess.TimeoutExpired) as why:
            failed += 1
            print("# " + str(why).replace("\n", "\n# "))
            print("not ok %d - the page is what wick %s says" % (i + 1, " ".join(words)))
    sys.exit(1 if failed or not found else 0)


main()
