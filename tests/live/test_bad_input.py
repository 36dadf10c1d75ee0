"""Files and names that are wrong, closed pipes, narrow terminals: an error or a sane picture.

Runs with the sanitizers, too.
"""
import fcntl
import os
import pty
import random
import struct
import subprocess
import termios

from wicktest import WICK, Skip, check, count, is_root, main, test

BUILDS = ("build", "build-asan")
COMMANDS = (("report",), ("script",), ("report", "--format", "json"), ("report", "--tree"))


def read_all(box, path, whole=False):
    """Every reader opens `path`; returns their exit statuses."""
    statuses = []
    for words in COMMANDS if whole else COMMANDS[:2]:
        done = box.wick(*words, "-i", path, timeout=60)
        check(done.status in (0, 1, 2), words, done.status)
        check(done.status == 0 or done.err.strip(), "failed without a word:", words)
        statuses.append(done.status)
    return statuses


def recording(box, seconds="0.2"):
    box.record("-F", "2000", "--compression", "none", "--", box.build("shares.c"), seconds, "50")
    return open(box.path("perf.data"), "rb").read()


@test
def files_that_are_no_perf_data(box):
    cases = {"empty": b"", "short": b"PERF", "text": b"hello world\n" * 100,
             "zeros": bytes(4096), "magic": b"PERFILE2", "elf": open("/bin/sh", "rb").read(),
             "noise": random.Random(1).randbytes(10000)}
    for name, content in cases.items():
        path = box.write(name, content)
        check(all(status != 0 for status in read_all(box, path, True)), name)


@test
def files_that_are_not_there(box):
    for path in ("missing.data", box.folder, "/proc/self/mem"):
        check(all(status != 0 for status in read_all(box, path)), path)
    done = box.wick("report")
    check(done.status != 0 and "perf.data" in done.err, done.err)


@test
def a_file_that_may_not_be_read(box):
    if is_root():
        raise Skip("root may read everything")
    path = box.write("secret", recording(box))
    os.chmod(path, 0)
    check(all(status != 0 for status in read_all(box, path)))


@test
def truncated_anywhere(box):
    data = recording(box)
    places = list(range(0, 160, 8)) + [random.Random(2).randrange(len(data)) for _ in range(40)]
    for size in places + [len(data) - n for n in (1, 7, 8, 9, 100, 500)]:
        path = box.write("cut", data[:size])
        read_all(box, path)


