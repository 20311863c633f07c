"""What the API says and does that other tests do not: URLs, offers by every way, secrets, hosts that
are blocked, counters of hosts, the disk; `status --watch` on a dumb terminal; ports in use."""

import json
import os
import pty
import select
import subprocess
import urllib.parse

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links
from status_client import StatusClient
from status_server_test import EndlessSite, StatusCrawl


def url_path(url, **more):
    return "/api/v1/url?" + urllib.parse.urlencode({"url": url, **more})


def respond(request):
    if request.path == "/":
        return answer(links(["/ok", "/missing", "/deep", "/moved"]))
    if request.path == "/deep":
        return answer(links(["/deep/2"]))
    if request.path == "/missing":
        return answer("no", "404 Not Found")
    if request.path == "/moved":
        return answer("", "302 Found", "Location: /ok")
    return answer(request.path)


def urls(test, directory, options):
    """GET /api/v1/url, of a crawl that is paused once all is fetched, with a ledger and without."""
    for ledger in (True, False):
        with ScriptedServer(respond) as server:
            blocked = directory / f"blocked-{ledger}.txt"
            blocked.write_text(server.url("/evil\n"))
            where = directory / f"urls-{ledger}"
            config = t.write_config(directory / f"urls-{ledger}.toml", t.fast_crawl(
                [server.url()], where, frontier={"ledger": ledger},
                scope={"max_depth": 1, "blocklist": [blocked]},
                politeness={"respect_robots": False, "delay": "10ms"}, fetch={"threads": 1},
                recrawl={"interval": "1h", "wait": True}, checkpoint={"interval": "1h"}))
            crawl = t.Run(options, directory, "crawl", config)
            client = StatusClient(where)
            t.wait_until(lambda: crawl.ended() or (where / "control.sock").exists(), "the socket")
            client.post("/api/v1/pause")  # so that it does not end
            client.post("/api/v1/offer", {"urls": [server.url("/later")]})
            client.post("/api/v1/unpause")
            t.wait_until(lambda: crawl.ended() or len(server.pages) >= 6, "all pages")
            client.post("/api/v1/pause")
            waiting = server.url("/waiting")
            client.post("/api/v1/offer", {"urls": [waiting]})
            t.wait_until(lambda: client.get("/api/v1/status")["in_flight"] == 0, "all answers")
            yield ledger, server, client
            crawl.kill()


def check_urls(test, directory, options):
    for ledger, server, client in urls(test, directory, options):
        def ask(path, client=client, server=server, **more):
            return client.get(url_path(server.url(path), **more))

        what = f"ledger {ledger}"
        t.wait_until(lambda: ask("/ok")["state"].get("waits") in (None, "deferred"), "the end of /ok")
        it = ask("/missing")
        test.check(it["verdict"].startswith("would not be fetched again: it failed: status 404, at")
                   and it["state"]["found"] == "running", f"{what}: failed", it)
        it = ask("/deep/2")
        test.check(it["verdict"].startswith("would not be fetched: too deep") and
                   it["reason"] == "too deep" and it["depth"] == 2, f"{what}: held, with its depth", it)
        it = ask("/evil")
        test.check(it["verdict"].startswith("would not be fetched: blocked"), f"{what}: blocked", it)
        it = ask("/waiting")
        test.check(it["would_be_fetched"] and "it is paused" in it["verdict"] and
                   it["state"]["waits"] == "queued", f"{what}: queued", it)
        it = ask("/never", depth=1)
        test.check(it["would_be_fetched"] and it["state"]["knows"] == "not seen" and
                   it["depth"] == 1, f"{what}: not seen", it)
        it = ask("/never", depth=9)
        test.check(not it["would_be_fetched"] and it["reason"] == "too deep", f"{what}: at a depth", it)
        it = client.get(url_path("mailto:me"))
        test.check(not it["would_be_fetched"], f"{what}: not a URL", it)
        for wrong in ("/api/v1/url", "/api/v1/url?url=", url_path("http://a/", depth="x"),
                      url_path("http://a/", hops="-1")):
            status, body = client.ask("GET", wrong)
            test.check(status == 400 and json.loads(body)["error"], f"{wrong}: {status}", body)


