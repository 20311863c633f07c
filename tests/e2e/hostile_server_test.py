"""Whatever a server does costs one line of output with a reason, bounded time and memory, never
the crawl."""

import collections
import time

import hostile_http2
import hostile_server
import trawl_testing as t
from hostile_server import CASES, GOOD_PATHS, HostileSite
from tls_test import Authority

MAX_BODY = 1 << 20
MAX_DOWNLOAD = 4 << 20  # more than the bombs have before they go off
MAX_REDIRECTS = 10


def tables(seeds, state, **changes):
    config = t.fast_crawl(
        seeds, state,
        politeness={"per_host_connections": 16, "robots_backoff": "10ms", "robots_retries": 1,
                    "max_host_backoff": "1ms", "host_backoff": "1ms"},
        fetch={"connections": 48, "connect_timeout": "3s", "first_byte_timeout": "2s",
               "timeout": "4s", "min_speed": 1000, "min_speed_time": "2s", "max_body": MAX_BODY,
               "max_download": MAX_DOWNLOAD, "max_redirects": MAX_REDIRECTS})
    for table, keys in changes.items():
        config.setdefault(table, {}).update(keys)
    return config


class Lines:
    """The output by URL; what is left in the end was not expected."""

    def __init__(self, test, pages):
        self.test, self.by_url = test, collections.defaultdict(list)
        for page in pages:
            self.by_url[page["url"]].append(page)

    def one(self, url, what):
        lines = self.by_url.pop(url, [])
        self.test.check(len(lines) == 1, f"{what}: {len(lines)} lines of output, expected 1",
                        "\n".join(map(str, lines)) or url)
        for line in lines:
            self.test.check(line["reason"] or not line["error"], f"{what}: an error, no reason", line)
        return lines[0] if lines else None

    def reason(self, url, expected, what):
        line = self.one(url, what)
        if line is None or expected is None:
            return
        got = line["reason"]
        self.test.check(got in expected, f"{what}: reason {got!r}, expected one of {expected}",
                        line)

    def good(self, url, what):
        line = self.one(url, what)
        self.test.check(line is None or (line["status"] == 200 and not line["error"]),
                        f"{what}: a good page went wrong", line)


def crawl_watched(test, directory, options, name, config, hosts, code=t.EXIT_DONE):
    """A whole crawl, its memory watched; the hosts are stopped after it."""
    begun = time.monotonic()
    try:
        crawl = t.Run(options, directory, "crawl", t.write_config(directory / f"{name}.toml",
                                                                  config))
        crawl.wait(150)
    finally:
        for host in hosts:
            host.stop()
    t.expect_exit(test, crawl, code, f"the crawl of {name}")
    print(f"{name}: {time.monotonic() - begun:.1f} s, {crawl.cpu:.1f} CPU-s, peak memory "
          f"{crawl.peak_memory >> 20} MiB", flush=True)
    if options.max_memory:
        test.check(crawl.peak_memory < options.max_memory << 20,
                   f"{name}: peak memory {crawl.peak_memory >> 20} MiB, over {options.max_memory}")
    return t.read_pages(test, directory / name)


def every_case(test, directory, options):
    site, failing = HostileSite(), hostile_server.failing_hosts()
    keys = directory / "keys"
    keys.mkdir()
    failing.update(hostile_http2.hosts(Authority(keys).sign("site")))
    nobody = hostile_server.nobody()
    seeds = [nobody, *(url for url, _, _ in failing.values()), site.url()]
    pages = crawl_watched(
        test, directory, options, "cases",
        tables(seeds, directory / "cases", politeness={"respect_robots": False},
               fetch={"verify_tls": False}, output={"warc": True}),
        [site, *(host for _, _, host in failing.values())])
    lines = Lines(test, pages)
    for name, (_, reasons) in CASES.items():
        lines.reason(site.url(name), reasons, name)
    lines.one(site.url("loop-b"), "loop-b")
    for name, (url, reasons, _) in failing.items():
        lines.reason(url, reasons, name)
    lines.reason(nobody, {"connection refused"}, "nobody listens")
    for name in ["", *site.good]:
        lines.good(site.url(name), name or "the first page")
    hops = [url for url in lines.by_url if "/endless-redirect-" in url]
    test.check(MAX_REDIRECTS <= len(hops) <= MAX_REDIRECTS + 1,
               f"{len(hops)} steps of an endless redirect, max_redirects is {MAX_REDIRECTS}")
    for url in hops:
        lines.one(url, "an endless redirect")
    test.check(not lines.by_url, "lines for URLs that no page links to", "\n".join(lines.by_url))
    for page in pages:
        test.check(page["bytes"] <= MAX_BODY, f"{page['url']}: over max_body", page)
    # Where nothing at all came the connection may have been closed before: one that was kept too
    # long costs no try.
    twice = {path: count for path, count in t.repeats(site.paths).items()
             if path not in ("reset-before-reply", "close-without-reply")}
    test.check(not twice, "requested twice", twice)


def robots_cases(test, directory, options):
    """Requests before the first page (robots.txt); if they fail, no page is requested."""
    failing, odd = hostile_server.failing_hosts(), hostile_server.robots_hosts()
    dripping = hostile_server.site_with(
        hostile_server.drips(hostile_server.OK, b"X-Slow: " + b"a" * 1000))
    broken = hostile_server.site_with(lambda c: c.reset())
    lost = {"a robots.txt that drips": dripping, "a robots.txt that is reset": broken}
    hosts = [*(host for _, _, host in failing.values()), *lost.values(), *odd.values()]
    seeds = [*(url for url, _, _ in failing.values()),
             *(host.url() for host in [*lost.values(), *odd.values()])]
    pages = crawl_watched(test, directory, options, "robots",
                          tables(seeds, directory / "robots", links={"sitemaps": True}), hosts,
                          t.EXIT_INCOMPLETE)
    lines = Lines(test, pages)
    for name, host in odd.items():
        for path in GOOD_PATHS:
            lines.good(host.url(path), f"{name}: /{path}")
    # Those hosts are parked: a URL that was not requested does not end.
    for name, host in lost.items():
        test.check(set(host.paths) == {"robots.txt"}, f"{name}: requested a page", host.paths)
    # Sitemaps are lines, too, those that can be had and those that cannot.
    for url in list(lines.by_url):
        # An entity that nobody expands is a relative URL.
        if ".xml" in url or url.endswith("/&j;"):
            lines.one(url, "a sitemap")
    test.check(not lines.by_url, "lines for URLs that no page links to", "\n".join(lines.by_url))


def hostile(test, directory, options):
    parts = (every_case, robots_cases)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--max-memory", type=int, default=300, help="MiB; 0: any")
    t.main(hostile, arguments.parse_args())
