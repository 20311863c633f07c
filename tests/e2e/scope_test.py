"""Which URLs a crawl fetches, which it drops and why, when it ends, and in which order it goes."""

import re

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links

HERE, THERE, FAR = "127.0.0.1", "127.0.0.2", "127.0.0.3"


def site(pages):
    """A server whose pages, by "host/path", are lists of links, or bodies; no robots.txt."""

    def respond(request):
        host = request.host.rsplit(":", 1)[0]
        page = pages.get(host + request.path)
        if page is None:
            return answer("", "404 Not Found")
        return answer(page if isinstance(page, (str, bytes)) else
                      f"<title>{host}{request.path}</title>" + links(page))

    return ScriptedServer(respond, addresses=(HERE, THERE, FAR))


def crawl(options, directory, name, seeds, code=t.EXIT_DONE, test=None, **tables):
    tables.setdefault("output", {"skipped": True})
    config = t.write_config(directory / f"{name}.toml",
                            t.fast_crawl(seeds, directory / name, **tables))
    ended = t.run(options, directory, "crawl", config)
    if test is not None:
        t.expect_exit(test, ended, code, name)
    return ended


def fetched(server):
    """What was requested, as "host/path", in order."""
    return [request.host.rsplit(":", 1)[0] + request.path for request in server.pages]


def check_fetched(test, server, expected, what):
    asked = fetched(server)
    test.check_equal_sets(set(asked), set(expected), what)
    test.check(len(asked) == len(set(asked)), f"{what}: fetched more than once", asked)


def skipped(test, directory, name):
    """The reason and the rule by URL."""
    lines = t.read_lines(test, directory / name, "skipped.jsonl", {"url", "reason", "rule"})
    return {line["url"]: (line["reason"], line["rule"]) for line in lines}


def types(test, directory, options):
    expected = {
        "page": [f"{HERE}/docs/start"],
        "prefix": [f"{HERE}/docs/start", f"{HERE}/docs/a", f"{HERE}/docs/deep/b"],
        "host": [f"{HERE}/docs/start", f"{HERE}/docs/a", f"{HERE}/docs/deep/b", f"{HERE}/other",
                 f"{HERE}/docs2/x"],
        "domain": [f"{HERE}/docs/start", f"{HERE}/docs/a", f"{HERE}/docs/deep/b", f"{HERE}/other",
                   f"{HERE}/docs2/x"],
        "any": [f"{HERE}/docs/start", f"{HERE}/docs/a", f"{HERE}/docs/deep/b", f"{HERE}/other",
                f"{HERE}/docs2/x", f"{THERE}/", f"{FAR}/"],
    }
    for kind, urls in expected.items():
        pages = {f"{HERE}/docs/a": ["deep/b", "/other"], f"{HERE}/docs/deep/b": [],
                 f"{HERE}/other": [], f"{HERE}/docs2/x": [], f"{FAR}/": []}
        with site(pages) as server:
            pages[f"{HERE}/docs/start"] = ["a", "/docs2/x", server.url("/", THERE)]
            pages[f"{THERE}/"] = [server.url("/", FAR), server.url("/docs/start", HERE)]
            crawl(options, directory, f"type-{kind}", [server.url("/docs/start")], test=test,
                  scope={"type": kind})
            check_fetched(test, server, urls, f"scope.type = {kind}")


def rules(test, directory, options):
    pages = {f"{HERE}/": ["/keep/a.pdf", "/drop/b", "/c.pdf", "/d", "/%64rop/e"],
             f"{HERE}/keep/a.pdf": "a", f"{HERE}/d": "d", f"{THERE}/wanted": []}
    with site(pages) as server:
        pages[f"{HERE}/"] += [server.url("/wanted", THERE), server.url("/unwanted", THERE)]
        crawl(options, directory, "rules", [server.url()], test=test, scope={
            "type": "host",
            "rules": [{"include": "re:/keep/", "name": "kept"},
                      {"exclude": "*/drop/*", "name": "dropped"}],
            "exclude": ["*.pdf"],
            "include": [f"{THERE}:*/wanted"]})
        check_fetched(test, server, [f"{HERE}/", f"{HERE}/keep/a.pdf", f"{HERE}/d",
                                     f"{THERE}/wanted"], "rules")
        dropped = skipped(test, directory, "rules")
        for url, why in {server.url("/drop/b"): ("excluded by rule", "dropped"),
                         server.url("/%64rop/e"): ("excluded by rule", "dropped"),
                         server.url("/c.pdf"): ("excluded by rule", "*.pdf"),
                         server.url("/unwanted", THERE): ("out of scope", "scope.type")}.items():
            test.check(dropped.get(url) == why, f"rules: {url} skipped as {dropped.get(url)}", why)


