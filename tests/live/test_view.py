"""wick view and wick diff: what they write and say; tests/viewer/ looks at the pages."""
import base64
import http.client
import os
import re
import signal
import zlib

from wicktest import WICK, Skip, check, main, test, wait_until

BUILDS = ("build", "build-asan")


def recording(box, name, words="i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"):
    done = box.wick("record", "-o", name, "--", "sh", "-c", words).ok()
    check(os.path.exists(box.path(name)), done.err)


def data_of(page):
    return [zlib.decompress(base64.b64decode(text))
            for text in re.findall(r'id="wick-data-\d">([^<]*)<', page)]


def read(box, name):
    with open(box.path(name)) as file:
        return file.read()


@test
def view_writes_a_page_beside_the_recording(box):
    recording(box, "a.data")
    done = box.wick("view", "a.data").ok()
    check("a.data.html" in done.err, done.err)
    page = read(box, "a.data.html")
    found = data_of(page)
    check(len(found) == 1 and found[0].startswith(b"wickview1\n") and found[0].endswith(b"end\n"))
    check(b"coverage" in found[0], "the quality sentences are in it")
    check("http://" not in page.replace("http://www.w3.org/", ""), "nothing to fetch")
    box.wick("export", "-i", "a.data", "-o", "b.html").ok()
    check(read(box, "b.html") == page, "export writes the same page")


@test
def sources_are_read_below_the_sysroot_or_not_at_all(box):
    box.write("named.c", """int main(void) {
	volatile unsigned long n = 0; /* marked */

	while (n < 400000000) n++; /* marked */
	return 0;
}
""")
    box.record("--", box.build("named.c", sources=[box.path("named.c")]))
    box.wick("export", "-o", "copy.data").ok()

    def shown(*words):
        box.wick(*words, "-i", "copy.data", "-o", "page.html").ok()
        return data_of(read(box, "page.html"))[0].count(b"marked")
    if not shown("view"):
        raise Skip("this build of wick reads no debug information")
    for command in ("view", "export"):
        check(shown(command) and not shown(command, "--no-source"), command)
    below = box.path("root") + box.folder
    os.makedirs(below)
    os.rename(box.path("named.c"), os.path.join(below, "named.c"))
    for command in ("view", "export"):
        check(not shown(command), command, "the source is elsewhere")
        check(shown(command, "--sysroot", box.path("root")), command, "sources below --sysroot")
        check(not shown(command, "--sysroot", box.path("root"), "--no-source"), command)


@test
def a_recording_does_not_choose_what_is_read(box):
    box.write("named.c", "int main(void) { volatile unsigned long n = 0;\n"
              "#line 1 \"%s\"\nwhile (n < 400000000) n++; }\n" % box.path("secret"))
    box.write("secret", "the key\n" * 9)
    box.record("--", box.build("named.c", sources=[box.path("named.c")]))
    box.wick("view", "-o", "page.html").ok()
    check(b"the key" not in data_of(read(box, "page.html"))[0], "a secret is in the page")
    done = box.wick("annotate", "main").ok()
    check("the key" not in done.out, done.out)
    if box.path("secret") not in done.out:
        raise Skip("this build of wick reads no debug information")
    check("not shown: not a source's name" in done.out, done.out)


@test
def two_recordings_are_one_page(box):
    recording(box, "a.data")
    recording(box, "b.data")
    box.wick("view", "-o", "ab.html", "a.data", "b.data").ok()
    check(len(data_of(read(box, "ab.html"))) == 2)
    done = box.wick("view", "a.data", "b.data", "a.data")
    check(done.status == 2 and "two recordings at most" in done.err, done.err)


@test
def diff_compares_shares(box):
    recording(box, "a.data")
    done = box.wick("diff", "a.data", "a.data").ok()
    check("nothing changed" in done.out, done.out)
    done = box.wick("diff", "a.data")
    check(done.status == 2 and "two recordings" in done.err, done.err)


@test
def what_cannot_be_written_is_said(box):
    recording(box, "a.data")
    done = box.wick("view", "-o", "no/such/folder.html", "a.data")
    check(done.status == 1 and "cannot be written" in done.err, done.err)
    done = box.wick("view", "-o", "no/\x1b[2J\n\u202e.html", "a.data")
    check(done.status == 1 and done.err.startswith("wick: no/\\x1b[2J\\x0a\\u202e.html:"), done.err)
    done = box.wick("view", "none.data")
    check(done.status == 1 and "none.data" in done.err, done.err)


@test
def http_serves_this_machine_only(box):
    recording(box, "a.data")
    if "--http" not in box.wick("view", "--help").out:
        raise Skip("built without libmicrohttpd")
    box.wick("view", "-o", "a.html", "a.data").ok()
    server = box.start(WICK, "view", "--http", "0", "--no-browser", "a.data")
    wait_until(lambda: "Ctrl-C ends" in server.errors() or server.process.poll() is not None, 20,
               "it says where")
    port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", server.errors()).group(1))

    def ask(method, path, host):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace")

    check(ask("GET", "/", "127.0.0.1:%d" % port) == (200, read(box, "a.html")))
    check(ask("GET", "/etc", "localhost:%d" % port)[0] == 404)
    check(ask("GET", "/", "example.org:%d" % port)[0] == 403, "a name that was made to lead here")
    check(ask("DELETE", "/", "localhost:%d" % port)[0] == 405)
    second = box.wick("view", "--http", str(port), "--no-browser", "a.data")
    check(second.status == 1 and "cannot be served" in second.err, second.err)
    server.signal(signal.SIGINT)
    server.wait().check_sane().ok()
    done = box.wick("view", "--http", "0", "-o", "x.html", "a.data")
    check(done.status == 2 and "-o" in done.err, done.err)


@test
def the_recording_is_never_written_over(box):
    box.record("--", box.build("shares.c"), "0.2", "80", "20")
    before = open(box.path("perf.data"), "rb").read()
    os.link(box.path("perf.data"), box.path("other.svg"))
    for words in (["view", "-o", "perf.data"], ["export", "-o", "perf.data"],
                  ["export", "-o", "./perf.data"], ["export", "-o", "other.svg"],
                  ["view", "perf.data", "perf.data", "-o", "other.svg"]):
        done = box.wick(*words)
        check(done.status == 1 and "is the recording itself" in done.err, words, done.err)
        check(done.err.count("\n") == 1, done.err)
    os.unlink(box.path("other.svg"))
    os.rename(box.path("perf.data"), box.path("x.data.old"))
    box.write("x.data", "mine")
    done = box.wick("export", "-i", "x.data.old", "-o", "x.data")
    check(done.status == 1 and "which is the recording" in done.err, done.err)
    check(open(box.path("x.data.old"), "rb").read() == before, "the recording is another")
    check(open(box.path("x.data")).read() == "mine", "a file was written over")
    box.write("x.svg", "mine")
    box.wick("export", "-i", "x.data.old", "-o", "x.svg").ok()
    check(open(box.path("x.svg.old")).read() == "mine", "an old file was not kept")
    box.wick("view", "-i", "x.data.old", "-o", "x.svg").ok()
    check("<svg" in open(box.path("x.svg.old")).read(), "an old file was not kept")


main()
