"""Kills crawls of several kinds again and again and checks what came out of them.

N1: a crawl that is killed with SIGKILL at any moment and resumed loses no URL, and fetches at most
those twice that were in flight at the kill. Every reported page has its whole record in a WARC
file; a kill tears at most the last record of the file that is open, and the next run repairs it.
"""

import collections
import datetime
import json
import pathlib
import random
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import trawl_testing as t  # noqa: E402
import warc_reader  # noqa: E402

CONNECTIONS = 8
LEASES = CONNECTIONS + 32  # some are of pages that are worked on, or not yet durable


class Round:
    """One crawl from its start to its end, with kills in between."""

    TABLES = {"output": {"warc": True, "warc_size": "256KiB"}}

    def __init__(self, test, directory, options, rng, number, kills):
        self.test, self.directory, self.options, self.rng = test, directory, options, rng
        self.number, self.kills_wanted = number, kills
        self.state_dir = directory / f"state-{number}"
        # Many large pages would take long: each kill reads all WARC files.
        sizes = [0, t.SHARED_BYTES] if options.pages < 10_000 else [0]
        self.site = t.SampleSite(options, directory, options.pages, seed=rng.randrange(1 << 30),
                                 page_bytes=rng.choice(sizes))
        self.config = self.write_config("crawl")
        self.ends = []  # of each run: how many requests the site's log had
        self.kinds = []

    def write_config(self, name, without=()):
        tables = t.fast_crawl(self.site.seeds, self.state_dir,
                              **{table: {key: value for key, value in keys.items()
                                         if key not in without}
                                 for table, keys in self.TABLES.items()})
        tables["fetch"]["connections"] = CONNECTIONS
        return t.write_config(self.directory / f"{name}-{self.number}.toml", tables)

    def requests(self):
        return len(self.site.requests())

    def start(self):
        """Goes on as a user would: the same command at whatever moment the last run was killed."""
        has_saved_config = (self.state_dir / "crawl.toml").exists()
        resume = has_saved_config and self.rng.choice([True, False])
        command = ["resume", self.state_dir] if resume else ["crawl", self.config, "--or-resume"]
        return t.Run(self.options, self.directory, *command)

    def newest_checkpoint(self):
        return max((p.name for p in self.state_dir.glob("filter-*.ckpt")), default="")

    def wait_for_moment(self, run):
        """Returns at the moment to kill; the run may have ended by then."""
        kind = self.rng.choices(["start", "checkpoint", "random"], [2, 2, 6])[0]
        self.kinds.append(kind)
        if kind == "start":
            time.sleep(self.rng.uniform(0, 0.1))
            return
        before = self.site.log_size()
        line = before / max(1, self.requests()) if before else 60
        left = max(0, len(self.site.reachable) - len(set(self.site.requests())))
        share = left / (self.kills_wanted - len(self.ends) + 1)
        limit = before + line * self.rng.uniform(0, 1.5 * share)
        checkpoint = self.newest_checkpoint()

        def is_time():
            if run.ended() or self.site.log_size() > limit:
                return True
            return kind == "checkpoint" and self.newest_checkpoint() != checkpoint

        t.wait_until(is_time, f"progress\n{run.tail()}")
        time.sleep(self.rng.choice([0, self.rng.uniform(0, 0.02)]))

    def go(self):
        """Returns the number of kills."""
        while len(self.ends) < self.kills_wanted:
            run = self.start()
            self.wait_for_moment(run)
            run.kill()
            self.site.wait_until_quiet()
            if run.exit_code == t.EXIT_DONE:
                break  # ended before the kill
            if run.exit_code != -9:
                raise t.Failure(f"exit code {run.exit_code} after {len(self.ends)} kills\n"
                                f"{run.tail()}")
            self.ends.append(self.requests())
            self.verify_records(after_kill=True)
        else:
            self.kinds.append("never")
            run = self.start()
            run.wait(self.options.timeout)
            t.expect_exit(self.test, run, t.EXIT_DONE, "the last run")
        return len(self.ends)

    def verify_records(self, after_kill):
        """By what is in the files, half lines and a half record at the end left out."""
        output = self.state_dir / "output"
        if not self.TABLES.get("output") or after_kill and not warc_reader.warc_files(output):
            return
        records = warc_reader.read_warcs(self.test, output, closed=not after_kill, torn=after_kill)
        lines = (output / "pages.jsonl").read_bytes().split(b"\n")[:-1]
        warc_reader.check_places(self.test, [json.loads(line) for line in lines], records,
                                 crashed=True)
        if not after_kill:
            warc_reader.check_index(self.test, output, records)

    def runs(self):
        """The requests of each run."""
        requests, runs, start = self.site.requests(), [], 0
        for end in [*self.ends, len(requests)]:
            runs.append(requests[start:end])
            start = end
        return runs

    def verify(self):
        test = self.test
        pages = t.check_complete(test, self.site, self.state_dir)
        self.verify_records(after_kill=False)
        again = self.verify_repeats()
        kinds = ", ".join(f"{n} {kind}" for kind, n in collections.Counter(self.kinds[:-1]).items())
        print(f"  {type(self).__name__.lower()}: {len(self.ends)} kills ({kinds}), "
              f"{self.requests()} requests for {len(self.site.reachable)} URLs, {again} again, "
              f"{len(pages)} lines of output", flush=True)

    def verify_repeats(self):
        test, runs = self.test, self.runs()
        last_run = {}  # URL to the run that asked for it last
        again = [0] * len(runs)  # how many of a run's URLs were asked for again later
        for number, urls in enumerate(runs):
            test.check(not t.repeats(urls), f"run {number} asked twice for",
                       sorted(t.repeats(urls).items())[:10])
            for url in urls:
                if url in last_run and last_run[url] != number:
                    again[last_run[url]] += 1
                last_run[url] = number
        for number, count in enumerate(again):
            test.check(count <= LEASES,
                       f"{count} URLs of run {number} were fetched again: more than the "
                       f"{LEASES} that can be leased (killed at: {self.kinds[number]})")
        return sum(again)


