"""[[politeness.host]], politeness.max_rate and fetch.limit_rate, as the servers see them."""

import signal
import time

import trawl_testing as t
from scripted_server import ScriptedServer, TOLERANCE, answer, check_gaps, links


def star(paths, robots=None, body=""):
    def respond(request):
        if request.path == "/robots.txt":
            return answer(robots) if robots else answer("", "404 Not Found")
        return answer((links(paths) if request.path == "/" else "") + body)
    return respond


def crawl(test, directory, options, name, seeds, code=t.EXIT_DONE, **tables):
    state = directory / name
    config = t.write_config(directory / f"{name}.toml", t.fast_crawl(seeds, state, **tables))
    t.expect_exit(test, t.run(options, directory, "crawl", config), code, name)
    return state, config


def check_all(test, state, server, paths, what):
    pages = t.read_pages(test, state)
    test.check_equal_sets({page["url"] for page in pages},
                          {server.url(path) for path in ["/", *paths]}, what)
    test.check(len(pages) == len(paths) + 1, f"{what}: {len(pages)} lines")


def longer_delay(test, directory, options):
    """Each of the two is the longer one once; robots.txt and the pages are as far apart."""
    paths = [f"/{i}" for i in range(4)]
    for name, own, robots, longest in (
            ("entry", "400ms", "User-agent: *\nCrawl-delay: 0.2\n", 0.4),
            ("robots", "100ms", "User-agent: *\nCrawl-delay: 0.4\n", 0.4),
            ("common", "50ms", None, 0.3)):
        with ScriptedServer(star(paths, robots)) as server:
            common = "300ms" if name == "common" else "10ms"
            state, _ = crawl(test, directory, options, f"longer-{name}", [server.url()],
                             politeness={"delay": common, "host": [
                                 {"host": "127.0.0.1", "delay": own}]})
        check_all(test, state, server, paths, f"longer delay: {name}")
        # The rules of robots.txt are known from its answer on.
        requests = server.requests[1:] if name == "robots" else server.requests
        check_gaps(test, requests, longest, f"longer delay: {name}")


def own_host(test, directory, options):
    """own = true: neither politeness.delay nor Crawl-delay holds; the delay is kept all the same."""
    paths = [f"/{i}" for i in range(10)]
    with ScriptedServer(star(paths, "User-agent: *\nCrawl-delay: 20\nDisallow: /3\n")) as server:
        state, _ = crawl(test, directory, options, "own", [server.url()],
                         politeness={"delay": "20s", "per_host_connections": 1, "host": [
                             {"host": "127.0.0.1", "delay": "100ms", "own": True,
                              "respect_robots": False}]},
                         scope={"max_time": "15s"})
    check_all(test, state, server, paths, "own host")
    check_gaps(test, server.requests, 0.1, "own host")


def most_specific(test, directory, options):
    """An entry for the host beats that of its domain; both hosts are on one server."""
    paths = [f"/{i}" for i in range(3)]
    with ScriptedServer(star(paths)) as server:
        seeds = [server.url(host="localhost"), server.url(host="a.localhost")]
        state, _ = crawl(test, directory, options, "specific", seeds,
                         politeness={"delay": "0ms", "host": [
                             {"host": ".localhost", "delay": "300ms", "connections": 1},
                             {"host": "a.localhost", "delay": "100ms", "connections": 1}]})
    pages = t.read_pages(test, state)
    test.check(len(pages) == 8, f"most specific: {len(pages)} pages")
    for host, delay in (("localhost", 0.3), ("a.localhost", 0.1)):
        requests = [request for request in server.requests
                    if request.host.rsplit(":", 1)[0] == host]
        test.check(len(requests) == 5, f"{host}: {len(requests)} requests")
        check_gaps(test, requests, delay, host)
    fast = [request for request in server.requests if request.host.startswith("a.")]
    test.check(fast[-1].there - fast[0].there < 4 * 0.3 + 5, "a.localhost waits as its domain does")


def robots_of_one_host(test, directory, options):
    rules = "User-agent: *\nDisallow: /secret\n"
    paths = ["/secret", "/open"]
    with ScriptedServer(star(paths, rules)) as mine, \
            ScriptedServer(star(paths, rules), addresses=["127.0.0.2"]) as other:
        state, config = crawl(
            test, directory, options, "robots", [mine.url(), other.url(host="127.0.0.2")],
            politeness={"host": [{"host": "127.0.0.1", "respect_robots": False}]})
        explained = t.run(options, directory, "explain", config, mine.url("/secret"))
    test.check_equal_sets({page["url"] for page in t.read_pages(test, state)},
                          {mine.url("/"), mine.url("/secret"), mine.url("/open"),
                           other.url("/", "127.0.0.2"), other.url("/open", "127.0.0.2")},
                          "robots.txt of one host")
    test.check("/robots.txt" not in [request.path for request in mine.requests],
               "robots.txt was requested though it is not obeyed")
    t.expect_exit(test, explained, t.EXIT_DONE, "explain of the other host")


