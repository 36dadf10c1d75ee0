"""wick list: every name that it shows is one that `wick record -e` takes."""
import json
import os
import re
import shutil

from wicktest import WICK, Skip, as_user, check, is_root, main, need_paranoid, test

STATES = ("works", "user-only", "untried", "refused", "counts-only", "unsupported")


def listing(box, *words):
    whole = json.loads(box.wick("list", "--format", "json", *words).ok().out)
    check(whole["schema"] == "wick-list-1", whole)
    for event in whole["events"]:
        check(event["state"] in STATES, event)
    return whole


def records(box, name):
    """Does a recording by this event begin?"""
    done = box.wick("record", "-o", "one.data", "-e", name, "--", "true")
    check(done.status in (0, 1, 3), name, done.status, done.err)
    return os.path.exists(box.path("one.data")) and done.status != 1


@test
def every_name_that_works_is_recorded(box):
    names = box.wick("list", "--format", "names").ok().out.split()
    if "cpu-clock" not in names:
        raise Skip("no perf events here")
    for name in [n for n in names if ":" not in n]:
        check(records(box, name), name)


@test
def what_is_hidden_is_refused(box):
    hidden = [e["name"] for e in listing(box, "--all")["events"]
              if e["state"] in ("unsupported", "refused", "counts-only")]
    if not hidden:
        raise Skip("this machine has every event")
    for name in hidden[::5]:
        done = box.wick("record", "-e", name, "--", "true")
        check(done.status == 1 and name in done.err, name, done.status, done.err)


@test
def text_and_json_show_the_same(box):
    shown = listing(box)
    text = box.wick("list").ok().out
    for event in shown["events"]:
        check(re.search(r"^  %s\b" % re.escape(event["name"]), text, re.MULTILINE),
              event["name"], text)
    check(("%d not shown" % shown["hidden"] in text) == (shown["hidden"] > 0), text)
    check(not any(len(line) > 80 for line in box.wick("list", "--all").out.split("\n")))


@test
def the_fields_of_pmus_are_those_of_sysfs(box):
    fields = {(f["pmu"], f["field"]): f["bits"] for f in listing(box)["fields"]}
    root = "/sys/bus/event_source/devices"
    truth = {}
    for pmu in os.listdir(root) if os.path.isdir(root) else []:
        folder = os.path.join(root, pmu, "format")
        for field in os.listdir(folder) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, field)) as file:
                truth[pmu, field] = file.read().strip()
    check(fields == truth, fields, truth)


@test
def patterns(box):
    def names(*words):
        return {e["name"] for e in listing(box, "--all", *words)["events"]}

    check(names("L1-dcache-load*") == {"L1-dcache-loads", "L1-dcache-load-misses"})
    check("page-faults" in names("FAULTS") and "cpu-clock" not in names("faults"))
    check("context-switches" in names("cs"), "an alias is a name, too")
    check(not names("cpu"[::-1] * 5))
    done = box.wick("list", "no-such-event")
    check(done.status == 1 and "no-such-event" in done.err, done.status, done.err)
    check(box.wick("list", "a", "b").status == 2)


@test
def tracepoints_where_tracefs_is(box):
    if not (is_root() and shutil.which("unshare")):
        raise Skip("needs root to mount tracefs")
    script = ("mount -t tracefs none /sys/kernel/tracing || exit 77; W=$1; "
              "$W list >whole; $W list 'sched:sched_process_*' >some; "
              "$W list --format names 'sched:sched_process_*' >names; "
              "for n in $(cat names); do $W record -o t.data -e $n -- true || echo bad $n; done")
    done = box.run("unshare", "-m", "sh", "-c", script, "sh", WICK)
    if done.status == 77:
        raise Skip("no tracefs here")

    def read(name):
        with open(box.path(name)) as file:
            return file.read()

    check("bad" not in done.out, done.out, done.err)
    check(re.search(r"^  sched +\d+$", read("whole"), re.MULTILINE), read("whole"))
    check("sched:" not in read("whole").replace("SUBSYSTEM:", ""), "thousands of lines")
    check("  sched:sched_process_fork" in read("some"), read("some"))
    check("sched:sched_process_exec\n" in read("names"), read("names"))


@test
def an_ordinary_user_sees_what_is_left(box):
    need_paranoid(2, 2)
    prefix, wick = as_user(box)
    done = box.run(*prefix, wick, "list").check_sane().ok()
    check(re.search(r"^  cpu-clock +user code only", done.out, re.MULTILINE), done.out)


@test
def under_a_seccomp_filter_all_is_refused(box):
    done = box.run(box.build("refuse.c"), "1", WICK, "list", "--format", "json").check_sane()
    if done.status == 77:
        raise Skip("no seccomp filters here")
    events = json.loads(done.out)["events"]
    check(events and all(e["state"] == "refused" for e in events), events[:3])


if __name__ == "__main__":
    main()
