"""How pages come over the network: encodings, kept connections, IPv6."""

import gzip
import struct
import zlib

import trawl_testing as t
from hostile_server import brotli
from scripted_server import ScriptedServer, answer, links, listen


def crawl(test, directory, options, name, seeds, expect=t.EXIT_DONE, **tables):
    config = t.write_config(directory / f"{name}.toml",
                            t.fast_crawl(seeds, directory / name, **tables))
    finished = t.run(options, directory, "crawl", config)
    t.expect_exit(test, finished, expect, name)
    return t.read_pages(test, directory / name)


def encodings(test, directory, options):
    """What was sent compressed is read like any other page."""
    body = links(["/below-NAME"]) + "<p>some text " * 100

    def raw_block(data):
        return struct.pack("<I", len(data) << 3 | 1)[:3] + data

    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packers = {
        "gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress,
        "zstd": lambda data: b"\x28\xb5\x2f\xfd\0\x58" + raw_block(data),
        # Without the header it should have: browsers read it anyway.
        "raw-deflate": lambda data: deflate.compress(data) + deflate.flush(),
    }
    if brotli(b"") is not None:
        packers["br"] = brotli
    pages = {"/": answer(links("/" + name for name in packers))}
    for name, pack in packers.items():
        coding = "deflate" if name == "raw-deflate" else name
        pages["/" + name] = answer(pack(body.replace("NAME", name).encode()), "200 OK",
                                   f"Content-Encoding: {coding}")
        pages["/below-" + name] = answer(name)
    with ScriptedServer(pages) as server:
        lines = t.by_path(crawl(test, directory, options, "encodings", [server.url()]))
    test.check_equal_sets(set(server.paths()), set(pages), "compressed pages")
    offered = server.pages[0].headers.get("accept-encoding", "") if server.pages else ""
    test.check({"gzip", "deflate", "br", "zstd"} <= {each.strip() for each in offered.split(",")},
               "encodings are not offered", offered)
    for name in packers:
        size = len(body.replace("NAME", name))
        test.check(lines["/" + name] and lines["/" + name][0]["bytes"] == size,
                   f"{name}: not its length when unpacked", lines["/" + name])


def kept_connections(test, directory, options):
    paths = [f"/{i}" for i in range(100)]
    with ScriptedServer({"/": answer(links(paths)), **{path: answer(path) for path in paths}}
                        ) as server:
        crawl(test, directory, options, "kept", [server.url()], fetch={"threads": 1},
              politeness={"per_host_connections": 2})
    opened = sum(request.number == 1 for request in server.requests)
    test.check(len(server.pages) == 101 and opened <= 3,
               f"{opened} connections for {len(server.requests)} requests, 2 at once")


def ipv6(test, directory, options):
    try:
        listen(["::1"])[0].close()
    except OSError:
        print("  left out: no IPv6 here")
        return
    with ScriptedServer({"/": answer(links(["/a"])), "/a": answer("a")}, ["::1"]) as server:
        pages = crawl(test, directory, options, "ipv6", [server.url(host="[::1]")])
        test.check(len(pages) == 2 and all(page["status"] == 200 for page in pages),
                   "pages over IPv6", pages)
        refused = crawl(test, directory, options, "no_ipv6", [server.url(host="[::1]")],
                        expect=t.EXIT_INCOMPLETE, fetch={"ip_version": "ipv4"})
        test.check(refused and all(page["status"] == 0 for page in refused),
                   "fetched over IPv6 with ip_version = \"ipv4\"", refused)


def transfers(test, directory, options):
    parts = (encodings, kept_connections, ipv6)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    t.main(transfers, t.parser(__doc__).parse_args())