def limits_of_a_host(test, directory, options):
    """max_pages and max_urls of an entry, in place of those of [scope]; a higher one at resume."""
    paths = [f"/{i}" for i in range(8)]
    with ScriptedServer(star(paths)) as mine, \
            ScriptedServer(star(paths), addresses=["127.0.0.2"]) as other:
        limited = {"host": [{"host": "127.0.0.1", "max_pages": 3}]}
        state, config = crawl(test, directory, options, "limits",
                              [mine.url(), other.url(host="127.0.0.2")], politeness=limited,
                              scope={"max_pages_per_host": 6})
        test.check(len(mine.pages) == 3 and len(other.pages) == 6,
                   f"max_pages: {len(mine.pages)} and {len(other.pages)} pages")
        resumed = t.run(options, directory, "resume", config, "--set",
                        'politeness.host=[{host="127.0.0.1", max_pages=5}]')
        t.expect_exit(test, resumed, t.EXIT_DONE, "max_pages raised")
        test.check(len(mine.pages) == 5 and len(other.pages) == 6,
                   f"max_pages raised: {len(mine.pages)} and {len(other.pages)} pages")
    with ScriptedServer(star(paths)) as mine:
        state, _ = crawl(test, directory, options, "urls", [mine.url()],
                         politeness={"host": [{"host": "127.0.0.1", "max_urls": 4}]})
        test.check(len(t.read_pages(test, state)) == 4, f"max_urls: {mine.paths()}")


def removed_entry(test, directory, options):
    """What an entry set does not outlive it."""
    paths = [f"/{i}" for i in range(6)]
    with ScriptedServer(star(paths)) as server:
        state = directory / "removed"
        config = t.write_config(directory / "removed.toml", t.fast_crawl(
            [server.url()], state, politeness={"delay": "50ms", "host": [
                {"host": "127.0.0.1", "delay": "1h"}]}))
        first = t.Run(options, directory, "crawl", config)
        t.wait_until(lambda: server.requests or first.ended(), "a request")
        first.signal(signal.SIGINT)
        first.wait()
        t.expect_exit(test, first, t.EXIT_INTERRUPTED, "an entry with a delay of an hour")
        test.check(len(server.requests) == 1, "the delay of an hour was not kept", server.paths())
        t.expect_exit(test, t.run(options, directory, "resume", config, "--set",
                                  "politeness.host=[]"), t.EXIT_DONE, "without the entry")
    check_all(test, state, server, paths, "an entry that was removed")
    check_gaps(test, server.requests, 0.05, "an entry that was removed")


def max_rate(test, directory, options):
    """At most so many requests a second over all hosts, robots.txt included."""
    paths = [f"/{i}" for i in range(4)]
    rate = 20
    servers = [ScriptedServer(star(paths), addresses=[f"127.0.0.{i}"]) for i in range(2, 8)]
    try:
        crawl(test, directory, options, "rate",
              [server.url(host=f"127.0.0.{i}") for i, server in enumerate(servers, 2)],
              politeness={"max_rate": rate}, fetch={"connections": 40})
    finally:
        for server in servers:
            server.__exit__()
    requests = sorted((request for server in servers for request in server.requests),
                      key=lambda request: request.there)
    test.check(len(requests) == 6 * 6, f"max_rate: {len(requests)} requests")
    # In any span of k requests at least k - 1 intervals.
    for first in range(0, len(requests) - 10, 5):
        span = requests[first + 10].there - requests[first].not_yet
        test.check(span >= 10 / rate - 2 * TOLERANCE, f"max_rate: 11 requests in {span:.3f} s")


def limit_rate(test, directory, options):
    """All transfers together, though each alone would be slower."""
    size, count, rate = 100_000, 8, 400_000
    paths = [f"/{i}" for i in range(count)]
    state = directory / "slow"
    with ScriptedServer(star(paths, body="x" * size)) as server:
        begun = time.monotonic()
        crawl(test, directory, options, "slow", [server.url()],
              fetch={"limit_rate": rate, "connections": 8, "timeout": "2s", "min_speed": 100_000,
                     "min_speed_time": "100ms"})
        took = time.monotonic() - begun
    check_all(test, state, server, paths, "limit_rate")
    least = size * count / rate
    test.check(took >= least, f"limit_rate: {took:.2f} s for what takes {least:.2f} s")
    failed = [page for page in t.read_pages(test, state) if page["error"]]
    test.check(not failed, "limit_rate: timers ran while transfers waited", failed)


def host_politeness(test, directory, options):
    t.run_parts(test, [(part,) for part in (
        longer_delay, own_host, most_specific, robots_of_one_host, limits_of_a_host, removed_entry,
        max_rate, limit_rate)], (test, directory, options), at_once=4)


if __name__ == "__main__":
    t.main(host_politeness, t.parser(__doc__).parse_args())
