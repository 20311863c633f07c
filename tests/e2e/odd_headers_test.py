"""Headers that are written oddly mean what they mean to browsers: what they lead to is fetched."""

import gzip
import zlib

import scripted_server
import trawl_testing as t
from scripted_server import ScriptedServer, answer, links


def head(*lines, status="200 OK"):
    return ("HTTP/1.1 " + status + "\r\n").encode() + b"".join(
        (line if isinstance(line, bytes) else line.encode("latin-1")) + b"\r\n" for line in lines)


def reply(body, *lines, status="200 OK"):
    return head(*lines, b"Content-Length: %d" % len(body), status=status) + b"\r\n" + body


def link(name, start="<html>"):
    return f"{start}<a href='/to/{name}'>on</a>".encode()


def page(name, *lines, start="<html>"):
    return reply(link(name, start), *lines)


def moved(*lines):
    return reply(b"", *lines, status="302 Found")


HTML = "Content-Type: text/html"
LINKED = b"<a href='/to/%s'>on</a>" + b"<p>and text" * 500


def packed(name, coding, data):
    return reply(data, HTML, f"Content-Encoding: {coding}")


# Each leads to /to/NAME.
LEADS = {
    "folded-location": moved("Location:", "\t/to/folded-location"),
    "folded-refresh": reply(b"x", "Content-Type: text/plain", "Refresh: 0;", " url='/to/folded-refresh'"),
    "folded-link": reply(b"x", "Content-Type: text/plain", "Link: </to/folded-link>;", "  rel=next"),
    "folded-type": page("folded-type", "Content-Type:", " text/html;", "\tcharset=utf-8"),
    "refresh": page("refresh-body", HTML, "Refresh: 5; url=/to/refresh"),
    "refresh-image": reply(b"GIF89a", "Content-Type: image/gif", "Refresh: 0;URL=/to/refresh-image"),
    "any-type": page("any-type", "Content-Type: */*"),
    "html-type": page("html-type", "Content-Type: html"),
    "quoted-type": page("quoted-type", 'Content-Type: "text/html"', start="<!doctype html>"),
    "two-types": page("two-types", "Content-Type: text/plain", HTML),
    "list-of-types": page("list-of-types", "Content-Type: text/html; charset=utf-8, */*"),
    "no-type": page("no-type", start="\ufeff <!-- x --><p>"),
    "unknown-type": page("unknown-type", "Content-Type: application/unknown", start="<body>"),
    "coding-none": packed("coding-none", "none", LINKED % b"coding-none"),
    "coding-utf-8": packed("coding-utf-8", "utf-8", LINKED % b"coding-utf-8"),
    "coding-binary": packed("coding-binary", "binary", LINKED % b"coding-binary"),
    "coding-aws": packed("coding-aws", "aws-chunked", LINKED % b"coding-aws"),
    "coding-aws-gzip": packed("coding-aws-gzip", "aws-chunked, gzip",
                              gzip.compress(LINKED % b"coding-aws-gzip")),
    "no-trailer": packed("no-trailer", "gzip", gzip.compress(LINKED % b"no-trailer")[:-8]),
    "half-trailer": packed("half-trailer", "gzip", gzip.compress(LINKED % b"half-trailer")[:-3]),
    "no-adler": packed("no-adler", "deflate", zlib.compress(LINKED % b"no-adler")[:-4]),
}
# Each leads nowhere.
DEAD_ENDS = {
    "nosniff": page("nosniff", "Content-Type: */*", "X-Content-Type-Options: nosniff"),
    "text": page("text", "Content-Type: */*", start="it says <html>"),
    "last-plain": page("last-plain", "Content-Type: text/html, text/plain"),
    "folded-robots": page("folded-robots", HTML, "X-Robots-Tag: noindex,", "\tnofollow"),
    "refresh-nofollow": reply(b"x", HTML, "Refresh: 0;url=/to/refresh-nofollow",
                              "X-Robots-Tag: nofollow"),
    "refresh-script": reply(b"x", HTML, "Refresh: 0;url=javascript:alert(1)"),
    "refresh-itself": reply(b"x", HTML, "Refresh: 30"),
}
# Redirects by their raw bytes, and the path that is requested then.
BYTES = {
    "bytes-latin1": (b"Location: /to/caf\xe9?q=\xff", "/to/caf%E9?q=%FF"),
    "bytes-utf8": ("Location: /to/na\u00efve".encode(), "/to/na%C3%AFve"),
    "bytes-mixed": (b"Location: /to/\xc3\xa9/\xe9", "/to/%C3%A9/%E9"),
    "bytes-space": (b"Location: /to/a b\xa0", "/to/a%20b%A0"),
}
LONG = {"long-header": reply(b"<p>long", HTML, "X-Long: " + "x" * 150_000)}


def respond(request):
    name = request.path.lstrip("/")
    if request.path == "/":
        return answer(links(f"/{each}" for each in [*LEADS, *DEAD_ENDS, *BYTES, *LONG]))
    if name in BYTES:
        return moved(BYTES[name][0])
    if name.startswith("to/"):
        return answer("<p>there")
    return {**LEADS, **DEAD_ENDS, **LONG}.get(name, scripted_server.NOT_FOUND)


def crawl(test, directory, options, name, **more):
    state = directory / name
    with ScriptedServer(respond) as server:
        config = t.fast_crawl([server.url()], state, **more)
        t.expect_exit(test, t.run(options, directory, "crawl", t.write_config(
            directory / f"{name}.toml", config)), t.EXIT_DONE, name)
        return set(server.paths()), t.by_path(t.read_pages(test, state))


def odd_headers(test, directory, options):
    asked, pages = crawl(test, directory, options, "all")
    for name in LEADS:
        test.check(f"/to/{name}" in asked, f"{name} leads nowhere", pages.get("/" + name))
    for name in DEAD_ENDS:
        test.check(f"/to/{name}" not in asked, f"{name} is followed", pages.get("/" + name))
    for name, (_, path) in BYTES.items():
        test.check(path in asked, f"{name} does not lead to {path}", sorted(asked))
    for name in [*LEADS, *DEAD_ENDS, *BYTES]:
        lines = pages.get("/" + name, [])
        test.check(len(lines) == 1 and not lines[0]["error"], f"{name}: an error", lines)
    long = pages.get("/long-header", [{}])[0]
    test.check(long.get("reason") == "headers too large" and "memory" not in long.get("error", ""),
               "a long header line is not reported as that", long)
    # Who wants HTML gets what browsers take for it.
    asked, pages = crawl(test, directory, options, "html",
                         fetch={"content_types": ["text/html"]}, links={"content_types": ["text/html"]})
    for name in ["any-type", "html-type", "quoted-type", "no-type", "unknown-type", "two-types"]:
        test.check(f"/to/{name}" in asked, f"{name} leads nowhere if HTML is requested",
                   pages.get("/" + name))
    with ScriptedServer(respond) as server:
        printed = t.run(options, directory, "links", server.url("/refresh"))
        test.check("refresh\theader@refresh\tfollow\t" + server.url("/to/refresh") in printed.text,
                   "trawl links does not print the link of the Refresh header", printed.text)


if __name__ == "__main__":
    t.main(odd_headers, t.parser(__doc__).parse_args())
