"""The lookups of hosts are in WARC files: one for each host, and another if its addresses change."""

import gzip
import json
import re
import time
import zipfile

import trawl_testing as t
from dns_server import DnsServer
from scripted_server import ScriptedServer, answer, links
from warc_reader import check_index, digest, read_warcs

PAGES = 6
LINE = re.compile(r"(\S+)\t(\d+)\tIN\t(A|AAAA)\t(\S+)")


def site(request):
    if request.path == "/":
        return answer(links([f"/{n}" for n in range(PAGES)]))
    if request.path[1:].isdigit() and int(request.path[1:]) < PAGES:
        return answer(f"<p>{request.host} {request.path}")
    return answer("none", "404 Not Found")


def config(path, state, server, dns, hosts, **tables):
    tables.setdefault("output", {"warc": True})
    made = t.fast_crawl([f"http://{host}:{server.port}/" for host in hosts], state, **tables)
    made["fetch"].update({"threads": 4, "connections": 32, "dns_servers": [dns.address]})
    return t.write_config(path, made)


def lookups(records):
    found = {}
    for record in records:
        if record.url.startswith("dns:"):
            found.setdefault(record.url[len("dns:"):], []).append(record)
    return found


def check_record(test, record, host, addresses, ttl, since):
    names = record.headers
    test.check(record.type == "resource" and names["content-type"] == "text/dns", "its type", names)
    test.check(names.get("warc-ip-address") == "127.0.0.1", "the name server", names)
    test.check(names["warc-payload-digest"] == digest(record.body), "its digest", names)
    first, *lines = record.body.decode().splitlines()
    test.check(first == re.sub(r"[-:T]", "", names["warc-date"].split(".")[0]), "its date", first)
    test.check(since <= names["warc-date"][:19] <= time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()),
               "when", names)
    read = [LINE.fullmatch(line) for line in lines]
    test.check(all(read) and {(line[1], line[4]) for line in read} == {(host + ".", address) for address in addresses}
               and all(int(line[2]) == ttl for line in read), f"{host}: its records", record.body)


def one_each(test, directory, options):
    since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    names = {"a.test": ["127.0.0.1"], "b.test": ["127.0.0.2", "127.0.0.1"],
             "left-out.test": ["127.0.0.1"]}

    def respond(request):
        if request.host.startswith("left-out.test"):
            return answer("kept nowhere", "200 OK", "X-Robots-Tag: noarchive")
        return site(request)

    state = directory / "one"
    with DnsServer(names, ttl=77) as dns, \
            ScriptedServer(respond, addresses=("127.0.0.1", "127.0.0.2")) as server:
        made = config(directory / "one.toml", state, server, dns,
                      [*names, "localhost", "127.0.0.2", "missing.test"],
                      politeness={"respect_robots": False}, scope={"max_pages": 12},
                      output={"warc": True, "respect_noarchive": True})
        t.run(options, directory, "crawl", made)
        records = read_warcs(test, state / "output")
        found = lookups(records)
        test.check_equal_sets(set(found), {"a.test", "b.test"}, "hosts with a lookup")
        for host in found:
            test.check(len(found[host]) == 1, f"{host}: {len(found[host])} records")
            check_record(test, found[host][0], host, names[host], 77, since)
            order = [record.url for record in records
                     if record.url in (f"dns:{host}", f"http://{host}:{server.port}/")]
            test.check(order[0] == f"dns:{host}", f"{host}: before its pages", order)
        # A later run asks again.
        before = len(t.read_pages(test, state))
        made.write_text(made.read_text().replace("max_pages = 12\n", ""))
        t.run(options, directory, "resume", made)
        records = read_warcs(test, state / "output")
        later = [page["url"] for page in t.read_pages(test, state)[before:]]
        expected = {host: 2 if any(host in url for url in later) else 1 for host in found}
        test.check(2 in expected.values() and {host: len(each) for host, each in lookups(records).items()}
                   == expected, "after a restart", [lookups(records), later])
    check_index(test, state / "output", records)
    lines = [line for path in (state / "output").glob("*.cdxj") for line in path.read_text().splitlines()
             if line.startswith("dns:")]
    for line in lines:
        key, _, fields = line.split(" ", 2)
        fields = json.loads(fields)
        test.check(key == fields["url"] and fields["mime"] == "text/dns" and "status" not in fields, "a line", line)
    # The index that is made from the WARC files has the same lines.
    for kept in (True, False):
        for path in (state / "output").glob("*.cdxj") if not kept else ():
            path.unlink()
        packed = t.run(options, directory, "wacz", state, "-o", directory / "one.wacz")
        t.expect_exit(test, packed, t.EXIT_DONE, "a WACZ")
        with zipfile.ZipFile(directory / "one.wacz") as archive:
            indexed = gzip.decompress(archive.read("indexes/index.cdx.gz")).decode().splitlines()
            pages = archive.read("pages/pages.jsonl").decode()
        test.check(sorted(line for line in indexed if line.startswith("dns:")) == sorted(lines),
                   f"index of the WACZ, {kept}", indexed)
        test.check("dns:" not in pages, "a page of a WACZ", pages)


def changed(test, directory, options):
    """An answer is good for a second; the third one is another."""
    names = {"a.test": [["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2"]]}
    state = directory / "changed"
    with DnsServer(names, ttl=1) as dns, \
            ScriptedServer(site, addresses=("127.0.0.1", "127.0.0.2")) as server:
        made = config(directory / "changed.toml", state, server, dns, ["a.test"],
                      politeness={"delay": "700ms"})
        t.expect_exit(test, t.run(options, directory, "crawl", made), t.EXIT_DONE, "changing addresses")
        test.check(dns.lookups("a.test") >= 3, "it was not looked up again", dns.queries)
    found = lookups(read_warcs(test, state / "output"))
    answers = [LINE.search(record.body.decode())[4] for record in found.get("a.test", [])]
    test.check(answers == ["127.0.0.1", "127.0.0.2"], "a record for each change", answers)


def without_warc(test, directory, options):
    with DnsServer({"a.test": ["127.0.0.1"]}) as dns, ScriptedServer(site) as server:
        made = config(directory / "none.toml", directory / "none", server, dns, ["a.test"], output={"pages": True})
        t.expect_exit(test, t.run(options, directory, "crawl", made), t.EXIT_DONE, "without WARC files")
    pages = t.read_pages(test, directory / "none")
    test.check(len(pages) == PAGES + 1 and not any("dns:" in page["url"] for page in pages), "pages", pages)


def dns_records(test, directory, options):
    t.run_parts(test, [(one_each,), (changed,), (without_warc,)], (test, directory, options), at_once=1)


if __name__ == "__main__":
    t.main(dns_records, t.parser(__doc__).parse_args())
