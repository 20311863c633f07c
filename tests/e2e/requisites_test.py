"""links.requisites against what a real Chromium loads, with scripts off, to show the same pages."""

import mimetypes
import pathlib
import re
import struct
import time
import urllib.parse
import zlib

import trawl_testing as t
from browser import Browser
from scripted_server import ScriptedServer, answer

HERE, THERE = "127.0.0.1", "127.0.0.2"
# The first pages of packages of documentation, as far as they are installed.
SITES = [f"/usr/share/doc/{page}" for page in (
    "cmake-data/html/index.html", "apache2-doc/manual/en/index.html",
    "postgresql-doc-15/html/index.html", "python3.11-doc/html/index.html", "git-doc/git.html",
    "libstdc++-12-doc/libstdc++/index.html", "valgrind/html/index.html",
    "libpsl-dev/html/index.html", "libtasn1-doc/reference/index.html",
    "shared-mime-info/shared-mime-info-spec.html/index.html", "nodejs/api/index.html",
    "libxslt1-dev/html/index.html", "python3.11-doc/html/library/index.html",
    "git-doc/user-manual.html")]
# Files named "alt-" are those that a browser would load on another screen or at another time, or a
# script would.
PAGE = """<!DOCTYPE html><html lang=en><head><title>all kinds</title>
<link rel=stylesheet href="{cdn}/style.css"><link rel="alternate stylesheet" title=x href=alt-sheet.css>
<link rel=stylesheet href=untyped/a><link rel=stylesheet href=sub/text.txt>
<style>@import "untyped/b"; @import "untyped/wrong"; @import "untyped/guarded";</style>
<link rel=stylesheet media=print href=alt-print.css>
<link rel=preload as=image href=preload.png><link rel=modulepreload href=alt-module.js>
<link rel=icon href=alt-icon.png><link rel=apple-touch-icon href=alt-touch.png>
<link rel=manifest href=alt-manifest.json>
<link rel=preload as=image imagesrcset="preset.png 1x, alt-preset2.png 2x">
<link rel=author href=not-author.html><link rel=next href=not-next.html>
<link rel=dns-prefetch href="//{host}:1/"><link rel=canonical href=not-canonical.html>
<style>@import "sub/imported.css"; @import url(alt-import-print.css) print;
h1 {{ background: url("ba\\63k.png") }} .set {{ background-image: image-set("set.png" 1x, "alt-set2.png" 2x) }}
@font-face {{ font-family: f; src: url({here}/alt-face.woff2) format("woff2"), url(alt-font.woff) format("woff") }}
p {{ font-family: f }} .never {{ background: url(alt-unused.png) }}</style>
<script src="alt-script.js"></script></head>
<body background=body.png><h1>t</h1><h2>t</h2><h3>t</h3><p class=set>text</p><div style="background: url('inline.png')">x</div>
<a href=not-a-page.html>a</a> <a href="{cdn}/not-there.html">b</a>
<img src="{cdn}/img.png"><img src=alt-src.png srcset="alt-3x.png 3x, chosen.png 1x">
<img src=alt-blank.png data-src=alt-lazy.png data-srcset="alt-lazy2.png 2x" loading=lazy style="display:none">
<picture><source srcset=alt-narrow.png media="(max-width: 10px)"><source srcset=alt-x.png type="image/x-none">
<img src=picture.png></picture>
<video src=video.mp4 poster=poster.png preload=auto></video>
<video><source src=source.mp4 type="video/mp4"><track src=alt-track.vtt></video>
<audio src=audio.mp3 preload=auto></audio>
<object data=drawn.svg></object><iframe src="{cdn}/framed.svg"></iframe><embed src=embedded.svg>
<img src=shown.svg><iframe src=prefixed.svg></iframe><iframe src=strict.xhtml></iframe>
<object data=object.png type="image/png"></object><embed src=embed.png type="image/png">
<input type=image src=input.png><input type=text src=not-input.png>
<table background=table.png><tr><td background=cell.png>x</table>
<svg width=10 height=10><image href=svg.png width=5 height=5 /><image xlink:href=xlink.png width=5 height=5 />
<use href="shapes.svg#a"/><rect fill="url(fill.svg#a)" stroke="url(#here)"/><rect stroke="url(stroke.svg#a)" mask="url(mask.png)"/>
<path d="M0 0L5 5" marker-start="url(start.svg#a)" marker-mid="url(mid.svg#a)" marker-end="url('end.svg#a')"/>
<rect filter="url(filter.svg#a)" clip-path="url(clip.svg#a)" cursor="url(cursor.png), auto"/>
<style>circle {{ fill: url(#p) }} svg {{ background: url(svg-style.png) }}</style></svg>
<iframe src="{cdn}/frame.html"></iframe>
<iframe srcdoc="<link rel=stylesheet href=srcdoc.css><img src=&quot;srcdoc.png&quot;><a href=not-srcdoc.html>x</a>"></iframe>
<noscript><img src=noscript.png></noscript><template><img src=not-template.png></template>
<form action=not-form.html></form><blockquote cite=not-cite.html>c</blockquote>
</body></html>"""

