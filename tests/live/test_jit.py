"""Code that is compiled while the program runs: its stacks, by what its compiler says of them."""
import os
import platform
import re
import shutil

from wicktest import Skip, check, is_root, main, test

GENERATIONS = 3
WHOLE = re.compile(r"^inner_(\d);outer_\1;run;main;")


def jits(box, *words, seconds="1"):
    if platform.machine() != "x86_64":
        raise Skip("the program's compiler makes x86_64 code")
    return (box.build("jits.c"), seconds, box.folder, GENERATIONS) + words


def shares(samples):
    """Of the samples in compiled code: how many there are, the shares of whole stacks by generation."""
    inside = [";".join(name or "?" for name in sample.names()) for sample in samples]
    inside = [stack for stack in inside if re.search(r"\b(inner|outer)_\d", stack)]
    whole = [WHOLE.match(stack) for stack in inside]
    return len(inside), [sum(1 for m in whole if m and m.group(1) == str(i)) / max(1, len(inside))
                         for i in range(GENERATIONS)]


def check_whole(samples):
    count, whole = shares(samples)
    check(count > 300, "%d samples in compiled code" % count)
    check(sum(whole) > 0.95, "whole stacks:", whole)
    check(all(share > 0.2 for share in whole), "generations:", whole)


@test
def frames_are_described_by_the_dump(box):
    for version in "1", "2":
        box.record("--", *jits(box, version))
        check_whole(box.script())


@test
def without_the_description_stacks_end(box):
    box.record("--", *jits(box, "1", "plain"))
    count, whole = shares(box.script())
    check(count > 300, "%d samples in compiled code" % count)
    check(sum(whole) < 0.1, "the stacks are whole without what they need:", whole)


@test
def stacks_of_perf_are_unwound_by_the_dump(box):
    done = box.perf("record", "-q", "-F", "499", "-k", "mono", "--call-graph", "dwarf,32768",
                    "-o", "perf.data", *map(str, jits(box, "1")))
    if done.status != 0:
        raise Skip("perf record does not work here: " + done.err.strip()[-100:])
    check_whole(box.script())
    before = [sample.names() for sample in box.script()]
    for name in os.listdir(box.folder):
        if name.endswith(".dump"):
            os.remove(box.path(name))
    check([sample.names() for sample in box.script()] != before, "the dump was not needed")


def leaves(samples):
    return [(sample.names() or [None])[0] or "?" for sample in samples]


@test
def maps_that_their_writers_remove(box):
    box.record("--", *jits(box, "1", "map", seconds="3"))
    names = leaves(box.script())
    last = sum(1 for name in names if name == "inner_%d" % (GENERATIONS - 1))
    check(last > 0.8 * len(names), "the last one's name in %d of %d samples" % (last, len(names)),
          sorted(set(names))[:9])  # the code of all lay at one address, and later lines win


@test
def maps_of_an_earlier_process_do_not_count(box):
    if not is_root() or not shutil.which("unshare"):
        raise Skip("a pid of one's choice needs root and unshare")
    if box.run("unshare", "-pfm", "--mount-proc", "true").status != 0:
        raise Skip("unshare -pfm is not permitted")
    if not shutil.which("setarch"):
        raise Skip("setarch is not installed")
    program = "/run/wick-jits-%d" % os.getpid()
    script = ("set -e; mount -t tmpfs none /tmp; cd /;"
              "echo 76 > /proc/sys/kernel/ns_last_pid; setarch -R {0} 0.3 . 3 1 map & "
              "until [ -s /tmp/perf-77.map ]; do sleep 0.01; done; ln /tmp/perf-77.map /tmp/kept; wait;"
              "mv /tmp/kept /tmp/perf-77.map; sleep {1}; echo 76 > /proc/sys/kernel/ns_last_pid;"
              "exec sh -c 'setarch -R {0} 1 . 3 1 silent & wait'")
    shutil.copy(jits(box)[0], program)
    try:
        box.record("--", "unshare", "-pfm", "--mount-proc", "sh", "-c", script.format(program, 2.5))
    finally:
        os.remove(program)
    samples = [sample for sample in box.script() if sample.comm.startswith("wick-jits")]
    first, second = [leaves(sample for sample in samples if sample.pid == pid)
                     for pid in sorted({sample.pid for sample in samples})]
    named = [sum(1 for name in names if name.startswith("inner_")) for names in (first, second)]
    check(named[0] > 0.5 * len(first), "the first one's map names", named[0], "of", len(first))
    check(len(second) > 300 and named[1] == 0, "%d of %d samples have the names of the process before" %
          (named[1], len(second)))
    check("earlier process" in box.wick("report").ok().out, "the report does not say why")


main()
