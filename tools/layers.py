#!/usr/bin/env python3
"""Holds the order of the rooms: who may include whom.

usage: layers.py [ROOT]

- A room of src/ includes itself, rooms of a lower rank, and the public headers; rooms of the same
  rank do not see each other.
- A public header includes other public headers and the system's, nothing of src/.
- Includes are written "room/file.h" or "wick/file.h", and what is included exists.
- Tests (*_test.c, tests/) may include tests/ besides; examples/ only the public headers.
- Base names are unique in src/ and include/. The .c files of cli/ are called after their commands
  and do not count.
- src/ never includes <linux/perf_event.h>: abi/perf_abi.h is newer than the distribution's.
"""
import os
import re
import sys

RANKS = [
    ["base", "abi"],
    ["record", "object", "target", "profile"],
    ["perf", "softperf", "perfdata", "proc", "formats"],
    ["unwind", "symbolize"],
    ["session"],
    ["view", "agent"],
    ["cli"],
]
# The shim that is preloaded into a target stays small: it sees these rooms only.
ONLY = {"agent": {"base", "abi", "record", "softperf"}}
RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}
# base and abi share rank 0; base/ is below everything, abi/ uses its cleanup and bytes.
SAME_RANK = {("abi", "base")}
# Public headers that belong to a room: who includes them looks into that room.
PUBLIC_RANK = {"perf_event.h": "perf", "perf_ringbuf.h": "perf", "record.h": "record"}
# Rooms that implement a public header, or the other side of what it describes.
PUBLIC_OK = {("softperf", "perf_ringbuf.h"), ("softperf", "perf_event.h")}
GENERATED = {"config.h"}
FORBIDDEN = {"linux/perf_event.h": "abi/perf_abi.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = (".c", ".h", ".cpp")
FOLDERS = ("src", "include", "tests", "examples", "bench")


def sources(root):
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(root, folder)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(SOURCES):
                    yield os.path.relpath(os.path.join(path, name), root)


def room_of(path):
    parts = path.split(os.sep)
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def check_public(room, name):
    """A room may include the public headers whose implementation it could include."""
    owner = PUBLIC_RANK.get(name)
    if owner is None or owner == room or (room, name) in PUBLIC_OK:
        return None
    if RANK[owner] >= RANK[room]:
        return "wick/%s belongs to %s/ (rank %d), %s/ has rank %d" % (
            name, owner, RANK[owner], room, RANK[room])
    return None


def check_room(room, target):
    if target not in RANK:
        return "unknown room %s/" % target
    if target == room or (room, target) in SAME_RANK:
        return None
    if room in ONLY and target not in ONLY[room]:
        return "%s/ may include %s only" % (room, ", ".join(sorted(ONLY[room])))
    if RANK[target] >= RANK[room]:
        return "%s/ has rank %d, %s/ rank %d: includes point to a lower rank only" % (
            room, RANK[room], target, RANK[target])
    return None


def exists(root, name):
    return any(os.path.exists(os.path.join(root, folder, name))
               for folder in ("src", "include", "."))


def check_include(root, path, bracket, name):
    """The reason why `path` may not include `name`, or None."""
    top = path.split(os.sep)[0]
    if bracket == "<":
        if top == "src" and name in FORBIDDEN:
            return "<%s> in src/: use \"%s\"" % (name, FORBIDDEN[name])
        return None
    if name in GENERATED:
        return "generated header in an installed one" if top == "include" else None
    beside = os.path.join(root, os.path.dirname(path), name)
    if top in ("tests", "bench") and os.path.exists(beside):
        return None
    if "/" not in name:
        return "write \"room/%s\"" % name
    if not exists(root, name):
        return "\"%s\" does not exist" % name
    target, rest = name.split("/", 1)
    if top in ("include", "examples"):
        return None if target == "wick" else "a public header or example sees wick/ only"
    if top != "src":
        return None
    if target == "tests":
        return None if path.endswith("_test.c") else "only *_test.c may include tests/"
    room = room_of(path)
    if target == "wick":
        return check_public(room, rest)
    return check_room(room, target)


def check_file(root, path):
    room = room_of(path)
    if path.startswith("src" + os.sep) and room not in RANK:
        yield "%s: %s" % (path, "unknown room %s/" % room if room else "not in a room")
        return
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                why = check_include(root, path, match.group(1), match.group(2))
                if why:
                    yield "%s:%d: %s" % (path, number, why)


def check_names(paths):
    first = {}
    for path in paths:
        name = os.path.basename(path)
        top = path.split(os.sep)[0]
        if top not in ("src", "include") or room_of(path) == "cli" and name.endswith(".c"):
            continue
        if name in first:
            yield "%s: its name is taken by %s" % (path, first[name])
        first.setdefault(name, path)


def check(root):
    paths = list(sources(root))
    problems = list(check_names(paths))
    for path in paths:
        problems += check_file(root, path)
    return len(paths), problems


def main(arguments):
    default = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = arguments[0] if arguments else default
    count, problems = check(root)
    for problem in problems:
        print(problem)
    print("layers: %d files, %d problems" % (count, len(problems)))
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
