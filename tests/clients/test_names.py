"""Names, inlined functions and lines of real programs, against llvm-symbolizer: every address."""
import glob
import os
import random
import re
import shutil
import subprocess

from wicktest import ROOT, WICK, Skip, check, main, test

NAME_STEPS = os.path.join(os.path.dirname(WICK), "..", "..", "tests", "name-steps")
SOURCE = os.path.join(ROOT, "tests", "clients", "programs", "inlines.cpp")


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(tool + " is not installed")


def tool(box, *command, cwd=None):
    need(command[0])
    done = box.run(*command, cwd=cwd or box.folder)
    if done.status:
        raise Skip("%s cannot do it: %s" % (command[0], done.err.strip()[-200:]))
    return done


def compile_it(box, name, *flags, compiler="g++"):
    path = box.path(name)
    tool(box, compiler, "-g", "-O2", "-Wl,--build-id", *flags, SOURCE, "-o", path)
    return path


def addresses(path):
    """Every instruction."""
    need("objdump")
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True,
                         text=True).stdout
    return [int(at, 16) for at in re.findall(r"^ +([0-9a-f]+):\t", out, re.M)]


def blocks(text):
    """{address: [(function, file, line)]}"""
    found, current = {}, None
    for line in text.splitlines():
        if re.match(r"^0x[0-9a-f]+$", line):
            current = found.setdefault(int(line, 16), [])
            current.append([])
        elif line and current is not None:
            current[-1].append(line)
    return {at: [step(lines[0][i:i + 2]) for i in range(0, len(lines[0]) - 1, 2)]
            for at, lines in found.items()}


def step(lines):
    file, number = re.match(r"^(.*?):(\d+)(?::\d+)?$", lines[1]).groups()
    file = "??" if file in ("", "??") or number == "0" and file == "??" else os.path.normpath(file)
    return (lines[0], file, int(number))


def ours(box, path, at, *options):
    feed = "".join("0x%x\n" % a for a in at).encode()
    done = box.run(NAME_STEPS, *options, path, feed=feed).check_sane().ok()
    return blocks(done.out), done.err


def theirs(box, path, at):
    need("llvm-symbolizer")
    feed = "".join("0x%x\n" % a for a in at).encode()
    done = box.run("llvm-symbolizer", "--obj=" + path, "--no-demangle", "-a", "-i",
                   "--output-style=LLVM", "--functions=linkage", feed=feed, timeout=120).ok()
    return blocks(done.out)


