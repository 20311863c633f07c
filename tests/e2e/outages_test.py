"""A host that is down for some seconds, in any way, costs no URL, and no page is fetched twice."""

import collections
import http.server
import itertools
import random
import socket
import struct
import threading
import time

import trawl_testing as t
from tls_test import Authority

PAGES = 60
OK, REFUSES, RESETS, STALLS, BUSY_ROBOTS = "ok", "refuses", "resets", "stalls", "busy robots"
BAD_CERTIFICATE, NO_HANDSHAKE = "bad certificate", "no handshake"
OVER_TLS = (BAD_CERTIFICATE, NO_HANDSHAKE)


class Certificates:
    """TLS contexts of a site that is well, and of one whose certificate has expired."""

    def __init__(self, directory):
        directory.mkdir()
        authority = Authority(directory)
        self.authority = authority.file
        self.good, self.bad = authority.sign("good"), authority.sign("bad", begins=-9, ends=-1)


PORTS = itertools.count(random.randrange(10000, 30000))


def port_for_good():
    """A port that no other process gets while nothing listens there: not an ephemeral one."""
    while True:
        port = next(PORTS)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


class Site:
    """Pages that `/` links to, on one port throughout; `mode` says how it is down."""

    def __init__(self, mode, after, outage, certificates):
        self.mode, self.after = mode, after  # down once so many pages were requested
        self.outage_seconds = outage
        self.certificates = certificates if mode in OVER_TLS else None
        self.lock, self.asked, self.begun, self.over = threading.Lock(), [], None, False
        self.served = collections.Counter()
        self.troubled = 0  # requests and connections that the outage hit
        self.server = None
        self.port = port_for_good()
        self.listen()
        if after == 0:
            self.begin()

    def url(self, path="/"):
        return f"{'https' if self.certificates else 'http'}://127.0.0.1:{self.port}{path}"

    def all(self):
        return [self.url(), *(self.url(f"/{i}") for i in range(PAGES))]

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

            def finish_request(self, connection, address):
                if site.certificates:
                    connection = site.shake_hands(connection)
                if connection is not None:
                    with connection:
                        Handler(connection, address, self)

        self.server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def begin(self):
        self.begun = time.monotonic()
        threading.Thread(target=self.outage, daemon=True).start()

    def outage(self):
        if self.mode == REFUSES:
            self.server.shutdown()
            self.server.server_close()
        while self.troubled == 0 and self.mode != REFUSES:
            time.sleep(0.02)  # a loaded machine takes its time to start a crawl
        time.sleep(self.outage_seconds)
        self.over = True
        if self.mode == REFUSES:
            self.listen()

    def is_up(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def down(self):
        return self.begun is not None and not self.over

    def shake_hands(self, connection):
        """None if the outage lets it fail: in the handshake, or with a certificate that expired."""
        down = self.down()
        with self.lock:
            self.troubled += down
        if down and self.mode == NO_HANDSHAKE:
            connection.recv(4096)
            connection.sendall(b"\x15\x03\x03\x00\x02\x02\x50")  # alert: internal error
            connection.close()
            return None
        context = self.certificates.bad if down else self.certificates.good
        try:
            return context.wrap_socket(connection, server_side=True)
        except OSError:
            return None

    def answer(self, request):
        with self.lock:
            if request.path != "/robots.txt":
                self.asked.append(request.path)
                if self.begun is None and self.after is not None and len(self.asked) > self.after:
                    self.begin()
            down = self.down()
            hit = down and (self.mode != BUSY_ROBOTS or request.path == "/robots.txt")
            self.troubled += hit
        if hit and self.mode == BUSY_ROBOTS:
            return self.send(request, 503, "later")
        if down and self.mode in (RESETS, REFUSES, *OVER_TLS):  # so that it has to reconnect
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
        with self.lock:
            self.served[self.url(request.path)] += 1
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


def config_of(site, state, **politeness):
    # A loaded machine is late with its answers, too.
    patience = "1s" if site.mode == STALLS else "15s"
    return t.fast_crawl(
        [site.url()], state,
        fetch={"retries": 2, "retry_delay": "50ms", "first_byte_timeout": patience,
               "connect_timeout": "15s", "threads": 1,
               **({"ca_file": site.certificates.authority} if site.certificates else {})},
        politeness={"per_host_connections": 2, "host_backoff": "50ms", "max_host_backoff": "300ms",
                    "host_failures": 2000, "robots_backoff": "50ms", "robots_retries": 100,
                    "respect_robots": True, **politeness})


def check_all(test, site, state, crawl, what):
    t.expect_exit(test, crawl, t.EXIT_DONE, what)
    good = collections.Counter(page["url"] for page in t.read_pages(test, state)
                               if page["status"] == 200)
    test.check_equal_sets(set(good), set(site.all()), what)
    for counted, where in ((good, "in the output"),
                           (site.served if site.mode != STALLS else {}, "by the site")):
        more = {url: count for url, count in counted.items() if count > 1}
        test.check(not more, f"{what}: more than once {where}", more)


class Outages:
    """The parts of the test, each with a site of its own that is down for so many seconds."""

    def __init__(self, test, directory, options, certificates, seconds):
        self.test, self.directory, self.options = test, directory, options
        self.certificates, self.seconds = certificates, seconds

    def prepare(self, when, mode, after, **politeness):
        name = f"{when}-{mode.replace(' ', '-')}-{self.seconds:g}s"
        site = Site(mode, after, self.seconds, self.certificates)
        state = self.directory / name
        path = t.write_config(self.directory / f"{name}.toml",
                              config_of(site, state, **politeness))
        return site, state, path, f"{mode} {when} for {self.seconds:g} s"

    def run(self, *arguments):
        return t.run(self.options, self.directory, *arguments, timeout=100 + 4 * self.seconds)

    def check_outage(self, site, what, ended=True):
        self.test.check(site.over or not ended, f"{what}: there was no outage")
        if site.mode != REFUSES:
            self.test.check(site.troubled > 0, f"{what}: nobody noticed")

    def at_the_start(self, mode):
        site, state, path, what = self.prepare("at the start", mode, 0)
        check_all(self.test, site, state, self.run("crawl", path), what)
        self.check_outage(site, what)

    def in_mid_crawl(self, mode):
        # So that robots.txt is requested again and again.
        more = {"robots_max_age": "20ms", "delay": "5ms"} if mode == BUSY_ROBOTS else {}
        site, state, path, what = self.prepare("in mid-crawl", mode, 15, **more)
        check_all(self.test, site, state, self.run("crawl", path), what)
        # The old rules are obeyed while there are no new ones.
        self.check_outage(site, what, ended=mode != BUSY_ROBOTS)

    def at_resume(self, mode):
        """Stopped after some pages, and gone on with while the host is down."""
        site, state, path, what = self.prepare("at resume", mode, None)
        first = self.run("crawl", path, "--set", "scope.max_pages=10")
        t.expect_exit(self.test, first, t.EXIT_DONE, f"{what}, the first run")
        site.begin()
        check_all(self.test, site, state, self.run("resume", path), what)
        self.check_outage(site, what)

    def parked(self, mode):
        """Down for longer than the crawl has patience: the next run fetches the rest."""
        site, state, path, what = self.prepare("till it is parked", mode, 15, host_failures=3)
        t.expect_exit(self.test, self.run("crawl", path), t.EXIT_INCOMPLETE, what)
        t.wait_until(lambda: site.over and site.is_up(), "the end of the outage",
                     20 + self.seconds)
        check_all(self.test, site, state, self.run("resume", path), f"{what}, the run after it")


def held(test, directory, options):
    """What a narrower scope passes over is fetched by a later run with a wider one."""
    site = Site(OK, None, 0, None)
    state = directory / "held"
    path = t.write_config(directory / "held.toml", config_of(site, state))
    t.expect_exit(test, t.run(options, directory, "crawl", path, "--set", "scope.max_pages=10"),
                  t.EXIT_DONE, "some pages")
    narrow = t.run(options, directory, "resume", path, "--set", "scope.exclude=['*/1*']")
    t.expect_exit(test, narrow, t.EXIT_DONE, "a narrower scope")
    test.check("held by rules" in narrow.text, "held URLs are not reported", narrow.tail())
    check_all(test, site, state, t.run(options, directory, "resume", path), "the scope as it was")
    deeper(test, directory, options)


def deeper(test, directory, options):
    site = Site(OK, None, 0, None)
    deep = t.write_config(directory / "deep.toml", config_of(site, directory / "deep"))
    t.expect_exit(test, t.run(options, directory, "crawl", deep, "--set", "scope.max_depth=0"),
                  t.EXIT_DONE, "no links at all")
    test.check(len(t.read_pages(test, directory / "deep")) == 1, "max_depth = 0")
    again = t.run(options, directory, "resume", deep, "--set", "scope.max_depth=0")
    test.check("nothing to fetch" in again.text and f"{PAGES} more URLs are held" in again.text,
               "a resume that did nothing says nothing", again.tail())
    check_all(test, site, directory / "deep", t.run(options, directory, "resume", deep),
              "a greater depth")


def outages(test, directory, options):
    certificates = Certificates(directory / "keys")
    parts = [(held, test, directory, options)]
    for number, seconds in enumerate(options.seconds):
        each = Outages(test, directory, options, certificates, seconds)
        if number == 0:
            parts.append((each.parked, REFUSES))
            parts.append((each.parked, BAD_CERTIFICATE))
        for mode in (REFUSES, RESETS, STALLS, BUSY_ROBOTS, *OVER_TLS):
            parts += [(part, mode)
                      for part in (each.at_the_start, each.in_mid_crawl, each.at_resume)]
    t.run_parts(test, parts, at_once=options.at_once)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--seconds", type=float, nargs="+", default=[2],
                           help="how long the outages take")
    arguments.add_argument("--at-once", type=int, default=40, help="crawls")
    t.main(outages, arguments.parse_args())
