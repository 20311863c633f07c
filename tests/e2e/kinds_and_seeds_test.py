"""Rules on how URLs were found and on responses; seeds with settings; sitemaps and feeds to start from."""

import datetime
import time

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links, not_modified

HERE, THERE, FAR = "127.0.0.1", "127.0.0.2", "127.0.0.3"


class Site(ScriptedServer):
    """`answers`: answers or lists of links by "host/path"."""

    def __init__(self):
        self.answers = {}
        super().__init__(self._respond, addresses=(HERE, THERE, FAR))

    def _respond(self, request):
        page = self.answers.get(request.host.rsplit(":", 1)[0] + request.path)
        if page is None:
            return answer("none", "404 Not Found")
        if callable(page):
            return page(request)
        if isinstance(page, list):
            return answer(f"<title>{request.path}</title>" + links(page))
        return page


def crawl(test, directory, options, name, seeds, more="", code=t.EXIT_DONE, **tables):
    config = t.write_config(directory / f"{name}.toml",
                            t.fast_crawl(seeds, directory / name, **tables))
    config.write_text(config.read_text() + more)
    ended = t.run(options, directory, "crawl", config)
    t.expect_exit(test, ended, code, name)
    return config


def check_fetched(test, site, expected, what):
    asked = [request.host.rsplit(":", 1)[0] + request.path for request in site.pages]
    test.check_equal_sets(set(asked), set(expected), what)
    test.check(len(asked) == len(set(asked)), f"{what}: fetched more than once", asked)


def rules_by_kind(test, directory, options):
    with Site() as site:
        image = site.url("/a.png", THERE)
        site.answers.update({
            f"{HERE}/": answer(f"<a href=/moved>m</a> <img src={image}> "
                               f"<a href={site.url('/page', THERE)}>out</a> <a href=/gone>g</a>"),
            f"{HERE}/moved": answer("", "302 Found", f"Location: {site.url('/target', FAR)}"),
            f"{HERE}/gone": answer("", "302 Found", "Location: /here"),
            f"{FAR}/target": ["/next"], f"{THERE}/a.png": answer("png", content_type="image/png"),
            f"{HERE}/here": []})
        config = crawl(test, directory, options, "kinds", [site.url()],
                       links={"kinds": ["navigation", "resource"]}, output={"skipped": True},
                       scope={"rules": [
                           {"include": "*", "kind": "resource", "name": "images"},
                           {"exclude": "*/here", "kind": ["redirect", "sitemap"]},
                           {"include": f"{FAR}:*", "kind": "redirect"}]})
        check_fetched(test, site, [f"{HERE}/", f"{HERE}/moved", f"{HERE}/gone", f"{FAR}/target",
                                   f"{THERE}/a.png"], "rules with kinds")
        for url, kind, code in [(image, "resource", 0), (image, "navigation", 1),
                                (site.url("/here"), "redirect", 1), (site.url("/here"), None, 0)]:
            asked = t.run(options, directory, "explain", config, url,
                          *(["--kind", kind] if kind else []))
            t.expect_exit(test, asked, code, f"explain {url} --kind {kind}")


def rules_on_responses(test, directory, options):
    with Site() as site:
        missing = answer("<a href=/from-404>x</a>", "404 Not Found")
        site.answers.update({f"{HERE}/": ["/missing", "/data.xhtml"], f"{HERE}/missing": missing,
                           f"{HERE}/data.xhtml": answer("<a href=/from-xhtml>x</a>",
                                                        content_type="application/xhtml+xml"),
                           f"{HERE}/from-404": []})
        crawl(test, directory, options, "responses", [site.url()],
              links={"rules": [{"include": "text/html", "status": 404},
                               {"exclude": "application/xhtml+xml"}]},
              output={"warc": True, "rules": [{"exclude": "*/*", "status": ["4xx", 503]},
                                              {"exclude": "application/*"}]})
        check_fetched(test, site, [f"{HERE}/", f"{HERE}/missing", f"{HERE}/data.xhtml",
                                   f"{HERE}/from-404"], "links.rules")
        kept = {page["url"]: page["warc"] is not None
                for page in t.read_pages(test, directory / "responses")}
        test.check(kept == {site.url(): True, site.url("/missing"): False,
                            site.url("/data.xhtml"): False, site.url("/from-404"): True},
                   "output.rules", kept)


