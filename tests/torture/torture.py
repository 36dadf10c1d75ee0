"""What the torture tests share: a seed that is printed, a budget, and what must never happen."""
import os
import random
import re
import time

from wicktest import WICK, check, wait_until

# The same each time unless one is asked for, so that a run says the same twice; "random" draws one.
ASKED = os.environ.get("WICK_TORTURE_SEED") or "1219755125"
SEED = random.SystemRandom().randrange(1 << 32) if ASKED == "random" else int(ASKED)
# The tier has 60 s in all; WICK_TORTURE_SCALE=20 gives each test twenty times its share.
SCALE = float(os.environ.get("WICK_TORTURE_SCALE") or 1)


def say(*words):
    """A line between two lines of TAP."""
    print("#", *words, flush=True)


def dice(name):
    """Random numbers that WICK_TORTURE_SEED repeats."""
    say("%s: WICK_TORTURE_SEED=%d" % (name, SEED))
    return random.Random("%d %s" % (SEED, name))


class Budget:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds * SCALE

    def left(self):
        return self.end - time.monotonic()


def cgroup_mount():
    """Where cgroup v2 is mounted, or None."""
    with open("/proc/self/mountinfo") as file:
        for line in file:
            before, _, after = line.partition(" - ")
            if after.startswith("cgroup2 "):
                return before.split()[4]
    return None


def cgroups_of(pid):
    """The cgroups that a recorder of this pid has made and not removed."""
    mount = cgroup_mount()
    found = []
    for folder, names, _ in os.walk(mount) if mount else ():
        found += [os.path.join(folder, name) for name in names
                  if name.startswith("wick-%d-" % pid)]
    return found


def processes_in(folder):
    """(pid, command line) of everything that still works in this folder."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            if os.readlink("/proc/%s/cwd" % name) == folder:
                with open("/proc/%s/cmdline" % name) as file:
                    found.append((int(name), file.read().replace("\0", " ")))
        except OSError:
            pass
    return found


def check_failure(done):
    """A failure is told in one line that names something."""
    lines = [line for line in done.err.splitlines() if line.strip()]
    check(lines, "exit status %d without a word:" % done.status, done.command)
    told = [line for line in lines if line.startswith("wick: ")]
    check(told, "exit status %d, and nothing from wick:" % done.status, done.err[-500:])
    words = told[-1][6:]
    bare = re.fullmatch(r"(out of memory|[A-Z][a-z]+( [a-z]+){0,5})", words)
    check(not bare, "it names nothing:", repr(words))


def program(box, name):
    """A program of tests/torture/programs."""
    here = os.path.dirname(os.path.abspath(__file__))
    return box.build(name, sources=[os.path.join(here, "programs", name + ".c")], output=name)


def begin(box, *words, **options):
    """Starts `wick record` of a command; returns when the command runs."""
    recorder = box.start(WICK, "record", *words, **options)
    command = str(words[list(words).index("--") + 1])

    def runs():
        check(recorder.process.poll() is None, "wick ended early:", recorder.errors())
        return child_of(recorder.pid, command) is not None

    wait_until(runs, 20, "the command does not begin: " + recorder.errors())
    recorder.command_pid = child_of(recorder.pid, command)
    return recorder


def child_of(pid, exe):
    """The child of this process that runs this file, or None."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            for child in file.read().split():
                if os.readlink("/proc/%s/exe" % child) == exe:
                    return int(child)
    except OSError:
        pass
    return None
