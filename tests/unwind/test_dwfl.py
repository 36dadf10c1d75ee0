#!/usr/bin/env python3
"""The unwinder against libdwfl on samples of real programs (those that are installed here).

    test_dwfl.py UNWIND_DWFL

Where only call frame information was used, both must agree. libdwfl follows frame pointers
unchecked where there is none, and so loses the caller of a frameless leaf (node's builtins): that is
"theirs-drops-one". Stacks in which a frame was found otherwise may part in 2 of 100.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PYTHON = """
import json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
d = {str(i): list(range(10)) for i in range(5000)}
for i in range(30): json.loads(json.dumps(d))
fib(25)
re.findall(r"(\\w+)\\s", "hello world " * 100000)
sorted([str(i) for i in range(200000)])
"""
NODE = """
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }
for (let i = 0; i < 3; i++) f(30);
let o = {};
for (let i = 0; i < 1e5; i++) o["k" + i] = [i];
JSON.parse(JSON.stringify(o));
let a = [];
for (let i = 0; i < 2e5; i++) a.push({k: (i * 7919) % 100003});
a.sort((x, y) => x.k - y.k);
"""
PERL = 'for (1..150000) { $h{$_} = [split /,/, "a,b,c,d"] } @k = sort keys %h'
SQL = """create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 200000)
insert into t select x, hex(randomblob(8)) from c; create index i on t(b);
select count(*) from t a join t b on a.b = b.b;"""
SHELL = "for ((i = 0; i < 60000; i++)); do x=$((x + i)); y=${x//1/2}; done"
CXX = """#include <map>
#include <regex>
#include <string>
#include <vector>
int main() { std::regex r("a*b"); std::map<std::string, std::vector<int>> m; m["a"].push_back(std::regex_match("aab", r));
return (int)m.size(); }
"""


def commands(folder):
    source = os.path.join(folder, "a.cc")
    with open(source, "w") as file:
        file.write(CXX)
    return [
        ("python3", [os.path.realpath(sys.executable), "-c", PYTHON]),
        ("node", ["node", "-e", NODE]),
        ("perl", ["perl", "-e", PERL]),
        ("sqlite3", ["sqlite3", ":memory:", SQL]),
        ("bash", ["bash", "-c", SHELL]),
        ("g++", ["g++", "-O2", "-c", source, "-o", os.path.join(folder, "a.o")]),
        ("git", ["git", "-C", os.path.dirname(__file__), "log", "--stat", "-p", "-500"]),
        ("xz", ["xz", "-k", "-c", "-T2", os.path.realpath(sys.executable)]),
    ]


def main():
    tool, failed = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory(prefix="wick-dwfl-") as folder:
        for name, command in commands(folder):
            if not shutil.which(command[0]):
                print("skip %s: not installed" % name)
                continue
            done = subprocess.run([tool, "-n", "2000", "-v", "3", "--"] + command, stdout=subprocess.PIPE)
            if done.returncode == SKIPPED:
                sys.exit(SKIPPED)
            text = done.stdout.decode()
            numbers = dict((k, int(v)) for k, v in re.findall(r"([a-z-]+) (\d+)", text.splitlines()[-1]))
            differ = numbers["theirs-longer"] + numbers["parted"]
            by_guess = numbers["parted-guess"]
            good = (numbers["compared"] >= 10 and differ - by_guess <= 0.001 * numbers["compared"]
                    and by_guess <= 0.02 * numbers["with-guess"]
                    and numbers["ours-root"] >= 0.98 * numbers["compared"])
            print("%-4s %-8s %s" % ("ok" if good else "BAD", name, text.splitlines()[-1]))
            if not good:
                print(text)
                failed += 1
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