def offers(test, directory, options):
    """By TCP as JSON and lines, and by the socket; and the same URL once."""
    with EndlessSite() as site:
        crawl = StatusCrawl(options, directory, site, "offers", politeness={"delay": "1h"})
        client = StatusClient(crawl.state)
        try:
            def tcp(body, **headers):
                status, _, text = crawl.post("/api/v1/offer", body, **headers)
                return status, json.loads(text)

            one = site.url("500000")
            status, it = tcp(json.dumps({"urls": [one, "http://outside.example/", "nonsense:"]}))
            test.check(status == 200 and it == {"offered": 3, "new": 1, "seen": 0, "invalid": 1,
                                                "skipped": {"out of scope": 1}}, "TCP, JSON", it)
            status, it = tcp(f"{one}\n{site.url('500001')}\n", **{"Content-Type": "text/plain"})
            test.check(status == 200 and (it["new"], it["seen"]) == (1, 1), "TCP, lines", it)
            status, text = client.post("/api/v1/offer", {"urls": [one, {"url": site.url("500002"),
                                                                        "priority": 9, "depth": 3}]})
            it = json.loads(text)
            test.check(status == 200 and (it["new"], it["seen"]) == (1, 1), "the socket", it)
            done = crawl.command("offer", one, site.url("500003"))
            test.check(done.returncode == 0 and "1 new, 1 seen before" in done.stdout, "trawl offer", done)
            for number in range(500000, 500004):
                it = client.get(url_path(site.url(str(number))))
                test.check(it["state"].get("waits") == "queued", f"{number}", it)
        finally:
            crawl.run.kill()


SECRETS = ("s3cret-header", "s3cret-user", "s3cret-password", "s3cret-proxy", "s3cret-token",
           "s3cret-seed", "s3cret-cookie")


def secrets(test, directory, options):
    """Nothing that is a password leaves by the API, the page, metrics, or messages of a reload."""
    with EndlessSite() as site:
        seed = site.url().replace("http://", "http://me:s3cret-seed@")
        crawl = StatusCrawl(
            options, directory, site, "secrets", crawl={"seeds": [seed]},
            politeness={"delay": "1h"},
            fetch={"headers": ["X-Key: s3cret-header"],
                   "host": [{"host": "a.test", "basic_auth": "s3cret-user:s3cret-password"},
                            {"host": "b.test", "bearer_token": "s3cret-token",
                             "headers": ["Cookie: s3cret-cookie"]},
                            {"host": "c.test", "proxy": "http://u:s3cret-proxy@127.0.0.1:1"}]})
        try:
            config = crawl.ask("GET", "/api/v1/config")[2].decode()
            test.check("(hidden)" in config and "X-Key" in config and "127.0.0.1:1" in config,
                       "the config", config)
            for path in ("/api/v1/config", "/api/v1/status", "/api/v1/hosts", "/api/v1/errors", "/",
                         "/metrics", url_path(seed)):
                text = crawl.ask("GET", path)[2].decode()
                for secret in SECRETS:
                    if path.startswith("/api/v1/url"):
                        continue  # it was asked about with it
                    test.check(secret not in text, f"{path} shows {secret}", text[:2000])
            old = crawl.config.read_text()
            crawl.config.write_text(old.replace("s3cret-header", "s3cret-header2").replace(
                "s3cret-seed", "s3cret-seed2").replace("s3cret-proxy", "s3cret-proxy2"))
            done = crawl.command("reload")
            test.check(done.returncode == 0 and "crawl.seeds" in done.stdout, "reload", done)
            for secret in SECRETS:
                test.check(secret not in done.stdout + done.stderr + crawl.run.text,
                           f"a reload shows {secret}", done.stdout)
        finally:
            crawl.run.kill()


def blocked_hosts(test, directory, options):
    with EndlessSite() as site:
        crawl = StatusCrawl(options, directory, site, "hosts", politeness={"delay": "20ms"})
        host = urllib.parse.urlsplit(site.url()).netloc
        try:
            def act(action, **more):
                status, _, text = crawl.post("/api/v1/host", json.dumps(
                    {"host": host, "action": action, **more}))
                test.check(status == 200, f"{action}: {status}", text)
                return json.loads(text)

            for more in ({"until": "1h"}, {}):
                now = act("block", **more)["now"]
                test.check(now["state"] == "blocked" and now["reason"].startswith("blocked by a call") and
                           ("until" not in more or now["blocked_until"]), f"block {more}", now)
                rows = crawl.get("/api/v1/hosts")["hosts"]
                test.check(rows[0]["state"] == "blocked", "among the hosts", rows)
                it = crawl.get(url_path(site.url("0")))
                test.check(it["verdict"].startswith("would not be fetched again") or
                           "is blocked" in it["verdict"], "explained", it["verdict"])
                now = act("unblock")["now"]
                test.check(now["state"] in ("active", "waiting") and now["reason"] is None, "unblock", now)
                pages = crawl.get("/api/v1/status")["pages"]
                t.wait_until(lambda: crawl.get("/api/v1/status")["pages"] > pages + 1, "pages again")
            # Exact counts: one host with a delay of an hour, by its schedule.
            act("delay", delay="1h")
            # While its last page is worked on, the host has no URL, and neither is active nor waits.
            t.wait_until(lambda: crawl.get("/api/v1/status")["hosts"]["waiting"] == 1, "no request")
            status = crawl.get("/api/v1/status")
            row = crawl.get(f"/api/v1/host?host={host}")
            test.check(status["hosts"]["waiting"] == 1 and row["state"] == "waiting", "waiting", status)
            test.check(status["next_start"][:16] == row["next_start"][:16], "the next start",
                       (status["next_start"], row["next_start"]))
            act("block")
            status = crawl.get("/api/v1/status")
            test.check(status["next_start"] is None and status["hosts"]["waiting"] == 0 and
                       status["hosts"]["blocked"] == 1, "blocked", status)
            disk = status["disk"]
            test.check(disk["free"] > 0 and disk["state"] > 0, "the disk", disk)
            size = sum(file.stat().st_size for place in (crawl.state, crawl.state / "store")
                       for file in place.iterdir() if file.is_file())
            test.check(disk["state"] <= 2 * size + (1 << 20), "the size of the state", (disk, size))
        finally:
            crawl.run.kill()


