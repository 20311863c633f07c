"""Sitemaps that robots.txt names are read, if enabled, as pages are fetched: in scope, in order,
politely."""

import trawl_testing as t
from scripted_server import ScriptedServer, answer, check_gaps, links, zipped


def urlset(urls):
    """Of URLs, or pairs of URL and priority."""
    text = "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    for url in urls:
        url, priority = url if isinstance(url, tuple) else (url, None)
        extra = f"<priority>{priority}</priority>" if priority is not None else ""
        text += f"<url><loc>{url}</loc>{extra}</url>"
    return text + "</urlset>"


def index(urls):
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{entries}" \
           "</sitemapindex>"


def xml(text):
    return answer(text, content_type="application/xml")


class Site(ScriptedServer):
    """`make(url)` makes the answers; `url` makes URLs of the server."""

    def __init__(self, make):
        super().__init__(lambda request: self.answers.get(request.path,
                                                          answer("none", "404 Not Found")))
        self.answers = make(self.url)


def robots(*sitemaps):
    lines = "".join(f"Sitemap: {url}\n" for url in sitemaps)
    return answer(f"User-agent: *\nDisallow: /forbidden\n{lines}", content_type="text/plain")


def crawl(test, directory, options, name, site, **tables):
    config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [site.url()], directory / name, **{"links": {"sitemaps": True}, **tables}))
    finished = t.run(options, directory, "crawl", config)
    t.expect_exit(test, finished, t.EXIT_DONE, name)
    return t.by_path(t.read_pages(test, directory / name))


def all_kinds(url):
    return {
        "/robots.txt": robots(url("/map.xml"), url("/index.xml"), url("/map.txt"),
                              url("/missing.xml")),
        "/": answer("<p>no links"),
        "/map.xml": xml(urlset([url("/plain-1"), url("/plain-2"), url("/forbidden/x"),
                                "http://other.example/foreign"])),
        "/index.xml": xml(index([url("/zipped.xml.gz"), url("/nested.xml"), url("/map.xml")])),
        "/nested.xml": xml(index([url("/deep.xml")])),
        "/deep.xml": xml(urlset([url("/deep")])),
        "/zipped.xml.gz": zipped(urlset([url("/zipped-1"), url("/zipped-2"), url("/plain-1")])),
        "/map.txt": answer(f"{url('/listed-1')}\n{url('/listed-2')}\n", content_type="text/plain"),
        **{path: answer(f"<a href={path}/below>x</a>") for path in PAGES},
        **{path + "/below": answer("<p>" + path) for path in PAGES},
    }


PAGES = ("/plain-1", "/plain-2", "/zipped-1", "/zipped-2", "/deep", "/listed-1", "/listed-2")
MAPS = ("/map.xml", "/index.xml", "/nested.xml", "/deep.xml", "/zipped.xml.gz", "/map.txt",
        "/missing.xml")


def kinds(test, directory, options):
    with Site(all_kinds) as site:
        pages = crawl(test, directory, options, "kinds", site)
    expected = {"/", *PAGES, *MAPS, *(path + "/below" for path in PAGES)}
    test.check_equal_sets(set(site.paths()), expected, "sitemaps, requests")
    test.check(not t.repeats(site.paths()), "requested twice", site.paths())
    good = {path for path, lines in pages.items() if lines[0]["status"] == 200}
    test.check(expected - {"/missing.xml"} - set(MAPS) <= good, "pages are missing in the output",
               sorted(expected - good))


def left_out(test, directory, options):
    with Site(all_kinds) as site:
        crawl(test, directory, options, "left_out", site, links={})
    test.check(site.paths() == ["/"], "sitemaps are read unasked", site.paths())


