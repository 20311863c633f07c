"""Temporary failures are retried later; an overloaded host is parked."""

import concurrent.futures
import struct
import socket

import trawl_testing as t
from scripted_server import (NOT_FOUND, ScriptedServer, answer, check_gaps, http_date, links)
from warc_reader import check_places, read_warcs

BUSY = "503 Busy"


class Script:
    """Answers each path with one after the other of its answers, the last one again and again."""

    def __init__(self, answers):
        self.answers = {path: list(each) for path, each in answers.items()}

    def __call__(self, request):
        left = self.answers.get(request.path)
        if left is None:
            return NOT_FOUND
        chosen = left.pop(0) if len(left) > 1 else left[0]
        return chosen() if callable(chosen) else chosen


class Site(ScriptedServer):
    """A ScriptedServer and the crawl of it."""

    def __init__(self, answers, **arguments):
        super().__init__(Script(answers), **arguments)

    def crawl(self, options, directory, name, seeds=("/",), fetch=None, politeness=None,
              **tables):
        config = t.fast_crawl(
            [self.url(path) for path in seeds], directory / name, **tables,
            fetch={"retries": 3, "retry_delay": "50ms", "connections": 8, "threads": 1,
                   **(fetch or {})},
            politeness={"per_host_connections": 1, "host_backoff": "10ms",
                        "max_host_backoff": "100ms", **(politeness or {})})
        return t.run(options, directory, "crawl",
                     t.write_config(directory / f"{name}.toml", config), timeout=60)

    def of(self, path):
        return [request for request in self.requests if request.path == path]


def last_lines(test, directory, name):
    """The last line of each path: those of tries before it may be there, too."""
    return {path: lines[-1] for path, lines in
            t.by_path(t.read_pages(test, directory / name)).items()}


def transient(test, directory, options):
    """One try more for each thing that may pass; one try for what will not."""
    once = {
        "/503": answer("", BUSY),
        "/502": answer("", "502 Bad Gateway"),
        "/504": answer("", "504 Gateway Timeout"),
        "/520": answer("", "520 Odd"),
        "/408": answer("", "408 Request Timeout"),
        "/short": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n"
                  b"Connection: close\r\n\r\nhalf",
        "/nothing": None,
    }
    # A plain 500 is most often a page that is broken for good.
    never = {"/500": answer("", "500 Oops"), "/404": NOT_FOUND, "/403": answer("", "403 No"), "/410": answer("", "410 Gone"),
             "/400": answer("", "400 What?")}
    answers = {path: [first, answer("<p>" + path)] for path, first in once.items()}
    answers.update({path: [always] for path, always in never.items()})
    answers["/"] = [answer(links(answers))]
    with Site(answers) as site:
        crawl = site.crawl(options, directory, "transient", fetch={"retry_delay": "300ms"})
    t.expect_exit(test, crawl, t.EXIT_DONE, "transient failures")
    lines = last_lines(test, directory, "transient")
    test.check_equal_sets(set(lines), set(answers), "transient failures")
    for path in once:
        test.check(lines.get(path, {}).get("status") == 200, f"{path}: not fetched in the end",
                   lines.get(path))
        tries = site.of(path)
        # A connection that is closed without an answer may have been an old one.
        test.check(len(tries) == 2 or (path == "/nothing" and len(tries) in (2, 3)),
                   f"{path}: requested {len(tries)} times")
        if path != "/nothing":
            check_gaps(test, tries, 0.3 / 2, f"{path}: the wait before a retry")
    for path in never:
        test.check(len(site.of(path)) == 1, f"{path}: requested {len(site.of(path))} times")


def resets(test, directory, options):
    """A connection that is reset costs a try, not the page."""
    refused = [0]
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve():
        for number in range(100):
            try:
                peer = listener.accept()[0]
            except OSError:
                return
            if number < 2:
                refused[0] += 1
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                peer.recv(65536)
                peer.sendall(answer("<p>in the end", "200 OK", "Connection: close"))
            peer.close()

    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(serve)
        tables = t.fast_crawl([f"http://127.0.0.1:{port}/"], directory / "resets",
                              fetch={"retries": 3, "retry_delay": "20ms"},
                              politeness={"respect_robots": False, "host_backoff": "10ms"})
        crawl = t.run(options, directory, "crawl",
                      t.write_config(directory / "resets.toml", tables), timeout=60)
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    t.expect_exit(test, crawl, t.EXIT_DONE, "resets")
    lines = last_lines(test, directory, "resets")
    test.check(refused[0] == 2 and lines.get("/", {}).get("status") == 200,
               f"not fetched after {refused[0]} resets", lines)