def build_blocklist(test, directory, options, name, urls, seed, *arguments):
    """A filter of `urls` that is wrong often, but not about `seed`: a last key varies until so."""
    # Keys that a blocklist is searched for: the URL, its host with the port, and its host.
    host = seed.split("/")[2]
    (directory / "seed.txt").write_text(f"{seed}\n{host}\n{host.partition(':')[0]}\n")
    lines = directory / f"{name}.txt"
    file = directory / f"{name}.filter"
    for salt in range(100):
        lines.write_text("".join(f"{url}\n" for url in [*urls, f"no-url-{salt}"]))
        built = t.run(options, directory, "filter", "build", "-o", file, "--force",
                      "--capacity", str(len(urls)), "--fpr", "0.2", "--kind", "classic",
                      *arguments, lines)
        t.expect_exit(test, built, t.EXIT_DONE, f"filter build {name}")
        checked = t.run(options, directory, "filter", "check", "-q", file, "seed.txt")
        if checked.exit_code == 1:
            break
    return file


def exact_blocklists(test, directory, options):
    """A filter with its keys blocks nothing else, and one without does: at such a rate."""
    # Enough keys that the filter's smallest size does not make it better than asked.
    names = [f"/{i}" for i in range(500)]
    blocked = names[:400]
    with site({f"{HERE}/": names}) as server:
        wanted = {server.url(path) for path in blocked}
        for name, arguments in {"exact": ["--exact"], "inexact": []}.items():
            file = build_blocklist(test, directory, options, name, sorted(wanted), server.url(),
                                   *arguments)
            crawl(options, directory, name, [server.url()], test=test,
                  scope={"blocklist": [file]})
            dropped = {url for url, (why, _) in skipped(test, directory, name).items()
                       if why == "blocked"}
            test.check(dropped >= wanted, f"{name}: a URL of the list is not blocked",
                       wanted - dropped)
            test.check((dropped == wanted) == (name == "exact"), f"{name}: blocks others",
                       dropped - wanted)
        # What belongs to another filter is an error before anything is fetched.
        (directory / "inexact.filter.keys").write_bytes(
            (directory / "exact.filter.keys").read_bytes())
        for command in (("crawl", "inexact.toml", "--fresh"), ("check-config", "inexact.toml")):
            ended = t.run(options, directory, *command)
            test.check(ended.exit_code not in (t.EXIT_DONE, None) and
                       "inexact.filter.keys" in ended.text, f"{command} with others' keys",
                       ended.tail())


def blocklists(test, directory, options):
    pages = {f"{HERE}/": ["/ads", "/banner", "/ok"], f"{HERE}/ok": "ok", f"{FAR}/": "far"}
    with site(pages) as server:
        pages[f"{HERE}/"] += [server.url("/", THERE), server.url("/", FAR)]
        lines = directory / "blocked.txt"
        lines.write_text(server.url("/ads") + "\n")
        built = t.run(options, directory, "filter", "build", "-o", "blocked.filter",
                      "--capacity", "1000", "--fpr", "1e-9", lines)
        t.expect_exit(test, built, t.EXIT_DONE, "filter build")
        hosts = directory / "hosts.txt"
        hosts.write_text(f"# a list\n{THERE}\n\n{server.url('/banner')} # one page\n")
        crawl(options, directory, "blocked", [server.url()], test=test,
              scope={"type": "any", "include": ["*"],
                     "blocklist": [directory / "blocked.filter", hosts]})
        check_fetched(test, server, [f"{HERE}/", f"{HERE}/ok", f"{FAR}/"], "blocklists")
        dropped = skipped(test, directory, "blocked")
        for url, file in {server.url("/ads"): "blocked.filter", server.url("/banner"): "hosts.txt",
                          server.url("/", THERE): "hosts.txt"}.items():
            reason, rule = dropped.get(url, ("", ""))
            test.check(reason == "blocked" and rule.endswith(file), f"{url}: {reason}, {rule}")
        hosts.write_text("fine.example\n||not fine^\n")
        ended = crawl(options, directory, "bad-list", [server.url()],
                      scope={"type": "any", "blocklist": [hosts]})
        test.check(ended.exit_code not in (t.EXIT_DONE, None) and "hosts.txt:2:" in ended.text,
                   f"a bad line in a blocklist: exit code {ended.exit_code}", ended.tail())
        test.check(len(fetched(server)) == 3, "a crawl with a bad blocklist fetched something")
        checked = t.run(options, directory, "check-config", directory / "bad-list.toml", "--set",
                        f'scope.blocklist=["{hosts}", "missing.txt"]')
        t.expect_exit(test, checked, t.EXIT_BAD_CONFIG, "check-config with bad blocklists")
        test.check("hosts.txt:2:" in checked.text and "missing.txt" in checked.text,
                   "check-config does not name both lists", checked.tail())
        hosts.write_text("com\n")
        checked = t.run(options, directory, "check-config", directory / "bad-list.toml")
        t.expect_exit(test, checked, t.EXIT_DONE, "check-config with a public suffix in a list")
        test.check("public suffix" in checked.text, "no warning of a suffix", checked.tail())