# A document of SVG.
DRAWING = """<?xml version="1.0"?><!-- > -->
<?xml-stylesheet type="text/css" href="{0}-instruction.css?a&amp;b"?>
<!DOCTYPE svg [ <!ENTITY x "]>"> ]>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink" width="50" height="50">
<style><![CDATA[ @import "{0}-import.css"; ]]> svg {{ background: url({0}-style.png) }}</style><style/>
<image href="{0}-image.png" width="5" height="5"/><image x:href="{0}-xlink.png" width="5" height="5"/>
<use href="{0}-use.svg#a"/><g style="filter: url({0}-filter.svg#f)"><rect width="5" height="5" mask="url({0}-mask.svg#m)"/></g>
<filter id="f"><feImage href="{0}-fe.png"/></filter><rect width="5" height="5" filter="url(#f)"/>
<foreignObject width="9" height="9"><div xmlns="http://www.w3.org/1999/xhtml"><img src="{0}-html.png"/></div>
</foreignObject><a href="{0}-not-a.html"><text>x</text></a><e xmlns="x:"><image href="{0}-not-svg.png"/></e>
</svg>"""

TEXTS = {
    "/drawn.svg": DRAWING.format("drawn"), "/framed.svg": DRAWING.format("framed"),
    "/embedded.svg": DRAWING.format("embedded"), "/shown.svg": DRAWING.format("not-shown"),
    "/prefixed.svg": "<s:svg xmlns:s='http://www.w3.org/2000/svg' width='50' height='50'"
                     " xmlns:l='http://www.w3.org/1999/xlink'><s:image l:href='prefix.png' width='5'"
                     " height='5'/><s:style>@import 'prefix.css';</s:style></s:svg>",
    "/strict.xhtml": "<?xml-stylesheet href='strict.css'?>"
                     "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>x</title></head><body>"
                     "<img src='strict.png'/></body></html>",
    "/style.css": "@import url(deep/a.css); body { color: black } .set { cursor: url(cur.png), auto }",
    "/deep/a.css": '@import "b.css"; h2 { background-image: url(../deep.png) }',
    "/deep/b.css": "@import '../style.css'; div { list-style: url( 'deepest.png' ) } p { content: url(quoted\\2epng) }",
    "/sub/imported.css": "h3 { background: url(here.png) }",
    "/srcdoc.css": "body { background: url(srcdoc-back.png) }",
    "/frame.html": "<!DOCTYPE html><link rel=stylesheet href=frame.css><img src=frame.png>"
                   "<a href=not-from-frame.html>x</a><iframe src=inner.html></iframe>",
    "/inner.html": "<!DOCTYPE html><img src=inner.png>",
    "/frame.css": "body { background: url(frame-back.png) }",
    "/untyped/a": "@import 'c'; h2 { list-style: url(a.png) }", "/untyped/b": "@import url(b.css)",
    "/untyped/c": "h1 { list-style: url(c.png) }", "/untyped/wrong": "@import 'wrong.css';",
    "/untyped/guarded": "@import 'not-guarded.css';", "/sub/text.txt": "@import 'not-text.css';",
    "/shapes.svg": "<svg xmlns='http://www.w3.org/2000/svg'><g id=\"a\"><circle r=\"2\"/></g></svg>",
}


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b""))


