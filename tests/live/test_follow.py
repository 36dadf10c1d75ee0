"""Threads, forks and execs of a command are followed, and each gets its own share and name."""
from wicktest import check, check_share, count, lost_of, main, test, truth_of

RATE = "2000"


def by_tid(samples):
    found = {}
    for sample in samples:
        found.setdefault(sample.tid, []).append(sample)
    return found


def check_threads(samples, truth, period_ns, spare=0.1):
    """Each thread has as many samples as its own CPU clock says, give or take."""
    found = by_tid(samples)
    for thread in truth["threads"]:
        mine = found.get(thread["tid"], [])
        due = thread["cpu_ns"] / period_ns
        check(abs(len(mine) - due) <= max(spare * due, 4 * due ** 0.5),
              "%s has %d samples, %.0f are due" % (thread["name"], len(mine), due))
        own = count(mine, thread["function"])
        check(own >= 0.97 * len(mine), thread["name"], own, len(mine))
    strangers = set(found) - {thread["tid"] for thread in truth["threads"]}
    check(sum(len(found[tid]) for tid in strangers) <= 0.02 * len(samples), strangers)


@test
def two_threads_have_their_names_and_functions(box):
    done = box.record("-F", RATE, "--", box.build("threads.c"), "2", "0", "700")
    truth = truth_of(done.out)
    samples = box.script()
    check_threads(samples, truth, 1e9 / int(RATE))
    comms = {tid: {s.comm for s in mine} for tid, mine in by_tid(samples).items()}
    for thread in truth["threads"]:
        if thread["tid"] == truth["pid"]:
            continue
        named = [s for s in by_tid(samples)[thread["tid"]] if s.comm == thread["name"]]
        check(len(named) >= 0.97 * len(by_tid(samples)[thread["tid"]]), thread, comms)


@test
def threads_created_late_are_sampled(box):
    done = box.record("-F", RATE, "--", box.build("threads.c"), "3", "3", "400")
    check_threads(box.script(), truth_of(done.out), 1e9 / int(RATE))


@test
def many_threads(box):
    done = box.record("-F", RATE, "--", box.build("threads.c"), "64", "0", "60", timeout=120)
    truth = truth_of(done.out)
    samples = box.script()
    due = truth["cpu_ns"] / (1e9 / int(RATE))
    lost = lost_of(box.report()["quality"])
    check(0.9 * due <= len(samples) + lost <= 1.1 * due, len(samples), lost, due)
    check(len(by_tid(samples)) >= 64, len(by_tid(samples)))


@test
def forks_and_execs_are_followed(box):
    shares = box.build("shares.c")
    done = box.record("-F", RATE, "--", box.build("forks.c"), "700", shares, "0.7", "60", "40")
    truth = truth_of(done.out)
    samples = box.script()
    found = by_tid(samples)
    total = truth["parent_ns"] + truth["child_ns"] + truth["program_ns"]
    for who in ("parent", "child", "program"):
        mine = found.get(truth[who], [])
        check_share(who, len(mine), len(samples), truth[who + "_ns"] / total)
    check(count(found[truth["child"]], "burn_child") >= 0.97 * len(found[truth["child"]]))
    check(count(found[truth["program"]], "burn_a") > count(found[truth["program"]], "burn_b"))
    wrong = count(found[truth["program"]], "burn_child") + count(found[truth["parent"]], "burn_a")
    check(wrong == 0, "functions of one program in another:", wrong)


@test
def a_program_that_becomes_another_one(box):
    shares, forks = box.build("shares.c"), box.build("forks.c")
    done = box.record("-F", RATE, "--", shares, "0.5", "50", "-exec", forks, "500")
    samples = [s for s in box.script()]
    first = [s for s in samples if s.has("burn_a")]
    second = [s for s in samples if s.has("burn_parent")]
    check(len(first) > 800 and len(second) > 800, len(first), len(second), done.out)
    check(max(s.time for s in first) < min(s.time for s in second), "mixed up in time")
    check(all(s.comm.startswith("shares") for s in first), {s.comm for s in first})
    check(all(s.comm.startswith("forks") for s in second), {s.comm for s in second})
    # Addresses of the first program do not get names of the second, and the other way round.
    for sample in first:
        check(all("forks" not in f[3] for f in sample.frames), sample.frames)
    for sample in second:
        check(all("shares" not in f[3] for f in sample.frames), sample.frames)


@test
def a_shell_and_its_pipe(box):
    shares = box.build("shares.c")
    box.record("-F", RATE, "--", "sh", "-c", "%s 0.4 50 | cat; %s 0.2 0 50 2>&1" % (shares, shares))
    samples = box.script()
    total = count(samples, "burn_a") + count(samples, "burn_b")
    check(total > 1000, total)
    check_share("burn_a", count(samples, "burn_a"), total, 2 / 3)


if __name__ == "__main__":
    main()
