#!/usr/bin/env python3
"""Compares the crawler with its peers, on loopback, in one run.

    bench/peers/run.py sites build/release           # documentation sites by nginx, against wget2
                                                     # and a bare libcurl loop
    bench/peers/run.py latency build/release         # many hosts with latency
    bench/peers/run.py connections build/release     # CPU a page with many connections
    bench/peers/run.py memory build/release          # an endless web
    bench/peers/run.py web build/release             # ten million pages of 100,000 hosts
    bench/peers/run.py one build/release             # one site, against the bound of two cores
    bench/peers/run.py watched build/release         # with the status page open
    bench/peers/run.py tls build/release             # many hosts over TLS, against wget2; HTTP/2

CPU is that of the crawler's process and its children alone. Figures are medians of the repetitions,
with the smallest and the largest; ratios are taken repetition by repetition. Ends with 1 if the
crawler missed a page that another found, or fetched one twice. --quick takes seconds, and says
whether it works, not how fast it is.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

import hosts
import one
import sites
import tls
import watched
from measure import Missing

PARTS = {"sites": sites.sites, "latency": hosts.latency, "connections": hosts.connections,
         "memory": hosts.memory, "web": hosts.web, "one": one.one, "watched": watched.watched,
         "tls": tls.tls}


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=[*PARTS, "all"])
    parser.add_argument("build", type=pathlib.Path, help="the folder of a release build")
    parser.add_argument("--trawl", type=pathlib.Path, help="use this trawl instead of the build's")
    parser.add_argument("--against", type=pathlib.Path, metavar="TRAWL",
                        help="one: another trawl to take turns with")
    parser.add_argument("--programs", type=pathlib.Path,
                        help="the folder of curl_loop and latency_server, if not the build's")
    parser.add_argument("--work", type=pathlib.Path, help="a folder to work in, on a real disk")
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--timeout", type=float, default=3600, help="of one run, in seconds")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--threads", type=int, default=2, help="of trawl")
    of_sites = parser.add_argument_group("sites")
    of_sites.add_argument("--connections", type=int, default=8, help="of each crawler")
    of_sites.add_argument("--per-host", type=int, default=8, help="of trawl, to one host")
    of_sites.add_argument("--loop-threads", type=int, default=1, help="of the libcurl loop")
    of_sites.add_argument("--site", action="append", metavar="NAME=FOLDER[:PATH]",
                          help="one site more; PATH is its first page")
    of_sites.add_argument("--only", action="append", metavar="NAME", help="these sites")
    of_sites.add_argument("--all-only", action="store_true", help="all at once, not one by one")
    of_sites.add_argument("--no-files", action="store_true", help="leave WARC and saving out")
    parser.add_argument("--pages", type=int, help="memory, web, one: how many are crawled or made")
    options = parser.parse_args()
    options.trawl = options.trawl or options.build / "crawler" / "trawl"
    options.programs = options.programs or options.build / "bench"
    options.repetitions = options.repetitions or (1 if options.quick else 5)
    return options


def main():
    options = read_options()
    right = True
    for part in PARTS if options.part == "all" else [options.part]:
        directory = pathlib.Path(tempfile.mkdtemp(prefix="trawl-peers-", dir=options.work))
        print(f"# {part}\n", flush=True)
        try:
            right &= PARTS[part](options, directory)
        except Missing as missing:
            sys.exit(f"run.py: {missing}")
        finally:
            shutil.rmtree(directory, ignore_errors=True)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
