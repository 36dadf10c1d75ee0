"""Measures names, inlined functions and lines beside the newest perf: bench.py --names.

The program is made once, with fixed seeds, and kept beside what bench.py --rivals keeps: C++ whose
templates are instantiated for hundreds of types, 100 MB of debug information. The recording of it
is made here, too: one sample at each of 100,000 addresses.
"""
import os
import random
import re
import signal
import stat
import struct
import subprocess
import sys
import threading
import time

import bench as base
import rivals

UNITS = 13
TYPES = 8  # of each unit
WANTED = 100000  # addresses
COMPARED = 500  # of them, with perf's names for them
PERF_SECONDS = 60  # to name as many of all as it can
KERNEL_SYMBOLS = 120000
UNIT_HEAD = """
#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
"""
UNIT_TYPE = """
struct record%(type)d {
    int id;
    std::string name;
    double weight;
    std::vector<int> parts;
    bool operator<(const record%(type)d &other) const
    { return std::tie(weight, name) < std::tie(other.weight, other.name); }
    bool operator==(const record%(type)d &other) const { return id == other.id; }
};
struct hash%(type)d {
    size_t operator()(const record%(type)d &r) const
    { return std::hash<std::string>()(r.name) * %(a)d + r.id; }
};
double work%(type)d(unsigned n)
{
    std::map<record%(type)d, std::vector<record%(type)d>> tree;
    std::unordered_map<record%(type)d, std::set<record%(type)d>, hash%(type)d> table;
    std::deque<record%(type)d> queue;
    std::list<std::shared_ptr<record%(type)d>> shared;
    std::vector<std::variant<int, record%(type)d>> either;
    std::vector<std::function<double(const record%(type)d &)>> steps;
    double sum = 0;
    for (unsigned i = 0; i < n; i++) {
        record%(type)d r{(int)(i * %(b)d %% %(c)d), std::to_string(i), i * 0.5, {1, 2, (int)i}};
        tree[r].push_back(r);
        table[r].insert(r);
        queue.push_back(r);
        shared.push_back(std::make_shared<record%(type)d>(r));
        either.emplace_back(r);
        steps.push_back([i](const record%(type)d &x) { return x.weight * i + x.name.size(); });
    }
    std::sort(queue.begin(), queue.end());
    std::stable_sort(queue.begin(), queue.end(),
                     [](const auto &x, const auto &y) { return x.name < y.name; });
    shared.sort([](const auto &x, const auto &y) { return *x < *y; });
    sum = std::accumulate(queue.begin(), queue.end(), sum,
                          [](double s, const record%(type)d &x) { return s + x.weight; });
    for (auto &step : steps)
        for (auto &x : queue)
            sum += step(x);
    for (auto &[key, value] : tree) {
        std::make_heap(value.begin(), value.end());
        std::sort_heap(value.begin(), value.end());
        sum += key.weight + value.size();
    }
    for (auto &[key, value] : table)
        sum += value.count(key);
    for (auto &one : either)
        sum += std::visit([](auto &x) {
            if constexpr (std::is_same_v<std::decay_t<decltype(x)>, int>)
                return 1.0;
            else
                return x.weight;
        }, one);
    queue.erase(std::unique(queue.begin(), queue.end()), queue.end());
    return sum + queue.size();
}
"""


def unit_source(number):
    numbers = random.Random(number)
    text = UNIT_HEAD + "namespace unit%d {" % number
    for kind in range(TYPES):
        a, b, c = (numbers.randrange(1, 1000) for _ in range(3))
        text += UNIT_TYPE % {"type": kind, "a": a, "b": b, "c": c}
    works = " + ".join("work%d(n)" % kind for kind in range(TYPES))
    return text + "double all(unsigned n) { return %s; }\n}\n" % works


def main_source():
    units = range(UNITS)
    return ("".join("namespace unit%d { double all(unsigned); }\n" % n for n in units) +
            "int main(int argc, char **) { return (int)(%s); }\n" %
            " + ".join("unit%d::all(argc)" % n for n in units))


def compile_unit(folder, name, source):
    path = os.path.join(folder, name)
    if not os.path.exists(path + ".o"):
        with open(path + ".cpp", "w") as file:
            file.write(source)
        run("g++", "-std=c++17", "-O2", "-g", "-c", path + ".cpp", "-o", path + ".o.part")
        os.rename(path + ".o.part", path + ".o")
    return path + ".o"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("bench: %s: %s" % (" ".join(command), done.stderr[-1000:]))
    return done.stdout


