"""WARC files and their indexes: what a server sent is in them, byte for byte, and is found by the
places that pages.jsonl and the index give, also after the crawler was killed."""

import base64
import datetime
import gzip
import hashlib
import json
import random
import re
import shutil
import subprocess
import time
import zlib

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links, redirect
from warc_reader import check_index, check_places, digest, read_warcs

LARGE = 5 << 20
TREE = 400  # pages of the crawl that is killed
AGENT = "warc-test/1.0 (+http://example.com/bot)"

HTML = ("<title>x</title>" + "".join(f"<p>paragraph {i}</p>" for i in range(500))).encode()


def chunked(body, *headers):
    head = ["HTTP/1.1 200 OK", "Content-Type: text/html", "Transfer-Encoding: chunked", *headers]
    chunks = b""
    for start in range(0, len(body), 1000):
        piece = body[start:start + 1000]
        chunks += b"%x;extension=1\r\n%s\r\n" % (len(piece), piece)
    return "\r\n".join(head).encode() + b"\r\n\r\n" + chunks + b"0\r\nTrailer: x\r\n\r\n"


def until_closed(body):
    return (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + body)


class Site:
    """What is sent for each path, and the payload that an archive of it must hold."""

    def __init__(self):
        noise = random.Random(1)
        self.answers, self.payloads = {}, {}
        self.add("/plain", HTML)
        self.add("/empty", b"")
        self.add("/binary", bytes(range(256)) * 40, content_type="application/octet-stream")
        self.add("/large", noise.getrandbits(LARGE * 8).to_bytes(LARGE, "little"),
                 content_type="application/octet-stream")
        self.add("/looks-like-records", b"WARC/1.1\r\n\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" * 9)
        self.add("/copy-1", b"<p>the same</p>")
        self.add("/copy-2", b"<p>the same</p>")
        self.add("/missing", b"<p>not here</p>", "404 Not Found")
        zipped = gzip.compress(HTML, mtime=0)
        self.add("/gzip", zipped, "200 OK", "Content-Encoding: gzip")
        self.add("/deflate", zlib.compress(HTML), "200 OK", "Content-Encoding: deflate")
        self.set("/chunked", chunked(HTML), HTML)
        self.set("/chunked-gzip", chunked(zipped, "Content-Encoding: gzip"), zipped)
        self.set("/until-closed", until_closed(HTML), HTML)
        self.set("/odd-head", b"HTTP/1.1 200 \xe4\xf6\r\nX-Odd: \xff\xfe: x\r\nContent-Type: "
                 b"text/html;charset=\"x\"\r\nX-Fold: a\r\n  b\r\nContent-Length: 3\r\n\r\nodd",
                 b"odd")
        self.set("/redirect", redirect("/plain?redirected"), b"")
        self.add("/plain?redirected", HTML + b"redirected")
        self.add("/Caf%C3%A9/?b=2&a=1", b"<p>encoded</p>")
        index = links(sorted(set(self.answers) - {"/plain?redirected"})).replace("&", "&amp;")
        self.add("/", index.encode())

    def add(self, path, body, status="200 OK", *headers, content_type="text/html"):
        self.set(path, answer(body, status, *headers, content_type=content_type), body)

    def set(self, path, sent, payload):
        self.answers[path], self.payloads[path] = sent, payload


def responses_by_url(records):
    return {record.url: record for record in records if record.type in ("response", "revisit")
            and not record.url.endswith("/robots.txt")}


def read_with_gzip(test, output, records):
    """Python's gzip module reads each file from its start to its end as one text."""
    for path in sorted(output.glob("*.warc.gz")):
        with gzip.open(path) as file:
            data = file.read()
        count = sum(record.file == path.name for record in records)
        test.check(len(re.findall(rb"(?:\A|\r\n\r\n)WARC/1\.1\r\nWARC-Type: ", data)) >= count,
                   f"{path.name}: fewer than {count} records when read as a whole")


