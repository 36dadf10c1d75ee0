"""perf opens what wick writes, without a complaint, and sees the same in it."""
import os
import shutil

from wicktest import Skip, check, count, main, test, truth_of

RATE = "3000"


def recording(box, *words):
    box.perf("version")
    return box.record("-F", RATE, "--", *words)


def complaints(text):
    """perf's stderr without what it says about its own files, too."""
    harmless = ("# Overhead", "[ perf record")
    return [line for line in text.splitlines()
            if line.strip() and not any(h in line for h in harmless)]


@test
def perf_report_opens_it(box):
    recording(box, box.build("shares.c"), "0.5", "80", "20")
    done = box.perf("report", "--stdio", "-i", "perf.data").ok()
    check(not complaints(done.err), done.err)
    check("burn_a" in done.out, done.out)
    check("Total Lost Samples: 0" in done.out, done.out[:500])


@test
def perf_script_sees_the_same_samples(box):
    recording(box, box.build("threads.c"), "3", "2", "300")
    done = box.perf("script", "-i", "perf.data").ok()
    check(not complaints(done.err), done.err)
    ours, theirs = box.script(), box.script(tool="perf")
    check(len(ours) == len(theirs), len(ours), len(theirs))

    def key(sample):
        # A thread that exits has no number any more: perf calls it ":-1", wick by its old name.
        comm = sample.comm if sample.tid > 0 else ""
        return (sample.time, sample.tid, sample.cpu, comm, sample.period, sample.event)

    ours, theirs = sorted(ours, key=key), sorted(theirs, key=key)
    different = [(key(a), key(b)) for a, b in zip(ours, theirs) if key(a) != key(b)]
    check(not different, len(different), different[:3])


