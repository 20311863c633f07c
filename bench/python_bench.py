#!/usr/bin/env python3
"""The Python package against C++, and against Python's set: CPU time, in one run.

    bench/python_bench.py BUILD_DIRECTORY [ROUNDS]

BUILD_DIRECTORY has the package and bench/python_peer. Each line has the median, and the least and most.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

URLS = 200_000
BATCH = 100


def urls(start, count):
    return [f"https://www.host{i % 997:03}.example.net/products/item-{i:010}-9f3a66c2.html"
            for i in range(start, start + count)]


def row(what, values, unit, goal=""):
    print(f"{what:58} {statistics.median(values):8.2f} {unit}   "
          f"({min(values):.2f} to {max(values):.2f}){goal}", flush=True)


def offer_known(frontier, known):
    """The process' CPU time a URL, in ns."""
    before = time.process_time_ns()
    for first in range(0, len(known), BATCH):
        frontier.offer(known[first:first + BATCH])
    return (time.process_time_ns() - before) / len(known)


def python_peer(trawl, directory, file):
    """What bench/python_peer does."""
    known = file.read_text().splitlines()
    with trawl.Frontier(directory) as frontier:
        for _ in range(2):  # what the admissions left to do is not measured
            offer_known(frontier, known)
            frontier.flush()
        print(offer_known(frontier, known))


def known_urls(build, rounds):
    """Each round in a process of its own: their speed differs with where their memory is."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory, "urls")
        file.write_text("".join(f"{url}\n" for url in urls(0, URLS)))

        def run(results, *command):
            results.append(float(subprocess.run(command, stdout=subprocess.PIPE, text=True,
                                                check=True).stdout))

        for number in range(rounds):
            run(theirs, build / "bench" / "python_peer", pathlib.Path(directory, f"theirs-{number}"), file)
            run(ours, sys.executable, __file__, build, "--peer", pathlib.Path(directory, f"ours-{number}"),
                file)
    row("offer of 100 known URLs, C++", theirs, "ns a URL")
    row("offer of 100 known URLs, Python", ours, "ns a URL")
    print(f"  Python / C++: medians {statistics.median(ours) / statistics.median(theirs):.2f}, least "
          f"{min(ours) / min(theirs):.2f}  must be <= 1.5")


def single_offers(trawl, rounds):
    thread, process = [], []
    count = URLS // 4
    with tempfile.TemporaryDirectory() as directory, \
            trawl.Frontier(pathlib.Path(directory, "state")) as frontier:
        for number in range(rounds):
            new = urls(number * count, count)
            frontier.flush()
            before = time.thread_time_ns(), time.process_time_ns()
            for url in new:
                frontier.offer((url,), wait=False)
            thread.append((time.thread_time_ns() - before[0]) / count / 1000)
            frontier.flush()
            process.append((time.process_time_ns() - before[1]) / count / 1000)
    row("offer of one new URL, not waited for, calling thread", thread, "us", "  must be <= 4")
    row("  the process, until it is durable", process, "us", "  must be <= 10")


def filters(trawl, rounds, count, goals):
    """Of a million keys, keys and filter are not in the processor's caches: most of the time goes there."""
    keys = urls(0, count)
    repeats = max(1, 200_000 // count)
    results = {"add": [], "update": [], "in": [], "set.add": [], "set.update": []}

    def measure(name, call, values):
        before = time.thread_time_ns()
        for value in values:
            call(value)
        results[name].append((time.thread_time_ns() - before) / count / len(values))

    def add_each(seen):
        add = seen.add
        for key in keys:
            add(key)

    def look_up(seen):
        for key in keys:
            key in seen  # pylint: disable=pointless-statement

    def update(seen):
        for first in range(0, count, 1000):
            seen.update(keys[first:first + 1000])

    for _ in range(rounds):
        made = [trawl.BloomFilter(count) for _ in range(repeats)]
        measure("add", add_each, made)
        measure("in", look_up, made)
        measure("update", update, [trawl.BloomFilter(count) for _ in range(repeats)])
        measure("set.add", add_each, [set() for _ in range(repeats)])
        measure("set.update", update, [set() for _ in range(repeats)])
    print(f"{count:,} keys of {len(keys[0])} bytes:")
    row("  BloomFilter.add", results["add"], "ns a key", "  must be <= 220" if goals else "")
    row("  BloomFilter.update, 1,000 keys a call", results["update"], "ns a key",
        "  must be <= 90" if goals else "")
    row("  key in BloomFilter", results["in"], "ns a key")
    row("  set.add", results["set.add"], "ns a key")
    row("  set.update, 1,000 keys a call", results["set.update"], "ns a key")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, os.fspath(build / "bindings" / "python"))
    import trawl  # pylint: disable=import-outside-toplevel
    if sys.argv[2:3] == ["--peer"]:
        python_peer(trawl, *map(pathlib.Path, sys.argv[3:]))
        return
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    known_urls(build, rounds)
    single_offers(trawl, rounds)
    filters(trawl, rounds, 50_000, goals=True)
    filters(trawl, rounds, 1_000_000, goals=False)


if __name__ == "__main__":
    main()
