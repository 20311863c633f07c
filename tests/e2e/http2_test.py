"""Crawls a site over TLS: with HTTP/2, with HTTP/1.1, and without knowing its authority.

nginx serves it on loopback with a certificate of an authority made here; its access log says by
which protocol and on which connection each request came.
"""

import time

import trawl_testing as t
from tls_test import Authority

PAGES = 300
LINKS = 10  # a page
CONNECTIONS = 8  # of the crawler, at most

NGINX = """daemon off; master_process off; pid {prefix}/nginx.pid; error_log {prefix}/error.log;
events {{ worker_connections 1024; }}
http {{
  types {{ text/html html; }}
  log_format protocols '$connection $server_protocol $status $scheme://$http_host$request_uri';
  access_log {prefix}/access.log protocols;
  client_body_temp_path {prefix}/body; proxy_temp_path {prefix}/proxy;
  fastcgi_temp_path {prefix}/fastcgi; uwsgi_temp_path {prefix}/uwsgi; scgi_temp_path {prefix}/scgi;
  ssl_certificate {prefix}/site.pem; ssl_certificate_key {prefix}/site.key;
  keepalive_requests 100000;
  server {{
    listen 127.0.0.1:{port} ssl http2;
    root {prefix}/root; index index.html;
    location = /robots.txt {{ return 404; }}
  }}
}}
"""


def make_pages(root):
    """index.html and PAGES others, each reached from one before it."""
    root.mkdir()
    names = ["index.html"] + [f"{number}.html" for number in range(1, PAGES + 1)]
    for number, name in enumerate(names):
        below = range(number * LINKS + 1, min(number * LINKS + LINKS, PAGES) + 1)
        links = "".join(f'<a href="/{child}.html">{child}</a>\n' for child in below)
        (root / name).write_text(f"<!DOCTYPE html><title>{name}</title>\n<a href=/>top</a>\n{links}")
    return ["/"] + [f"/{name}" for name in names[1:]]


class Site(t.Nginx):
    def __init__(self, directory):
        super().__init__(directory, NGINX)

    def log_size(self):
        return self.log.stat().st_size

    def requests(self, begin):
        """(connection, protocol, status, URL) of each request logged after the byte `begin`."""
        with self.log.open() as log:
            log.seek(begin)
            return [tuple(line.split(" ", 3)) for line in log.read().splitlines()]


def crawl(options, directory, name, seed, fetch):
    tables = t.fast_crawl([seed], directory / name,
                          fetch={"connections": CONNECTIONS, "threads": 1, **fetch},
                          politeness={"per_host_connections": CONNECTIONS,
                                      "robots_backoff": "10ms"})
    config = t.write_config(directory / f"{name}.toml", tables)
    return t.run(options, directory, "crawl", config)


def check_crawl(test, options, directory, nginx, paths, host, http2):
    """A whole crawl with the authority known, and what nginx saw of it."""
    protocol = "HTTP/2.0" if http2 else "HTTP/1.1"
    name = f"{host}-{protocol.replace('/', '-')}"
    seed = f"https://{host}:{nginx.port}/"
    before = nginx.log_size()
    finished = crawl(options, directory, name, seed,
                     {"http2": http2, "ca_file": directory / "ca.pem"})
    t.expect_exit(test, finished, t.EXIT_DONE, name)
    expected = {seed[:-1] + path for path in paths}

    pages = t.read_pages(test, directory / name)
    test.check_equal_sets({page["url"] for page in pages if page["status"] == 200}, expected,
                          f"{name}, output")
    test.check(len(pages) == len(expected), f"{name}: {len(pages)} lines of {len(expected)}")

    # nginx logs a request after its answer: the last lines may come after the crawl's end.
    def page_requests():
        return [r for r in nginx.requests(before) if not r[3].endswith("/robots.txt")]

    t.wait_until(lambda: len(page_requests()) >= len(expected), "nginx to write its log", 20)
    urls = [request[3] for request in page_requests()]
    test.check_equal_sets(set(urls), expected, f"{name}, nginx's log")
    test.check(len(urls) == len(expected), f"{name}: some URL was requested twice",
               t.repeats(urls))
    requests = nginx.requests(before)
    protocols = {request[1] for request in requests}
    test.check(protocols == {protocol}, f"{name}: protocols {protocols}, expected {protocol}")
    connections = {request[0] for request in requests}
    print(f"{name}: {len(requests)} requests on {len(connections)} connections", flush=True)
    # The requests to a host share one that can carry several.
    most = 2 if http2 else CONNECTIONS
    test.check(len(connections) <= most,
               f"{name}: {len(connections)} connections for {len(requests)} requests")


def check_unknown_authority(test, options, directory, nginx, http2):
    name = f"unknown-authority-{'2' if http2 else '1'}"
    seed = f"https://127.0.0.1:{nginx.port}/"
    before = nginx.log_size()
    finished = crawl(options, directory, name, seed, {"http2": http2})
    t.expect_exit(test, finished, t.EXIT_INCOMPLETE, name)
    test.check(not t.read_pages(test, directory / name), f"{name}: a page came to its end")
    test.check("parked" in finished.text and "certificate" in finished.text,
               f"{name}: why the host is parked is not said", finished.tail())
    answered = [request for request in nginx.requests(before) if request[2] == "200"]
    test.check(not answered, f"{name}: was answered anyway", answered[:3])


def check_limit_rate(test, options, directory, nginx):
    """fetch.limit_rate holds for all streams of a connection together, and breaks none."""
    size, count, rate = 100_000, 10, 500_000
    (directory / "root/big").mkdir()
    for number in range(count):
        (directory / f"root/big/{number}.html").write_text("x" * size)
    (directory / "root/big/index.html").write_text(
        "".join(f"<a href='{number}.html'>x</a>" for number in range(count)))
    before = nginx.log_size()
    begun = time.monotonic()
    finished = crawl(options, directory, "limited", f"https://127.0.0.1:{nginx.port}/big/",
                     {"http2": True, "ca_file": directory / "ca.pem", "limit_rate": rate,
                      "timeout": "1s"})
    took = time.monotonic() - begun
    t.expect_exit(test, finished, t.EXIT_DONE, "limit_rate")
    pages = t.read_pages(test, directory / "limited")
    test.check(sum(page["status"] == 200 for page in pages) == count + 1 and
               not any(page["error"] for page in pages), "limit_rate: pages", pages)
    test.check({request[1] for request in nginx.requests(before)} == {"HTTP/2.0"}, "limit_rate: protocol")
    least = size * count / rate
    test.check(took >= least, f"limit_rate: {took:.2f} s for what takes {least:.2f} s")


def crawl_over_tls(test, directory, options):
    t.program("nginx", "nginx-light")
    Authority(directory).sign("site")
    paths = make_pages(directory / "root")
    nginx = Site(directory)
    try:
        for host in ("127.0.0.1", "localhost"):
            check_crawl(test, options, directory, nginx, paths, host, http2=True)
        check_crawl(test, options, directory, nginx, paths, "127.0.0.1", http2=False)
        check_limit_rate(test, options, directory, nginx)
        check_unknown_authority(test, options, directory, nginx, http2=True)
        check_unknown_authority(test, options, directory, nginx, http2=False)
    finally:
        nginx.stop()


if __name__ == "__main__":
    t.main(crawl_over_tls, t.parser(__doc__).parse_args())
