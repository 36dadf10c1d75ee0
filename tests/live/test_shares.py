"""Programs that know how much CPU time each of their functions took: the samples must agree."""
import os

from wicktest import check, check_share, count, functions_of, main, test, truth_of

RATE = "4000"


def check_parts(box, truth, names):
    samples = box.script()
    total = sum(truth[name] for name in names)
    check(len(samples) >= 5000, "only %d samples" % len(samples))
    for name in names:
        check_share(name, count(samples, name), len(samples), truth[name] / total)


@test
def shares_of_two_functions(box):
    done = box.record("-F", RATE, "--", box.build("shares.c"), "1.6", "80", "20")
    check_parts(box, truth_of(done.out), ["burn_a", "burn_b"])


@test
def shares_of_three_functions(box):
    done = box.record("-F", RATE, "--", box.build("shares.c"), "1.6", "50", "30", "20")
    check_parts(box, truth_of(done.out), ["burn_a", "burn_b", "burn_c"])


@test
def the_report_says_the_same_shares(box):
    done = box.record("-F", RATE, "--", box.build("shares.c"), "1.6", "80", "20")
    truth = truth_of(done.out)
    functions = functions_of(box.report())
    for name in ("burn_a", "burn_b"):
        share = truth[name] / (truth["burn_a"] + truth["burn_b"])
        check(abs(functions[name]["self_pct"] / 100 - share) < 0.025, name, functions[name])
    check(functions["main"]["total_pct"] > 97, functions["main"])


@test
def callers_are_in_the_stack(box):
    box.record("-F", RATE, "--", box.build("shares.c"), "0.5", "80", "20")
    burning = [s for s in box.script() if s.leaf() == "burn_a"]
    check(len(burning) > 500, len(burning))
    rooted = [s for s in burning if s.has("main") and s.names()[1] in ("main", "run_parts")]
    check(len(rooted) >= 0.99 * len(burning), len(rooted), len(burning))


@test
def number_of_samples_follows_the_rate(box):
    for rate in (499, 997, 1999):
        done = box.record("-F", rate, "--", box.build("shares.c"), "0.7", "50")
        cpu_s = truth_of(done.out)["cpu_ns"] / 1e9
        samples = len(box.script())
        check(0.9 < samples / (rate * cpu_s) < 1.1, rate, samples, cpu_s)


@test
def fixed_period(box):
    done = box.record("-c", "2000000", "--", box.build("shares.c"), "0.6", "50")
    samples = box.script()
    due = truth_of(done.out)["cpu_ns"] / 2000000
    check(all(s.period == 2000000 for s in samples), {s.period for s in samples})
    check(0.9 < len(samples) / due < 1.1, len(samples), due)


@test
def coverage_agrees_with_the_programs_own_clock(box):
    done = box.record("--", box.build("shares.c"), "1", "50", "50")
    quality = box.report()["quality"]
    own_ns = truth_of(done.out)["cpu_ns"]
    sampled_ns = sum(s.period for s in box.script())
    check(quality["coverage"] > 0.97, quality)
    check(0.95 < quality["cpu_ns"] / own_ns < 1.1, quality["cpu_ns"], own_ns)
    check(0.95 < sampled_ns / own_ns < 1.05, sampled_ns, own_ns)


@test
def libraries_loaded_at_the_same_address_are_told_apart(box):
    library = os.path.join(os.path.dirname(box.build("dlopens.c")), "")
    flags = ("-shared", "-fPIC")
    source = [os.path.join(os.path.dirname(__file__), "programs", "library.c")]
    a = box.build("library.c", *flags, "-DFUNCTION=work_a", sources=source, output="first.so")
    b = box.build("library.c", *flags, "-DFUNCTION=work_b", sources=source, output="second.so")
    check(a.startswith(library))
    done = box.record("-F", RATE, "--", box.build("dlopens.c"), "10", "50", a, b)
    truth = truth_of(done.out)
    check(truth["same"] == truth["rounds"], "not at the same address:", truth)
    samples = box.script()
    work = {name: [s for s in samples if s.has(name)] for name in ("work_a", "work_b")}
    total = truth["work_a"] + truth["work_b"]
    for name, dso in (("work_a", "first.so"), ("work_b", "second.so")):
        check_share(name, len(work[name]), len(samples), truth[name] / total)
        for sample in work[name]:
            frame = next(f for f in sample.frames if f[1] == name)
            check(frame[3].endswith(dso), frame)


if __name__ == "__main__":
    main()
