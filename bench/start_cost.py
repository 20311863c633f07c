#!/usr/bin/env python3
"""What a crawl of one page costs: starting, creating the state directory, ending.

    bench/start_cost.py build/release/crawler/trawl [ANOTHER]... [--runs N] [--rounds N]

Serves a sample site of one page and crawls it, each time into a new state directory. Prints, for each
round, the median of the wall time and the mean of the CPU time (with that of the kernel) of the runs'
processes, in ms. Several programs take turns run by run, so that what else the machine does meets all
of them.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def crawl(trawl, seed, directory):
    """Returns wall and CPU milliseconds of one crawl."""
    config = directory / "crawl.toml"
    state = tempfile.mkdtemp(dir=directory)
    config.write_text(
        f'[crawl]\nseeds = ["{seed}"]\nstate_dir = "{state}/state"\n'
        '[politeness]\ndelay = "0ms"\n[fetch]\nallow_private_addresses = true\n')
    begin = time.perf_counter()
    pid = os.posix_spawn(trawl, [trawl, "crawl", "--quiet", str(config)], os.environ)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - begin
    if status != 0:
        sys.exit(f"{trawl}: exit status {os.waitstatus_to_exitcode(status)}")
    return 1000 * wall, 1000 * (usage.ru_utime + usage.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trawl", nargs="+")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    programs = [str(pathlib.Path(trawl).resolve()) for trawl in arguments.trawl]
    site = subprocess.Popen(
        [programs[0], "sample-site", "--port", "0", "--slow-ms", "0", "--pages", "1", "--hosts", "1"],
        stdout=subprocess.PIPE, text=True)
    try:
        seed = next(word for line in site.stdout for word in line.split() if word.startswith("http"))
        with tempfile.TemporaryDirectory() as directory:
            for _ in range(arguments.rounds):
                runs = {trawl: [] for trawl in programs}
                for _ in range(arguments.runs):
                    for trawl in programs:
                        runs[trawl].append(crawl(trawl, seed, pathlib.Path(directory)))
                for trawl, costs in runs.items():
                    walls, cpus = zip(*costs)
                    print(f"{trawl}: wall {statistics.median(walls):.1f} ms, "
                          f"CPU {statistics.mean(cpus):.1f} ms", flush=True)
    finally:
        site.terminate()


if __name__ == "__main__":
    main()
