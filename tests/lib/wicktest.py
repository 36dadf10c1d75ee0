"""What the live and client tests share: running wick, building programs of known truth, reading
scripts and reports, and a runner that prints TAP.

    from wicktest import test, main, Skip, check

    @test
    def exit_status_is_the_commands(box):       # box: a Box, a fresh folder and its helpers
        check(box.wick("record", "--", "sh", "-c", "exit 7").status == 7)

    main()
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.environ.get("WICK_SOURCE_ROOT") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAMS = os.path.join(ROOT, "tests", "live", "programs")
WICK = os.environ.get("WICK") or os.path.join(ROOT, "build", "src", "cli", "wick")
TIMEOUT_S = 60

_tests = []


class Skip(Exception):
    """Raised with the reason when a test cannot run here."""


def test(function):
    if function.__module__ == "__main__":  # a module that lends its helpers keeps its tests
        _tests.append(function)
    return function


def check(condition, what="", *details):
    """An assertion that shows what it saw."""
    if not condition:
        raise AssertionError(" ".join(str(word) for word in (what,) + details))


def check_share(name, samples, total, truth):
    """samples/total is the share `truth` within 4 sigma or 2 points, whichever is more."""
    sigma = (truth * (1 - truth) / total) ** 0.5 if total else 1
    share = samples / total if total else 0
    check(total and abs(share - truth) <= max(4 * sigma, 0.02),
          "%s: %.1f %% of %d samples, %.1f %% of the time" % (name, 100 * share, total,
                                                              100 * truth))


def main():
    """Runs the tests of the module, or those named on the command line."""
    wanted = sys.argv[1:]
    tests = [t for t in _tests if not wanted or any(w in t.__name__ for w in wanted)]
    print("1..%d" % len(tests))
    failed = 0
    if not os.path.exists(WICK):
        print("%s does not exist" % WICK)
    for number, function in enumerate(tests, 1):
        name = function.__name__.replace("_", " ")
        with Box() as box:
            try:
                function(box)
                print("ok %d - %s" % (number, name))
            except Skip as why:
                print("ok %d - %s # SKIP %s" % (number, name, why))
            except Exception:
                failed += 1
                print(traceback.format_exc().rstrip())
                box.show()
                print("not ok %d - %s" % (number, name))
        sys.stdout.flush()
    sys.exit(1 if failed else 0)


class Done:
    """What became of a command: status is that of a shell, 128 + n for signal n."""

    def __init__(self, command, status, out, err):
        self.command = command
        self.status = status
        self.out = out
        self.err = err

    def check_sane(self):
        """It neither crashed nor did a sanitizer complain."""
        for sign in ("AddressSanitizer", "runtime error:", "LeakSanitizer", "ThreadSanitizer"):
            check(sign not in self.err, "a sanitizer complains:", self.err[-3000:])
        check(self.status not in (128 + signal.SIGSEGV, 128 + signal.SIGABRT,
                                  128 + signal.SIGBUS, 128 + signal.SIGFPE,
                                  128 + signal.SIGILL), "crashed:", self.status)
        return self

    def ok(self):
        check(self.status == 0, "exit status %d of" % self.status, self.command, self.err[-2000:])
        return self


class Running:
    """A command in the background; its output goes to files."""

    def __init__(self, command, folder, number, **options):
        self.command = command
        self.paths = [os.path.join(folder, "%s%d" % (kind, number)) for kind in ("out", "err")]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen(command, stdout=options.pop("stdout", out),
                                            stderr=err, start_new_session=True, **options)
        self.pid = self.process.pid

    def say(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def output(self):
        return open(self.paths[0], "rb").read().decode("utf-8", "replace")

    def errors(self):
        return open(self.paths[1], "rb").read().decode("utf-8", "replace")

    def wait_line(self, text, timeout=20):
        wait_until(lambda: text in self.output() or self.process.poll() is not None, timeout,
                   "%s does not say %s" % (self.command[0], text))
        check(text in self.output(), "%s ended early:" % self.command[0], self.errors())

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=TIMEOUT_S):
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("%s did not end in %d s; %s" % (self.command, timeout,
                                                                 self.errors()[-2000:]))
        status = self.process.returncode
        return Done(self.command, 128 - status if status < 0 else status, self.output(),
                    self.errors())

    def kill(self):
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        self.process.wait()


def wait_until(condition, timeout, what):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("in vain: " + what)
        time.sleep(0.01)


def perf_fds(pid):
    """How many perf events a process has open."""
    count = 0
    try:
        for fd in os.listdir("/proc/%d/fd" % pid):
            try:
                if "perf_event" in os.readlink("/proc/%d/fd/%s" % (pid, fd)):
                    count += 1
            except OSError:
                pass
    except OSError:
        pass
    return count


class Box:
    """A folder of one test, what runs in it, and the words of what ran."""

    _built = {}
    _programs = None

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="wick-test-")
        self.running = []
        self.log = []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for running in self.running:
            running.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return self.path(name)

    def show(self):
        for done in self.log[-4:]:
            print("$ %s -> %d" % (" ".join(map(str, done.command))[:400], done.status))
            for text in (done.err, done.out):
                if text.strip():
                    print("\n".join(text[-1500:].rstrip().split("\n")[-12:]))

    # ---- running

    def start(self, *command, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("cwd", self.folder)
        running = Running([str(word) for word in command], self.folder, len(self.running),
                          **options)
        self.running.append(running)
        return running

    def run(self, *command, **options):
        timeout = options.pop("timeout", TIMEOUT_S)
        feed = options.pop("feed", None)
        if feed is not None:
            options["stdin"] = subprocess.PIPE
        running = self.start(*command, **options)
        if feed is not None:
            running.process.stdin.write(feed)
            running.process.stdin.close()
        done = running.wait(timeout)
        self.log.append(done)
        return done

    def wick(self, *words, **options):
        return self.run(WICK, *words, **options).check_sane()

    def record(self, *words, **options):
        """wick record into perf.data of the folder; fails with the command's exit status."""
        return self.wick("record", *words, **options).ok()

    def attach(self, *words, **options):
        """Starts `wick record` in the background and returns when its events are open."""
        recorder = self.start(WICK, "record", *words, **options)
        seen = []

        def settled():
            check(recorder.process.poll() is None, "wick ended early:", recorder.errors())
            seen.append(perf_fds(recorder.pid))
            return len(seen) > 20 and seen[-1] > 0 and len(set(seen[-20:])) == 1

        wait_until(settled, 20, "wick opens no events: " + recorder.errors())
        return recorder

    # ---- programs

    def build(self, name, *flags, compiler=None, sources=None, output=None):
        """Compiles tests/live/programs/NAME (once a run) with frame pointers and returns its path."""
        if Box._programs is None:
            Box._programs = tempfile.TemporaryDirectory(prefix="wick-programs-")
            os.chmod(Box._programs.name, 0o755)
        key = (name, flags, tuple(sources or ()), output)
        if key in Box._built:
            return Box._built[key]
        compiler = compiler or ("g++" if name.endswith(".cpp") else "gcc")
        if not shutil.which(compiler):
            raise Skip(compiler + " is not installed")
        path = os.path.join(Box._programs.name, output or
                            "%s-%d" % (os.path.splitext(name)[0], len(Box._built)))
        command = [compiler, "-O2", "-g", "-D_GNU_SOURCE", "-fno-omit-frame-pointer",
                   "-mno-omit-leaf-frame-pointer", "-pthread", "-o", path]
        command += sources or [os.path.join(PROGRAMS, name)]
        done = subprocess.run(command + list(flags) + ["-ldl", "-lm"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0 and "-mno-omit-leaf" in done.stdout:
            command.remove("-mno-omit-leaf-frame-pointer")
            done = subprocess.run(command + list(flags), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        check(done.returncode == 0, done.stdout)
        Box._built[key] = path
        return path

    # ---- what was recorded

    def script(self, file="perf.data", tool=None, words=()):
        """The samples as `wick script` (or `perf script`) prints them."""
        if tool == "perf":
            done = self.perf("script", "--max-stack", "1024", *words, "-i", file).ok()
        else:
            done = self.wick("script", *words, "-i", file).ok()
        return parse_script(done.out)

    def report(self, *words, file="perf.data"):
        """The report as JSON."""
        done = self.wick("report", "-i", file, "--format", "json", *words).ok()
        return json.loads(done.out)

    def perf(self, *words, **options):
        if not shutil.which("perf"):
            raise Skip("perf is not installed")
        return self.run("perf", *words, **options)


class Sample:
    """One sample of a script; frames are leaf first: (addr, symbol or None, offset, dso)."""

    __slots__ = ("comm", "pid", "tid", "cpu", "time", "period", "event", "frames", "truncated")

    def names(self):
        return [frame[1] for frame in self.frames]

    def leaf(self):
        return self.frames[0][1] if self.frames else None

    def has(self, symbol):
        return any(frame[1] == symbol for frame in self.frames)


HEADER = re.compile(r"^(\S.*?|)\s+(?:(\d+)/)?(-?\d+)\s+(?:\[(\d+)\]\s+)?(\d+\.\d+):\s+(\d+)\s+"
                    r"(\S+?):\s*$")
FRAME = re.compile(r"^\s+([0-9a-f]+)\s+(.*) \(((?:[^()]|\([^()]*\))*)\)(?: \(inlined\))?\s*$")


def parse_script(text):
    samples = []
    for line in text.split("\n"):
        header = HEADER.match(line) if not line.startswith((" ", "\t")) or "]" in line else None
        frame = None if header else FRAME.match(line)
        if header:
            sample = Sample()
            sample.comm = header.group(1).strip()
            sample.tid = int(header.group(3))
            sample.pid = int(header.group(2) or sample.tid)
            sample.cpu = int(header.group(4) or -1)
            sample.time = float(header.group(5))
            sample.period = int(header.group(6))
            sample.event = header.group(7)
            sample.frames = []
            sample.truncated = False
            samples.append(sample)
        elif frame and samples:
            symbol, plus, offset = frame.group(2).rpartition("+0x")
            symbol = symbol if plus else frame.group(2)
            if symbol.startswith("[truncated:"):  # why the stack ends, drawn as a frame
                samples[-1].truncated = True
                continue
            if symbol in ("[unknown]", ""):
                symbol = None
            samples[-1].frames.append((int(frame.group(1), 16), symbol,
                                       int(offset, 16) if plus else 0, frame.group(3)))
        elif line.strip():
            check(not samples or line.startswith((" ", "\t")) or line.startswith("#"),
                  "not a line of a script:", repr(line))
    return samples


def truth_of(text):
    """The JSON that a program of known truth prints as its last line."""
    lines = [line for line in text.splitlines() if line.startswith("{")]
    check(lines, "the program told no truth:", text[-500:])
    return json.loads(lines[-1])


def says_no_samples(done):
    """A recording without samples is said in the loudest words of the block."""
    return re.search(r"^!! Samples +NONE", done.out + done.err, re.MULTILINE) is not None


def functions_of(report):
    """{name: row} of the first event of a JSON report."""
    return {row["name"]: row for row in report["events"][0]["functions"]}


def lost_of(quality):
    """What the recording says it lost, in the records or by read(), whichever is more."""
    return max(quality["lost"] or 0, quality["lost_read"] or 0)


def count(samples, symbol):
    return sum(1 for sample in samples if sample.has(symbol))


NOBODY = 65534


def as_user(box):
    """The words before a command that is to run as an ordinary user in this box, and wick for it."""
    if not is_root():
        return [], WICK
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    os.chown(box.folder, NOBODY, NOBODY)
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
             "--bounding-set=-all"]
    if subprocess.run(words + [WICK, "--help"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, cwd="/").returncode == 0:
        return words, WICK
    copy = box.path("wick")  # the tree may lie in a folder that only root may enter
    shutil.copy(WICK, copy)
    os.chmod(copy, 0o755)
    return words, copy


def user_record(box, *words, **options):
    prefix, wick = as_user(box)
    return box.run(*prefix, wick, "record", *words, **options).check_sane()


def need_paranoid(low, high):
    if not low <= paranoid() <= high:
        raise Skip("kernel.perf_event_paranoid is %d" % paranoid())


def is_root():
    return os.geteuid() == 0


def paranoid():
    try:
        with open("/proc/sys/kernel/perf_event_paranoid") as file:
            return int(file.read())
    except OSError:
        return 4
