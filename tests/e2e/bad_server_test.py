"""A server that resets, stalls, lies and floods costs one line of output each, never the crawl."""

import collections

import trawl_testing as t
from bad_server import FAILING, ODD, BadServer, SilentServer

MAX_BODY = 1 << 20
MAX_REDIRECTS = 10


def bad_server(test, directory, options):
    server = BadServer()
    resetting, ignoring = SilentServer(reset=True), SilentServer(reset=False)
    try:
        config = t.write_config(directory / "crawl.toml", t.fast_crawl(
            [server.url(), resetting.url(), ignoring.url()], directory / "state",
            politeness={"per_host_connections": 8, "robots_backoff": "10ms",
                        "robots_retries": 1},
            fetch={"connections": 16, "timeout": "3s", "max_body": MAX_BODY,
                   "max_redirects": MAX_REDIRECTS}))
        finished = t.run(options, directory, "crawl", config, timeout=150)
    finally:
        for one in (server, resetting, ignoring):
            one.stop()
    t.expect_exit(test, finished, t.EXIT_DONE, "the crawl")
    print(f"peak memory {finished.peak_memory >> 20} MiB")
    if options.max_memory:
        test.check(finished.peak_memory < options.max_memory << 20,
                   f"peak memory {finished.peak_memory >> 20} MiB, over {options.max_memory}")
    check_pages(test, server, [resetting, ignoring], t.read_pages(test, directory / "state"))


def check_pages(test, server, silent, pages):
    by_url = collections.defaultdict(list)
    for page in pages:
        by_url[page["url"]].append(page)

    def one_line(url):
        lines = by_url.pop(url, [])
        test.check(len(lines) == 1, f"{url}: {len(lines)} lines of output, expected 1", lines)
        return lines[0] if lines else None

    for url in [server.url(name) for name in FAILING] + [one.url() for one in silent]:
        line = one_line(url)
        test.check(line is None or line["error"], f"{url}: no error", line)
    for name in [*ODD, "loop-b"]:
        one_line(server.url(name))
    for name in ["", *server.good]:
        line = one_line(server.url(name))
        test.check(line is None or (line["status"] == 200 and not line["error"]),
                   f"{server.url(name)}: a good page went wrong", line)
    hops = [url for url in by_url if "/endless-redirect-" in url]
    test.check(MAX_REDIRECTS <= len(hops) <= MAX_REDIRECTS + 1,
               f"{len(hops)} steps of an endless redirect, max_redirects is {MAX_REDIRECTS}")
    for url in hops:
        one_line(url)
    test.check(not by_url, "lines for URLs that no page links to", "\n".join(by_url))
    for page in pages:
        test.check(page["bytes"] <= MAX_BODY + (64 << 10), f"{page['url']}: over max_body", page)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--max-memory", type=int, default=300, help="MiB; 0: any")
    t.main(bad_server, arguments.parse_args())
