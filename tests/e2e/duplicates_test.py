"""Pages with a body that was seen before are reported, and written once."""

import contextlib
import gzip
import http.server
import random
import threading
import time

import trawl_testing as t
from scripted_server import NOT_FOUND, ScriptedServer, answer, links, redirect
from warc_reader import check_index, check_places, digest, read_warcs


def crawl(test, directory, options, name, server, **tables):
    """One page after the other, so that which of two comes first is known."""
    config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], directory / name,
        **{"fetch": {"threads": 1, "connections": 1},
           "politeness": {"delay": "0ms", "per_host_connections": 1}, **tables}))
    finished = t.run(options, directory, "crawl", config)
    t.expect_exit(test, finished, t.EXIT_DONE, name)
    return t.by_path(t.read_pages(test, directory / name))


COPY = "<p>the same on each of them <a href=below>x</a>"
COPY_XXH128 = "xxh128:60d598899baf5f3e6157c5bbd41a1420"  # by xxhsum -H2


def site(zipped=False):
    packed = gzip.compress(COPY.encode())
    head = (f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
            f"Content-Length: {len(packed)}\r\n\r\n").encode()
    names = ["/a/", "/b/", "/c/", *(["/zipped/"] if zipped else []), "/other/", "/empty-1", "/empty-2", "/gone-1",
             "/gone-2", "/moved-1", "/moved-2"]
    return {
        "/": answer(links(names)),
        "/a/": answer(COPY), "/b/": answer(COPY), "/c/": answer(COPY),
        "/zipped/": head + packed,  # the same page, but not the same bytes
        "/other/": answer(COPY + "<p>and more"),
        **{f"/{name}/below": answer("<p>below " + name) for name in ("a", "b", "c", "other")},
        "/zipped/below": answer("<p>below zipped"),
        # Not copies of each other: the body is empty, or it is not a page.
        "/empty-1": answer(""), "/empty-2": answer(""),
        "/gone-1": answer("not here", "404 Not Found"),
        "/gone-2": answer("not here", "404 Not Found"),
        "/moved-1": redirect("/a/"), "/moved-2": redirect("/a/"),
    }


def reachable():
    return {path for path in site() if not path.startswith("/zipped")}


def check_told(test, server, pages, sha1=True):
    first = server.url("/a/")
    for path in ("/b/", "/c/"):
        test.check(pages[path] and pages[path][0]["duplicate_of"] == first,
                   f"{path}: not reported as a copy of {first}", pages[path])
    for path, lines in pages.items():
        if path not in ("/b/", "/c/", "/zipped/"):
            test.check(lines[0]["duplicate_of"] is None, f"{path}: reported as a copy", lines)
    # XXH128 by default, SHA-1 if requested and with WARC files.
    expected = digest(COPY.encode()) if sha1 else COPY_XXH128
    for path in ("/a/", "/b/"):
        test.check(pages[path] and pages[path][0]["digest"] == expected,
                   f"{path}: not the digest of its body", pages[path])


def told(test, directory, options):
    with ScriptedServer(site()) as server:
        pages = crawl(test, directory, options, "reported", server, output={"digest": "sha1"})
    check_told(test, server, pages)
    test.check_equal_sets(set(pages), reachable(), "links of copies are followed")


def not_followed(test, directory, options):
    """Of a copy that comes after its first was written, which is waited for here."""
    answers = site()
    first_line = directory / "not_followed" / "output" / "pages.jsonl"

    def respond(request):
        if request.path in ("/b/", "/c/"):
            t.wait_until(lambda: b"/a/\"" in first_line.read_bytes(), "the line of the first", 20)
        return answers.get(request.path)

    with ScriptedServer(lambda request: respond(request) or NOT_FOUND) as server:
        pages = crawl(test, directory, options, "not_followed", server,
                      links={"from_duplicates": False})
    check_told(test, server, pages, sha1=False)
    expected = reachable() - {"/b/below", "/c/below"}
    test.check_equal_sets(set(pages), set(expected), "links.from_duplicates = false")
    test.check_equal_sets(set(server.paths()), set(expected), "links.from_duplicates = false")


