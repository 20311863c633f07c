"""`trawl explain`: what it says of a URL is what a crawl does with it."""

import collections
import json
import subprocess

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links


def explain(options, config, url, *arguments):
    done = subprocess.run([options.trawl, "explain", str(config), url, "--json",
                           *map(str, arguments)], capture_output=True, text=True, timeout=60)
    return done.returncode, (json.loads(done.stdout) if done.stdout else {}), done.stderr


def verdicts(test, directory, options):
    hosts = directory / "hosts.txt"
    hosts.write_text("0.0.0.0 evil.example\n")
    config = t.write_config(directory / "verdicts.toml", {
        "crawl": {"seeds": ["http://www.example.com/docs/"], "state_dir": directory / "none",
                  "order": "priority",
                  "priorities": [{"match": "*/news/*", "priority": 50}]},
        "scope": {"type": "host", "max_depth": 5, "extra_hops": 1, "max_url_length": 100,
                  "rules": [{"exclude": "*/private/*", "name": "no private pages"}],
                  "exclude": ["*.pdf"], "include": ["re:^http://other\\.example/"],
                  "blocklist": [hosts]}})
    expected = {
        ("http://www.example.com/docs/",): (0, None, "scope.type", "scope.type"),
        ("http://www.example.com/%61",): (0, None, "scope.type", "scope.type"),
        ("http://www.example.com/private/x",):
            (1, "excluded by rule", "scope.rules", "no private pages"),
        ("http://www.example.com/x.pdf",): (1, "excluded by rule", "scope.exclude", "*.pdf"),
        ("http://other.example/x",): (0, None, "scope.include", "re:^http://other\\.example/"),
        ("http://far.example/x",): (0, None, "scope.extra_hops", "scope.extra_hops"),
        ("http://far.example/x", "--hops", 1): (1, "out of scope", "scope.type", "scope.type"),
        ("http://x.evil.example/",): (1, "blocked", "scope.blocklist", str(hosts)),
        ("http://www.example.com/x", "--depth", 6):
            (1, "too deep", "scope.max_depth", "scope.max_depth"),
        ("http://www.example.com/" + "x" * 100,):
            (1, "URL too long", "scope.max_url_length", "scope.max_url_length"),
        ("mailto:someone@example.com",): (1, "other scheme", "", ""),
        ("http://[broken/",): (1, "invalid URL", "", ""),
    }
    for arguments, (code, reason, key, rule) in expected.items():
        got_code, it, _ = explain(options, config, *arguments)
        got = (got_code, it.get("reason"), it.get("config_key"), it.get("rule"))
        test.check(got == (code, reason, key, rule), f"{arguments}: {got}",
                   f"expected {(code, reason, key, rule)}")
    _, it, _ = explain(options, config, "http://www.example.com/docs/")
    test.check(it["seed"] and it["depth"] == 0, "the seed is not known as one", it)
    _, it, _ = explain(options, config, "http://www.example.com/news/2024/12?b=1&a=2#top")
    test.check(it["key"] == "http://www.example.com/news/2024/12?b=1&a=2", "key", it)
    test.check(it["pattern"] == "www.example.com/news/0/0?a&b", "pattern", it)
    test.check(it["priority"] == 50 and it["depth"] == 1 and not it["seed"], "priority", it)
    test.check(it["state"]["found"] == "no crawl", "there is no crawl", it)
    test.check(not (directory / "none").exists(), "explaining made a state directory")


def text(test, directory, options):
    done = t.run(options, directory, "explain", directory / "verdicts.toml",
                 "http://www.example.com/private/x")
    t.expect_exit(test, done, t.EXIT_FAILURE, "explain in text")
    for part in ("www.example.com", "excluded by rule", "no private pages"):
        test.check(part in done.text, f"the text does not say {part!r}", done.text)


def wrong_usage(test, directory, options):
    config = directory / "verdicts.toml"
    for arguments, code in ((["explain"], t.EXIT_USAGE), (["explain", config], t.EXIT_USAGE),
                            (["explain", config, "http://x/", "--depth", "-1"], t.EXIT_USAGE),
                            (["explain", config, "http://x/", "--robots", "missing.txt"],
                             t.EXIT_USAGE),
                            (["explain", directory / "missing.toml", "http://x/"],
                             t.EXIT_BAD_CONFIG)):
        t.expect_exit(test, t.run(options, directory, *arguments), code, str(arguments))
    bad = t.write_config(directory / "bad.toml", {
        "crawl": {"seeds": ["http://h.example/"], "state_dir": directory / "none"},
        "scope": {"exclude": ["re:("]}})
    ended = t.run(options, directory, "explain", bad, "http://h.example/")
    t.expect_exit(test, ended, t.EXIT_BAD_CONFIG, "a bad pattern")
    test.check("scope.exclude" in ended.text, "the key is not named", ended.text)


