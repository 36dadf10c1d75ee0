#!/usr/bin/env python3
"""usage: judge.py SAID...     judges what the emulated machines said on their consoles; prints TAP

SAID has a section for each line of the machine's commands:

    == /wick report -i /shares.data --format json
    what the command said
    == ended with 0

The conformance suite's TAP passes through; what wick said is compared with what the programs know of
themselves. The last line is `armv8_pmuv3: N passed, N failed`.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WICK = os.path.abspath(os.environ.get("WICK") or
                       os.path.join(ROOT, "build", "src", "cli", "wick"))

# How programs begin: their main(), their threads, the end of a signal handler, a context.
GLIBC = {"main": ["_start", "__libc_start_main", "__libc_start_call_main", "main"],
         "thread": ["thread_start", "start_thread"], "signal": "__kernel_rt_sigreturn",
         "context": ["__startcontext"]}
MUSL = {"main": ["libc_start_main_stage2", "main"], "thread": ["__clone", "start"],
        "signal": "__restore"}
# Functions that Debian's stripped libc.so.6 does not name.
LOCAL = ("__libc_start_call_main", "thread_start", "start_thread", "__startcontext")
PERIOD_SHARES, PERIOD_CHAINS = 150000, 50000


def chains_of(libc):
    """Who calls the function at the end, root first; `*` is whatever the C library calls on the way."""
    chains = {
        "work_chain": libc["main"] + ["part_chain", "chain_1", "chain_2", "chain_3", "chain_4"],
        "work_deep": libc["main"] + ["part_deep"] + ["descend"] * 151,
        "work_array": libc["main"] + ["part_array", "with_array"],
        "work_signal": libc["main"] + ["part_signal", "raise", "*", libc["signal"], "on_signal"],
        "work_sort": libc["main"] + ["part_sort", "*", "compare"],
        "work_thread": libc["thread"] + ["in_thread"],
    }
    if "context" in libc:
        chains["work_context"] = libc["context"] + ["in_context"]
    return chains


checks = []


def check(function):
    checks.append(function)
    return function


def require(condition, *words):
    if not condition:
        raise AssertionError(" ".join(str(word) for word in words))


class Said:
    """The sections by command, in order."""

    def __init__(self, text):
        self.text = text
        self.sections = {}
        for part in re.split(r"^== (?=/|& |put |show )", text, flags=re.MULTILINE)[1:]:
            command, _, body = part.partition("\n")
            body, ended, status = body.rpartition("== ended with ")
            self.sections[command] = (body, status.split("\n")[0] if ended else "never")

    def find(self, *words):
        for command, (body, status) in self.sections.items():
            if all(word in command.split() for word in words):
                require(status == "0", command, "ended with", status, body[-1000:])
                return body
        raise AssertionError("never ran: " + " ".join(words))

    def report(self, path):
        return json.loads(self.find("report", path))

    def record(self, path):
        return self.find("/wick", "record", path)

    def file(self, path):
        return bytes.fromhex(self.find("put", path).replace("\n", ""))

    def stacks(self, path):
        """[(frames without the command, weight)], root first."""
        found = []
        for line in self.find("show", path).splitlines():
            stack, _, weight = line.rpartition(" ")
            found.append((stack.split(";")[1:], int(weight)))
        return found


def functions_of(report):
    return {row["name"]: row for row in report["events"][0]["functions"]}


def truth_of(text):
    return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])


@check
def the_doctor_finds_cycles_that_interrupt(said):
    text = said.find("doctor")
    findings = {finding["id"]: finding for finding in json.loads(text)["findings"]}
    require(findings["cycles"]["state"] == "works", findings["cycles"])


@check
def cycles_are_what_is_sampled_when_nobody_says(said):
    quality = said.report("/default.data")["quality"]
    require(quality["event"] == "cycles" and not quality["why_event"], quality)
    require(quality["source"] == "kernel" and quality["frequency_hz"] == 997, quality)
    require(quality["scope"] == "cgroup" and quality["weight_is_ns"] is False, quality)
    require(0.97 < quality["coverage"] < 1.03, "coverage", quality["coverage"])
    require(quality["lost"] == 0, "lost", quality["lost"])


@check
def shares_of_a_program_of_80_to_20(said):
    truth = truth_of(said.record("/shares.data"))
    functions = functions_of(said.report("/shares.data"))
    samples = said.report("/shares.data")["quality"]["samples"]
    share = truth["burn_a"] / (truth["burn_a"] + truth["burn_b"])
    sigma = (share * (1 - share) / samples) ** 0.5
    measured = functions["burn_a"]["self_pct"] / 100
    require(samples > 3000, samples, "samples")
    require(abs(measured - share) < max(4 * sigma, 0.01), measured, share)
    require(abs(measured - 0.8) < 0.03, measured)
    require(functions["main"]["total_pct"] > 97, functions["main"])
    print("# burn_a: %.2f %% of %d samples, %.2f %% of the program's own clock"
          % (100 * measured, samples, 100 * share))


@check
def samples_times_period_are_the_count(said):
    """What is left of a period when the thread ends is in no sample; nothing else is."""
    for path, period in (("/shares.data", PERIOD_SHARES), ("/signed.data", PERIOD_CHAINS),
                         ("/dynamic.data", PERIOD_CHAINS), ("/musl.data", PERIOD_CHAINS)):
        quality = said.report(path)["quality"]
        sampled = quality["samples"] * period
        print("# %s: %d samples of %d cycles, %d counted" % (path, quality["samples"], period,
                                                            quality["event_count"]))
        require(quality["period_sum"] == sampled, quality["period_sum"], sampled)
        require(quality["lost"] == 0 and quality["throttled"] == 0, quality)
        require(0.99 * quality["event_count"] < sampled <= quality["event_count"] + period,
                sampled, quality["event_count"])


@check
def return_addresses_are_signed_here(said):
    said_so = re.search(r"paciasp changed (\d+) of 64 addresses from (\S+) on, the last to (\S+)",
                        said.record("/signed.data"))
    require(said_so and int(said_so.group(1)) > 16, said_so)
    print("# " + said_so.group(0))


def check_complete(said, path):
    quality = said.report(path)["quality"]
    require(quality["samples"] > 1000, quality["samples"])
    require(quality["complete_share"] >= 0.99, quality["complete_share"], quality["stacks"])
    unnamed = sum(module["unnamed"] for module in quality["modules"]
                  if "stripped" not in module["why"])
    require(unnamed <= 0.001 * quality["user_frames"], unnamed, quality["user_frames"],
            quality["modules"])
    print("# %s: %.2f %% of %d stacks complete, %d of %d frames unnamed that could have a name"
          % (path, 100 * quality["complete_share"], quality["samples"], unnamed,
             quality["user_frames"]))


@check
def stacks_of_signed_code_are_complete(said):
    check_complete(said, "/signed.data")


@check
def stacks_of_a_dynamic_program_are_complete(said):
    check_complete(said, "/dynamic.data")


def frame_pattern(name):
    if name == "*":
        return "[^;]+(;[^;]+)*"
    stripped = r"|\[libc\.so\.6(\+0x[0-9a-f]+)?\]" if name in LOCAL else ""
    return r"(%s(\.[a-z0-9.]+)?%s)" % (re.escape(name), stripped)  # .part.0, .constprop.0


def fits(frames, wanted):
    return re.fullmatch(";".join(map(frame_pattern, wanted)), ";".join(frames)) is not None


def check_chains(said, path, libc):
    stacks = said.stacks(path)
    for leaf, callers in chains_of(libc).items():
        mine = [(frames[:-1], weight) for frames, weight in stacks if frames and frames[-1] == leaf]
        total = sum(weight for _, weight in mine)
        right = sum(weight for frames, weight in mine if fits(frames, callers))
        wrong = [";".join(frames) for frames, _ in mine if not fits(frames, callers)]
        require(total > 50, leaf, "has", total, "samples")
        require(right >= 0.99 * total, leaf, right, "of", total, "right, but", wrong[:3])


@check
def chains_of_signed_code(said):
    check_chains(said, "/signed.folded", GLIBC)


@check
def chains_of_a_dynamic_program(said):
    check_chains(said, "/dynamic.folded", GLIBC)


@check
def stacks_through_a_c_library_without_unwind_information(said):
    check_complete(said, "/musl.data")
    check_chains(said, "/musl.folded", MUSL)


@check
def the_vdso_has_no_unwind_information(said):
    """Its functions keep the return address in x30."""
    for path, libc in (("/signed.folded", GLIBC), ("/dynamic.folded", GLIBC),
                       ("/musl.folded", MUSL)):
        inside = [(frames, weight) for frames, weight in said.stacks(path)
                  if frames and frames[-1] == "__kernel_clock_gettime"]
        right = [(frames, weight) for frames, weight in inside
                 if fits(frames[:-2], libc["main"] + ["part_vdso"]) and "clock_gettime" in frames[-2]]
        require(sum(weight for _, weight in inside) > 10, path, inside)
        require(len(right) == len(inside), path, [f for f in inside if f not in right][:3])


@check
def stubs_of_the_procedure_linkage_table(said):
    stubs = [(frames, weight) for frames, weight in said.stacks("/dynamic.folded")
             if frames and frames[-1].endswith("@plt")]
    require(sum(weight for _, weight in stubs) > 5, stubs)
    for frames, _ in stubs:
        require(fits(frames[:-1], GLIBC["main"] + ["*"]), frames)


@check
def kernel_functions_have_names(said):
    functions = functions_of(said.report("/default.data"))
    for name in ("__arm64_sys_read", "vfs_read", "el0t_64_sync"):
        require(name in functions and functions[name]["kernel"], name, sorted(functions)[:200])
    require(functions["part_kernel"]["total"] >= functions["__arm64_sys_read"]["total"],
            functions["part_kernel"], functions["__arm64_sys_read"])


@check
def the_whole_machine(said):
    """Its PMU refuses exclude_idle."""
    report = said.report("/all.data")
    functions = functions_of(report)
    require(report["quality"]["scope"] == "system", report["quality"]["scope"])
    require(functions["burn_a"]["self"] > 2 * functions["burn_b"]["self"] > 0,
            functions["burn_a"], functions["burn_b"])


@check
def an_event_by_its_name_in_sysfs(said):
    report = said.report("/named.data")
    quality = report["quality"]
    require("armv8_pmuv3/cpu_cycles/" in report["events"][0]["event"], report["events"][0]["event"])
    require(quality["samples"] > 100, quality["samples"])
    require(quality["period_sum"] > 0.97 * quality["event_count"], quality)
    require(functions_of(report)["burn_a"]["self_pct"] > 70, functions_of(report))


@check
def the_recording_travels_to_another_architecture(said):
    """What was recorded there and is opened here has the same functions and weights."""
    if not os.path.exists(WICK):
        return "%s is not built" % WICK
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "perf.data")
        with open(path, "wb") as file:
            file.write(said.file("/shares.data"))
        done = subprocess.run([WICK, "report", "-i", path, "--format", "json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder)
    require(done.returncode == 0, done.stderr.decode())
    here, there = json.loads(done.stdout), said.report("/shares.data")
    for key in ("samples", "period_sum", "event_count", "complete_share"):
        require(here["quality"][key] == there["quality"][key], key, here["quality"][key])
    require(here["quality"]["stacks"]["root"] == there["quality"]["stacks"]["root"],
            here["quality"]["stacks"])
    rows = [{name: row["self"] for name, row in functions_of(report).items()}
            for report in (here, there)]
    require(rows[0] == rows[1], rows)
    return None


def main():
    texts = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
    said = Said("".join(texts))
    counts = {"ok": 0, "not ok": 0}
    for line in said.text.splitlines():
        suite = re.match(r"(ok|not ok) - ", line)
        if suite:
            counts[suite.group(1)] += "# SKIP" not in line
            print(line)
        elif line.startswith("# "):
            print(line)
    for function in checks:
        name, skipped = "wick: " + function.__name__.replace("_", " "), None
        try:
            skipped = function(said)
            verdict = "ok"
        except (AssertionError, KeyError, ValueError, AttributeError, IndexError) as why:
            print("# %s: %s" % (type(why).__name__, str(why)[:3000]))
            verdict = "not ok"
        counts[verdict] += not skipped
        print("%s - %s%s" % (verdict, name, " # SKIP " + skipped if skipped else ""))
    for path, text in zip(sys.argv[1:], texts):
        if "== switched off" not in text:
            print("# " + text[-2000:].replace("\n", "\n# "))
            print("not ok - the machine of %s came to its end" % os.path.basename(path))
            counts["not ok"] += 1
    print("armv8_pmuv3: %d passed, %d failed" % (counts["ok"], counts["not ok"]))
    return 1 if counts["not ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