def payloads(test, directory, options):
    site = Site()
    with ScriptedServer(site.answers) as server:
        state = directory / "payloads"
        output = state / "output"
        config = t.write_config(directory / "payloads.toml", t.fast_crawl(
            [server.url()], state, crawl={"user_agent": AGENT},
            fetch={"headers": ["X-Key: s3cret"]}, output={"warc": True, "warc_operator": "the operator", "warc_prefix": "pay-loads",
                    "warc_description": "a test \u00e9"}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        pages = {page["url"]: page for page in t.read_pages(test, state)}
        test.check_equal_sets(set(pages), {server.url(path) for path in site.payloads}, "pages")
        records = read_warcs(test, output)
        check_places(test, pages.values(), records)
        check_index(test, output, records)
        read_with_gzip(test, output, records)
        captures = responses_by_url(records)
        for path, payload in site.payloads.items():
            check_capture(test, path, payload, pages.get(server.url(path)),
                          captures.get(server.url(path)))
        check_heads(test, server, captures)
        check_copies(test, server, pages, captures)
        check_companions(test, server, records)
        check_warcinfo(test, records, options)
        check_index_lines(test, output, server)
        with_other_tools(test, output, records)


def check_capture(test, path, payload, page, record):
    if not test.check(page and record, f"{path}: no page, or no record"):
        return
    if record.type == "response":
        test.check(record.payload() == payload,
                   f"{path}: {len(record.payload())} bytes, {len(payload)} were sent")
    test.check(record.headers.get("warc-payload-digest") == digest(payload),
               f"{path}: not the digest of what was sent", record.headers)
    test.check(record.headers.get("warc-ip-address") == "127.0.0.1", f"{path}: no address")
    if page["digest"] is not None:
        test.check(page["digest"] == digest(payload), f"{path}: another digest in pages.jsonl",
                   page["digest"])
    test.check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z",
                            record.headers["warc-date"]), f"{path}: not a date with fractions")


def check_heads(test, server, captures):
    def head(path):
        record = captures.get(server.url(path))
        return record.body.partition(b"\r\n\r\n")[0] if record else b""

    for path in ("/chunked", "/chunked-gzip"):
        test.check(b"\r\nX-Archive-Orig-Transfer-Encoding: chunked" in head(path)
                   and b"\r\nTransfer-Encoding" not in head(path),
                   f"{path}: still says that it is chunked", head(path))
    test.check(b"\r\nContent-Encoding: gzip" in head("/gzip"), "/gzip lost its encoding")
    test.check(head("/odd-head").startswith(b"HTTP/1.1 200 \xe4\xf6\r\nX-Odd: \xff\xfe: x\r\n"),
               "an odd head is not as it was sent", head("/odd-head"))
    test.check(head("/redirect").startswith(b"HTTP/1.1 302 "), "the redirect", head("/redirect"))


def check_copies(test, server, pages, captures):
    """A revisit names a capture that has the body. Copies that are fetched at the same time may
    both be responses; pages.jsonl nevertheless says which is the copy."""
    for revisit in captures.values():
        if revisit.type != "revisit":
            continue
        first = captures.get(revisit.headers.get("warc-refers-to-target-uri"))
        test.check(first is not None and first.type == "response"
                   and revisit.headers.get("warc-refers-to-date") == first.headers["warc-date"]
                   and revisit.headers["warc-payload-digest"] == digest(first.payload())
                   and revisit.payload() == b"", "a revisit", revisit.headers)
    copies = [server.url("/copy-1"), server.url("/copy-2")]
    told = [pages[url]["duplicate_of"] for url in copies if url in pages]
    test.check(told in ([None, copies[0]], [copies[1], None]), "duplicate_of of two copies", told)


def check_companions(test, server, records):
    """Each page's request and metadata records are there and point to it."""
    by_id = {record.headers["warc-record-id"]: record for record in records}
    kinds = {"request": set(), "metadata": set()}
    for record in records:
        if record.type not in kinds:
            continue
        main = by_id.get(record.headers.get("warc-concurrent-to"))
        if test.check(main is not None and main.url == record.url
                      and main.type in ("response", "revisit"),
                      f"a {record.type} record of nothing", record.headers):
            kinds[record.type].add(record.url)
        if record.type == "request":
            test.check(record.body.startswith(b"GET /") and AGENT.encode() in record.body
                       and record.body.endswith(b"\r\n\r\n"), "a request record", record.body)
        elif record.url == server.url("/plain"):
            test.check(b"via: " + server.url().encode() in record.body
                       and b"hopsFromSeed: L\r\n" in record.body
                       and b"fetchTimeMs: " in record.body, "a metadata record", record.body)
    expected = {url for url in responses_by_url(records)}
    for kind, urls in kinds.items():
        test.check(expected <= urls, f"{kind} records are missing", expected - urls)


