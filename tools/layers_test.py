#!/usr/bin/env python3
"""layers.py finds each kind of trespass in a small tree made for it, and nothing in a clean one."""
import os
import sys
import tempfile

from layers import check

CLEAN = {
    "include/wick/record.h": '#include <stdint.h>\n',
    "src/base/bytes.h": '#pragma once\n',
    "src/abi/perf_abi.h": '#include "base/bytes.h"\n',
    "src/record/merge.h": '#include "wick/record.h"\n#include "abi/perf_abi.h"\n',
    "src/target/target.h": '#include "base/bytes.h"\n',
    "src/session/pump.c": '#include "record/merge.h"\n#include "config.h"\n',
    "src/session/pump_test.c": '#include "tests/unit_test.h"\n',
    "tests/unit_test.h": '#pragma once\n',
}
CASES = [
    ("a clean tree", {}, None),
    ("a higher rank", {"src/base/up.c": '#include "record/merge.h"\n'}, "lower rank"),
    ("the same rank", {"src/target/side.c": '#include "record/merge.h"\n'}, "lower rank"),
    ("a room's header by the public door", {"src/base/door.c": '#include "wick/record.h"\n'},
     "belongs to record/"),
    ("an unknown room", {"src/utils/x.c": '\n'}, "unknown room utils/"),
    ("a file outside the rooms", {"src/x.c": '\n'}, "not in a room"),
    ("a public header that looks inside", {"include/wick/x.h": '#include "base/bytes.h"\n'},
     "wick/ only"),
    ("an example that looks inside", {"examples/x.c": '#include "base/bytes.h"\n'}, "wick/ only"),
    ("no room in the name", {"src/base/x.c": '#include "bytes.h"\n'}, 'write "room/bytes.h"'),
    ("what is not there", {"src/session/x.c": '#include "base/gone.h"\n'}, "does not exist"),
    ("the distribution's header", {"src/record/x.c": '#include <linux/perf_event.h>\n'},
     "abi/perf_abi.h"),
    ("a name taken", {"src/session/merge.h": '\n'}, "is taken by"),
    ("a command called as a room's file", {"src/cli/pump.c": '\n', "examples/pump.c": '\n'}, None),
    ("a test's header beside it", {"tests/live/x.c": '#include "y.h"\n', "tests/live/y.h": '\n'},
     None),
    ("tests seen by the product", {"src/session/x.c": '#include "tests/unit_test.h"\n'},
     "only *_test.c"),
    ("the agent reaches too far", {"src/agent/x.c": '#include "session/y.h"\n',
                                   "src/session/y.h": '\n'}, "agent/ may include"),
]


def problems_of(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        return check(root)[1]


def main():
    print("1..%d" % len(CASES))
    failed = 0
    for number, (name, extra, wanted) in enumerate(CASES, 1):
        problems = problems_of({**CLEAN, **extra})
        if wanted is None:
            good = not problems
        else:
            good = len(problems) == 1 and wanted in problems[0]
        if not good:
            failed += 1
            print("wanted %s, got %s" % (wanted, problems))
        print("%s %d - %s" % ("ok" if good else "not ok", number, name))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
