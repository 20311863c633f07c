"""What pages and headers ask of a crawler: nofollow, noindex, canonical links, meta refresh."""

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links
from warc_reader import read_warcs

# A page by what asks not to follow its links, or does not; each has one link, to "<path>/below".
ASKS = {
    "/meta-nofollow": "<meta name=robots content=nofollow>",
    "/meta-none": "<meta name='ROBOTS' content='None'>",
    "/meta-list": "<meta name=robots content='max-snippet:20, noindex , NoFollow'>",
    "/meta-named": "<meta name=trawl content=nofollow>",
    "/header-all": "X-Robots-Tag: nofollow",
    "/header-none": "X-Robots-Tag: none",
    "/header-named": "X-Robots-Tag: trawl: nofollow",
    "/header-lines": "X-Robots-Tag: otherbot: noindex\r\nX-Robots-Tag: nofollow",
    "/header-after-another": "X-Robots-Tag: noarchive, nofollow",
}
DOES_NOT_ASK = {
    "/meta-noindex": "<meta name=robots content=noindex>",
    "/meta-other": "<meta name=otherbot content=nofollow>",
    "/meta-nothing": "<meta name=robots content='follow, all'>",
    "/meta-in-a-script": "<script>var x = \"<meta name=robots content=nofollow>\";</script>",
    "/header-other": "X-Robots-Tag: otherbot: nofollow",
    "/header-noindex": "X-Robots-Tag: noindex",
    "/header-odd": "X-Robots-Tag: unavailable_after: 25 Jun 2010 15:00:00 PST, ,:nofollow,,",
}


def page(what, below):
    link = f"<p><a href='{below}'>below</a>"
    if what.startswith("X-Robots-Tag"):
        return answer(link, "200 OK", *what.split("\r\n"))
    return answer(f"<!DOCTYPE html><html><head><title>x</title>{what}</head><body>{link}")


def crawl(test, directory, options, name, server, **tables):
    config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], directory / name, **tables))
    finished = t.run(options, directory, "crawl", config)
    t.expect_exit(test, finished, t.EXIT_DONE, name)
    return finished, t.by_path(t.read_pages(test, directory / name))


def check_fetched(test, what, pages, server, expected):
    test.check_equal_sets(set(pages), set(expected), f"{what}, output")
    test.check_equal_sets(set(server.paths()), set(expected), f"{what}, requests")
    test.check(not t.repeats(server.paths()), f"{what}: requested twice", server.paths())


def left_out(test, directory, options):
    """Pages that ask not to be kept are fetched, followed and listed, and nothing else."""
    meta, header = "<meta name=robots content=%s>", "X-Robots-Tag: %s"
    asks = {"/a-meta": meta % "noarchive", "/a-header": header % "noarchive", "/none": meta % "none",
            "/i-meta": meta % "noindex", "/i-header": header % "trawl: noindex", "/no": meta % "all",
            "/other": header % "otherbot: noarchive"}
    answers = {path: page(what, path + "/below") for path, what in asks.items()}
    answers.update({path + "/below": answer("<p>" + path) for path in asks})
    answers["/twice"] = answers["/a-meta"]
    answers["/"] = answer(links([*asks, "/twice"]))
    kept_by_default = set(asks) | {"/twice"}
    for name, output, gone in (
            ("all", {}, set()),
            ("archive", {"respect_noarchive": True}, {"/a-meta", "/a-header", "/twice"}),
            ("both", {"respect_noarchive": True, "respect_noindex": True},
             {"/a-meta", "/a-header", "/twice", "/none", "/i-meta", "/i-header"})):
        with ScriptedServer(answers) as server:
            _, pages = crawl(test, directory, options, f"left_out_{name}", server, output={
                "warc": True, "files": True, "text": True, **output})
        pages = {path: lines[0] for path, lines in pages.items()}
        listed = {path for path in pages if path in kept_by_default}
        test.check_equal_sets(listed, kept_by_default, f"{name}: listed")
        kept = {path for path in listed if pages[path]["warc"]}
        test.check_equal_sets(kept, kept_by_default - gone, f"{name}: in WARC files")
        test.check_equal_sets({path for path in listed if pages[path]["file"]}, kept,
                              f"{name}: as files")
        test.check_equal_sets({path for path in listed if pages[path]["text"]}, kept,
                              f"{name}: as text")
        records = read_warcs(test, directory / f"left_out_{name}" / "output")
        urls = {record.url for record in records if record.type != "warcinfo"}
        test.check(not urls & {server.url(path) for path in gone}, f"{name}: records", urls)


