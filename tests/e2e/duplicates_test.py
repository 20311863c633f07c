"""Pages with a body that was seen before are reported, and written once."""

import gzip

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links, redirect
from warc_reader import check_index, check_places, digest, read_warcs


def crawl(test, directory, options, name, server, **tables):
    """One page after the other, so that which of two comes first is known, and it is written before
    the second is asked for."""
    config = t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], directory / name,
        **{"fetch": {"threads": 1, "connections": 1},
           "politeness": {"delay": "40ms", "per_host_connections": 1}, **tables}))
    finished = t.run(options, directory, "crawl", config)
    t.expect_exit(test, finished, t.EXIT_DONE, name)
    return t.by_path(t.read_pages(test, directory / name))


COPY = "<p>the same on each of them <a href=below>x</a>"
COPY_XXH128 = "xxh128:60d598899baf5f3e6157c5bbd41a1420"  # by xxhsum -H2


def site(zipped=False):
    packed = gzip.compress(COPY.encode())
    head = (f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
            f"Content-Length: {len(packed)}\r\n\r\n").encode()
    names = ["/a/", "/b/", "/c/", *(["/zipped/"] if zipped else []), "/other/", "/empty-1", "/empty-2", "/gone-1",
             "/gone-2", "/moved-1", "/moved-2"]
    return {
        "/": answer(links(names)),
        "/a/": answer(COPY), "/b/": answer(COPY), "/c/": answer(COPY),
        "/zipped/": head + packed,  # the same page, but not the same bytes
        "/other/": answer(COPY + "<p>and more"),
        **{f"/{name}/below": answer("<p>below " + name) for name in ("a", "b", "c", "other")},
        "/zipped/below": answer("<p>below zipped"),
        # Not copies of each other: the body is empty, or it is not a page.
        "/empty-1": answer(""), "/empty-2": answer(""),
        "/gone-1": answer("not here", "404 Not Found"),
        "/gone-2": answer("not here", "404 Not Found"),
        "/moved-1": redirect("/a/"), "/moved-2": redirect("/a/"),
    }


def reachable():
    return {path for path in site() if not path.startswith("/zipped")}


def check_told(test, server, pages, sha1=True):
    first = server.url("/a/")
    for path in ("/b/", "/c/"):
        test.check(pages[path] and pages[path][0]["duplicate_of"] == first,
                   f"{path}: not reported as a copy of {first}", pages[path])
    for path, lines in pages.items():
        if path not in ("/b/", "/c/", "/zipped/"):
            test.check(lines[0]["duplicate_of"] is None, f"{path}: reported as a copy", lines)
    # XXH128 by default, SHA-1 if requested and with WARC files.
    expected = digest(COPY.encode()) if sha1 else COPY_XXH128
    for path in ("/a/", "/b/"):
        test.check(pages[path] and pages[path][0]["digest"] == expected,
                   f"{path}: not the digest of its body", pages[path])


def told(test, directory, options):
    with ScriptedServer(site()) as server:
        pages = crawl(test, directory, options, "reported", server, output={"digest": "sha1"})
    check_told(test, server, pages)
    test.check_equal_sets(set(pages), reachable(), "links of copies are followed")


def not_followed(test, directory, options):
    with ScriptedServer(site()) as server:
        pages = crawl(test, directory, options, "not_followed", server,
                      links={"from_duplicates": False})
    check_told(test, server, pages, sha1=False)
    expected = reachable() - {"/b/below", "/c/below"}
    test.check_equal_sets(set(pages), set(expected), "links.from_duplicates = false")
    test.check_equal_sets(set(server.paths()), set(expected), "links.from_duplicates = false")


def written_once(test, directory, options):
    """In WARC files a copy is a revisit record that names the first, also after a restart."""
    with ScriptedServer(site(zipped=True)) as server:
        crawl(test, directory, options, "written", server, output={"warc": True},
              scope={"max_pages": 3})
        config = directory / "written.toml"
        config.write_text(config.read_text().replace("max_pages = 3\n", ""))
        t.expect_exit(test, t.run(options, directory, "resume", config), t.EXIT_DONE, "resumed")
        pages = t.by_path(t.read_pages(test, directory / "written"))
        test.check(not t.repeats(server.paths()), "requested twice", server.paths())
    check_told(test, server, pages)
    by_url = {}
    records = read_warcs(test, directory / "written" / "output")
    for record in records:
        if record.type in ("response", "revisit"):
            by_url.setdefault(record.url, []).append(record)
    first = by_url[server.url("/a/")][0] if server.url("/a/") in by_url else None
    for path in ("/a/", "/b/", "/c/", "/zipped/", "/other/", "/empty-2", "/gone-2", "/moved-2"):
        found = by_url.get(server.url(path), [])
        expected = ["revisit" if path in ("/b/", "/c/") else "response"]
        test.check([record.type for record in found] == expected,
                   f"{path}: records {[record.type for record in found]}, expected {expected}")
        for record in found:
            # What stands for other bytes than those of the first would not be what was sent.
            if record.type == "revisit" and first is not None:
                headers = record.headers
                test.check(headers.get("warc-refers-to-target-uri", "").strip("<>")
                           == server.url("/a/"), f"{path}: does not refer to the first", headers)
                test.check(headers.get("warc-payload-digest")
                           == first.headers.get("warc-payload-digest"),
                           f"{path}: refers to another payload", headers)
                test.check(headers.get("warc-refers-to-date") == first.headers.get("warc-date"),
                           f"{path}: refers to another date", headers)
                test.check(b"the same on each" not in record.body, f"{path}: written again")
    check_places(test, [line for lines in pages.values() for line in lines], records)
    check_index(test, directory / "written" / "output", records)


def duplicates(test, directory, options):
    parts = (told, not_followed, written_once)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    t.main(duplicates, t.parser(__doc__).parse_args())
