#!/usr/bin/env python3
"""The unwinder against programs whose call chains are known: every function work_X is reached on
one way only (programs/). Each sample inside one must show exactly that way down to the first
function, and end there.

    test_truth.py UNWIND_SAMPLES [NAME...]      names: a part of a build's name

Goal: at least 99 % complete, at most 0.1 % wrong, each build. Builds whose compiler is missing are
skipped, aloud.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
ENOUGH = 400  # samples

# Leaf first. "?name": may be missing (a tail call); "*": frames outside of the program.
MAIN = ["main", "*"]
STACKS = {
    "work_plain": ["plain_3", "plain_2", "plain_1"] + MAIN,
    "work_alloca": ["alloca_mid"] + MAIN,
    "work_aligned": ["aligned_mid", "aligned_args"] + MAIN,
    "work_tail": ["?tail_mid", "tail_top"] + MAIN,
    "work_compare": ["*", "qsort_top"] + MAIN,
    "work_handler": ["on_signal", "*", "signal_top"] + MAIN,
    "work_on_fault": ["on_fault", "*", "fault_here", "fault_top"] + MAIN,
    "work_altstack": ["on_altstack", "*", "altstack_top"] + MAIN,
    "work_deep": ["deep"] * 3000 + ["deep_top"] + MAIN,
    "work_coro": ["coro_body", "*"],
    "work_thread": ["thread_body", "*"],
    "work_from_plugin": ["plugin_inner", "plugin_call", "plugin_top"] + MAIN,
}
THROWING = {
    "work_throw": ["throw_mid", "throw_top"] + MAIN,
    "work_lambda": ["lambda_top"] + MAIN,
    "work_containers": ["containers_top"] + MAIN,
}
RUST = {
    "work_plain": ["plain_mid", "plain_top"] + MAIN + MAIN,
    "work_sort": ["sort_top"] + MAIN + MAIN,
    "work_closure": ["*", "closure_top"] + MAIN + MAIN,
    "work_thread": ["thread_body", "*"],
    "work_panic": ["panic_mid", "*", "panic_top"] + MAIN + MAIN,
}
GO = {
    "main.workPlain": ["main.plainMid", "main.plainTop", "main.main", "*"],
    "main.workSort": ["*", "main.sortTop", "main.main", "*"],
    "main.workDeep": ["main.deep"] * 1000 + ["main.deepTop", "main.main", "*"],
    "main.workGoroutine": ["main.goroutine", "*"],
    "main.workMap": ["main.mapTop", "main.main", "*"],
    "main.workTime": ["main.timeTop", "main.main", "*"],
    "main.workAlloc": ["main.allocTop", "main.main", "*"],
}


# The runtime's stacks beside it: every sample counts, by where it ends.
GO_SWITCHING = {
    "main.workList": ["main.listBody", "*"],
    "main.workGrown": ["main.grow"] * 40 + ["main.growBody", "*"],
}
GO_ROOTS = ("runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.mcall")
GO_SWITCHES = ("runtime.systemstack", "runtime.morestack", "runtime.gogo", "gogo", "runtime.mcall",
               "time.now", "runtime.nanotime1", "runtime.walltime")
SWITCHED = 11  # enum stack_stop


class Sample:
    def __init__(self, stop, late):
        self.stop, self.late, self.frames = stop, late, []


def parse(text):
    samples, sample = [], None
    for line in text.splitlines():
        if line.startswith("sample "):
            words = line.split(" ", 5)
            sample = Sample(int(words[3]), words[4] == "late")
            samples.append(sample)
        elif line.startswith("\t* "):
            sample.frames += [sample.frames[-1]] * int(line[3:])
        elif line.startswith("\t"):
            addr, how, name, module = line[1:].split(" ", 3)
            sample.frames.append((name, module, how, addr))
    return samples


def matches(names, chain, cut=False):
    """names: the frames of the program itself, by name, others as None. `cut`: they may end early."""
    at = 0
    for want in chain:
        if cut and at == len(names):
            return True
        if want == "*":
            while at < len(names) and names[at] is None:
                at += 1
        elif want.startswith("?"):
            if at < len(names) and names[at] == want[1:]:
                at += 1
        elif at < len(names) and names[at] == want:
            at += 1
        else:
            return False
    return at == len(names)


def plain_name(name):
    """Without what compilers add: .cold, .isra.0, .constprop.0, Rust's and C++'s mangling."""
    name = re.sub(r"\.(cold|isra|constprop|part|llvm)(\.\d+)*", "", name)
    return name


def known_name(name, known):
    name = plain_name(name)
    if name in known:
        return name
    rust = re.match(r"_ZN.*\D\d+(\w+)17h[0-9a-f]{16}E$", name)
    if rust:
        return next((k for k in known if rust.group(1) == k or rust.group(1).endswith("%d%s" % (len(k), k))), None)
    return None


IN_EH_RETURN = "(registers of the landing pad)"


def in_eh_return(sample):
    """libgcc puts the registers of the landing pad where it saved its caller's, and returns. In
    between the frames of its callers cannot be told from their saved registers."""
    return sample.frames[0][1].endswith(("libgcc_s.so.1", "program")) and any(
        frame[0].startswith(("_Unwind_RaiseException", "_Unwind_Resume")) for frame in sample.frames[:4])


def judge(samples, chains):
    """(found, complete, wrong, by work function, examples)"""
    known = set(chains)
    cache = {}
    for chain in chains.values():
        known.update(name.lstrip("?") for name in chain if name != "*")
    found = collections.Counter()
    complete = collections.Counter()
    wrong = collections.Counter()
    examples = []
    for sample in samples:
        names = []
        for frame in sample.frames:
            if frame[0] not in cache:
                cache[frame[0]] = known_name(frame[0], known)
            names.append(cache[frame[0]])
        start = next((i for i, name in enumerate(names) if name in chains), None)
        if start is None:
            continue
        work = names[start]
        found[work] += 1
        if sample.stop == 0:
            complete[work] += 1
        if any(name is not None for name in names[:start]):
            good = False
        else:
            good = matches(names[start + 1:], chains[work], cut=sample.stop != 0)
        if not good and work == "work_throw" and in_eh_return(sample):
            found[IN_EH_RETURN] += 1
        elif not good:
            wrong[work] += 1
            if len(examples) < 3:
                examples.append(sample)
    return found, complete, wrong, examples


def go_name(name):
    return name[:-len(".abi0")] if name.endswith(".abi0") else name


def judge_switching(samples):
    """Every sample of a Go program, by its outermost frame: (complete, late, on system stacks, others,
    examples). A stack is wrong that calls itself complete and ends elsewhere: among the others."""
    complete = late = switched = 0
    others = []
    for sample in samples:
        outermost = go_name(sample.frames[-1][0])
        if sample.stop == 0 and outermost in GO_ROOTS:
            complete += 1
            late += sample.late
        elif sample.stop == SWITCHED and outermost in GO_SWITCHES:
            switched += 1
        else:
            others.append(sample)
    return complete, late, switched, others


def show_switching(samples):
    """Prints and says whether it is good."""
    complete, late, switched, others = judge_switching(samples)
    wrong = sum(sample.stop == 0 for sample in others)
    through = sum(any(go_name(frame[0]) in GO_SWITCHES[:2] for frame in sample.frames[:-1])
                  for sample in samples if sample.stop == 0)
    print("     all %d samples: %.2f %% end at a root (%d late, %d through a system stack), %.2f %% at that of "
          "a system stack, wrong %d" % (len(samples), 100.0 * complete / len(samples), late, through,
                                        100.0 * switched / len(samples), wrong))
    good = complete + switched >= 0.99 * len(samples) and wrong <= 0.001 * len(samples)
    for sample in [] if good else others[:3]:
        show(sample)
    return good and complete and switched


def show(sample):
    print("    stop", sample.stop)
    last, again = None, 0
    for frame in sample.frames:
        if frame[0] == last:
            again += 1
            continue
        if again:
            print("      ... %d more" % again)
        again, last = 0, frame[0]
        print("      %s %s %s %s" % (frame[3], frame[2], frame[0], os.path.basename(frame[1])))


class Build:
    def __init__(self, name, compiler, source, chains, *flags, plugin=False, without=(), live=True):
        self.name, self.compiler, self.source, self.chains = name, compiler, source, chains
        self.flags, self.plugin, self.without, self.live = flags, plugin, without, live


def go_cache(folder):
    """One cache of Go's compiler for all builds: it compiles its library once."""
    return os.path.join(os.path.dirname(folder), "gocache")


