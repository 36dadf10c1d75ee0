"""--debuginfod: what is missing is fetched from servers that answer well, badly or not at all."""
import http.server
import json
import os
import re
import select
import shutil
import socket
import threading
import time

from wicktest import Skip, check, main, test

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef PART
volatile unsigned long sink_%(name)s;
static inline __attribute__((always_inline)) void inlined_%(name)s(unsigned long i)
{ sink_%(name)s += i * i %% 7; }
static __attribute__((noinline)) void hidden_%(name)s(void)
{ for (unsigned long i = 0; i < 200000; i++) inlined_%(name)s(i); }
void work_%(name)s(double seconds)
{
    clock_t until = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < until) hidden_%(name)s();
}
#else
%(calls)s
#endif
"""


class Server:
    """Answers as `files` says: bytes, or a function of the request's handler; else with 404."""

    def __init__(self, files):
        self.files, self.asked, self.at_once, self.most = files, [], 0, 0
        self.lock, self.ending = threading.Lock(), threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                with outer.lock:
                    outer.asked.append(self.path)
                    outer.at_once += 1
                    outer.most = max(outer.most, outer.at_once)
                try:
                    outer.answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                finally:
                    with outer.lock:
                        outer.at_once -= 1

            def log_message(self, *unused):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = "http://127.0.0.1:%d/" % self.http.server_address[1]
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.ending.set()
        self.http.shutdown()
        self.http.server_close()

    def answer(self, handler):
        found = self.files.get(handler.path)
        if found is None:
            handler.send_error(404)
        elif callable(found):
            found(handler)
        else:
            send(handler, found)

    def hang(self, handler):
        self.ending.wait(60)


