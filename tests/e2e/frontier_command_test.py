"""`trawl frontier`: waiting URLs are counted, dumped, loaded and repaired; none is lost."""

import collections
import http.server
import json
import random
import re
import signal
import subprocess
import sys
import threading
import time

import trawl_testing as t
from scripted_server import NOT_FOUND, ScriptedServer, answer, links

LATER = "2199-12-31T23:59:59.250Z"


def lines_of(count, hosts=50, seed=7):
    """URLs as they are dumped, in an order of no meaning."""
    choose = random.Random(seed)
    lines = []
    for i in range(count):
        host = f"host{i % hosts}.example" + (":8080" if i % 3 == 0 else "")
        line = {"url": f"http://{host}/page/{i}?q=%22", "host": host,
                "priority": choose.randint(-3, 3), "depth": choose.randint(0, 9),
                "redirects": choose.randint(0, 2), "attempts": 0,
                "parent": choose.choice([None, f"http://{host}/", "https://elsewhere.example/x"]),
                "state": "queued"}
        if i % 10 == 9:
            line.update(state="deferred", not_before=LATER)
        lines.append(line)
    return lines


def jsonl(lines):
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def by_host(lines):
    """Each host's queue in its order, and what is deferred."""
    queues = collections.defaultdict(list)
    for line in lines:
        queues[line["host"], line["state"]].append(line)
    return queues


