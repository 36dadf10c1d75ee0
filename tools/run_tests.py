#!/usr/bin/env python3
"""Runs the test tiers and counts.

usage: run_tests.py [-v] [WORD...]      a WORD picks a tier, or what has it in its name

Everything that is run prints TAP, or is one test by its exit status (77: skipped):

  unit, sim, files   the programs that meson knows by these suites, in build/ and build-asan/
  fuzz               suite "fuzz" in build-asan/: each harness replays its corpus
  races              suite "races" in build-tsan/
  live, clients,     tests/<tier>/test_*.py; a module that names the build-asan in BUILDS runs
  viewer, torture    with both
  layers             tools/layers.py, its own test, and the runner's

The last line is `N passed, N failed, N skipped`; the exit status is 1 when something failed.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIERS = ("layers", "unit", "sim", "files", "fuzz", "races", "live", "clients", "viewer", "torture")
SCRIPT_TIERS = ("live", "clients", "viewer", "torture")
BUILDS = {
    "unit": ("build", "build-asan"),
    "sim": ("build", "build-asan"),
    "files": ("build", "build-asan"),
    "fuzz": ("build-asan",),
    "races": ("build-tsan",),
    "clients": ("build",),
    "torture": ("build-asan",),
}
TIMEOUT_S = {"live": 300, "clients": 300, "viewer": 600}
DEFAULT_TIMEOUT_S = 180
TAP = re.compile(r"^(not ok|ok)\b\s*(\d+)?\s*-?\s*(.*)$")
PLAN = re.compile(r"^(\d+)\.\.(\d+)\s*(?:#\s*skip\w*\s*(.*))?$", re.IGNORECASE)


class Result:
    """What one program said: lists of test names, and (name, why) for the rest."""

    def __init__(self):
        self.passed = []
        self.failed = []
        self.skipped = []

    def total(self):
        return len(self.passed) + len(self.failed) + len(self.skipped)


def parse(output, status, timed_out, name):
    """TAP lines and the exit status -> Result; words between two TAP lines belong to the second."""
    result = Result()
    planned = 0
    said = []
    seen_tap = False
    for line in output.splitlines():
        plan = PLAN.match(line)
        tap = TAP.match(line)
        if plan:
            seen_tap = True
            planned += int(plan.group(2))
            if plan.group(3):
                result.skipped.append((name, plan.group(3)))
        elif tap:
            seen_tap = True
            text, _, directive = tap.group(3).partition("#")
            text = text.strip()
            directive = directive.strip()
            if directive.upper().startswith("SKIP"):
                why = directive[4:].strip()
                if not text:  # cmocka puts the name where the reason belongs
                    text, why = why, ""
                result.skipped.append((text, why or last_words(said) or "no reason given"))
            elif tap.group(1) == "ok":
                result.passed.append(text)
            else:
                result.failed.append((text, "\n".join(said)))
            said = []
        elif line.strip():
            said.append(line)
    judge_exit(result, status, timed_out, name, "\n".join(said), planned if seen_tap else None)
    return result


def last_words(said):
    for line in reversed(said):
        line = line.strip().lstrip("# ").strip()
        if line and not line.startswith("["):
            return line
    return ""


def judge_exit(result, status, timed_out, name, said, planned):
    if timed_out:
        result.failed.append((name, said + "\nkilled: it took too long"))
    elif planned is None and status == 77:
        result.skipped.append((name, last_words(said.splitlines()) or "no reason given"))
    elif planned is None and status == 0:
        result.passed.append(name)
    elif status != 0 and not result.failed:
        how = "signal %d" % -status if status < 0 else "exit status %d" % status
        result.failed.append((name, said + "\nended with " + how))
    elif planned is not None and result.total() < planned:
        result.failed.append((name, "%d of %d planned tests ran" % (result.total(), planned)))


def run(command, name, env, timeout):
    """Runs one program in a process group of its own; its words go to a file, so that a child
    that outlives it cannot hold a pipe open."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        timed_out = False
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        log.seek(0)
        output = log.read().decode("utf-8", "replace")
    return parse(output, process.returncode, timed_out, name)


def meson_tests(build, suite):
    """[(name, command, env)] of the tests that meson has in `suite`."""
    path = os.path.join(ROOT, build, "meson-info", "intro-tests.json")
    try:
        with open(path) as file:
            tests = json.load(file)
    except OSError:
        return None
    found = []
    for test in tests:
        if any(s.rpartition(":")[2] == suite for s in test["suite"]):
            found.append((test["name"], test["cmd"], test["env"]))
    return found


