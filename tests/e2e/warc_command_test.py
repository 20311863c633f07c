"""trawl warc list, cat and extract: each body comes back byte for byte, from files of Trawl and of
others; what is damaged is reported and passed over; no URL leads out of the folder."""

import gzip
import json
import os
import pathlib
import subprocess
import zlib

import trawl_testing as t
from scripted_server import NOT_FOUND, ScriptedServer, answer, links
from warc_test import Site

AGENT = "warc-command-test/1.0 (+http://example.com/bot)"


def trawl(options, *arguments, **more):
    return subprocess.run([options.trawl, "warc", *map(str, arguments)], capture_output=True,
                          timeout=120, check=False, stdin=subprocess.DEVNULL, **more)


def decoded(path, payload):
    if path in ("/gzip", "/chunked-gzip"):
        return gzip.decompress(payload)
    return zlib.decompress(payload) if path == "/deflate" else payload


def expect(test, finished, code, what, *texts):
    said = finished.stderr.decode(errors="replace")
    test.check(finished.returncode == code, f"{what}: exit code {finished.returncode}, not {code}",
               said)
    for text in texts:
        test.check(text in said, f"{what}: no {text!r} in the message", said)
    return finished


def crawled(test, directory, options):
    """What a server sent comes back, from the files, the state directory and the config."""
    site = Site()
    with ScriptedServer(site.answers) as server:
        state = directory / "crawled"
        config = t.write_config(directory / "crawled.toml", t.fast_crawl(
            [server.url()], state, crawl={"user_agent": AGENT}, output={"warc": True}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        files = sorted((state / "output").glob("*.warc.gz"))
        lists = [expect(test, trawl(options, "list", "--json", *inputs), 0, f"list of {inputs}").stdout
                 for inputs in (files, [state], [config], [state / "output"])]
        test.check(len(set(lists)) == 1, "a crawl, its config and its files list the same")
        records = [json.loads(line) for line in lists[0].splitlines()]
        test.check({"warcinfo", "request", "response", "metadata"} <= {each["type"] for each in records},
                   "the types", {each["type"] for each in records})
        statuses = {each["url"]: each["status"] for each in records
                    if each["type"] in ("response", "revisit")}
        test.check(statuses.get(server.url("/missing")) == 404, "status of /missing", statuses)
        for path, payload in site.payloads.items():
            wanted = decoded(path, payload)
            found = expect(test, trawl(options, "cat", "--url", server.url(path), state), 0,
                           f"cat {path}")
            test.check(found.stdout == wanted, f"cat {path}: {len(found.stdout)} bytes, not {len(wanted)}")
        raw = trawl(options, "cat", "--raw", "--url", server.url("/gzip"), state)
        test.check(raw.stdout == site.payloads["/gzip"], "cat --raw")
        one = next(each for each in records if each["type"] == "response"
                   and each["url"] == server.url("/looks-like-records"))
        at = trawl(options, "cat", "--offset", one["offset"], one["file"])
        test.check(at.stdout == site.payloads["/looks-like-records"], "cat --offset")
        out = directory / "extracted"
        done = expect(test, trawl(options, "extract", "-o", out, state), 0, "extract")
        places = dict(reversed(line.split("\t")) for line in done.stdout.decode().splitlines())
        for path, payload in site.payloads.items():
            wanted = decoded(path, payload)
            place = places.get(server.url(path))
            if path in ("/missing", "/redirect", "/empty"):
                test.check(place is None, f"{path} was extracted", place)
            elif test.check(place, f"{path} was not extracted", places):
                test.check((out / place).read_bytes() == wanted, f"{path}: other bytes in {place}")
        only = trawl(options, "list", "--status", "4xx", state).stdout.decode().splitlines()
        test.check(len(only) == 2 and all("\t404\t" in line for line in only),
                   "list --status: /missing and robots.txt", only)


def revisits(test, directory, options):
    """Many pages with one body: each is found through its revisit record, in linear time."""
    pages = 400
    body = b"<p>the same on all pages</p>"
    answers = {f"/{i}": answer(body) for i in range(pages)}
    answers["/"] = answer(links(answers))
    state = directory / "revisits"
    copies = []  # as they are asked for

    def respond(request):
        """The second copy comes once the first is written: only then are all others revisits."""
        if request.path in answers and request.path != "/":
            copies.append(request.path)
            if len(copies) == 2:
                lines = state / "output" / "pages.jsonl"
                t.wait_until(lambda: f'{copies[0]}"' in lines.read_text(), "the first copy")
        return answers.get(request.path, NOT_FOUND)

    with ScriptedServer(respond) as server:
        config = t.write_config(directory / "revisits.toml", t.fast_crawl(
            [server.url()], state, crawl={"user_agent": AGENT}, output={"warc": True},
            politeness={"per_host_connections": 1}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        count = len(trawl(options, "list", "--type", "revisit", state).stdout.splitlines())
        test.check(count == pages - 1, f"{count} revisits")
        counted = directory / "reads"
        out = directory / "revisits-extracted"
        command = [options.trawl, "warc", "extract", "-o", out, state]
        if subprocess.run(["strace", "true"], capture_output=True, check=False).returncode == 0:
            command = ["strace", "-f", "-e", "trace=pread64", "-o", counted, *command]
        done = subprocess.run(list(map(str, command)), capture_output=True, timeout=120, check=False)
        test.check(done.returncode == 0, "extract of revisits", done.stderr)
        same = sum(path.read_bytes() == body for path in out.rglob("*") if path.is_file())
        test.check(same == pages, f"{same} of {pages} bodies")
        if counted.exists():
            reads = len(counted.read_text().splitlines())
            test.check(reads < 20 * pages, f"{reads} reads for {pages} revisits")
        alone = sorted((state / "output").glob("*.warc.gz"))[0]
        offset = next(json.loads(line)["offset"] for line in
                      trawl(options, "list", "--json", "--type", "revisit", state).stdout.splitlines())
        found = trawl(options, "cat", "--offset", offset, alone)
        test.check(found.stdout == body, "cat of a revisit", found.stderr)


def record(kind, url, block, version="1.0", *fields, content="application/http; msgtype=response"):
    brackets = "<{}>" if version == "1.0" else "{}"
    head = [f"WARC/{version}", f"WARC-Type: {kind}", "WARC-Record-ID: <urn:uuid:1>",
            "WARC-Date: 2026-01-01T00:00:00Z", f"Content-Type: {content}",
            f"WARC-Target-URI: {brackets.format(url)}", *fields, f"Content-Length: {len(block)}"]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def response(body, *headers, status="200 OK"):
    return f"HTTP/1.1 {status}\r\n".encode() + "".join(f"{h}\r\n" for h in headers).encode() \
        + b"\r\n" + body


def of_others(test, directory, options):
    """WARC/1.0 with brackets, plain and compressed, per record and as a whole; folded and odd heads."""
    big = bytes(range(256)) * 4096
    records = [
        record("warcinfo", "", b"software: Wget/1.21\r\n", content="application/warc-fields"),
        record("request", "http://a.example/", b"GET / HTTP/1.1\r\n\r\n",
               content="application/http; msgtype=request"),
        record("response", "http://a.example/", response(b"first", "Content-Type: text/html")),
        record("response", "http://a.example/big", response(big)),
        record("response", "http://a.example/chunks", response(
            b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: r\r\n\r\n", "Transfer-Encoding: chunked")),
        record("response", "http://a.example/unchunked", response(
            b"plain although the head says chunks", "Transfer-Encoding: chunked")),
        record("resource", "http://a.example/resource", b"as it is", "1.0", content="text/plain"),
        record("revisit", "http://b.example/", response(b""), "1.1",
               "WARC-Refers-To-Target-URI: http://a.example/",
               "WARC-Refers-To-Date: 2026-01-01T00:00:00Z"),
        record("response", "http://a.example/last", b"HTTP/1.0 200\r\n\r\nlast"),
    ]
    shapes = {"plain.warc": b"".join(records),
              "records.warc.gz": b"".join(map(gzip.compress, records)),
              "whole.warc.gz": gzip.compress(b"".join(records))}
    wanted = {"/": b"first", "/big": big, "/chunks": b"abcde", "/last": b"last",
              "/unchunked": b"plain although the head says chunks", "/resource": b"as it is"}
    for name, content in shapes.items():
        path = directory / name
        path.write_bytes(content)
        listed = expect(test, trawl(options, "list", path), 0, f"{name}: list").stdout
        test.check(len(listed.splitlines()) == len(records), f"{name}: {len(listed.splitlines())} records")
        for url, body in wanted.items():
            found = expect(test, trawl(options, "cat", "--url", "http://a.example" + url, path), 0,
                           f"{name}: {url}")
            test.check(found.stdout == body, f"{name}: {url}: {found.stdout[:60]}")
        found = trawl(options, "cat", "--url", "http://b.example/", path)
        test.check(found.stdout == b"first", f"{name}: the revisit by URL and date", found.stderr)
    none = expect(test, trawl(options, "cat", "--url", "http://no.example/", path), 1, "no such URL",
                  "no such record")
    test.check(none.stdout == b"", "bytes for no record")


def by_wget(test, directory, options):
    """A file of wget."""
    page = b"<p>of wget</p>" * 300
    with ScriptedServer({"/": answer(page), "/robots.txt": answer(b"")}) as server:
        subprocess.run(["wget", "-q", f"--warc-file={directory}/by-wget", "-O", "/dev/null",
                        server.url()], check=True, timeout=60, cwd=directory)
        found = expect(test, trawl(options, "cat", "--url", server.url(),
                                   directory / "by-wget.warc.gz"), 0, "a file of wget")
        test.check(found.stdout == page, "the body that wget wrote", found.stdout[:100])


def damage(test, directory, options):
    """What is whole is read; what is not is named, with its offset; never a crash."""
    records = [record("response", f"http://a.example/{i}", response(b"%d" % i * 50)) for i in range(5)]
    members = [gzip.compress(each) for each in records]
    second = len(members[0])
    bad = {
        "cut.warc.gz": (b"".join(members)[:-10], 4, len(b"".join(members[:4]))),
        "flipped.warc.gz": (b"".join([members[0], members[1][:20] + b"\xff" * 8 + members[1][28:],
                                      *members[2:]]), 4, second),
        "cut.warc": (b"".join(records)[:-60], 4, len(b"".join(records[:4]))),
        "length.warc": (b"".join([records[0], records[1].replace(b"Content-Length: ", b"Content-Length: x"),
                                  *records[2:]]), 4, len(records[0])),
        "head.warc": (b"".join([records[0], b"WARC/1.0\r\n" + b"x" * (3 << 20), *records[1:]]), 5,
                      len(records[0])),
        "binary.warc": (os.urandom(100_000) + records[0], 1, 0),
    }
    for name, (content, whole, offset) in bad.items():
        path = directory / name
        path.write_bytes(content)
        done = expect(test, trawl(options, "list", path), 1, name, name, f"offset {offset} ")
        count = len([line for line in done.stdout.splitlines() if b"a.example" in line])
        test.check(count in (whole, whole + 1), f"{name}: {count} records, not {whole}", done.stdout)
    expect(test, trawl(options, "list", directory / "missing.warc.gz"), 1, "a missing file", "missing.warc.gz")
    empty = directory / "nothing"
    empty.mkdir()
    expect(test, trawl(options, "list", empty), 1, "a folder without files", "no WARC files")
    bomb = directory / "bomb.warc.gz"
    bomb.write_bytes(gzip.compress(record("response", "http://a.example/bomb", response(
        gzip.compress(bytes(200 << 20)), "Content-Encoding: gzip"))))
    with open(os.devnull, "wb") as null:
        done = subprocess.run(["prlimit", "--as=400000000", options.trawl, "warc", "cat", "--url",
                               "http://a.example/bomb", bomb], stdout=null, stderr=subprocess.PIPE,
                              timeout=120, check=False)
    test.check(done.returncode in (0, 1), f"a bomb: {done.returncode}", done.stderr)


def hostile_urls(test, directory, options):
    """No file outside the folder, none that Windows cannot have, no two URLs in one."""
    urls = ["/../../up", "/%2e%2e/%2e%2e/up", "/..%2f..%2fup", "/a/../../b", "/con", "/aux.txt", "/nul/",
            "/trailing.", "/trailing", "/Case", "/case", "/" + "x" * 1500, "/" + "y/" * 300 + "z",
            "/a", "/a/b", "/%00", "/%0a", "/?q=/../..", "/?a", "/?A", "/index.html", "/%5c..%5cup"]
    content = b"".join(record("response", f"http://h.example{url}", response(url.encode()), "1.1")
                       for url in urls)
    content += record("response", "file:///etc/passwd", response(b"x")) \
        + record("response", "http://../etc/passwd", response(b"x"))
    path = directory / "hostile.warc"
    path.write_bytes(content)
    target = directory / "outside"
    target.mkdir()
    out = directory / "hostile"
    out.mkdir()
    (out / "h.example").mkdir()
    (out / "h.example" / "a").symlink_to(target)
    done = expect(test, trawl(options, "extract", "-o", out, path), 0, "extract of hostile URLs")
    places = [line.split("\t")[0] for line in done.stdout.decode().splitlines()]
    test.check(len({place.lower() for place in places}) == len(set(places)), "names that differ in case only")
    test.check(not any(target.iterdir()), "a symbolic link was followed", list(target.iterdir()))
    before = {path, target, out}
    for place in places:
        parts = pathlib.PurePosixPath(place).parts
        test.check(".." not in parts and not place.startswith("/"), f"a path that leads out: {place}")
        test.check(all(len(part.encode()) <= 255 for part in parts), f"too long: {place[:80]}")
        stems = [part.split(".")[0].lower() for part in parts]
        test.check(not {"con", "aux", "nul"} & set(stems), f"a device's name: {place}")
    test.check(not (directory / "up").exists() and not (directory.parent / "up").exists(), "up was written")
    test.check(before <= set(directory.iterdir()), "nothing is gone")


def warc_command(test, directory, options):
    parts = []
    for part in (crawled, revisits, of_others, by_wget, damage, hostile_urls):
        place = directory / part.__name__
        place.mkdir()
        parts.append((part, test, place, options))
    t.run_parts(test, parts, at_once=3)


if __name__ == "__main__":
    t.main(warc_command, t.parser(__doc__).parse_args())
