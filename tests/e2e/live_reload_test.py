"""`trawl reload` and SIGHUP, one after the other: what each key changes while the crawl runs."""

import json
import signal
import subprocess

import trawl_testing as t
from scripted_server import ScriptedServer, TOLERANCE, answer, links
from status_client import StatusClient

BODY = 40_000


def site():
    """Pages without an end in three folders, each with the links to the next ones; no robots.txt."""

    def respond(request):
        if request.path == "/":
            return answer(links([f"/{kind}/0" for kind in ("a", "b", "big")]))
        if request.path == "/robots.txt":
            return answer("", "404 Not Found")
        kind, number = request.path.strip("/").split("/")
        # Several, so that some are queued while one is fetched.
        body = links([f"/{kind}/{int(number) + more}" for more in range(1, 6)])
        return answer(body + ("x" * BODY if kind == "big" else ""))

    return ScriptedServer(respond, addresses=("127.0.0.1",))


class Crawl:
    """A crawl whose config is written again and reloaded, by socket and by signal in turns."""

    def __init__(self, test, directory, options, server, **tables):
        self.test, self.options, self.server = test, options, server
        self.state = directory / "state"
        self.tables = t.fast_crawl([server.url("/")], self.state, **{
            "politeness": {"delay": "10ms", "per_host_connections": 1}, "fetch": {"threads": 2},
            "scope": {"exclude": ["*/big/*"]}, "checkpoint": {"interval": "1h"}, **tables})
        self.config = t.write_config(directory / "live.toml", self.tables)
        self.run = t.Run(options, directory, "crawl", self.config)
        self.client = StatusClient(self.state)
        t.wait_until(lambda: self.run.ended() or (self.state / "control.sock").exists(), "a socket")
        self.signals = 0

    def set(self, table, **keys):
        """Sets keys; None removes one."""
        values = self.tables.setdefault(table, {})
        for key, value in keys.items():
            values.pop(key, None) if value is None else values.update({key: value})
        t.write_config(self.config, self.tables)

    def by_socket(self):
        return subprocess.run([self.options.trawl, "reload", str(self.state)], capture_output=True,
                              text=True, timeout=60)

    def by_signal(self):
        """The lines that the crawl logs."""
        before = len(self.run.text)
        self.run.signal(signal.SIGHUP)
        t.wait_until(lambda: self.run.ended() or "reload: " in self.run.text[before:], "a reload")
        # All are written at once, and the next tick follows.
        mark = self.client.get("/api/v1/status")["pages"] + 1
        t.wait_until(lambda: self.run.ended() or self.client.get("/api/v1/status")["pages"] > mark,
                     "a page after the reload")
        return self.run.text[before:]

    def reload(self, *expected):
        """In turns; what was said must contain the texts."""
        self.signals += 1
        if self.signals % 2:
            done = self.by_socket()
            self.test.check(done.returncode == 0, "trawl reload", done)
            text = done.stdout
        else:
            text = self.by_signal()
        for part in expected:
            self.test.check(part in text, f"the reload does not say {part!r}", text)
        return text

    def asked(self, folder):
        return [request for request in self.server.pages if request.path.startswith(folder)]

    def more(self, folder, count=5):
        before = len(self.asked(folder))
        t.wait_until(lambda: self.run.ended() or len(self.asked(folder)) >= before + count,
                     f"{count} more pages of {folder}")
        return self.asked(folder)[before:]

    def row(self):
        host = self.server.url("/").split("/")[2]
        return self.client.get(f"/api/v1/host?host={host}")


def broken(crawl):
    """Both ways say what is wrong and where, and nothing changes."""
    before = crawl.client.text("/api/v1/config")
    good = crawl.config.read_text()
    for text, says in ((good + "\n[nonsense]\nx = 1\n", "nonsense"),
                       (good.replace('delay = "10ms"', 'delay = "soon"'), "politeness.delay"),
                       (good.replace('exclude = ["*/big/*"]', 'exclude = ["re:("]'), "scope.exclude"),
                       (good + "\n[scope\n", "live.toml:")):
        assert text != good, says
        crawl.config.write_text(text)
        done = crawl.by_socket()
        crawl.test.check(done.returncode == 1 and says in done.stderr and "live.toml:" in done.stderr
                         and "goes on with its former config" in done.stderr, f"broken: {says}", done)
        said = crawl.by_signal()
        crawl.test.check("nothing is changed" in said and says in said and "live.toml:" in said,
                         f"broken, by a signal: {says}", said)
        crawl.test.check(crawl.client.text("/api/v1/config") == before, f"{says}: the config changed")
    crawl.config.write_text(good)
    done = crawl.by_socket()
    crawl.test.check("nothing has changed" in done.stdout, "the config as it was", done)


def scope(crawl):
    for _ in range(2):  # by socket and by signal
        crawl.set("scope", exclude=["*/big/*", "*/b/*"])
        crawl.reload("changed: scope.exclude")
        count = len(crawl.asked("/b/"))
        crawl.more("/a/")
        # One may have been on its way.
        crawl.test.check(len(crawl.asked("/b/")) <= count + 1, "pages out of scope were fetched")
        t.wait_until(lambda: crawl.run.ended() or crawl.client.get("/api/v1/status")["held"] > 0,
                     "a URL that is held")
        crawl.set("scope", exclude=["*/big/*"])
        crawl.reload("changed: scope.exclude")
        crawl.more("/b/", 2)