def robots(test, directory, options):
    config = directory / "verdicts.toml"
    file = directory / "robots.txt"
    file.write_text("User-agent: *\nDisallow: /docs/\n")
    code, it, _ = explain(options, config, "http://www.example.com/docs/", "--robots", file)
    test.check(code == 1 and it["in_scope"] and not it["followed"], "robots.txt of a file", it)
    test.check(it["robots"]["line"] == 2, "the line of robots.txt", it)
    code, it, _ = explain(options, config, "http://www.example.com/x", "--robots", file)
    test.check(code == 0 and it["robots"]["allowed"], "a URL robots.txt says nothing of", it)
    with ScriptedServer({"/robots.txt": answer("User-agent: *\nDisallow: /no\n",
                                               content_type="text/plain")}) as server:
        here = t.write_config(directory / "robots.toml",
                              t.fast_crawl([server.url()], directory / "none"))
        code, it, problem = explain(options, here, server.url("/no/x"), "--fetch-robots")
        test.check(code == 1 and it.get("robots", {}).get("source") == server.url("/robots.txt"),
                   "robots.txt of a server", f"{it} {problem}")
        test.check([request.path for request in server.requests] == ["/robots.txt"],
                   "more than robots.txt was fetched")


def state(test, directory, options):
    def respond(request):
        if request.path == "/":
            return answer(links(["/a", "/b"]))
        return answer(request.path)

    with ScriptedServer(respond) as server:
        config = t.write_config(directory / "state.toml", t.fast_crawl(
            [server.url()], directory / "state", scope={"max_pages": 2},
            frontier={"ledger": True}, politeness={"respect_robots": False}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        for _ in range(2):  # asking changes nothing
            _, it, problem = explain(options, config, server.url("/"))
            known = it.get("state", {})
            test.check(known.get("found") == "read" and known.get("seen") is True and
                       known.get("fetches") == 1 and known.get("status") == 200,
                       "a page that was fetched", f"{it} {problem}")
            test.check(known.get("host", {}).get("queued") == 1, "the host's queue", it)
        _, it, _ = explain(options, config, server.url("/never"))
        test.check(it["state"]["seen"] is False, "a URL that nobody saw", it)
        resumed = t.run(options, directory, "resume", config, "--set", "scope.max_pages=100")
        t.expect_exit(test, resumed, t.EXIT_DONE, "resumed")
        test.check(sorted(server.paths()) == ["/", "/a", "/b"], "pages", server.paths())


def verdict_of(options, target, url, *arguments):
    """The first line of the text."""
    done = subprocess.run([options.trawl, "explain", str(target), url, *map(str, arguments)],
                          capture_output=True, text=True, timeout=60)
    return done.stdout.split("\n")[0]


def running(test, directory, options):
    """A running crawl gives the answer: what it fetched, what waits, what it would do."""
    def respond(request):
        if request.path == "/":
            return answer(links(["/a", "/b", "/broken", "/x.pdf"]))
        if request.path == "/broken":
            return answer("no", "404 Not Found")
        return answer(request.path)

    with ScriptedServer(respond) as server:
        state_dir = directory / "running"
        config = t.write_config(directory / "running.toml", t.fast_crawl(
            [server.url()], state_dir, politeness={"delay": "1h", "respect_robots": False},
            scope={"exclude": ["*.pdf"]}, frontier={"ledger": True}))
        crawl = t.Run(options, directory, "crawl", config)
        # The page is done when its links are queued.
        t.wait_until(lambda: explain(options, config, server.url("/a"))[1].get("state", {}).get(
            "waits") == "queued" or crawl.ended(), "the first page")
        for target in (config, state_dir):
            code, it, problem = explain(options, target, server.url("/"))
            test.check(code == 0 and it.get("state", {}).get("found") == "running" and
                       it["state"].get("status") == 200 and it["state"]["knows"] == "fetched" and
                       it["verdict"].startswith("would not be fetched again: it was fetched at "),
                       "the page that a running crawl has fetched", f"{it} {problem}")
            code, it, _ = explain(options, target, server.url("/a"))
            test.check(code == 0 and it["would_be_fetched"] and
                       it["verdict"].startswith("would be fetched: after the host's delay of 1h, at ") and
                       it["state"]["host"]["delay_ms"] == 3600000,
                       "a URL that waits for its host", it)
            code, it, _ = explain(options, target, server.url("/new.pdf"))
            test.check(code == 1 and it["verdict"] ==
                       "would not be fetched: excluded by rule, scope.exclude: *.pdf",
                       "a URL that a rule excludes", it)
            _, it, _ = explain(options, target, server.url("/never"), "--depth", 7)
            test.check(it["depth"] == 7 and it["state"]["knows"] == "not seen" and
                       "once a page links to it" in it["verdict"], "a URL that nobody saw", it)
        code, it, _ = explain(options, config, server.url("/"), "--set", "scope.max_depth=3")
        test.check(code == 0 and it["state"]["found"] == "in use" and it["state"]["note"],
                   "a crawl that runs, and other rules", it)
        test.check(not crawl.ended(), "the crawl ended", crawl.tail())
        crawl.kill()
        _, it, _ = explain(options, state_dir, server.url("/a"))
        test.check(it["state"]["found"] == "read" and it["state"]["waits"] == "queued" and
                   it["verdict"].startswith("would be fetched: when the crawl is resumed, "),
                   "the same after the crawl was killed", it)


def knowledge(test, directory, options):
    """What a stopped crawl knows: fetched, failed, held, parked, only seen; by its directory alone."""
    def respond(request):
        if request.path == "/":
            return answer(links(["/ok", "/missing", "/deep", "http://127.0.0.1:1/gone"]))
        if request.path == "/deep":
            return answer(links(["/deep/2"]))
        if request.path == "/missing":
            return answer("no", "404 Not Found")
        return answer(request.path)

    for ledger in (True, False):
        with ScriptedServer(respond) as server:
            where = directory / f"knowledge-{ledger}"
            config = t.write_config(directory / "knowledge.toml", t.fast_crawl(
                [server.url()], where, frontier={"ledger": ledger},
                scope={"type": "any", "max_depth": 1}, politeness={"respect_robots": False},
                fetch={"retries": 0}))
            t.run(options, directory, "crawl", config)
            expected = {
                "/ok": "would not be fetched again: it was fetched at " if ledger else
                       "would not be fetched again: it was seen before; how",
                "/missing": "would not be fetched again: it failed: status 404, at ",
                "/deep/2": "would not be fetched: too deep, scope.max_depth",
                "/never": "would be fetched: when the crawl is resumed, once a page links to it",
            }
            for path, start in expected.items():
                line = verdict_of(options, where, server.url(path))
                test.check(line.startswith(start), f"ledger {ledger}, {path}: {line}", start)
            line = verdict_of(options, where, server.url("/deep/2"), "--set", "scope.max_depth=5")
            test.check("would be fetched: when the crawl is resumed; the last run held it for the "
                       "reason too deep" in line, f"a held URL that the rules now allow: {line}")
            gone = verdict_of(options, where, "http://127.0.0.1:1/gone")
            test.check(gone.startswith("would not be fetched again: it failed: ") or
                       "is parked" in gone, f"a host that does not answer: {gone}")
            # Lines of standard input, an object for each.
            done = subprocess.run([options.trawl, "explain", str(where), "-", "--json"],
                                  input="".join(server.url(path) + "\n" for path in expected),
                                  capture_output=True, text=True, timeout=60)
            urls = [json.loads(line)["url"] for line in done.stdout.splitlines()]
            test.check(urls == [server.url(path) for path in expected] and done.returncode == 1,
                       "URLs of standard input", done.stdout + done.stderr)
    done = subprocess.run([options.trawl, "explain", "-", "-"], input="", capture_output=True,
                          text=True, timeout=60)
    test.check(done.returncode == t.EXIT_USAGE, "standard input twice", done.stderr)


def unreadable_patterns(test, directory, options):
    """A file of parked patterns that cannot be read is not an empty one."""
    with ScriptedServer({"/": answer("x")}) as server:
        where = directory / "patterns"
        config = t.write_config(directory / "patterns.toml", t.fast_crawl(
            [server.url()], where, politeness={"respect_robots": False}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        (where / "parked-patterns").write_text("not such a file\n")
        code, it, _ = explain(options, where, server.url("/other"))
        test.check(code == 1 and it["verdict"].startswith("unknown whether it would be fetched: ") and
                   "parked-patterns" in it["pattern_note"], "an unreadable list of patterns", it)


def skipped_lines(state):
    return [json.loads(line) for line in (state / "output/skipped.jsonl").read_text().splitlines()]


def explain_all(test, options, config, urls, *arguments):
    """What explain says of many URLs, which it reads from standard input."""
    urls = sorted(set(urls))
    done = subprocess.run([options.trawl, "explain", str(config), "-", "--json",
                           *map(str, arguments)], input="".join(url + "\n" for url in urls),
                          capture_output=True, text=True, timeout=100)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    test.check(len(answers) == len(urls), f"{len(answers)} answers of {len(urls)}", done.stderr)
    return dict(zip(urls, answers))


def every_line(test, directory, options):
    """Each line that a crawl wrote is what explain says of its URL when the crawl has stopped."""
    limits = {"type": "any", "exclude": ["*/dir/7/*"], "max_depth": 3, "max_url_length": 120,
              "slow_pattern_after": 1, "park_pattern_after": 2}
    with t.SampleSite(options, directory, 80) as site:
        for name, more in (("traps", {}), ("crowded", {"max_urls_per_host": 40})):
            where = directory / f"every-line-{name}"
            config = t.write_config(directory / f"every-line-{name}.toml", t.fast_crawl(
                site.seeds[:1], where, scope=limits | more, frontier={"ledger": True},
                output={"skipped": True}))
            crawled = t.run(options, directory, "crawl", config)
            t.expect_exit(test, crawled, t.EXIT_DONE, "the crawl")
            pages, lines = t.read_pages(test, where), skipped_lines(where)
            # Of the links of a page; the target of a redirect is as deep as the redirect.
            depths = {page["url"]: page["depth"] + (0 if page["redirect"] else 1)
                      for page in pages}
            known = explain_all(test, options, config, [page["url"] for page in pages])
            for page in pages:
                it = known[page["url"]]
                test.check(it.get("state", {}).get("status") == page["status"],
                           f"{page['url']}: not the status {page['status']}", it)
            known = explain_all(test, options, config, [line["url"] for line in lines])
            fetched = {url for url, it in known.items()
                       if it.get("state", {}).get("fetches", 0) > 0}
            # A URL that was fetched anyway was skipped as a link of another depth.
            known = {0: known} | {
                depth: explain_all(test, options, config,
                                   [line["url"] for line in lines if line["url"] in fetched and
                                    depths.get(line["from"]) == depth], "--depth", depth)
                for depth in set(depths.values()) if depth > 0}
            answers, others = {}, collections.defaultdict(set)
            for line in lines:  # two spellings of a URL are one page
                others[t.canonical_key(line["url"])].add((line["reason"], line["rule"]))
            for line in lines:
                # A place of the host became free for it later.
                if line["url"] in fetched and line["reason"] == "too many URLs of the host":
                    continue
                asked = (line["url"], depths.get(line["from"]) if line["url"] in fetched else 0)
                if asked not in answers:
                    it = known[asked[1]][line["url"]]
                    answers[asked] = it.get("reason"), it.get("rule") or None
                test.check(answers[asked] == (line["reason"], line["rule"]) or
                           line["url"] not in fetched and
                           answers[asked] in others[t.canonical_key(line["url"])],
                           f"{line} is explained as {answers[asked]}")
            reasons = {line["reason"] for line in lines}
            wanted = {"traps": "pattern parked", "crowded": "too many URLs of the host"}[name]
            test.check(reasons >= {"invalid URL", "other scheme", "excluded by rule", "too deep",
                                   "robots.txt", wanted}, f"{name}: reasons that are missing", reasons)


def nofollow_and_redirects(test, directory, options):
    """Links that are skipped for how they were found are explained, and followed by a run that may."""
    def respond(request):
        if request.path == "/":
            return answer('<a rel="nofollow" href="/n">n</a> <a href="/r">r</a>')
        if request.path == "/r":
            return answer("", "302 Found", "Location: /target")
        return answer(request.path)

    with ScriptedServer(respond) as server:
        where = directory / "as-found"
        config = t.write_config(directory / "as-found.toml", t.fast_crawl(
            [server.url()], where, fetch={"max_redirects": 0}, output={"skipped": True}))
        t.expect_exit(test, t.run(options, directory, "crawl", config), t.EXIT_DONE, "the crawl")
        for path, reason in (("/n", "nofollow"), ("/target", "too many redirects")):
            code, it, problem = explain(options, config, server.url(path))
            test.check((code, it.get("reason")) == (1, reason), path, f"{it} {problem}")
        resumed = t.run(options, directory, "resume", config, "--set", "fetch.max_redirects=3",
                        "--set", "links.respect_nofollow=false")
        t.expect_exit(test, resumed, t.EXIT_DONE, "resumed")
        test.check(sorted(server.paths()) == ["/", "/n", "/r", "/target"], "pages", server.paths())


def script(test, directory, options):
    for part in (verdicts, text, wrong_usage, robots, state, running, knowledge, unreadable_patterns,
                 nofollow_and_redirects, every_line):
        part(test, directory, options)


if __name__ == "__main__":
    t.main(script, t.parser(__doc__).parse_args())