class FrontierCommand:
    def __init__(self, test, directory, options):
        self.test, self.directory, self.options = test, directory, options
        self.count = 0

    # --- helpers ---

    def new_path(self, suffix=""):
        self.count += 1
        return self.directory / f"{self.count}{suffix}"

    def command(self, *arguments):
        return [self.options.trawl, "frontier", *map(str, arguments)]

    def run(self, *arguments, stdin=b"", **more):
        more.setdefault("capture_output", True)
        return subprocess.run(self.command(*arguments), input=stdin, cwd=self.directory,
                              timeout=120, check=False, **more)

    def expect(self, finished, code, what, *patterns):
        """The exit code, and what standard error must say."""
        said = finished.stderr.decode(errors="replace")
        self.test.check(finished.returncode == code,
                        f"{what}: exit code {finished.returncode}, expected {code}", said)
        for pattern in patterns:
            self.test.check(re.search(pattern, said), f"{what}: no {pattern!r} in the message",
                            said)
        return finished

    def load(self, state, lines, *arguments, code=t.EXIT_DONE):
        """How many were new, seen and invalid."""
        stdin = lines if isinstance(lines, bytes) else jsonl(lines)
        finished = self.run("load", state, *arguments, stdin=stdin)
        self.expect(finished, code, f"load {state.name} {' '.join(map(str, arguments))}")
        told = re.search(r": (\d+) new, (\d+) seen, (\d+) invalid\n", finished.stdout.decode())
        if not self.test.check(told, "load does not report counts", finished.stdout):
            return None
        return tuple(map(int, told.groups()))

    def with_checkpoints(self):
        """The arguments of a load at whose end there is a checkpoint."""
        config = t.fast_crawl(["http://a.example/"], "unused", checkpoint={"admissions": 1})
        return "--config", t.write_config(self.new_path(".toml"), config)

    def dump(self, state, *arguments):
        finished = self.run("dump", state, *arguments)
        self.expect(finished, t.EXIT_DONE, f"dump {state.name}")
        return [json.loads(line) for line in finished.stdout.splitlines()]

    def stats(self, state, *arguments):
        finished = self.run("stats", state, "--json", *arguments)
        self.expect(finished, t.EXIT_DONE, f"stats {state.name}")
        return json.loads(finished.stdout)

    def peak_memory(self, *arguments):
        """In bytes: as the child of a small process, since a new process starts with the peak of
        the one it was forked from."""
        report = self.new_path(".memory")
        command = [sys.executable, "-c", MEASURE, report, *self.command(*arguments)]
        finished = subprocess.run(command, cwd=self.directory, timeout=120, check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.expect(finished, t.EXIT_DONE, " ".join(map(str, arguments)))
        return int(report.read_text()) * 1024

    def check_same(self, got, expected, what):
        self.test.check(got == expected, what, f"got {got!r}\nnot {expected!r}")

    # --- dump and load ---

    def what_is_loaded_is_dumped(self):
        lines = lines_of(3000)
        first, second = self.new_path(), self.new_path()
        self.check_same(self.load(first, lines), (3000, 0, 0), "the first load")
        dumped = self.dump(first)
        order = {line["url"]: i for i, line in enumerate(lines)}
        expected = sorted(lines, key=lambda line: (-line["priority"], order[line["url"]]))
        # Those deferred all wait for the same time, and come in the order they were offered.
        deferred = [line for line in lines if line["state"] == "deferred"]
        expected = [line for line in expected if line["state"] == "queued"] + deferred
        self.test.check(by_host(dumped) == by_host(expected), "the dump is not what was loaded")
        self.check_same(self.load(second, dumped), (3000, 0, 0), "the second load")
        self.test.check(by_host(self.dump(second)) == by_host(dumped),
                        "the dump of a loaded dump is another")
        host = "host4.example"
        of_host = [line for line in dumped if line["host"] == host]
        self.test.check(of_host and self.dump(first, "--host", "HOST4.Example:80") == of_host,
                        "the dump of a host")
        self.test.check(self.dump(first, "--state", "deferred") == deferred, "those deferred")
        self.test.check(len(self.dump(first, "--state", "queued")) == 2700, "those queued")
        self.check_same(self.dump(first, "--host", "nowhere.example"), [], "a host without URLs")

    def by_hand(self):
        state = self.new_path()
        text = (b'\xef\xbb\xbf{"url":"HTTP://A.example:80/%7ex#top"}\r\n\r\n\n'
                b' { "not_before" : "2199-12-31t23:59:59.25+01:00", "url" : "https://a.example/y" }'
                b'\n{"url":"http://a.example/~x","depth":3}')
        self.check_same(self.load(state, text), (2, 1, 0), "lines by hand")
        got = self.dump(state)
        self.check_same([line["url"] for line in got],
                        ["http://a.example/%7ex", "https://a.example/y"], "URLs by hand")
        self.check_same(got[1]["not_before"], "2199-12-31T22:59:59.250Z", "a time by hand")
        self.check_same(got[0]["parent"], None, "no parent")

    def append(self):
        state, lines = self.new_path(), lines_of(100)
        missing = self.run("load", state, "--append", stdin=jsonl(lines))
        self.expect(missing, t.EXIT_FAILURE, "--append to nothing", "leave out --append")
        self.test.check(not state.exists(), "--append made a directory")
        self.load(state, lines[:60])
        again = self.run("load", state, stdin=jsonl(lines))
        self.expect(again, t.EXIT_FAILURE, "load where there is one", "holds a crawl", "--append")
        self.check_same(self.load(state, lines, "--append"), (40, 60, 0), "--append")
        self.check_same(len(self.dump(state)), 100, "after --append")

    def plain_urls(self):
        state = self.new_path()
        loaded = self.run("load", state, "-", stdin=b"http://a.example/1\n\nHTTPS://B.example/x y#z\r\n"
                          + jsonl([{"url": "http://a.example/2", "depth": 3}]))
        self.expect(loaded, 0, "lines of URLs and of JSON")
        self.check_same(sorted((line["url"], line["depth"]) for line in self.dump(state)),
                        [("http://a.example/1", 0), ("http://a.example/2", 3),
                         ("https://b.example/x%20y", 0)], "lines of URLs and of JSON")

    def bad_lines(self):
        good = {"url": "http://good.example/"}
        bad = [(b"{", "byte 2"), (b"[]", "nor a JSON object"), (b"{}", '"url" is missing'),
               (b'{"url":"http://x.example/","dpeth":1}', 'unknown key "dpeth".*"depth"'),
               (b'{"url":"http://x.example/","depth":-1}', '"depth" must be .*, not -1'),
               (b'{"url":"http://x.example/","depth":1.5}', '"depth" must be'),
               (b'{"url":"http://x.example/","priority":2147483648}', '"priority" must be'),
               (b'{"url":"http://x.example/","priority":99999999999999999999}', '"priority" must'),
               (b'{"url":"http://x.example/","parent":[]}', '"parent" must be .*, not an array'),
               (b'{"url":"http://x.example/","host":"y.example"}', '"host" is "y.example"'),
               (b'{"url":"http://x.example/","state":"done"}', '"state" must be'),
               (b'{"url":"http://x.example/","not_before":"tomorrow"}', '"not_before" must be'),
               (b'{"url":"http://x.example/","not_before":"2023-02-29T00:00:00Z"}', "not_before"),
               (b'{"url":"http://x.example/","state":"deferred"}', 'no "not_before"'),
               (b'{"url":"http://x.example/","url":"http://y.example/"}', "is repeated"),
               (b"ftp://x.example/", "ftp"), (b"http://", "host"), (b"x.example", "neither a URL"),
               (b'{"url":"/relative"}', "scheme"), (b'{"url":"ftp://x.example/"}', "ftp"),
               (b'{"url":"http://x.example/' + b"a" * 70_000 + b'"}', "longer than 65536 bytes"),
               (b'{"url":"' + b"a" * (2 << 20) + b'"}', "longer than 1 MiB"),
               (b'{"url":' + b"[" * 1_000_000, '"url" must be .*, not an array'),
               (b'{"url":"http://x.example/\xff"}', "byte"), (b"\0", "byte 1")]
        text = jsonl([good]) + b"\n".join(line for line, _ in bad) + b"\n" + jsonl(
            [{"url": "http://behind.example/"}])
        for arguments, code, loaded in (([], t.EXIT_FAILURE, 1), (["--skip-bad-lines"], 0, 2)):
            state, file = self.new_path(), self.new_path(".jsonl")
            file.write_bytes(text)
            finished = self.run("load", state, file, *arguments)
            self.expect(finished, code, f"bad lines {arguments}")
            self.test.check(f"{loaded} new, 0 seen, {len(bad)} invalid" in
                            finished.stdout.decode(), "the summary", finished.stdout)
            said = finished.stderr.decode(errors="replace").splitlines()
            for number, ((_, pattern), told) in enumerate(zip(bad, said), 2):
                self.test.check(re.match(re.escape(f"trawl: {file}:{number}: ") + ".*" + pattern,
                                         told), f"line {number}: no {pattern!r}", told[:500])
                self.test.check(len(told) < 1000, f"line {number}: a long message", len(told))
            self.check_same(len(self.dump(state)), loaded, f"loaded with {arguments}")

    def damaged_lines(self):
        seed = 11
        choose = random.Random(seed)
        whole = jsonl(lines_of(50)).splitlines()
        damaged = []
        for _ in range(5000):
            line = bytearray(choose.choice(whole))
            for _ in range(choose.randint(1, 4)):
                at = choose.randrange(len(line))
                line[at:at + choose.randint(0, 3)] = choose.choice(
                    [b"", b'"', b"\\", b"{", b"[", b"}", b":", b",", b"\xff", b"\0", b"-", b"9" * 30,
                     b"1e999", b"\\ud800", b"null", b" ", bytes([choose.randrange(256)])])
            damaged.append(bytes(line).replace(b"\n", b""))
        state = self.new_path()
        told = self.load(state, b"\n".join(damaged) + b"\n", "--skip-bad-lines")
        lines = sum(1 for line in damaged if line.strip(b"\r"))
        self.test.check(told and sum(told) == lines and told[2] > 1000,
                        f"damaged lines, seed {seed}: not each is new, seen or invalid", told)
        self.check_same(len(self.dump(state)), told[0] if told else None, "what was good")

    def options_of_load(self):
        state = self.new_path()
        self.load(state, lines_of(10), "--exact", "--expected-urls", "5K",
                  "--false-positive-rate", "1e-3")
        self.check_same(self.stats(state)["ledger"], True, "--exact keeps a ledger")
        for arguments in (["--append", "--exact"], ["--expected-urls", "0"], ["--exactly"],
                          ["--false-positive-rate", "2"], ["a", "b"]):
            finished = self.run("load", self.new_path(), *arguments)
            self.expect(finished, t.EXIT_USAGE, f"load {arguments}")
        config = t.write_config(self.new_path(".toml"), {"crawl": {"seeds": [], "state_dir": "x"}})
        self.expect(self.run("load", self.new_path(), "--config", config), t.EXIT_BAD_CONFIG,
                    "load with a bad config", "crawl.seeds")

    def what_is_loaded_as_seen_is_not_queued(self):
        state = self.new_path()
        self.load(state, lines_of(10), "--exact")
        told = self.run("load", state, "--append", "--seen", stdin=jsonl(lines_of(30)))
        self.expect(told, t.EXIT_DONE, "load --seen")
        self.test.check("20 marked as seen, 10 seen before, 0 invalid" in told.stdout.decode(),
                        "load --seen", told.stdout)
        self.check_same(len(self.dump(state)), 10, "what waits after load --seen")
        self.check_same(self.load(state, lines_of(40), "--append"), (10, 30, 0), "after load --seen")
        self.check_same(self.stats(state)["seen_only"], 20, "the count of stats")

    def killed_while_loading(self):
        lines = lines_of(20_000)
        file = self.new_path(".jsonl")
        file.write_bytes(jsonl(lines))
        for delay in (0.02, 0.1, 0.2):
            state = self.new_path()
            with subprocess.Popen(self.command("load", state, file), cwd=self.directory,
                                  stdout=subprocess.DEVNULL) as loading:
                time.sleep(delay)  # any moment will do
                loading.kill()
            arguments = ["--append"] if (state / "MANIFEST").exists() else []
            told = self.load(state, lines, *arguments)
            self.test.check(told and told[0] + told[1] == 20_000 and told[2] == 0,
                            f"killed after {delay} s", told)
            got = {line["url"] for line in self.dump(state)}
            self.test.check_equal_sets(got, {line["url"] for line in lines}, "after the kill")

    # --- a crawl ---

    def a_crawl_goes_on_with_what_was_loaded(self):
        with SiteServer() as server:
            crawl = t.fast_crawl([server.url("/")], "first-state", scope={"max_pages": 1},
                                 url={"rules": ["sort_query"]})
            config = t.write_config(self.new_path(".toml"), crawl)
            t.expect_exit(self.test, t.run(self.options, self.directory, "crawl", config), 0,
                          "the crawl")
            first = self.directory / "first-state"
            waiting = self.dump(first)
            self.test.check_equal_sets({line["url"] for line in waiting},
                                       {server.url(f"/{i}") for i in range(5)}, "what waits")
            self.test.check(all(line["parent"] == server.url("/") and line["depth"] == 1
                                for line in waiting), "parent and depth", waiting)
            facts = self.stats(first)
            self.check_same((facts["admitted"], facts["completed"], facts["queued"]), (6, 1, 5),
                            "the counters of the crawl")
            self.check_same(facts["longest_queues"][0]["queued"], 5, "its queue")
            self.test.check(facts["profile"].endswith("sort_query"), "its rules", facts)
            # The rules come from its own crawl.toml.
            self.check_same(self.load(first, waiting, "--append"), (0, 5, 0), "its own dump")

            second = self.directory / "second-state"
            self.check_same(self.load(second, waiting, "--config", config), (5, 0, 0), "the load")
            crawl["crawl"].update(seeds=[server.url("/4")], state_dir="second-state")
            del crawl["scope"]["max_pages"]
            config = t.write_config(self.new_path(".toml"), crawl)
            t.expect_exit(self.test, t.run(self.options, self.directory, "resume", config), 0,
                          "the crawl of what was loaded")
            pages = t.read_pages(self.test, second)
            self.test.check_equal_sets({page["url"] for page in pages},
                                       {server.url(f"/{i}") for i in range(5)}, "the pages")
            self.check_same({page["parent"] for page in pages}, {server.url("/")}, "their parent")
            self.check_same(self.dump(second), [], "nothing waits")

    def a_crawl_that_runs_is_left_alone(self):
        with SiteServer() as server:
            config = t.write_config(self.new_path(".toml"), t.fast_crawl(
                [server.url("/")], "busy-state", politeness={"delay": "1h"}))
            running = t.Run(self.options, self.directory, "crawl", config)
            state = self.directory / "busy-state"
            t.wait_until(lambda: (state / "crawl.toml").exists(), "the crawl to begin")
            for arguments in (["dump"], ["load", "--append"], ["repair"], ["retry"], ["revive"]):
                finished = self.run(arguments[0], state, *arguments[1:])
                self.expect(finished, t.EXIT_FAILURE, f"{arguments[0]} of a crawl that runs",
                            f"in use .*{running.process.pid}")
            t.wait_until(lambda: (state / "control.sock").exists(), "the control socket")
            facts = json.loads(self.run("stats", state, "--json").stdout)
            self.check_same(facts["admitted"] >= 1, True, "stats, from the crawl that runs")
            running.signal(signal.SIGTERM)
            running.wait()
            self.expect(self.run("stats", state), t.EXIT_DONE, "stats after it")

    # --- what is set aside, and parked hosts ---

    def what_failed_is_shown(self):
        with FlakySite() as site:
            state = self.crawled(site)
            facts = self.stats(state)
            self.check_same((facts["set_aside_failed"], facts["held"], facts["requeued"],
                             facts["not_set_aside"], facts["hosts_given_up"]), (5, 0, 0, 0, 1),
                            "the counters")
            self.check_same((facts["succeeded"], facts["failed"], facts["queued"]), (1, 1, 4),
                            "succeeded, failed, queued")
            text = self.run("stats", state).stdout.decode()
            for pattern in (r"^succeeded +1 of these$", r"^held +0 set aside$",
                            r"^failed, kept +5 set aside$", r"^requeued +0 that were set aside$",
                            r"^hosts +.* 1 given up$"):
                self.test.check(re.search(pattern, text, re.MULTILINE), f"no {pattern!r}", text)

            dumped = self.dump(state)
            failed = [line for line in dumped if line["state"] == "failed"]
            self.check_same([line["state"] for line in dumped], ["queued"] * 4 + ["failed"] * 5,
                            "those set aside are behind those that wait")
            self.check_same({line["url"]: line["status"] for line in failed},
                            {site.url(path): status for path, status in FAILING.items()},
                            "those that failed")
            for line in failed:
                self.test.check(line["reason"] and line["parent"] == site.url("/") and
                                re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", line["since"]),
                                "the line of a failed URL", line)
            self.check_same(self.dump(state, "--state", "failed"), failed, "--state failed")
            self.check_same(self.dump(state, "--state", "held"), [], "--state held")
            self.check_same(self.dump(state, "--state", "queued", "--state", "failed"), dumped,
                            "two states")
            self.check_same(self.dump(state, "--state", "queued", "--state", "deferred"),
                            dumped[:4], "what waits")
            self.check_same(self.dump(state, "--state", "failed", "--host", site.name(LOST)), [],
                            "a host where none failed")
            self.expect(self.run("dump", state, "--state", "done"), t.EXIT_USAGE, "--state done",
                        '--state: "done" is not queued, deferred, held or failed')

    def what_failed_is_not_loaded_by_accident(self):
        with FlakySite() as site:
            state = self.crawled(site)
        lines = self.run("dump", state).stdout + jsonl(
            [{"url": "http://held.example/", "state": "held", "reason": "out of scope",
              "since": LATER}])
        for arguments, loaded, left_out in (((), (4, 0, 0), 6), (("--set-aside",), (10, 0, 0), 0)):
            other = self.new_path()
            finished = self.run("load", other, *arguments, stdin=lines)
            self.expect(finished, t.EXIT_DONE, f"load {arguments}")
            said = finished.stdout.decode()
            self.test.check("{} new, {} seen, {} invalid".format(*loaded) in said,
                            f"load {arguments}", said)
            told = re.search(r"^(\d+) held or failed URLs were not loaded; --set-aside", said,
                             re.MULTILINE)
            self.check_same(int(told.group(1)) if told else 0, left_out, f"left out {arguments}")
            got = self.dump(other)
            self.check_same((len(got), {line["state"] for line in got}), (loaded[0], {"queued"}),
                            f"what was loaded {arguments}")
        for line, pattern in (({"since": "now"}, '"since" must be'), ({"status": -1}, '"status"'),
                              ({"reason": 5}, '"reason" must be a string'),
                              ({"state": "failed", "not_before": LATER}, 'there is a "not_before"')):
            finished = self.run("load", self.new_path(),
                                stdin=jsonl([{"url": "http://x.example/", **line}]))
            self.expect(finished, t.EXIT_FAILURE, f"load of {line}", pattern)

    def what_failed_is_queued_again(self):
        with FlakySite() as site:
            state = self.crawled(site)
            left = len(FAILING)
            for arguments, paths in (
                    (["--status", "403"], []), (["--status", "4xx", "--held"], []),
                    (["--status", "404", "--reason", "nonsense"], []),
                    (["--host", site.name(LOST)], []), (["--reason", "nonsense"], []),
                    (["--status", "410", "--status", "500-501"], ["/410", "/500"]),
                    (["--status", "410"], []),
                    (["--status", "4XX", "--host", site.name("127.0.0.1"), "--reason", "status"],
                     ["/404"]), (["--all", "--reason", "status"], ["/505"])):
                left -= len(paths)
                finished = self.run("retry", state, *arguments)
                self.expect(finished, t.EXIT_DONE, f"retry {arguments}")
                said = finished.stdout.decode()
                expected = (f"{len(paths)} URL.* queued again; still set aside: {left} failed and 0 "
                            f"held\nto resume: .*trawl resume {re.escape(str(state))}\n" if paths else
                            f"nothing to retry: .*\\({left} failed and 0 held\\)\nto list them: .*trawl "
                            f"frontier dump {re.escape(str(state))} .*\n")
                self.test.check(re.fullmatch(expected, said), f"retry {arguments}", said)
                queued = {line["url"] for line in self.dump(state, "--state", "queued")}
                self.test.check({site.url(path) for path in paths} <= queued,
                                f"retry {arguments}: not queued", queued)
            self.check_same({line["url"]: line["status"] for line in
                             self.dump(state, "--state", "failed")}, {site.url("/lost"): 0}, "left")
            facts = self.stats(state)
            self.check_same((facts["requeued"], facts["set_aside_failed"]), (4, 1), "the counters")

            asked = len(site.requests)
            site.broken = False
            self.resume(state)
            paths = [request.path for request in site.requests[asked:]
                     if request.path != "/robots.txt" and request.host.startswith("127.0.0.1")]
            self.check_same(sorted(paths), ["/404", "/410", "/500", "/505"], "fetched again")
            self.check_same(self.stats(state)["succeeded"] >= 5, True, "succeeded")

    def resume_retries_what_failed(self):
        with FlakySite() as site:
            state = self.crawled(site)
            self.run("revive", state)
            site.broken = False
            again = self.resume(state, "--retry-failed")
            self.test.check("queued 5 failed URLs again" in again.text,
                            "resume does not report them", again.tail())
            facts = self.stats(state)
            self.check_same((facts["set_aside_failed"], facts["requeued"], facts["queued"],
                             facts["succeeded"]), (0, 5, 0, 10), "after it")
            last = {path: lines[-1]["status"] for path, lines in
                    t.by_path(t.read_pages(self.test, state)).items()}
            self.check_same({path: last.get(path) for path in FAILING},
                            {path: 200 for path in FAILING}, "the pages")
            again = self.resume(state, "--retry-failed")
            self.test.check("queued 0 failed URLs again" in again.text,
                            "nothing failed", again.tail())
            nothing = self.run("retry", state)
            self.expect(nothing, t.EXIT_DONE, "retry of nothing")
            self.test.check(re.fullmatch(rb"nothing to retry: .* has no failed or held URLs\n",
                                         nothing.stdout), "retry of nothing", nothing.stdout)

    def usage_of_retry(self):
        state = self.new_path()
        self.load(state, lines_of(3))
        for arguments, pattern in (
                (["--status", "4040"], '--status: "4040" is not an HTTP status such as 404, 5xx or'),
                (["--status", ""], "--status"), (["--status", "5x"], "--status: "),
                (["--status", "0xx"], "--status: "), (["--status", "500-"], "--status: "),
                (["--status", "-404"], "--status: "), (["--status", "503-500"], "ends before it"),
                (["--status", "500-99"], "--status: "), (["--reason", ""], "--reason"),
                (["--host", "http://x.example/"], '--host: .* is not a host'),
                (["--host", ""], "--host"), (["--held", "--all"], "--held|--all"),
                (["more"], "more")):
            self.expect(self.run("retry", state, *arguments), t.EXIT_USAGE, f"retry {arguments}",
                        pattern)
        self.expect(self.run("retry"), t.EXIT_USAGE, "retry of no state", "STATE_DIR")
        embedded = self.run("retry", state)  # no crawl's config is in it
        self.expect(embedded, t.EXIT_DONE, "retry of what was loaded")
        self.check_same(embedded.stdout.decode(),
                        f"nothing to retry: {state} has no failed or held URLs\n", "it says")

    def parked_hosts_are_revived(self):
        with FlakySite() as site:
            state = self.crawled(site)
            lost, good = site.name(LOST), site.name("127.0.0.1")
            wrong = self.run("revive", state, good, "nowhere.example")
            self.expect(wrong, t.EXIT_FAILURE, "revive of others",
                        f"trawl: {re.escape(good)} is not parked\n",
                        "trawl: nowhere.example has no waiting URLs in this crawl")
            self.check_same(wrong.stdout, b"", "revive of others")
            self.check_same(self.stats(state)["hosts_given_up"], 1, "none was revived")
            for arguments in (["http://x.example/"], [""], ["--host", lost]):
                self.expect(self.run("revive", state, *arguments), t.EXIT_USAGE,
                            f"revive {arguments}")
            some = self.run("revive", state, lost, "nowhere.example")
            self.expect(some, t.EXIT_DONE, "revive of one of two", "nowhere.example has no waiting URLs")
            self.check_same(re.sub(r"(?m)^to resume: \S*trawl ", "to resume: trawl ",
                                   some.stdout.decode()),
                            f"1 host revived; resume the crawl to fetch the queued URLs\n  {lost}\n"
                            f"to resume: trawl resume {state}\n", "revive")
            self.check_same(self.stats(state)["hosts_given_up"], 0, "it was revived")
            none = self.run("revive", state)
            self.expect(none, t.EXIT_DONE, "revive of none")
            self.check_same(none.stdout.decode(),
                            f"nothing to revive: {state} has no parked hosts\n", "revive of none")
            site.broken = False
            self.resume(state)
            self.check_same(self.dump(state, "--host", lost), [], "its queue")
            pages = t.by_path(t.read_pages(self.test, state))
            self.test.check(all(pages[f"/lost/{i}"][-1]["status"] == 200 for i in range(4)),
                            "its pages", pages.keys())

    def crawled(self, site):
        """The state of a crawl that has met what fails, and has parked a host."""
        state = self.new_path("-state")
        config = t.write_config(self.new_path(".toml"), t.fast_crawl(
            [site.url("/")], state, scope={"type": "any"}, fetch={"retries": 5, "retry_delay": "10ms", "threads": 1},
            politeness={"per_host_connections": 1, "host_failures": 3, "host_backoff": "1ms",
                        "max_host_backoff": "1ms"}))
        crawl = t.run(self.options, self.directory, "crawl", config)
        self.test.check(crawl.exit_code in (t.EXIT_DONE, 5), f"the crawl: {crawl.exit_code}",
                        crawl.tail())
        return state

    def resume(self, state, *arguments):
        finished = t.run(self.options, self.directory, "resume", state, *arguments)
        self.test.check(finished.exit_code in (t.EXIT_DONE, 5), f"resume: {finished.exit_code}",
                        finished.tail())
        return finished

    # --- damage ---

    def without_a_manifest(self):
        state, lines = self.new_path(), lines_of(500)
        self.load(state, lines)
        before = self.dump(state)
        for damage in ("cut", "gone"):
            manifest = state / "MANIFEST"
            if damage == "cut":
                manifest.write_bytes(manifest.read_bytes()[:-3])
            else:
                manifest.unlink()
            finished = self.run("stats", state)
            self.expect(finished, t.EXIT_DONE, f"{damage}: stats", "warning: .*MANIFEST")
            self.test.check(re.search(r"^queued +450$", finished.stdout.decode(), re.MULTILINE),
                            "stats", finished.stdout)
            self.test.check(self.dump(state) == before, f"{damage}: another dump")
            host = "host3.example:8080"
            self.check_same(self.dump(state, "--host", host),
                            [line for line in before if line["host"] == host],
                            f"{damage}: of a host")
            self.expect(self.run("load", state, "--append"), t.EXIT_FAILURE, f"{damage}: --append")
            self.expect(self.run("repair", state), t.EXIT_FAILURE, f"{damage}: repair", "MANIFEST")
        self.check_same(self.load(self.new_path(), before), (500, 0, 0), "loaded again")

    def repair(self):
        state, lines = self.new_path(), lines_of(400)
        checkpoints = self.with_checkpoints()
        self.load(state, lines[:100], *checkpoints)
        for end in (200, 300, 400):
            self.load(state, lines[:end], "--append", *checkpoints)
        intact = self.run("repair", state)
        self.expect(intact, t.EXIT_DONE, "repair of what is whole")
        self.test.check(b"is intact: nothing was changed" in intact.stdout, "repair", intact.stdout)
        checkpoints = list(state.glob("filter-*.ckpt"))
        self.check_same(len(checkpoints), 2, "checkpoints kept")
        for file in checkpoints:
            file.write_bytes(file.read_bytes()[:-100])
        before = self.dump(state)
        self.check_same(len(before), 400, "the dump without a checkpoint")
        refused = self.run("load", state, "--append", stdin=jsonl(lines))
        self.expect(refused, t.EXIT_FAILURE, "all checkpoints damaged", "trawl frontier repair")
        repaired = self.run("repair", state)
        self.expect(repaired, t.EXIT_DONE, "repair")
        self.test.check(re.search(rb"repaired: \d+ URLs", repaired.stdout), "repair reports",
                        repaired.stdout)
        self.check_same(self.load(state, lines, "--append"), (0, 400, 0), "after the repair")
        self.test.check(self.dump(state) == before, "the repair changed the queues")

    def nothing_there(self):
        empty = self.new_path()
        empty.mkdir()
        for state in (empty, self.directory / "missing"):
            for command in ("stats", "dump", "retry", "revive"):
                self.expect(self.run(command, state), t.EXIT_FAILURE, f"{command} of nothing",
                            re.escape(str(state)))
        self.check_same(list(empty.iterdir()), [], "what is made in an empty directory")
        self.expect(self.run("repair", self.directory / "missing"), t.EXIT_FAILURE,
                    "repair of nothing", "missing")
        self.test.check(not (self.directory / "missing").exists(), "a directory was made")

    # --- output ---

    def pipes(self):
        state = self.new_path()
        self.load(state, lines_of(20_000))
        for ignored in (False, True):
            with subprocess.Popen(self.command("dump", state), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, restore_signals=not ignored) as dump:
                dump.stdout.readline()
                dump.stdout.close()
                said = dump.stderr.read()
            self.test.check(not said, "a closed pipe is not an error", said)
            self.test.check(dump.returncode in (t.EXIT_FAILURE, -signal.SIGPIPE),
                            "a closed pipe: exit code", dump.returncode)
        with open("/dev/full", "wb", buffering=0) as full:
            for arguments in (["dump", state], ["stats", state]):
                finished = self.run(*arguments, capture_output=False, stdout=full,
                                    stderr=subprocess.PIPE)
                self.expect(finished, t.EXIT_NO_SPACE, f"{arguments[0]} to a full disk",
                            "standard output")

    def stats_as_text(self):
        state = self.new_path()
        self.load(state, lines_of(1000))
        text = self.run("stats", state).stdout.decode()
        for pattern in (r"^checkpoint +none$", r"^ +1000 URLs to replay$", r"^filter +1 layer, room for 1000000 "):
            self.test.check(re.search(pattern, text, re.MULTILINE), f"no {pattern!r}", text)
        state = self.new_path()
        self.load(state, lines_of(1000), *self.with_checkpoints())
        text = self.run("stats", state, "--hosts", 3).stdout.decode()
        for pattern in (r"^admitted +1000 URLs$", r"^queued +900$", r"^deferred +100$",
                        r"^hosts +\d+ with URLs queued, 0 blocked, 0 given up$",
                        r"^checkpoint +filter-\d+\.ckpt, .* 1000 URLs$", r"^ledger +no$",
                        r"^ +\d+  host\d+\.example(:8080)?  active$"):
            self.test.check(re.search(pattern, text, re.MULTILINE), f"no {pattern!r}", text)
        self.check_same(len(re.findall(r"  active$", text, re.MULTILINE)), 3, "--hosts 3")
        facts = self.stats(state, "--hosts", 0)
        self.check_same(facts["longest_queues"], [], "--hosts 0")
        self.test.check(facts["hosts"] == len({line["host"] for line in lines_of(1000)
                                               if line["state"] == "queued"}), "hosts", facts)
        self.check_same(facts["checkpoints"][-1]["admissions"], 1000, "of the checkpoint")

    def memory(self):
        if self.options.sanitized:
            return
        state, file = self.new_path(), self.new_path(".jsonl")
        peaks = []
        for count in (20_000, 400_000):
            file.write_bytes(jsonl({"url": f"http://h{i % 100}.example/{'x' * 100}/{i}"}
                                   for i in range(count)))
            self.peak_memory("load", state, file, *(["--append"] if peaks else []))
            peaks.append(self.peak_memory("dump", state))
        # The dump is of 100 MB.
        self.test.check(peaks[1] < peaks[0] + (30 << 20), "dump takes memory by the URL", peaks)


class SiteServer:
    """A page with links to five others."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                links = range(5) if self.path == "/" else []
                body = "".join(f"<a href='/{i}'>x</a>" for i in links).encode()
                self.send_response(404 if self.path == "/robots.txt" else 200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_address[1]}{path}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


LOST = "127.0.0.2"
FAILING = {"/404": 404, "/410": 410, "/500": 500, "/505": 505, "/lost": 0}


class FlakySite(ScriptedServer):
    """A host with failing pages, and one that cuts each connection until it recovers."""

    def __init__(self):
        self.broken = True
        super().__init__(self.answer_to, addresses=("127.0.0.1", LOST))

    def answer_to(self, request):
        if request.path == "/robots.txt":
            return NOT_FOUND
        if request.path == "/":
            return answer(links([*FAILING, *(self.url(f"/lost/{i}", LOST) for i in range(4))]))
        if not self.broken:
            return answer("<p>" + request.path)
        if request.host.startswith(LOST + ":"):
            return None
        if request.path == "/lost":
            return b"nonsense\r\n\r\n"
        return answer("", f"{request.path[1:]} Oops")

    def name(self, host):
        return f"{host}:{self.port}"


HELPERS = {"crawled", "resume", "new_path", "command", "run", "expect", "load", "dump", "stats", "peak_memory",
           "check_same"}
MEASURE = """
import os, sys
process = os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(process, 0)
open(sys.argv[1], "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def frontier_command(test, directory, options):
    t.run_cases(test, FrontierCommand(test, directory, options), HELPERS, options.only)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--sanitized", action="store_true", help="memory is not measured")
    arguments.add_argument("only", nargs="*", help="run these cases alone")
    t.main(frontier_command, arguments.parse_args())