class Site(ScriptedServer):
    """A page with all kinds of requisites, which are on two hosts."""

    def __init__(self, page=PAGE):
        self.page = page
        super().__init__(self._respond, addresses=(HERE, THERE))

    def _respond(self, request):
        path = urllib.parse.unquote(request.path.split("?")[0])
        if path == "/robots.txt":
            return answer("none", "404 Not Found")
        if path == "/":
            return answer(self.page.format(cdn=self.url("", THERE), here=self.url("", HERE),
                                           host=THERE))
        if path.startswith("/untyped/") and "." not in path:  # no Content-Type, or none that is valid
            header = {"wrong": "Content-Type: css\r\n",
                      "guarded": "X-Content-Type-Options: nosniff\r\n"}.get(path.split("/")[2], "")
            return (f"HTTP/1.1 200 OK\r\n{header}Content-Length: {len(TEXTS[path])}\r\n\r\n"
                    f"{TEXTS[path]}").encode()
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        body = TEXTS.get(path, png() if kind == "image/png" else "")
        return answer(body, content_type=kind)


class Folder(ScriptedServer):
    """The files of documentation."""

    def __init__(self):
        super().__init__(self._respond)

    def _respond(self, request):
        path = pathlib.Path(urllib.parse.unquote(request.path.split("?")[0]))
        if not path.is_relative_to("/usr/share") or ".." in path.parts or not path.is_file():
            return answer("none", "404 Not Found")
        return answer(path.read_bytes(), content_type=mimetypes.guess_type(path)[0] or "text/plain")


def requested(server):
    """The URLs asked for since the last call, but robots.txt and what browsers ask for unasked."""
    urls = {f"http://{request.host}{request.path}" for request in server.pages}
    server.requests.clear()
    return {url for url in urls if not url.endswith("/favicon.ico")}


def shown(browser, server, url):
    """What the browser loads to show the page."""
    browser.devtools("Network.enable")
    browser.devtools("Network.setCacheDisabled", cacheDisabled=True)
    for _ in range(2):  # on a busy machine a font may be wanted when the page is left
        browser.open(url)
        count, quiet_since = -1, time.monotonic()
        while time.monotonic() - quiet_since < 0.7:
            if len(server.requests) != count:
                count, quiet_since = len(server.requests), time.monotonic()
            time.sleep(0.05)
    return requested(server)


def crawled(test, directory, options, server, name, url, **links):
    state = directory / name
    config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [url], state, scope={"max_depth": 0}, links=links))
    t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, name)
    return requested(server)


def fixture(test, directory, options, browser):
    with Site() as site:
        loaded = shown(browser, site, site.url())
        fetched = crawled(test, directory, options, site, "fixture", site.url(), requisites=True)
        test.check(len(loaded) > 40, "the browser loads too little", sorted(loaded))
        test.check(not loaded - fetched, "loaded by the browser, not fetched",
                   "\n".join(sorted(loaded - fetched)))
        besides = {url for url in fetched - loaded if "/alt-" not in url}
        test.check(not besides, "fetched, not loaded by the browser", "\n".join(sorted(besides)))
        alternatives = {url.rsplit("/", 1)[1] for url in fetched if "/alt-" in url}
        test.check_equal_sets(alternatives, set(re.findall(r"alt-[a-z0-9-]+\.[a-z0-9]+", PAGE)),
                              "alternatives")
        print(f"fixture: {len(loaded)} loaded by the browser, {len(fetched)} fetched, "
              f"{len(fetched - loaded)} of them alternatives")
        without = crawled(test, directory, options, site, "no-lazy", site.url(), requisites=True,
                          lazy_images=False)
        test.check_equal_sets(fetched - without, {site.url("/alt-lazy.png"), site.url("/alt-lazy2.png")},
                              "links.lazy_images = false")
        off = crawled(test, directory, options, site, "off", site.url())
        test.check_equal_sets(off, {site.url()}, "without requisites")