def in_scope(test, directory, options):
    """A sitemap may be anywhere on its host, what it lists has to be in scope."""
    with Site(lambda url: {
            "/robots.txt": robots(url("/map.xml")),
            "/in/": answer("<p>in"), "/in/2": answer("<p>2"), "/out": answer("<p>out"),
            "/map.xml": xml(urlset([url("/in/2"), url("/out"), url("/in/not")]))}) as site:
        config = t.write_config(directory / "in_scope.toml", t.fast_crawl(
            [site.url("/in/")], directory / "in_scope",
            scope={"type": "prefix", "exclude": ["*/in/not"]}, links={"sitemaps": True}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "in_scope")
    test.check_equal_sets(set(site.paths()), {"/in/", "/map.xml", "/in/2"}, "sitemaps and scope")


def priorities(test, directory, options):
    """crawl.order = "priority": what a sitemap calls more important comes first."""
    shares = {f"/p{i}": i / 10 for i in (3, 9, 1, 7, 0, 10, 5)}
    with Site(lambda url: {
            "/robots.txt": robots(url("/map.xml")), "/": answer("<p>home"),
            "/map.xml": xml(urlset([(url(path), share) for path, share in shares.items()])),
            **{path: answer("<p>" + path) for path in shares}}) as site:
        crawl(test, directory, options, "priorities", site, crawl={"order": "priority"},
              fetch={"threads": 1, "connections": 1}, politeness={"per_host_connections": 1})
    asked = [path for path in site.paths() if path in shares]
    test.check(asked == sorted(shares, key=lambda path: -shares[path]), "not in that order", asked)


def polite(test, directory, options):
    with Site(all_kinds) as site:
        crawl(test, directory, options, "polite", site,
              politeness={"delay": "100ms", "per_host_connections": 1})
    test.check(len(site.requests) > 15, f"only {len(site.requests)} requests")
    check_gaps(test, site.requests, 0.1, "with sitemaps")


def per_host(test, directory, options):
    """Each host's own robots.txt counts, found by links too."""
    with Site(lambda url: {
            "/robots.txt": robots(url("/map.xml")), "/": answer("<p>second"),
            "/map.xml": xml(urlset([url("/listed")])), "/listed": answer("<p>listed")}) as second:
        with Site(lambda url: {"/": answer(links([second.url()]))}) as first:
            crawl(test, directory, options, "per_host", first, scope={"type": "any"})
    test.check_equal_sets(set(second.paths()), {"/", "/map.xml", "/listed"},
                          "a host that was found by a link")


def other_host(test, directory, options):
    """One that robots.txt names may lie on another host, and with it the sitemaps of its index and
    what it is redirected to. What it lists has to be in scope; what another host's robots.txt
    names, too."""
    with ScriptedServer({}, ("127.0.0.1", "127.0.0.2", "127.0.0.3")) as site:
        def on(host, path):
            return site.url(path, host)
        far, farther = "127.0.0.2", "127.0.0.3"
        answers = {
            ("127.0.0.1", "/robots.txt"): robots(
                on(far, "/index.xml"), on(far, "/moved.xml"), on(far, "/forbidden/map.xml"),
                "\u00a0" + on(far, "/blank.xml") + "\u00a0"),
            ("127.0.0.1", "/"): answer("<p>home"),
            (far, "/robots.txt"): robots(on(farther, "/its-own.xml"), on(far, "/its-own.xml")),
            (far, "/index.xml"): xml(index([on(far, "/map.xml"), on(farther, "/map.xml")])),
            (far, "/map.xml"): xml(urlset([on("127.0.0.1", "/listed"), on(far, "/page")])),
            (far, "/blank.xml"): xml(urlset(["\u00a0" + on("127.0.0.1", "/blank") + "\u00a0"])),
            (far, "/moved.xml"): answer("", "301 Moved", f"Location: {on(farther, '/here.xml')}"),
            (farther, "/here.xml"): xml(urlset([on("127.0.0.1", "/moved"), on(farther, "/x")])),
            **{("127.0.0.1", path): answer("<p>" + path)
               for path in ("/listed", "/moved", "/blank")},
        }
        site.respond = lambda request: answers.get(
            (request.host.split(":")[0], request.path), answer("none", "404 Not Found"))
        crawl(test, directory, options, "other_host", site)
        asked = {f"{request.host.split(':')[0]}{request.path}" for request in site.pages}
    test.check_equal_sets(asked, {
        "127.0.0.1/", "127.0.0.1/listed", "127.0.0.1/moved", "127.0.0.1/blank",
        "127.0.0.2/index.xml", "127.0.0.2/map.xml", "127.0.0.2/moved.xml", "127.0.0.2/blank.xml",
        "127.0.0.3/here.xml"}, "sitemaps on another host")


def second_loc(test, directory, options):
    with Site(lambda url: {
            "/robots.txt": robots(url("/map.xml")), "/": answer("<p>home"),
            "/map.xml": xml(f"<urlset><url><loc>{url('/a')}</loc><loc>{url('/b')}</loc></url>"
                            "</urlset>"),
            "/a": answer("<p>a"), "/b": answer("<p>b")}) as site:
        crawl(test, directory, options, "second_loc", site)
    test.check_equal_sets(set(site.paths()), {"/", "/map.xml", "/a", "/b"}, "a second <loc>")


def sitemaps(test, directory, options):
    parts = (kinds, left_out, in_scope, priorities, polite, per_host, other_host, second_loc)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    t.main(sitemaps, t.parser(__doc__).parse_args())