def builds():
    result = []
    for compiler in ("gcc", "clang"):
        for level in ("-O0", "-O1", "-O2", "-O3"):
            result.append(Build("%s %s" % (compiler, level), compiler, "stacks.c", STACKS, level,
                                "-fomit-frame-pointer", plugin=True))
        for level in ("-O0", "-O2"):
            result.append(Build("%s++ %s" % (compiler, level), {"gcc": "g++", "clang": "clang++"}[compiler],
                                "throwing.cc", THROWING, level))
    result += [
        Build("gcc fp", "gcc", "stacks.c", STACKS, "-O2", "-fno-omit-frame-pointer", plugin=True),
        Build("gcc no-pie", "gcc", "stacks.c", STACKS, "-O2", "-no-pie", "-fno-pie", plugin=True),
        Build("gcc static", "gcc", "stacks.c", STACKS, "-O2", "-static", "-DNO_DLOPEN",
              without=("work_from_plugin",)),
        Build("gcc static-pie", "gcc", "stacks.c", STACKS, "-O2", "-static-pie", "-fpie", "-DNO_DLOPEN",
              without=("work_from_plugin",)),
        Build("gcc realign", "gcc", "stacks.c", STACKS, "-O2", "-mstackrealign", "-mavx", plugin=True),
        Build("gcc debug_frame", "gcc", "stacks.c", STACKS, "-O2", "-g", "-gz", "-static",
              "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-DNO_DLOPEN",
              without=("work_from_plugin",)),
        Build("gcc lazy plt", "gcc", "stacks.c", STACKS, "-O2", "-Wl,-z,lazy", plugin=True),
        Build("gcc no hdr", "gcc", "stacks.c", STACKS, "-O2", "-Wl,--no-eh-frame-hdr", plugin=True),
        Build("g++ static", "g++", "throwing.cc", THROWING, "-O2", "-static"),
        Build("musl", "musl-gcc", "stacks.c", STACKS, "-O2", "-DNO_UCONTEXT", plugin=True,
              without=("work_coro",)),
        Build("musl static", "musl-gcc", "stacks.c", STACKS, "-O2", "-static", "-DNO_UCONTEXT", "-DNO_DLOPEN",
              without=("work_coro", "work_from_plugin")),
        Build("rust", "rustc", "stacks.rs", RUST, "-O"),
        Build("rust debug", "rustc", "stacks.rs", RUST),
        Build("go", "go", "stacks.go", GO),
        Build("go stripped", "go", "stacks.go", GO, "-ldflags=-s -w"),
        Build("go pie", "go", "stacks.go", GO, "-buildmode=pie"),
        Build("go switching", "go", "switching.go", GO_SWITCHING),
        Build("go switching stripped", "go", "switching.go", GO_SWITCHING, "-ldflags=-s -w"),
    ]
    return result


