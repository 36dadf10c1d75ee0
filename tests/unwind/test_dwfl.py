#!/usr/bin/env python3
"""The unwinder against libdwfl on samples of real programs (those that are installed here).

    test_dwfl.py UNWIND_DWFL

Both must agree, but for two kinds of differences that are explained (tests/unwind_dwfl.c): where
there is no call frame information libdwfl follows frame pointers unchecked, or gives up. They are
counted and told; anything else fails. Programs that work for ever end when enough was sampled.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
MANY = 2200  # samples of each of the programs that the unwinder is made for
PYTHON = """
import json, re
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
while True:
    d = {str(i): list(range(10)) for i in range(2000)}
    for i in range(10): json.loads(json.dumps(d))
    fib(18)
    re.findall(r"(\\w+)\\s", "hello world " * 20000)
    sorted([str(i) for i in range(50000)])
"""
NODE = """
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }
for (;;) {
  f(24);
  let o = {};
  for (let i = 0; i < 2e4; i++) o["k" + i] = [i];
  JSON.parse(JSON.stringify(o));
  let a = [];
  for (let i = 0; i < 3e4; i++) a.push({k: (i * 7919) % 100003});
  a.sort((x, y) => x.k - y.k);
  "abc def ghi ".repeat(3000).replace(/\\w+/g, x => x.toUpperCase());
}
"""
PERL = """while (1) { my %h; for (1..20000) { $h{$_} = [split /,/, "a,b,c,d"] }
my @k = sort keys %h; my $s = join " ", @k; $s =~ s/(\\d+)7/<$1>/g; }"""
SQL = """create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 200000)
insert into t select x, hex(randomblob(8)) from c; create index i on t(b);
select count(*) from t a join t b on a.b = b.b;"""
SHELL = "for ((i = 0; ; i++)); do x=$((x + i)); y=${x//1/2}; done"
CXX = """#include <map>
#include <regex>
#include <string>
#include <vector>
int main() { std::regex r("a*b"); std::map<std::string, std::vector<int>> m; m["a"].push_back(std::regex_match("aab", r));
return (int)m.size(); }
"""
FOR_EVER = ["sh", "-c", 'while :; do "$@"; done', "sh"]


def repository(folder):
    """A history that is the same everywhere: 60 commits, each changes 10 of 100 files."""
    path = os.path.join(folder, "history")
    subprocess.run(["git", "init", "-q", "-b", "main", path], check=True)
    stream, mark = [], 0
    for commit in range(60):
        stream.append("commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata 8\nchange %d" %
                      (1700000000 + commit, commit % 10))
        for number in range(100 if commit == 0 else 10):
            name = number if commit == 0 else (commit * 7 + number * 13) % 100
            text = "".join("line %d of %d: %d\n" % (i, name, (i * i + (commit if i % 9 == 0 else 0)) % 997)
                           for i in range(200))
            stream.append("M 644 inline dir%d/file%d\ndata %d\n%s" % (name % 7, name, len(text), text))
        mark += 1
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], input="\n".join(stream) + "\n", text=True,
                   check=True)
    return path


def commands(folder):
    """(name, command, samples at least, Hz)"""
    source = os.path.join(folder, "a.cc")
    with open(source, "w") as file:
        file.write(CXX)
    found = [
        ("python3", [os.path.realpath(sys.executable), "-c", PYTHON], MANY, 3999),
        ("node", ["node", "-e", NODE], MANY, 3999),
        ("g++", FOR_EVER + ["g++", "-O2", "-c", source, "-o", os.path.join(folder, "a.o")], MANY, 999),
        ("perl", ["perl", "-e", PERL], MANY, 3999),
        ("bash", ["bash", "-c", SHELL], 1000, 3999),
        ("sqlite3", FOR_EVER + ["sqlite3", ":memory:", SQL], 1000, 1999),
        ("processes", FOR_EVER + ["/bin/true"], 500, 3999),
        ("xz", FOR_EVER + ["xz", "-k", "-c", "-T2", os.path.realpath(sys.executable)], 100, 999),
    ]
    if shutil.which("git"):
        log = ["git", "-C", repository(folder), "log", "--stat", "-p", "-M", "-C"]
        found.insert(3, ("git", FOR_EVER + log, MANY, 3999))
    return found


def program_of(command):
    return command[len(FOR_EVER)] if command[0] == "sh" else command[0]


def main():
    tool, failed = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory(prefix="wick-dwfl-") as folder:
        for name, command, least, hz in commands(folder):
            if not shutil.which(program_of(command)):
                print("skip %s: not installed" % name)
                continue
            done = subprocess.run([tool, "-F", str(hz), "-n", str(least), "-v", "3", "--"] + command,
                                  stdout=subprocess.PIPE)
            if done.returncode == SKIPPED:
                sys.exit(SKIPPED)
            text = done.stdout.decode()
            numbers = dict((k, int(v)) for k, v in re.findall(r"([a-z-]+) (\d+)", text.splitlines()[-1]))
            # Samples of exec and exit have no registers to compare.
            good = (numbers["compared"] >= 0.8 * least and not numbers["unexplained"]
                    and numbers["ours-root"] >= 0.98 * numbers["compared"])
            print("%-4s %-9s %s" % ("ok" if good else "BAD", name, text.splitlines()[-1]))
            if not good:
                print(text)
                failed += 1
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
