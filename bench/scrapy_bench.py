#!/usr/bin/env python3
"""trawl.scrapy against Scrapy's own parts: CPU time and memory, in one run.

    bench/scrapy_bench.py BUILD_DIRECTORY [ROUNDS]

Each line has the median, and the least and most. CPU time is the process', with the frontier's threads.
"""

import gc
import hashlib
import logging
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
import types
import warnings

REQUESTS = 10_000
MANY = 5_000_000
RFP = "scrapy.dupefilters.RFPDupeFilter"
OURS = "trawl.scrapy.DupeFilter"
STOCK = "scrapy.utils.request.RequestFingerprinter"
QUICK = "trawl.scrapy.Fingerprinter"


def row(what, values, unit, goal=""):
    print(f"{what:66} {statistics.median(values):8.2f} {unit}   "
          f"({min(values):.2f} to {max(values):.2f}){goal}", flush=True)


def requests(start, count=REQUESTS, folder="products"):
    import scrapy  # pylint: disable=import-outside-toplevel

    return [scrapy.Request(f"https://www.host{i % 97:02}.example.net/{folder}/item-{i:010}-9f3a66c2.html?page=2&id={i}")
            for i in range(start, start + count)]


def crawler_of(**settings):
    import scrapy  # pylint: disable=import-outside-toplevel
    from scrapy.utils.test import get_crawler  # pylint: disable=import-outside-toplevel

    return get_crawler(type("Bench", (scrapy.Spider,), {"name": "bench"}), {"REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7", "LOG_LEVEL": "ERROR", **settings})


def cpu_us(call, items):
    gc.collect()
    before = time.process_time_ns()
    for item in items:
        call(item)
    return (time.process_time_ns() - before) / len(items) / 1000