def compile_it(build, folder):
    source = os.path.join(HERE, "programs", build.source)
    program = os.path.join(folder, "program")
    env = dict(os.environ, GOCACHE=go_cache(folder), GOFLAGS="-mod=mod", GO111MODULE="off")
    if build.compiler == "go":
        command = ["go", "build", "-o", program, *build.flags, source]
    elif build.compiler == "rustc":
        command = ["rustc", *build.flags, "-o", program, source]
    else:
        command = [build.compiler, *build.flags, "-w", "-o", program, source, "-lpthread"]
        if build.plugin:
            command += ["-ldl"]
            subprocess.run([build.compiler, *[f for f in build.flags if f not in ("-no-pie", "-fno-pie")],
                            "-shared", "-fPIC", "-w", "-o", program + ".so",
                            os.path.join(HERE, "programs", "plugin.c")], check=True)
    subprocess.run(command, check=True, env=env, cwd=folder)
    return program


def sample(tool, build, program, spend):
    done = subprocess.run([tool, "-F", "1499", "-n", "20000", "-s", "16384"] + ["-l"] * build.live +
                          ["--", program, str(spend)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == SKIPPED:
        print(done.stderr.decode().strip())
        sys.exit(SKIPPED)
    text = done.stdout.decode(errors="replace")
    return parse(text), text


def run(tool, build, folder):
    try:
        program = compile_it(build, folder)
    except (subprocess.CalledProcessError, OSError) as problem:
        print("skip %s: cannot be built here (%s)" % (build.name, problem))
        return None
    names = program
    if "-ldflags=-s -w" in build.flags:  # names from the same code that was not stripped
        os.rename(program, program + ".stripped")
        names = compile_it(Build("", "go", build.source, None), folder)
        os.rename(program, program + ".names")
        os.rename(program + ".stripped", program)
    os.environ["RUST_BACKTRACE"] = "0"
    spend = 500 if build.chains is GO_SWITCHING else 200 if build.compiler in ("rustc", "go") else 60
    samples, text = sample(tool, build, program, spend)
    if len(samples) < ENOUGH:  # a machine that has much else to do
        samples, text = sample(tool, build, program, 5 * spend)
    if names != program or os.path.exists(program + ".names"):
        rename(samples, program)
    return samples, text


def rename(samples, program):
    """Names for a stripped program out of its twin."""
    table = []
    for line in subprocess.run(["nm", "-n", program + ".names"], stdout=subprocess.PIPE).stdout.decode().splitlines():
        words = line.split(" ", 2)
        if len(words) == 3 and words[1] in "tT":
            table.append((int(words[0], 16), words[2]))
    import bisect
    keys = [addr for addr, _ in table]
    for sample in samples:
        for i, (name, module, how, addr) in enumerate(sample.frames):
            if module != program:
                continue
            at = bisect.bisect_right(keys, int(addr, 16) - ("!" not in how)) - 1
            if at >= 0:
                sample.frames[i] = (table[at][1], module, how, addr)


def main():
    with tempfile.TemporaryDirectory(prefix="wick-unwind-") as root:
        return test(os.path.abspath(sys.argv[1]), sys.argv[2:], root)


def test(tool, only, root):
    failed = 0
    for build in builds():
        if only and not any(word in build.name for word in only):
            continue
        if not shutil.which(build.compiler):
            print("skip %s: no %s" % (build.name, build.compiler))
            continue
        folder = os.path.join(root, "build")
        os.mkdir(folder)
        result = run(tool, build, folder)
        shutil.rmtree(folder)
        if result is None:
            continue
        samples, text = result
        found, complete, wrong, examples = judge(samples, build.chains)
        installing = found.pop(IN_EH_RETURN, 0)
        total, full, bad = sum(found.values()), sum(complete.values()), sum(wrong.values())
        late = sum(sample.late for sample in samples)
        missing = [w for w in build.chains if not found[w] and w not in build.without]
        switching = build.chains is not GO_SWITCHING or show_switching(samples)
        good = switching and total >= (100 if build.chains is GO_SWITCHING else 200) and full >= 0.99 * total and bad <= 0.001 * total and not missing and installing <= 0.05 * found["work_throw"]
        print("%-4s %-18s %5d of %5d samples in known chains, complete %6.2f %%, wrong %d, late %d" %
              ("ok" if good else "BAD", build.name, total, len(samples), 100.0 * full / max(total, 1), bad, late))
        for work in build.chains:
            if found[work] and (complete[work] < 0.99 * found[work] or wrong[work]):
                print("     %s: %d samples, %d complete, %d wrong" % (work, found[work], complete[work], wrong[work]))
        if installing:
            print("     %d samples in libgcc while it returned to a landing pad" % installing)
        if missing:
            print("     never seen:", ", ".join(missing))
        if not good:
            failed += 1
            for sample in examples:
                show(sample)
            if not examples:
                for sample in [s for s in samples if s.stop != 0][:2]:
                    show(sample)
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