def program():
    """The path of the program; what is compiled stays, so that a second try goes on."""
    folder = os.path.join(rivals.cache_folder(), "names")
    path = os.path.join(folder, "large")
    if os.path.exists(path):
        return path
    os.makedirs(folder, exist_ok=True)
    print("bench: compiling 100 MB of debug information into %s, once (minutes)" % folder,
          file=sys.stderr)
    objects = [compile_unit(folder, "unit%d" % n, unit_source(n)) for n in range(UNITS)]
    objects.append(compile_unit(folder, "main", main_source()))
    run("g++", "-Wl,--build-id", *objects, "-o", path + ".part")
    os.rename(path + ".part", path)
    return path


def addresses(path):
    """WANTED addresses of instructions, spread over all code: [(ELF address, file offset)]."""
    out = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", path)
    found = [int(at, 16) for at in re.findall(r"^ +([0-9a-f]+):\t", out, re.MULTILINE)]
    if len(found) < WANTED:
        sys.exit("bench: %s has only %d instructions" % (path, len(found)))
    return sorted(random.Random(1).sample(found, WANTED))


def segments(path):
    """[(file offset, ELF address, bytes)] of the executable PT_LOADs."""
    out = run("readelf", "-lW", path)
    return [tuple(int(word, 16) for word in words) for words in re.findall(
        r"^ +LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", out, re.MULTILINE)]


def build_id(path):
    return bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path)).group(1))


class Recording:
    """A perf.data file in which each address was sampled once, in one process."""

    IP, TID, TIME, CALLCHAIN, PERIOD = 1, 2, 4, 32, 256
    USER = 2  # PERF_RECORD_MISC_USER
    CONTEXT_USER = (1 << 64) - 512
    BASE = 0x555555554000

    def __init__(self, program):
        self.data = bytearray()
        self.time = 1000000000
        self.pid = 4242
        self.path = os.path.realpath(program)
        self.record(3, self.USER, struct.pack("<ii8s", self.pid, self.pid, b"large"))
        for foff, vaddr, size in segments(program):
            self.map(foff, vaddr, size, build_id(program))

    def record(self, kind, misc, body):
        """The sample id behind the records that are no samples: tid and time."""
        if kind != 9:
            body += struct.pack("<iiQ", self.pid, self.pid, self.time)
        self.data += struct.pack("<IHH", kind, misc, 8 + len(body)) + body
        self.time += 1000

    def map(self, foff, vaddr, size, wanted_id):
        """PERF_RECORD_MMAP2 with the build id in place of the inode."""
        page = vaddr & ~0xfff
        name = self.path.encode() + b"\0"
        name += bytes(-len(name) % 8)
        self.record(10, self.USER | 1 << 14, struct.pack(
            "<iiQQQBBH20sII", self.pid, self.pid, self.BASE + page, size + vaddr - page,
            foff - (vaddr - page), len(wanted_id), 0, 0, wanted_id.ljust(20, b"\0"), 5, 2) + name)

    def sample(self, vaddr):
        ip = self.BASE + vaddr
        self.record(9, self.USER, struct.pack(
            "<QiiQQQQQ", ip, self.pid, self.pid, self.time, 1000000, 2, self.CONTEXT_USER, ip))

    def write(self, file):
        fields = self.IP | self.TID | self.TIME | self.CALLCHAIN | self.PERIOD
        attr = struct.pack("<IIQQQQQ", 1, 136, 0, 1000000, fields, 0, 1 << 18)  # sample_id_all
        attr = attr.ljust(136, b"\0")
        header, start = 104, 104 + 136 + 16
        file.write(b"PERFILE2" + struct.pack(
            "<QQQQQQQQ", header, 136 + 16, header, 136 + 16, start, len(self.data), 0, 0) +
            bytes(32) + attr + struct.pack("<QQ", 0, 0) + self.data)


def write_recording(path, found):
    recording = Recording(program())
    for vaddr in found:
        recording.sample(vaddr)
    with open(path, "wb") as file:
        recording.write(file)
    return path


class Perf:
    """Sid's, with sid's addr2line through sid's own loader: it starts that for inlined functions
    (the other way, addr2line.style = libdw, is slower by far)."""

    def __init__(self, folder):
        sid = rivals.Sid()
        self.command = sid.command("perf")
        helpers = os.path.join(folder, "perf-core")
        os.mkdir(helpers)
        path = os.path.join(helpers, "addr2line")
        with open(path, "w") as file:
            file.write('#!/bin/sh\nexec %s "$@"\n' % " ".join(
                "'%s'" % word for word in sid.command("addr2line")))
        os.chmod(path, stat.S_IRWXU)
        self.environment = dict(os.environ, PERF_EXEC_PATH=helpers)

    def script(self, data, out, seconds=None):
        """(wall s, CPU s with its addr2line's); what it wrote until it was stopped is in `out`."""
        with open(out, "wb") as file:
            begin = time.monotonic()
            process = subprocess.Popen(
                self.command + ["script", "-F", "ip,sym", "-i", data], env=self.environment,
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL,
                start_new_session=True)
            timer = threading.Timer(seconds or 3600, os.killpg, (process.pid, signal.SIGKILL))
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            return time.monotonic() - begin, usage.ru_utime + usage.ru_stime