@test
def periods_stand_in_the_attr(box):
    """One clock: no ids, no periods in its records, and perf has the kernel's period all the same;
    two events: both fields."""
    program = box.build("shares.c")
    for chains in ("auto", "fp"):
        box.record("-F", RATE, "--call-graph", chains, "-e", "cpu-clock", "--", program, "0.2", "80",
                   "20")
        periods = {sample.period for sample in box.script(tool="perf")}
        check(periods == {10 ** 9 // int(RATE)}, chains, periods)
        attr = box.perf("evlist", "-v", "-i", "perf.data").ok().out
        check("IDENTIFIER" not in attr and "|PERIOD" not in attr, attr)
    box.record("-F", RATE, "-e", "cpu-clock,task-clock", "--", program, "0.2", "80", "20")
    attr = box.perf("evlist", "-v", "-i", "perf.data").ok().out
    check(attr.count("IDENTIFIER") == 2 and attr.count("|PERIOD") == 2, attr)
    check({sample.event.split(":")[0] for sample in box.script(tool="perf")} ==
          {"cpu-clock", "task-clock"}, "events")


def same_name(ours, theirs, is_leaf):
    """Two frames agree, or differ for a reason that is understood."""
    addr, name, offset, dso = ours
    addr2, name2, offset2, dso2 = theirs
    if (addr ^ addr2) & 0xfff:  # perf 6.1 prints addresses in the file, where it knows one
        return False
    if name == name2 and offset == offset2:
        return True
    if not is_leaf and offset2 == 0:
        # A call is the last instruction of a function: the return address is the next one's start.
        # perf 6.1 looks up the return address itself.
        return True
    # perf 6.1 names no PLT entry and few addresses outside of a symbol's size, and chooses another
    # alias of the same address: then the offsets agree.
    return name2 is None or offset == offset2 or name is None and "[vdso]" in dso2


def chain(sample):
    """The frames without the zeros that a broken chain has in it."""
    return [frame for frame in sample.frames if frame[0] != 0]


def compare_frames(box, least, kernel=True):
    words = ("--no-inline",)  # perf resolves inlined frames of unwound stacks only
    ours, theirs = box.script(words=words), box.script(tool="perf", words=words)
    check(len(ours) == len(theirs) and len(ours) >= least, len(ours), len(theirs))
    order = lambda s: (s.time, s.tid, s.cpu)
    frames = different = named = theirs_named = 0
    examples = []
    for a, b in zip(sorted(ours, key=order), sorted(theirs, key=order)):
        mines, others = chain(a), chain(b)
        if len(mines) != len(others):
            different += 1
            examples.append((len(mines), len(others), mines[-2:], others[-2:]))
            continue
        for depth, (mine, other) in enumerate(zip(mines, others)):
            if not kernel and mine[0] >= 1 << 63:
                continue
            frames += 1
            named += mine[1] is not None
            theirs_named += other[1] is not None
            if not same_name(mine, other, depth == 0):
                different += 1
                examples.append((mine, other))
    check(different <= 0.001 * frames, different, frames, examples[:5])
    check(named >= theirs_named, named, theirs_named)


@test
def frames_have_the_names_that_perf_gives(box):
    recording(box, box.build("shares.c"), "0.6", "50", "30", "20")
    compare_frames(box, 1000)


@test
def frames_of_python_have_the_names_that_perf_gives(box):
    code = "import json\nd = {str(i): [i] * 9 for i in range(3000)}\n" \
           "for _ in range(40): json.loads(json.dumps(d)); sorted(d, key=hash)"
    recording(box, "python3", "-c", code)
    compare_frames(box, 300)


@test
def frames_of_the_kernel_have_the_names_that_perf_gives(box):
    recording(box, box.build("syscalls.c"), "400")
    compare_frames(box, 300)


@test
def frames_of_a_compiler_have_the_names_that_perf_gives(box):
    source = box.write("x.c", "".join("int f%d(int x) { int s = 0; for (int i = 0; i < x; i++) s += "
                                      "i * %d; return s; }\n" % (i, i) for i in range(400)))
    recording(box, "gcc", "-O2", "-c", "-o", box.path("x.o"), source)
    compare_frames(box, 300)


@test
def perf_sees_the_header(box):
    recording(box, box.build("shares.c"), "0.2", "50")
    done = box.perf("report", "--header-only", "-i", "perf.data").ok()
    for word in ("hostname", "os release", "arch", "nrcpus online", "cmdline", "event"):
        check(word in done.out, word, done.out)
    check(os.uname().release in done.out, done.out)


@test
def perf_lists_the_build_ids(box):
    recording(box, box.build("shares.c"), "0.2", "50")
    done = box.perf("buildid-list", "-i", "perf.data").ok()
    check("shares" in done.out, done.out)


@test
def wick_reads_what_perf_recorded(box):
    box.perf("record", "-q", "-g", "-F", RATE, "-o", "perf.data", "--", box.build("shares.c"), "0.5",
             "80", "20").ok()
    compare_frames(box, 1000)
    report = box.wick("report").ok()
    check("burn_a" in report.out)


@test
def wick_reads_what_perf_compressed(box):
    done = box.perf("record", "-q", "-g", "-z", "-F", RATE, "-o", "perf.data", "--",
                    box.build("shares.c"), "0.5", "80", "20")
    if done.status != 0:
        raise Skip("perf record -z does not work here")
    # perf 6.1 writes no build ids into a compressed file: nothing says which kernel it was.
    compare_frames(box, 1000, kernel=False)


@test
def hotspot_reads_it(box):
    if not shutil.which("hotspot-perfparser") and not os.path.exists("/usr/libexec/hotspot-perfparser"):
        raise Skip("hotspot-perfparser is not installed")
    recording(box, box.build("shares.c"), "0.3", "80", "20")
    parser = shutil.which("hotspot-perfparser") or "/usr/libexec/hotspot-perfparser"
    ours = box.run(parser, "--input", "perf.data", "--output", "ours.out").ok()
    box.perf("record", "-q", "-g", "-F", RATE, "-o", "perfs.data", "--", box.build("shares.c"),
             "0.3", "80", "20").ok()
    theirs = box.run(parser, "--input", "perfs.data", "--output", "theirs.out").ok()
    extra = set(complaints(ours.err)) - set(complaints(theirs.err))
    check(not extra, extra)


if __name__ == "__main__":
    main()