def extra_hops(test, directory, options):
    for hops, urls in {0: [], 1: [f"{THERE}/1"], 2: [f"{THERE}/1", f"{THERE}/2"]}.items():
        pages = {f"{HERE}/back": "back", f"{THERE}/2": ["/3"], f"{THERE}/3": []}
        with site(pages) as server:
            pages[f"{HERE}/"] = [server.url("/1", THERE), server.url("/x.pdf", THERE)]
            pages[f"{THERE}/1"] = ["/2", server.url("/back", HERE)]
            crawl(options, directory, f"hops-{hops}", [server.url()], test=test,
                  scope={"type": "host", "extra_hops": hops, "exclude": ["*.pdf"]})
            back = [f"{HERE}/back"] if hops > 0 else []
            check_fetched(test, server, [f"{HERE}/", *urls, *back], f"extra_hops = {hops}")


def chain(length):
    return {f"{HERE}/": ["/1"], **{f"{HERE}/{i}": [f"/{i + 1}"] for i in range(1, length + 1)}}


def depth_and_shape(test, directory, options):
    with site(chain(10)) as server:
        crawl(options, directory, "depth", [server.url()], test=test, scope={"max_depth": 3})
        check_fetched(test, server, [f"{HERE}/", *(f"{HERE}/{i}" for i in (1, 2, 3))], "max_depth")
        dropped = skipped(test, directory, "depth")
        test.check(dropped.get(server.url("/4"), ("",))[0] == "too deep", "max_depth", dropped)
    bad = {"/" + "x" * 300: "URL too long", "/a/b/c/d/e": "too many path segments",
           "/a/a/a": "repeated path segments", "/?a&b&c": "too many query parameters"}
    with site({f"{HERE}/": ["/ok/a?b&c", *bad], f"{HERE}/ok/a?b&c": "ok"}) as server:
        ended = crawl(options, directory, "shape", [server.url()], test=test, scope={
            "max_url_length": 200, "max_path_segments": 4, "max_repeated_segments": 2,
            "max_query_parameters": 2})
        check_fetched(test, server, [f"{HERE}/", f"{HERE}/ok/a?b&c"], "limits on URLs")
        dropped = skipped(test, directory, "shape")
        for path, reason in bad.items():
            got = dropped.get(server.url(path), ("",))[0]
            test.check(got == reason, f"{path[:30]} skipped as {got!r}, expected {reason!r}")
            test.check(reason in ended.text, f"the summary has no {reason!r}", ended.tail())


def relative_loop(test, directory, options):
    """A page that links to itself in a folder below, forever."""
    def respond(request):
        return answer(request.path + links(["loop/", "other/"]))

    with ScriptedServer(respond) as server:
        crawl(options, directory, "loop", [server.url()], test=test,
              scope={"max_path_segments": 6, "max_repeated_segments": 1},
              politeness={"respect_robots": False})
        paths = server.paths()
        test.check(len(paths) < 50, f"{len(paths)} pages of a loop were fetched")
        test.check("/loop/other/" in paths, "the loop was not entered", paths)
        test.check(not any("loop/loop" in path for path in paths), "a loop was followed", paths)


