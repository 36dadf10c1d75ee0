"""Stacks that are deeper than what is copied of them, memory that may not be read, a very large library."""
import os
import platform
import subprocess

from wicktest import PROGRAMS, WICK, Skip, as_user, check, lost_of, main, need_paranoid, test

FLAGS = ("-O2", "-fomit-frame-pointer", "-fno-stack-clash-protection",
         "-fno-optimize-sibling-calls")


def say(text):
    """A line between two lines of TAP."""
    print("#", text, flush=True)


def deep(box):
    return box.build("deep.c", *FLAGS)


def stacks_of(box):
    """Shares of the stacks by why they ended, and the quality block."""
    quality = box.report()["quality"]
    stops = quality["stacks"]
    owed = sum(stops.values()) - stops["no_user"]
    check(owed > 100, "only %d stacks" % owed)
    return {stop: n / owed for stop, n in stops.items()}, quality


@test
def what_is_deeper_than_the_copy_is_read_late(box):
    box.record("--", deep(box), "0.4", "1000")
    stops, quality = stacks_of(box)
    check(stops["late"] + stops["root"] + stops["behind"] > 0.9, stops)
    check(stops["late"] > 0.5, stops)
    check(quality["copy_bytes"] >= 24 << 10, quality["copy_bytes"])


@test
def the_copy_grows_where_stacks_change_before_they_are_read(box):
    """Up and down 500 frames: what lies above the copy is another stack by the time it is read."""
    box.record("--stack-bytes", "24576", "--", deep(box), "1.5", "500", "restless")
    before, _ = stacks_of(box)
    done = box.record("--", deep(box), "1.5", "500", "restless")
    after, quality = stacks_of(box)
    say("500 restless frames: %.1f %% complete with 24 KiB, %.1f %% when the copies may grow" % (
        100 * (before["root"] + before["late"]), 100 * (after["root"] + after["late"])))
    if before["copy_exhausted"] < 0.02:
        raise Skip("nearly all of them could be read late")
    if quality["scope"] == "inherit" and os.cpu_count() > 8:
        raise Skip("copies do not grow for inherited events on so many CPUs")
    check(quality["copy_bytes"] > 32 << 10, quality["copy_bytes"])
    check("were copied with each sample, not 24" in done.err, "not a word of it:", done.err)
    check(after["copy_exhausted"] < 0.6 * before["copy_exhausted"], before, after)


@test
def the_copy_grows_where_nothing_can_be_read_late(box):
    """56 KiB of stack: more than is copied by default, and no more than a record can hold."""
    refuse = box.build("refuse.c", "-DREFUSED=SYS_process_vm_readv", output="refuse-reading")
    box.run(refuse, "1", WICK, "record", "--stack-bytes", "24576", "--", deep(box), "0.4",
            "500").check_sane().ok()
    before, _ = stacks_of(box)
    check(before["copy_exhausted"] > 0.9, "nothing was refused: this is no test", before)
    done = box.run(refuse, "1", WICK, "record", "--", deep(box), "0.4", "500").check_sane().ok()
    after, quality = stacks_of(box)
    say("a stack of 40 KiB that may not be read: %.1f %% complete with 24 KiB, %.1f %% with %d" % (
        100 * before["root"], 100 * after["root"], quality["copy_bytes"]))
    check(quality["copy_bytes"] > 50 << 10 or lost_of(quality), quality["copy_bytes"])
    check(after["root"] + after["behind"] > 0.97 and after["root"] > 0.3, after)
    check("KiB of stack are copied" in done.err, "not a word of it:", done.err)
    check("process_vm_readv" in done.err, done.err)


@test
def a_process_that_forbids_to_be_read_is_named(box):
    need_paranoid(-1, 2)
    prefix, wick = as_user(box)
    done = box.run(*prefix, wick, "record", "--", deep(box), "0.4", "500", "private").check_sane()
    check(done.status == 0, done.err)
    stops, quality = stacks_of(box)
    check(stops["copy_exhausted"] > 0.02, "it could be read: this is no test", stops)
    check("may not be read" in done.err and "--stack-bytes" in done.err, done.err)
    if quality["copy_bytes"] > 40 << 10:
        check(stops["root"] > 0.5, "the copies grew in vain", stops)
    done = box.run(*prefix, wick, "record", "--stack-bytes", "63488", "--", deep(box), "0.4", "500",
                   "private").check_sane()
    stops, _ = stacks_of(box)
    check(stops["root"] + stops["behind"] > 0.9, "the advice did not help:", stops, done.err)
    check(stops["root"] > 0.3, stops)


@test
def a_stack_that_is_not_in_memory_says_so(box):
    box.record("--", deep(box), "0.4", "untouched")
    stops, quality = stacks_of(box)
    check(stops["no_copy"] > 0.9, stops)
    check(stops["root"] < 0.05, "roots that nobody saw:", stops)
    report = box.wick("report", "--tree").ok()
    check("nothing of the stack could be copied" in report.out, report.out[:1500])
    check("mlockall" in report.out, report.out[:1500])


# ---- 150 MB, 10 MB of them call frame information

def measured(box, program):
    """Records with own eyes on the recorder: the time until its first stack, its peak memory."""
    with open(box.path("words"), "wb") as words:
        process = subprocess.Popen([WICK, "record", "--no-embed", "--", program, "0.4"],
                                   cwd=box.folder, stdout=words, stderr=words,
                                   stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    check(status == 0, open(box.path("words")).read())
    quality = box.report()["quality"]
    check(quality["first_stack_ns"] is not None, "no stack was complete", quality["stacks"])
    return quality["first_stack_ns"] / 1e6, usage.ru_maxrss, quality


def best(box, program):
    runs = [measured(box, program) for _ in range(6)]
    return min(run[0] for run in runs), min(run[1] for run in runs), runs[-1][2]


@test
def a_very_large_library_is_no_matter(box):
    if platform.machine() != "x86_64":
        raise Skip("the library is written for x86_64")
    source = os.path.join(PROGRAMS, "large_library.S")
    user = os.path.join(PROGRAMS, "large_user.c")
    alone = box.build("large_user.c", "-DWITHOUT", output="large-alone")
    alone_ms, alone_kb, _ = best(box, alone)
    obj = box.build("large_library.S", "-c", compiler="gcc", sources=[source], output="large.o")
    for name, words in (("", ()), (" without .eh_frame_hdr", ("-Wl,--no-eh-frame-hdr",))):
        library = box.build("large_library", "-shared", *words, sources=[obj],
                            output="liblarge%d.so" % len(words))
        size = os.path.getsize(library)
        check(size > 150e6, size)
        program = box.build("large_user.c", sources=[user, library],
                            output="large-user%d" % len(words))
        ms, kb, quality = best(box, program)
        say("a library of %d MB%s: first stack after %.1f ms (without it %.1f), "
            "%d MB at most (%d)" % (size / 1e6, name, ms, alone_ms, kb / 1024, alone_kb / 1024))
        check(quality["stacks"]["root"] > 0.95 * quality["samples"], quality["stacks"])
        check(ms < 3 * alone_ms + 50, "%.1f ms, %.1f without the library" % (ms, alone_ms))
        check(kb < alone_kb + (32 << 10), "%d kB, %d without the library" % (kb, alone_kb))
        os.unlink(library)
        os.unlink(program)


if __name__ == "__main__":
    main()
