"""fetch.cookies_file and fetch.secret_headers: a session of a browser is used where it belongs, by
all threads and in later runs, and nothing that is secret is in what a crawl writes."""

import os
import stat
import time

import trawl_testing as t
from dns_server import DnsServer
from scripted_server import ScriptedServer, answer, links
from warc_reader import read_warcs

PAGES = 30


class Shop:
    """Pages for those who are logged in; /renew begins another session. The one before counts until
    begin() is called, since requests may be under way with it."""

    def __init__(self):
        self.begin("s3cret-0")
        self.seen = {}
        self.refused = []

    def begin(self, session):
        self.session = session
        self.accepted = {session}

    def __call__(self, request):
        if request.path == "/robots.txt":
            return answer("User-agent: *\nDisallow:\n", content_type="text/plain")
        host = request.host.rsplit(":", 1)[0]
        cookie = request.headers.get("cookie", "")
        self.seen.setdefault(host, []).append(cookie)
        if host == "other.test":
            return answer("x", "200 OK", "Set-Cookie: visit=plain")
        if not any(f"sid={session}" in cookie for session in self.accepted):
            self.refused.append((request.path, cookie))
            return answer("log in", "403 Forbidden")
        headers = ['ETag: "s3cret-tag"', "Last-Modified: Mon, 02 Jan 2006 15:04:05 GMT"]
        if request.path == "/4":
            return answer("", "302 Found", "Location: /3", *headers)
        if request.path == "/renew":
            self.session = "s3cret-1"
            self.accepted.add(self.session)
            headers.append(f"Set-Cookie: sid={self.session}; Domain=shop.test; Path=/")
        return answer("<title>x</title>" + links([f"/{i}" for i in range(PAGES)]), "200 OK", *headers,
                      "X-Api-Key: s3cret-key", "X-Plain: kept")


def all_bytes(directory):
    """Of all files but the cookies' own, and the config, which has a secret."""
    for path in directory.rglob("*"):
        if path.is_file() and path.name not in ("cookies.txt", "crawl.toml", "last-run.toml"):
            yield path, path.read_bytes()


def session(test, directory, options):
    shop = Shop()
    with DnsServer({name: ["127.0.0.1"] for name in ("www.shop.test", "img.shop.test", "other.test")}) as dns, \
            ScriptedServer(shop) as server:
        cookies = directory / "cookies.txt"
        cookies.write_text("# Netscape HTTP Cookie File\n"
                           ".shop.test\tTRUE\t/\tFALSE\t2000000000\tsid\ts3cret-0\n"
                           "www.shop.test\tFALSE\t/\tFALSE\t0\town\ts3cret-own\n"
                           "shop.test\tTRUE\t/\tFALSE\t1000000000\tgone\tx\n")
        state = directory / "shop"
        tables = t.fast_crawl(
            [server.url("/0", "www.shop.test"), server.url("/", "img.shop.test"),
             server.url("/", "other.test")], state,
            fetch={"dns_servers": [dns.address], "cookies_file": "cookies.txt", "threads": 4,
                   "secret_headers": ["X-API-key", "ETag", "last-modified", "Location"],
                   "host": [{"host": "www.shop.test", "headers": ["X-Api-Key: s3cret-key"]}]},
            politeness={"delay": "10ms"},  # so that hosts take turns
            scope={"type": "host", "max_pages": 12}, log={"level": "trace"}, output={"warc": True})
        config = t.write_config(directory / "shop.toml", tables)
        finished = t.run(options, directory, "crawl", config)
        t.expect_exit(test, finished, t.EXIT_DONE, "the crawl")
        test.check("cookies.txt: 2 cookies of 1 sites; 1 have expired" in finished.text, "what was read",
                   finished.tail())
        test.check(not shop.refused, "not logged in", shop.refused)
        test.check(all("own=s3cret-own" in each for each in shop.seen["www.shop.test"]), "own",
                   shop.seen)
        test.check(not any("own=" in each for each in shop.seen["img.shop.test"]), "own of another host",
                   shop.seen)
        test.check(shop.seen["other.test"] == [""], "cookies of another site", shop.seen)
        # The session changes; a later run has what the server set last, also for its other hosts.
        t.run(options, directory, "resume", config, "--set", "scope.max_pages=14",
              "--set", f'crawl.seeds=["{server.url("/renew", "www.shop.test")}"]')
        test.check(shop.session == "s3cret-1", "/renew was not fetched", shop.seen)
        shop.begin(shop.session)
        stored = state / "cookies.txt"
        test.check(stat.S_IMODE(stored.stat().st_mode) == 0o600, "others can read the cookies")
        test.check("s3cret-1" in stored.read_text() and "visit\tplain" in stored.read_text(), "stored",
                   stored.read_text())
        tables["scope"]["max_pages"] = 40
        t.write_config(config, tables)
        finished = t.run(options, directory, "resume", config)
        t.expect_exit(test, finished, t.EXIT_DONE, "resumed")
        test.check(not shop.refused, "not logged in after resume", shop.refused)
        # A newer file is a newer session.
        shop.begin("s3cret-2")
        cookies.write_text(cookies.read_text().replace("s3cret-0", "s3cret-2"))
        later = time.time() + 10
        os.utime(cookies, (later, later))
        t.run(options, directory, "resume", config, "--set",
              f'crawl.seeds=["{server.url("/again", "img.shop.test")}"]', "--set", "scope.max_pages=60")
        test.check(not shop.refused, "not logged in by the newer file", shop.refused)
        test.check(len(shop.seen["img.shop.test"]) > 1, "/again was not fetched")
        # The file is gone: the crawl has its cookies, and commands need none.
        cookies.unlink()
        finished = t.run(options, directory, "resume", config, "--set",
                         f'crawl.seeds=["{server.url("/gone", "img.shop.test")}"]', "--set",
                         "scope.max_pages=70")
        test.check("is gone; the cookies of earlier runs" in finished.text and not shop.refused,
                   "without the file", (finished.tail(), shop.refused))
        t.expect_exit(test, t.run(options, directory, "report", state), t.EXIT_DONE, "report")
        lines = t.read_pages(test, state)
        test.check({line["status"] for line in lines} == {200, 302}, "statuses", lines)
        test.check(not any(line[name] for line in lines for name in ("etag", "last_modified", "redirect")),
                   "secret headers in pages.jsonl", lines)
        test.check(all(line["content_type"] for line in lines), "other headers", lines)
        for path, data in all_bytes(state):
            test.check(b"s3cret" not in data, f"a secret in {path.name}")
        test.check("s3cret" not in finished.text, "a secret in the log", finished.tail())
        records = read_warcs(test, state / "output")
        heads = {(record.url, record.type): record.body for record in records}
        site = [body for (url, kind), body in heads.items()
                if "shop.test" in url and "robots" not in url and kind in ("request", "response")]
        test.check(site and not any(b"ookie:" in body or b"s3cret" in body or b"pi-Key" in body
                                    for body in site), "secrets in records", site[:2])
        test.check(any(b"X-Plain: kept" in body for body in site), "other fields are kept", site[:2])
        other = heads[(server.url("/", "other.test"), "response")]
        test.check(b"Set-Cookie: visit=plain" in other, "a cookie that is not secret", other)
        # Started over, nothing is left of it.
        t.run(options, directory, "crawl", config, "--fresh", "--set", "fetch.cookies=false",
              "--set", 'fetch.cookies_file=""', "--set", "scope.max_pages=1")
        test.check(not stored.exists(), "--fresh keeps cookies")