class Delayed(Round):
    """Hosts wait between two requests, and so they do after each restart."""

    TABLES = {"politeness": {"delay": "5ms", "per_host_connections": 2}}


class Ledger(Round):
    """Each URL has a record in the ledger, which alone decides what was seen."""

    TABLES = {"frontier": {"ledger": True}, 
              "filter": {"mode": "exact", "expected_urls": 10, "max_memory": "4KiB"}}


class Recrawled(Round):
    """Pages are fetched again and again, and those due are never forgotten."""

    def __init__(self, test, directory, options, rng, number, kills):
        # Long enough for a crawl to be done with what is due before it is due again.
        self.interval = max(1.0, options.pages / 500)
        self.TABLES = {"recrawl": {"interval": "never", "adaptive": False, "rules": [
            {"match": "*/docs/*", "interval": f"{self.interval:g}s"}]}}
        self.last_run_begins = 0
        super().__init__(test, directory, options, rng, number, kills)
        self.recrawled = {url for url in self.site.reachable if "/docs/" in url}

    def go(self):
        kills = super().go()
        for _ in range(max(1, kills // 2)):
            self.begin_another_run("recrawl")
            before = self.site.log_size()
            run = self.start()
            limit = before + self.rng.uniform(0, 60 * len(self.recrawled))
            t.wait_until(lambda: run.ended() or self.site.log_size() > limit, "progress")
            kills += not run.ended()
            run.kill()
            self.site.wait_until_quiet()
        self.begin_another_run("the last")
        self.last_run_begins = self.requests()
        last = t.run(self.options, self.directory, "resume", self.state_dir)
        t.expect_exit(self.test, last, t.EXIT_DONE, "the last run")
        return kills

    def begin_another_run(self, kind):
        """When all that is to be fetched again is due."""
        self.ends.append(self.requests())
        self.kinds.append(kind)
        time.sleep(self.interval + 0.1)

    def verify_repeats(self):
        test, requests = self.test, self.site.requests()
        test.check_equal_sets(set(requests[self.last_run_begins:]), self.recrawled,
                              "what is due, and nothing else, is fetched again")
        times = collections.defaultdict(list)
        for page in t.read_pages(test, self.state_dir):
            times[t.canonical_key(page["url"])].append(
                datetime.datetime.fromisoformat(page["fetched_at"].replace("Z", "+00:00")))
        early = [url for url, each in times.items()
                 for sooner, later in zip(sorted(each), sorted(each)[1:])
                 if (later - sooner).total_seconds() < self.interval]
        most = LEASES * len(self.ends)
        test.check(len(early) <= most, f"{len(early)} pages were fetched again too early: more "
                   f"than the {most} that can have been in flight", early[:10])
        more = {url for url, each in times.items() if len(each) > 1} - self.recrawled
        test.check(len(more) <= most, "fetched again without a rule", sorted(more)[:10])
        return len(requests) - len(set(requests))


class Limited(Round):
    """A limit holds over kills, and a run without it fetches the rest."""

    LIMIT, SHARE = "", 0  # of all pages

    def __init__(self, test, directory, options, rng, number, kills):
        self.limit = int(self.SHARE * options.pages)
        self.TABLES = {"scope": {self.LIMIT: self.limit}}
        super().__init__(test, directory, options, rng, number, kills)

    def go(self):
        kills = super().go()
        self.ends.append(self.requests())
        self.verify_limit(kills)
        self.kinds.append("without a limit")
        run = t.run(self.options, self.directory, "resume",
                    self.write_config("unlimited", without=[self.LIMIT]))
        t.expect_exit(self.test, run, t.EXIT_DONE, "the run without a limit")
        return kills

    def check_limit(self, urls, most, what):
        self.test.check(len(urls) <= most,
                        f"{self.LIMIT} = {self.limit}: {len(urls)} requests {what}, more than {most}")

    def by_host(self, urls):
        return [[url for url in urls if urllib.parse.urlsplit(url).netloc == netloc]
                for netloc in {urllib.parse.urlsplit(seed).netloc for seed in self.site.seeds}]


class LimitedPages(Limited):
    LIMIT, SHARE = "max_pages", 0.7

    def verify_limit(self, kills):
        self.check_limit(self.site.requests(), self.limit + kills * LEASES, "in all")
        self.test.check(len(set(self.site.requests())) >= self.limit, "ended before its limit")


class LimitedPagesOfHosts(Limited):
    LIMIT, SHARE = "max_pages_per_host", 0.3

    def verify_limit(self, kills):
        for urls in self.by_host(self.site.requests()):
            self.check_limit(urls, self.limit + kills * LEASES, "to a host")


class LimitedUrlsOfHosts(Limited):
    LIMIT, SHARE = "max_urls_per_host", 0.2

    def verify_limit(self, kills):
        for run in self.runs():
            for urls in self.by_host(run):
                self.check_limit(urls, self.limit + 1, "to a host in a run")  # and the seed


ROUNDS = {round_.__name__.lower(): round_ for round_ in
          (Round, Delayed, Ledger, Recrawled, LimitedPages, LimitedPagesOfHosts,
           LimitedUrlsOfHosts)}


def crash(test, directory, options):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed} (repeat with --seed {seed})", flush=True)
    rng = random.Random(seed)
    for kind in options.rounds:
        crash_often(test, directory, options, rng, ROUNDS[kind])


def crash_often(test, directory, options, rng, kind):
    directory = directory / kind.__name__.lower()
    directory.mkdir()
    begun = time.monotonic()
    kills, number = 0, 0
    while kills < options.kills:
        # A crawl that ended before its share of the kills is followed by another one.
        number += 1
        crawl = kind(test, directory, options, rng, number, options.kills - kills)
        with crawl.site:
            done = crawl.go()
            crawl.verify()
        kills += done
        if number > options.kills + 5:
            raise t.Failure(f"{number} crawls ended, but only {kills} kills hit: more --pages")
    print(f"{kind.__name__.lower()}: {kills} kills in {number} crawls, "
          f"{time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--kills", type=int, default=12)
    arguments.add_argument("--pages", type=int, default=2000)
    arguments.add_argument("--rounds", nargs="+", choices=ROUNDS, default=["round"],
                           help="which crawls are killed; so often each")
    arguments.add_argument("--seed", type=int, help="repeat the run that printed this")
    arguments.add_argument("--timeout", type=float, default=60, help="of the last run, seconds")
    t.main(crash, arguments.parse_args())