def without_marks(name):
    return re.sub(r" \(inlined\)$| \[clone [^]]*\]", "", name)


def perf_stacks(path):
    with open(path) as file:
        return [[without_marks(line.split(" ", 1)[1]) for line in block.strip().split("\n")]
                for block in re.sub(r"(?m)^\s+", "", file.read().replace("\n\n", "\n\0\n"))
                .split("\0\n") if " " in block]


def wick_stacks(path):
    stacks = []
    with open(path) as file:
        for line in file:
            if not line.startswith("\t"):
                if line.strip():
                    stacks.append([])
                continue
            name = line.strip().split(" ", 1)[1]
            if not name.startswith("[truncated"):
                stacks[-1].append(without_marks(re.sub(r"\+0x[0-9a-f]+ \(.*\)$", "", name)))
    return stacks


def same(mine, theirs):
    """A function without a linkage name has its scopes before it with wick; the padding behind a
    function has no name with perf."""
    return theirs == ["[unknown]"] and len(mine) == 1 or len(mine) == len(theirs) and all(
        a == b or a.endswith("::" + b) for a, b in zip(mine, theirs))


def compare_names(folder, perf, found):
    """Zero differences in the names of inlined functions, or it ends here."""
    some = sorted(random.Random(2).sample(found, COMPARED))
    data = write_recording(os.path.join(folder, "some.data"), some)
    outs = [os.path.join(folder, name) for name in ("wick.txt", "perf.txt")]
    with open(outs[0], "w") as file:
        subprocess.run([base.WICK, "script", "-i", data], stdout=file, check=True)
    took = perf.script(data, outs[1])
    mine, theirs = wick_stacks(outs[0]), perf_stacks(outs[1])
    bad = [pair for pair in zip(mine, theirs) if not same(*pair)]
    if len(mine) != COMPARED or len(theirs) != COMPARED or bad:
        sys.exit("bench: %d and %d stacks, %d differ: %s" % (
            len(mine), len(theirs), len(bad), bad[:1]))
    return took, sum(len(stack) for stack in mine)


def kallsyms(folder):
    path = os.path.join(folder, "kallsyms")
    at = 0xffffffff81000000
    with open(path, "w") as file:
        file.write("%x T _stext\n" % at)
        for number in range(KERNEL_SYMBOLS - 1):
            at += 16 * (1 + number % 9)
            file.write("%x %s kernel_function_of_usual_length_%d\n" % (at, "tT"[number % 2], number))
    steps = os.path.join(os.path.dirname(base.WICK), "..", "..", "tests", "name-steps")
    return run(steps, "-k", path).strip()


def compare(options, folder):
    bench = base.Bench(folder, options.seconds)
    perf = Perf(folder)
    found = addresses(program())
    data = write_recording(bench.path("all.data"), found)
    named = bench.path("named.data")
    run(base.WICK, "export", "-i", data, "-o", named)
    results = base.alternate(options.runs, {
        name: lambda words=words, file=file: bench.timed(
            [base.WICK, "script", "-i", file] + words)
        for name, file, words in (("all", data, []), ("symbols", data, ["--no-inline"]),
                                  ("again", named, []))})
    some_took, steps = compare_names(folder, perf, found)
    out = bench.path("all.txt")
    took = perf.script(data, out, PERF_SECONDS)
    got = len(perf_stacks(out))
    print("%s, from Debian sid: %s; medians of %d runs\n" % (
        base.versions(), rivals.perf_version(perf.command), options.runs))
    rows = [["", "addresses", "wall", "CPU", "memory"]]
    for name, what in (("all", "wick script"), ("symbols", "wick script --no-inline"),
                       ("again", "wick script, of a file that has its names")):
        rows.append([what, "%d" % WANTED, "%.2f s" % base.median(results[name], 0),
                     "%.2f s" % base.median(results[name], 1),
                     "%.0f MiB" % base.median(results[name], 2)])
    rows.append(["perf script", "%d" % COMPARED, "%.1f s" % some_took[0],
                 "%.1f s" % some_took[1], ""])
    rows.append(["perf script, stopped", "%d" % got, "%.1f s" % took[0], "", ""])
    base.show(rows, options.markdown)
    wick_wall, wick_cpu = (base.median(results["all"], part) for part in (0, 1))
    print("\nFor each address perf takes %.0f times the CPU time, and %.0f times the wall time." % (
        some_took[1] / COMPARED / (wick_cpu / WANTED), took[0] / got / (wick_wall / WANTED)))
    print("The %d functions at %d of the addresses are the same. kallsyms: %s; names in the "
          "file: %d bytes an address." % (
              steps, COMPARED, kallsyms(folder),
              (os.path.getsize(named) - os.path.getsize(data)) / WANTED))
