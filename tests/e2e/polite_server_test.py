"""The delay is kept whatever a server does to connections; slow pages cost only themselves."""

import concurrent.futures
import re
import signal
import socket
import threading
import time
import urllib.parse

import trawl_testing as t
from scripted_server import ScriptedServer, answer, check_gaps, links


def check_fetched(test, state, urls, what):
    pages = t.read_pages(test, state)
    test.check_equal_sets(t.keys_of(pages), urls, what)
    test.check(len(pages) == len(urls), f"{what}: {len(pages)} lines of output")
    failed = [page for page in pages if page["error"] or page["status"] != 200]
    test.check(not failed, f"{what}: failed pages", failed)


def dropped_connections(test, directory, options):
    paths = [f"/{i}" for i in range(7)]

    def respond(request):
        if request.number == 3:
            return None
        if request.path == "/robots.txt":
            return answer("", "404 Not Found")
        return answer(links(paths))

    with ScriptedServer(respond) as server:
        state = directory / "dropped"
        config = t.write_config(directory / "dropped.toml", t.fast_crawl(
            [server.url()], state, politeness={"delay": "200ms", "per_host_connections": 1}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE,
                      "dropped connections")
    check_fetched(test, state, {server.url(path) for path in ["/", *paths]},
                  "dropped connections")
    dropped = len(server.requests) - len(paths) - 2
    test.check(dropped >= 3, f"only {dropped} requests were dropped", server.requests)
    check_gaps(test, server.requests, 0.2, "dropped connections")


def longer_delay_at_resume(test, directory, options):
    paths = [f"/{i}" for i in range(5)]

    def respond(request):
        if request.path == "/robots.txt":
            return answer("User-agent: *\nCrawl-delay: 0.5\n")
        return answer(links(paths))

    with ScriptedServer(respond) as server:
        state = directory / "longer"
        config = t.write_config(directory / "longer.toml", t.fast_crawl(
            [server.url()], state, politeness={"delay": "100ms", "per_host_connections": 1}))
        crawl = t.Run(options, directory, "crawl", config)
        t.wait_until(lambda: len(server.requests) >= 4 or crawl.ended(), "requests")
        crawl.signal(signal.SIGINT)
        crawl.wait()
        t.expect_exit(test, crawl, t.EXIT_INTERRUPTED, "a crawl with a Crawl-delay")
        before = len(server.requests)
        check_gaps(test, server.requests, 0.5, "Crawl-delay")
        resumed = t.run(options, directory, "resume", config, "--set", "politeness.delay=1s")
        t.expect_exit(test, resumed, t.EXIT_DONE, "resumed with a longer delay")
    after = server.requests[before:]
    test.check(len(after) >= 3, f"only {len(after)} requests after the resume")
    check_gaps(test, after, 1.0, "resumed with a longer delay")
    check_fetched(test, state, {server.url(path) for path in ["/", *paths]},
                  "resumed with a longer delay")


def endless_robots(test, directory, options):
    paths = [f"/{i}" for i in range(3)]

    def respond(request):
        if request.path == "/robots.txt":
            return answer("", "302 Found", "Location: /robots.txt")
        return answer(links(paths))

    with ScriptedServer(respond) as server:
        state = directory / "endless"
        config = t.write_config(directory / "endless.toml", t.fast_crawl(
            [server.url()], state, politeness={"delay": "100ms", "per_host_connections": 1}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE,
                      "a robots.txt that redirects to itself")
    check_fetched(test, state, {server.url(path) for path in ["/", *paths]},
                  "a robots.txt that redirects to itself")
    asked = [request.path for request in server.requests].count("/robots.txt")
    test.check(asked == 6, f"robots.txt requested {asked} times")
    check_gaps(test, server.requests, 0.1, "a robots.txt that redirects to itself")


def unavailable_robots(test, directory, options):
    paths = [f"/{i}" for i in range(4)]
    failures = [answer("", "503 Busy"), answer("", "429 Slow down", "Retry-After: 1"), None]

    def respond(request):
        if request.path == "/robots.txt":
            return failures.pop(0) if failures else answer("User-agent: *\nDisallow: /no\n")
        return answer(links([*paths, "/no"]))

    with ScriptedServer(respond) as server:
        state = directory / "unavailable"
        config = t.write_config(directory / "unavailable.toml", t.fast_crawl(
            [server.url()], state, politeness={"delay": "100ms", "per_host_connections": 1,
                                               "robots_backoff": "10ms"}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE,
                      "a robots.txt that is there at the fourth try")
    check_fetched(test, state, {server.url(path) for path in ["/", *paths]},
                  "a robots.txt that is there at the fourth try")
    asked = [request.path for request in server.requests]
    rules_at = len(asked) - asked[::-1].index("/robots.txt") - 1
    test.check(asked[:rules_at] == ["/robots.txt"] * 3,
               "something was requested before the rules were known", asked)
    check_gaps(test, server.requests, 0.1, "tries for robots.txt")
    check_gaps(test, server.requests[1:3], 1.0, "Retry-After")


def dead_robots(test, directory, options):
    with ScriptedServer(lambda _: answer("", "500 Broken")) as server:
        state = directory / "dead"
        urls = [server.url(f"/{i}") for i in range(20)]
        config = t.write_config(directory / "dead.toml", t.fast_crawl(
            urls, state, politeness={"robots_backoff": "10ms", "robots_retries": 2}))
        crawl = t.run(options, directory, "crawl", config)
        t.expect_exit(test, crawl, t.EXIT_INCOMPLETE, "a site without a robots.txt to be had")
    test.check("robots.txt: status 500" in crawl.text, "the reason is not reported", crawl.text)
    test.check("still queued 20," in crawl.text, "URLs were lost that nobody requested", crawl.text)
    test.check(not t.read_pages(test, state), "a URL ended that nobody requested")
    asked = [request.path for request in server.requests]
    test.check(asked == ["/robots.txt"] * 3, "other requests than for robots.txt", asked)


class SlowPages:
    """Pages that take long to parse, together with pages that take two seconds to respond."""

    NUMBER = 12

    def __init__(self):
        # Each end tag searches all open elements, and finds none.
        body = "".join(f"<b id={i}>" for i in range(400))
        self.hard = answer(body + "</x>" * ((1 << 20) // 4))
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.hard_paths = [f"/hard-{i}" for i in range(self.NUMBER)]
        self.good_paths = [f"/good-{i}" for i in range(self.NUMBER)]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def _accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                while True:
                    received = b""
                    while b"\r\n\r\n" not in received:
                        more = connection.recv(65536)
                        if not more:
                            return
                        received += more
                    connection.sendall(self._respond(received.split(b" ", 2)[1].decode()))
            except OSError:
                return

    def _respond(self, path):
        if path == "/robots.txt":
            return answer("", "404 Not Found")
        if path.startswith("/hard-"):
            return self.hard
        if path.startswith("/good-"):
            time.sleep(2)
            return answer("<p>a good page</p>")
        mixed = [path for pair in zip(self.hard_paths, self.good_paths) for path in pair]
        return answer(links(mixed))


def slow_parsing(test, directory, options):
    server = SlowPages()
    state = directory / "slow"
    config = t.write_config(directory / "slow.toml", t.fast_crawl(
        [server.url()], state, politeness={"per_host_connections": 2 * server.NUMBER},
        fetch={"threads": 1, "connections": 2 * server.NUMBER, "timeout": "6s"}))
    try:
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE,
                      "slow pages")
    finally:
        server.listener.close()
    pages = t.read_pages(test, state)
    urls = {server.url(path) for path in ["/", *server.hard_paths, *server.good_paths]}
    test.check_equal_sets(t.keys_of(pages), urls, "slow pages")
    for page in pages:
        path = urllib.parse.urlsplit(page["url"]).path
        if re.match("/good-", path):
            test.check(page["status"] == 200 and not page["error"],
                       f"{path} suffered from slow pages", page)


def polite_server(test, directory, options):
    # These mostly wait.
    parts = (dropped_connections, longer_delay_at_resume, endless_robots, unavailable_robots,
             dead_robots)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for part in [pool.submit(part, test, directory, options) for part in parts]:
            part.result()
    slow_parsing(test, directory, options)


if __name__ == "__main__":
    t.main(polite_server, t.parser(__doc__).parse_args())