def rules_on_what_is_read(test, directory, options):
    """links.rules decide on style sheets, scripts, JSON and feeds, too."""
    page = ("<link rel=stylesheet href=/a.css><link rel=stylesheet href=/b.css>"
            "<script src=/c.js></script><a href=/d.json>d</a><a href=/rss>r</a><a href=/atom>a</a>")
    rss = "<rss version='2.0'><channel><item><link>{}</link></item></channel></rss>"
    atom = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/from-atom'/></entry></feed>"
    ruled = [{"include": "text/css", "status": 404}, {"exclude": "text/css"},
             {"exclude": "text/javascript"}, {"exclude": "application/json"},
             {"exclude": "application/rss+xml", "status": "2xx"}]
    named = ["/", "/a.css", "/b.css", "/c.js", "/d.json", "/rss", "/atom", "/from-atom"]
    for rules, found in ([], ["/from-css.png", "/from-js", "/from-json", "/from-rss"]), \
            (ruled, ["/from-missing.png"]):
        with Site() as site:
            site.answers.update({
                f"{HERE}/": answer(page),
                f"{HERE}/a.css": answer("a { background: url(from-css.png) }",
                                        content_type="text/css"),
                f"{HERE}/b.css": answer("a { background: url(from-missing.png) }", "404 Not Found",
                                        content_type="text/css"),
                f"{HERE}/c.js": answer("go('/from-js')", content_type="text/javascript"),
                f"{HERE}/d.json": answer('{"to": "/from-json"}', content_type="application/json"),
                f"{HERE}/rss": answer(rss.format(site.url("/from-rss")),
                                      content_type="application/rss+xml"),
                f"{HERE}/atom": answer(atom, content_type="application/atom+xml")})
            crawl(test, directory, options, f"read-{len(rules)}", [site.url()],
                  links={"requisites": True, "guess": ["scripts", "json"], "rules": rules})
            check_fetched(test, site, [HERE + path for path in named + found], "what is read")


def seeds_with_settings(test, directory, options):
    with Site() as site:
        site.answers.update({
            f"{HERE}/": ["/1"], f"{HERE}/1": ["/2"], f"{HERE}/2": [],
            f"{THERE}/": ["/1", site.url("/", FAR)], f"{THERE}/1": ["/2"], f"{THERE}/2": [],
            f"{FAR}/a/": ["/a/b", "/c", "/a/d/e"], f"{FAR}/a/b": [], f"{FAR}/a/d/e": []})
        more = f"""
[[seed]]
url = "{site.url("/", THERE)}"
depth = 1
note = "shallow"

[[seed]]
url = "{site.url("/a/", FAR)}"
scope = "prefix"
note = "folder"
"""
        config = crawl(test, directory, options, "seeds", [site.url()], more)
        check_fetched(test, site, [f"{HERE}/", f"{HERE}/1", f"{HERE}/2", f"{THERE}/", f"{THERE}/1",
                                   f"{FAR}/a/", f"{FAR}/a/b", f"{FAR}/a/d/e"],
                      "seeds with settings")
        notes = {page["url"]: page.get("seed_note")
                 for page in t.read_pages(test, directory / "seeds")}
        test.check(notes[site.url("/1")] is None and notes[site.url("/1", THERE)] == "shallow" and
                   notes[site.url("/a/d/e", FAR)] == "folder", "seed_note", notes)
        again = t.run(options, directory, "crawl", config, "--or-resume")
        t.expect_exit(test, again, t.EXIT_DONE, "the same seeds again")
    bad = directory / "bad.toml"
    bad.write_text(f'[[seed]]\nurl = "ftp://x/"\n[[seed]]\nurl = "http://a.test/"\ndepht = 1\n'
                   f'[crawl]\nstate_dir = "{directory / "bad"}"\n')
    checked = t.run(options, directory, "check-config", bad)
    t.expect_exit(test, checked, t.EXIT_BAD_CONFIG, "bad seeds")
    for text in ("bad.toml:2:7: crawl.seed: url: expected an http(s) URL",
                 '"depht" ("depth"?)'):
        test.check(text in checked.text, text, checked.text)
    bad.write_text(f'[[seed]]\nurl = "http://a.test/#b"\n[[seed]]\nurl = "http://a.test/#c"\n'
                   f'depth = 1\n[crawl]\nstate_dir = "{directory / "bad"}"\n')
    checked = t.run(options, directory, "check-config", bad)
    t.expect_exit(test, checked, t.EXIT_BAD_CONFIG, "seeds that differ by the fragment")
    test.check('the seed "http://a.test/#c" is named twice' in checked.text, "named twice",
               checked.text)


