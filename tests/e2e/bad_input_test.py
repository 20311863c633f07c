"""Bad input gets a clear message and the right exit code, and leaves the state as it was."""

import contextlib
import hashlib
import os
import pathlib
import re
import signal
import subprocess

import trawl_testing as t


class BadInput:
    def __init__(self, test, directory, options):
        self.test, self.directory, self.options = test, directory, options
        self.count = 0

    # --- helpers ---

    def new_state_dir(self):
        self.count += 1
        return self.directory / f"state-{self.count}"

    def config(self, seeds, state_dir=None, **tables):
        state_dir = state_dir or self.new_state_dir()
        path = self.directory / f"config-{self.count}.toml"
        return t.write_config(path, t.fast_crawl(seeds, state_dir, **tables))

    def raw_config(self, text):
        self.count += 1
        path = self.directory / f"config-{self.count}.toml"
        path.write_text(text)
        return path

    def run(self, *arguments, timeout=60):
        return t.run(self.options, self.directory, *arguments, timeout=timeout)

    def expect(self, finished, code, what, *patterns):
        """The exit code, and what the message must say."""
        t.expect_exit(self.test, finished, code, what)
        for pattern in patterns:
            self.test.check(re.search(pattern, finished.text, re.IGNORECASE),
                            f"{what}: the message does not match {pattern!r}", finished.tail())

    def start_and_wait(self, site, config, requests):
        started = t.Run(self.options, self.directory, "crawl", config)
        t.wait_until(lambda: started.ended() or len(site.requests()) >= requests, "requests")
        if started.ended():
            raise t.Failure(f"the crawl ended early\n{started.tail()}")
        return started

    # --- command line and config ---

    def usage(self):
        self.expect(self.run("crawl"), t.EXIT_USAGE, "crawl without a config")
        self.expect(self.run("krawl", "x.toml"), t.EXIT_USAGE, "an unknown command")
        missing = self.directory / "no-such.toml"
        self.expect(self.run("crawl", missing), t.EXIT_BAD_CONFIG, "a missing config",
                    re.escape(str(missing)))

    def configs(self):
        state = f'state_dir = "{self.new_state_dir()}"'
        cases = [
            ("a seed that is not a URL", f'[crawl]\n{state}\nseeds = ["no url at all"]\n',
             [r":3:\d+: ", "seeds", "no url at all"]),
            ("a seed of another scheme", f'[crawl]\n{state}\nseeds = [\n  "ftp://example.org/"]\n',
             [r":[34]:\d+: ", "ftp"]),
            ("an empty seed list", f"[crawl]\n{state}\nseeds = []\n", ["seeds"]),
            ("no seeds at all", f"[crawl]\n{state}\n", ["seeds"]),
            ("an unknown key", f'[crawl]\n{state}\nseeds = ["http://127.0.0.1/"]\n'
             "[fetch]\n  conections = 3\n", [r":5:3: ", "conections", r"\bconnections\b"]),
            ("a value of the wrong type", f'[crawl]\n{state}\nseeds = ["http://127.0.0.1/"]\n'
             '[fetch]\nconnections = "many"\n', [r":5:\d+: ", "connections"]),
            ("two errors", f"[crawl]\n{state}\nsedes = []\n[politeness]\ndelay = 5\n",
             [r":3:\d+: ", r":5:\d+: "]),
            ("no TOML", "[crawl\nseeds = 1\n", [r":[12]:\d+: "]),
        ]
        for what, text, patterns in cases:
            config = self.raw_config(text)
            self.expect(self.run("crawl", config), t.EXIT_BAD_CONFIG, what,
                        re.escape(config.name), *patterns)
        config = self.config(["http://127.0.0.1/"])
        self.expect(self.run("crawl", config, "--set", "fetch.conections=3"), t.EXIT_BAD_CONFIG,
                    "an unknown key in --set", "conections", r"\bconnections\b")

    def lists(self):
        """Each line of a seed file or blocklist that is wrong is named."""
        seeds = self.directory / "seeds.txt"
        seeds.write_text("http://127.0.0.1:1/\t5\nhttp://127.0.0.1:1/ # fine\nno url\n")
        state = f'state_dir = "{self.new_state_dir()}"'
        for command in ("check-config", "crawl"):
            self.expect(self.run(command, self.raw_config(f'[crawl]\n{state}\nseed_file = "{seeds}"\n')),
                        t.EXIT_BAD_CONFIG, f"{command}, a bad seed file", r"seeds\.txt:1:\d+: .*5",
                        r"seeds\.txt:3:\d+: .*no url", "2 errors")
        blocked = self.directory / "blocked.txt"
        blocked.write_text("two words\nok.test\nhttp://[\n" + "two words\n" * 200)
        config = self.config(["http://127.0.0.1:1/"], scope={"blocklist": [str(blocked)]})
        for command in ("check-config", "crawl"):
            self.expect(self.run(command, config),
                        t.EXIT_BAD_CONFIG if command == "check-config" else t.EXIT_FAILURE,
                        f"{command}, a bad blocklist", r"blocked\.txt:1: ", r"blocked\.txt:3: ",
                        "and 102 more lines")

    def unreachable_seeds(self):
        seeds = [f"http://127.0.0.1:{t.free_port()}/", f"http://127.0.0.2:{t.free_port()}/"]
        state_dir = self.new_state_dir()
        finished = self.run("crawl", self.config(
            seeds, state_dir, politeness={"robots_backoff": "10ms", "robots_retries": 2}))
        self.expect(finished, t.EXIT_INCOMPLETE, "unreachable seeds", "refused|connect",
                    "|".join(re.escape(seed) for seed in seeds))
        for page in t.read_pages(self.test, state_dir):
            self.test.check(page["error"], "a page that cannot have been fetched", page)

    # --- state directories ---

    def state_dir_in_use(self, site):
        state_dir = self.new_state_dir()
        config = self.config(site.seeds, state_dir, politeness={"delay": "20ms"})
        before = len(site.requests())
        first = self.start_and_wait(site, config, before + 20)
        for command in ("resume", "crawl"):
            self.expect(self.run(command, config), t.EXIT_FAILURE, f"{command} while in use",
                        re.escape(str(state_dir)))
        self.expect(self.run("resume", config), t.EXIT_FAILURE, "resume while in use",
                    "in use|another process|locked")
        self.test.check(not first.ended(), "the first process continues", first.tail())
        first.signal(signal.SIGTERM)
        first.wait()
        t.expect_exit(self.test, first, t.EXIT_INTERRUPTED, "the first process, interrupted")
        saved = fingerprints(state_dir)
        self.expect(self.run("crawl", config), t.EXIT_FAILURE, "crawl where a crawl is",
                    r"trawl resume \S+", re.escape(str(state_dir)))
        self.test.check(fingerprints(state_dir) == saved, "refusing changed the state")
        t.expect_exit(self.test, self.run("resume", config),
                      t.EXIT_DONE, "resume when free again")
        pages = t.read_pages(self.test, state_dir)
        self.test.check_equal_sets(t.keys_of(pages), site.reachable, "after being in use")

    def state_dir_unusable(self, site):
        file = self.directory / "a-file"
        file.write_text("I am a file\n")
        below = file / "state"
        self.expect(self.run("crawl", self.config(site.seeds, below)), t.EXIT_FAILURE,
                    "a state directory below a file", re.escape(str(file)))
        self.test.check(file.read_text() == "I am a file\n", "the file was changed")
        self.expect(self.run("crawl", self.config(site.seeds, file)), t.EXIT_FAILURE,
                    "a state directory that is a file", re.escape(str(file)))
        empty = self.new_state_dir()
        empty.mkdir()
        self.expect(self.run("resume", empty), t.EXIT_FAILURE, "resume of an empty directory",
                    re.escape(str(empty)), "no crawl")
        nothing = self.directory / "nothing"
        self.expect(self.run("resume", nothing), t.EXIT_FAILURE, "resume of nothing",
                    re.escape(str(nothing)))
        config = self.config(site.seeds, empty)
        self.expect(self.run("resume", config), t.EXIT_FAILURE, "resume before there is a crawl",
                    "no crawl in " + re.escape(str(empty)))
        self.test.check(not list(empty.iterdir()), "resume left files", list(empty.iterdir()))
        # After a kill before the crawl began, the same command continues.
        self.expect(self.run("crawl", config, "--or-resume"), t.EXIT_DONE, "crawl --or-resume")
        pages = t.read_pages(self.test, empty)
        self.test.check_equal_sets(t.keys_of(pages), site.reachable, "crawl --or-resume")

    def state_dir_read_only(self, site):
        state_dir = self.new_state_dir()
        state_dir.mkdir()
        with read_only(state_dir) as works:
            if not works:
                print("  left out: this user can write to read-only directories")
                return
            self.expect(self.run("crawl", self.config(site.seeds, state_dir)), t.EXIT_FAILURE,
                        "a read-only state directory", re.escape(str(state_dir)),
                        "permission|read-only")

    def full_disk(self, site):
        disk = self.directory / "disk"
        disk.mkdir()
        with t.tmpfs(disk, "160m") as works:
            if not works:
                print("  left out: cannot mount a small file system here")
                return
            state_dir = disk / "state"
            config = self.config(site.seeds, state_dir, politeness={"delay": "10ms"})
            crawl = self.start_and_wait(site, config, len(site.requests()) + 50)
            filler = disk / "filler"
            t.fill(filler)
            crawl.wait()
            self.expect(crawl, t.EXIT_NO_SPACE, "a full disk", "space", "trawl resume")
            t.fill(disk / "filler-2")  # what the first process gave back when it ended
            self.expect(self.run("resume", config), t.EXIT_NO_SPACE, "resume on a full disk",
                        "space")
            filler.unlink()
            (disk / "filler-2").unlink()
            t.expect_exit(self.test, self.run("resume", config),
                          t.EXIT_DONE, "resume with space again")
            pages = t.read_pages(self.test, state_dir)
            self.test.check_equal_sets(t.keys_of(pages), site.reachable, "after a full disk")

    # --- damaged checkpoints ---

    def interrupted_with_checkpoints(self, site):
        """A crawl interrupted when it had two checkpoints: its config and state directory."""
        state_dir = self.new_state_dir()
        config = self.config(site.seeds, state_dir, politeness={"delay": "10ms"},
                             checkpoint={"interval": "100ms"})
        crawl = self.start_and_wait(site, config, len(site.requests()) + 30)
        t.wait_until(lambda: crawl.ended() or len(checkpoints(state_dir)) >= 2, "two checkpoints")
        crawl.signal(signal.SIGTERM)
        crawl.wait()
        t.expect_exit(self.test, crawl, t.EXIT_INTERRUPTED, "the interrupted crawl")
        self.test.check(len(checkpoints(state_dir)) >= 2, "fewer than two checkpoints were kept")
        return config, state_dir

    def truncated_checkpoint(self, site):
        config, state_dir = self.interrupted_with_checkpoints(site)
        newest = checkpoints(state_dir)[-1]
        os.truncate(newest, newest.stat().st_size // 2)
        finished = self.run("resume", config)
        self.expect(finished, t.EXIT_DONE, "resume with a truncated checkpoint", newest.name)
        pages = t.read_pages(self.test, state_dir)
        self.test.check_equal_sets(t.keys_of(pages), site.reachable, "after a truncated checkpoint")

    def all_checkpoints_truncated(self, site):
        config, state_dir = self.interrupted_with_checkpoints(site)
        for checkpoint in checkpoints(state_dir):
            os.truncate(checkpoint, checkpoint.stat().st_size // 2)
        saved = fingerprints(state_dir)
        self.expect(self.run("resume", config), t.EXIT_FAILURE, "resume without a whole checkpoint",
                    re.escape(checkpoints(state_dir)[-1].name))
        self.test.check(fingerprints(state_dir) == saved, "files changed",
                        set(saved) ^ set(fingerprints(state_dir)))


def checkpoints(state_dir):
    return sorted(pathlib.Path(state_dir).glob("filter-*.ckpt"))


def fingerprints(state_dir):
    """What is in the files that are the crawl's own: checkpoints, manifest, output."""
    files = [*checkpoints(state_dir), state_dir / "MANIFEST", state_dir / "output" / "pages.jsonl"]
    return {(str(f), hashlib.sha256(f.read_bytes()).hexdigest()) for f in files if f.exists()}


@contextlib.contextmanager
def read_only(directory):
    """Takes write permission away, or mounts read-only; yields False if neither works."""
    with t.tmpfs(directory, "1m") if os.geteuid() == 0 else contextlib.nullcontext(False) as mounted:
        if mounted:
            subprocess.run(["mount", "-o", "remount,ro", str(directory)], check=True)
        directory_mode = directory.stat().st_mode
        if not mounted:
            directory.chmod(0o500)
        try:
            yield mounted or not os.access(directory, os.W_OK)
        finally:
            if not mounted:
                directory.chmod(directory_mode)


def bad_input(test, directory, options):
    cases = BadInput(test, directory, options)
    for case in (cases.usage, cases.configs, cases.lists, cases.unreachable_seeds):
        print(case.__name__, flush=True)
        case()
    for case in (cases.state_dir_unusable, cases.state_dir_read_only, cases.state_dir_in_use,
                 cases.truncated_checkpoint, cases.all_checkpoints_truncated, cases.full_disk):
        print(case.__name__, flush=True)
        with t.SampleSite(options, directory, 400) as site:
            try:
                case(site)
            except t.Failure as failure:
                test.check(False, f"{case.__name__}: {failure}")


if __name__ == "__main__":
    t.main(bad_input, t.parser(__doc__).parse_args())
