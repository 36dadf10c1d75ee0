#!/usr/bin/env python3
"""The runner reads what it must not misread: skips, crashes, plans that were not met."""
import sys

from run_tests import parse


def counts(output, status=0, timed_out=False):
    result = parse(output, status, timed_out, "program")
    return len(result.passed), len(result.failed), len(result.skipped)


CASES = [
    ("two pass", counts("1..2\nok 1 - a\nok 2 - b\n"), (2, 0, 0)),
    ("one fails", counts("1..2\nok 1 - a\nwhy\nnot ok 2 - b\n", 1), (1, 1, 0)),
    ("a skip is no success", counts("1..1\nok 1 - a # SKIP no kernel\n"), (0, 0, 1)),
    ("cmocka's skip is no failure", counts("1..1\nnot ok 1 # SKIP a\n"), (0, 0, 1)),
    ("two groups", counts("1..1\nok 1 - a\n1..1\nok 1 - b\n"), (2, 0, 0)),
    ("a crash after a success", counts("1..2\nok 1 - a\n", -11), (1, 1, 0)),
    ("a crash before any word", counts("", -6), (0, 1, 0)),
    ("a leak found at the end", counts("1..1\nok 1 - a\nleaked\n", 23), (1, 1, 0)),
    ("a plan that was not met", counts("1..2\nok 1 - a\n"), (1, 1, 0)),
    ("no TAP, fine", counts("hello\n"), (1, 0, 0)),
    ("no TAP, failed", counts("hello\n", 1), (0, 1, 0)),
    ("no TAP, skipped", counts("no perf here\n", 77), (0, 0, 1)),
    ("too slow", counts("1..2\nok 1 - a\n", -9, True), (1, 1, 0)),
    ("skipped as a whole", counts("1..0 # SKIP nothing here\n"), (0, 0, 1)),
]


def main():
    print("1..%d" % len(CASES))
    failed = 0
    for number, (name, got, wanted) in enumerate(CASES, 1):
        if got != wanted:
            failed += 1
            print("got %s, wanted %s" % (got, wanted))
        print("%s %d - %s" % ("ok" if got == wanted else "not ok", number, name))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
