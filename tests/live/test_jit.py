"""Code that is compiled while the program runs: its stacks, by what its compiler says of them."""
import os
import platform
import re

from wicktest import Skip, check, main, test

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


main()