def aliases(path):
    found = {}
    for line in subprocess.run(["nm", path], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3:
            found[words[2].split("@")[0]] = words[0]
    return found


def same(mine, other, at_address):
    """Equal, but for one function's two names; and a name that DWARF has no linkage name for has
    its scopes before it with us."""
    if len(mine) != len(other):
        return False
    for (f1, file1, line1), (f2, file2, line2) in zip(mine, other):
        f2 = f2.split("@")[0]
        if (line1, file1 if line1 else "") != (line2, file2 if line2 else ""):
            return False
        # llvm-symbolizer 14 has no function for the padding behind one in a split unit.
        if f1 != f2 and f2 != "??" and not f1.endswith("::" + f2) and \
                at_address.get(f1, 1) != at_address.get(f2, 2):
            return False
    return True


def compare(box, path, most=None, inlined_share=0.25):
    """Every instruction's steps, or those of so many; returns ours."""
    at = some(addresses(path), most)
    mine, said = ours(box, path, at)
    other, names = theirs(box, path, at), aliases(path)
    # An address without a line and a symbol of its own (PLT entries) has no DWARF at all.
    bad = [(hex(a), mine.get(a), other[a]) for a in at
           if any(line for _, _, line in other[a]) and not same(mine.get(a, []), other[a], names)]
    inlined = sum(len(mine.get(a, [])) > 1 for a in at)
    check(not bad, "%d of %d differ:" % (len(bad), len(at)), bad[:2])
    check(inlined >= len(at) * inlined_share, "inlined at %d of %d" % (inlined, len(at)))
    return mine


def some(at, most):
    return at if not most or len(at) <= most else sorted(random.Random(1).sample(at, most))


def dwarf_versions(box, compiler):
    for version in ("5", "4", "3", "2"):
        compare(box, compile_it(box, "v" + version, "-gdwarf-" + version, compiler=compiler))


@test
def gcc_dwarf_2_to_5(box):
    dwarf_versions(box, "g++")


@test
def clang_dwarf_2_to_5(box):
    dwarf_versions(box, "clang++")


@test
def link_time_optimization(box):
    compare(box, compile_it(box, "lto", "-flto"))


@test
def other_linkers_lay_it_out(box):
    for linker in ("lld", "mold", "gold"):
        if shutil.which("ld." + linker):
            compare(box, compile_it(box, linker, "-fuse-ld=" + linker, "-Wl,--gc-sections",
                                    "-ffunction-sections"))


def reference(box, *flags):
    """A program with plain DWARF, its addresses and their steps, compared already."""
    path = compile_it(box, "plain", *flags)
    return path, addresses(path), compare(box, path)


@test
def compressed_sections(box):
    path, at, want = reference(box)
    for kind in ("zlib", "zlib-gnu", "zstd"):
        packed = box.path(kind)
        done = box.run("objcopy", "--compress-debug-sections=" + kind, path, packed)
        if done.status:
            print("# objcopy here does not do " + kind)
            continue
        check(ours(box, packed, at)[0] == want, kind)


@test
def debug_files_by_link_and_build_id(box):
    path, at, want = reference(box)
    debug, bare = box.path("prog.debug"), box.path("prog")
    tool(box, "objcopy", "--only-keep-debug", path, debug)
    tool(box, "strip", "-o", bare, path)
    check(ours(box, bare, at)[0] != want, "stripped")
    tool(box, "objcopy", "--add-gnu-debuglink=" + debug, bare)
    check(ours(box, bare, at)[0] == want, "by .gnu_debuglink")
    notes = tool(box, "readelf", "-n", path).out
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
    folder = box.path("debug/.build-id/" + build_id[:2])
    os.makedirs(folder)
    os.rename(debug, os.path.join(folder, build_id[2:] + ".debug"))
    check(ours(box, bare, at)[0] != want, "without its debug file")
    mine, said = ours(box, bare, at, "-d", box.path("debug"))
    check(mine == want and build_id[2:] in said, "by build id", said)
    # Another program's debug file of the same name is not used.
    other = compile_it(box, "other", "-DOTHER", "-O1")
    tool(box, "objcopy", "--only-keep-debug", other, debug)
    check(ours(box, bare, at)[0] != want, "another's")


@test
def symbols_out_of_gnu_debugdata(box):
    need("xz")
    path = compile_it(box, "plain", "-g0")
    at = addresses(path)
    want = ours(box, path, at)[0]
    # As Fedora does it: the symbol table alone, packed, as a section of the stripped program.
    tool(box, "objcopy", "--only-keep-debug", path, box.path("mini"))
    tool(box, "objcopy", "-S", "--remove-section", ".comment", box.path("mini"), box.path("empty"))
    tool(box, "xz", "-k", box.path("mini"))
    bare = box.path("bare")
    tool(box, "strip", "-o", bare, path)
    check(ours(box, bare, at)[0] != want, "stripped")
    tool(box, "objcopy", "--add-section", ".gnu_debugdata=" + box.path("mini.xz"), bare)
    mine = ours(box, bare, at)[0]
    bad = [(hex(a), mine[a], want[a]) for a in at if mine[a] != want[a]]
    check(not bad, len(bad), bad[:3])


@test
def shared_by_dwz(box):
    need("dwz")
    first, at, want = reference(box)
    second = compile_it(box, "second", "-DOTHER")
    tool(box, "dwz", "-m", box.path("common"), "-M", box.path("common"), first, second)
    check("altlink" in tool(box, "readelf", "-SW", first).out, "dwz shared nothing")
    check(ours(box, first, at)[0] == want)
    os.unlink(box.path("common"))
    mine = ours(box, first, at)[0]
    check(all(mine[a] for a in at if want[a]), "named, if by less")


def split(box, compiler, version):
    folder = box.path("%s-%s" % (compiler, version))
    os.mkdir(folder)
    for command in (["-c", SOURCE, "-o", "prog.o"], ["prog.o", "-o", "prog"]):
        tool(box, compiler, "-g", "-gdwarf-" + version, "-gsplit-dwarf", "-O2", *command,
             cwd=folder)
    path = os.path.join(folder, "prog")
    want = compare(box, path)
    at = addresses(path)
    # Moved away from where they were built, and compressed.
    moved = folder + "-moved"
    os.rename(folder, moved)
    path = os.path.join(moved, "prog")
    units = [name for name in os.listdir(moved) if name.endswith(".dwo")]
    check(len(units) == 1, units)
    check(ours(box, path, at)[0] == want, "beside the program")
    unit = os.path.join(moved, units[0])
    if not box.run("objcopy", "--compress-debug-sections=zstd", unit).status:
        check(ours(box, path, at)[0] == want, "compressed")
    if not shutil.which("llvm-dwp"):
        print("# no llvm-dwp here")
        return
    tool(box, "llvm-dwp", units[0], "-o", "prog.dwp", cwd=moved) \
        if box.run("objcopy", "--decompress-debug-sections", unit).status == 0 else None
    os.unlink(unit)
    check(ours(box, path, at)[0] == want, "out of the package")
    os.unlink(os.path.join(moved, "prog.dwp"))
    mine = ours(box, path, at)[0]
    check(mine != want and all(mine[a] for a in at if want[a]), "the symbol table is left")


@test
def split_gcc(box):
    for version in ("5", "4"):
        split(box, "g++", version)


@test
def split_clang(box):
    for version in ("5", "4"):
        split(box, "clang++", version)


LOOPS = """
        .globl _start
_start: nop
        nop
        ret
end:
        .section .debug_abbrev,"",@progbits
        .byte 1, 0x11, 1, 0x11, 1, 0x12, 1, 0, 0        # unit: low_pc, high_pc
        .byte 2, 0x2e, 1, 0x11, 1, 0x12, 1, 0x31, 0x13, 0, 0  # subprogram: and abstract_origin
        .byte 3, 0x1d, 1, 0x11, 1, 0x12, 1, 0x31, 0x13, 0, 0  # inlined: the same
        .byte 4, 0x2e, 0, 0x47, 0x13, 0, 0              # subprogram: specification
        .byte 0
        .section .debug_info,"",@progbits
info:   .long info_end - info - 4
        .short 4
        .long 0
        .byte 8, 1
        .quad _start, end
function:
        .byte 2
        .quad _start, end
        .long first - info
inlined:
        .rept %d
        .byte 3
        .quad _start, end
        .long inlined - info                            # its own original
        .endr
        .rept %d
        .byte 0
        .endr
        .byte 0
first:  .byte 4
        .long second - info                             # two that are each other's
second: .byte 4
        .long first - info
        .byte 0
info_end:
"""


@test
def loops_and_absurd_depths(box):
    for depth in (1, 100, 5000):
        source = box.write("loops.s", LOOPS % (depth, depth))
        path = box.path("loops")
        tool(box, "gcc", "-nostdlib", "-static", source, "-o", path)
        mine = ours(box, path, addresses(path))[0]
        check(len(mine) == 3, mine)
        for steps in mine.values():
            check(0 < len(steps) <= 512, depth, len(steps))
            # The symbol names the function, whose own original has no end.
            check(steps[-1][0] == "_start", steps[-1])


@test
def rust(box):
    need("rustc")
    source = box.write("prog.rs", """
        use std::collections::HashMap;
        fn main() {
            let mut m: HashMap<String, u64> = HashMap::new();
            for i in 0..100000u64 { *m.entry(format!("{}", i % 977)).or_insert(0) += i * i; }
            let mut v: Vec<_> = m.into_iter().collect();
            v.sort_by(|a, b| b.1.cmp(&a.1));
            println!("{:?}", &v[..3]);
        }""")
    tool(box, "rustc", "-g", "-O", source, "-o", box.path("prog"))
    compare(box, box.path("prog"))


@test
def go(box):
    need("go")
    source = box.write("prog.go", """
        package main
        import ("fmt"; "sort"; "strings")
        func main() {
            m := map[string]int{}
            for i := 0; i < 100000; i++ { m[fmt.Sprint(i % 977)] += i * i }
            keys := []string{}
            for k := range m { keys = append(keys, strings.ToUpper(k)) }
            sort.Slice(keys, func(a, b int) bool { return m[keys[a]] < m[keys[b]] })
            fmt.Println(keys[:3])
        }""")
    done = box.run("go", "build", "-o", box.path("prog"), source, timeout=240, env=dict(
        os.environ, GOCACHE=box.path("cache"), GOFLAGS="-mod=mod", GO111MODULE="off"))
    if done.status:
        raise Skip("go cannot build: " + done.err[-200:])
    compare(box, box.path("prog"), most=3000, inlined_share=0.02)


@test
def elfutils_says_the_same(box):
    """Where eu-addr2line says something else, llvm-symbolizer says what we say: it loses a level
    where ranges of scopes are split, and goes on with the last line in the padding."""
    need("eu-addr2line")
    path = compile_it(box, "prog")
    at = some(addresses(path), 1500)
    mine, other, names = ours(box, path, at)[0], theirs(box, path, at), aliases(path)
    feed = "".join("0x%x\n" % a for a in at).encode()
    # Its status is 1 where there was an address without a line.
    done = box.run("eu-addr2line", "-a", "-i", "-f", "-A", "-e", path, feed=feed, timeout=120)
    elfutils = blocks(re.sub(r"(?m)^(0x)0*(?=[0-9a-f]+$)|( inlined at .*)$", r"\1", done.out))
    known = [a for a in at if any(line for _, _, line in elfutils.get(a, []))]
    # The function that was called has its symbol's name with us: main.cold, where DWARF has main.
    differ = [a for a in known if not same(mine[a][:-1], elfutils[a][:-1], names) or
              mine[a][-1][1:] != elfutils[a][-1][1:]]
    bad = [(hex(a), mine[a], elfutils[a]) for a in differ if not same(mine[a], other[a], names)]
    check(not bad, "%d of %d differ:" % (len(bad), len(known)), bad[:2])
    check(len(known) > 1000 and len(differ) < len(known) / 10, len(differ), len(known))


def symbols_of(box, *files):
    """{name: address}, of whatever tables there are."""
    found = {}
    for path in files:
        for words in (["nm", path], ["nm", "-D", path]):
            for line in box.run(*words).out.splitlines():
                words = line.split()
                if len(words) == 3:
                    found[words[2].split("@")[0]] = words[0]
    return found


def plain(name):
    """Without what gcc puts behind the parts of a function: f.cold, f.part.0, f.constprop.0."""
    return re.sub(r"\.(cold|part|constprop|isra)\b.*", "", name.split("@")[0])


@test
def libraries_as_the_system_has_them(box):
    """Stripped or with debug files: libstdc++, python3 and the C library."""
    need("nm")
    found = [os.path.realpath(path) for path in
             glob.glob("/usr/lib/*-linux-gnu/libstdc++.so.6") + ["/usr/bin/python3"] +
             glob.glob("/lib/*-linux-gnu/libc.so.6") if os.path.exists(path)]
    if not found:
        raise Skip("none of them is here")
    for path in found:
        at = some(addresses(path), 1500)
        mine, said = ours(box, path, at)
        other = theirs(box, path, at)
        pairs = {a: (mine[a][-1][0], other[a][-1][0]) for a in at if mine.get(a)}
        check(len(pairs) > 100, path, len(pairs))
        # It has no names here for PLT entries and for the padding behind a function.
        fewer = sum(theirs_ == "??" for _, theirs_ in pairs.values())
        check(fewer < len(pairs) / 10, path, fewer, len(pairs))
        symbols = symbols_of(box, path, *re.findall(r"debug file (/.+)", said))
        bad = [(hex(a), a_name, b_name) for a, (a_name, b_name) in pairs.items()
               if b_name != "??" and plain(a_name) != plain(b_name) and
               symbols.get(a_name, 1) != symbols.get(b_name.split("@")[0], 2)]
        check(not bad, path, "%d of %d differ:" % (len(bad), len(pairs)), bad[:9])


@test
def node_by_its_map(box):
    need("node")
    source = box.write("busy.js", """
        function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }
        function outer() { let s = 0; for (let i = 0; i < 300; i++) s += inner(10000 + i); return s; }
        const until = Date.now() + 1500;
        let s = 0;
        while (Date.now() < until) s += outer();
        console.log(process.pid);""")
    done = box.wick("record", "-F", "2000", "--", "node", "--perf-basic-prof",
                    "--interpreted-frames-native-stack", source).ok()
    path = "/tmp/perf-%d.map" % int(done.out.split()[-1])
    if not os.path.exists(path):
        raise Skip("this node writes no map")
    lines = [line.split(" ", 2) for line in open(path).read().splitlines()]
    os.unlink(path)
    known = {name for _, _, name in lines}
    leaves = [re.sub(r"\+0x[0-9a-f]+ \(.*\)$", "", line.split(None, 1)[1])
              for line in box.wick("script").ok().out.splitlines()
              if line.startswith("\t") and ("busy.js" in line or "JS:" in line)]
    bad = [name for name in leaves if name not in known]
    check(len(leaves) > 100 and any("inner" in name for name in leaves), len(leaves), leaves[:3])
    check(not bad, "%d of %d are not in the map:" % (len(bad), len(leaves)), bad[:3])


@test
def report_and_script_show_them(box):
    path = compile_it(box, "prog")
    box.record("-F", "2000", "--", path, *["x"] * 500)
    script = box.wick("script").ok().out
    check("(inlined)" in script, script[:2000])
    check("(inlined)" not in box.wick("script", "--no-inline").ok().out, "--no-inline")
    check("_ZN" in box.wick("script", "--no-demangle").ok().out, "--no-demangle")
    modules = box.report("--modules")["modules"]
    ours = [row for row in modules if row["module"] == path]
    check(len(ours) == 1 and ours[0]["frames"] >= ours[0]["named"] >= ours[0]["lined"] > 0,
          modules)
    lines = box.report("--sort", "srcline")["events"][0]["rows"]
    check(any(row["file"].endswith("inlines.cpp") and row["line"] for row in lines), lines[:5])
    # Elsewhere, where the program is not.
    os.rename(path, path + ".gone")
    check("(inlined)" in box.wick("script").ok().out, "they travel with the file")



@test
def the_end_of_a_recording_is_bounded(box):
    path = compile_it(box, "prog")
    done = box.record("-F", "2000", "--", path, *["x"] * 500)
    check("left to wick report" not in done.err, "a small program is named whole", done.err)
    done = box.record("-F", "2000", "--embed-time", "0", "--", path, *["x"] * 500)
    said = re.search(r"of (\d+) of (\d+) addresses are left", done.err)
    check(said and 0 < int(said.group(1)) <= int(said.group(2)), done.err)
    # Here the program is at hand: nothing is missing, and nothing is said.
    whole = box.wick("script").ok().out
    check("(inlined)" in whole and "--embed-time" not in box.wick("report").ok().out)
    stacks = re.search(r"^.. Stacks .*", box.wick("report").ok().out, re.M).group()
    box.wick("export", "-o", box.path("whole.data")).ok()
    # Elsewhere there are the names of the symbol table, as many complete stacks, and a word.
    os.rename(path, path + ".gone")
    script, report = box.wick("script").ok().out, box.wick("report").ok().out
    check(" main+0x" in script and "inlines.cpp" not in
          box.wick("report", "--sort", "srcline").ok().out, "symbols")
    check("--embed-time" in report, report)
    check(stacks in report, "stacks end as they did", stacks)
    check(box.wick("script", "-i", "whole.data").ok().out == whole, "export adds the rest")
    check("--embed-time" not in box.wick("report", "-i", "whole.data").ok().out)


main()