def request_seen(rounds):
    """Each request is a new object, half of them seen before."""
    from scrapy.utils.misc import load_object  # pylint: disable=import-outside-toplevel

    results = {}
    for number in range(rounds):
        for in_job, folder in ((False, "products"), (True, "products"), (False, "%7Eproducts")):
            pairs = [(RFP, STOCK), (OURS, STOCK), (RFP, QUICK), (OURS, QUICK)]
            random.shuffle(pairs)
            for filter_name, fingerprinter in pairs:
                with tempfile.TemporaryDirectory() as directory:
                    crawler = crawler_of(REQUEST_FINGERPRINTER_CLASS=fingerprinter, **(
                        {"JOBDIR": directory} if in_job else {}))
                    duplicates = load_object(filter_name).from_crawler(crawler)
                    duplicates.open()
                    cpu_us(duplicates.request_seen, requests(REQUESTS, REQUESTS // 4, folder))  # first touches
                    taken = [cpu_us(duplicates.request_seen, requests(number * REQUESTS, folder=folder))
                             for _ in range(2)]
                    case = ", JOBDIR" if in_job else "" if folder == "products" else ", escapes in URLs"
                    results.setdefault((filter_name, fingerprinter, case), []).append(sum(taken) / 2)
                    duplicates.close("finished")
    for (filter_name, fingerprinter, case), values in sorted(results.items()):
        goal = "  must be <= 4" if (filter_name, fingerprinter) == (OURS, QUICK) else ""
        row(f"request_seen, {filter_name.split('.')[-1]}, {fingerprinter.split('.')[0]}'s fingerprinter{case}", values,
            "us", goal)
    for case in sorted({case for _, _, case in results}):
        pairs = [mine / other for mine, other in zip(results[OURS, STOCK, case], results[RFP, STOCK, case])]
        row(f"  ours / Scrapy's, Scrapy's fingerprinter{case}", pairs, "  ", "  must be <= 1")


def scheduler(rounds):
    """Enqueued, handed out and done, 16 at a time, as the engine does."""
    from scrapy.utils.misc import load_object  # pylint: disable=import-outside-toplevel
    import twisted.internet.reactor  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import

    def run(name, fingerprinter, queue=None):
        with tempfile.TemporaryDirectory() as directory:
            settings = {"SCHEDULER_DISK_QUEUE": queue} if queue else {}
            crawler = crawler_of(JOBDIR=directory, REQUEST_FINGERPRINTER_CLASS=fingerprinter, **settings)
            slot = types.SimpleNamespace(inprogress=set(), start_requests=iter(()),
                                         nextcall=types.SimpleNamespace(schedule=lambda: None))
            crawler.engine = types.SimpleNamespace(slot=slot, downloader=types.SimpleNamespace(active=set()))
            one = load_object(name).from_crawler(crawler)
            one.open(crawler.spidercls.from_crawler(crawler))
            new = requests(0)
            gc.collect()
            before = time.process_time_ns()
            for request in new:
                one.enqueue_request(request)
            enqueued = time.process_time_ns()
            done, in_progress = 0, []
            while done < len(new):
                request = one.next_request()
                if request is not None:
                    slot.inprogress.add(request)
                    in_progress.append(request)
                if request is None or len(in_progress) == 16:
                    if not in_progress:
                        one._frontier.flush()  # pylint: disable=protected-access
                    for request in in_progress:
                        slot.inprogress.remove(request)
                    done += len(in_progress)
                    in_progress.clear()
            if hasattr(one, "_frontier"):
                one._frontier.flush()  # pylint: disable=protected-access
            end = time.process_time_ns()
            one.close("finished")
            return [(after - earlier) / len(new) / 1000
                    for earlier, after in ((before, end), (before, enqueued), (enqueued, end))]

    kinds = {"Scrapy's scheduler, FIFO files (lost by a kill), its fingerprinter":
             ("scrapy.core.scheduler.Scheduler", STOCK, "scrapy.squeues.PickleFifoDiskQueue"),
             "ours, Scrapy's fingerprinter": ("trawl.scrapy.Scheduler", STOCK),
             "ours, our fingerprinter": ("trawl.scrapy.Scheduler", QUICK)}
    results = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, arguments in kinds.items():
            results[name].append(run(*arguments))
    for name, values in results.items():
        total, enqueue, rest = zip(*values)
        row(f"enqueue + next + done, {name}", total, "us",
            "  must be <= 25" if name == "ours, our fingerprinter" else "")
        row("  of it enqueue", enqueue, "us")
        row("  of it next and done", rest, "us")


class Numbers:
    """Fingerprints of numbers in place of requests, which would take most of the time."""

    @staticmethod
    def fingerprint(number):
        return hashlib.sha1(b"%d" % number).digest()


def memory_peer(kind, expected):
    """Prints the resident memory that MANY fingerprints take, and the CPU time of a call."""
    from scrapy.utils.misc import load_object  # pylint: disable=import-outside-toplevel

    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    settings = crawler_of(**({"TRAWL_EXPECTED_URLS": expected} if int(expected) else {})).settings
    kind = load_object(kind)
    before = resident()
    duplicates = kind.from_settings(settings, fingerprinter=Numbers)
    duplicates.open()
    began = time.process_time_ns()
    lost = sum(map(duplicates.request_seen, range(MANY)))
    taken = time.process_time_ns() - began
    print((resident() - before) / MANY, taken / MANY / 1000, lost)


def memory(build):
    results = {}
    for name, kind, expected in (("RFPDupeFilter", RFP, 0), ("DupeFilter, TRAWL_EXPECTED_URLS set", OURS, MANY),
                                 ("DupeFilter, not set", OURS, 0)):
        done = subprocess.run([sys.executable, __file__, build, "--memory", kind, str(expected)],
                              stdout=subprocess.PIPE, text=True, check=True)
        size, taken, lost = map(float, done.stdout.split())
        results[name] = size
        ratio = results["RFPDupeFilter"] / size
        goal = {"DupeFilter, TRAWL_EXPECTED_URLS set": "  must be >= 12", "DupeFilter, not set": "  must be >= 6"}
        print(f"{MANY:,} requests, {name:36} {size:7.1f} bytes each, 1/{ratio:.1f}{goal.get(name, '')}; "
              f"{taken:.2f} us each, {lost:.0f} lost", flush=True)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, os.fspath(build / "bindings" / "python"))
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    if sys.argv[2:3] == ["--memory"]:
        memory_peer(*sys.argv[3:])
        return
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    request_seen(rounds)
    scheduler(rounds)
    memory(build)


if __name__ == "__main__":
    main()
