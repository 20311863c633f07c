"""Hosts with latency, many connections, an endless web, and a web of many hosts."""

import json
import shutil
import time

from measure import LatencyServer, Series, Trawl, Wget2, print_table, ratio, resident


def crawl(crawler, server, directory, timeout, watch=None):
    place = directory / "run"
    place.mkdir()
    try:
        return crawler.crawl(server.seeds, place, timeout, watch), place
    finally:
        if watch is None:
            shutil.rmtree(place)


def turns(options, directory, crawlers, settings):
    """(used, counted) of each run, by crawler."""
    runs = {name: [] for name in crawlers}
    for _ in range(options.repetitions):
        for name, crawler in crawlers.items():
            server = LatencyServer(options.programs, **settings)
            try:
                used, _ = crawl(crawler, server, directory, options.timeout)
            finally:
                counted = server.stop()
            runs[name].append((used, counted))
    return runs


def latency(options, directory):
    """Pages a second against the ideal: one request at a time per host, without waiting."""
    cases = [(20, 50, 20), (50, 100, 10)] if options.quick else [(200, 50, 400), (1000, 100, 200)]
    right = True
    for hosts, milliseconds, pages in cases:
        crawlers = {"trawl": Trawl(options.trawl, hosts, 1, options.threads),
                    "wget2": Wget2(hosts)}
        runs = turns(options, directory, crawlers,
                     {"hosts": hosts, "pages": pages, "latency": milliseconds})
        ideal = hosts * 1000 / milliseconds
        rows = []
        for name, each in runs.items():
            # The request for robots.txt takes as long as a page, but does not count as one.
            requests = Series(counted["requests"] - hosts for _, counted in each)
            speed = Series(hosts * pages / used.seconds for used, _ in each)
            rows.append([name, requests.text("{:.0f}"), speed.text("{:.0f}"),
                         Series(100 * value / ideal for value in speed.values).text("{:.1f}"),
                         Series(counted["turnaround_ms"] for _, counted in each).text("{:.2f}"),
                         Series(1000 * used.cpu / (hosts * pages) for used, _ in each).text()])
            if name == "trawl":
                right &= set(requests.values) == {hosts * pages}
        print(f"## {hosts} hosts, {milliseconds} ms, {pages} pages each: ideal {ideal:.0f} "
              "pages/s\n")
        print_table(["", "requests", "pages/s", "% of ideal", "ms from answer to request",
                         "CPU ms/page"], rows)
    return right


def connections(options, directory):
    """CPU a page with many connections against few, at about one speed: where there are more of
    them the servers take longer."""
    pages = 20 if options.quick else 100
    few, many = 50, 200 if options.quick else 1000
    # The same number of pages, hosts, and pages a second.
    runs = {}
    for number in (few, many):
        crawlers = {number: Trawl(options.trawl, number, max(1, number // few), options.threads)}
        runs.update(turns(options, directory, crawlers,
                          {"hosts": few, "pages": pages * (many // few),
                           "latency": 10 * number // few}))
    right = all(counted["requests"] == few * pages * (many // few) + few
                for each in runs.values() for _, counted in each)
    if not right:
        print("not every page was fetched once\n")
    cpu = {number: Series(1000 * used.cpu / (counted["requests"] - few) for used, counted in each)
           for number, each in runs.items()}
    print_table(["connections", "open at once", "requests", "CPU ms/page"],
                [[number, Series(counted["most_open"] for _, counted in each).text("{:.0f}"),
                  Series(counted["requests"] for _, counted in each).text("{:.0f}"),
                  cpu[number].text()] for number, each in runs.items()])
    print(f"CPU a page, {many} / {few} connections: {ratio(cpu[many], cpu[few]).text('{:.2f}')}\n")
    return right


def watched_crawl(trawl, server, directory, timeout, watch):
    """(used, counted) of a crawl that is watched; prints its summary."""
    try:
        used, place = crawl(trawl, server, directory, timeout, watch)
    finally:
        counted = server.stop()
    lines = [line for line in used.output.splitlines()
             if line.startswith(("fetched", "failed", "filter"))]
    shutil.rmtree(place)
    print("\n".join(lines) + "\n")
    return used, counted


def memory(options, directory):
    """Resident memory while crawling an endless web: each page links to five new ones."""
    pages = options.pages or (20_000 if options.quick else 1_000_000)
    hosts = 100
    trawl = Trawl(options.trawl, 50, 1, options.threads,
                  scope={"type": "host", "max_pages": pages},
                  filter={"expected_urls": 5 * pages})
    server = LatencyServer(options.programs, hosts=hosts, links=5)
    samples, last = [], [0.0]

    def watch(process):
        if time.monotonic() - last[0] > 1:
            last[0] = time.monotonic()
            samples.append(resident(process.pid))

    used, counted = watched_crawl(trawl, server, directory, options.timeout, watch)
    step = max(1, len(samples) // 10)
    print("resident, MiB, in the course of it: "
          + ", ".join(f"{size >> 20}" for size in samples[::step]))
    print(json.dumps({"pages": pages, "peak_mib": used.memory >> 20, "cpu_s": round(used.cpu, 1),
                      "seconds": round(used.seconds, 1), "requests": counted["requests"]}) + "\n")
    return True


def web(options, directory):
    """Pages a second and memory in the course of a crawl of a web of 100,000 hosts: each page has two
    links to new pages and eight to known ones, of all hosts."""
    pages = options.pages or (20_000 if options.quick else 10_000_000)
    part = pages // 10
    trawl = Trawl(options.trawl, 100, 1, options.threads,
                  scope={"type": "any", "max_pages": pages},
                  filter={"expected_urls": 2 * pages})
    server = LatencyServer(options.programs, hosts=min(100_000, pages // 100), links=2, web=8,
                           padding=2000, mark=part)
    server.hosts = 1  # that of the seed
    begun = time.monotonic()
    samples = [(0.0, 0)]

    def watch(process):
        seconds = time.monotonic() - begun
        if seconds > samples[-1][0] + 0.2:
            samples.append((seconds, resident(process.pid)))

    used, counted = watched_crawl(trawl, server, directory, options.timeout, watch)
    marks = [0.0, *counted["marks"]]
    print_table(["pages", "pages/s", "resident MiB so far"],
                [[f"{(i + 1) * part:,}", f"{part / (end - begin):.0f}",
                  max(size for seconds, size in samples if seconds <= end) >> 20]
                 for i, (begin, end) in enumerate(zip(marks, marks[1:]))])
    print(json.dumps({"pages": pages, "peak_mib": used.memory >> 20, "cpu_s": round(used.cpu, 1),
                      "seconds": round(used.seconds, 1), "requests": counted["requests"],
                      "server_cpu_s": counted["cpu"]}) + "\n")
    return True