def send(handler, content, length=None):
    handler.send_response(200)
    handler.send_header("Content-Length", str(length or len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def send_without_length(handler, content):
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(content)


def tool(box, *command):
    if not shutil.which(command[0]):
        raise Skip(command[0] + " is not installed")
    return box.run(*command).ok()


def build_id(box, path):
    return re.search(r"Build ID: ([0-9a-f]+)", tool(box, "readelf", "-n", path).out).group(1)


def split(box, path):
    """Takes the debug information out of a program; returns its build id and the bytes."""
    tool(box, "objcopy", "--only-keep-debug", path, path + ".debug")
    tool(box, "strip", path)
    with open(path + ".debug", "rb") as file:
        content = file.read()
    os.unlink(path + ".debug")
    return build_id(box, path), content


class Recording:
    """Of a program whose libraries are stripped, the last one hot: perf.data, and debug files."""

    def __init__(self, box, *words, names=("cold", "hot")):
        self.ids, self.debug, self.paths = {}, {}, {}
        for name in names:
            source = box.write(name + ".c", PROGRAM % {"name": name, "calls": ""})
            path = self.paths[name] = box.path("lib%s.so" % name)
            tool(box, "gcc", "-O2", "-g", "-fPIC", "-shared", "-fno-omit-frame-pointer",
                 "-Wl,--build-id", "-DPART", source, "-o", path)
            self.ids[name], self.debug[name] = split(box, path)
        calls = "".join("work_%s(%s); " % (name, 0.5 if name == "hot" else 0.1) for name in names)
        calls = "void %s;\nint main(void) { %sreturn 0; }" % (
            ", ".join("work_%s(double)" % name for name in names), calls)
        source = box.write("main.c", PROGRAM % {"name": "main", "calls": calls})
        tool(box, "gcc", "-O2", source, "-o", box.path("prog"), "-L" + box.folder,
             *["-l" + name for name in names], "-Wl,-rpath," + box.folder)
        box.record("-F", "2000", *words, "--", box.path("prog"))

    def url(self, name, kind="debuginfo"):
        return "/buildid/%s/%s" % (self.ids[name], kind)

    def served(self):
        return {self.url(name): self.debug[name] for name in self.ids}


def environment(box, *servers, **more):
    return dict(os.environ, DEBUGINFOD_URLS=" ".join(servers),
                DEBUGINFOD_CACHE_PATH=box.path("cache"), **more)


def report(box, env, *words, ok=True):
    done = box.wick("report", "--format", "json", *words, env=env)
    return json.loads(done.ok().out) if ok else done


def said(box, env, *words):
    """What the report's quality block says of it."""
    lines = [line for line in box.wick("report", *words, env=env).ok().out.splitlines()
             if "debuginfod" in line or "fetched" in line]
    text = box.wick("report", "--format", "json", env=env).ok().out if not lines else ""
    return " ".join(lines) or text


def names(box, env):
    """The names that only debug files know, as script shows them."""
    return set(re.findall(r"\b(?:hidden|inlined)_\w+", box.wick("script", env=env).ok().out))


ALL = {"hidden_hot", "hidden_cold", "inlined_hot", "inlined_cold"}


def cached(box):
    return sorted(os.path.relpath(os.path.join(folder, name), box.path("cache"))
                  for folder, _, files in os.walk(box.path("cache")) for name in files)


def has(box, env, recording):
    """Names out of the cache alone: whoever is asked now fails."""
    return names(box, dict(env, DEBUGINFOD_URLS="http://127.0.0.1:1/"))


@test
def fetched_once_and_found_by_all(box):
    recording = Recording(box, "--no-embed")
    with Server(recording.served()) as server:
        env = environment(box, server.url)
        check(names(box, env) == set() and not server.asked, "off by default", server.asked)
        check("2 of" in said(box, env, "--debuginfod"), "fetched")
        for name in ("hot", "cold"):
            check(server.asked.count(recording.url(name)) == 1, server.asked)
            path = box.path("cache/%s/debuginfo" % recording.ids[name])
            check(open(path, "rb").read() == recording.debug[name], "in elfutils' place")
        check(not [path for path in cached(box) if not path.endswith("/debuginfo")], cached(box))
        before = len(server.asked)
        said(box, env, "--debuginfod")
        check(len(server.asked) == before, "asked again:", server.asked[before:])
    check(has(box, env, recording) == ALL)
    rows = [row for row in report(box, env, "--modules")["modules"]
            if row["module"] == recording.paths["hot"]]
    check(rows and rows[0]["lined"] > 0 and "cache/" in json.dumps(rows), rows)


@test
def found_where_elfutils_keeps_them(box):
    recording = Recording(box, "--no-embed")
    for variable, folder in (("XDG_CACHE_HOME", "xdg/debuginfod_client"),
                             ("HOME", "home/.cache/debuginfod_client"),
                             ("HOME", "old/.debuginfod_client_cache")):
        env = {key: value for key, value in os.environ.items()
               if key not in ("XDG_CACHE_HOME", "DEBUGINFOD_CACHE_PATH", "DEBUGINFOD_URLS")}
        env[variable] = box.path(folder.split("/")[0])
        place = box.path(folder + "/" + recording.ids["hot"])
        os.makedirs(place)
        with open(place + "/debuginfo", "wb") as file:
            file.write(recording.debug["hot"])
        check(names(box, env) == {"hidden_hot", "inlined_hot"}, folder)


@test
def the_hottest_first_and_several_at_once(box):
    # More than are fetched at once; the hottest one is the last that the recording speaks of.
    recording = Recording(box, "--no-embed",
                          names=["cold%d" % n for n in range(9)] + ["hot"])
    all_busy = threading.Barrier(8)

    def together(handler):
        try:
            all_busy.wait(30)  # an answer waits until eight have asked
        except threading.BrokenBarrierError:
            pass
        handler.send_error(404)

    with Server({url: together for url in recording.served()}) as server:
        said(box, environment(box, server.url), "--debuginfod")
        check(len(server.asked) >= 10 and server.most == 8, server.most, server.asked)
        check(recording.url("hot") in server.asked[:8], server.asked)


@test
def a_no_is_remembered_for_a_while(box):
    recording = Recording(box, "--no-embed")
    with Server({}) as server:
        env = environment(box, server.url)
        check("not known" in said(box, env, "--debuginfod"))
        first = len(server.asked)
        check(first >= 2, server.asked)
        check(names(box, env) == set(), "an empty file lends no names")
        check("not known" in said(box, env, "--debuginfod"))
        check(len(server.asked) == first, "asked again", server.asked)
        # Ten minutes later somebody may have it; a file that came takes the place of the no.
        for path in cached(box):
            old = time.time() - 700
            os.utime(box.path("cache/" + path), (old, old))
        server.files.update(recording.served())
        said(box, env, "--debuginfod")
    check(has(box, env, recording) == ALL)


@test
def what_is_not_the_file_is_refused(box):
    recording = Recording(box, "--no-embed")
    hot, cold = recording.debug["hot"], recording.debug["cold"]
    answers = {
        "another's": cold,
        "cut": hot[:len(hot) // 2],
        "cut in its tables": hot[:-100],
        "no ELF file": b"<html>log in first</html>",
        "empty": b"",
        "shorter than said": lambda handler: send(handler, hot[:3000], len(hot)),
        "cut, of no said length": lambda handler: send_without_length(handler, hot[:3000]),
        "an error": lambda handler: handler.send_error(500),
        "elsewhere": lambda handler: (handler.send_response(302), handler.send_header(
            "Location", "file://" + box.path("hot.c")), handler.end_headers()),
        "round and round": lambda handler: (handler.send_response(302), handler.send_header(
            "Location", handler.path), handler.end_headers()),
    }
    for what, answer in answers.items():
        with Server({recording.url("hot"): answer}) as server:
            env = environment(box, server.url)
            text = said(box, env, "--debuginfod")
            check("refused" in text or "failed" in text, what, text)
            check(names(box, env) == set(), what)
            # Nothing of it is left, not even that the servers do not have it.
            check(not [path for path in cached(box) if recording.ids["hot"] in path], what,
                  cached(box))


@test
def a_redirection_leads_to_http_only(box):
    recording = Recording(box, "--no-embed")
    with socket.create_server(("127.0.0.1", 0)) as other:
        there = "ftp://127.0.0.1:%d/file" % other.getsockname()[1]
        answer = lambda handler: (handler.send_response(302), handler.send_header(
            "Location", there), handler.end_headers())
        with Server({recording.url("hot"): answer}) as server:
            text = said(box, environment(box, server.url), "--debuginfod")
            check(recording.url("hot") in server.asked and "failed" in text, text)
        check(not select.select([other], [], [], 0)[0], "somebody came by ftp")


@test
def the_next_server_is_asked(box):
    recording = Recording(box, "--no-embed")
    wrong = {recording.url("hot"): recording.debug["cold"]}
    with Server(wrong) as first, Server(recording.served()) as second:
        env = environment(box, "ima:enforcing", "http://127.0.0.1:1", "file:///tmp", first.url,
                          second.url)
        text = said(box, env, "--debuginfod")
        check("2 of" in text, text)
        check(recording.url("hot") in first.asked and recording.url("hot") in second.asked)
    check(has(box, env, recording) == ALL)


@test
def a_server_that_hangs_ends_nothing_but_its_time(box):
    recording = Recording(box, "--no-embed")
    with Server(recording.served()) as server:
        server.files[recording.url("hot")] = server.hang
        env = environment(box, server.url)
        text = said(box, env, "--debuginfod=2")
        check("not there in time" in text, text)
        # What came meanwhile is used, and nothing half is left.
        check(names(box, env) == {"hidden_cold", "inlined_cold"})
        check(not [path for path in cached(box) if recording.ids["hot"] in path], cached(box))


@test
def what_is_gone_comes_back_whole(box):
    recording = Recording(box, "--no-embed")
    served = recording.served()
    with open(recording.paths["hot"], "rb") as file:
        served[recording.url("hot", "executable")] = file.read()
    os.unlink(recording.paths["hot"])
    with open(recording.paths["cold"], "ab") as file:
        file.write(b"changed, with the same build id")
    with Server(served) as server:
        env = environment(box, server.url)
        check("hidden_hot" not in names(box, env))
        said(box, env, "--debuginfod")
        check(recording.url("hot", "executable") in server.asked, server.asked)
        check(recording.url("cold", "executable") not in server.asked, server.asked)
    check(has(box, env, recording) == ALL)


@test
def what_dwz_split_off_is_fetched_too(box):
    if not shutil.which("dwz"):
        raise Skip("dwz is not installed")
    recording = Recording(box, "--no-embed")
    files = {}
    for name in ("hot", "cold"):
        files[name] = box.write(name + ".debug", recording.debug[name])
    common = box.path("common")
    done = box.run("dwz", "-m", common, "-M", "/nowhere/common", files["hot"], files["cold"])
    if done.status or not os.path.exists(common):
        raise Skip("dwz finds nothing to share: " + done.err[-200:])
    served = {recording.url(name): open(files[name], "rb").read() for name in files}
    served["/buildid/%s/debuginfo" % build_id(box, common)] = open(common, "rb").read()
    os.unlink(common)
    with Server(served) as server:
        env = environment(box, server.url)
        text = said(box, env, "--debuginfod")
        check("3 of" in text, text)
    check(has(box, env, recording) == ALL)


@test
def record_puts_them_into_the_file(box):
    with Server({}) as server:
        env = environment(box, server.url)
        recording = Recording(box)
        server.files.update(recording.served())
        done = box.record("-F", "2000", "--debuginfod", "--", box.path("prog"), env=env)
        check("debuginfod: 2 of" in done.err, done.err)
    shutil.rmtree(box.path("cache"))
    for path in recording.paths.values():
        os.unlink(path)
    check(names(box, env) == ALL, names(box, env))


@test
def script_fetches_before_it_streams(box):
    recording = Recording(box, "--no-embed")
    with Server(recording.served()) as server:
        env = environment(box, server.url)
        done = box.wick("script", "--debuginfod", env=env).ok()
        check("(inlined)" in done.out and "debuginfod: 2 of" in done.err, done.err)
        with open(box.path("perf.data"), "rb") as file:
            done = box.wick("script", "--debuginfod", "-i", "-", stdin=file, env=env)
        check(done.status == 1 and "read twice" in done.err, done.err)
        file = box.path("copy.data")
        box.wick("export", "--debuginfod", "-o", file, env=env).ok()
    shutil.rmtree(box.path("cache"))
    for path in recording.paths.values():
        os.unlink(path)
    check("(inlined)" in box.wick("script", "-i", file, env=env).ok().out, "export keeps them")


@test
def without_servers_or_a_home_it_says_so(box):
    Recording(box, "--no-embed")
    env = environment(box)
    check("names no server" in said(box, env, "--debuginfod"))
    check("names no server" in said(box, dict(env, DEBUGINFOD_URLS="file:///tmp"),
                                    "--debuginfod"))
    done = box.wick("report", "--debuginfod=0", env=env)
    check(done.status == 2, done.err)
    blocked = box.write("file", "")
    done = said(box, dict(env, DEBUGINFOD_CACHE_PATH=blocked,
                          DEBUGINFOD_URLS="http://127.0.0.1:1/"), "--debuginfod")
    check("failed" in done and "Permission denied" in done, done)


main()
