"""What trawl wacz packages is shown again by a real Chromium when the servers are gone: each page
makes the same requests, has the same content and looks the same, and the archive has all of it."""

import gzip
import json
import pathlib
import struct
import zlib

import trawl_testing as t
from browser import Browser
from requisites_test import SITES, Folder, Site, shown
from scripted_server import ScriptedServer, answer, links, redirect
from wacz_archive import ReplayProxy, WaczArchive
from wacz_test import expect, package


def square(size, colour):
    """A PNG with a picture that can be seen."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(colour) * size) * size
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def image(number):
    return answer(square(10 + 4 * number, (12 * number, 255 - 12 * number, 90)),
                  content_type="image/png")


def packed(text, content_type):
    return answer(gzip.compress(text.encode(), mtime=0), "200 OK", "Content-Encoding: gzip",
                  content_type=content_type)


# Each is another image, but up to five of them have one key in the index.
IMAGES = ["/A.png", "/a.png", "/q.png?b=2&a=1", "/q.png?a=1&b=2", "/q.png?A=1&b=2", "/q.png", "/q.png?",
          "/dir//i.png", "/dir/i.png", "/s%2Fp.png", "/s/p.png",
          f"/s.png?sid={'1' * 32}&x=1", f"/s.png?sid={'2' * 32}&x=1"]
ODD = {
    "/": answer("<!DOCTYPE html><title>odd</title><link rel=stylesheet href=packed.css>"
                "<link rel=stylesheet href=chunked.css><link rel=stylesheet href=empty.css><body>" +
                "".join(f"<img src='{url}'>" for url in IMAGES) +
                "<img src=moved-1.png><img src=same-1.png><img src=same-2.png><img src=gone.png alt=G>"
                "<img src='sp ace.png'><img src='\u00e4.png?\u00f6'><iframe src=moved-frame></iframe>"
                "<img src=%41.png><script src=packed.js></script>", content_type="text/html; charset=utf-8"),
    "/packed.css": packed("body { background: url(back.png) }" + "/* filler */" * 500, "text/css"),
    "/chunked.css": b"HTTP/1.1 200 OK\r\nContent-Type: text/css\r\nTransfer-Encoding: chunked\r\n\r\n"
                    b"10\r\nimg { border: 3p\r\n9\r\nx solid }\r\n0\r\n\r\n",
    "/empty.css": answer("", content_type="text/css"),
    "/back.png": image(20),
    "/moved-1.png": redirect("/moved-2.png", "301 Moved"),
    "/moved-2.png": redirect("/there.png"),
    "/there.png": image(9),
    "/same-1.png": image(8),
    "/same-2.png": image(8),
    "/gone.png": answer(square(9, (1, 2, 3)), "410 Gone", content_type="image/png"),
    "/sp%20ace.png": image(7),
    "/%C3%A4.png?%C3%B6": image(6),
    "/moved-frame": redirect("/frame.html"),
    "/frame.html": packed("<h1>frame</h1><img src=same-1.png>", "text/html"),
    "/packed.js": packed("document.title = 'packed'", "text/javascript"),
    "/%41.png": image(0),
    **{url: image(number) for number, url in enumerate(IMAGES)},
}


# Scripts on a document, `page`.
SIZES = "return [...page.images].map(image => image.naturalWidth)"
CUT_LOOK = """
    const end = page.querySelector('p');
    return {title: page.title, colour: getComputedStyle(end).color, end: end.textContent,
            margin: getComputedStyle(page.body).marginTop,
            images: [...page.images].map(image => [image.complete, image.naturalWidth]),
            frames: [...page.querySelectorAll('iframe')].map(
                frame => frame.contentDocument.body.textContent.slice(0, 9)),
            ready: page.readyState}"""
CUT_LOOKS = {"title": "cut js packed", "colour": "rgb(1, 2, 3)", "end": "end", "margin": "17px",
             "images": [[True, 200], [True, 300], [True, 22]], "frames": ["cut frame", "packed012"],
             "ready": "complete"}


class Pages:
    """Pages as their servers show them: what they load, their images' sizes, content and look."""

    def __init__(self, directory):
        self.directory = directory
        self.loaded, self.sizes, self.looks = {}, {}, {}

    def look(self, browser, name):
        """The content and a picture of what is shown, once it no longer changes."""
        root = browser.devtools("DOM.getDocument")["root"]["nodeId"]
        html = browser.devtools("DOM.getOuterHTML", nodeId=root)["outerHTML"]
        path, pictures = self.directory / f"{name}.png", []
        while len(pictures) < 2 or (pictures[-2] != pictures[-1] and len(pictures) < 10):
            browser.screenshot(path)
            pictures.append(path.read_bytes())
        return html, pictures[-1]

    def see(self, browser, server, url):
        server.requests.clear()
        self.loaded[url] = shown(browser, server, url)
        self.sizes[url] = browser.run(f"const page = document; {SIZES}")
        self.looks[url] = self.look(browser, f"{len(self.looks)}-live")

    def compare(self, test, browser, proxy, url):
        asked = shown(browser, proxy, url)
        test.check_equal_sets(asked, self.loaded[url], f"requests of {url}")
        test.check(browser.run(f"const page = document; {SIZES}") == self.sizes[url],
                   f"{url} has other images")
        html, picture = self.look(browser, f"{list(self.looks).index(url)}-replay")
        test.check(html == self.looks[url][0], f"{url} has another content")
        test.check(picture == self.looks[url][1], f"{url} looks different")


