"""The viewer: its model's own tests, the committed page against the sources, and pages in a real
browser (viewer/test/pages.mjs), written by wick's own packer (tests/viewer_pages.c)."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from wicktest import ROOT, WICK

VIEWER = os.path.join(ROOT, "viewer")
PAGE = os.path.join(ROOT, "src", "formats", "viewer.html")
PAGES = os.path.join(os.path.dirname(WICK), "..", "..", "tests", "viewer-pages")
CHROMIUM = os.environ.get("WICK_CHROMIUM", "/usr/bin/chromium")
WANTED = ("empty", "one", "small", "deep", "threads", "hostile", "million")
ENOUGH_BYTES = 10 << 20  # for a million samples


def run(*command, **options):
    done = subprocess.run(command, cwd=VIEWER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", check=False, **options)
    return done.returncode, done.stdout


def skip(why):
    print("1..1\nok 1 - the viewer # SKIP " + why)
    sys.exit(0)


def node_is_new_enough():
    status, words = run("node", "--version")
    found = re.match(r"v(\d+)\.(\d+)", words)
    return status == 0 and found and (int(found.group(1)), int(found.group(2))) >= (20, 19)


def install():
    """What package-lock.json says, unless it is there."""
    stamp = os.path.join(VIEWER, "node_modules", ".package-lock.json")
    lock = os.path.join(VIEWER, "package-lock.json")
    if os.path.exists(stamp) and os.path.getmtime(stamp) >= os.path.getmtime(lock):
        return
    status, words = run("npm", "ci", "--no-audit", "--no-fund", timeout=200)
    if status != 0:
        skip("npm cannot install what viewer/ needs: " + words.strip().splitlines()[-1])


def tell(number, name, good, words):
    if not good:
        print(words)
    print("%s %d - %s" % ("ok" if good else "not ok", number, name))
    sys.stdout.flush()
    return good


def built_page_is_that_of_the_sources(folder):
    fresh = os.path.join(folder, "built.html")
    status, words = run("npm", "run", "build", env=dict(os.environ, WICK_VIEWER_OUT=fresh))
    if status != 0:
        return False, words
    with open(fresh, "rb") as one, open(PAGE, "rb") as other:
        return one.read() == other.read(), "src/formats/viewer.html is not what viewer/ builds: ./dev viewer"


def write_pages(folder):
    for name in WANTED:
        subprocess.run([PAGES, name, os.path.join(folder, name + ".html")], check=True)
    subprocess.run([PAGES, "small", "other", os.path.join(folder, "compared.html")], check=True)
    subprocess.run([PAGES, "small", "cycles", os.path.join(folder, "events.html")], check=True)
    size = os.path.getsize(os.path.join(folder, "million.html"))
    return size <= ENOUGH_BYTES, "%d bytes" % size


def main():
    if not shutil.which("node") or not shutil.which("npm"):
        skip("no node or no npm (./dev test installs them)")
    if not node_is_new_enough():
        skip("node is older than 20.19")
    install()
    with tempfile.TemporaryDirectory() as folder:
        print("1..3")
        good = tell(1, "the committed page is what the sources build",
                    *built_page_is_that_of_the_sources(folder))
        status, words = run("npm", "test")
        good &= tell(2, "the model's tests", status == 0, words)
        good &= tell(3, "a page of a million samples is small", *write_pages(folder))
        if not os.path.exists(CHROMIUM):
            print("1..1\nok 4 - pages in a browser # SKIP no " + CHROMIUM)
        else:
            good &= subprocess.run(["node", "test/pages.mjs", folder], cwd=VIEWER,
                                   check=False).returncode == 0
    sys.exit(0 if good else 1)


main()
