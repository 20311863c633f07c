"""A crawl that crashes on a URL ends: after three crashes the URL is set aside, and all others are
fetched. Kills set nothing aside."""

import pathlib
import re
import signal
import subprocess

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links

CRASHED = "crashed"
SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


def is_dead(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


class CrashingSite(ScriptedServer):
    """The request of a bad URL crashes the crawler that sent it."""

    def __init__(self, answers, bad, **arguments):
        self.answers, self.bad = answers, set(bad)
        self.process = None
        self.crashes = []
        super().__init__(self._answer, **arguments)

    def _answer(self, request):
        key = (request.host.split(":")[0], request.path)
        for name in (key, request.path):
            if name in self.bad and self.process is not None:
                number = SIGNALS[len(self.crashes) % len(SIGNALS)]
                self.crashes.append((name, number))
                process, self.process = self.process, None
                process.send_signal(number)
                # Before it sees an end of the connection.
                t.wait_until(lambda: is_dead(process.pid), "a crash", 20)
                return None
        return self.answers.get(key) or self.answers.get(request.path) or \
            answer("none", "404 Not Found")

    def run(self, options, directory, command, config):
        """Until the crawl no longer crashes."""
        run = t.Run(options, directory, command, config)
        self.process = run.process
        run.wait(60)
        return run


def crawl(test, directory, options, name, site, expected_crashes, seeds=("/",), **tables):
    seeds = [seed if seed.startswith("http") else site.url(seed) for seed in seeds]
    config = t.write_config(directory / f"{name}.toml",
                            t.fast_crawl(seeds, directory / name, **tables))
    runs = [site.run(options, directory, "crawl", config)]
    while runs[-1].exit_code < 0 and len(runs) < 40:
        number = site.crashes[-1][1]
        test.check(runs[-1].exit_code == -number,
                   f"{name}: ended by {-runs[-1].exit_code}, not {number}", runs[-1].tail())
        runs.append(site.run(options, directory, "resume", config))
    test.check(len(site.crashes) == expected_crashes,
               f"{name}: {len(site.crashes)} crashes, expected {expected_crashes}", site.crashes)
    return runs


def check_pages(test, name, directory, fetched, crashed):
    pages = t.by_path(t.read_pages(test, directory / name))
    good = {path for path, lines in pages.items() if lines[-1]["status"] == 200}
    test.check_equal_sets(good, set(fetched), f"{name}: fetched")
    aside = {path for path, lines in pages.items() if lines[-1]["reason"] == CRASHED}
    test.check_equal_sets(aside, set(crashed), f"{name}: set aside")


def one_bad_url(test, directory, options):
    paths = [f"/p{i}" for i in range(40)]
    answers = {path: answer(links(["/p1"])) for path in paths}
    answers["/"] = answer(links([*paths[:20], "/bad", *paths[20:]]))
    with CrashingSite(answers, ["/bad"]) as site:
        runs = crawl(test, directory, options, "one", site, 3)
        asked = site.paths()
        t.expect_exit(test, runs[-1], t.EXIT_DONE, "one bad URL")
        check_pages(test, "one", directory, [*answers], ["/bad"])
        test.check_equal_sets(set(asked), {*answers, "/bad"}, "one: requested")
        test.check(asked.count("/bad") == 3, f"one: requested {asked.count('/bad')} times")
        last = runs[-1].text
        test.check("/bad: set aside as failed" in last, "one: not in the log", runs[-1].tail())
        test.check("URLs set aside because the crawl crashed on them: 1\n  " + "http" in last,
                   "one: not in the summary", runs[-1].tail())
        test.check("the last run crashed (SIGABRT)" in runs[2].text, "one: the crash is not reported",
                   runs[2].text[:2000])
        # Nothing of it is left: it is done, and another run does nothing.
        site.bad.clear()
        again = t.run(options, directory, "resume", directory / "one.toml")
        t.expect_exit(test, again, t.EXIT_DONE, "one, again")
        test.check("because the crawl crashed" not in again.text, "one: crashes are still reported",
                   again.tail())
        fresh = t.run(options, directory, "crawl", directory / "one.toml", "--fresh")
        t.expect_exit(test, fresh, t.EXIT_DONE, "one, from the beginning")
        test.check(not (directory / "one" / "crashes").exists(), "--fresh leaves what it knew")


def without_room(test, directory, options):
    """Where nothing else that fails is kept, what the crawl crashed on is."""
    paths = [f"/p{i}" for i in range(20)]
    answers = {path: answer(links(["/p1"])) for path in paths}
    answers["/"] = answer(links([*paths[:10], "/bad", "/none", *paths[10:]]))
    with CrashingSite(answers, ["/bad"]) as site:
        crawl(test, directory, options, "room", site, 3, frontier={"max_set_aside": 0})
        check_pages(test, "room", directory, answers, ["/bad"])
        site.bad.clear()
        answers["/bad"] = answer("<p>")
        again = t.run(options, directory, "resume", directory / "room.toml", "--retry-failed")
        t.expect_exit(test, again, t.EXIT_DONE, "without room, again")
        check_pages(test, "room", directory, answers, [])


def several_bad_urls(test, directory, options):
    """Each costs three crashes at most. One is the seed, without which there is nothing."""
    paths = [f"/p{i}" for i in range(20)]
    bad = ["/bad1", "/bad2", "/bad3"]
    answers = {path: answer(links(["/p1"])) for path in paths}
    answers["/"] = answer(links([*bad, *paths]))
    with CrashingSite(answers, bad) as site:
        config = t.write_config(directory / "several.toml", t.fast_crawl(
            [site.url()], directory / "several", politeness={"per_host_connections": 1},
            output={"warc": True}, frontier={"ledger": True}))
        runs = [site.run(options, directory, "crawl", config)]
        while runs[-1].exit_code < 0 and len(runs) < 40:
            runs.append(site.run(options, directory, "resume", config))
        test.check(len(site.crashes) <= 9, f"several: {len(site.crashes)} crashes", site.crashes)
    t.expect_exit(test, runs[-1], t.EXIT_DONE, "several bad URLs")
    check_pages(test, "several", directory, answers, bad)


def bad_seed(test, directory, options):
    with CrashingSite({}, ["/bad"]) as site:
        runs = crawl(test, directory, options, "seed", site, 3, seeds=["/bad"])
    test.check(runs[-1].exit_code >= 0, f"a bad seed: exit code {runs[-1].exit_code}")
    check_pages(test, "seed", directory, [], ["/bad"])


def bad_robots_txt(test, directory, options):
    """Its host is parked, with its queue; all others are fetched."""
    paths = [f"/p{i}" for i in range(10)]
    answers = {("127.0.0.1", path): answer("<p>") for path in paths}
    robots = ("127.0.0.2", "/robots.txt")
    with CrashingSite(answers, [robots], addresses=("127.0.0.1", "127.0.0.2")) as site:
        there = [site.url(path, "127.0.0.2") for path in ("/a", "/b", "/c")]
        answers[("127.0.0.1", "/")] = answer(links([*paths, *there]))
        runs = crawl(test, directory, options, "robots", site, 3, scope={"type": "any"})
        test.check(runs[-1].exit_code >= 0, "robots.txt: it still crashes", runs[-1].tail())
        check_pages(test, "robots", directory, ["/", *paths], [])
        test.check("host parked" in runs[-1].text, "robots.txt: not reported",
                   runs[-1].tail())
        # Once it is harmless the host is asked again.
        site.bad.clear()
        for path in ("/a", "/b", "/c"):
            answers[("127.0.0.2", path)] = answer("<p>")
        revived = subprocess.run([options.trawl, "frontier", "revive", directory / "robots"],
                                 capture_output=True)
        if revived.returncode != 0:
            return  # a trawl without that command
        site.run(options, directory, "resume", directory / "robots.toml")
        check_pages(test, "robots", directory, ["/", *paths, "/a", "/b", "/c"], [])


def harmless_suspects(test, directory, options):
    """Those that were in flight at both crashes by chance are fetched; kills in between and an
    interruption change nothing of that."""
    paths = [f"/slow{i}" for i in range(6)]
    answers = {"/": answer(links(paths))}
    with CrashingSite(answers, []) as site:
        config = t.write_config(directory / "harmless.toml", t.fast_crawl(
            [site.url()], directory / "harmless", politeness={"per_host_connections": 8}))
        hold = {path: b"" for path in paths}
        site.answers.update({path: b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + hold[path]
                             for path in paths})
        for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGSEGV, signal.SIGKILL):
            known = len(site.pages)
            run = t.Run(options, directory, "resume" if known else "crawl", config)
            t.wait_until(lambda: {r.path for r in site.pages[known:]} >= set(paths) or run.ended(),
                         "the requests", 20)
            if known and number == signal.SIGKILL and len(site.crashes) >= 2:
                break
            run.signal(number)
            run.wait(20)
            if number == signal.SIGSEGV:
                site.crashes.append(number)
            if len(site.crashes) == 2:
                break
        site.answers.update({path: answer("<p>") for path in paths})
        known = len(site.pages)
        done = t.run(options, directory, "resume", config)
        asked = [request.path for request in site.pages[known:]]
    t.expect_exit(test, done, t.EXIT_DONE, "harmless suspects")
    check_pages(test, "harmless", directory, ["/", *paths], [])
    test.check(re.search("[67] URLs were in flight at two crashes", done.text) is not None,
               "harmless: not reported", done.text[:2000])
    # The seed once more, if each kill came before its end was written.
    test.check(sorted(asked) in (paths, ["/", *paths]), f"harmless: requested {asked}")


