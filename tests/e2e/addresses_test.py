"""Names are looked up once and not more, and what they lead to is not private unless that is asked
for, whatever the name servers, the servers and the proxies say."""

import re

import trawl_testing as t
from dns_server import A, AAAA, DnsServer
from proxy_servers import HttpProxy, SocksProxy
from scripted_server import ScriptedServer, answer, links, redirect

REFUSED = "address refused"
NOT_RESOLVED = "name not resolved"


class Server(ScriptedServer):
    """Counts the connections too."""

    def __init__(self, respond, **arguments):
        self.accepted = 0
        super().__init__(respond, **arguments)

    def _accept(self, listener):
        self.accepted += 1
        super()._accept(listener)


def crawl(options, directory, name, seeds, dns, fetch=None, **tables):
    """Crawls without robots.txt, so that what is requested is what is counted."""
    config = t.fast_crawl(
        seeds, directory / name,
        fetch={"dns_servers": [dns.address], "dns_timeout": "2s", **(fetch or {})},
        **{"scope": {"type": "any"}, "politeness": {"respect_robots": False}, **tables})
    return t.run(options, directory, "crawl", t.write_config(directory / f"{name}.toml", config))


def reasons(test, directory, name):
    return {page["url"]: page["reason"] for page in t.read_pages(test, directory / name)}


def check_refused(test, directory, name, finished, urls, code=t.EXIT_INCOMPLETE):
    """A crawl that fetches nothing at all fails."""
    t.expect_exit(test, finished, code, name)
    got = reasons(test, directory, name)
    for url in urls:
        test.check(got.get(url) == REFUSED, f"{name}: {url}: reason {got.get(url)!r}")
    test.check(re.search(rf"{REFUSED} +{len(urls)} ", finished.text),
               f"{name}: the summary does not count {len(urls)} refused", finished.tail())


def refused_by_default(test, directory, options):
    names = {"public.test": ["127.0.0.1"], "both.test": ["203.0.113.9", "127.0.0.1"],
             "six.test": ["::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fd00::1"],
             "metadata.test": ["169.254.169.254", "fd00:ec2::254"],
             # What was public when it was first requested must not count.
             "rebound.test": [["203.0.113.9"], ["127.0.0.1"], ["127.0.0.1"]]}
    with Server({"/": answer("secret")}) as server, DnsServer(names, ttl=0) as dns:
        seeds = [server.url("/", host) for host in
                 [*names, "localhost", "sub.localhost", "127.0.0.1", "[::1]"]]
        seeds.append(server.url("/again", "rebound.test"))
        finished = crawl(options, directory, "refused", seeds, dns,
                         fetch={"allow_private_addresses": False})
        check_refused(test, directory, "refused", finished, seeds)
        # With robots.txt the answer is the same.
        finished = crawl(options, directory, "refused-robots", seeds, dns,
                         fetch={"allow_private_addresses": False},
                         politeness={"respect_robots": True, "robots_retries": 0})
        t.expect_exit(test, finished, t.EXIT_INCOMPLETE, "refused, with robots.txt")
        got = reasons(test, directory, "refused-robots")
        for url in seeds:
            test.check(got.get(url) == REFUSED, f"with robots.txt: {url}: {got.get(url)!r}")
    test.check(server.accepted == 0, f"{server.accepted} connections to private addresses")
    test.check(dns.asked() == set(names), "other names were requested", dns.asked())


def redirects(test, directory, options):
    """The site is behind a proxy, which may be anywhere; what it leads to may not."""
    answers = {"/": answer(links(["/metadata", "/file", "/inside", "/ftp"])),
               "/metadata": redirect("http://169.254.169.254/latest/meta-data/"),
               "/file": redirect("file:///etc/passwd"), "/ftp": redirect("ftp://127.0.0.1/x"),
               "/secret": answer("secret")}
    with Server(answers) as server, HttpProxy() as proxy, \
            DnsServer({"inside.test": ["127.0.0.1"]}) as dns:
        inside = server.url("/secret", "inside.test")
        answers["/inside"] = redirect(inside)
        start = server.url("/", "site.test")
        finished = crawl(options, directory, "redirects", [start], dns, fetch={
            "allow_private_addresses": False,
            "host": [{"host": "site.test", "proxy": f"http://{proxy.address}"}]})
    check_refused(test, directory, "redirects", finished,
                  [inside, "http://169.254.169.254/latest/meta-data/"], t.EXIT_DONE)
    test.check("/secret" not in server.paths(), "a private address was asked", server.paths())
    for path, pages in t.by_path(t.read_pages(test, directory / "redirects")).items():
        if path in ("/file", "/ftp"):
            test.check("neither http nor https" in (pages[0]["error"] or ""),
                       f"{path}: where it leads was not refused", pages)
    test.check(all(url.startswith("http:") for url in reasons(test, directory, "redirects")),
               "another scheme was followed")
    test.check("root:" not in finished.text, "a file was read")