def sitemaps_to_start_from(test, directory, options):
    xml = "application/xml"
    with Site() as site:
        def urlset(*urls):
            return answer("<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) +
                          "</urlset>", content_type=xml)
        site.answers.update({
            f"{HERE}/index.xml": answer("<sitemapindex><sitemap><loc>" + site.url("/map.xml") +
                                        "</loc></sitemap></sitemapindex>", content_type=xml),
            f"{HERE}/map.xml": urlset(site.url("/a"), site.url("/b", THERE)),
            f"{HERE}/a": ["/linked"], f"{HERE}/linked": ["/deep"],
            f"{THERE}/b": ["/not-in-scope"]})
        # No seed but a sitemap; its pages have depth 0.
        tables = t.fast_crawl([], directory / "maps", scope={"max_depth": 1})
        tables["crawl"] = {"sitemaps": [site.url("/index.xml")], "state_dir": directory / "maps"}
        config = t.write_config(directory / "maps.toml", tables)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "sitemaps")
        check_fetched(test, site, [f"{HERE}/index.xml", f"{HERE}/map.xml", f"{HERE}/a",
                                   f"{THERE}/b", f"{HERE}/linked"], "crawl.sitemaps")
    with Site() as site:
        site.answers.update({f"{HERE}/": [], f"{HERE}/sitemap.xml": answer(
            f"<urlset><url><loc>{site.url('/listed')}</loc></url></urlset>", content_type=xml),
            f"{HERE}/listed": []})
        crawl(test, directory, options, "guess", [site.url()], links={"guess_sitemaps": True})
        check_fetched(test, site, [f"{HERE}/", f"{HERE}/sitemap.xml", f"{HERE}/listed"],
                      "links.guess_sitemaps")


def stamp(seconds):
    moment = datetime.datetime.fromtimestamp(time.time() + seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S+00:00")


def recrawled_by_sitemap(test, directory, options):
    """Pages are fetched again when their lastmod is later than the last fetch of the sitemap."""
    with Site() as site:
        def listing(**lastmods):
            urls = "".join(f"<url><loc>{site.url('/' + name)}</loc><lastmod>{when}</lastmod></url>"
                           for name, when in lastmods.items())
            plain = f"<url><loc>{site.url('/plain')}</loc></url>"
            return answer(f"<urlset>{urls}{plain}</urlset>", content_type="application/xml")
        old = "2001-01-01"
        site.answers.update({f"{HERE}/a": [], f"{HERE}/b": [], f"{HERE}/plain": [],
                             f"{HERE}/map.xml": listing(a=old, b=old)})
        state = directory / "lastmod"
        tables = t.fast_crawl([], state, recrawl={
            "interval": "1h", "by_sitemap": True, "min_interval": "1s", "adaptive": False,
            "rules": [{"match": "*/map.xml", "interval": "1s"}]})
        tables["crawl"] = {"sitemaps": [site.url("/map.xml")], "state_dir": state}
        config = t.write_config(directory / "lastmod.toml", tables)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "first")
        test.check(sorted(site.paths()) == ["/a", "/b", "/map.xml", "/plain"], "first run",
                   site.paths())
        time.sleep(2.1)
        site.answers[f"{HERE}/map.xml"] = listing(a=stamp(-1), b=old)
        before = len(site.paths())
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "second")
        test.check(site.paths()[before:] == ["/map.xml", "/a"], "second run", site.paths()[before:])
        time.sleep(1.1)
        before = len(site.paths())
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "third")
        test.check(site.paths()[before:] == ["/map.xml"], "third run", site.paths()[before:])


