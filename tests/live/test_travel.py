"""A recording reads the same when what was recorded is gone: programs, containers, JIT code."""
import os
import re
import shutil

from wicktest import Skip, check, count, is_root, main, test, wait_until


def run_copy(box, *flags, seconds="1"):
    """A copy of the program that may be removed, and a command that runs it."""
    path = box.path("program")
    shutil.copy(box.build("nested.c", *flags), path)
    return path, (path, seconds)


def names_of(box, file="perf.data"):
    """What a script shows, without the addresses of what has none."""
    return box.wick("script", "-i", file).ok().out


def check_named(samples):
    inner = count(samples, "inner_work")
    check(samples and inner >= 0.8 * len(samples), "inner_work in %d of %d samples" %
          (inner, len(samples)))
    check(count(samples, "outer_work") >= 0.8 * len(samples), "outer_work is missing")


@test
def a_removed_program_keeps_its_names(box):
    path, command = run_copy(box)
    box.record("--", *command)
    before = names_of(box)
    check_named(box.script())
    os.remove(path)
    check(names_of(box) == before, "the script changed when the program was removed")
    box.write("program", "something else")
    check(names_of(box) == before, "the script changed when the program was replaced")


@test
def inlined_functions_and_lines_travel(box):
    path, command = run_copy(box)
    box.record("--", *command)
    before = names_of(box)
    if "(inlined)" not in before:
        raise Skip("this build of wick reads no debug information")
    os.remove(path)
    check(names_of(box) == before, "the script changed when the program was removed")
    check("inlined_work" in before, before[:2000])


@test
def lines_and_columns_travel(box):
    path, command = run_copy(box)
    box.record("--", *command)
    shown = lambda: (box.wick("report", "--tree", "--srcline").ok().out,  # noqa: E731
                     box.wick("script", "-F", "+srcline").ok().out,
                     box.wick("report", "--modules").ok().out)
    before = shown()
    if "(inlined)" not in before[1]:
        raise Skip("this build of wick reads no debug information")
    check(re.search(r"inner_work  nested\.c:\d+:\d+", before[0]), before[0])
    check(re.search(r"inlined_work \(inlined\)  nested\.c:\d+:\d+", before[0]), before[0])
    check(re.search(r"inlined_work\+0x[0-9a-f]+\n  nested\.c:\d+ \(inlined\)\n", before[1]), before[1][:900])
    check(re.search(r"inner_work\+0x[0-9a-f]+ \(.*program\)\n  nested\.c:\d+\n", before[1]), before[1][:900])
    os.remove(path)
    after = shown()
    check(after[:2] == before[:2], "they read otherwise when the program was removed")
    check([line for line in after[2].split("\n") if " program " in line] ==
          [line for line in before[2].split("\n") if " program " in line], before[2], after[2])


@test
def a_program_without_build_id_too(box):
    path, command = run_copy(box, "-Wl,--build-id=none")
    box.record("--", *command)
    before = names_of(box)
    check_named(box.script())
    shutil.copy(box.build("shares.c"), path)
    check(names_of(box) == before, "another program lent its names")


@test
def functions_of_a_stripped_program_are_told_apart(box):
    path, command = run_copy(box)
    box.run("strip", path).ok()
    box.record("--", *command)
    shown = lambda: box.wick("report", "--limit", "0").ok().out  # noqa: E731
    before = shown()
    check("inner_work" not in before, before)
    name = r"\[%s\+0x[0-9a-f]+\]" % re.escape(os.path.basename(path))
    check(len(set(re.findall(name, before))) >= 3, before)
    check("stripped" in before and "--embed-time" not in before, before)
    os.remove(path)
    check(set(re.findall(name, shown())) == set(re.findall(name, before)), shown())


@test
def no_embed_leaves_them_out(box):
    path, command = run_copy(box)
    box.record("--no-embed", "--", *command)
    check_named(box.script())
    os.remove(path)
    check(count(box.script(), "inner_work") == 0, "names came out of nowhere")


@test
def export_adds_them_later(box):
    path, command = run_copy(box)
    box.record("--no-embed", "--", *command)
    before = names_of(box)
    box.wick("export", "-o", "copy.data").ok()
    os.remove(path)
    check(names_of(box, "copy.data") == before, "the copy reads otherwise")
    box.wick("export", "-i", "copy.data", "-o", "again.data").ok()
    check(names_of(box, "again.data") == before, "the copy of the copy reads otherwise")


@test
def export_adds_them_to_files_of_perf(box):
    path, command = run_copy(box)
    done = box.perf("record", "-q", "-g", "-e", "cpu-clock", "-o", "perf.data", *command)
    if done.status != 0:
        raise Skip("perf cannot record here")
    before = names_of(box)
    check("inner_work" in before, before[:1000])
    box.wick("export", "-o", "copy.data").ok()
    os.remove(path)
    check(names_of(box, "copy.data") == before, "the copy reads otherwise")
    copy = box.script("copy.data", tool="perf")
    check(len(copy) == len(box.script("perf.data")), "perf sees other samples in the copy")


@test
def deleted_while_it_runs(box):
    path, _ = run_copy(box)
    box.record("--", "sh", "-c", "%s 2 & sleep 1; rm %s; wait" % (path, path))
    check_named([s for s in box.script() if s.comm == "program"])