def private_behind_proxies(test, directory, options):
    """URLs that would be refused without a proxy are not requested from a proxy either."""
    with Server({"/": answer("secret")}) as server, HttpProxy() as http, SocksProxy() as socks, \
            DnsServer({"inside.test": ["127.0.0.1"]}) as dns:
        literal = [server.url("/", host) for host in ("127.0.0.1", "localhost", "[::1]")]
        literal.append("http://169.254.169.254/")
        for scheme, proxy in (("http", http), ("socks5h", socks), ("socks5", socks)):
            name = f"behind-{scheme}"
            # The address is known here only if the proxy needs one.
            seeds = literal + ([server.url("/", "inside.test")] if scheme == "socks5" else [])
            finished = crawl(options, directory, name, seeds, dns, fetch={
                "allow_private_addresses": False, "proxy": f"{scheme}://{proxy.address}"})
            check_refused(test, directory, name, finished, seeds)
        test.check(not http.seen and not socks.seen, "a proxy was asked",
                   [http.seen, socks.seen])
    test.check(server.accepted == 0, f"{server.accepted} connections to private addresses")


def allowed(test, directory, options):
    pages = [f"/{i}" for i in range(20)]
    answers = {"/": answer(links(pages)), **{page: answer("page") for page in pages}}
    # The first address does not answer: nobody listens there.
    names = {"site.test": ["127.0.0.1"], "two.test": ["127.0.0.77", "127.0.0.1"]}
    with Server(answers) as server, DnsServer(names) as dns:
        seeds = [server.url("/", host) for host in names]
        missing = [server.url(page, "missing.test") for page in pages]
        finished = crawl(options, directory, "allowed", seeds + missing, dns)
        t.expect_exit(test, finished, t.EXIT_DONE, "allowed")
    expected = {server.url(page, host) for host in names for page in ["/", *pages]}
    asked = [f"http://{request.host}{request.path}" for request in server.requests]
    test.check_equal_sets(set(asked), expected, "with private addresses allowed")
    test.check(len(asked) == len(expected), "some pages were requested twice")
    got = reasons(test, directory, "allowed")
    test.check(all(got.get(url) == "" or got.get(url) is None for url in expected),
               "failed pages", got)
    for url in missing:
        test.check(got.get(url) == NOT_RESOLVED, f"{url}: reason {got.get(url)!r}")
    for name in [*names, "missing.test"]:
        for kind in (A, AAAA):
            # A name that does not exist is requested once more, after some seconds.
            test.check(dns.queries.count((name, kind)) == (2 if name == "missing.test" else 1),
                       f"{name}: requested {dns.queries.count((name, kind))} times", dns.queries)


def short_lived(test, directory, options):
    """A name whose addresses live a second is requested again, and the new ones are used."""
    names = {"moving.test": [["127.0.0.2"], ["127.0.0.1"]]}
    answers = {"/": answer(links(["/1", "/2"])), "/1": answer("1"), "/2": answer("2")}
    with Server(answers, addresses=("127.0.0.1", "127.0.0.2")) as server, \
            DnsServer(names, ttl=0) as dns:
        finished = crawl(options, directory, "moving", [server.url("/", "moving.test")], dns,
                         politeness={"respect_robots": False, "delay": "1100ms",
                                     "per_host_connections": 1})
        t.expect_exit(test, finished, t.EXIT_DONE, "a name that moves")
    test.check(len(server.requests) == 3, "not all pages were requested", server.paths())
    test.check(dns.lookups("moving.test") >= 2, "the name was requested once only", dns.queries)


def no_name_server(test, directory, options):
    with DnsServer({}) as dns:
        gone = dns.address
    config = t.fast_crawl(["http://name.test/"], directory / "gone",
                          fetch={"dns_servers": [gone], "dns_timeout": "200ms"},
                          politeness={"respect_robots": False})
    finished = t.run(options, directory, "crawl",
                     t.write_config(directory / "gone.toml", config), timeout=60)
    t.expect_exit(test, finished, t.EXIT_INCOMPLETE, "no name server")
    got = reasons(test, directory, "gone")
    test.check(got == {"http://name.test/": NOT_RESOLVED}, "no name server", got)


def addresses(test, directory, options):
    parts = (refused_by_default, redirects, private_behind_proxies, allowed, short_lived,
             no_name_server)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    t.main(addresses, t.parser(__doc__).parse_args())