def blocklist(crawl, list_file):
    """Read again although its name in the config is the same."""
    crawl.set("scope", blocklist=[list_file])
    crawl.reload("changed: scope.blocklist")
    crawl.more("/b/", 2)
    for _ in range(2):
        reached = max(int(request.path.split("/")[2]) for request in crawl.asked("/b/"))
        list_file.write_text("".join(crawl.server.url(f"/b/{number}\n")
                                     for number in range(reached, reached + 500)))
        text = crawl.reload()
        crawl.test.check("nothing has changed" in text or "the config is as before" in text,
                         "only the list has changed", text)
        count = len(crawl.asked("/b/"))
        crawl.more("/a/")
        crawl.test.check(len(crawl.asked("/b/")) <= count + 1, "blocked pages were fetched",
                         crawl.asked("/b/")[-1].path)
        list_file.write_text("# nothing\n")
        text = crawl.reload()
        crawl.test.check("nothing has changed" in text or "the config is as before" in text,
                         "only the list has changed", text)
        crawl.more("/b/", 2)
    # A list that cannot be read leaves the old one.
    list_file.unlink()
    done = crawl.by_socket()
    crawl.test.check(done.returncode == 1 and str(list_file) in done.stderr, "a list that is gone", done)
    list_file.write_text("# nothing\n")
    crawl.more("/b/", 2)


def politeness(crawl):
    crawl.set("politeness", host=[{"host": "127.0.0.1", "delay": "1h"}])
    text = crawl.by_socket().stdout
    crawl.test.check("changed: politeness.host" in text, "an entry of a host", text)
    t.wait_until(lambda: crawl.row()["delay_ms"] == 3_600_000, "the delay of the entry")
    crawl.set("politeness", host=None)
    crawl.by_socket()
    t.wait_until(lambda: crawl.row()["delay_ms"] == 10, "the common delay")
    crawl.more("/a/")
    # Limits of single hosts need a restart.
    crawl.set("politeness", host=[{"host": "127.0.0.1", "max_pages": 1, "max_urls": 1}])
    crawl.reload("needs a restart: politeness.host: max_pages and max_urls of hosts")
    crawl.more("/a/")
    crawl.set("politeness", host=None)
    crawl.reload()


def span(requests):
    return requests[-1].there - requests[0].not_yet


def rates(crawl):
    rate = 10
    crawl.set("politeness", max_rate=rate)
    crawl.reload("changed: politeness.max_rate")
    crawl.more("/", 2)  # those that had begun
    took = span(crawl.more("/", 9)[:9])
    crawl.test.check(took >= 8 / rate - 2 * TOLERANCE, f"max_rate: 9 requests in {took:.3f} s")
    crawl.set("politeness", max_rate=None)
    crawl.reload("changed: politeness.max_rate")
    rate = 200_000
    crawl.set("scope", exclude=None)
    crawl.reload("changed: scope.exclude")
    # Links that were excluded when they were found are not kept.
    crawl.client.post("/api/v1/offer", {"urls": [crawl.server.url("/big/0")]})
    crawl.more("/big/", 2)
    crawl.set("fetch", limit_rate=rate)
    crawl.set("scope", exclude=["*/a/*", "*/b/*"])
    crawl.reload("changed: fetch.limit_rate", "changed: scope.exclude")
    crawl.more("/big/", 3)
    count = 12
    took = span(crawl.more("/big/", count)[:count])
    # Each but the last was received whole before the next was asked for; a burst is free.
    least = (count - 3) * BODY / rate
    crawl.test.check(took >= least, f"limit_rate: {took:.2f} s, not {least:.2f} s")
    crawl.set("fetch", limit_rate=None)
    crawl.set("scope", exclude=["*/big/*"])
    crawl.reload("changed: fetch.limit_rate")


def log_levels(crawl):
    before = len(crawl.run.text)
    crawl.set("log", level="error")
    done = crawl.by_socket()
    crawl.test.check("changed: log.level: " in done.stdout, "the level", done)
    quiet = len(crawl.run.text)
    crawl.client.post("/api/v1/pause")
    crawl.client.post("/api/v1/unpause")
    crawl.test.check("paused" not in crawl.run.text[quiet:], "a message below the level",
                     crawl.run.text[before:])
    crawl.set("log", level="debug")
    done = crawl.by_socket()
    crawl.test.check('changed: log.level: "error" -> "debug"' in done.stdout, "the level", done)
    crawl.client.post("/api/v1/pause")
    t.wait_until(lambda: "paused" in crawl.run.text[quiet:], "a message of the new level")
    crawl.client.post("/api/v1/unpause")


def restart(crawl):
    crawl.set("fetch", connections=9)
    crawl.set("frontier", ledger=True)
    text = crawl.reload("needs a restart: fetch.connections: 8 -> 9",
                        "needs a restart: frontier.ledger: false -> true")
    crawl.test.check("changed: fetch.connections" not in text, "it changed", text)
    shown = crawl.client.text("/api/v1/config")
    crawl.test.check("connections = 8" in shown, "the config in effect", shown)


def live_reload(test, directory, options):
    with site() as server:
        crawl = Crawl(test, directory, options, server)
        try:
            crawl.more("/a/")
            broken(crawl)
            scope(crawl)
            list_file = directory / "blocked.txt"
            list_file.write_text("# nothing\n")
            blocklist(crawl, list_file)
            politeness(crawl)
            rates(crawl)
            log_levels(crawl)
            restart(crawl)
            test.check(not crawl.run.ended(), "the crawl ended", crawl.run.tail())
        finally:
            crawl.run.kill()
        # What was reloaded holds for later runs.
        shown = json.loads(subprocess.run([options.trawl, "explain", str(crawl.state), server.url("/big/1"),
                                           "--json"], capture_output=True, text=True).stdout)
        test.check(shown["reason"] == "excluded by rule", "the config of the next run", shown)


if __name__ == "__main__":
    t.main(live_reload, t.parser(__doc__).parse_args())