def check_warcinfo(test, records, options):
    version = subprocess.run([options.trawl, "--version"], capture_output=True, text=True)
    infos = [record for record in records if record.type == "warcinfo"]
    test.check(infos, "no warcinfo record")
    for info in infos:
        text = info.body.decode()
        fields = dict(line.split(": ", 1) for line in text.split("\r\n") if line)
        expected = {"software": version.stdout.strip().replace(" ", "/"), "robots": "obey",
                    "operator": "the operator", "description": "a test \u00e9",
                    "http-header-user-agent": AGENT}
        test.check(expected.items() <= fields.items(), "the warcinfo record", fields)
        config = [line for line in text.split("\r\n") if line.startswith("config: ")]
        test.check('config: output.warc_prefix = "pay-loads"' in config
                   and any(line.startswith("config: crawl.seeds = [ ") for line in config)
                   and any(line.startswith("config: fetch.headers = ") and ": (hidden)" in line
                           for line in config)
                   and not any("s3cret" in line or "state_dir" in line for line in config),
                   "the config", config)
        test.check(re.fullmatch(r"pay-loads-\d{17}-\d{5}\.warc\.gz", info.file)
                   and info.headers.get("warc-filename") == info.file, "the file's name", info.file)


def check_index_lines(test, output, server):
    """Sorted by bytes, and with the keys that others look for."""
    lines = []
    for path in output.glob("*.cdxj"):
        data = path.read_bytes().splitlines(keepends=True)
        test.check(data == sorted(data), f"{path.name} is not sorted")
        lines += [line.decode() for line in data]
    by_url = {json.loads(line.split(" ", 2)[2])["url"]: line for line in lines}
    host = f"1,0,0,127:{server.port})"
    for path, key, mime, status in (("/", "/", "text/html", "200"),
                                    ("/missing", "/missing", "text/html", "404"),
                                    ("/binary", "/binary", "application/octet-stream", "200"),
                                    ("/Caf%C3%A9/?b=2&a=1", "/caf%c3%a9?a=1&b=2", "text/html",
                                     "200")):
        line = by_url.get(server.url(path))
        if test.check(line, f"{path} is not in the index"):
            entry = json.loads(line.split(" ", 2)[2])
            test.check(line.split(" ")[0] == host + key and entry["mime"] == mime
                       and entry["status"] == status
                       and re.fullmatch(r"\d{14}", line.split(" ")[1]), f"{path}: its line", line)


def with_other_tools(test, output, records):
    """Whichever of the field's own tools are installed agree."""
    program = shutil.which("warcio") or shutil.which("warcio.js")
    if program is None:
        print("  left out: no warcio here", flush=True)
        return
    for path in output.glob("*.warc.gz"):
        indexed = subprocess.run([program, "index", str(path)], capture_output=True, text=True,
                                 timeout=120)
        offsets = [int(json.loads(line)["offset"]) for line in indexed.stdout.splitlines()]
        expected = [record.offset for record in records if record.file == path.name]
        test.check(indexed.returncode == 0 and offsets == expected,
                   f"{program} reads {len(offsets)} of {len(expected)} records", indexed.stderr)


def tree(request):
    """TREE pages of noise, each with links to four more."""
    if request.path == "/robots.txt":
        return answer("none", "404 Not Found")
    number = int(request.path[1:] or 0)
    below = [f"/{child}" for child in range(number * 4 + 1, number * 4 + 5) if child < TREE]
    return answer(links(below) + noise(number))


def noise(number):
    return base64.b64encode(hashlib.sha512(str(number).encode()).digest() * 200).decode()


