"""A finished crawl that fetches its pages again, when they are due: what did not change costs one
304."""

import datetime
import signal
import time

import trawl_testing as t
from scripted_server import ScriptedServer, answer, http_date, links, not_modified
from warc_reader import check_index, check_places, read_warcs

INTERVAL = 4.0
LONG_AGO = http_date(-100_000)


class Site(ScriptedServer):
    """Pages with and without validators; those in `changed` have another body from then on."""

    def __init__(self):
        self.changed = set()
        super().__init__(self._respond)

    def version(self, path):
        return 2 if path in self.changed else 1

    def _respond(self, request):
        path = request.path
        if path not in PAGES:
            return answer("none", "404 Not Found")
        version = self.version(path)
        body = f"<p>{path}, version {version}" + (links(PAGES[1:]) if path == "/" else "")
        validators = []
        if path.startswith("/tagged"):
            validators = [f"ETag: \"{path}-{version}\""]
            same = request.headers.get("if-none-match") == validators[0][6:]
        elif path.startswith("/dated"):
            validators = [f"Last-Modified: {LONG_AGO if version == 1 else http_date(0)}"]
            same = request.headers.get("if-modified-since") == validators[0][15:]
        else:
            same = False
        return not_modified(*validators) if same else answer(body, "200 OK", *validators)


PAGES = ["/", "/tagged", "/tagged-changed", "/dated", "/dated-changed", "/plain", "/plain-changed",
         "/rare", "/never"]
CHANGED = {"/tagged-changed", "/dated-changed", "/plain-changed"}
OFTEN = [path for path in PAGES if path not in ("/rare", "/never")]


def tables(site, state, **recrawl):
    return t.fast_crawl(
        [site.url()], state, output={"warc": True},
        recrawl={"interval": f"{INTERVAL}s", "min_interval": "1s", "max_interval": "1h",
                 "rules": [{"match": "*/rare", "interval": "1h"},
                           {"match": "*/never", "interval": "never"}], **recrawl})


def seconds(page):
    """When it was fetched, as time.time() has it."""
    moment = datetime.datetime.strptime(page["fetched_at"], "%Y-%m-%dT%H:%M:%S.%fZ")
    return moment.replace(tzinfo=datetime.timezone.utc).timestamp()


class Crawls:
    """Runs of one config, and what each requested."""

    def __init__(self, test, directory, options, name, site):
        self.test, self.directory, self.options, self.name = test, directory, options, name
        self.site = site
        self.state = directory / name
        self.config = directory / f"{name}.toml"
        self.asked = self.lines = 0

    def run(self, what, command="crawl"):
        """The requests of the run by path, and its lines of output by path."""
        finished = t.run(self.options, self.directory, command, self.config)
        t.expect_exit(self.test, finished, t.EXIT_DONE, what)
        requests = self.site.pages[self.asked:]
        self.asked = len(self.site.pages)
        pages = t.read_pages(self.test, self.state)
        new, self.lines = pages[self.lines:], len(pages)
        by_path = {request.path: request for request in requests}
        self.test.check(len(by_path) == len(requests), f"{what}: requested twice",
                        [request.path for request in requests])
        return by_path, {path: lines[0] for path, lines in t.by_path(new).items()}

    def wait_until_due(self, lines, paths, after):
        moment = max(seconds(lines[path]) for path in paths) + after + 0.05
        t.wait_until(lambda: time.time() > moment, "pages to be due", 30)


def changes(test, directory, options):
    """Two rounds: unchanged pages cost a 304 and come half as often, changed ones twice."""
    with Site() as site:
        crawls = Crawls(test, directory, options, "changes", site)
        t.write_config(crawls.config, tables(site, crawls.state))
        asked, lines = crawls.run("the first crawl")
        test.check_equal_sets(set(asked), set(PAGES), "the first crawl")
        test.check(not any("if-none-match" in each.headers or "if-modified-since" in each.headers
                           for each in asked.values()), "the first crawl asks for changes")
        if time.time() < min(seconds(line) for line in lines.values()) + INTERVAL - 1:
            asked, _ = crawls.run("a crawl before anything is due")
            test.check(not asked, "requested before it was due", sorted(asked))

        crawls.wait_until_due(lines, OFTEN, INTERVAL)
        site.changed = CHANGED
        asked, lines = crawls.run("the second crawl")
        test.check_equal_sets(set(asked), set(OFTEN), "the second crawl")
        for path, header in (("/tagged", "if-none-match"), ("/tagged-changed", "if-none-match"),
                             ("/dated", "if-modified-since"),
                             ("/dated-changed", "if-modified-since")):
            test.check(path in asked and header in asked[path].headers,
                       f"{path}: requested without {header}")
        test.check_equal_sets({path for path, line in lines.items() if line["status"] == 304},
                              {"/tagged", "/dated"}, "those that cost a 304")
        test.check(all(line["recrawl"] for line in lines.values()), "not reported as a recrawl", lines)

        # Half of the interval later those that changed are due; the others in twice of it.
        crawls.wait_until_due(lines, CHANGED & lines.keys(), INTERVAL / 2)
        last = max(seconds(line) for line in lines.values())
        asked, _ = crawls.run("the third crawl")
        test.check(CHANGED <= asked.keys(), "what changed is not fetched sooner", sorted(asked))
        if time.time() < last + INTERVAL:
            test.check_equal_sets(set(asked), CHANGED, "the third crawl")
    check_records(test, site, crawls)


