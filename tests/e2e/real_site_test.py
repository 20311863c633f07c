"""Crawls a real HTML tree, served by nginx, and compares with what the files themselves say.

The tree is the manual of CMake (Debian package cmake-doc): about 2000 pages in many folders, their
sources as text, dangling links. The ground truth is computed from the files on disk by other code
in another language: Python's html.parser and urllib.
"""

import collections
import html.parser
import pathlib
import re
import urllib.parse

import trawl_testing as t

PACKAGE = "cmake-doc"
TREE = pathlib.Path("/usr/share/doc/cmake-data/html")

COVER = """<!DOCTYPE html><html><head><title>Cover</title><base href="/manual/"></head><body>
<a href="../manual">a directory without its slash</a> <a href="./">with it</a>
<a href="_sources">one without an index</a> <a href="index.html?print=1">a query</a>
<iframe src="command/project.html#top"></iframe>
<map name="m"><area href="%69ndex.html"></map>
<a href="../missing.html">missing</a> <a href="mailto:x@example.org">mail</a>
<a href="http://127.0.0.2:1/">elsewhere</a> <a href="javascript:void(0)">script</a>
</body></html>
"""

NGINX = """daemon off; master_process off; pid {prefix}/nginx.pid; error_log {prefix}/error.log;
events {{ worker_connections 1024; }}
http {{
  types {{
    text/html html; text/css css; text/plain txt; application/javascript js; image/png png;
  }}
  default_type application/octet-stream;
  log_format urls '$status http://$http_host$request_uri';
  access_log {prefix}/access.log urls;
  client_body_temp_path {prefix}/body; proxy_temp_path {prefix}/proxy;
  fastcgi_temp_path {prefix}/fastcgi; uwsgi_temp_path {prefix}/uwsgi; scgi_temp_path {prefix}/scgi;
  gzip on; gzip_types text/plain;
  server {{ listen 127.0.0.1:{port}; root {root}; index index.html; }}
}}
"""


class LinkReader(html.parser.HTMLParser):
    """The references of a page, in order, and its first base."""

    ATTRIBUTES = {"a": "href", "area": "href", "link": "href", "iframe": "src", "frame": "src"}
    RELATED = {"alternate", "next", "prev", "amphtml", "canonical"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.references, self.base = [], None

    def handle_starttag(self, tag, attributes):
        values = {}
        for name, value in attributes:
            values.setdefault(name, value or "")
        if tag == "base" and "href" in values and self.base is None:
            self.base = values["href"]
        name = self.ATTRIBUTES.get(tag)
        # Of <link> what leads to pages is followed.
        if tag == "link" and not self.RELATED & set(values.get("rel", "").lower().split()):
            return
        if name in values:
            self.references.append(values[name])


def resolve(base, reference):
    """An absolute URL without fragment as a browser serialises it; None if it is not an http(s) URL."""
    reference = re.sub("[\t\r\n]", "", reference.strip("\0\t\n\f\r "))
    try:
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(base, reference))
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return None
    safe = "!$&'()*+,-./:;=@[]_~%|^"
    path = urllib.parse.quote(parts.path or "/", safe=safe)
    query = urllib.parse.quote(parts.query, safe=safe.replace("'", "") + "?`{}")
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.lower(), path, query, ""))


def answer(root, url):
    """What nginx says to a URL: status, file to read or None, redirect or None."""
    parts = urllib.parse.urlsplit(url)
    file = root / urllib.parse.unquote(parts.path).lstrip("/")
    if file.is_dir():
        if not parts.path.endswith("/"):
            return 301, None, url.split("?")[0] + "/" + ("?" + parts.query if parts.query else "")
        file = file / "index.html"
        return (200, file, None) if file.exists() else (403, None, None)
    return (200, file, None) if file.is_file() else (404, None, None)


def ground_truth(root, seed):
    """Canonical key to status of all that a breadth-first crawl from `seed` on its host fetches."""
    host = urllib.parse.urlsplit(seed).netloc
    statuses, queue = {}, collections.deque([seed])
    seen = {t.canonical_key(seed)}
    while queue:
        url = queue.popleft()
        status, file, redirect = answer(root, url)
        statuses[t.canonical_key(url)] = status
        found = [redirect] if redirect else []
        if file is not None and file.suffix == ".html":
            reader = LinkReader()
            reader.feed(file.read_text(encoding="utf-8"))
            reader.close()
            base = resolve(url, reader.base) if reader.base is not None else url
            found += [resolve(base or url, reference) for reference in reader.references]
        for link in found:
            if link and urllib.parse.urlsplit(link).netloc == host:
                if t.canonical_key(link) not in seen:
                    seen.add(t.canonical_key(link))
                    queue.append(link)
    return statuses


class Site(t.Nginx):
    def __init__(self, directory, root):
        super().__init__(directory, NGINX, root=root)

    def requests(self):
        """(status, canonical key) of each request but those for robots.txt."""
        found = []
        for line in self.log.read_text().splitlines():
            status, url = line.split(" ", 1)
            if not url.endswith("/robots.txt"):
                found.append((int(status), t.canonical_key(url)))
        return found


def real_site(test, directory, options):
    if not (TREE / "index.html").exists():
        raise t.Skip(f"{TREE} is missing: apt-get install {PACKAGE}")
    root = directory / "root"
    root.mkdir()
    (root / "index.html").write_text(COVER)
    (root / "manual").symlink_to(TREE)
    nginx = Site(directory, root)
    try:
        seed = f"http://127.0.0.1:{nginx.port}/"
        truth = ground_truth(root, seed)
        by_status = collections.Counter(truth.values())
        print(f"ground truth: {len(truth)} URLs, by status {dict(by_status)}", flush=True)
        test.check(by_status[200] > 1500 and {301, 403, 404} <= by_status.keys(),
                   "the tree is not what this test expects")
        config = t.write_config(directory / "crawl.toml", t.fast_crawl(
            [seed], directory / "state", politeness={"per_host_connections": 8},
            # The links to the sources ask not to be followed.
            links={"respect_nofollow": False}))
        finished = t.run(options, directory, "crawl", config, timeout=240)
        t.expect_exit(test, finished, t.EXIT_DONE, "the crawl")
    finally:
        nginx.stop()
    pages = t.read_pages(test, directory / "state")
    fetched = {(page["status"], t.canonical_key(page["url"])) for page in pages}
    expected = {(status, url) for url, status in truth.items()}
    test.check_equal_sets(fetched, expected, "output")
    test.check(len(pages) == len(expected),
               f"{len(pages)} lines of output for {len(expected)} URLs")
    asked = nginx.requests()
    test.check_equal_sets(set(asked), expected, "nginx's log")
    test.check(len(asked) == len(set(asked)), "some URL was requested twice",
               sorted(t.repeats(url for _, url in asked))[:10])


if __name__ == "__main__":
    t.main(real_site, t.parser(__doc__).parse_args())
