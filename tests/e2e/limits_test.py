"""Every limit of a config, each with its own reason, and what a crawl ends with at its own."""

import gzip
import os
import re
import time

import trawl_testing as t
from hostile_server import HTML, OK, Gone, Host, drips, encoded, endless, gzip_bomb, not_found
from scripted_server import ScriptedServer, answer, links, redirect

MIB = 1 << 20


def pages_host(pages):
    """A Host with those pages, all linked from "/"; callable ones write their own response."""
    def respond(connection, path):
        if path == "":
            connection.reply(links(["/" + name for name in pages]).encode())
        elif path in pages:
            pages[path](connection) if callable(pages[path]) else connection.reply(pages[path])
        else:
            not_found(connection)
    return Host(respond)


def crawl(options, directory, name, seed, *flags, **tables):
    config = t.write_config(directory / f"{name}.toml",
                            t.fast_crawl([seed], directory / name, **tables))
    return t.run(options, directory, "crawl", config, *flags)


def check_reasons(test, directory, name, expected):
    """`expected`: the reason by path; None for a page that is good."""
    pages = t.by_path(t.read_pages(test, directory / name))
    for path, reason in expected.items():
        lines = pages["/" + path]
        if test.check(len(lines) == 1, f"{name}: /{path}: {len(lines)} lines", lines):
            got = lines[0]["reason"]
            test.check(got == reason, f"{name}: /{path}: reason {got!r}, expected {reason!r}",
                       lines[0])


def times(test, directory, options):
    """First byte, all of it, and the speed in between."""
    def paced(size, pause, seconds):
        def act(c):
            c.send(OK + HTML + b"\r\n")
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                c.send(b"x" * size)
                time.sleep(pause)
            raise Gone
        return act

    host = pages_host({
        "late": lambda c: c.stall(),
        "slow": paced(10, 0.1, 10),
        "endless": paced(10_000, 0.05, 10),
        "slow-head": drips(OK, b"X-Slow: " + b"a" * 200),
        "good": b"<p>good",
        "patient": paced(2_000, 0.1, 1.5),
    })
    fetch = {"first_byte_timeout": "1s", "timeout": "4s", "min_speed": 1000,
             "min_speed_time": "1s", "connections": 16}
    try:
        finished = crawl(options, directory, "times", host.url(), fetch=fetch,
                         politeness={"per_host_connections": 16})
    finally:
        host.stop()
    t.expect_exit(test, finished, t.EXIT_DONE, "times")
    check_reasons(test, directory, "times", {
        "late": "first byte timeout", "slow": "too slow", "endless": "timeout", "good": None,
        "patient": None})
    # Each is counted.
    for reason in ("first byte timeout", "too slow", "timeout"):
        test.check(re.search(rf"\b{reason} +\d", finished.text),
                   f"the summary does not count \"{reason}\"", finished.tail())


def sizes(test, directory, options):
    host = pages_host({
        "body": b"<p>" + b"x" * 50_000,
        "just": b"x" * 20_000,
        "over": b"x" * 20_001,
        "unannounced": endless(OK + HTML + b"\r\n", b"x" * 4096),
        "bomb": encoded(b"gzip", gzip_bomb(10)),
        "packed": encoded(b"gzip", gzip.compress(b"<p>" * 2000)),
        "headers": lambda c: c.reply(b"", b"X-A: %s\r\n" % (b"a" * 20_000)),
        "many-headers": lambda c: c.reply(b"", b"X-A: aaaaaaaaaaaaaaaaaaaaaaa\r\n" * 1000),
        "few-headers": lambda c: c.reply(b"", b"X-A: aaaaaaaaaaaaaaaaaaaaaaa\r\n" * 100),
    })
    try:
        first = crawl(options, directory, "sizes", host.url(),
                      fetch={"max_body": 20_000, "max_download": "1MB", "max_header": 10_000})
        host.paths.clear()
        second = crawl(options, directory, "downloads", host.url(),
                       fetch={"max_body": "20MB", "max_download": 20_000})
    finally:
        host.stop()
    t.expect_exit(test, first, t.EXIT_DONE, "sizes")
    t.expect_exit(test, second, t.EXIT_DONE, "downloads")
    check_reasons(test, directory, "sizes", {
        "body": "body too large", "just": None, "over": "body too large",
        "unannounced": "body too large", "bomb": "body too large", "packed": None,
        "headers": "headers too large", "many-headers": "headers too large", "few-headers": None})
    check_reasons(test, directory, "downloads", {
        "body": "download too large", "just": None, "over": "download too large",
        "unannounced": "download too large", "bomb": None, "packed": None})


