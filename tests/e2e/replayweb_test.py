"""What trawl wacz packages, shown by ReplayWeb.page in a real Chromium: each request that a page made
to its server is answered from the archive by wabac's service worker, with the same status.

TRAWL_REPLAYWEB is the folder of the npm package "replaywebpage" (with ui.js and sw.js)."""

import functools
import http.server
import os
import pathlib
import re
import threading
import time
import urllib.parse

import trawl_testing as t
from browser import Browser
from replay_test import (CUT_LOOK, CUT_LOOKS, SIZES, crawled_and_seen, some, truncated_archive,
                         unfinished_archives)

INDEX = b"""<!doctype html><title>ReplayWeb.page</title><script src="./ui.js"></script>
<body><replay-app-main></replay-app-main>"""


# The document of the frame in which ReplayWeb.page shows a page.
FRAME = """
    const search = root => {
        for (const element of root.querySelectorAll('*')) {
            if (element.tagName == 'IFRAME') return element.contentDocument;
            const found = element.shadowRoot && search(element.shadowRoot);
            if (found) return found;
        }
        return null;
    };
    const page = search(document) ?? {};
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """The package's files, and archives with ranges of bytes."""

    archives = {}
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path == "/":
            return self._send(200, INDEX, "text/html")
        file = self.archives.get(path) or pathlib.Path(self.directory) / path.lstrip("/")
        if ".." in file.parts or not file.is_file():
            return self._send(404, b"", "text/plain")
        data = file.read_bytes()
        kind = "text/javascript" if path.endswith(".js") else "application/octet-stream"
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not wanted:
            return self._send(200, data, kind)
        first, last = wanted.groups()
        begin = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last) + 1 if first and last else len(data), len(data))
        self._send(206, data[begin:end], kind, ("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}"))

    def _send(self, status, body, kind, *headers):
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", len(body)),
                            ("Accept-Ranges", "bytes"), *headers):
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class ReplayWeb:
    """ReplayWeb.page on a server of its own, in a browser."""

    package = os.environ.get("TRAWL_REPLAYWEB")

    def __init__(self, directory, name):
        handler = type("Serves", (Handler,), {"archives": {"/site.wacz": directory / f"{name}.wacz"}})
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(handler, directory=self.package))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.browser = Browser(directory / f"{name}-replayweb", logs_network=True)
        self._load()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.stop()
        self.server.shutdown()
        self.server.server_close()

    def _load(self):
        """Opens the archive as a reader does."""
        self.browser.open(f"{self.root}/?source=/site.wacz")
        collections = "return fetch('./w/api/coll-index').then(got => got.json()).catch(() => ({}))"
        t.wait_until(lambda: self.browser.run(collections).get("colls"), "the archive to be opened", 30)
        self.prefix = f"{self.root}/w/{self.browser.run(collections)['colls'][0]['id']}/"

    def show(self, url):
        """Opens a page of the archive. Returns the status of each answer by URL, the page's too."""
        self.browser.open("about:blank")
        self.browser.network()
        self.browser.open(f"{self.root}/?source=/site.wacz#view=pages&url=" + urllib.parse.quote(url, ""))
        statuses, asked_at = {}, time.monotonic()

        def is_quiet():
            nonlocal asked_at
            for method, event in self.browser.network():
                if method == "Network.requestWillBeSent":
                    asked_at = time.monotonic()
                    self._note(statuses, event.get("redirectResponse"))
                elif method == "Network.responseReceived":
                    self._note(statuses, event["response"])
            return (url in statuses and time.monotonic() > asked_at + 1 and
                    self.browser.run(FRAME + "return page.readyState") == "complete")

        t.wait_until(is_quiet, f"{url} to be shown")
        return statuses

    def _note(self, statuses, response):
        found = response and re.fullmatch(re.escape(self.prefix) + r"(?::\w+/)?\d*(?:[a-z]{2}_)?/(https?:.*)",
                                          response["url"])
        if found:
            statuses[found[1]] = response["status"]


# What ReplayWeb.page does not load where it shows a page, in a frame: icons and manifests of pages;
# and <object>, which its Content-Security-Policy forbids.
NOT_LOADED = re.compile(r".*(icon\.(png|ico)|manifest\.json|/object\.png)")
# It finds a URL only as it was fetched: this one was fetched as /A.png.
RESPELLED = "/%41.png"


def missing_of(statuses):
    return {url for url, status in statuses.items() if status == 404 and
            not url.endswith(("/favicon.ico", RESPELLED))}


def whole_pages(test, directory, options):
    live, _, _ = crawled_and_seen(test, directory, options)
    with ReplayWeb(directory, "whole") as replay:
        for url, loaded in live.loaded.items():
            statuses = replay.show(url)
            test.check(not missing_of(statuses), f"{url}: not found", missing_of(statuses))
            others = {each for each in loaded - set(statuses) if not NOT_LOADED.fullmatch(each)}
            test.check(not others, f"{url}: not requested", others)
            if RESPELLED in str(loaded):
                sizes = replay.browser.run(FRAME + SIZES)
                test.check(sizes[:-1] == live.sizes[url][:-1], f"{url}: other images", sizes)
            print(f"{url}: {len(loaded)} requests to the server, {len(loaded & set(statuses))} of them "
                  f"to ReplayWeb.page, {len(missing_of(statuses))} not found")
    with ReplayWeb(directory, "less") as replay:
        for url in [*live.loaded][:3]:
            statuses = replay.show(url)
            found = statuses.keys() - missing_of(statuses)
            test.check(url in found and len(statuses) > 4 and len(found) <= 3,
                       f"without requisites: {url}", statuses)


def truncated(test, directory, options):
    _, root, urls = truncated_archive(test, directory, options)
    with ReplayWeb(directory, "cut") as replay:
        statuses = replay.show(root)
        test.check(set(statuses) >= urls and not missing_of(statuses), "the truncated page", statuses)
        looks = replay.browser.run(FRAME + CUT_LOOK)
        test.check(looks == CUT_LOOKS, "the truncated page", looks)


def unfinished(test, directory, options):
    for name, archive, queued in unfinished_archives(test, directory, options):
        with ReplayWeb(directory, name) as replay:
            for url in some(archive.pages()):
                missing = missing_of(replay.show(url))
                test.check(not missing - queued, f"{name}: {url}: not in the archive, not queued", missing)
                test.check(replay.browser.run(FRAME + "return page.querySelector('h1,a') !== null"),
                           f"{name}: {url} is not shown")


def script(test, directory, options):
    if not ReplayWeb.package:
        raise t.Skip("TRAWL_REPLAYWEB is not set: the folder of the npm package replaywebpage")
    for part in whole_pages, truncated, unfinished:
        part(test, directory, options)


if __name__ == "__main__":
    t.main(script, t.parser(__doc__).parse_args())