def gives_up(test, directory, options):
    """The last response is reported and stored."""
    with Site({"/": [answer("", BUSY)]}) as site:
        crawl = site.crawl(options, directory, "gives_up", fetch={"retries": 2},
                           output={"warc": True})
    t.expect_exit(test, crawl, t.EXIT_INCOMPLETE, "a page that never comes")
    test.check(len(site.of("/")) == 3, f"requested {len(site.of('/'))} times with 2 retries")
    pages = t.read_pages(test, directory / "gives_up")
    test.check([(page["status"], page["attempts"]) for page in pages] == [(503, 3)],
               "not reported once, with its status and the number of attempts", pages)
    records = read_warcs(test, directory / "gives_up" / "output")
    check_places(test, pages, records)
    test.check(any(record.type == "response" and record.url == site.url() for record in records),
               "the last answer is in no WARC file")


def retry_after(test, directory, options):
    """As seconds, and as a date: and the whole host waits for it."""
    for name, status, header, least in (
            ("seconds", BUSY, lambda: "Retry-After: 1", 1.0),
            ("date", BUSY, lambda: f"Retry-After: {http_date(3)}", 1.9),
            ("too_many", "429 Too Many Requests", lambda: "Retry-After: 1", 1.0)):
        paths = [f"/{i}" for i in range(4)]
        with Site({"/": [answer(links(["/busy", *paths]))],
                   "/busy": [lambda: answer("", status, header()), answer("<p>now")],
                   **{path: [answer("<p>" + path)] for path in paths}}) as site:
            crawl = site.crawl(options, directory, f"after_{name}")
        t.expect_exit(test, crawl, t.EXIT_DONE, f"Retry-After, {name}")
        lines = last_lines(test, directory, f"after_{name}")
        good = {path for path, line in lines.items() if line["status"] == 200}
        test.check_equal_sets(good, {"/", "/busy", *paths}, f"Retry-After, {name}")
        asked = site.pages
        at = next((i for i, each in enumerate(asked) if each.path == "/busy"), None)
        if test.check(at is not None and at + 1 < len(asked), "nothing was asked after it",
                      site.paths()):
            check_gaps(test, asked[at:at + 2], least, f"Retry-After, {name}, the host")
        check_gaps(test, site.of("/busy"), least, f"Retry-After, {name}, the page")


def slowed_host(test, directory, options):
    """429 and 503 without Retry-After slow a host down; another host continues."""
    for status in ("429 Too Many Requests", BUSY):
        name = "slowed_" + status[:3]
        paths = [f"/{i}" for i in range(3)]
        with Site({"/": [answer(links(["/busy", *paths]))],
                   "/busy": [answer("", status)] * 3 + [answer("<p>now")],
                   **{path: [answer("<p>" + path)] for path in paths}}) as site:
            crawl = site.crawl(options, directory, name,
                               politeness={"host_backoff": "200ms", "max_host_backoff": "2s"})
        t.expect_exit(test, crawl, t.EXIT_DONE, name)
        asked = site.pages
        busy = [i for i, each in enumerate(asked) if each.path == "/busy"]
        test.check(len(busy) == 4, f"{name}: requested {len(busy)} times", site.paths())
        for at in busy[:3]:
            check_gaps(test, asked[at:at + 2], 0.2 / 2, f"{name}: after {status}")


def parked_host(test, directory, options):
    """A host that keeps failing is parked, the crawl of another continues and ends, and says
    so."""
    many = [f"/{i}" for i in range(40)]
    good = ScriptedServer({"/": answer(links(many)),
                           **{path: answer("<p>" + path) for path in many}})
    with Site({"/": [answer(links(many))], **{path: [None] for path in many}}) as bad, good:
        tables = t.fast_crawl(
            [bad.url(), good.url()], directory / "parked",
            fetch={"retries": 1, "retry_delay": "10ms"},
            politeness={"per_host_connections": 1, "host_failures": 4, "host_backoff": "10ms",
                        "max_host_backoff": "20ms"})
        crawl = t.run(options, directory, "crawl",
                      t.write_config(directory / "parked.toml", tables), timeout=60)
    t.expect_exit(test, crawl, t.EXIT_INCOMPLETE, "a host that keeps failing")
    asked = [request for request in bad.pages if request.path != "/"]
    test.check(len(asked) <= 20, f"{len(asked)} requests to a host that is parked after 4 failures")
    test.check_equal_sets({request.path for request in good.pages}, {"/", *many}, "the other host")
    test.check("hosts parked after too many failures: 1" in crawl.text,
               "the summary does not report the parked host", crawl.tail())


def retries(test, directory, options):
    parts = (transient, resets, gives_up, retry_after, slowed_host, parked_host)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options))


if __name__ == "__main__":
    t.main(retries, t.parser(__doc__).parse_args())