class TypedHost(Host):
    """Long pages by type; records how much of each it could send."""

    SIZE = 64 * MIB

    def __init__(self, types):
        self.sent = {}
        self.types = types
        super().__init__(self._respond)

    def _respond(self, connection, path):
        if path == "":
            return connection.reply(links(self.types).encode())
        if path not in self.types:
            return not_found(connection)
        kind = self.types[path]
        if kind is None or not kind.startswith("!"):
            return connection.reply(b"<p>short", b"Content-Type: %s\r\n" % kind.encode()
                                    if kind else b"")
        self.sent[path] = 0
        connection.send(OK + b"Content-Type: %s\r\nContent-Length: %d\r\n\r\n"
                        % (kind[1:].encode(), self.SIZE))
        for _ in range(self.SIZE // 65536):
            connection.send(b"x" * 65536)
            self.sent[path] += 65536


def types(test, directory, options):
    """What is not wanted is cut off after the headers; what is kept is a question of its own."""
    host = TypedHost({"video": "!video/mp4", "binary": "!application/octet-stream",
                      "image": "!IMAGE/png; x=y", "html": "text/html", "plain": "text/plain",
                      "untyped": None})
    try:
        finished = crawl(options, directory, "types", host.url(),
                         fetch={"content_types": ["text/*"], "max_body": "100MB",
                                "max_download": "100MB"})
    finally:
        host.stop()
    t.expect_exit(test, finished, t.EXIT_DONE, "types")
    check_reasons(test, directory, "types", {
        "video": "unwanted type", "binary": "unwanted type", "image": "unwanted type",
        "html": None, "plain": None})
    for path in ("video", "binary", "image"):
        sent = host.sent.get(path, host.SIZE)
        test.check(sent < 16 * MIB, f"/{path}: {sent >> 20} MiB were taken of what is not wanted")
    pages = t.by_path(t.read_pages(test, directory / "types"))
    for path in ("/video", "/binary"):
        test.check(pages[path] and pages[path][0]["status"] == 200
                   and pages[path][0]["content_type"], f"{path}: its head is not reported", pages[path])


def redirects(test, directory, options):
    """Each hop goes through the scope, robots.txt and what was seen before."""
    with ScriptedServer({}) as other:
        answers = {
            "/": answer(links(["/chain-0", "/out", "/forbidden", "/again-1", "/again-2", "/deep"])),
            "/robots.txt": answer("User-agent: *\nDisallow: /private\n", content_type="text/plain"),
            **{f"/chain-{i}": redirect(f"/chain-{i + 1}") for i in range(20)},
            "/out": redirect(other.url("/elsewhere")), "/forbidden": redirect("/private/x"),
            "/again-1": redirect("/target"), "/again-2": redirect("/target"),
            "/target": answer("<p>t"),
            "/deep": redirect("/landing"), "/landing": answer(links(["/too-deep"])),
        }
        with ScriptedServer(answers) as server:
            finished = crawl(options, directory, "redirects", server.url(),
                             fetch={"max_redirects": 5}, scope={"max_depth": 1})
        test.check(not other.requests, "a redirect led out of scope", other.paths())
    t.expect_exit(test, finished, t.EXIT_DONE, "redirects")
    expected = {"/", "/out", "/forbidden", "/again-1", "/again-2", "/target", "/deep", "/landing",
                *(f"/chain-{i}" for i in range(6))}
    test.check_equal_sets(set(server.paths()), expected, "redirects")
    test.check(not t.repeats(server.paths()), "requested twice", server.paths())
    for reason in ("too many redirects 1", "too deep 1"):
        test.check(reason in finished.text, f"no \"{reason}\" in the summary", finished.tail())


def lost_urls(test, directory, options):
    """What the filter lost is in the summary, which says what is not counted there."""
    leaves = [f"/{i}" for i in range(900)]
    answers = {"/": answer(links(leaves)), **{path: answer("<p>leaf") for path in leaves}}
    with ScriptedServer(answers) as server:
        finished = crawl(options, directory, "lost-urls", server.url(), "-v",
                         filter={"expected_urls": 200, "false_positive_rate": 0.3})
    t.expect_exit(test, finished, t.EXIT_DONE, "lost URLs")
    told = re.search(r"URLs lost to false positives: about ([\d.]+), not counting URLs "
                     r"linked only from lost pages\n", finished.text)
    missing = len(set(leaves) - set(server.paths()))
    test.check(told is not None and missing > 0, "the summary does not count lost URLs",
               finished.tail())
    # Each is lost by chance: 6 standard deviations.
    if told is not None:
        expected = float(told.group(1))
        test.check(abs(missing - expected) <= 6 * expected ** 0.5 + 10,
                   f"{missing} URLs are missing, {expected} expected", finished.tail())


def long_names(test, directory, options):
    """A link to a host whose name is too long ends as failed, and the crawl continues."""
    name = ".".join(["a" * 60] * 6) + ".example"
    answers = {"/": answer(links([f"http://{name}/", "/page"])), "/page": answer("<p>page")}
    with ScriptedServer(answers) as server:
        finished = crawl(options, directory, "long-names", server.url(),
                         scope={"type": "any", "max_pages_per_host": 10})
    t.expect_exit(test, finished, t.EXIT_DONE, "a host with a long name")
    pages = t.by_path(t.read_pages(test, directory / "long-names"))
    test.check("/page" in pages and pages["/page"][0]["status"] == 200, "its neighbour", pages)


def tree(width):
    """Pages of 10 kB that lead on to `width` more each, without end."""
    def respond(request):
        if request.path == "/robots.txt":
            return answer("none", "404 Not Found")
        base = "" if request.path == "/" else request.path
        return answer(links(f"{base}/{i}" for i in range(width)) + request.path + "x" * 10_000)
    return respond


def whole_crawls(test, directory, options):
    """Limits of the whole crawl: each ends it with its own code and continues when it is raised."""
    with ScriptedServer(tree(3)) as server:
        bytes_ = crawl(options, directory, "max_bytes", server.url(), scope={"max_bytes": 200_000})
        t.expect_exit(test, bytes_, t.EXIT_MAX_BYTES, "scope.max_bytes")
        test.check(re.search(r"trawl resume \S+", bytes_.text) and "max_bytes" in bytes_.text,
                   "limit or resume command missing", bytes_.tail())
        pages = t.read_pages(test, directory / "max_bytes")
        total = sum(page["bytes"] for page in pages)
        # Those in flight are finished.
        test.check(200_000 <= total <= 200_000 + 10 * 12_000, f"{total} bytes, max_bytes 200,000")
        more = t.run(options, directory, "resume", directory / "max_bytes.toml", "--set",
                     "scope.max_bytes=400000")
        t.expect_exit(test, more, t.EXIT_MAX_BYTES, "resumed with a higher max_bytes")
        pages = t.read_pages(test, directory / "max_bytes")
        total = sum(page["bytes"] for page in pages)
        test.check(400_000 <= total <= 400_000 + 10 * 12_000,
                   f"{total} bytes in two runs, max_bytes 400,000")
        test.check(not t.repeats(page["url"] for page in pages), "a page was fetched twice")

        begun = time.monotonic()
        late = crawl(options, directory, "max_time", server.url(), scope={"max_time": "1s"},
                     politeness={"delay": "20ms", "per_host_connections": 1})
        t.expect_exit(test, late, t.EXIT_MAX_TIME, "scope.max_time")
        test.check(time.monotonic() - begun >= 1, "it ended before scope.max_time")
        test.check("max_time" in late.text, "the limit is not reported", late.tail())

        few = crawl(options, directory, "max_pages", server.url(), scope={"max_pages": 25})
        t.expect_exit(test, few, t.EXIT_DONE, "scope.max_pages")
        pages = t.read_pages(test, directory / "max_pages")
        test.check(len(pages) == 25, f"{len(pages)} pages, max_pages 25")


def hosts(test, directory, options):
    """Pages and queued URLs of a host."""
    with ScriptedServer(tree(3), ["127.0.0.1", "127.0.0.2"]) as server:
        def run(name, limits):
            tables = t.fast_crawl([server.url(host=host) for host in ("127.0.0.1", "127.0.0.2")],
                                  directory / name, scope=limits)
            finished = t.run(options, directory, "crawl",
                             t.write_config(directory / f"{name}.toml", tables))
            t.expect_exit(test, finished, t.EXIT_DONE, name)
            by_host = {host: 0 for host in ("127.0.0.1", "127.0.0.2")}
            for page in t.read_pages(test, directory / name):
                by_host[re.match(r"http://([\d.]+)", page["url"]).group(1)] += 1
            return finished, by_host

        finished, counts = run("max_pages_per_host", {"max_pages_per_host": 20})
        test.check(set(counts.values()) == {20}, "scope.max_pages_per_host = 20", counts)
        finished, counts = run("max_urls_per_host", {"max_urls_per_host": 20})
        test.check(all(15 <= count <= 25 for count in counts.values()),
                   "scope.max_urls_per_host = 20", counts)
        test.check(re.search(r"too many URLs of (the|a|its) host|too many URLs", finished.text),
                   "the skipped links are not counted", finished.tail())


def memory(test, directory, options):
    """Many large bodies at once, and a disk that has to take them: fetch.max_memory bounds it."""
    size, number = 8 * MIB, 30
    noise = os.urandom(size - 100)  # does not compress

    def large(c):
        c.send(OK + b"Content-Type: text/html\r\nContent-Length: %d\r\n\r\n" % size)
        # No two pages alike: each begins with random bytes of its own.
        c.send(os.urandom(100) + noise)

    host = pages_host({f"large-{i}": large for i in range(number)})
    try:
        finished = crawl(options, directory, "memory", host.url(), output={"warc": True},
                         fetch={"max_memory": "64MiB", "max_body": "10MiB", "connections": number,
                                "timeout": "110s", "first_byte_timeout": "50s"},
                         politeness={"per_host_connections": number})
    finally:
        host.stop()
    t.expect_exit(test, finished, t.EXIT_DONE, "fetch.max_memory")
    pages = t.read_pages(test, directory / "memory")
    good = [page for page in pages if page["status"] == 200 and not page["error"]]
    test.check(len(good) == number + 1, f"{len(good)} of {number + 1} pages",
               [page for page in pages if page["error"]][:3])
    peak = finished.peak_memory >> 20
    print(f"{number} bodies of {size >> 20} MiB, fetch.max_memory 64 MiB: peak {peak} MiB")
    if options.max_memory:
        test.check(peak < options.max_memory, f"peak memory {peak} MiB")


def limits(test, directory, options):
    parts = (times, sizes, types, redirects, lost_urls, long_names, whole_crawls, hosts)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=2)
    t.run_parts(test, [(memory,)], (test, directory, options))


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--max-memory", type=int, default=300, help="MiB; 0: any")
    t.main(limits, arguments.parse_args())