def recrawled_as_found(test, directory, options):
    """What a sitemap has fetched again keeps its depth, its seed's settings and its validators, also
    if it was found in another way first; its own interval counts no more."""
    with Site() as site:
        def versioned(name, body=""):
            tag = f'"{name}"'
            def respond(request):
                if request.headers.get("if-none-match") == tag:
                    return not_modified(f"ETag: {tag}")
                return answer(body or name, "200 OK", f"ETag: {tag}")
            return respond

        def listing(when, paths=("/", "/deep", "/listed")):
            return answer("<urlset>" + "".join(
                f"<url><loc>{site.url(path)}</loc><lastmod>{when}</lastmod></url>"
                for path in [*paths, "/moved"]) + "</urlset>", content_type="application/xml")
        site.answers.update({
            f"{HERE}/robots.txt": answer(f"Sitemap: {site.url('/map.xml')}"),
            f"{HERE}/": versioned("home", links(["/mid"])),
            f"{HERE}/mid": versioned("mid", links(["/deep"])),
            f"{HERE}/deep": versioned("deep", links(["/deeper"])),
            f"{HERE}/listed": versioned("listed"), f"{HERE}/target": versioned("target"),
            f"{HERE}/moved": answer("", "302 Found", "Location: /target"), f"{HERE}/map.xml": listing("2001-01-01", ["/listed"])})
        more = f"""
[[seed]]
url = "{site.url("/")}"
depth = 2
note = "mine"
"""
        def run(what):
            before, lines = len(site.pages), len(pages_of())
            t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, what)
            return site.pages[before:], pages_of()[lines:]

        def pages_of():
            return t.read_pages(test, state) if (state / "output/pages.jsonl").exists() else []
        state = directory / "as-found"
        tables = t.fast_crawl([], state, links={"sitemaps": True}, recrawl={
            "interval": "4s", "by_sitemap": True, "min_interval": "1s", "adaptive": False,
            "rules": [{"match": "*/map.xml", "interval": "1s"},
                      {"match": "*/mid", "interval": "never"}]})
        tables["crawl"].pop("seeds", None)
        config = t.write_config(directory / "as-found.toml", tables)
        config.write_text(config.read_text() + more)
        asked, _ = run("first")
        test.check(sorted(each.path for each in asked) ==
                   ["/", "/deep", "/listed", "/map.xml", "/mid", "/moved", "/target"], "first",
                   [each.path for each in asked])
        # At last it lists what is due by its interval then, and is left alone.
        site.answers[f"{HERE}/map.xml"] = listing("2001-01-01")
        for seconds in (1.1, 4.1):
            time.sleep(seconds)
            asked, _ = run("nothing has changed")
            test.check([each.path for each in asked] == ["/map.xml"], "nothing has changed",
                       [each.path for each in asked])
        time.sleep(2.1)
        site.answers[f"{HERE}/map.xml"] = listing(stamp(-0.1))
        asked, lines = run("all have changed")
        test.check(sorted(each.path for each in asked) ==
                   ["/", "/deep", "/listed", "/map.xml", "/moved", "/target"],
                   "all have changed", [each.path for each in asked])
        for each in asked:
            if each.path not in ("/map.xml", "/moved"):
                test.check("if-none-match" in each.headers, f"{each.path}: unconditional",
                           each.headers)
        found = {page["url"].split("/", 3)[3]: (page["depth"], page.get("seed_note"))
                 for page in lines}
        test.check(found == {"map.xml": (0, "mine"), "": (0, "mine"), "deep": (2, "mine"),
                             "listed": (1, "mine"), "moved": (1, "mine"), "target": (1, "mine")},
                   "as they were found", found)