def crawl(test, directory, options, name, seeds, **tables):
    """Crawls and packages; returns the archive."""
    tables.setdefault("output", {"warc": True})
    tables.setdefault("scope", {"max_depth": 0})
    config = t.write_config(directory / f"{name}.toml",
                            t.fast_crawl(seeds, directory / name, **tables))
    t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, name)
    expect(test, package(options, directory, config), 0, name)
    return WaczArchive(directory / f"{name}.wacz")


def crawled_and_seen(test, directory, options):
    """Fixtures and pages of documentation, shown by their servers and crawled with and without
    requisites. Returns how they looked, and both archives."""
    documentation = [page for page in SITES if pathlib.Path(page).exists()][:5]
    test.check(len(documentation) >= 3, "too few packages of documentation", documentation)
    live = Pages(directory)
    with Site() as site, Folder() as folder, ScriptedServer(ODD) as odd:
        servers = {site.url(): site, odd.url(): odd,
                   **{folder.url(page): folder for page in documentation}}
        whole = crawl(test, directory, options, "whole", [*servers], links={"requisites": True})
        less = crawl(test, directory, options, "less", [*servers])
        with Browser(directory / "live") as browser:
            for url, server in servers.items():
                live.see(browser, server, url)
    test.check(set(live.loaded) <= set(whole.pages()), "not in the list of pages", whole.pages())
    test.check(any(record.type == "revisit" for record in whole.records()), "no revisit records")
    return live, whole, less


def whole_pages(test, directory, options):
    live, whole, less = crawled_and_seen(test, directory, options)
    with ReplayProxy(whole) as proxy, Browser(directory / "whole-browser", *proxy.arguments) as browser:
        for url in live.loaded:
            live.compare(test, browser, proxy, url)
        test.check(not proxy.missing, "not in the archive", "\n".join(sorted(proxy.missing)))
    for url, loaded in live.loaded.items():
        print(f"{url}: {len(loaded)} requests, all in the archive")
    with ReplayProxy(less) as proxy, Browser(directory / "less-browser", *proxy.arguments) as browser:
        for url in [*live.loaded][:3]:
            proxy.missing.clear()
            asked = shown(browser, proxy, url)
            test.check(len(asked) > 2, f"without requisites: {url} needs nothing")
            test.check_equal_sets(proxy.missing, asked - {url}, f"without requisites: {url}")


BEGINNING = "<h1>cut frame</h1>" + "<p>filler</p>" * 500
LARGE = square(300, (9, 9, 200)) + bytes(40_000)
CUT = {
    "/": answer("<!DOCTYPE html><title>cut</title><link rel=stylesheet href=cut.css>"
                "<link rel=stylesheet href=cut-packed.css><script src=cut.js></script>"
                "<script src=cut-packed.js></script><img src=cut.png><img src=large.png>"
                "<img src=whole.png><iframe src=cut.html></iframe><iframe src=cut-packed.html></iframe>"
                "<p>end"),
    "/whole.png": image(3),
}
# The first part of each file.
WHOLE = {
    "/cut.css": (b"p { color: rgb(1, 2, 3) } h1 { color: gre", "text/css"),
    "/cut.js": (b"document.title += ' js'\n// " + b"x" * 1000, "text/javascript"),
    "/cut.png": (square(200, (200, 9, 9))[:300], "image/png"),
    "/cut.html": (BEGINNING.encode(), "text/html"),
}
PACKED = {
    "/cut-packed.css": ("body { margin: 17px }" + "".join(f"#i{i} {{ top: {i}px }}" for i in range(800)),
                        "text/css"),
    "/cut-packed.js": ("document.title += ' packed'\n//" + " ".join(map(str, range(2000))),
                       "text/javascript"),
    "/cut-packed.html": ("<h1>packed</h1>" + "".join(f"<p>{i}" for i in range(1500)), "text/html"),
}


def broken_off(body, content_type, *headers):
    head = ["HTTP/1.1 200 OK", f"Content-Type: {content_type}", f"Content-Length: {len(body) + 1000}",
            "Connection: close", *headers, "", ""]
    return "\r\n".join(head).encode() + body