def wrong_files(test, directory, options):
    config = t.write_config(directory / "wrong.toml", t.fast_crawl(
        ["http://127.0.0.1:1/"], directory / "wrong", fetch={"cookies_file": "bad.txt"}))
    bad = directory / "bad.txt"
    good = "a.example\tFALSE\t/\tFALSE\t0\tn\tv\n"
    many = "".join(f"h{i}.example\tFALSE\t/\tFALSE\t0\tn\tv\n" for i in range(1_000_000))
    for contents, patterns in (
            (None, ["bad.txt: fetch.cookies_file: ", "No such file"]),
            (good + "a.example\tFALSE\t/\tFALSE\t0\tn\ts3cret\0\n", ["bad.txt:2:35: ", "NUL byte"]),
            ("a.example s3cret\n" * 4_200_000, ["has 68 MiB, more than the limit of 64 MiB; keep the cookies of"]),
            ("a.example s3cret\n" * 100_000, ["bad.txt:1:1: ", "bad.txt:100:1: ", "and 99900 more errors"]),
            (many + "x\n", ["bad.txt:1000001:1: ", "has 1 of the 7 fields"]),
            (good + '[{"name":"s3cret"}]\n', ["bad.txt:2:1: ", "has 1 of the 7 fields"])):
        if contents is not None:
            bad.write_text(contents)
        checked = t.run(options, directory, "check-config", config)
        t.expect_exit(test, checked, t.EXIT_BAD_CONFIG, f"check-config {patterns}")
        test.check(all(pattern in checked.text for pattern in patterns), f"{patterns} not said",
                   checked.tail())
        begun = t.run(options, directory, "crawl", config)
        t.expect_exit(test, begun, t.EXIT_FAILURE, f"crawl {patterns}")
        test.check(patterns[0] in begun.text, f"crawl: {patterns[0]} not said", begun.tail())
        for said in (checked.text, begun.text):
            test.check("s3cret" not in said and len(said) < 40_000, "quoted", said[-1000:])
        test.check(not (directory / "wrong").exists(), "something was begun")
    bad.write_text(many)
    with ScriptedServer({"/": answer("x")}) as server:
        config = t.write_config(directory / "many.toml", t.fast_crawl(
            [server.url()], directory / "many", fetch={"cookies_file": "bad.txt"}))
        checked = t.run(options, directory, "check-config", config)
        finished = t.run(options, directory, "crawl", config)
    test.check("cookies and host limits may take" in checked.text, "a million cookies: memory", checked.text)
    t.expect_exit(test, finished, t.EXIT_DONE, "a million cookies")
    test.check("1000000 cookies of 1000000 sites" in finished.text, "a million cookies", finished.tail())
    print(f"a million cookies: {finished.peak_memory >> 20} MiB")


def cookies(test, directory, options):
    wrong_files(test, directory, options)
    session(test, directory, options)


if __name__ == "__main__":
    t.main(cookies, t.parser(__doc__).parse_args())