def written_once(test, directory, options):
    """In WARC files a copy is a revisit record that names the first, also after a restart."""
    with ScriptedServer(site(zipped=True)) as server:
        crawl(test, directory, options, "written", server, output={"warc": True},
              scope={"max_pages": 3})
        config = directory / "written.toml"
        config.write_text(config.read_text().replace("max_pages = 3\n", ""))
        t.expect_exit(test, t.run(options, directory, "resume", config), t.EXIT_DONE, "resumed")
        pages = t.by_path(t.read_pages(test, directory / "written"))
        test.check(not t.repeats(server.paths()), "requested twice", server.paths())
    check_told(test, server, pages)
    by_url = {}
    records = read_warcs(test, directory / "written" / "output")
    for record in records:
        if record.type in ("response", "revisit"):
            by_url.setdefault(record.url, []).append(record)
    first = by_url[server.url("/a/")][0] if server.url("/a/") in by_url else None
    for path in ("/a/", "/b/", "/c/", "/zipped/", "/other/", "/empty-2", "/gone-2", "/moved-2"):
        found = by_url.get(server.url(path), [])
        expected = ["revisit" if path in ("/b/", "/c/") else "response"]
        test.check([record.type for record in found] == expected,
                   f"{path}: records {[record.type for record in found]}, expected {expected}")
        for record in found:
            # What stands for other bytes than those of the first would not be what was sent.
            if record.type == "revisit" and first is not None:
                headers = record.headers
                test.check(headers.get("warc-refers-to-target-uri", "").strip("<>")
                           == server.url("/a/"), f"{path}: does not refer to the first", headers)
                test.check(headers.get("warc-payload-digest")
                           == first.headers.get("warc-payload-digest"),
                           f"{path}: refers to another payload", headers)
                test.check(headers.get("warc-refers-to-date") == first.headers.get("warc-date"),
                           f"{path}: refers to another date", headers)
                test.check(b"the same on each" not in record.body, f"{path}: written again")
    check_places(test, [line for lines in pages.values() for line in lines], records)
    check_index(test, directory / "written" / "output", records)


class Crowd:
    """Web servers on many addresses, each with a thread for each connection. An answer waits for
    others, so that those of one body are on their way at the same time."""

    HOSTS, PAGES, AT_ONCE = 12, 12, 24

    def __init__(self):
        self.barrier = threading.Barrier(self.AT_ONCE)
        self.lock = threading.Lock()
        self.now = self.most = self.answered = 0
        # Large, and slow to compress: several threads make the records at the same time.
        self.bodies = [random.Random(n).randbytes(60_000).hex().encode() for n in range(4)]
        self.port = t.free_port()
        crowd = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                crowd.answer(self)

            def log_message(self, *_):
                pass

        self.servers = []
        for host in self.hosts():
            server = http.server.ThreadingHTTPServer((host, self.port), Handler)
            server.daemon_threads = True
            server.handle_error = lambda *_: None  # the crawl was killed
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            self.servers.append(server)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def hosts(self):
        return [f"127.0.7.{i + 1}" for i in range(self.HOSTS)]

    def urls(self):
        return [f"http://{host}:{self.port}/{page}" for host in self.hosts() for page in range(self.PAGES)]

    def body_of(self, path):
        return self.bodies[int(path[1:]) % len(self.bodies)]

    @staticmethod
    def is_left_out(host, path):
        """Of the last body, most ask not to be kept: those of the first to come, too."""
        return int(path[1:]) % 4 == 3 and int(host.rsplit(".", 1)[1]) < 9

    def answer(self, request):
        if request.path == "/robots.txt":
            request.send_response(404)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        with contextlib.suppress(threading.BrokenBarrierError):
            self.barrier.wait(0.2)
        if self.barrier.broken:
            self.barrier.reset()
        with self.lock:
            self.now -= 1
            self.answered += 1
        body = self.body_of(request.path)
        request.send_response(200)
        request.send_header("Content-Type", "text/plain")
        request.send_header("Content-Length", str(len(body)))
        if self.is_left_out(request.server.server_address[0], request.path):
            request.send_header("X-Robots-Tag", "noarchive")
        request.end_headers()
        request.wfile.write(body)


