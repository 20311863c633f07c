"""trawl wacz: what a crawl archived in one file, checked by the rules of WACZ 1.1.1 with Python's
zipfile, gzip and hashlib alone: digests, and every record found by the index."""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import zipfile

import trawl_testing as t
from scripted_server import NOT_FOUND, ScriptedServer, answer, links
from wacz_archive import find
from warc_reader import read_members, read_warcs
from warc_test import Site, tree

FILES = ["datapackage-digest.json", "datapackage.json", "indexes/index.cdx.gz", "indexes/index.idx",
         "pages/pages.jsonl"]


def package(options, directory, *arguments):
    return subprocess.run([options.trawl, "wacz", *map(str, arguments)], cwd=directory,
                          capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL)


def expect(test, finished, code, what, *patterns):
    test.check(finished.returncode == code, f"{what}: exit code {finished.returncode}, not {code}",
               finished.stdout + finished.stderr)
    for pattern in patterns:
        test.check(re.search(pattern, finished.stdout + finished.stderr),
                   f"{what}: {pattern!r} is not said", finished.stdout + finished.stderr)
    return finished


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def check_wacz(test, path, output):
    """Returns the data package and the pages of the list."""
    with zipfile.ZipFile(path) as archive:
        test.check(archive.testzip() is None, f"{path}: a damaged entry")
        contents = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        for entry in archive.infolist():
            if entry.filename.startswith("archive/") or entry.filename.endswith(".gz"):
                test.check(entry.compress_type == zipfile.ZIP_STORED, f"{entry.filename} is packed")
    archives = {f"archive/{file.name}": file.read_bytes() for file in output.glob("*.warc.gz")}
    test.check_equal_sets(set(contents), set(FILES) | set(archives), "files of the WACZ")
    test.check(all(contents.get(name) == data for name, data in archives.items()), "archives differ")

    package = json.loads(contents["datapackage.json"])
    digest = json.loads(contents["datapackage-digest.json"])
    test.check(digest == {"path": "datapackage.json", "hash": sha256(contents["datapackage.json"])},
               "datapackage-digest.json", digest)
    test.check(package["profile"] == "data-package" and package["wacz_version"] == "1.1.1",
               "profile and version", package)
    test.check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", package["created"]), "created", package)
    resources = {each["path"]: each for each in package["resources"]}
    test.check_equal_sets(set(resources), set(contents) - set(FILES[:2]), "resources")
    for name, each in resources.items():
        test.check(each["hash"] == sha256(contents[name]) and each["bytes"] == len(contents[name]),
                   f"digest of {name}", each)
        test.check(re.fullmatch(r"[-a-z0-9._/]+", each["name"]), "name of a resource", each)
        test.check(name.endswith("/" + each["name"]) or each["name"] == name.lower().split("/")[1],
                   "name of a resource", each)

    # Each record that can be replayed is found by the index, and each line leads to a record.
    index, idx = contents["indexes/index.cdx.gz"], contents["indexes/index.idx"]
    lines = gzip.decompress(index).decode().splitlines()
    test.check(lines == sorted(lines), "the index is not sorted")
    places = set()
    for line in lines:
        key, _, fields = line.split(" ", 2)
        fields = json.loads(fields)
        test.check(line in find(index, idx, key), f"not found by the .idx: {line}")
        data = archives["archive/" + fields["filename"]]
        offset, length = int(fields["offset"]), int(fields["length"])
        record = gzip.decompress(data[offset:offset + length])
        test.check(f"WARC-Target-URI: {fields['url']}\r\n".encode() in record, "another record", line)
        places.add((fields["filename"], offset))
    records = read_warcs(test, output)
    wanted = {(record.file, record.offset) for record in records
              if record.type in ("response", "revisit")}
    test.check_equal_sets(places, wanted, "records in the index")

    head, *pages = [json.loads(line) for line in contents["pages/pages.jsonl"].splitlines()]
    test.check(head["format"] == "json-pages-1.0" and head["id"] == "pages", "head of the pages", head)
    urls = {json.loads(line.split(" ", 2)[2])["url"] for line in lines}
    for page in pages:
        test.check(page["url"] in urls, "a page that is not archived", page)
        test.check(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", page["ts"]), "time of a page", page)
    return package, pages


def whole_crawl(test, directory, options):
    site = Site()
    with ScriptedServer(site.answers) as server:
        state = directory / "whole"
        config = t.write_config(directory / "whole.toml", t.fast_crawl(
            [server.url()], state, output={"warc": True, "warc_description": "A *test*."}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        expect(test, package(options, directory, state), 0, "by the directory",
               r"whole\.wacz: \d+ pages, \d+ records in 1 WARC files, \d+ bytes")
        data, pages = check_wacz(test, directory / "whole.wacz", state / "output")
        test.check(data["title"] == data["mainPageUrl"] == server.url(), "title", data)
        test.check(data["description"] == "A *test*.", "description", data)
        told = t.read_pages(test, state)
        html = {page["url"] for page in told if page["status"] == 200
                and (page["content_type"] or "").startswith("text/html")}
        test.check_equal_sets({page["url"] for page in pages}, html, "pages")
        # Again, by the config, over the old file; and without the lists that it is made of.
        expect(test, package(options, directory, config, "-o", "whole.wacz", "--title", "T\n\x1b"), 0,
               "by the config")
        data, _ = check_wacz(test, directory / "whole.wacz", state / "output")
        test.check(data["title"] == "T\n\x1b", "--title", data)
        (state / "output" / "pages.jsonl").unlink()
        for index in (state / "output").glob("*.cdxj"):
            index.unlink()
        expect(test, package(options, directory, state, "-o", "less.wacz"), 0, "without lists")
        _, again = check_wacz(test, directory / "less.wacz", state / "output")
        # The index does not have the type of a copy.
        copies = {page["url"] for page in told if page["duplicate_of"]}
        found = {page["url"] for page in again}
        test.check(html - copies <= found <= html, "pages by the index", found ^ html)


def titles_and_texts(test, directory, options):
    answers = {"/": answer(links(["/a", "/b", "/c", "/d"])),
               "/a": answer("<title>\u00c4 &lt;b&gt; \x1b</title><p>Words".encode(),
                            content_type="text/html; charset=utf-8"),
               "/b": answer("body{}", content_type="text/css"),
               "/c": answer("<title>gone</title>", "404 Not Found"),
               "/d": answer("<title>x</title>", content_type="application/xhtml+xml")}
    with ScriptedServer(lambda request: answers.get(request.path, NOT_FOUND)) as server:
        state = directory / "titles"
        config = t.write_config(directory / "titles.toml", t.fast_crawl(
            [server.url()], state, output={"warc": True, "text": True}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        expect(test, package(options, directory, state), 0, "titles")
        _, pages = check_wacz(test, directory / "titles.wacz", state / "output")
        by_url = {page["url"]: page for page in pages}
        test.check_equal_sets(set(by_url), {server.url(path) for path in ("/", "/a", "/d")}, "pages")
        a = by_url[server.url("/a")]
        test.check(a["title"].startswith("\u00c4 <b>") and a["text"] == "Words", "title and text", a)


def large_index(test, directory, options):
    """More records than a member of the index has lines, in several WARC files."""
    paths = [f"/{i}" for i in range(3500)]
    with ScriptedServer(lambda request: answer(links(paths)) if request.path == "/" else
                        answer(request.path)) as server:
        state = directory / "large"
        config = t.write_config(directory / "large.toml", t.fast_crawl(
            [server.url()], state, output={"warc": True, "warc_size": "200KiB"}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        expect(test, package(options, directory, state), 0, "a large index", "3501 pages")
        check_wacz(test, directory / "large.wacz", state / "output")
        with zipfile.ZipFile(directory / "large.wacz") as archive:
            test.check(len(archive.read("indexes/index.idx").splitlines()) == 3, "members of the index")
            test.check(len(archive.namelist()) > 7, "WARC files", archive.namelist())


def running_and_killed(test, directory, options):
    """A running crawl is refused; what a killed one has is packaged, and it can be resumed."""
    with ScriptedServer(tree) as server:
        state = directory / "killed"
        config = t.write_config(directory / "killed.toml", t.fast_crawl(
            [server.url()], state, politeness={"delay": "20ms"}, output={"warc": True}))
        crawl = t.Run(options, directory, "crawl", config)
        t.wait_until(lambda: crawl.ended() or len(server.pages) >= 20, "pages to be fetched")
        expect(test, package(options, directory, state), t.EXIT_FAILURE, "of a running crawl",
               "is running.*trawl stop")
        crawl.kill()
        expect(test, package(options, directory, state), 0, "of a killed crawl",
               "was left open and was closed", r"not finished, \d+ URLs are queued.*trawl resume")
        check_wacz(test, directory / "killed.wacz", state / "output")
        crawl = t.Run(options, directory, "resume", config)
        t.wait_until(lambda: crawl.ended() or len(server.pages) >= 40, "more pages")
        crawl.signal(15)
        crawl.wait()
        expect(test, package(options, directory, state), 0, "resumed", "not finished")
        check_wacz(test, directory / "killed.wacz", state / "output")
        test.check(len(list((state / "output").glob("*.warc.gz"))) == 2, "a file for each run")


def nothing_to_package(test, directory, options):
    expect(test, package(options, directory, "nowhere"), t.EXIT_FAILURE, "no directory", "nowhere")
    with ScriptedServer({"/": answer("x")}) as server:
        state = directory / "bare"
        config = t.write_config(directory / "bare.toml", t.fast_crawl([server.url()], state))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        expect(test, package(options, directory, state), t.EXIT_FAILURE, "without WARC files",
               "no WARC files.*output.warc = true")
        expect(test, package(options, directory, state, "-o", "site.zip"), t.EXIT_USAGE, "a name",
               r"ends with \.wacz")
    left = [path.name for path in directory.iterdir() if "bare." in path.name and "toml" not in path.name]
    test.check(not left, "files were left", left)


def damaged_archive(test, directory, options):
    """Without its index a damaged WARC file is an error, and no file is left."""
    state = directory / "titles"
    copy = directory / "damaged"
    shutil.copytree(state, copy)
    for index in (copy / "output").glob("*.cdxj"):
        index.unlink()
    warc = next((copy / "output").glob("*.warc.gz"))
    data = bytearray(warc.read_bytes())
    offset = list(read_members(warc))[2][0]
    data[offset + 30:offset + 60] = bytes(30)
    warc.write_bytes(data)
    expect(test, package(options, directory, copy, "-o", "damaged.wacz"), t.EXIT_FAILURE, "damaged",
           r"damaged|cut off|corrupt")
    left = [path.name for path in directory.glob("damaged.wacz*")]
    test.check(not left, "files were left", left)


def full_disk(test, directory, options):
    place = directory / "disk"
    place.mkdir()
    with t.tmpfs(place, "64KiB") as mounted:
        if not mounted:
            return print("  left out: no file system can be mounted here")
        expect(test, package(options, directory, directory / "large", "-o", place / "site.wacz"),
               t.EXIT_NO_SPACE, "a full disk", "space")
        left = [path.name for path in place.iterdir()]
        test.check(not left, "files were left", left)


def wacz(test, directory, options):
    whole_crawl(test, directory, options)
    titles_and_texts(test, directory, options)
    large_index(test, directory, options)
    running_and_killed(test, directory, options)
    nothing_to_package(test, directory, options)
    damaged_archive(test, directory, options)
    full_disk(test, directory, options)


if __name__ == "__main__":
    t.main(wacz, t.parser(__doc__).parse_args())