def totals(test, directory, options):
    body = "<p>" + "x" * 10_000
    pages = {f"{HERE}/": [f"/{i}" for i in range(200)],
             **{f"{HERE}/{i}": body + str(i) for i in range(200)}}
    with site(pages) as server:
        crawl(options, directory, "max-pages", [server.url()], test=test, scope={"max_pages": 17})
        test.check(len(server.pages) == 17, f"max_pages: {len(server.pages)} requests")
    with site(pages) as server:
        seeds = [server.url()]
        ended = crawl(options, directory, "max-bytes", seeds, code=t.EXIT_MAX_BYTES, test=test,
                      scope={"max_bytes": "100KiB"}, fetch={"connections": 2})
        test.check("max_bytes" in ended.text, "max_bytes is not named", ended.tail())
        total = sum(page["bytes"] for page in t.read_pages(test, directory / "max-bytes"))
        test.check(90_000 <= total <= 250_000, f"max_bytes: {total} bytes")
    with site(pages) as server:
        ended = crawl(options, directory, "max-time", [server.url()], code=t.EXIT_MAX_TIME,
                      test=test, scope={"max_time": "500ms"},
                      politeness={"delay": "100ms", "per_host_connections": 1})
        test.check("max_time" in ended.text, "max_time is not named", ended.tail())
        before = len(server.pages)
        test.check(0 < before < 100, f"max_time: {before} requests")
        resumed = t.run(options, directory, "resume", directory / "max-time.toml",
                        "--set", "politeness.delay=0ms", "--set", "scope.max_time=100s")
        t.expect_exit(test, resumed, t.EXIT_DONE, "resumed after max_time")
        test.check_equal_sets(set(fetched(server)), set(pages), "resumed after max_time")


def per_host(test, directory, options):
    pages = {f"{HERE}/": [f"/{i}" for i in range(50)],
             **{f"{HERE}/{i}": str(i) for i in range(50)},
             f"{THERE}/": ["/1", "/2"], f"{THERE}/1": "1", f"{THERE}/2": "2"}
    for key in ("max_pages_per_host", "max_urls_per_host"):
        with site(pages) as server:
            crawl(options, directory, key, [server.url(), server.url("/", THERE)], test=test,
                  scope={key: 7})
            here = [url for url in fetched(server) if url.startswith(HERE)]
            there = [url for url in fetched(server) if url.startswith(THERE)]
            test.check(len(here) == 7, f"{key}: {len(here)} pages", here)
            test.check(len(there) == 3, f"{key}: {len(there)} pages of the other host", there)
    dropped = collections_of_reasons(skipped(test, directory, "max_urls_per_host"))
    test.check(dropped.get("too many URLs of the host", 0) > 40, "max_urls_per_host", dropped)


def known_links_take_no_places(test, directory, options):
    """Pages that have the same 30 links, and then 10 of their own."""
    menu = [f"/menu{i}" for i in range(30)]
    pages = {f"{HERE}/": menu}
    for i, path in enumerate(menu):
        own = [f"/own{i}-{j}" for j in range(10)]
        pages[HERE + path] = menu + own
        pages.update({HERE + page: page for page in own})
    with site(pages) as server:
        crawl(options, directory, "menu", [server.url()], test=test,
              scope={"max_urls_per_host": 60})
        asked = fetched(server)
        test.check(len(asked) == 60, f"max_urls_per_host = 60: {len(asked)} pages", asked)
        dropped = {url[url.index("//") + 2:] for url in skipped(test, directory, "menu")}
        dropped = {HERE + path[path.index("/"):] for path in dropped}
        test.check(not dropped & set(asked), "fetched, and reported as skipped", dropped & set(asked))