def left_out_files(test, directory, options):
    """The same for what is not a page and can ask by header only; equal bytes that do not ask are
    kept, whichever came first."""
    bodies = {"image/png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "application/pdf": b"%PDF-1.7\n%x",
              "text/css": b"a { color: red }", "application/javascript": b"var x = 1;",
              "application/json": b"{}", "": b"no type"}
    answers, asks = {}, {}

    headers = {"archive": ["X-Robots-Tag: noarchive"], "index": ["X-Robots-Tag: trawl: noindex"],
               "other": ["X-Robots-Tag: otherbot: noarchive"], "copy": []}
    for number, (content_type, body) in enumerate(bodies.items()):
        for name, lines in headers.items():
            path = f"/{number}-{name}"
            answers[path] = answer(body, "200 OK", *lines, content_type=content_type)
            asks[path] = name
    for path, status in (("/moved", "302 Found"), ("/gone", "410 Gone")):
        answers[path] = answer("", status, "Location: /0-copy", *headers["archive"])
        asks[path] = "archive"
    answers["/"] = answer(links(asks))
    for name, output, gone in (
            ("archive", {"respect_noarchive": True}, {"archive"}),
            ("index", {"respect_noindex": True}, {"index"}),
            ("off", {}, set())):
        with ScriptedServer(answers) as server:
            _, pages = crawl(test, directory, options, f"left_out_files_{name}", server, output={
                "warc": True, "files": True, **output})
        kept = {path for path, what in asks.items() if what not in gone}
        listed = {path: lines[0] for path, lines in pages.items() if path in asks}
        test.check_equal_sets(set(listed), set(asks), f"{name}: listed")
        test.check_equal_sets({path for path, line in listed.items() if line["warc"]}, kept,
                              f"{name}: in WARC files")
        test.check_equal_sets({path for path, line in listed.items() if line["file"]},
                              kept - {"/moved", "/gone"}, f"{name}: as files")
        records = read_warcs(test, directory / f"left_out_files_{name}" / "output")
        urls = {record.url for record in records if record.type != "warcinfo"}
        test.check_equal_sets(urls, {server.url(path) for path in kept | {"/", "/robots.txt"}},
                              f"{name}: records")
        stored = [record.payload() for record in records if record.type == "response"]
        for content_type, body in bodies.items():
            test.check(stored.count(body) == 1,
                       f"{name}: {content_type} is stored {stored.count(body)} times")


def left_out_copies(test, directory, options):
    """Copies whose links are not followed ask for themselves, and so do pages that have not changed."""
    asks = "<meta name=robots content=noarchive>"
    answers = {"/": answer(links(["/a", "/b", "/asks-a", "/asks-b"])),
               "/a": answer("<p>a copy"), "/b": answer("<p>a copy"),
               "/asks-a": answer(asks + "<p>another"), "/asks-b": answer(asks + "<p>another")}
    respect = {"warc": True, "respect_noarchive": True}
    with ScriptedServer(answers) as server:
        crawl(test, directory, options, "earlier", server, output={"warc": True})
        _, pages = crawl(test, directory, options, "copies", server, links={"from_duplicates": False},
                         fetch={"connections": 1}, output={  # so that one is written before the other comes
            **respect, "known": [str(directory / "earlier" / "output" / "*.cdxj")]})
        kept = {path for path, lines in pages.items() if lines[0]["warc"]}
        test.check_equal_sets(kept, {"/", "/a", "/b"}, "of bodies that an earlier crawl has")
        records = read_warcs(test, directory / "copies" / "output")
        test.check({record.type for record in records if record.url == server.url("/b")} >= {"revisit"}, "/b", records)
        # WARC files are turned on when all has been fetched once.
        tables = {"recrawl": {"interval": "1s", "min_interval": "1s", "wait": True}, "scope": {"max_pages": len(answers)}}
        crawl(test, directory, options, "later", server, output={"digest": "sha1"}, **tables)
        tables["scope"]["max_pages"] *= 2
        config = t.write_config(directory / "later.toml", t.fast_crawl(
            [server.url()], directory / "later", output=respect, **tables))
        t.expect_exit(test, t.run(options, directory, "resume", config), t.EXIT_DONE, "resumed")
        pages = t.by_path(t.read_pages(test, directory / "later"))
        test.check(all(len(lines) == 2 for lines in pages.values()), "each page is fetched twice", pages)
        kept = {path for path, lines in pages.items() if lines[-1]["warc"]}
        test.check_equal_sets(kept, {"/", "/a", "/b"}, "of pages that have not changed")


