"""URLs as outputs have them: what was dropped and why, no credentials, one host by two names."""

import base64
import gzip

import trawl_testing as t
from scripted_server import NOT_FOUND, ScriptedServer, answer, links

SECRET = "geheim"


def config_of(directory, name, server, **output):
    return t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], directory / name, output={"skipped": True, "links": True, **output}))


def dropped(test, directory, options):
    """References that are not http(s) URLs are in skipped.jsonl, unchanged."""
    bad = {"http://[broken/": "invalid URL", "http://a b/": "invalid URL",
           "mailto:someone@example.com": "other scheme", "javascript:void(0)": "other scheme",
           "ftp://example.com/x": "other scheme", "data:," + "x" * 5000: "other scheme"}
    with ScriptedServer({"/": answer(links(["/a", *bad]))}) as server:
        config = config_of(directory, "dropped", server)
        crawl = t.run(options, directory, "crawl", config)
        found = {line["url"]: line for line in t.read_lines(
            test, directory / "dropped", "skipped.jsonl", {"url", "reason", "rule", "from"})}
        for url, reason in bad.items():
            line = found.get(url[:2048], {})
            test.check(line.get("reason") == reason and line.get("from") == server.url("/"),
                       f"{url[:60]}: {reason}", line)
        t.expect_exit(test, crawl, t.EXIT_DONE, "a crawl of invalid links")


def dropped_elsewhere(test, directory, options):
    """So are those of Link headers and sitemaps; what would not be followed is not named."""
    header = "Link: <mailto:next@example.com>; rel=next, <http://[y/>; rel=alternate, " \
             "<ftp://example.com/author>; rel=author, </next>; rel=next"
    entries = ["ftp://example.com/s", "http://[z/", "javascript:s", "http://a b/",
               "http://[" + "x" * 3000]
    sitemap = "<urlset>" + "".join(f"<url><loc>{entry}</loc></url>" for entry in entries) + \
        "<url><loc></loc></url></urlset>"

    def respond(request):
        return {"/robots.txt": answer(f"Sitemap: {server.url('/map.xml')}\n"),
                "/map.xml": answer(sitemap, content_type="application/xml"),
                "/": answer("<p>page", "200 OK", header)}.get(request.path, answer("<p>page"))

    with ScriptedServer(respond) as server:
        config = config_of(directory, "elsewhere", server)
        crawl = t.run(options, directory, "crawl", config, "--set", "links.sitemaps=true")
        t.expect_exit(test, crawl, t.EXIT_DONE, "a crawl of a sitemap of invalid URLs")
        found = {(line["url"], line["reason"], line["from"]) for line in t.read_lines(
            test, directory / "elsewhere", "skipped.jsonl", {"url", "reason", "rule", "from"})}
        page, map_ = server.url("/"), server.url("/map.xml")
        expected = {("mailto:next@example.com", "other scheme", page),
                    ("http://[y/", "invalid URL", page)}
        for entry in entries:
            other = entry.startswith(("ftp:", "javascript:"))
            expected.add((entry[:2048], "other scheme" if other else "invalid URL", map_))
        test.check_equal_sets(found, expected, "skipped.jsonl")
        # The entry without a URL has nothing to be named by.
        test.check("invalid URL 5" in crawl.text and "other scheme 3" in crawl.text,
                   "not counted", crawl.tail())


def credentials(test, directory, options):
    """Credentials of a URL are sent to its server only."""
    def respond(request):
        if request.path == "/robots.txt":
            return NOT_FOUND
        if request.path == "/moved":
            return answer("", "302 Found", f"Location: http://me:{SECRET}@127.0.0.1:{server.port}/b")
        if request.path == "/broken":
            return answer("", "302 Found", f"Location: http://me:{SECRET}@[x/")
        if request.path == "/":
            secret = f"http://me:{SECRET}@127.0.0.1:{server.port}"
            return answer("".join(f"<a href='{link}'></a>" for link in (
                f"{secret}/a", f"{secret}/gone", "/moved", "/broken",
                f"http://me:{SECRET}@elsewhere.example/", f"http://me:{SECRET}@[x/",
                f"ftp://me:{SECRET}@h/")) + f"<link rel=canonical href='{secret}/'>")
        return answer(links(["/c"])) if request.path != "/gone" else NOT_FOUND

    with ScriptedServer(respond) as server:
        config = config_of(directory, "credentials", server, warc=True)
        crawl = t.run(options, directory, "crawl", config, "--set", "log.level=debug")
        t.expect_exit(test, crawl, t.EXIT_DONE, "a crawl of links with credentials")
        pages = {page["url"] for page in t.read_pages(test, directory / "credentials")}
        for path in ("/", "/a", "/gone", "/b", "/c"):
            test.check(server.url(path) in pages, f"no page {path}", pages)
    output = directory / "credentials" / "output"
    encoded = base64.b64encode(f"me:{SECRET}".encode())
    for path in [*output.iterdir(), crawl.log]:
        data = path.read_bytes()
        if path.suffix == ".gz":
            # What servers sent is kept as it came.
            records = gzip.decompress(data).split(b"WARC/1.1\r\n")
            data = b"".join(record for record in records if b"WARC-Type: response" not in record)
            data += b"".join(record.split(b"\r\n\r\n")[0] for record in records)
        test.check(SECRET.encode() not in data and encoded not in data, f"{path.name} has the password",
                   data[max(0, data.find(SECRET.encode()) - 200):][:300])


def host_of_two_names(test, directory, options):
    """localhost and localhost. are one host, and a page of it is one page."""
    def respond(request):
        if request.path == "/robots.txt":
            return NOT_FOUND
        return answer("".join(f"<a href='http://{host}:{server.port}{path}'></a>"
                              for host in ("localhost", "localhost.") for path in ("/", "/a", "/b")))

    with ScriptedServer(respond) as server:
        state = directory / "dot"
        config = t.write_config(directory / "dot.toml", t.fast_crawl(
            [f"http://localhost:{server.port}/"], state))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "two names")
        pages = t.read_pages(test, state)
        test.check(sorted(page["url"].rsplit("/", 1)[1] for page in pages) == ["", "a", "b"],
                   "pages fetched twice", [page["url"] for page in pages])


def output_urls(test, directory, options):
    for part in (dropped, dropped_elsewhere, credentials, host_of_two_names):
        print(part.__name__, flush=True)
        part(test, directory, options)


if __name__ == "__main__":
    t.main(output_urls, t.parser(__doc__).parse_args())
