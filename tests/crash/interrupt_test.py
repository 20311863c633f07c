"""SIGTERM and SIGINT drain: exit code 11, a resume command that works, nothing fetched twice."""

import pathlib
import re
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import trawl_testing as t  # noqa: E402


def interrupt(test, directory, options):
    state_dir = directory / "state"
    with t.SampleSite(options, directory, options.pages, page_bytes=t.SHARED_BYTES) as site:
        config = t.write_config(directory / "crawl.toml", t.fast_crawl(
            site.seeds, state_dir, politeness={"delay": "10ms"}))
        arguments = ["crawl", config]
        for share, number in [(0.1, signal.SIGTERM), (0.4, signal.SIGINT), (0.7, signal.SIGTERM)]:
            run = t.Run(options, directory, *arguments)
            enough = share * len(site.reachable)
            t.wait_until(lambda: run.ended() or len(site.requests()) >= enough, "progress")
            run.signal(number)
            run.wait(60)
            name = signal.Signals(number).name
            if not t.expect_exit(test, run, t.EXIT_INTERRUPTED, f"after {name}"):
                return
            command = re.search(r"trawl resume (\S+)", run.text)
            if not test.check(command, f"{name}: no resume command in what it printed", run.tail()):
                return
            arguments = ["resume", command.group(1).strip("'\"`.,")]
            asked, written = set(site.requests()), t.keys_of(t.read_pages(test, state_dir))
            test.check_equal_sets(written, asked, f"what {name} let finish")
        t.expect_exit(test, t.run(options, directory, *arguments), t.EXIT_DONE, "the last run")
        pages = t.check_complete(test, site, state_dir)
        again = t.repeats(site.requests())
        test.check(not again, "fetched twice", sorted(again)[:10])
        test.check(len(pages) == len(site.reachable),
                   f"{len(pages)} lines of output for {len(site.reachable)} URLs")


if __name__ == "__main__":
    parser = t.parser(__doc__)
    parser.add_argument("--pages", type=int, default=1000)
    t.main(interrupt, parser.parse_args())