def documentation(test, directory, options, browser):
    pages = [page for page in SITES if pathlib.Path(page).exists()][:10]
    test.check(len(pages) >= 6, "too few packages of documentation", pages)
    with Folder() as server:
        for i, page in enumerate(pages):
            loaded = shown(browser, server, server.url(page))
            fetched = crawled(test, directory, options, server, f"site-{i}", server.url(page),
                              requisites=True)
            test.check(not loaded - fetched, f"{page}: loaded by the browser, not fetched",
                       "\n".join(sorted(loaded - fetched)))
            besides = [url.rsplit("/", 1)[1] for url in sorted(fetched - loaded)]
            styles = "".join(pathlib.Path(urllib.parse.urlsplit(url).path).read_text()
                             for url in fetched if url.split("?")[0].endswith(".css"))
            scripts = [name for name in besides if name.endswith(".js")]
            unused = [name for name in besides if name not in scripts and name in styles]
            others = set(besides) - set(scripts) - set(unused)
            test.check(not others, f"{page}: fetched, not loaded by the browser", others)
            print(f"{page}: {len(loaded)} loaded by the browser, {len(fetched)} fetched; of these "
                  f"{len(scripts)} scripts, {len(unused)} of style sheets for other pages")
            off = crawled(test, directory, options, server, f"site-{i}-off", server.url(page))
            test.check_equal_sets(off, {server.url(page)}, f"{page} without requisites")


def follows_no_links_of_requisites(test, directory, options):
    """A frame in scope is a page; one elsewhere is only shown."""
    frame = "<a href=linked-{0}.html>x</a><img src=image-{0}.png>"
    page = "<iframe src=/in.html></iframe><iframe src={cdn}/out.html></iframe>"
    TEXTS.update({"/in.html": frame.format("in"), "/out.html": frame.format("out"),
                  "/linked-in.html": "in"})
    with Site(page) as site:
        config = t.write_config(directory / "frames.toml", t.fast_crawl(
            [site.url()], directory / "frames", links={"requisites": True}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "frames")
        test.check_equal_sets(requested(site), {
            site.url(), site.url("/in.html"), site.url("/linked-in.html"), site.url("/image-in.png"),
            site.url("/out.html", THERE), site.url("/image-out.png", THERE)}, "frames")
    with Site() as site:
        config = t.write_config(directory / "ruled.toml", t.fast_crawl(
            [site.url()], directory / "ruled", links={"requisites": True}, scope={"rules": [
                {"include": "*/img.png", "kind": "requisite"}, {"exclude": f"{THERE}:*"},
                {"exclude": f"{HERE}:*.png", "kind": "requisite"}]}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "ruled")
        urls = requested(site)
        test.check({url for url in urls if THERE in url} == {site.url("/img.png", THERE)} and
                   {url for url in urls if url.endswith(".png") and HERE in url} ==
                   {site.url("/object.png"), site.url("/embed.png")},  # which are documents
                   "rules on requisites", sorted(urls))


def chains_of_pages(test, directory, options):
    """Pages in scope that name each other to be loaded ahead have no end at 100; frames have."""
    for host, most in (HERE, 130), (THERE, 100):
        def respond(request, host=host):
            name = request.path.rpartition("/")[2] or "0"
            if not name.isdigit():
                return answer("none", "404 Not Found")
            link = f"http://{host}:{request.host.rpartition(':')[2]}/{int(name) + 1}"
            return answer(f"<link rel=prefetch href={link}>" if int(name) < 130 else "end")
        with ScriptedServer(respond, addresses=(HERE, THERE)) as site:
            config = t.write_config(directory / f"chain-{most}.toml", t.fast_crawl(
                [site.url()], directory / f"chain-{most}", links={"requisites": True}))
            t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "chain")
            last = max(int(path[1:] or "0") for path in site.paths())
            test.check(last == most, f"a chain of pages on {host}", last)


def script(test, directory, options):
    chains_of_pages(test, directory, options)
    follows_no_links_of_requisites(test, directory, options)
    with Browser(directory) as browser:
        browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
        fixture(test, directory, options, browser)
        documentation(test, directory, options, browser)


if __name__ == "__main__":
    t.main(script, t.parser(__doc__).parse_args())