def nothing_kept_of_unwanted(test, directory, options):
    """Nothing is kept of what a sitemap lists and the crawl does not want: URLs that are too long, excluded or out of scope."""
    with Site() as site:
        def entries(paths):
            return "".join(f"<url><loc>{path}</loc><lastmod>2001-01-01</lastmod></url>"
                           for path in paths)
        far = [site.url(f"/{n}", THERE) for n in range(4000)]
        excluded = [site.url(f"/not/{n}") for n in range(4000)]
        site.answers.update({
            f"{HERE}/robots.txt": answer(f"Sitemap: {site.url('/map.xml')}"
                                         f"\nSitemap: {site.url('/long.xml')}"),
            f"{HERE}/": [], f"{HERE}/listed": [],
            f"{HERE}/map.xml": answer("<urlset>" + entries([*far, *excluded, site.url("/listed")]) +
                                      "</urlset>", content_type="application/xml"),
            f"{HERE}/long.xml": answer(f"<urlset xml:base='{site.url('/' + 'x' * 8000)}/'>" +
                                       entries(range(4000)) + "</urlset>",
                                       content_type="application/xml")})
        crawl(test, directory, options, "unwanted", [site.url()], links={"sitemaps": True},
              recrawl={"interval": "7d", "by_sitemap": True}, scope={"exclude": ["*/not/*"]})
        test.check(sorted(site.paths()) == ["/", "/listed", "/long.xml", "/map.xml"], "fetched",
                   site.paths())
        kept = sum(each.stat().st_size for each in (directory / "unwanted/sitemap-pages").iterdir())
        test.check(kept < 100_000, "bytes kept of 12,000 pages that are not wanted", kept)


def changefreq_of_found(test, directory, options):
    """A page that was found before its sitemap was read has the interval of its changefreq, too."""
    with Site() as site:
        site.answers.update({
            f"{HERE}/": ["/linked", "/other"], f"{HERE}/linked": [], f"{HERE}/other": [],
            f"{HERE}/map.xml": answer(
                f"<urlset><url><loc>{site.url('/linked')}</loc><changefreq>hourly</changefreq></url>"
                f"<url><loc>{site.url('/other')}</loc></url></urlset>",
                content_type="application/xml")})
        # One after the other; the sitemap comes before what the seed links to.
        config = crawl(test, directory, options, "changefreq", [site.url()],
                       crawl={"sitemaps": [site.url("/map.xml")], "order": "priority",
                              "priorities": [{"match": "*/", "priority": 9},
                                             {"match": "*/map.xml", "priority": 8}]},
                       politeness={"per_host_connections": 1, "delay": "100ms"},
                       recrawl={"interval": "1h", "min_interval": "1s", "adaptive": False,
                                "max_interval": "2s"})
        test.check(site.paths() in (["/", "/map.xml", "/linked", "/other"],
                                    ["/", "/map.xml", "/other", "/linked"]), "first", site.paths())
        time.sleep(2.2)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "second")
        test.check(site.paths()[4:] == ["/linked"], "second", site.paths()[4:])