def crowd_config(path, state, crowd):
    return t.write_config(path, t.fast_crawl(
        crowd.urls(), state, output={"warc": True, "warc_size": "256KiB", "respect_noarchive": True},
        fetch={"threads": 4, "connections": 64, "timeout": "20s"}))


def check_stored(test, crowd, directory, most=1):
    """Each body has one record, `most` if crashes lost what was known of it, and all else of it
    refers to one that is there. Returns the URLs that have a record."""
    records = [record for record in read_warcs(test, directory)
               if not record.url.endswith("/robots.txt")]
    stored = {}
    for record in records:
        if record.type == "response":
            stored.setdefault(record.headers["warc-payload-digest"], []).append(record)
    test.check_equal_sets(set(stored), {digest(body) for body in crowd.bodies}, "bodies stored")
    for which, found in stored.items():
        test.check(1 <= len(found) <= most, f"{which} is stored {len(found)} times",
                   [record.url for record in found])
    places = {(record.url, record.headers["warc-date"], which)
              for which, found in stored.items() for record in found}
    for record in records:
        if record.type == "revisit":
            names = record.headers
            refers = (names.get("warc-refers-to-target-uri"), names.get("warc-refers-to-date"),
                      names.get("warc-payload-digest"))
            test.check(refers in places, f"{record.url} refers to what is not there", names)
            test.check(not record.payload(), f"{record.url} has the body")
    check_index(test, directory, read_warcs(test, directory))
    return {record.url for record in records if record.type in ("response", "revisit")}


def kept_urls(crowd):
    return {url for url in crowd.urls()
            if not crowd.is_left_out(url.split("/")[2].split(":")[0], "/" + url.rsplit("/", 1)[1])}


def at_once(test, directory, options):
    """Copies that several threads get at the same time, in many files."""
    with Crowd() as crowd:
        config = crowd_config(directory / "crowd.toml", directory / "crowd", crowd)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "a crowd")
        test.check(crowd.most >= crowd.AT_ONCE, "the copies did not come at once", crowd.most)
        urls = check_stored(test, crowd, directory / "crowd" / "output")
        test.check_equal_sets(urls, kept_urls(crowd), "records")
    pages = t.read_pages(test, directory / "crowd")
    for body in crowd.bodies:
        firsts = [page["url"] for page in pages
                  if page["digest"] == digest(body) and page["duplicate_of"] is None]
        test.check(len(firsts) == 1, "more than one first", firsts)


def killed(test, directory, options):
    """kill -9 anywhere: what a crash cut off is not referred to."""
    state = directory / "killed"
    with Crowd() as crowd:
        config = crowd_config(directory / "killed.toml", state, crowd)
        kills, chance = 0, random.Random()
        verb = "crawl"
        while True:
            run = t.Run(options, directory, verb, config)
            until = crowd.answered + chance.randint(5, 40)
            t.wait_until(lambda: run.ended() or crowd.answered >= until, "pages", 60)
            time.sleep(chance.uniform(0, 0.02))
            if run.ended():
                break
            run.kill()
            kills += 1
            verb = "resume"
            if kills == 6:
                run = t.run(options, directory, verb, config)
                break
        t.expect_exit(test, run, t.EXIT_DONE, "resumed after kills")
        test.check(kills > 1, "it was killed more than once", kills)
        urls = check_stored(test, crowd, state / "output", most=1 + kills)
        test.check_equal_sets(urls, kept_urls(crowd), "records")


def duplicates(test, directory, options):
    parts = (told, not_followed, written_once, at_once, killed)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    t.main(duplicates, t.parser(__doc__).parse_args())
