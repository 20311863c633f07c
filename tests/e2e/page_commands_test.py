"""`trawl links`, `trawl robots` and `trawl sitemap`: what they print of files, of standard input
and of what a server answers, and what they say is wrong."""

import gzip
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess

import trawl_testing as t
from page_examples import (FOLLOWED_KINDS, INDEX, PAGE, PAGE_LINKS, RFC_ESCAPES, RFC_LONGEST,
                           RFC_ROBOTS, RSS, SITEMAP, SITEMAP_LINES, VERDICTS)
from page_server import Server

KIB = 1 << 10
MIB = 1 << 20
ALLOWED, DISALLOWED, TROUBLE = 0, 1, 2  # of trawl robots

class PageCommands:
    def __init__(self, test, directory, options, server):
        self.test, self.directory, self.options = test, directory, options
        self.server = server
        self.files = 0

    # --- helpers ---

    def file(self, contents):
        self.files += 1
        path = self.directory / f"{self.files}.input"
        path.write_bytes(contents)
        return path

    def run(self, *arguments, stdin=b"", code=t.EXIT_DONE, patterns=(), **more):
        """Standard output. Standard error must match the patterns; `code` may be one of several."""
        command = [self.options.trawl, *map(str, arguments)]
        finished = subprocess.run(command, input=stdin, capture_output=True, cwd=self.directory,
                                  timeout=120, check=False, **more)
        said = finished.stderr.decode(errors="replace")
        what = " ".join(map(str, arguments))[:200]
        self.test.check(finished.returncode in (code if isinstance(code, tuple) else (code,)),
                        f"{what}: exit code {finished.returncode}, expected {code}", said)
        for pattern in patterns:
            self.test.check(re.search(pattern, said, re.MULTILINE),
                            f"{what}: not said: {pattern!r}", said)
        self.said = said
        return finished.stdout.decode()

    def json(self, *arguments, **more):
        return [json.loads(line) for line in self.run(*arguments, "--json", **more).splitlines()]

    def silent(self, what):
        self.equal(self.said, "", f"{what}: it complains")

    def equal(self, got, expected, what):
        self.test.check(got == expected, what, f"got      {got!r}\nexpected {expected!r}")

    def links(self, *arguments, **more):
        """The links as lists of kind, where, follow, URL."""
        lines = self.run("links", *arguments, "-q", **more).splitlines()
        return [line.split("\t") for line in lines]

    def urls(self, *arguments, **more):
        return [link[3] for link in self.links(*arguments, **more)]

    # --- links ---

    def links_of_a_page(self):
        path = self.file(PAGE)
        base = ["--base", "http://h.example/page"]
        lines = [[kind, f"{element}@{attribute}", "follow" if follow else "nofollow", url]
                 for kind, element, attribute, follow, url in PAGE_LINKS]
        for engine in ("scanner", "gumbo"):
            options = [*base, "--engine", engine]
            self.equal(self.links(path, *options, "--kinds", "all"), lines, f"{engine}: all kinds")
            self.silent(engine)
            self.equal(self.links(path, *options),
                       [line for line in lines if line[0] in FOLLOWED_KINDS], f"{engine}: default")
            self.equal(self.links(path, *options, "--kinds", "form,citation"),
                       [line for line in lines if line[0] in ("form", "citation")], "two kinds")
            *links, page = self.json("links", path, *options, "--kinds", "all")
            self.silent(f"{engine} --json")
            self.equal([(link["kind"], link["element"], link["attribute"], link["follow"],
                         link["url"]) for link in links], PAGE_LINKS, f"{engine} --json")
            self.equal([link["rel"] for link in links if link["rel"]],
                       ["canonical", "stylesheet", "nofollow ugc"], "rel")
            self.equal(page, {
                "page": "http://h.example/page", "base": "http://h.example/dir/",
                "canonical": "http://h.example/c", "title": "A & B",
                "robots": {"noindex": False, "nofollow": False, "noarchive": True},
                "refresh": {"delay_s": 5, "url": "http://h.example/dir/next"}, "content_type": "",
                "encoding": "UTF-8", "engine": engine, "bytes": len(PAGE),
                "links": len(PAGE_LINKS), "invalid": 1, "other_scheme": 1}, f"{engine}: the page")
        self.run("links", path, *base, patterns=[
            r"^page +http://h\.example/page$", r"^base +http://h\.example/dir/$", "^title +A & B$",
            r"^canonical +http://h\.example/c$", "^robots +noarchive$", "^encoding +UTF-8$",
            r"^refresh +after 5 s to http://h\.example/dir/next$", "^engine +scanner$",
            "^links +5, 1 of them nofollow$", "^dropped +1 invalid, 1 of other schemes$"])

    def texts_of_links(self):
        page = b"""<title>T</title><link rel=next href=n><a href=1>Read\n  <b>the</b> <i>f</i>ine
            <img alt="R&amp;D"> manual</a><a href=2></a><a href=3>\x1b[31m\xc3\xa9\xff<script>x</script>
            <a href=4>""" + b"long " * 100
        texts = ["", "Read the fine R&D manual", "", "\x1b[31m\u00e9\ufffd",
                 " ".join(["long"] * 40)]
        path = self.file(page)
        for engine in ("scanner", "gumbo"):
            options = [path, "--base", "http://h/", "--engine", engine,
                       "--content-type", "text/html; charset=utf-8"]
            lines = self.links(*options, "--text")
            self.equal([line[4] for line in lines],
                       [f"http://h/{path}" for path in ("n", "1", "2", "3", "4")], "the URL is last")
            self.equal([line[3] for line in lines],
                       [text.replace("\x1b", "\ufffd") for text in texts], f"{engine}: printable")
            *links, facts = self.json("links", *options, "--text")
            self.equal([link["text"] for link in links], texts, f"{engine}: as in the page")
            self.equal("text" in facts, False, "the page has no text")
            self.equal([len(line) for line in self.links(*options)], [4] * 5, "without --text")
            *links, _ = self.json("links", *options)
            self.equal([link for link in links if "text" in link], [], "JSON without --text")
        for charset in ("Shift_JIS", "windows-1251", "UTF-16BE"):
            text = "\u65e5\u672c" if charset == "Shift_JIS" else "\u044f"
            url = self.server.serve("/text", f"<a href=x>{text}</a>".encode(charset),
                                    f"text/html; charset={charset}", Link="<y>; rel=next")
            *links, _ = self.json("links", url, "--text")
            self.equal([link["text"] for link in links], ["", text], charset)

    def links_go_on_to_other_commands(self):
        output = self.run("links", "-", "--base", "http://h.example/", "-q", stdin=PAGE)
        urls = "".join(line.split("\t")[3] + "\n" for line in output.splitlines())
        normalized = self.run("normalize", stdin=urls.encode()).splitlines()
        self.equal([line.split("\t")[0] for line in normalized], urls.splitlines(), "normalize")

    def links_of_standard_input(self):
        self.equal(self.urls("-", "--base", "http://h/", stdin=b"<a href=x>"), ["http://h/x"], "-")
        self.equal(self.urls("-", "--base", "http://h/", stdin=b""), [], "nothing")
        whole = b"<a href=x><a href=//y/><a href=http://z/>"
        self.equal(self.run("links", "-", "-q", stdin=whole, patterns=["2 links .*--base"]),
                   "navigation\ta@href\tfollow\thttp://z/\n", "without a base")
        self.equal(self.urls("-", stdin=b"<base href=http://b/c/>" + whole),
                   ["http://b/c/x", "http://y/", "http://z/"], "the page's own base")
        self.equal(self.json("links", "-", "--base", "http://h/")[0]["title"], "", "no title")

    def links_of_a_server(self):
        url = self.server.serve("/a/page", b"<a href=x><a href=http://o.example/>")
        self.equal(self.urls(url), [self.server.root + "/a/x", "http://o.example/"], "relative")
        self.silent("a page")
        self.equal(self.server.requests[-1][1], "trawl/0.1", "the user agent")
        self.equal(self.urls(url, "--base", "http://h/b/"), ["http://h/b/x", "http://o.example/"],
                   "--base wins")
        # Relative to where the redirects lead to.
        self.server.serve("/there/", b"", status=301, Location="/a/page#x")
        begin = self.server.serve("/here", b"", status=302, Location="there/")
        *_, page = self.json("links", begin)
        self.equal(page["page"], self.server.root + "/a/page#x", "redirected to")
        self.equal(self.urls(begin)[0], self.server.root + "/a/x", "relative to the redirect")
        self.equal(self.urls(begin.replace("http", "HTTP", 1))[0], self.server.root + "/a/x",
                   "an upper-case scheme")

    def links_of_headers(self):
        url = self.server.serve(
            "/headers/page", b"<a href=x><meta name=robots content=noindex>",
            Link=['<next>; rel=next, <s.css>; rel="stylesheet preload"',
                  '<//dns.example>; rel=preconnect, </c>; rel=canonical'],
            X_Robots_Tag=["otherbot: noindex", "noarchive"])
        root = self.server.root
        related = [["related", "header@link", "follow", root + "/headers/next"],
                   ["related", "header@link", "follow", root + "/c"]]
        self.equal(self.links(url), [*related, ["navigation", "a@href", "follow",
                                                root + "/headers/x"]], "Link")
        self.equal(self.links(url, "--kinds", "resource"),
                   [["resource", "header@link", "follow", root + "/headers/s.css"]], "resources")
        *links, page = self.json("links", url)
        self.equal((links[0]["element"], links[0]["attribute"], links[0]["rel"]),
                   ("header", "link", "next"), "Link as JSON")
        self.equal(page["canonical"], root + "/c", "the header's canonical link")
        self.equal(page["robots"], {"noindex": True, "nofollow": False, "noarchive": True},
                   "the page's robots and the header's")
        url = self.server.serve("/nofollow", b"<a href=x>", X_Robots_Tag="Trawl: nofollow",
                                Link="<y>; rel=next")
        self.equal([link[2] for link in self.links(url)], ["nofollow"] * 2, "nofollow for all")
        url = self.server.serve("/other", b"<a href=x>", X_Robots_Tag="otherbot: none")
        self.equal([link[2] for link in self.links(url)], ["follow"], "of another agent")

    def links_in_encodings(self):
        text = "<title>\u65e5\u672c</title><a href='/\u65e5?q=\u672c'>"
        for charset, query in (("Shift_JIS", "%96{"), ("EUC-JP", "%CB%DC"), ("GBK", "%B1%BE"),
                               ("UTF-8", "%E6%9C%AC"), ("UTF-16LE", "%E6%9C%AC")):
            expected = f"/%E6%97%A5?q={query}"
            page = text.encode(charset)
            content_type = f"text/html; charset={charset}"
            url = self.server.serve("/encoded", page, content_type)
            *_, facts = self.json("links", url)
            self.equal((facts["title"], facts["encoding"], facts["content_type"]),
                       ("\u65e5\u672c", charset, content_type), f"{charset} from the header")
            self.equal(self.urls(url), [self.server.root + expected], f"{charset}: the link")
            path = self.file(page)
            self.equal(self.urls(path, "--base", "http://h", "--content-type", content_type),
                       ["http://h" + expected], f"{charset} from --content-type")
            if charset.startswith("UTF-16"):
                continue
            path = self.file(f"<meta charset={charset}>".encode() + page)
            self.equal(self.urls(path, "--base", "http://h"), ["http://h" + expected],
                       f"{charset} from <meta>")
        url = self.server.serve("/encoded", "<a href='?\u65e5'>".encode("UTF-8"),
                                "text/html; charset=windows-1252")
        self.equal(self.urls(url, "--content-type", "text/html; charset=utf-8"),
                   [self.server.root + "/encoded?%E6%97%A5"], "--content-type wins")

    def pages_that_are_none(self):
        url = self.server.serve("/text", b"<a href=x>", "text/plain")
        self.equal(self.urls(url), [self.server.root + "/x"], "text/plain")
        self.test.check(re.search("warning: .*/text has the type text/plain", self.said), "not HTML",
                        self.said)
        url = self.server.serve("/xhtml", b"<a href=x>", "Application/XHTML+XML ;charset=utf-8")
        self.urls(url)
        self.silent("XHTML")
        self.urls(self.file(gzip.compress(PAGE)), "--base", "http://h/")
        self.test.check(re.search("warning: .*compressed with gzip", self.said), "gzip", self.said)

    def any_bytes(self):
        seed = random.randrange(1 << 32)
        source = random.Random(seed)
        inputs = [source.randbytes(source.choice([1, 100, 10_000])) for _ in range(6)]
        inputs += [PAGE[:n] + source.randbytes(20) + PAGE[n:] for n in range(10, len(PAGE), 97)]
        inputs += [b"<title>\x1b]0;x\x07\x7f\xc2\x9b2J</title><a href=x>",
                   b"<title>\x1b[2J\xff\xc2\xf0\x9f</title><a href=\xff\x00x>"]
        for contents in inputs:
            path = self.file(contents)
            for engine in ("scanner", "gumbo"):
                what = f"seed {seed}: {path}, {engine}"
                *links, page = self.json("links", path, "--base", "http://h/", "--kinds=all",
                                         "--engine", engine)
                self.equal(len(links), page["links"], what)
                self.run("links", path, "--base", "http://h/", "--engine", engine)
                self.test.check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", self.said),
                                f"{what}: control characters", repr(self.said))
            for command in (["robots", path, "trawl", "/"], ["sitemap", path]):
                self.json(*command, code=(0, 1))
                self.run(*command, code=(0, 1))

    def pages_that_are_refused(self):
        deep = self.file(b"<div>" * 100_000 + b"<a href=x>")
        self.run("links", deep, "--base", "http://h/", "--engine=gumbo", code=t.EXIT_FAILURE,
                 patterns=[r"^trawl: cannot read .*too deeply.*--engine scanner"])
        self.equal(self.urls(deep, "--base", "http://h/"), ["http://h/x"], "deep")
        large = self.directory / "large"
        with open(large, "wb") as file:
            file.truncate(64 * MIB + 1)
        self.run("links", large, "--base", "http://h/", code=t.EXIT_FAILURE,
                 patterns=["^trawl: .*large is larger than 64 MiB"])
        self.run("links", "/dev/zero", "--base", "http://h/", code=t.EXIT_FAILURE,
                 patterns=["larger than 64 MiB"])
        endless = self.server.serve("/endless", b"x" * (64 * MIB + 1))
        self.run("links", endless, code=t.EXIT_FAILURE, patterns=["/endless is larger than 64 MiB"])

    # --- robots ---

    def verdicts(self):
        paths = {contents: self.file(contents) for contents in (RFC_ROBOTS, RFC_LONGEST,
                                                                RFC_ESCAPES)}
        for contents, agent, path, allowed, line in VERDICTS:
            what = f"{agent} {path}"
            code = ALLOWED if allowed else DISALLOWED
            verdict, facts = self.json("robots", paths[contents], agent, "http://h.example" + path,
                                       code=code)
            self.silent(what)
            self.equal((verdict["allowed"], verdict["line"]), (allowed, line), what)
            deciding = contents.decode().split("\n")[line - 1] if line else None
            self.equal(verdict["text"], deciding, f"{what}: the deciding line")
            self.equal(facts, {"robots": str(paths[contents]), "agent": agent,
                               "crawl_delay_s": None, "sitemaps": []}, f"{what}: the facts")
            columns = self.run("robots", paths[contents], agent, "http://h.example" + path,
                               code=code)[:-1].split("\t")
            self.equal(columns[:2], ["allowed" if allowed else "disallowed", str(line or "-")],
                       f"{what}: columns")

    def several_urls(self):
        robots = (b"User-agent: *\nDisallow: /a # not here\nCrawl-delay: 2.5\n"
                  b"Sitemap: http://h.example/s.xml\nSitemap: http://h.example/t.xml\n")
        expected = ("disallowed\t2\tDisallow: /a\thttp://h.example/a\n"
                    "allowed\t-\tno rule matches\thttp://h.example/b\n"
                    "disallowed\t2\tDisallow: /a\t/a?b\n")
        facts = ["^crawl delay +2.5 s$", r"^sitemap +http://h\.example/s\.xml$", r"t\.xml$"]
        urls = ["HTTP://h.example/b/../a", "http://h.example/b", "/a?b"]
        self.equal(self.run("robots", self.file(robots), "trawl", *urls, code=DISALLOWED,
                            patterns=facts), expected, "a file")
        self.equal(self.run("robots", "-", "trawl", *urls, "-q", stdin=robots, code=DISALLOWED),
                   expected, "standard input")
        self.silent("-q")
        *_, page = self.json("robots", "-", "x", "/", stdin=robots)
        self.equal((page["crawl_delay_s"], page["sitemaps"]),
                   (2.5, ["http://h.example/s.xml", "http://h.example/t.xml"]), "facts as JSON")
        # What can be decided is, and the rest is an error.
        self.equal(self.run("robots", "-", "x", "/b", "mailto:a@b.example", "/a", "-q",
                            stdin=robots, code=TROUBLE,
                            patterns=["mailto:a@b.example.*neither http nor https"]),
                   "allowed\t-\tno rule matches\t/b\ndisallowed\t2\tDisallow: /a\t/a\n",
                   "a bad URL among good ones")
        self.equal(self.run("robots", "-", "x", "/a", stdin=b""), "allowed\t-\tno group\t/a\n",
                   "an empty robots.txt")

    def robots_of_a_server(self):
        root = self.server.root
        url = self.server.serve("/robots.txt", b"User-agent: trawl\nDisallow: /a\n", "text/plain")
        self.equal(self.run("robots", url, "trawl", "/a", root + "/b", code=DISALLOWED),
                   f"disallowed\t2\tDisallow: /a\t{root}/a\n"
                   f"allowed\t-\tno rule matches\t{root}/b\n", "by path and URL")
        self.silent("the server's own URLs")
        self.run("robots", url, "trawl", "http://h.example/", patterns=[
            r"^trawl: warning: .*/robots\.txt does not apply to http://h\.example/"])
        for status, code, word in ((404, ALLOWED, "everything is allowed"),
                                   (403, ALLOWED, "everything is allowed"),
                                   (429, DISALLOWED, "nothing is allowed"),
                                   (503, DISALLOWED, "nothing is allowed")):
            self.server.serve(f"/{status}", b"User-agent: *\nDisallow: /b\n", status=status)
            verdict, _ = self.json("robots", f"{root}/{status}", "trawl", "/a", code=code,
                                   patterns=[f"HTTP status {status}: {word}"])
            self.equal((verdict["allowed"], verdict["line"], verdict["reason"]),
                       (code == ALLOWED, None, "status"), f"HTTP {status}")
        # Five redirects are followed, not six, and the rules are those of the site they began at.
        for i in range(6):
            self.server.serve(f"/hop{i}", b"", status=302, Location=f"/hop{i + 1}")
        self.server.serve("/hop6", b"User-agent: *\nDisallow: /a\n", "text/plain")
        self.run("robots", root + "/hop1", "trawl", "/a", code=DISALLOWED)
        self.silent("five redirects")
        self.run("robots", root + "/hop0", "trawl", "/a", patterns=["HTTP status 302: everything"])
        self.run("robots", self.server.serve("/home", b"<p>Hello"), "trawl", "/a",
                 patterns=["/home is an HTML page"])
        for content_type in ("Text/HTML", "application/xhtml+xml; charset=utf-8"):
            url = self.server.serve("/typed", b"<p>Hello", content_type)
            self.run("robots", url, "trawl", "/a", patterns=["/typed is an HTML page"])

    def large_robots(self):
        rules = b"User-agent: *\nDisallow: /a\n" + b"# comment\n" * 60_000 + b"Disallow: /b\n"
        self.run("robots", "-", "x", "/a", "/b", stdin=rules, code=DISALLOWED,
                 patterns=["standard input is larger than 500 KiB"])
        self.run("robots", "-", "x", "/b", stdin=rules)
        self.run("robots", "-", "x", "/b", stdin=rules.replace(b"# comment\n", b"", 20_000),
                 code=DISALLOWED)
        # A line that the limit cuts is not a rule.
        start = b"User-agent: *\nDisallow: /a\n"
        last = b"Disallow: /private/very\n"
        filler = b"#" * (500 * KIB - len(start) - len("Disallow: /pri") - 1) + b"\n"
        cut = start + filler + last
        paths = ["/a", "/private", "/private/very"]
        for source, name in (("-", "standard input"), (self.file(cut), "a file"),
                             (self.server.serve("/cut.txt", cut, "text/plain"), "a server")):
            verdicts = self.json("robots", source, "x", *paths, stdin=cut, code=DISALLOWED,
                                 patterns=["is larger than 500 KiB"])[:-1]
            self.equal([verdict["allowed"] for verdict in verdicts], [False, True, True], name)
        whole = start + filler[-500 * KIB + len(start) + len(last):] + last
        self.equal(len(whole), 500 * KIB, "500 KiB")
        self.run("robots", "-", "x", "/private/very", stdin=whole, code=DISALLOWED)
        self.silent("500 KiB and not more")

    # --- sitemap ---

    def sitemaps(self):
        path, url = self.file(SITEMAP), self.server.serve("/s.xml", SITEMAP, "application/xml")
        compressed = self.file(gzip.compress(SITEMAP))
        zipped = self.server.serve("/s.xml.gz", gzip.compress(SITEMAP), "application/gzip")
        for source, is_gzip in ((path, False), (url, False), (compressed, True), (zipped, True)):
            name = str(source)
            lines = self.run("sitemap", source, patterns=[
                f"^sitemap +{re.escape(name)}$", "^kind +urlset" + ", gzip" * is_gzip + "$",
                "^entries +2$", "^dropped +0 invalid, 1 of other schemes, 0 too long, 1 without"])
            self.equal(lines.splitlines(), SITEMAP_LINES, name)
            first, second, facts = self.json("sitemap", source)
            self.silent(name)
            self.equal(first, {"url": "http://h.example/a?x=1&y=2", "kind": "page",
                               "lastmod": "2026-01-31T10:00:00Z", "changefreq": "weekly",
                               "priority": 0.8, "alternates": [
                                   {"hreflang": "de-AT", "url": "http://h.example/de"}]}, name)
            self.equal(second, {"url": "http://h.example/%C3%BC", "kind": "page",
                                "lastmod": "2026-02-01T00:00:00Z", "changefreq": None,
                                "priority": None, "alternates": []}, name)
            self.equal(facts, {"sitemap": name, "kind": "urlset", "entries": 2, "dropped": {
                "invalid_url": 0, "other_scheme": 1, "too_long": 0, "no_url": 1, "alternates": 0},
                "bytes": len(SITEMAP), "gzip": is_gzip, "complete": True, "next": None,
                "warnings": []}, f"{name}: the facts")
        for contents in (SITEMAP, gzip.compress(SITEMAP)):
            self.equal(self.run("sitemap", "-", "-q", stdin=contents).splitlines(), SITEMAP_LINES,
                       "standard input")
            self.silent("-q")

    def other_sitemaps(self):
        requests = len(self.server.requests)
        url = self.server.serve("/index.xml", INDEX, "text/xml")
        self.equal(self.run("sitemap", url, patterns=["^kind +index$"]),
                   "sitemap\t2026-01-31T00:00:00Z\t-\t-\thttp://h.example/1.xml.gz\n"
                   "sitemap\t-\t-\t-\thttp://h.example/2.xml\n", "an index")
        self.equal(len(self.server.requests) - requests, 1, "requests for an index")
        text = self.file(b"http://h.example/a\r\nhttp://h.example/b\n")
        self.equal([entry["url"] for entry in self.json("sitemap", text)[:-1]],
                   ["http://h.example/a", "http://h.example/b"], "text")
        url = self.server.serve("/feeds/rss", RSS, "application/rss+xml")
        line = "page\t2026-01-31T12:00:00Z\t-\t-\t{}/news/1\n"
        self.equal(self.run("sitemap", url, "-q"), line.format(self.server.root), "a feed")
        self.equal(self.run("sitemap", "-", "-q", "--base", "http://h.example/", stdin=RSS),
                   line.format("http://h.example"), "--base")
        self.run("sitemap", "-", stdin=RSS, patterns=["^entries +0$", "^dropped +1 invalid"])

    def damaged_sitemaps(self):
        whole = SITEMAP.decode()
        cut = whole[:whole.index("ftp://")].encode()
        for contents in (cut, gzip.compress(cut), gzip.compress(SITEMAP * 1000)[:-20]):
            output = self.run("sitemap", "-", stdin=contents, patterns=["^trawl: warning: "])
            self.equal(output.splitlines()[:2], SITEMAP_LINES, "what was read before the damage")
            *_, facts = self.json("sitemap", "-", stdin=contents)
            self.test.check(not facts["complete"] and facts["warnings"], "damage reported", facts)
        for contents in (b"", b"<!DOCTYPE html><p>Hello", b"\x00\x01\x02" * 100):
            output = self.run("sitemap", "-", stdin=contents, code=t.EXIT_FAILURE,
                              patterns=["^trawl: standard input: "])
            self.equal(output, "", "no sitemap")
            facts, = self.json("sitemap", "-", stdin=contents, code=t.EXIT_FAILURE)
            self.equal(facts["kind"], "unknown", "no sitemap")
        many = b"http://h.example/\n" * 50_001
        output = self.run("sitemap", "-", stdin=many, patterns=["^trawl: warning: "])
        self.equal(output.count("\n"), 50_000, "entries at most")
        long = b"http://h.example/" + b"a" * 8000 + b"\n"
        *_, facts = self.json("sitemap", "-", stdin=long * (50 * MIB // len(long) + 10))
        self.test.check(facts["bytes"] <= 50 * MIB and not facts["complete"], "50 MiB", facts)

    def sitemaps_that_unpack_to_much(self):
        base = b"http://h.example/" + b"b" * 8000 + b"/"
        alternate = b"<link rel='alternate' hreflang='de' href='x'/>"
        urls = b"<url><loc>/a</loc>" + alternate * 400 + b"</url>"
        document = gzip.compress(b"<urlset xml:base='" + base + b"'>" + urls * 30 + b"</urlset>")
        self.test.check(len(document) < 64 * KIB, "it is small", len(document))
        path = self.file(document)
        # A sanitizer keeps what was freed.
        environment = dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=1:"
                           + os.environ.get("ASAN_OPTIONS", ""))
        with subprocess.Popen([self.options.trawl, "sitemap", path, "--json"], env=environment,
                              stdout=subprocess.PIPE) as process:
            written = most_memory = 0
            while piece := process.stdout.read(MIB):
                written += len(piece)
                # Not getrusage(), which counts the memory of what started the program.
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                if most := re.search(r"VmHWM:\s+(\d+) kB", status):
                    most_memory = int(most[1]) * KIB
        self.equal(process.returncode, t.EXIT_DONE, "exit code")
        self.test.check(written > 80 * MIB, "much is written", written)
        self.test.check(0 < most_memory < 64 * MIB, "memory", most_memory)

    # --- what goes wrong ---

    def unreadable_inputs(self):
        failed = {"links": t.EXIT_FAILURE, "sitemap": t.EXIT_FAILURE, "robots": TROUBLE}
        more = {"links": ["--base", "http://h/"], "sitemap": [], "robots": ["trawl", "/"]}
        secret = self.file(PAGE)
        secret.chmod(0)
        for name, code in failed.items():
            def fails(source, *patterns, name=name, code=code):
                output = self.run(name, source, *more[name], code=code, patterns=patterns)
                self.equal(output, "", f"{name} {source}: output")
            fails("missing.html", "^trawl: cannot read missing.html: No such file.*http://")
            fails("h.example/a", "^trawl: cannot read h.example/a: No such file.*http://")
            fails(self.directory, "^trawl: cannot read .*: Is a directory")
            if os.geteuid() != 0:
                fails(secret, "Permission denied")
            with socket.socket() as closed:
                closed.bind(("127.0.0.1", 0))
                port = closed.getsockname()[1]
                fails(f"http://127.0.0.1:{port}/",
                      f"^trawl: cannot fetch http://127.0.0.1:{port}/: .*refused|.*connect")
            fails("http://no-such-host.invalid/", "cannot fetch http://no-such-host.invalid/: ")
            fails("http://h:99999/", "99999")
            fails("https://", "no host")
            self.server.serve("/gone", b"", status=302, Location="ftp://h.example/")
            fails(self.server.root + "/gone", "/gone redirects .*ftp://h.example/")
            short = self.server.serve("/short", b"half", Content_Length="1000")
            fails(short, "cannot fetch .*/short: ")
        for name in ("links", "sitemap"):
            self.run(name, self.server.root + "/missing", code=t.EXIT_FAILURE,
                     patterns=["^trawl: .*/missing: the server answered HTTP 404$"])
            loop = self.server.serve("/loop", b"", status=301, Location="/loop")
            requests = len(self.server.requests)
            self.run(name, loop, code=t.EXIT_FAILURE, patterns=["HTTP 301.*redirects"])
            self.equal(len(self.server.requests) - requests, 11, "requests of a loop")

    def usage(self):
        for arguments, *patterns in (
                (["links"], "PAGE"),
                (["links", "-", "--base", "/x"], "--base", "/x"),
                (["links", "-", "--base", "mailto:x"], "--base", "neither http nor https"),
                (["links", "-", "--base=http://h/", "--kinds=formm"], "did you mean form"),
                (["links", "-", "--base=http://h/", "--kinds=all,"], '"" is not a kind'),
                (["links", "-", "--base=http://h/", "--kinds=\x1b"], "not a kind"),
                (["links", "-", "--base=http://h/", "--engine=lexbor"], "scanner", "gumbo"),
                (["sitemap"], "SITEMAP"),
                (["sitemap", "-", "--base", "x"], "--base"),
                (["robots"], "ROBOTS"),
                (["robots", "-"], "AGENT"),
                (["robots", "-", "trawl"], "URL"),
                (["robots", "-", "", "/"], "AGENT")):
            self.equal(self.run(*arguments, code=t.EXIT_USAGE, patterns=patterns), "",
                       f"{arguments}: output")
            self.test.check("\x1b" not in self.said, f"{arguments}: control characters")
        for command in ("links", "robots", "sitemap"):
            self.test.check(f"Usage: trawl {command}" in self.run(command, "--help"), "--help")

    def output_that_cannot_be_written(self):
        page = self.file(b"<a href=x>" * 200_000)
        lines = self.file(b"http://h.example/a\n" * 40_000)
        commands = (["links", page, "--base", "http://h/"], ["sitemap", lines],
                    ["robots", "/dev/null", "x", "/"])
        for arguments in commands:
            command = [self.options.trawl, *map(str, arguments)]
            code = TROUBLE if arguments[0] == "robots" else t.EXIT_NO_SPACE
            with open("/dev/full", "wb") as full:
                finished = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60,
                                          check=False)
            self.equal(finished.returncode, code, f"{arguments[0]}: a full disk")
            self.test.check(b"cannot write standard output" in finished.stderr, "what went wrong",
                            finished.stderr)
        for arguments in commands[:2]:
            command = [self.options.trawl, *map(str, arguments)]
            with subprocess.Popen(command, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                process.stdout.readline()
                process.stdout.close()
                said = process.stderr.read()
                what = f"{arguments[0]}: closed pipe"
                self.equal(process.wait(timeout=60), -signal.SIGPIPE, what)
                self.equal(said, b"", what)


HELPERS = ("file", "run", "json", "silent", "equal", "links", "urls")


def page_commands(test, directory, options):
    server = Server()
    try:
        t.run_cases(test, PageCommands(test, directory, options, server), HELPERS, options.only)
    finally:
        server.stop()


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("only", nargs="*", help="run these cases alone")
    t.main(page_commands, arguments.parse_args())
