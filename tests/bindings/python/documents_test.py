"""URLs and documents: the answers are those of `trawl normalize`, `links`, `robots` and `sitemap`."""

import gzip
import json
import random
import string

import pytest

import trawl

PAGE = """<html lang=de><title>A &amp; B</title><base href=/dir/>
<meta name=robots content=nofollow><link rel=canonical href=/c>
<a href="x?b=2&amp;a=1">one</a> <a href=//other.example/ rel=nofollow>two</a> <img src=i.png>
<iframe src=f></iframe><form action=/search></form><a href="mailto:a@b">m</a> text \N{SNOWMAN}"""
ROBOTS = """User-agent: *
Disallow: /private
Allow: /private/open$
Crawl-delay: 1.5

User-agent: other
Disallow: /*.pdf
Sitemap: https://h.example/map.xml
"""
SITEMAP = """<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://h.example/1</loc><lastmod>2024-01-02T03:04:05Z</lastmod><changefreq>daily</changefreq>
<priority>0.5</priority></url><url><loc>https://h.example/2</loc></url></urlset>"""


def urls(seed, count):
    random.seed(seed)
    return [f"https://h{random.randrange(3)}.example/" +
            "".join(random.choices(string.ascii_letters + "/.%?&=#;~0123", k=random.randrange(30)))
            for _ in range(count)]


@pytest.mark.parametrize("rules", [[], ["sort_query"], ["all"]])
def test_canonical_keys(rules, ask):
    candidates = urls(1, 300)
    shown = ask("normalize", "--rules", ",".join(rules) or "none", "-", lines=candidates)
    canonical = trawl.Canonicalizer(rules)
    assert [canonical.key(url) for url in candidates] == [line.split("\t")[1] for line in shown]
    assert [trawl.resolve(url) for url in candidates] == [line.split("\t")[0] for line in shown]


def test_urls_are_resolved():
    assert trawl.resolve("../x?y", "https://h.example/a/b/c") == "https://h.example/a/x?y"
    assert trawl.resolve(b"//o.example", "https://h.example/") == "https://o.example/"
    with pytest.raises(trawl.UnsupportedSchemeError):
        trawl.resolve("mailto:a@b")
    with pytest.raises(trawl.InvalidUrlError) as caught:
        trawl.resolve("https://[")
    assert isinstance(caught.value, ValueError)
    with pytest.raises(TypeError):
        trawl.resolve(None)
    with pytest.raises(trawl.InvalidArgumentError, match="no_such"):
        trawl.Canonicalizer(["no_such"])


@pytest.mark.parametrize("kinds", ["pages", "all"])
def test_links(kinds, ask):
    shown = [json.loads(line) for line in
             ask("links", "-", "--base", "https://h.example/p", "--kinds", kinds, "--text", "--json",
                 lines=PAGE)]
    wanted = None if kinds == "pages" else [
        "navigation", "form", "document", "resource", "related", "citation", "refresh"]
    page = trawl.extract_links(PAGE, "https://h.example/p", kinds=wanted, texts=True, max_text=1000)
    assert [link._asdict() for link in page.links] == [
        {name: link[name] for name in trawl.Link._fields} for link in shown[:-1]]
    assert page.title == shown[-1]["title"] == "A & B"
    assert page.language == "de" and page.canonical == "https://h.example/c"
    assert page.no_follow and not page.no_index and not page.skipped
    assert "one two" in page.text and "\N{SNOWMAN}" in page.text


def test_pages_of_any_bytes():
    page = trawl.extract_links(bytes(range(256)) * 40 + b"<a href=/x>", "https://h.example/")
    assert [link.url for link in page.links] == ["https://h.example/x"]
    # An assertion of the HTML library fails on this one.
    trawl.extract_links("<table><svg><select><title><select></table><a href=x>", "https://h.example/")
    assert trawl.extract_links("<a href=x>").links == []
    with pytest.raises(ValueError, match="no such kind"):
        trawl.extract_links("", kinds=["picture"])
    with pytest.raises(trawl.InvalidUrlError):
        trawl.extract_links("", "no url")
    with pytest.raises(TypeError):
        trawl.extract_links(None)


def test_robots(ask, tmp_path):
    file = tmp_path / "robots.txt"
    file.write_text(ROBOTS)
    candidates = [f"https://h.example/{path}" for path in
                  ("", "private", "private/open", "private/x", "a.pdf", "robots.txt")]
    robots = trawl.Robots(ROBOTS)
    for agent in ("bot", "other", "Mozilla/5.0 (compatible; other/1.0)"):
        shown = ask("robots", file, agent, *candidates, "-q", codes=(0, 1))
        assert [robots.allowed(agent, url) for url in candidates] == [
            line.startswith("allowed") for line in shown]
    assert robots.crawl_delay("bot") == 1.5 and robots.crawl_delay("other") is None
    assert robots.sitemaps() == ["https://h.example/map.xml"]
    with pytest.raises(trawl.InvalidUrlError):
        robots.allowed("bot", "/private")


@pytest.mark.parametrize("pack", [lambda text: text, lambda text: gzip.compress(text.encode())])
def test_sitemaps(pack, ask):
    shown = [json.loads(line) for line in
             ask("sitemap", "-", "--base", "https://h.example/map.xml", "--json", lines=SITEMAP)]
    found = trawl.parse_sitemap(pack(SITEMAP), "https://h.example/map.xml")
    assert found.kind == "urlset" and found.complete and found.warnings == []
    assert [entry.url for entry in found.entries] == [each["url"] for each in shown[:-1]]
    assert found.entries[0] == ("https://h.example/1", 1704164645, "daily", 0.5)
    assert found.entries[1] == ("https://h.example/2", None, None, None)
    assert trawl.parse_sitemap(b"\0rubbish", "https://h.example/").entries == []