def redirects_of_listed(test, directory, options):
    """What a sitemap says of a URL that redirects counts for what it leads to."""
    with Site() as site:
        def entry(path, more):
            return f"<url><loc>{site.url(path)}</loc>{more}</url>"
        site.answers.update({
            f"{HERE}/map.xml": answer("<urlset>" + entry("/moved", "<priority>1.0</priority>"
                                                        "<changefreq>hourly</changefreq>") +
                                      "".join(entry(f"/{n}", "<priority>0.6</priority>")
                                              for n in range(6)) + "</urlset>",
                                      content_type="application/xml"),
            f"{HERE}/moved": answer("", "302 Found", "Location: /target"),
            f"{HERE}/target": [], **{f"{HERE}/{n}": [] for n in range(6)}})
        state = directory / "redirects"
        tables = t.fast_crawl([], state, politeness={"per_host_connections": 1, "delay": "50ms"},
                              recrawl={"interval": "1h", "min_interval": "1s", "adaptive": False,
                                       "max_interval": "2s"})
        tables["crawl"] = {"sitemaps": [site.url("/map.xml")], "state_dir": state,
                           "order": "priority"}
        config = t.write_config(directory / "redirects.toml", tables)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "first")
        # A page or two may have been leased before what it leads to was queued.
        test.check("/target" in site.paths()[:5] and len(site.paths()) == 9, "priority",
                   site.paths())
        time.sleep(2.1)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "second")
        test.check(site.paths()[9:] == ["/target"], "changefreq", site.paths()[9:])
        # Also after a time when robots.txt did not allow it.
        for robots, asked in ("User-agent: *\nDisallow: /", []), ("", ["/target"]):
            site.answers[f"{HERE}/robots.txt"] = answer(robots, content_type="text/plain")
            before = len(site.paths())
            time.sleep(2.1)
            t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, robots)
            test.check(site.paths()[before:] == asked, f"with robots.txt {robots!r}",
                       site.paths()[before:])


def feeds(test, directory, options):
    for on in (True, False):
        with Site() as site:
            rss = "<rss version='2.0'><channel><link>/</link><item><link>{}</link></item></channel></rss>"
            atom = "<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/b'/></entry></feed>"
            site.answers.update({
                f"{HERE}/": ["/rss", "/atom.xml", "/other.xml"],
                f"{HERE}/rss": answer(rss.format(site.url("/a")), content_type="application/rss+xml"),
                f"{HERE}/atom.xml": answer("<?xml version='1.0'?>" + atom, content_type="text/xml"),
                f"{HERE}/other.xml": answer("<x><link>/c</link></x>", content_type="text/xml"),
                f"{HERE}/a": [], f"{HERE}/b": []})
            crawl(test, directory, options, f"feeds-{on}", [site.url()], links={"feeds": on})
            check_fetched(test, site, [f"{HERE}/", f"{HERE}/rss", f"{HERE}/atom.xml",
                                       f"{HERE}/other.xml"] +
                          ([f"{HERE}/a", f"{HERE}/b"] if on else []), f"links.feeds = {on}")


def guesses(test, directory, options):
    page = """<script>var a = "/from-inline.html", b = 'x y', c = "\\/escaped\\/path",
        d = "https://" + host, e = "image/png";</script>
        <script type="application/ld+json">{"url": "/from-data.html", "no": "nothing"}</script>
        <script src=/dir/code.js></script><a href=/data.json>d</a>"""
    for guess, found in ({"scripts": True, "json": True}, ["/from-inline.html", "/escaped/path",
                                                          "/from-data.html", "/from-file.html",
                                                          "/missing.html", "/from-json", "/linked"]), \
            ({"scripts": True}, ["/from-inline.html", "/escaped/path", "/from-file.html",
                                 "/missing.html", "/linked"]), ({}, []):
        with Site() as site:
            out = site.url("/out.html", THERE)
            site.answers.update({
                f"{HERE}/": answer(page), f"{HERE}/from-inline.html": ["/linked"],
                f"{HERE}/dir/code.js": answer(f"go('from-file.html'); load('/missing.html', '{out}')",
                                              content_type="text/javascript"),
                f"{HERE}/data.json": answer('{"next": "./from-json", "n": 1}',
                                            content_type="application/json; charset=utf-8"),
                f"{HERE}/missing.html": answer("<a href=/not-linked>x</a>", "404 Not Found"),
                f"{HERE}/linked": []})
            name = "guesses-" + "-".join(guess or ["none"])
            config = crawl(test, directory, options, name, [site.url()],
                           links={"guess": list(guess), "kinds": ["navigation", "resource"],
                                  "rules": [{"include": "text/html", "status": 404}]})
            check_fetched(test, site, [f"{HERE}{path}" for path in
                                       ["/", "/dir/code.js", "/data.json", *found]],
                          f"links.guess = {list(guess)}")
            pages = t.by_path(t.read_pages(test, directory / name))
            test.check(pages["/"][0].get("guesses") == ({2: 3, 1: 2, 0: None}[len(guess)]),
                       "guesses in pages.jsonl", pages["/"][0])
    refused = t.run(options, directory, "check-config", config, "--set", "links.kinds=guess")
    t.expect_exit(test, refused, t.EXIT_BAD_CONFIG, "links.kinds = guess")
    test.check("links.guess" in refused.text, "what to set", refused.text)


