"""Documents for the tests of `trawl links`, `trawl robots` and `trawl sitemap`, with what is in
them."""

PAGE = b"""<!DOCTYPE html><html><head><title>A
 &amp; B</title><base href="/dir/"><link rel=canonical href=/c><link rel=stylesheet href=s.css>
<meta name=robots content=noarchive><meta http-equiv=refresh content="5; url=next"></head><body>
<a href="x?q=\xc3\xbc">x</a> <a rel="nofollow ugc" href=//other.example/>o</a>
<a href=mailto:a@b.example>m</a> <a href="http://[">bad</a> <img src=i.png srcset="i2.png 2x">
<iframe src=f.html></iframe><form action=/search></form><blockquote cite=/q></blockquote>"""

# Kind, element, attribute, follow, URL.
PAGE_LINKS = [
    ("related", "link", "href", True, "http://h.example/c"),
    ("resource", "link", "href", True, "http://h.example/dir/s.css"),
    ("refresh", "meta", "content", True, "http://h.example/dir/next"),
    ("navigation", "a", "href", True, "http://h.example/dir/x?q=%C3%BC"),
    ("navigation", "a", "href", False, "http://other.example/"),
    ("resource", "img", "src", True, "http://h.example/dir/i.png"),
    ("resource", "img", "srcset", True, "http://h.example/dir/i2.png"),
    ("document", "iframe", "src", True, "http://h.example/dir/f.html"),
    ("form", "form", "action", True, "http://h.example/search"),
    ("citation", "blockquote", "cite", True, "http://h.example/q"),
]
FOLLOWED_KINDS = ("navigation", "document", "related", "refresh")

# RFC 9309, sections 5.1 and 5.2.
RFC_ROBOTS = b"""User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""
RFC_LONGEST = b"""User-Agent: foobot
Allow: /example/page/
Disallow: /example/page/disallowed.gif
"""
# Section 2.2.3: a table of escapes and of "*" and "$".
RFC_ESCAPES = b"""User-Agent: a
Disallow: /foo/bar?baz=quz
Disallow: /foo/bar?baz=https://foo.bar
Disallow: /foo/bar/\xe3\x83\x84
Disallow: /bar/%E3%83%84
Disallow: /foo/bar/%62%61%7A
User-Agent: b
Disallow: /this/path/exactly$
Allow: /this/*/exactly
Disallow: /path/file-with-a-%2A.html
Disallow: /path/foo-%24
"""
# File, agent, URL, allowed, number of the line that decides.
VERDICTS = [
    (RFC_ROBOTS, "foobot", "/example/page.html", True, 8),
    (RFC_ROBOTS, "FooBot/2.1 (+https://foo.example/)", "/example/allowed.gif", True, 9),
    (RFC_ROBOTS, "foobot", "/publications/", False, 7),
    (RFC_ROBOTS, "barbot", "/example/page.html", False, 13),
    (RFC_ROBOTS, "bazbot", "/example/page.html", False, 13),
    (RFC_ROBOTS, "bazbot", "/example/page.htm", True, None),
    (RFC_ROBOTS, "quxbot", "/example/page.html", True, None),
    (RFC_ROBOTS, "otherbot", "/a/b.gif", False, 2),
    (RFC_ROBOTS, "otherbot", "/a/b.gif?c", True, None),
    (RFC_ROBOTS, "otherbot", "/example/page.html", False, 3),
    (RFC_ROBOTS, "otherbot", "/publications/a", True, 4),
    (RFC_ROBOTS, "foobot", "/robots.txt", True, None),
    (RFC_LONGEST, "foobot", "/example/page/disallowed.gif", False, 3),
    (RFC_LONGEST, "foobot", "/example/page/allowed.gif", True, 2),
    (RFC_LONGEST, "otherbot", "/example/page/disallowed.gif", True, None),
    (RFC_ESCAPES, "a", "/foo/bar?baz=quz", False, 2),
    (RFC_ESCAPES, "a", "/foo/bar?baz=https://foo.bar", False, 3),
    (RFC_ESCAPES, "a", "/foo/bar/\u30c4", False, 4),
    (RFC_ESCAPES, "a", "/foo/bar/%E3%83%84", False, 4),
    (RFC_ESCAPES, "a", "/bar/\u30c4", False, 5),
    (RFC_ESCAPES, "a", "/foo/bar/baz", False, 6),
    (RFC_ESCAPES, "b", "/this/path/exactly", False, 8),
    (RFC_ESCAPES, "b", "/this/path/exactly/not", True, 9),
    (RFC_ESCAPES, "b", "/path/file-with-a-*.html", False, 10),
    (RFC_ESCAPES, "b", "/path/foo-$", False, 11),
]

SITEMAP = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:xhtml="http://www.w3.org/1999/xhtml">
<url><loc>http://h.example/a?x=1&amp;y=2</loc><lastmod>2026-01-31T12:00:00+02:00</lastmod>
  <changefreq>weekly</changefreq><priority>0.8</priority>
  <xhtml:link rel="alternate" hreflang="de-AT" href="http://h.example/de"/></url>
<url><loc>http://h.example/\xc3\xbc</loc><lastmod>2026-02-01</lastmod></url>
<url><loc>ftp://h.example/</loc></url><url><priority>1</priority></url></urlset>"""
SITEMAP_LINES = ["page\t2026-01-31T10:00:00Z\tweekly\t0.8\thttp://h.example/a?x=1&y=2",
                 "page\t2026-02-01T00:00:00Z\t-\t-\thttp://h.example/%C3%BC"]
INDEX = b"""<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>http://h.example/1.xml.gz</loc><lastmod>2026-01-31</lastmod></sitemap>
<sitemap><loc>http://h.example/2.xml</loc></sitemap></sitemapindex>"""
RSS = b"""<rss version="2.0"><channel><link>http://h.example/</link><item><title>T</title>
<link>/news/1</link><pubDate>Sat, 31 Jan 2026 12:00:00 GMT</pubDate></item></channel></rss>"""
