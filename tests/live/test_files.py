"""Names out of every kind of file that code is mapped from, and of code whose file is another."""
import os
import platform
import re
import shutil
import subprocess

from wicktest import Skip, check, is_root, main, test, wait_until

WORKS = ("work_in_text", "work_in_hot", "work_in_cold")


def check_works(box, works=WORKS, floor=0.2):
    """Each of the functions is the leaf of its part of the samples, and main is below it."""
    samples = box.script()
    leaves = [(sample.names() or ["?"])[0] for sample in samples]
    for work in works:
        count = sum(1 for leaf in leaves if leaf == work)
        check(count > floor * len(leaves), "%s in %d of %d samples" % (work, count, len(leaves)))
    whole = sum(1 for sample in samples if "main" in sample.names())
    check(whole > 0.9 * len(samples), "main in %d of %d samples" % (whole, len(samples)))


def library(box, *flags):
    """A library with work_in_library(), linked so."""
    source = box.write("library_work.c", "static volatile unsigned long sink;\n"
                       "void work_in_library(void) { for (unsigned long i = 0; i < 200000; i++) sink += i; }\n")
    done = box.run("gcc", "-O2", "-g", "-shared", "-fPIC", "-o", box.path("libwork.so"), source, *flags)
    if done.status != 0:
        raise Skip("this linker does not do it: " + done.err.strip()[-100:])


@test
def several_executable_segments(box):
    flags = ("-no-pie", "-Wl,--section-start=.hot=0x10000000", "-Wl,--section-start=.cold=0x20003000")
    path = box.build("segments.c", *flags)
    headers = box.run("readelf", "-lW", path)
    if headers.status == 0:
        check(headers.out.count(" R E ") >= 3, headers.out)
    box.record("--", path, "1")
    check_works(box)


@test
def a_library_and_a_program_at_addresses_of_their_own(box):
    library(box, "-Wl,-Ttext-segment=0x3000000000")
    path = box.build("segments.c", "-no-pie", "-Wl,-Ttext-segment=0x60000000", "-DWITH_LIBRARY",
                     "-L" + box.folder, "-lwork", "-Wl,-rpath," + box.folder, output="segments-lib")
    box.record("--", path, "1")
    check_works(box, WORKS + ("work_in_library",), 0.15)


@test
def code_that_was_put_onto_other_memory(box):
    box.record("--", box.build("segments.c"), "1", "remap")
    check_works(box)
    program = box.start(box.build("segments.c"), "5", "remap")  # found as it is, in /proc
    wait_until(lambda: re.search(r"^\S+ r-xp \S+ 00:00 0 *\n\S+ r--p .*/segments",
                                 open("/proc/%d/maps" % program.pid).read(), re.M),
               20, "the program puts its code nowhere")
    box.record("-p", program.pid, "-d", "2")
    check_works(box)


@test
def a_program_that_is_no_file(box):
    starter = box.write("starter.py", "import os, sys\n"
                        "fd = os.memfd_create('prog', 0)\n"
                        "os.write(fd, open(sys.argv[1], 'rb').read())\n"
                        "os.execve(fd, ['prog', '1'], os.environ)\n")
    for build_id in "sha1", "none":
        path = box.build("segments.c", "-Wl,--build-id=" + build_id)
        box.record("--", "python3", starter, path)
        samples = [sample for sample in box.script() if "main" in sample.names()]
        check(len(samples) > 500, "main in %d samples" % len(samples), build_id)
        leaves = [sample.names()[0] for sample in samples]
        check(all(leaves.count(work) > 0.2 * len(leaves) for work in WORKS), build_id)


@test
def files_of_an_overlay(box):
    if not is_root() or not shutil.which("unshare"):
        raise Skip("mounting needs root and unshare")
    for name in "lower", "upper", "work", "merged":
        os.mkdir(box.path(name))
    mount = "mount -t overlay overlay -o lowerdir=%s,upperdir=%s,workdir=%s %s" % tuple(
        box.path(name) for name in ("lower", "upper", "work", "merged"))
    if box.run("unshare", "-m", "sh", "-c", mount).status != 0:
        raise Skip("overlays are not permitted here, or not on this file system")
    shutil.copy(box.build("segments.c"), box.path("lower/program"))
    shutil.copy(box.build("shares.c"), box.path("merged/program"))  # what stands there outside
    box.record("--", "unshare", "-m", "sh", "-c", mount + " && exec %s 1" % box.path("merged/program"))
    check_works(box)


@test
def a_program_of_32_bits(box):
    if platform.machine() != "x86_64":
        raise Skip("32-bit programs are built for x86 here")
    source = box.write("small.c", "static volatile unsigned sink;\n"
                       "__attribute__((noinline)) static void work_of_32(void) { for (unsigned i = 0; i < 2000000; i++) sink += i; }\n"
                       "void _start(void) { for (int i = 0; i < 300; i++) work_of_32();\n"
                       "  __asm__ volatile(\"mov $1, %eax; xor %ebx, %ebx; int $0x80\"); }\n")
    if box.run("gcc", "-m32", "-O2", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-o", box.path("small"), source).status != 0:
        raise Skip("this gcc makes no 32-bit programs")
    if box.run(box.path("small")).status != 0:
        raise Skip("this kernel runs no 32-bit programs")
    box.record("--", box.path("small"))
    leaves = [(sample.names() or ["?"])[0] for sample in box.script()]
    check(len(leaves) > 50 and leaves.count("work_of_32") > 0.8 * len(leaves), leaves[:9], len(leaves))


@test
def a_file_that_was_replaced_while_it_ran(box):
    """The recorded one is gone; what has its name now, and its place, never lends its names."""
    path = box.path("program")
    shutil.copy(box.build("segments.c", "-Wl,--build-id=none"), path)
    other = box.build("shares.c", "-Wl,--build-id=none")
    box.record("--no-embed", "--", "sh", "-c", "%s 1 & sleep 0.3; rm %s; cp %s %s; wait" % (path, path, other, path))
    names = {name for sample in box.script() for name in sample.names() if name}
    theirs = subprocess.run(["nm", other], stdout=subprocess.PIPE, text=True, check=False).stdout
    lent = {line.split()[-1] for line in theirs.splitlines() if " t " in line.lower()} & names
    lent -= {"main", "_start"}
    check(not lent, "names of the other file:", lent)


main()
