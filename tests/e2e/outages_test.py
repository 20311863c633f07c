"""A host that is down for some seconds, in whatever way, costs no URL."""

import concurrent.futures
import http.server
import socket
import struct
import threading
import time

import trawl_testing as t

PAGES = 60
OUTAGE = 3.0  # seconds
OK, REFUSES, RESETS, STALLS, BUSY_ROBOTS = "ok", "refuses", "resets", "stalls", "busy robots"


class Site:
    """Pages that `/` links to, on one port throughout; `mode` says how it is down."""

    def __init__(self, mode, after):
        self.mode, self.after = mode, after  # down once so many pages were asked for
        self.lock, self.asked, self.begun, self.over = threading.Lock(), [], None, False
        self.server = None
        self.port = t.free_port()
        self.listen()
        if after == 0:
            self.begin()

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def listen(self):
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                site.answer(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def begin(self):
        self.begun = time.monotonic()
        threading.Thread(target=self.outage, daemon=True).start()

    def outage(self):
        if self.mode == REFUSES:
            self.server.shutdown()
            self.server.server_close()
        time.sleep(OUTAGE)
        self.over = True
        if self.mode == REFUSES:
            self.listen()

    def answer(self, request):
        with self.lock:
            if request.path != "/robots.txt":
                self.asked.append(request.path)
                if self.begun is None and self.after is not None and len(self.asked) > self.after:
                    self.begin()
            down = self.begun is not None and not self.over
        if down and self.mode == BUSY_ROBOTS and request.path == "/robots.txt":
            return self.send(request, 503, "later")
        if down and self.mode in (RESETS, REFUSES):
            request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          struct.pack("ii", 1, 0))
            request.connection.close()
            request.close_connection = True
            return None
        if down and self.mode == STALLS:
            while not self.over:
                time.sleep(0.05)
            request.close_connection = True
            return None
        if request.path == "/robots.txt":
            return self.send(request, 404, "")
        links = "".join(f"<a href='/{i}'>x</a>" for i in range(PAGES))
        return self.send(request, 200, links if request.path == "/" else f"<p>{request.path}")

    @staticmethod
    def send(request, status, text):
        body = text.encode()
        request.send_response(status)
        request.send_header("Content-Type", "text/html")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


def config_of(site, state):
    return t.fast_crawl(
        [site.url()], state,
        fetch={"retries": 2, "retry_delay": "50ms", "first_byte_timeout": "500ms",
               "connect_timeout": "500ms", "threads": 1},
        politeness={"per_host_connections": 2, "host_backoff": "50ms", "max_host_backoff": "300ms",
                    "host_failures": 200, "robots_backoff": "50ms", "robots_retries": 100,
                    "respect_robots": True})


def check_all(test, site, state, crawl, what):
    t.expect_exit(test, crawl, t.EXIT_DONE, what)
    good = {page["url"] for page in t.read_pages(test, state) if page["status"] == 200}
    test.check_equal_sets(good, {site.url()} | {site.url(f"/{i}") for i in range(PAGES)}, what)


def at_the_start(test, directory, options, mode):
    name = f"start-{mode.replace(' ', '-')}"
    site = Site(mode, 0)
    state = directory / name
    path = t.write_config(directory / f"{name}.toml", config_of(site, state))
    check_all(test, site, state, t.run(options, directory, "crawl", path, timeout=100),
              f"{mode} at the start")


def in_mid_crawl(test, directory, options, mode):
    name = f"mid-{mode.replace(' ', '-')}"
    site = Site(mode, 15)
    state = directory / name
    path = t.write_config(directory / f"{name}.toml", config_of(site, state))
    check_all(test, site, state, t.run(options, directory, "crawl", path, timeout=100),
              f"{mode} in mid-crawl")
    test.check(site.over, f"{mode}: there was no outage")


def at_resume(test, directory, options, mode):
    """Stopped after some pages, and gone on with while the host is down."""
    name = f"resume-{mode.replace(' ', '-')}"
    site = Site(mode, None)
    state = directory / name
    path = t.write_config(directory / f"{name}.toml", config_of(site, state))
    first = t.run(options, directory, "crawl", path, "--set", "scope.max_pages=10", timeout=100)
    t.expect_exit(test, first, t.EXIT_DONE, f"{mode}, the first run")
    site.begin()
    check_all(test, site, state, t.run(options, directory, "resume", path, timeout=100),
              f"{mode} at resume")


def parked(test, directory, options):
    """Down for longer than the crawl has patience: the next run fetches the rest."""
    site = Site(REFUSES, 15)
    state = directory / "parked"
    tables = config_of(site, state)
    tables["politeness"].update(host_failures=3)
    path = t.write_config(directory / "parked.toml", tables)
    crawl = t.run(options, directory, "crawl", path, timeout=100)
    t.expect_exit(test, crawl, t.EXIT_INCOMPLETE, "a host that stays down")
    t.wait_until(lambda: site.over, "the end of the outage", 20)
    time.sleep(0.2)
    check_all(test, site, state, t.run(options, directory, "resume", path, timeout=100),
              "the run after a host was parked")


def held(test, directory, options):
    """What a narrower scope passes over is fetched by a later run with a wider one."""
    site = Site(OK, None)
    state = directory / "held"
    path = t.write_config(directory / "held.toml", config_of(site, state))
    t.expect_exit(test, t.run(options, directory, "crawl", path, "--set", "scope.max_pages=10"),
                  t.EXIT_DONE, "some pages")
    narrow = t.run(options, directory, "resume", path, "--set", "scope.exclude=['*/1*']")
    t.expect_exit(test, narrow, t.EXIT_DONE, "a narrower scope")
    test.check("held by rules" in narrow.text, "held URLs are not told of", narrow.tail())
    check_all(test, site, state, t.run(options, directory, "resume", path), "the scope as it was")
    deep = t.write_config(directory / "deep.toml", config_of(site, directory / "deep"))
    t.expect_exit(test, t.run(options, directory, "crawl", deep, "--set", "scope.max_depth=0"),
                  t.EXIT_DONE, "no links at all")
    test.check(len(t.read_pages(test, directory / "deep")) == 1, "max_depth = 0")
    again = t.run(options, directory, "resume", deep, "--set", "scope.max_depth=0")
    test.check("nothing to fetch" in again.text and f"{PAGES} more are held" in again.text,
               "a resume that did nothing says nothing", again.tail())
    check_all(test, site, directory / "deep", t.run(options, directory, "resume", deep),
              "a greater depth")


def outages(test, directory, options):
    # These mostly wait.
    parts = [(parked, ()), (held, ())]
    for mode in (REFUSES, RESETS, STALLS, BUSY_ROBOTS):
        parts.append((at_the_start, (mode,)))
        parts.append((at_resume, (mode,)))
        if mode != BUSY_ROBOTS:
            parts.append((in_mid_crawl, (mode,)))
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        started = [(part, more, pool.submit(part, test, directory, options, *more))
                   for part, more in parts]
        for part, more, done in started:
            try:
                done.result()
            except t.Failure as failure:
                test.check(False, f"{part.__name__}{more}: {failure}")


if __name__ == "__main__":
    t.main(outages, t.parser(__doc__).parse_args())
