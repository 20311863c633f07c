"""The example embed-frontier fetches every page of its site though it is killed on the way, and
repeats only what was open then.

    embed_frontier_test.py SCRAPER
"""

import argparse
import collections
import fcntl
import os
import signal
import subprocess
import sys
import tempfile

PAGES = 5000
F_SETPIPE_SZ = 1031  # of Linux; Python names it since 3.10
OPEN_LEASES = 200  # the scraper's max_open_leases
KILLED_AFTER = (1500, 2000)  # lines of output; a few hundred more may be on their way
PIPE_BYTES = 4096


class Run:
    """One process of the scraper, from its start to its end or its kill."""

    def __init__(self, program, state, kill_after=None):
        process = subprocess.Popen([program, state], stdout=subprocess.PIPE, text=True)
        # A small pipe, so that the process cannot be far ahead of what is read here.
        fcntl.fcntl(process.stdout, F_SETPIPE_SZ, PIPE_BYTES)
        self.lines = []
        for line in process.stdout:
            if line.endswith("\n"):  # what is cut off was not printed before the kill
                self.lines.append(line.rstrip("\n"))
            if len(self.lines) == kill_after:
                process.send_signal(signal.SIGKILL)
        self.exit_code = process.wait()

    def fetches(self):
        return [line for line in self.lines if line != "done"]


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def page_of(line):
    return int(line.rpartition("/")[2])


def check_fetches(fetches, kills):
    done = {page_of(line) for line in fetches if line.startswith("200 ")}
    missing = sorted(set(range(PAGES)) - done)
    check(not missing, f"{len(missing)} pages were never fetched, {missing[:10]} among them")
    check(done == set(range(PAGES)), "pages were fetched that the site has not")
    failed = {page_of(line) for line in fetches if line.startswith("500 ")}
    check(failed == set(range(9, PAGES, 10)), "other pages failed than those that should")
    repeated = sum(collections.Counter(fetches).values()) - len(set(fetches))
    check(repeated <= kills * OPEN_LEASES,
          f"{repeated} fetches were repeated after {kills} kills, more than were open")
    print(f"{len(fetches)} fetches, {repeated} of them repeated after {kills} kills")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("scraper")
    program = os.path.abspath(arguments.parse_args().scraper)
    with tempfile.TemporaryDirectory() as directory:
        state = os.path.join(directory, "state")
        fetches = []
        for kill_after in KILLED_AFTER:
            killed = Run(program, state, kill_after)
            check(killed.exit_code == -signal.SIGKILL,
                  f"it ended with {killed.exit_code} before it was killed: {killed.lines[-1:]}")
            fetches += killed.fetches()
        check(len({page_of(line) for line in fetches}) < PAGES, "the kills came too late")
        last = Run(program, state)
        check(last.exit_code == 0 and last.lines[-1:] == ["done"],
              f"it ended with {last.exit_code}: {last.lines[-1:]}")
        check_fetches(fetches + last.fetches(), len(KILLED_AFTER))
        again = Run(program, state)
        check(again.exit_code == 0 and again.lines == ["done"],
              "a scrape that is done fetches something when it is started again")


if __name__ == "__main__":
    main()