def kills(test, directory, options):
    """A fetch that never ends, and a crawl that is killed in it again and again."""
    answers = {"/": answer(links(["/slow", "/p1"])), "/p1": answer("<p>"),
               "/slow": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\nx"}
    with CrashingSite(answers, []) as site:
        config = t.write_config(directory / "kills.toml",
                                t.fast_crawl([site.url()], directory / "kills"))
        for number in range(options.kills):
            known = len(site.pages)
            run = t.Run(options, directory, "resume" if number else "crawl", config)
            t.wait_until(lambda: "/slow" in site.paths()[known:] or run.ended(), "the request", 30)
            run.kill()
            if run.exit_code != -signal.SIGKILL:
                raise t.Failure(f"kill {number}: it had ended\n{run.tail()}")
            test.check("crash" not in run.text, f"kill {number} counts as a crash", run.tail())
        site.answers["/slow"] = answer("<p>")
        done = t.run(options, directory, "resume", config)
    t.expect_exit(test, done, t.EXIT_DONE, "after the kills")
    test.check("set aside" not in done.text, "a kill set something aside", done.tail())
    check_pages(test, "kills", directory, answers, [])
    test.check(not (directory / "kills" / "crashes").exists(), "kills leave a record of crashes")


def crash_loop(test, directory, options):
    parts = (one_bad_url, without_room, several_bad_urls, bad_seed, bad_robots_txt,
             harmless_suspects, kills)
    t.run_parts(test, [(part,) for part in parts], (test, directory, options), at_once=1)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--kills", type=int, default=100)
    # No core files of hundreds of megabytes.
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    t.main(crash_loop, arguments.parse_args())