def limit_of_pages_changes(test, directory, options):
    pages = {f"{HERE}/": [f"/{i}" for i in range(50)], **{f"{HERE}/{i}": str(i) for i in range(50)}}
    with site(pages) as server:
        crawl(options, directory, "raised", [server.url()], test=test,
              scope={"max_pages_per_host": 7})
        for limit, expected in ((7, 7), (12, 12), (5, 12)):
            t.expect_exit(test, t.run(options, directory, "resume", directory / "raised.toml",
                                      "--set", f"scope.max_pages_per_host={limit}"),
                          t.EXIT_DONE, f"resumed with {limit}")
            count = len(server.pages)
            test.check(count == expected, f"max_pages_per_host, now {limit}: {count} pages")
        unlimited = t.write_config(directory / "raised.toml",
                                   t.fast_crawl([server.url()], directory / "raised",
                                                output={"skipped": True}))
        t.expect_exit(test, t.run(options, directory, "resume", unlimited), t.EXIT_DONE,
                      "resumed without a limit")
        check_fetched(test, server, pages, "without the limit")


def collections_of_reasons(dropped):
    counts = {}
    for reason, _ in dropped.values():
        counts[reason] = counts.get(reason, 0) + 1
    return counts


def endless_calendar(test, directory, options):
    """Every month leads to the next, and none has an event. There is also a real site."""
    def respond(request):
        month = re.fullmatch(r"/cal/(\d+)/(\d+)", request.path)
        page = re.fullmatch(r"/page/(\d+)", request.path)
        if month:
            year, number = int(month[1]), int(month[2])
            following = [f"/cal/{year}/{number + 1}", f"/cal/{year + 1}/{number}"]
            # In the headers: links that differ would make the bodies differ.
            return answer("<p>No events.", "200 OK",
                          *(f"Link: <{path}>; rel=next" for path in following))
        if page and int(page[1]) < 300:
            return answer(f"<p>{page[1]}" + links([f"/page/{int(page[1]) + 1}"]))
        if request.path == "/":
            return answer(links(["/cal/2000/1", "/page/0"]))
        return answer("", "404 Not Found")

    with ScriptedServer(respond) as server:
        ended = crawl(options, directory, "calendar", [server.url()], test=test, scope={
            "slow_pattern_after": 20, "park_pattern_after": 100})
        paths = server.paths()
        months = [path for path in paths if path.startswith("/cal/")]
        test.check(100 <= len(months) <= 150, f"{len(months)} months were fetched")
        test.check_equal_sets({path for path in paths if path.startswith("/page/")},
                              {f"/page/{i}" for i in range(301)}, "the pages other than the calendar")
        dropped = collections_of_reasons(skipped(test, directory, "calendar"))
        test.check(dropped.get("pattern parked", 0) > 0, "no URL was parked", dropped)
        test.check("pattern parked" in ended.text, "the summary does not report it", ended.tail())


def order(test, directory, options):
    tree = {f"{HERE}/": ["/a", "/b"], f"{HERE}/a": ["/a/1", "/a/2"], f"{HERE}/b": ["/b/1"],
            f"{HERE}/a/1": ["/a/1/x"], f"{HERE}/a/2": [], f"{HERE}/b/1": [], f"{HERE}/a/1/x": []}
    expected = {
        "bfs": ["/", "/a", "/b", "/a/1", "/a/2", "/b/1", "/a/1/x"],
        "dfs": ["/", "/a", "/a/1", "/a/1/x", "/a/2", "/b", "/b/1"],
        "priority": ["/", "/b", "/b/1", "/a", "/a/2", "/a/1", "/a/1/x"],
    }
    for name, paths in expected.items():
        with site(tree) as server:
            priorities = [{"match": "*/b*", "priority": 10},
                          {"match": "*/1", "priority": -5}] if name == "priority" else []
            # One thread with one connection, and a delay so that links are queued by the next turn,
            # even while other tests keep the disk busy.
            crawl(options, directory, f"order-{name}", [server.url()], test=test,
                  crawl={"order": name, "priorities": priorities},
                  politeness={"delay": "100ms", "per_host_connections": 1},
                  fetch={"threads": 1, "connections": 1})
            lines = t.read_pages(test, directory / f"order-{name}")
            told = [line["url"][len(server.url("")):] for line in lines]
            test.check([path or "/" for path in told] == paths or server.paths() == paths,
                       f"order = {name}: {server.paths()}", f"expected {paths}")


def script(test, directory, options):
    for part in (types, rules, blocklists, exact_blocklists, extra_hops, depth_and_shape, relative_loop, totals,
                 per_host, known_links_take_no_places, limit_of_pages_changes, endless_calendar,
                 order):
        part(test, directory, options)


if __name__ == "__main__":
    t.main(script, t.parser(__doc__).parse_args())