def refused_as_guess(test, directory, options):
    """A rule for guesses does not hide what the same page, or another one, needs to be shown."""
    with Site() as site:
        image, other = site.url("/a.png", THERE), site.url("/b.png", THERE)
        site.answers.update({
            f"{HERE}/": answer(f"<script>load('{image}', '{other}')</script><img src={image}>"
                               "<a href=/2>2</a>"),
            f"{HERE}/2": answer(f"<img src={image}><img src={other}>")})
        crawl(test, directory, options, "refused", [site.url()],
              links={"requisites": True, "guess": ["scripts"]},
              scope={"rules": [{"exclude": "*", "kind": "guess"}]})
        check_fetched(test, site, [f"{HERE}/", f"{HERE}/2", f"{THERE}/a.png", f"{THERE}/b.png"],
                      "refused as a guess")


def guesses_out_of_scope(test, directory, options):
    """A guess leads on only in scope, also where extra_hops fetches it; links lead back."""
    with Site() as site:
        site.answers.update({
            f"{HERE}/": answer(f"<script>go('{site.url('/guess', THERE)}')</script>"
                               f"<a href={site.url('/link', THERE)}>x</a>"),
            f"{THERE}/guess": [site.url("/from-guess")], f"{THERE}/link": [site.url("/from-link")]})
        crawl(test, directory, options, "guess-out", [site.url()], links={"guess": ["scripts"]},
              scope={"extra_hops": 1})
        check_fetched(test, site, [f"{HERE}/", f"{THERE}/guess", f"{THERE}/link",
                                   f"{HERE}/from-link"], "guesses out of scope")


def what_guesses_load(test, directory, options):
    """What a guess loads is fetched only if it is a page in scope with status 200."""
    loads = ("<img src=/{0}.png><link rel=stylesheet href=/{0}.css><iframe src=/{0}-frame></iframe>"
             "<style>p {{ background: url(/{0}-style.png) }}</style>").format
    with Site() as site:
        far = [site.url(path, THERE) for path in ("/soft404.png", "/header.png", "/far.css")]
        site.answers.update({
            f"{HERE}/": answer(f"<script>load('{far[0]}', '{far[1]}', '{far[2]}', '/missing.html',"
                               "'/here.html', '/here.css')</script>"),
            f"{HERE}/here.html": answer(loads("good"), "200 OK",
                                        "Link: </linked.css>; rel=preload; as=style",
                                        "Link: </linked.png>; rel=preload; as=image; "
                                        'imagesrcset="/linked2.png 2x, data:x 3x"'),
            f"{HERE}/missing.html": answer(loads("missing"), "404 Not Found"),
            f"{HERE}/here.css": answer("p { background: url(/of-here.png) }",
                                       content_type="text/css"),
            f"{THERE}/soft404.png": answer(loads("soft404")),
            f"{THERE}/header.png": answer("none", "200 OK",
                                          "Link: </far-linked.css>; rel=stylesheet"),
            f"{THERE}/far.css": answer("p { background: url(/of-far.png) }",
                                       content_type="text/css")})
        crawl(test, directory, options, "guess-loads", [site.url()],
              links={"requisites": True, "guess": ["scripts", "json"],
                     "rules": [{"include": "text/html", "status": 404}]})
        check_fetched(test, site, [
            f"{HERE}{path}" for path in ("/", "/missing.html", "/here.html", "/here.css",
                                         "/good.png", "/good.css", "/good-frame",
                                         "/good-style.png", "/linked.css", "/linked.png",
                                         "/linked2.png")] +
            [f"{THERE}{path}" for path in ("/soft404.png", "/header.png", "/far.css")],
            "what guesses load")


