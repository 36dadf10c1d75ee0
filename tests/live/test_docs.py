"""Man pages and completions: made from the tables of --help, so each option is in each of them."""
import os
import re
import shutil

from wicktest import WICK, Skip, check, main, test

PAGES = os.path.join(os.path.dirname(WICK), "docs")


def page(name):
    path = os.path.join(PAGES, name)
    if not os.path.isdir(PAGES):
        raise Skip("this build has no man pages")
    with open(path) as file:
        return file.read()


def commands(box):
    text = box.wick("--help").ok().out
    names = re.findall(r"^  (\w[\w-]*)  +\S", text.split("commands:")[1], re.MULTILINE)
    check({"record", "report", "doctor", "list"} <= set(names), names)
    return names


def options(box, command):
    """[(letter or "", name)] of a command's --help."""
    text = box.wick(command, "--help").ok().out
    found = re.findall(r"^  (?:-(\w), |    )--([\w-]+)", text, re.MULTILINE)
    check(found, text)
    return found


@test
def every_option_is_in_the_man_page(box):
    for command in commands(box):
        text = page("wick-%s.1" % command).replace("\\-", "-").replace("\\fB", "")
        for letter, name in options(box, command):
            entry = ("-%s\\fR, --%s\\fR" % (letter, name)) if letter else "--%s\\fR" % name
            check("\n.TP\n" + entry in text, command, entry)


@test
def every_command_is_in_the_overview(box):
    text = page("wick.1")
    for command in commands(box):
        check("wick\\-%s" % command in text, command)


@test
def every_option_is_in_every_completion(box):
    bash, zsh, fish = page("wick"), page("_wick"), page("wick.fish")
    for command in commands(box):
        part = bash.split("\n\t%s)\n" % command)[1].split("\n\t\toperand=")[0]
        words = re.search(r'options="([^"]*)"', part).group(1).split()
        zsh_part = zsh.split("\n\t%s)\n" % command)[1].split(" ;;\n")[0]
        for letter, name in options(box, command):
            check("--" + name in words and (not letter or "-" + letter in words), command, name)
            check(name == "help" or re.search(r"'\*--%s(=?)\[" % name, zsh_part), command, name)
            check(name == "help" or re.search(r"from %s'.* -l %s " % (command, name), fish),
                  command, name)


@test
def the_pages_are_sound_roff(box):
    pages = ["wick.1"] + ["wick-%s.1" % c for c in commands(box)]
    checked = False
    for name in pages:
        path = os.path.join(PAGES, name)
        page(name)
        if shutil.which("mandoc"):
            said = box.run("mandoc", "-T", "lint", "-W", "warning", path).out
            # No date: a build is to give the same bytes whenever it is made.
            lines = [x for x in said.split("\n") if x and "missing date" not in x]
            check(not lines, lines)
            checked = True
        if shutil.which("man"):
            done = box.run("man", "-l", "--warnings", path, env=dict(os.environ, MANWIDTH="80"))
            check(done.status == 0 and not done.err.strip(), done.err)
            check(not done.out or "NAME" in done.out, done.out[:200])
            checked = True
    if not checked:
        raise Skip("neither mandoc nor man is installed")


@test
def the_shells_take_the_completions(box):
    page("wick")
    check(box.run("bash", "-n", os.path.join(PAGES, "wick")).ok().err == "")
    for shell, name in (("zsh", "_wick"), ("fish", "wick.fish")):
        if shutil.which(shell):
            box.run(shell, "-n", os.path.join(PAGES, name)).ok()


def complete(box, *words):
    """What bash's completion function offers for the last word."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); '
              '"$(complete -p wick | sed "s/.*-F \\([^ ]*\\) .*/\\1/")"; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    page("wick")
    path = os.path.dirname(WICK) + ":" + os.environ["PATH"]
    done = box.run("bash", "--norc", "-c", script, "bash", os.path.join(PAGES, "wick"), "wick",
                   *words, env=dict(os.environ, PATH=path))
    check(done.err == "", done.err)
    return done.out.split("\n")[:-1]


@test
def bash_completes(box):
    box.write("some.data", "")
    check(complete(box, "rec") == ["record"])
    check(complete(box, "record", "--fr") == ["--freq"])
    check(complete(box, "doctor", "--") == ["--format", "--help"])
    check(set(commands(box)) < set(complete(box, "")))
    check(complete(box, "report", "some") == ["some.data"])
    check(complete(box, "report", "-i", "some") == ["some.data"])
    check(complete(box, "report", "--input", "=", "some") == ["some.data"])
    check(str(os.getpid()) in complete(box, "record", "-p", ""))
    check("true" in complete(box, "record", "tru"))
    check(complete(box, "record", "--", "--fr") in ([], [""]), "an option of the command's")
    check(complete(box, "record", "-F", "") in ([], [""]), "a number is not guessed")
    if "cpu-clock" in box.wick("list", "--format", "names").out:
        check("cpu-clock" in complete(box, "record", "-e", "cpu-cl"))


@test
def fish_completes(box):
    if not shutil.which("fish"):
        raise Skip("fish is not installed")
    page("wick.fish")

    def ask(text):
        done = box.run("fish", "--no-config", "-c", "source %s; complete -C '%s'" %
                       (os.path.join(PAGES, "wick.fish"), text))
        return [line.split("\t")[0] for line in done.out.split("\n") if line]

    check(ask("wick rec") == ["record"], ask("wick rec"))
    check(ask("wick record --fr") == ["--freq"], ask("wick record --fr"))


if __name__ == "__main__":
    main()
