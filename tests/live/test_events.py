"""-e, -F, -c, -m: what the kernel has is used, what it has not is said."""
import os

from wicktest import check, count, lost_of, main, test, truth_of


def events(box):
    return {s.event.split(":")[0] for s in box.script()}


@test
def software_clocks(box):
    for event in ("cpu-clock", "task-clock"):
        box.record("-e", event, "--", box.build("shares.c"), "0.3", "50")
        check(events(box) == {event}, events(box))
        check(count(box.script(), "burn_a") > 200)


@test
def page_faults(box):
    script = "b = bytearray(64 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\n"
    box.record("-e", "page-faults", "-c", "64", "--", "python3", "-c", script)
    samples = box.script()
    check(events(box) == {"page-faults"}, events(box))
    # 16,384 pages of 4 KiB, or a few huge ones.
    check(len(samples) > 10, len(samples))


@test
def context_switches(box):
    done = box.wick("record", "-e", "context-switches", "-c", "1", "--", "sh", "-c",
                    "for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done")
    check(done.status == 0, done.err)
    check(events(box) in ({"context-switches"}, set()), events(box))
    if os.geteuid() == 0:
        check(len(box.script()) >= 8, len(box.script()))


@test
def cycles_are_sampled_or_replaced_or_refused_clearly(box):
    done = box.wick("record", "-e", "cycles", "--", box.build("shares.c"), "0.3", "50")
    if done.status == 0:
        check(count(box.script(), "burn_a") > 100, done.err)
        if events(box) != {"cycles"}:
            check("cycles" in done.err, "another event was taken and not said:", done.err)
    else:
        check("cycles" in done.err, done.err)


@test
def the_default_event_is_said(box):
    done = box.record("--", box.build("shares.c"), "0.2", "50")
    used = events(box)
    check(len(used) == 1, used)
    report = box.wick("report").ok()
    check(any(name in report.out for name in used), used, report.out)
    check(any(name in done.err for name in used), used, done.err)


@test
def an_event_that_does_not_exist(box):
    for word in ("no-such-event", "r", "rxyz", "", "cpu-clock:q"):
        done = box.wick("record", "-e", word, "--", "true")
        check(done.status not in (0, 3, 4), word, done.status)
        check(done.err.strip(), word)
        if word:
            check(word.split(":")[0] in done.err, word, done.err)


@test
def a_modifier_leaves_the_kernel_out(box):
    box.record("-e", "cpu-clock:u", "--", box.build("syscalls.c"), "300")
    kernel = [s for s in box.script() if s.frames and s.frames[0][0] >= 1 << 63]
    check(not kernel, len(kernel))


@test
def a_rate_above_the_limit(box):
    done = box.wick("record", "-F", "5000000", "--", "true")
    if done.status == 0:
        check("rate" in done.err.lower(), "lowered and not said:", done.err)
    else:
        check("perf_event_max_sample_rate" in done.err, done.err)


@test
def numbers_that_are_none(box):
    for option in ("-F", "-c", "-m", "-d"):
        for word in ("abc", "", "-1", "0", "1x", "99999999999999999999999"):
            if (option, word) == ("-d", "0"):
                continue
            done = box.wick("record", option, word, "--", "true")
            check(done.status not in (0, 3, 4), option, repr(word), done.status)
            check(done.err.strip(), option, word)


@test
def ring_sizes(box):
    for pages in ("1", "8", "256"):
        done = box.record("-m", pages, "-F", "2000", "--", box.build("shares.c"), "0.3", "50")
        quality = box.report()["quality"]
        sampled = len(box.script())
        due = 2000 * truth_of(done.out)["cpu_ns"] / 1e9
        check(sampled + lost_of(quality) > 0.9 * due, pages, sampled, due, quality)
    done = box.wick("record", "-m", "3", "--", "true")
    check(done.status != 0 or "page" in done.err, done.err)


@test
def a_ring_that_is_too_small_says_how_much_it_lost(box):
    done = box.record("-m", "1", "-F", "20000", "--", box.build("threads.c"), "8", "0", "200")
    truth = truth_of(done.out)
    quality = box.report()["quality"]
    sampled, lost = len(box.script()), lost_of(quality)
    due = truth["cpu_ns"] / 50000
    check(0.85 * due < sampled + lost < 1.15 * due, sampled, lost, due)


if __name__ == "__main__":
    main()
