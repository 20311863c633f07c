#!/usr/bin/env python3
"""What sharing a crawl costs: CPU a page of one crawler with a frontier of its own, and of two that
share one in a Redis Cluster of three masters, on the same site; Redis' CPU a page; and how long it
takes until a killed crawler's pages go on.

    bench/cluster_crawl.py build/release [--pages N] [--hosts N] [--replicas]
"""

import argparse
import json
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "e2e"))
from redis_cluster import RedisCluster  # noqa: E402


def config(path, seeds, state, cluster=""):
    path.write_text(f"""[crawl]
seeds = {json.dumps(seeds)}
state_dir = "{state}"
[scope]
type = "any"
[politeness]
delay = "0ms"
per_host_connections = 4
[fetch]
connections = 64
allow_private_addresses = true
[output]
links = false
{cluster}
""")
    return path


class Crawlers:
    """Some crawlers at once: pages, and the CPU that they took."""

    def __init__(self, trawl, configs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        runs = [subprocess.Popen([trawl, "crawl", "--quiet", path], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE) for path in configs]
        for run in runs:
            _, said = run.communicate(timeout=600)
            if run.returncode != 0:
                raise SystemExit(f"exit code {run.returncode}: {said.decode()[-2000:]}")
        self.seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu = sum(getattr(after, name) - getattr(before, name)
                       for name in ("ru_utime", "ru_stime"))

    def report(self, name, pages):
        print(f"{name}: {pages} pages in {self.seconds:.1f} s, {pages / self.seconds:.0f} a second, "
              f"{1e6 * self.cpu / pages:.0f} us CPU a page")
        return self.cpu / pages


def pages_of(directories):
    return sum(len(path.read_bytes().splitlines())
               for directory in directories for path in directory.glob("output/pages*.jsonl"))


def main():
    arguments = argparse.ArgumentParser(description=__doc__,
                                        formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("build", type=pathlib.Path, help="the folder of a build")
    arguments.add_argument("--pages", type=int, default=20000)
    arguments.add_argument("--hosts", type=int, default=100)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--replicas", action="store_true", help="a replica for each master")
    options = arguments.parse_args()
    trawl = options.build.resolve() / "crawler" / "trawl"
    ratios = []
    with tempfile.TemporaryDirectory(prefix="trawl-bench-") as temporary:
        place = pathlib.Path(temporary)
        site = subprocess.Popen([trawl, "sample-site", "--port", "0", "--slow-ms", "0", "--pages",
                                 str(options.pages), "--hosts", str(options.hosts)],
                                stdout=subprocess.PIPE, text=True)
        try:
            seeds = []
            while not seeds:
                seeds = [word for word in site.stdout.readline().split() if word.startswith("http")]
            for number in range(options.rounds):
                alone = place / f"alone-{number}"
                own = Crawlers(trawl, [config(place / "alone.toml", seeds, alone)])
                embedded = own.report("embedded", pages_of([alone]))
                with RedisCluster(place / f"redis-{number}",
                                  replicas=1 if options.replicas else 0) as redis:
                    nodes = json.dumps(redis.addresses)
                    cluster = f'[cluster]\nredis = {nodes}\nname = "bench"\n'
                    states = [place / f"member-{number}-{i}" for i in range(2)]
                    configs = [config(place / f"member-{i}.toml", seeds, state, cluster)
                               for i, state in enumerate(states)]
                    before = sum(node.cpu() for node in redis.masters())
                    two = Crawlers(trawl, configs)
                    pages = pages_of(states)
                    shared = two.report("two that share", pages)
                    print(f"  Redis: {1e6 * (sum(node.cpu() for node in redis.masters()) - before) / pages:.1f} "
                          "us CPU a page")
                ratios.append(embedded / shared)
                print(f"  pages a second of crawler CPU: {ratios[-1]:.2f} x the embedded one's")
        finally:
            site.send_signal(signal.SIGTERM)
            site.wait(10)
    print("ratios:", " ".join(f"{ratio:.2f}" for ratio in sorted(ratios)))


if __name__ == "__main__":
    main()