@test
def samples_before_a_cut_are_kept_and_the_cut_is_said(box):
    data = recording(box, "0.6")
    box.wick("script", "-i", box.write("whole", data)).ok()
    whole = len(box.script("whole"))
    offset, size = struct.unpack_from("<QQ", data, 40)
    box.write("cut", data[:offset + size * 3 // 4])
    kept = len(box.script("cut"))
    check(kept > whole // 3, kept, whole)
    report = box.wick("report", "-i", "cut").ok()
    said = (report.out + report.err).lower()
    check(any(word in said for word in ("truncated", "cut", "incomplete", "ends")), said)


@test
def a_recording_whose_size_was_never_written(box):
    """What a recorder leaves that was killed: the header says data.size 0."""
    data = bytearray(recording(box))
    offset, size = struct.unpack_from("<QQ", data, 40)
    struct.pack_into("<Q", data, 48, 0)
    box.write("killed", data[:offset + size])
    done = box.wick("script", "-i", "killed")
    check(done.status == 0 or done.err.strip())


@test
def sizes_of_records_that_lie(box):
    data = recording(box)
    offset, size = struct.unpack_from("<QQ", data, 40)
    chance = random.Random(3)
    starts = []
    at = offset
    while at < offset + size:
        starts.append(at)
        at += struct.unpack_from("<H", data, at + 6)[0]
    for start in [starts[0], starts[-1]] + chance.sample(starts, 4):
        for lie in (0, 1, 4, 7, 8, 9, 12, 0xffff):
            bad = bytearray(data)
            struct.pack_into("<H", bad, start + 6, lie)
            read_all(box, box.write("lie", bad))


@test
def attr_sizes(box):
    data = recording(box)
    attr_size, attrs_offset = struct.unpack_from("<QQ", data, 16)
    for lie in (0, 1, 63, 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 4096, 1 << 32, 1 << 63):
        bad = bytearray(data)
        struct.pack_into("<Q", bad, 16, lie)
        read_all(box, box.write("attrs", bad))
    for lie in (0, 1, 63, 64, 72, 112, 136, 144, 4096, 0xffffffff):
        bad = bytearray(data)
        struct.pack_into("<I", bad, attrs_offset + 4, lie)
        read_all(box, box.write("attr", bad))


@test
def bytes_that_flip(box):
    data = recording(box)
    chance = random.Random(4)
    for round_number in range(60):
        bad = bytearray(data)
        for _ in range(chance.choice((1, 4, 64))):
            # The header and the features are small: half of the flips go there.
            limit = chance.choice((104, 1024, len(bad), len(bad)))
            bad[chance.randrange(min(limit, len(bad)))] = chance.choice((0, 0xff, 0x7f, 0x80, 1))
        for words in (COMMANDS[round_number % 2],):
            done = box.wick(*words, "-i", box.write("flip", bad), timeout=60)
            check(done.status in (0, 1, 2), done.status)


def corpus():
    folder = os.path.join(os.environ.get("WICK_FIXTURES", ""), "google__perf_data_converter", "src",
                          "quipper", "corpus")
    if not os.path.isdir(folder):
        raise Skip("no fixtures at " + folder)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


@test
def files_that_broke_other_readers(box):
    for path in corpus():
        read_all(box, path)


@test
def a_closed_output_pipe(box):
    recording(box, "0.5")
    for words in COMMANDS:
        shell = "%s %s | head -n 1 >/dev/null; echo ${PIPESTATUS[0]}" % (WICK, " ".join(words))
        done = box.run("bash", "-c", shell).check_sane()
        check(done.out.strip() in ("0", "1", "141"), words, done.out)
        check("rror" not in done.err or "ipe" in done.err, done.err)


@test
def a_full_output(box):
    recording(box)
    for words in COMMANDS:
        with open("/dev/full", "wb") as full:
            done = box.wick(*words, stdout=full)
        check(done.status != 0, "output lost in silence:", words)
        check("space" in done.err.lower(), done.err)


def on_terminal(box, columns, *command):
    """What a command prints on a terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    env["TERM"] = "xterm-256color"
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower,
                               cwd=box.folder, env=env)
    os.close(follower)
    said = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        if not data:
            break
        said += data
    os.close(leader)
    check(process.wait(30) == 0, said[-500:])
    return said.decode("utf-8", "replace").replace("\r\n", "\n")


def plain(text):
    import re
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", text)


@test
def narrow_terminals(box):
    recording(box)
    for columns in (20, 1, 0, 80, 300, 65535):
        for words in (("report",), ("report", "--tree")):
            said = plain(on_terminal(box, columns, WICK, *words))
            table = [line for line in said.split("\n") if "burn_a" in line or "burn" in line]
            check(table or columns < 20, columns, said)
            if columns >= 20:
                longest = max(len(line) for line in said.split("\n"))
                check(longest <= columns, "a line of %d on %d columns" % (longest, columns), said)


@test
def colour_on_terminals_only(box):
    recording(box)
    check("\x1b[" in on_terminal(box, 100, WICK, "report"), "no colour on a terminal")
    check("\x1b" not in box.wick("report").out, "colour in a file")
    said = on_terminal(box, 100, "env", "NO_COLOR=1", WICK, "report")
    check("\x1b[" not in said, "NO_COLOR is not honoured", repr(said[:200]))


def hostile_program(box, name):
    """A program whose burning function has the bytes of `name` for a name."""
    marker = "Q" * len(name)
    path = box.build("hostile.c", '-DNAME="%s"' % marker, output="hostile-%d" % len(name))
    data = open(path, "rb").read()
    check(marker.encode() in data, "no name in the program")
    changed = box.write("changed", data.replace(marker.encode(), name))
    os.chmod(changed, 0o755)
    return changed


@test
def names_with_control_characters(box):
    name = b"\x1b[2Jx<b>&\"'\n\t\x7f\xff\xfe;a\\u202e"
    box.record("-F", "2000", "--", hostile_program(box, name), "300")
    for words in COMMANDS:
        done = box.wick(*words).ok()
        bad = [c for c in done.out if (ord(c) < 32 and c not in "\n\t") or ord(c) == 127]
        check(not bad, "control characters in the output:", words, repr(bad[:5]))
    check(len(box.script()) > 400)


@test
def names_of_10000_bytes(box):
    box.record("-F", "2000", "--", hostile_program(box, b"n" * 10000), "300")
    for columns in (80, 200):
        said = plain(on_terminal(box, columns, WICK, "report"))
        longest = max(len(line) for line in said.split("\n") if "%" in line)
        check(longest <= columns, "a line of %d on %d columns" % (longest, columns))
    check(count(box.script(), "n" * 10000) > 400, "the name is not whole in the script")


@test
def programs_in_folders_with_strange_names(box):
    folder = box.path("new\nline \x1b[31m<i>'\"&;(x)")
    os.mkdir(folder)
    program = os.path.join(folder, "burn it")
    os.link(box.build("shares.c"), program) if os.stat(folder).st_dev == os.stat(
        box.build("shares.c")).st_dev else box.run("cp", box.build("shares.c"), program)
    box.record("-F", "2000", "--", program, "0.3", "50")
    for words in COMMANDS:
        done = box.wick(*words).ok()
        check("\x1b" not in done.out, words)
    functions = box.wick("report").ok().out
    check("burn_a" in functions, functions)


@test
def a_deep_recursion(box):
    source = box.write("deep.c", """
        #include <stdint.h>
        static volatile uint64_t sink;
        __attribute__((noinline)) void down(int n)
        { if (n) down(n - 1); else for (uint64_t i = 0; i < 400000000; i++) sink = i; sink++; }
        int main(void) { down(3000); return 0; }""")
    program = box.build("deep.c", sources=[source], output="deep")
    box.record("-F", "500", "--", program, timeout=120)
    report = box.wick("report", "--tree").ok()
    check("down" in report.out)


@test
def words_that_wick_does_not_know(box):
    for words in (("frobnicate",), ("record", "--frobnicate", "true"), ("report", "--sort", "x"),
                  ("report", "--format", "x"), ("record",), ("report", "a", "b", "c"),
                  ("report", "--limit", "x"), ("report", "--time", "x"), ("export",),
                  ("export", "-o", "x.unknown"), ("record", "-o"), ("report", "--thread", "")):
        done = box.wick(*words)
        check(done.status != 0, words, done.status)
        check(done.err.strip(), words)


@test
def help_is_help(box):
    for words in ((), ("record",), ("report",), ("script",), ("export",)):
        done = box.wick(*words, "--help").ok()
        check("usage" in done.out.lower(), words, done.out)
        check(not done.err.strip(), done.err)
    check(box.wick("--version").ok().out.strip())


if __name__ == "__main__":
    main()