def dumb_terminal(test, directory, options):
    """No escapes on a terminal that does not know them."""
    with EndlessSite() as site:
        crawl = StatusCrawl(options, directory, site, "dumb")
        try:
            master, terminal = pty.openpty()
            process = subprocess.Popen([options.trawl, "status", str(crawl.state), "--watch", "--interval",
                                        "0.1"], stdin=terminal, stdout=terminal, stderr=terminal,
                                       env={**os.environ, "TERM": "dumb"})
            text = b""
            while text.count(b"running for") < 3 and process.poll() is None:
                if select.select([master], [], [], 0.1)[0]:
                    text += os.read(master, 65536)
            process.terminate()
            process.wait()
            os.close(master)
            os.close(terminal)
            test.check(text.count(b"running for") >= 3 and b"\x1b" not in text, "a dumb terminal",
                       repr(text[:500]))
        finally:
            crawl.run.kill()


def fresh_with_a_port_in_use(test, directory, options):
    """The old crawl is deleted only once the new one can start."""
    with EndlessSite() as site:
        first = StatusCrawl(options, directory, site, "old", scope={"max_pages": 3})
        first.run.wait()
        holder = StatusCrawl(options, directory, site, "holder")
        try:
            before = sorted(str(file) for file in first.state.rglob("*"))
            pages = (first.state / "output/pages.jsonl").read_bytes()
            again = t.run(options, directory, "crawl", first.config, "--fresh", "--set",
                          f"status.listen=127.0.0.1:{holder.port}")
            test.check(again.exit_code == 1 and "the port is in use" in again.text, "--fresh", again.tail())
            test.check(sorted(str(file) for file in first.state.rglob("*")) == before and
                       (first.state / "output/pages.jsonl").read_bytes() == pages,
                       "the old crawl is changed")
        finally:
            holder.run.kill()


def flags_of_earlier_lines(test, directory, options):
    """`crawl URL --or-resume` goes on with the flags that the crawl began with, and those of now."""
    with EndlessSite() as site:
        flags = ["--allow-private", "--delay", "10ms"]
        begun = t.run(options, directory, "crawl", site.url(), "-o", "site", "--max-pages", "3",
                      "--set", "scope.max_depth=7", *flags)
        t.expect_exit(test, begun, t.EXIT_DONE, "the first line")
        on = t.run(options, directory, "crawl", site.url(), "-o", "site", "--or-resume", "--max-pages",
                   "100")
        t.expect_exit(test, on, t.EXIT_DONE, "the second line")
        pages = t.read_pages(test, directory / "site")
        test.check(sorted(page["depth"] for page in pages) == list(range(8)),
                   "scope.max_depth of the first line, and --max-pages of the second", len(pages))
        resumed = t.run(options, directory, "resume", "site")
        test.check("refused" not in resumed.text, "a later resume", resumed.tail())


def demo(test, directory, options):
    done = t.run(options, directory, "demo", "--pages", "20")
    t.expect_exit(test, done, t.EXIT_DONE, "demo")
    test.check(done.text.count("status page: http://127.0.0.1:") == 1, "the page's address", done.text)


def status_api(test, directory, options):
    parts = (check_urls, offers, secrets, blocked_hosts, dumb_terminal, fresh_with_a_port_in_use,
             flags_of_earlier_lines, demo)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=4)


if __name__ == "__main__":
    t.main(status_api, t.parser(__doc__).parse_args())
