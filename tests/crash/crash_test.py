"""Kills a crawl again and again and checks what came out of it.

N1: a crawl that is killed with SIGKILL at any moment and resumed loses no URL, and fetches at most
those twice that were in flight at the kill. Whatever page is told of has its whole record in a WARC
file; a kill tears at most the last record of the file that is open, and the next run mends it.
"""

import collections
import json
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import trawl_testing as t  # noqa: E402
import warc_reader  # noqa: E402

CONNECTIONS = 8


class Round:
    """One crawl from its start to its end, with kills in between."""

    def __init__(self, test, directory, options, rng, number, kills):
        self.test, self.directory, self.options, self.rng = test, directory, options, rng
        self.kills_wanted = kills
        self.state_dir = directory / f"state-{number}"
        self.site = t.SampleSite(options, directory, options.pages, seed=rng.randrange(1 << 30))
        self.config = t.write_config(directory / f"crawl-{number}.toml", t.fast_crawl(
            self.site.seeds, self.state_dir, fetch={"connections": CONNECTIONS},
            output={"warc": True, "warc_size": "256KiB"}))
        self.ends = []  # of each run: how many requests the site's log had
        self.kinds = []

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
        if after_kill and not warc_reader.warc_files(output):
            return
        records = warc_reader.read_warcs(self.test, output, closed=not after_kill, torn=after_kill)
        lines = (output / "pages.jsonl").read_bytes().split(b"\n")[:-1]
        warc_reader.check_places(self.test, [json.loads(line) for line in lines], records,
                                 crashed=True)
        if not after_kill:
            warc_reader.check_index(self.test, output, records)

    def verify(self):
        test = self.test
        pages = t.check_complete(test, self.site, self.state_dir)
        self.verify_records(after_kill=False)
        requests = self.site.requests()
        runs, start = [], 0
        for end in [*self.ends, len(requests)]:
            runs.append(requests[start:end])
            start = end
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
            test.check(count <= CONNECTIONS,
                       f"{count} URLs of run {number} were fetched again: more than the "
                       f"{CONNECTIONS} that can be in flight (killed at: {self.kinds[number]})")
        kinds = ", ".join(f"{n} {kind}" for kind, n in collections.Counter(self.kinds[:-1]).items())
        print(f"  {len(self.ends)} kills ({kinds}), {len(requests)} requests for "
              f"{len(self.site.reachable)} URLs, {sum(again)} again, {len(pages)} lines of output",
              flush=True)


def crash(test, directory, options):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed} (repeat with --seed {seed})", flush=True)
    rng = random.Random(seed)
    kills, number = 0, 0
    while kills < options.kills:
        # A crawl that ended before its share of the kills is followed by another one.
        number += 1
        crawl = Round(test, directory, options, rng, number, options.kills - kills)
        with crawl.site:
            done = crawl.go()
            crawl.verify()
        kills += done
        if number > options.kills + 5:
            raise t.Failure(f"{number} crawls ended, but only {kills} kills hit: more --pages")
    print(f"{kills} kills in {number} crawls")


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--kills", type=int, default=12)
    arguments.add_argument("--pages", type=int, default=2000)
    arguments.add_argument("--seed", type=int, help="repeat the run that printed this")
    arguments.add_argument("--timeout", type=float, default=60, help="of the last run, seconds")
    t.main(crash, arguments.parse_args())