def killed(test, directory, options):
    """kill -9 while records are written, again and again; and at last an orderly end."""
    with ScriptedServer(tree) as server:
        state = directory / "killed"
        output = state / "output"
        config = t.write_config(directory / "killed.toml", t.fast_crawl(
            [server.url()], state, politeness={"delay": "3ms"},
            output={"warc": True, "warc_size": "200KiB"}))
        command = "crawl"
        for part in (1, 2, 3):
            crawl = t.Run(options, directory, command, config)
            t.wait_until(lambda: crawl.ended() or len(server.pages) >= part * TREE // 5,
                         "pages to be fetched")
            crawl.kill()
            test.check(crawl.exit_code == -9, f"the crawl had ended before it was killed: "
                       f"{crawl.exit_code}", crawl.tail())
            records = read_warcs(test, output, closed=False, torn=True)
            told = t.read_pages(test, state)
            check_places(test, told, records, crashed=True)
            command = "resume"
        # Under another name: the files of the old one are closed anyway.
        finished = t.run(options, directory, "resume", config, "--set",
                         'output.warc_prefix="after"')
        t.expect_exit(test, finished, t.EXIT_DONE, "resumed after kill -9")
        records = read_warcs(test, output)
        pages = t.read_pages(test, state)
        check_places(test, pages, records, crashed=True)
        check_index(test, output, records)
        read_with_gzip(test, output, records)
        expected = {server.url(f"/{number or ''}") for number in range(TREE)}
        captures = responses_by_url(records)
        test.check_equal_sets({page["url"] for page in pages}, expected, "pages after kill -9")
        test.check_equal_sets(set(captures), expected, "records after kill -9")
        left = [path.name for path in output.iterdir() if ".open" in path.name]
        test.check(not left, "files were left open", left)
        test.check(len(list(output.glob("*.warc.gz"))) > 3, "no new file was begun by size")


def relative(test, directory, options):
    """A crawl whose paths are relative continues, also from its directory, and from a copy of that."""
    with ScriptedServer(tree) as server:
        tables = t.fast_crawl([server.url()], "here", output={"warc": True},
                              scope={"max_pages": 20})
        config = t.write_config(directory / "relative.toml", tables)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "relative")
        tables["scope"]["max_pages"] = 40
        t.write_config(config, tables)
        t.expect_exit(test, t.run(options, directory, "resume", config), t.EXIT_DONE,
                      "relative, resumed")
        for place in ("here", "there"):
            if place == "there":
                shutil.copytree(directory / "here", directory / "there")
            finished = t.run(options, directory, "resume", place, "--set", "scope.max_pages=60",
                             "--set", f'crawl.state_dir="./{place}"')
            t.expect_exit(test, finished, t.EXIT_DONE, f"resumed by its directory {place}")
        read_warcs(test, directory / "here" / "output")


def dates(test, directory, options):
    """WARC-Date is when a request was sent, of robots.txt too, however long the answer takes."""
    asked = {}

    def respond(request):
        asked[request.path] = time.time()
        time.sleep(0.8)
        if request.path == "/robots.txt":
            return answer("User-agent: *\nDisallow:\n", content_type="text/plain")
        return answer(links(["/1"]))

    with ScriptedServer(respond) as server:
        state = directory / "dates"
        config = t.write_config(directory / "dates.toml", t.fast_crawl(
            [server.url()], state, output={"warc": True}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "dates")
        for record in read_warcs(test, state / "output"):
            if record.type not in ("response", "request"):
                continue
            text = record.headers["warc-date"].replace("Z", "+00:00")
            date = datetime.datetime.fromisoformat(text).timestamp()
            late = date - asked[record.url[len(server.url()) - 1:]]
            test.check(-0.4 < late < 0.2, f"WARC-Date of {record.type} {record.url}: {late:.3f} s after "
                       "the server got the request")


def warc(test, directory, options):
    dates(test, directory, options)
    relative(test, directory, options)
    payloads(test, directory, options)
    killed(test, directory, options)


if __name__ == "__main__":
    t.main(warc, t.parser(__doc__).parse_args())