def truncated_archive(test, directory, options):
    """A page with files that broke off. Returns its archive, its URL and all that it loads."""
    halves = {path: (gzip.compress(text.encode(), mtime=0), kind) for path, (text, kind) in PACKED.items()}
    halves = {path: (body[:len(body) // 2], kind) for path, (body, kind) in halves.items()}
    answers = {**CUT, "/large.png": answer(LARGE, content_type="image/png"),
               **{path: broken_off(*file) for path, file in WHOLE.items()},
               **{path: broken_off(*file, "Content-Encoding: gzip") for path, file in halves.items()}}
    with ScriptedServer(answers) as server:
        archive = crawl(test, directory, options, "cut", [server.url()], links={"requisites": True},
                        fetch={"max_body": 20_000, "max_download": 20_000})
        url = server.url
    for path, (body, _) in {**WHOLE, **halves, "/large.png": (LARGE[:20_000], "")}.items():
        fields = archive.captures(url(path))
        record = archive.record(fields[0]) if fields else None
        test.check(record and record.payload() == body and "warc-truncated" in record.headers,
                   f"{path}: not archived as truncated", record and record.headers)
    return archive, url(), {url(path) for path in answers}


def truncated(test, directory, options):
    """Bodies that broke off are shown as far as they go, and all around them is shown."""
    archive, root, urls = truncated_archive(test, directory, options)
    with ReplayProxy(archive) as proxy, Browser(directory / "cut-browser", *proxy.arguments) as browser:
        test.check_equal_sets(shown(browser, proxy, root), urls, "requests of the truncated page")
        test.check(not proxy.missing, "missing", proxy.missing)
        looks = browser.run(f"const page = document; {CUT_LOOK}")
        test.check(looks == CUT_LOOKS, "the truncated page", looks)


def unfinished_archives(test, directory, options):
    """Archives of a crawl that was killed, and of the same when it has gone on, each with the URLs
    that are queued."""
    count = 15
    page = "<link rel=stylesheet href=/style-{0}.css><img src=/image-{0}.png><h1>{0}</h1>"
    answers = {"/": answer(links([f"/page-{i}.html" for i in range(count)]))}
    for i in range(count):
        answers[f"/page-{i}.html"] = answer(page.format(i))
        answers[f"/style-{i}.css"] = answer(f"h1 {{ background: url(back-{i}.png) }}",
                                            content_type="text/css")
        answers[f"/image-{i}.png"] = answers[f"/back-{i}.png"] = image(i)
    with ScriptedServer(answers) as server:
        state = directory / "unfinished"
        config = t.write_config(directory / "unfinished.toml", t.fast_crawl(
            [server.url()], state, politeness={"delay": "30ms"}, output={"warc": True},
            links={"requisites": True}))
        killed = t.Run(options, directory, "crawl", config)
        t.wait_until(lambda: killed.ended() or len(server.pages) >= 2 * count, "pages to be fetched")
        killed.kill()
        expect(test, package(options, directory, config), 0, "unfinished", "not finished")
        dumped = t.run(options, directory, "frontier", "dump", state).text.splitlines()
        queued = {json.loads(line)["url"] for line in dumped}
        before = WaczArchive(directory / "unfinished.wacz")
        t.expect_exit(test, t.run(options, directory, "resume", config), t.EXIT_DONE, "resume")
        expect(test, package(options, directory, config, "-o", "finished.wacz"), 0, "finished")
    after = WaczArchive(directory / "finished.wacz")
    test.check(queued and len(before.pages()) > 1, "too little or too much was fetched", queued)
    test.check(len(after.pages()) == count + 1, "not all pages are listed", after.pages())
    return (("unfinished", before, queued), ("finished", after, set()))


def some(pages):
    return pages[:5] + pages[-3:]


def unfinished(test, directory, options):
    """All pages of an unfinished crawl are shown; what they miss is queued."""
    for name, archive, queued in unfinished_archives(test, directory, options):
        with ReplayProxy(archive) as proxy, \
                Browser(directory / f"{name}-browser", *proxy.arguments) as browser:
            for url in some(archive.pages()):
                browser.open(url)
                test.check(browser.text("h1,a") is not None, f"{name}: {url} is not shown")
            test.check(not proxy.missing - queued, f"{name}: not in the archive, not queued",
                       proxy.missing)
            print(f"{name}: {len(archive.pages())} pages, {len(proxy.missing)} requests not answered")


def replay(test, directory, options):
    t.run_parts(test, [[whole_pages], [truncated], [unfinished]], (test, directory, options))


if __name__ == "__main__":
    t.main(replay, t.parser(__doc__).parse_args())