def guesses_that_are_links(test, directory, options):
    """What a link to a guess leads to is found, also if the guess came first: it is then read as a
    link if it still waits, and else fetched once more."""
    found = ["/entry", "/from-app2", "/of-sheet.png", "/from-moved"]
    for name, more, twice in (("waits", "<a href=/p1>1</a>", []),
                              ("read", "<a href=/p0>0</a>",
                               ["/app2.js", "/sheet.css", "/moved", "/target.js"])):
        with Site() as site:
            site.answers.update({
                f"{HERE}/": answer('<script>var a = ["/feed.xml", "app2.js", "/sheet.css", "/moved",'
                                   f'"/both.js", "/only.js"]</script>{more}'
                                   "<script src=/both.js></script>"),
                f"{HERE}/p0": ["/p1"],
                f"{HERE}/p1": answer("<link rel=alternate type=application/rss+xml href=/feed.xml>"
                                     "<link rel=stylesheet href=/sheet.css><a href=/p2>2</a>"
                                     "<script src=/moved></script><script src=/app2.js></script>"),
                f"{HERE}/p2": answer("<script src=/app2.js></script><a href=/feed.xml>f</a>"),
                f"{HERE}/feed.xml": answer("<rss version='2.0'><channel><item><link>/entry</link>"
                                           "</item></channel></rss>",
                                           content_type="application/rss+xml"),
                f"{HERE}/sheet.css": answer("p { background: url(of-sheet.png) }",
                                            content_type="text/css"),
                f"{HERE}/moved": answer("", "302 Found", "Location: /target.js"),
                **{f"{HERE}/{script}.js": answer(f"go('/from-{script}')",
                                                 content_type="text/javascript")
                   for script in ("app2", "both", "only")},
                f"{HERE}/target.js": answer("go('/from-moved')", content_type="text/javascript")})
            crawl(test, directory, options, f"guess-{name}", [site.url()],
                  links={"requisites": True, "guess": ["scripts"], "feeds": True},
                  politeness={"per_host_connections": 1, "delay": "50ms"})
            once = ["/", "/p1", "/p2", "/feed.xml", "/app2.js", "/sheet.css", "/moved",
                    "/target.js", "/both.js", "/only.js", "/from-both", *found]
            once += ["/p0"] if name == "read" else []
            test.check(sorted(site.paths()) == sorted([*once, *twice]), f"guesses first: {name}",
                       sorted(site.paths()))


def sitemaps_of_seeds(test, directory, options):
    """What the sitemap of a seed's site lists has the seed's settings."""
    with Site() as site:
        site.answers.update({
            f"{HERE}/robots.txt": answer(f"Sitemap: {site.url('/map.xml')}"), f"{HERE}/": [],
            f"{HERE}/map.xml": answer(f"<urlset><url><loc>{site.url('/listed')}</loc></url></urlset>",
                                      content_type="application/xml"), f"{HERE}/listed": []})
        more = f'[[seed]]\nurl = "{site.url()}"\nnote = "mine"\n'
        tables = t.fast_crawl([], directory / "of-seeds", links={"sitemaps": True})
        tables["crawl"].pop("seeds")
        config = t.write_config(directory / "of-seeds.toml", tables)
        config.write_text(config.read_text() + more)
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "of seeds")
        notes = {page["url"]: page.get("seed_note")
                 for page in t.read_pages(test, directory / "of-seeds")}
        test.check(notes.get(site.url("/listed")) == "mine", "seed_note", notes)


def script(test, directory, options):
    for part in (rules_by_kind, rules_on_responses, rules_on_what_is_read, seeds_with_settings, sitemaps_to_start_from,
                 recrawled_by_sitemap, recrawled_as_found, nothing_kept_of_unwanted,
                 changefreq_of_found, redirects_of_listed, feeds, guesses, refused_as_guess,
                 guesses_out_of_scope, what_guesses_load, guesses_that_are_links,
                 sitemaps_of_seeds):
        part(test, directory, options)


if __name__ == "__main__":
    t.main(script, t.parser(__doc__).parse_args())