def nofollow_pages(test, directory, options):
    everything = {**ASKS, **DOES_NOT_ASK}
    answers = {path: page(what, path + "/below") for path, what in everything.items()}
    answers.update({path + "/below": answer("<p>" + path) for path in everything})
    answers["/"] = answer(links(everything))
    with ScriptedServer(answers) as server:
        finished, pages = crawl(test, directory, options, "nofollow_pages", server,
                                output={"skipped": True})
    check_fetched(test, "nofollow", pages, server,
                  ["/", *everything, *(path + "/below" for path in DOES_NOT_ASK)])
    test.check(f"nofollow {len(ASKS)}" in finished.text, "skipped links are not counted",
               finished.tail())
    for path, lines in pages.items():
        if path in ASKS:
            test.check("nofollow" in (lines[0]["robots"] or []), f"{path}: nofollow is not reported",
                       lines)
    for path in ("/meta-noindex", "/header-noindex", "/meta-list", "/meta-none"):
        test.check("noindex" in (pages[path][0]["robots"] or []) if pages[path] else False,
                   f"{path}: noindex is not reported", pages[path])
    skipped = t.read_lines(test, directory / "nofollow_pages", "skipped.jsonl",
                           {"url", "reason", "rule"})
    urls = {line["url"] for line in skipped if line["reason"] == "nofollow"}
    test.check_equal_sets(urls, {server.url(path + "/below") for path in ASKS}, "skipped.jsonl")


def nofollow_ignored(test, directory, options):
    answers = {path: page(what, path + "/below") for path, what in ASKS.items()}
    answers.update({path + "/below": answer("<p>" + path) for path in ASKS})
    answers["/"] = answer("".join(f"<a rel=nofollow href={path}>x</a>" for path in ASKS))
    with ScriptedServer(answers) as server:
        _, pages = crawl(test, directory, options, "nofollow_ignored", server,
                         links={"respect_nofollow": False})
    check_fetched(test, "respect_nofollow = false", pages, server, answers)


def nofollow_links(test, directory, options):
    body = ("<a rel=nofollow href=/no-1>x</a><a rel='external NoFollow' href=/no-2>x</a>"
            "<a rel='nofollower' href=/yes-1>x</a><a data-rel=nofollow href=/yes-2>x</a>"
            # Some link to it may be followed.
            "<a rel=nofollow href=/yes-3>x</a><a href=/yes-3>x</a>")
    answers = {"/": answer(body), **{path: answer("<p>" + path) for path in
                                     ("/no-1", "/no-2", "/yes-1", "/yes-2", "/yes-3")}}
    with ScriptedServer(answers) as server:
        _, pages = crawl(test, directory, options, "nofollow_links", server)
    check_fetched(test, "rel=nofollow", pages, server, ["/", "/yes-1", "/yes-2", "/yes-3"])


def canonical_pages():
    def with_canonical(name, href):
        return answer(f"<link rel=canonical href='{href}'><p>{name}")

    return {
        "/": answer(links(["/a?session=1", "/a?session=2", "/b", "/header", "/foreign", "/a"])),
        "/a?session=1": with_canonical("a1", "/a"),
        "/a?session=2": with_canonical("a2", "/a"),
        "/a": with_canonical("a", "/a"),
        "/b": answer("<p>no canonical link"),
        "/header": answer("<p>in a header", "200 OK", "Link: </target>; rel=\"canonical\""),
        "/target": answer("<p>the target"),
        "/foreign": with_canonical("f", "http://other.example/x"),
    }


