#!/usr/bin/env python3
"""Runs clang-tidy over every C file of the tree that a build directory compiles.

usage: tidy.py BUILD_DIR [FILE...]      two files at a time, warnings are errors
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def files_of(build, wanted):
    with open(os.path.join(ROOT, build, "compile_commands.json")) as file:
        commands = json.load(file)
    found = set()
    for command in commands:
        path = os.path.realpath(os.path.join(command["directory"], command["file"]))
        relative = os.path.relpath(path, ROOT)
        if path.endswith(".c") and not relative.startswith("..") and os.path.exists(path):
            if not wanted or relative in wanted:
                found.add(relative)
    return sorted(found)


def tidy(build, path):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", build, path], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return path, done.returncode, done.stdout


def main(arguments):
    build = arguments[0]
    paths = files_of(build, arguments[1:])
    failed = 0
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for path, status, output in pool.map(lambda path: tidy(build, path), paths):
            if status != 0 or "warning:" in output:
                failed += 1
                print("%s\n%s" % (path, output))
    print("tidy: %d files, %d with warnings" % (len(paths), failed))
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
