"""A wall clock that is set back or ahead, by hours or days, during a crawl or between two runs,
makes no host and no retry wait longer than the config allows, and costs no page."""

import collections
import datetime
import shlex
import signal
import struct
import threading
import types

import trawl_testing as t
from scripted_server import NOT_FOUND, ScriptedServer, answer, links

HOUR, DAY = 3600, 86400
PAGES = 30
PATIENCE = 60  # seconds; what the config allows is a tenth of that
BUSY = answer("later", "503 Service Unavailable", "Retry-After: 1")
BROKEN = answer("no", "502 Bad Gateway")


class Site(ScriptedServer):
    """Every third page is too busy at first, for all of its host, and every third one broken."""

    def __init__(self):
        super().__init__(self._page)
        self.well = True  # False: pages fail whenever they are requested
        self.failed, self.served = collections.Counter(), collections.Counter()
        self.all = {self.url(), *(self.url(f"/{i}") for i in range(PAGES))}

    def _page(self, request):
        if request.path == "/robots.txt":
            return NOT_FOUND
        if request.path != "/":
            failure = [BUSY, BROKEN, None][int(request.path[1:]) % 3]
            if failure and (not self.well or not self.failed[request.path]):
                self.failed[request.path] += 1
                return failure
        self.served[self.url(request.path)] += 1
        return answer(links(f"/{i}" for i in range(PAGES)) if request.path == "/" else "<p>a page")


class Clock:
    """The wall clock of the programs that `options` runs."""

    def __init__(self, directory, name, options):
        self.file = directory / f"{name}.clock"
        self.set_by(0)
        shell = directory / f"{name}.sh"
        clock, shim, trawl = map(shlex.quote, (str(self.file), options.shim, options.trawl))
        shell.write_text(f"#!/bin/sh\nTRAWL_TEST_WALL_CLOCK={clock} LD_PRELOAD={shim} "
                         f"exec {trawl} \"$@\"\n")
        shell.chmod(0o755)
        self.options = types.SimpleNamespace(trawl=str(shell))

    def set_by(self, seconds):
        """Off by so much from the machine's."""
        with open(self.file, "r+b" if self.file.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("<q", seconds))


def prepare(directory, name, site):
    return t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [site.url()], directory / name,
        fetch={"retries": 8, "retry_delay": "200ms"},
        politeness={"host_backoff": "100ms", "max_host_backoff": "1s", "max_retry_after": "1s",
                    "host_failures": 0, "respect_robots": True}))


def check_all(test, directory, name, site, crawl):
    crawl.wait(PATIENCE)
    t.expect_exit(test, crawl, t.EXIT_DONE, name)
    pages = t.read_pages(test, directory / name)
    good = collections.Counter(page["url"] for page in pages if page["status"] == 200)
    test.check_equal_sets(set(good), site.all, name)
    for counted, where in ((good, "in the output"), (site.served, "by the site")):
        more = {url: count for url, count in counted.items() if count > 1}
        test.check(not more, f"{name}: more than once {where}", more)
    return pages


def name_of(when, seconds):
    return f"{when}-{'back' if seconds < 0 else 'ahead'}-{abs(seconds) // HOUR}h"


def during(test, directory, options, seconds):
    name = name_of("during", seconds)
    clock = Clock(directory, name, options)
    with Site() as site:
        crawl = t.Run(clock.options, directory, "crawl", prepare(directory, name, site))
        t.wait_until(lambda: len(site.failed) > 3 or crawl.ended(), f"{name}: failures")
        clock.set_by(seconds)
        pages = check_all(test, directory, name, site, crawl)
    last = max(page["fetched_at"] for page in pages) if seconds > 0 else \
        min(page["fetched_at"] for page in pages)
    off = datetime.datetime.fromisoformat(last.replace("Z", "+00:00")) - \
        datetime.datetime.now(datetime.timezone.utc)
    test.check(abs(off.total_seconds() - seconds) < PATIENCE,
               f"{name}: the clock that trawl sees was not set", last)


def to_and_fro(test, directory, options):
    clock, over = Clock(directory, "to-and-fro", options), threading.Event()

    def play():
        for seconds in [3 * HOUR, -2 * DAY, 30 * DAY, -HOUR, 0] * PATIENCE:
            clock.set_by(seconds)
            if over.wait(0.1):
                return

    with Site() as site:
        player = threading.Thread(target=play)
        player.start()
        try:
            check_all(test, directory, "to-and-fro", site,
                      t.Run(clock.options, directory, "crawl",
                            prepare(directory, "to-and-fro", site)))
        finally:
            over.set()
            player.join()


def between(test, directory, options, seconds):
    """Stopped while a host is blocked and pages wait for another try."""
    name = name_of("between", seconds)
    clock = Clock(directory, name, options)
    with Site() as site:
        site.well = False
        path = prepare(directory, name, site)
        crawl = t.Run(clock.options, directory, "crawl", path)
        t.wait_until(lambda: sum(site.failed.values()) > 6 or crawl.ended(), f"{name}: failures")
        crawl.signal(signal.SIGTERM)
        crawl.wait(PATIENCE)
        t.expect_exit(test, crawl, t.EXIT_INTERRUPTED, f"{name}: the first run")
        clock.set_by(seconds)
        site.well = True
        check_all(test, directory, name, site, t.Run(clock.options, directory, "resume", path))


def clock_changes(test, directory, options):
    parts = [(to_and_fro,)]
    parts += [(part, seconds) for part in (during, between)
              for seconds in (-3 * HOUR, -2 * DAY, 3 * HOUR, 2 * DAY)]
    t.run_parts(test, parts, (test, directory, options))


if __name__ == "__main__":
    arguments = t.parser(__doc__)
    arguments.add_argument("--shim", required=True, help="the library of wall_clock_shim.cc")
    t.main(clock_changes, arguments.parse_args())