@test
def deleted_before_the_first_sample(box):
    path, _ = run_copy(box)
    box.record("--", "sh", "-c", "%s 1 & sleep 0.05; rm %s; wait" % (path, path))
    check_named([s for s in box.script() if s.comm == "program"])


@test
def a_chroot_that_is_gone(box):
    if not is_root():
        raise Skip("chroot needs root")
    root = box.path("root")
    os.makedirs(os.path.join(root, "bin"))
    shutil.copy(box.build("nested.c", "-static"), os.path.join(root, "bin", "program"))
    box.record("--", "sh", "-c", "chroot %s /bin/program 1; rm -r %s" % (root, root))
    check(not os.path.exists(root))
    check_named([s for s in box.script() if s.comm == "program"])


@test
def a_private_mount_that_is_gone(box):
    if not is_root() or not shutil.which("unshare"):
        raise Skip("a mount namespace needs root and unshare")
    program = box.build("nested.c", "-static")
    os.mkdir(box.path("mnt"))
    script = ("mount -t tmpfs none mnt && cp %s mnt/program && mnt/program 1" % program)
    done = box.run("unshare", "-m", "true")
    if done.status != 0:
        raise Skip("unshare -m is not permitted")
    box.record("--", "unshare", "-m", "sh", "-c", script)
    check(not os.listdir(box.path("mnt")), "the mount was not private")
    check_named([s for s in box.script() if s.comm == "program"])


@test
def kernel_names_travel(box):
    box.record("--", "sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done")
    kernel = {frame[1] for sample in box.script() for frame in sample.frames
              if frame[3] == "[kernel.kallsyms]" and frame[1]}
    if not kernel:
        raise Skip("kernel frames are not seen here")
    box.wick("report", "--format", "json").ok()
    trace = shutil.which("strace")
    if not trace:
        raise Skip("strace is not installed")
    done = box.run(trace, "-f", "-e", "trace=openat", os.environ.get("WICK") or "wick", "script")
    check(not re.search(r"kallsyms", done.err), "kallsyms was read though the names are here")


# ---- JIT

FIB = ("function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
       "function outer() { let s = 0; for (let i = 0; i < 24; i++) s += fib(31); return s; }\n"
       "console.log(outer());\n")


def node(box, *flags):
    if not shutil.which("node"):
        raise Skip("node is not installed")
    return ("node",) + flags + (box.write("fib.js", FIB),)


def fib_share(box, file="perf.data"):
    samples = box.script(file)
    named = sum(1 for sample in samples
                if any(name and re.search(r"\bfib\b", name) for name in sample.names()))
    return named / max(1, len(samples))


@test
def perf_maps_of_a_process_that_is_gone(box):
    command = " ".join(node(box, "--perf-basic-prof"))
    box.record("--", "sh", "-c", command)
    pids = {sample.pid for sample in box.script() if sample.comm == "node"}
    maps = ["/tmp/perf-%d.map" % pid for pid in pids]
    check(any(os.path.exists(path) for path in maps), "node left no map")
    before = names_of(box)
    check(fib_share(box) > 0.5, "fib in %.2f of the samples" % fib_share(box))
    for path in maps:
        if os.path.exists(path):
            os.remove(path)
    check(names_of(box) == before, "the script changed when the map was removed")


@test
def jitdumps_need_no_inject(box):
    box.record("--", *node(box, "--perf-prof"))
    dumps = [name for name in os.listdir(box.folder) if re.match(r"jit-\d+\.dump$", name)]
    check(len(dumps) == 1, dumps)
    before = names_of(box)
    check(fib_share(box) > 0.5, "fib in %.2f of the samples" % fib_share(box))
    os.remove(box.path(dumps[0]))
    check(names_of(box) == before, "the script changed when the dump was removed")


@test
def jitdumps_are_read_where_they_are(box):
    box.record("--no-embed", "--", *node(box, "--perf-prof"))
    check(fib_share(box) > 0.5, "fib in %.2f of the samples" % fib_share(box))
    before = names_of(box)
    box.wick("export", "-o", "copy.data").ok()
    for name in os.listdir(box.folder):
        if name.endswith(".dump"):
            os.remove(box.path(name))
    check(fib_share(box) == 0, "names came out of nowhere")
    check(names_of(box, "copy.data") == before, "the copy reads otherwise")


@test
def perf_maps_of_another_pid_namespace(box):
    if not is_root() or not shutil.which("unshare"):
        raise Skip("namespaces need root and unshare")
    if box.run("unshare", "-pfm", "--mount-proc", "true").status != 0:
        raise Skip("unshare -pfm is not permitted")
    command = " ".join(node(box, "--perf-basic-prof"))
    box.record("--", "unshare", "-pfm", "--mount-proc", "sh", "-c",
               "mount -t tmpfs none /tmp && cp %s /tmp/fib.js && cd /tmp && %s" %
               (box.path("fib.js"), command.replace(box.path("fib.js"), "/tmp/fib.js"))
               if not box.folder.startswith("/tmp") else
               "mkdir /run/wick-test; cp %s /run/wick-test/; mount -t tmpfs none /tmp && "
               "cd /run/wick-test && %s; rm -r /run/wick-test" %
               (box.path("fib.js"), command.replace(box.path("fib.js"), "fib.js")))
    check(fib_share(box) > 0.4, "fib in %.2f of the samples" % fib_share(box))


main()
