"""wick view and wick diff: what they write and say; tests/viewer/ looks at the pages."""
import base64
import os
import re
import zlib

from wicktest import check, main, test


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
    done = box.wick("view", "none.data")
    check(done.status == 1 and "none.data" in done.err, done.err)


main()