def check_records(test, site, crawls):
    pages = t.read_pages(test, crawls.state)
    records = read_warcs(test, crawls.state / "output")
    check_places(test, pages, records)
    check_index(test, crawls.state / "output", records)
    by_url = {}
    for record in records:
        if record.type in ("response", "revisit"):
            by_url.setdefault(record.url, []).append(record)
    for path in ("/tagged", "/dated", "/plain"):
        found = by_url.get(site.url(path), [])
        if not test.check([record.type for record in found[:2]] == ["response", "revisit"],
                          f"{path}: records {[record.type for record in found]}"):
            continue
        headers = found[1].headers
        profile = "server-not-modified" if path != "/plain" else "identical-payload-digest"
        test.check(headers.get("warc-profile", "").strip("<>").endswith(profile),
                   f"{path}: not the profile {profile}", headers)
        test.check(headers.get("warc-refers-to-date") == found[0].headers["warc-date"],
                   f"{path}: does not refer to the first capture", headers)
    for path in CHANGED:
        found = by_url.get(site.url(path), [])
        test.check([record.type for record in found[:2]] == ["response", "response"],
                   f"{path}: records {[record.type for record in found]}")


def begun_without(test, directory, options):
    """[recrawl] is added to a crawl begun without it; `resume` obeys it too."""
    with Site() as site:
        crawls = Crawls(test, directory, options, "without", site)
        config = tables(site, crawls.state)
        recrawl = config.pop("recrawl")
        t.write_config(crawls.config, config)
        _, lines = crawls.run("a crawl without [recrawl]")
        refused = t.run(options, directory, "crawl", crawls.config)
        t.expect_exit(test, refused, t.EXIT_FAILURE, "a second crawl without [recrawl]")
        recrawl.update(interval="1s")
        t.write_config(crawls.config, {**config, "recrawl": recrawl})
        crawls.wait_until_due(lines, OFTEN, 1)
        asked, lines = crawls.run("a second crawl with [recrawl]")
        test.check_equal_sets(set(asked), set(OFTEN), "a second crawl with [recrawl]")
        test.check(lines.get("/tagged", {}).get("status") == 304, "/tagged: no 304",
                   lines.get("/tagged"))
        # Again, with `resume`: nothing is planned twice.
        crawls.wait_until_due(lines, OFTEN, 2)
        asked, _ = crawls.run("a third one, resumed", command="resume")
        test.check_equal_sets(set(asked), set(OFTEN), "a third one, resumed")


def waits(test, directory, options):
    """recrawl.wait: continues until it is interrupted."""
    with Site() as site:
        state = directory / "waits"
        config = t.write_config(directory / "waits.toml", tables(
            site, state, wait=True, interval="200ms", min_interval="200ms", max_interval="1h"))
        crawl = t.Run(options, directory, "crawl", config)

        def of(path):
            return sum(request.path == path for request in site.pages)

        t.wait_until(lambda: crawl.ended() or (of("/tagged") >= 4 and of("/plain") >= 4),
                     "pages to be fetched again and again", 30)
        test.check(not crawl.ended(), "ended although it was to wait", crawl.tail())
        crawl.signal(signal.SIGTERM)
        crawl.wait(30)
        t.expect_exit(test, crawl, t.EXIT_INTERRUPTED, "recrawl.wait, interrupted")
        test.check(of("/rare") == 1 and of("/never") == 1, "what is not due was fetched again")


def vanishes(test, directory, options):
    """A page that is gone when it is fetched again is reported, and does not end the crawl."""
    gone = set()
    with ScriptedServer(lambda request: answer("gone", "404 Not Found") if request.path in gone or
                        request.path == "/robots.txt" else
                        answer(links(["/a"]) + request.path)) as site:
        crawls = Crawls(test, directory, options, "vanishes", site)
        t.write_config(crawls.config, tables(site, crawls.state, interval="1s", rules=[]))
        _, lines = crawls.run("the first crawl")
        gone.add("/a")
        crawls.wait_until_due(lines, ["/", "/a"], 1)
        _, lines = crawls.run("the second crawl")
        test.check(lines.get("/a", {}).get("status") == 404, "/a: not reported as gone", lines)
        test.check("/" in lines, "/: not fetched again", lines)


def recrawl(test, directory, options):
    parts = (changes, begun_without, waits, vanishes)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options))


if __name__ == "__main__":
    t.main(recrawl, t.parser(__doc__).parse_args())