def module_builds(path):
    """A module that wants to be run with other builds says BUILDS = ("build", "build-asan")."""
    with open(path) as file:
        match = re.search(r"^BUILDS = \(([^)]*)\)", file.read(), re.MULTILINE)
    return re.findall(r'"([^"]+)"', match.group(1)) if match else ["build"]


def jobs_of(tier):
    """Yields (name, command, env) or (name, None, why it cannot run)."""
    if tier == "layers":
        yield "include order", [sys.executable, "tools/layers.py"], {}
        yield "layers.py", [sys.executable, "tools/layers_test.py"], {}
        yield "run_tests.py", [sys.executable, "tools/run_tests_test.py"], {}
        return
    for build in BUILDS.get(tier, ()):
        tests = meson_tests(build, tier)
        if tests is None:
            yield "%s in %s" % (tier, build), None, build + " could not be built"
            continue
        for name, command, env in tests:
            if not os.path.exists(command[0]):
                yield "%s in %s" % (name, build), None, command[0] + " could not be built"
            else:
                yield "%s in %s" % (name, build), command, env
    if tier in SCRIPT_TIERS:
        folder = os.path.join(ROOT, "tests", tier)
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        for name in names:
            if not (name.startswith("test_") and name.endswith(".py")):
                continue
            path = os.path.join(folder, name)
            for build in module_builds(path):
                yield ("%s in %s" % (name[5:-3], build), [sys.executable, path],
                       {"WICK": os.path.join(ROOT, build, "src", "cli", "wick")})


def environment(extra):
    env = dict(os.environ)
    env.setdefault("WICK_SOURCE_ROOT", ROOT)
    env.setdefault("WICK_FIXTURES", os.path.join(os.path.dirname(ROOT), "shared", "fixtures"))
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=1")
    env.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    env.setdefault("TSAN_OPTIONS", "halt_on_error=1")
    env["CMOCKA_MESSAGE_OUTPUT"] = "TAP"
    env["PYTHONPATH"] = os.path.join(ROOT, "tests", "lib")
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    env["LC_ALL"] = "C.UTF-8"
    env["TZ"] = "UTC"
    env.update(extra)
    return env


def show(name, result, seconds, verbose):
    word = "FAIL" if result.failed else "ok" if result.passed else "skip"
    print("  %-4s %-34s %4d passed %5.1f s" % (word, name, len(result.passed), seconds))
    if verbose:
        for test in result.passed:
            print("         ok   " + test)
    for test, why in result.skipped:
        print("         skip %s: %s" % (test, why))
    for test, why in result.failed:
        print("         FAIL %s" % test)
        for line in why.splitlines()[-60:]:
            print("              | " + line)
    sys.stdout.flush()


def run_tier(tier, words, verbose):
    sums = [0, 0, 0]
    started = time.monotonic()
    for name, command, env in jobs_of(tier):
        if words and tier not in words and not any(word in name for word in words):
            continue
        if sums == [0, 0, 0]:
            print(tier)
        before = time.monotonic()
        if command is None:
            result = Result()
            result.skipped.append((name, env))
        else:
            result = run(command, name, environment(env),
                         TIMEOUT_S.get(tier, DEFAULT_TIMEOUT_S))
        show(name, result, time.monotonic() - before, verbose)
        for i, part in enumerate((result.passed, result.failed, result.skipped)):
            sums[i] += len(part)
    return sums, time.monotonic() - started


def list_programs(build, suite):
    for _, command, _ in meson_tests(build, suite) or []:
        print(os.path.relpath(command[0], os.path.join(ROOT, build)))
    return 0


def main(arguments):
    if arguments[:1] == ["--list-programs"]:
        return list_programs(arguments[1], arguments[2])
    verbose = "-v" in arguments
    words = [word for word in arguments if word != "-v"]
    totals = [0, 0, 0]
    times = []
    for tier in TIERS:
        sums, seconds = run_tier(tier, words, verbose)
        if any(sums):
            times.append("%s %d in %.0f s" % (tier, sum(sums), seconds))
        totals = [a + b for a, b in zip(totals, sums)]
    print()
    print("tests a tier: " + ", ".join(times))
    print("%d passed, %d failed, %d skipped" % tuple(totals))
    return 1 if totals[1] or not any(totals) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