def canonical_recorded(test, directory, options):
    answers = canonical_pages()
    with ScriptedServer(answers) as server:
        _, pages = crawl(test, directory, options, "canonical_recorded", server)
    expected = {"/a?session=1": "/a", "/a?session=2": "/a", "/a": "/a", "/header": "/target",
                "/b": None, "/foreign": "http://other.example/x"}
    for path, canonical in expected.items():
        if not test.check(len(pages[path]) == 1, f"{path}: {len(pages[path])} lines"):
            continue
        if canonical and canonical.startswith("/"):
            canonical = server.url(canonical)
        test.check(pages[path][0]["canonical"] == canonical, f"{path}: canonical is not {canonical}",
                   pages[path][0])


def canonical_key(test, directory, options):
    """A page that says it is another one leads to that one and no further, unless that one is out
    of scope: then no other page has its links."""
    def stands_for(href, link="/of-the-copy"):
        return answer(f"<link rel=canonical href='{href}'><a href={link}>x</a>")

    answers = {
        "/": answer(links(["/a?session=1", "/a?session=2", "/header", "/itself", "/foreign"])),
        "/a?session=1": stands_for("/a"), "/a?session=2": stands_for("/a"),
        "/a": answer("<link rel=canonical href=/a><a href=/of-the-page>x</a>"),
        "/header": answer("<a href=/of-the-copy>x</a>", "200 OK",
                          "Link: </target>; rel=\"canonical\""),
        "/target": answer("<p>the target"),
        "/itself": answer("<link rel=canonical href='/itself#top'><a href=/of-itself>x</a>"),
        "/foreign": stands_for("http://other.example/x", "/of-the-foreign"),
        "/of-the-foreign": answer("3"),
        "/of-the-page": answer("1"), "/of-itself": answer("2"),
    }
    with ScriptedServer(answers) as server:
        _, pages = crawl(test, directory, options, "canonical_key", server,
                         links={"canonical": "key"})
    check_fetched(test, "links.canonical = \"key\"", pages, server, answers)


def meta_refresh(test, directory, options):
    answers = {
        "/": answer(links(["/at-once", "/later", "/quoted"])),
        "/at-once": answer("<meta http-equiv=refresh content='0;url=/to-1'>"),
        "/later": answer("<META HTTP-EQUIV=Refresh CONTENT=\"5; URL=to-2\">"),
        "/quoted": answer("<meta http-equiv='refresh' content=\"0; url='/to-3'\">"),
        "/to-1": answer("<p>1"), "/to-2": answer("<p>2"), "/to-3": answer("<p>3"),
    }
    with ScriptedServer(answers) as server:
        _, pages = crawl(test, directory, options, "meta_refresh", server)
    check_fetched(test, "meta refresh", pages, server, answers)


def link_lines(test, directory, options):
    """links.jsonl has every link, with its kind and attributes."""
    answers = {"/": answer("<a href=/one rel='nofollow me'>  the <b>first</b>\n one </a>"
                           "<a href=http://other.example/>far</a><iframe src=/two></iframe>"),
               "/one": answer("1"), "/two": answer("2")}
    with ScriptedServer(answers) as server:
        crawl(test, directory, options, "link_lines", server, output={"links": True})
    lines = t.read_lines(test, directory / "link_lines", "links.jsonl",
                         {"from", "to", "kind", "text", "rel"})
    found = {(line["to"], line["text"], line["rel"]) for line in lines
             if line["from"] == server.url()}
    test.check_equal_sets(found, {(server.url("/one"), "the first one", "nofollow me"),
                                  ("http://other.example/", "far", None),
                                  (server.url("/two"), None, None)}, "links.jsonl")


def directives(test, directory, options):
    parts = (left_out, left_out_files, left_out_copies, nofollow_pages, nofollow_ignored, nofollow_links, canonical_recorded, canonical_key,
             meta_refresh, link_lines)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    t.main(directives, t.parser(__doc__).parse_args())
