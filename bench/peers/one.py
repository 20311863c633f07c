"""One site read by all threads: pages a second against the bound of two cores. Many sites, for
which threads need no help of each other, in comparison."""

import os
import pathlib
import shutil

from measure import LatencyServer, Nginx, Series, Trawl, print_table, ratio
from sites import sites_of

CORES = 2
HOSTS = 50
# Of the machine's time: a run during which other programs took more says little, and is repeated.
MOST_BY_OTHERS = 0.05
MOST_TRIES = 4


def busy_seconds():
    """CPU seconds of the whole machine."""
    fields = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


class Threads:
    """CPU seconds of the threads of a process, at the last look."""

    def __init__(self):
        self.cpu = {}

    def watch(self, process):
        for stat in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            try:
                self.cpu[stat.parent.name] = int(stat.read_text().split()[0]) / 1e9
            except (OSError, IndexError):
                pass

    def busiest_share(self):
        return max(self.cpu.values(), default=0) / max(1e-9, sum(self.cpu.values()))


class Run:
    def __init__(self, used, pages, server_cpu, threads, busy):
        self.others = max(0, busy - used.cpu - server_cpu) / used.seconds / CORES
        self.pages = pages
        self.speed = pages / used.seconds
        self.client = used.cpu / pages
        self.server = server_cpu / pages
        self.bound = CORES / (self.client + self.server)
        self.busiest = threads.busiest_share() * self.client


class Generated:
    """Pages of 40 KB with 64 links, made by latency_server in about the time of copying them."""

    def __init__(self, options, hosts=1):
        self.options, self.hosts = options, hosts
        self.pages = (2_000 if options.quick else options.pages or 100_000) // hosts
        self.name = "generated" if hosts == 1 else f"{hosts} generated sites at once"

    def crawl(self, trawl, place):
        server = LatencyServer(self.options.programs, hosts=self.hosts, pages=self.pages, links=4,
                               known=60, text=40_000)
        threads, busy = Threads(), busy_seconds()
        try:
            used = trawl.crawl(server.seeds, place, self.options.timeout, threads.watch)
        finally:
            busy = busy_seconds() - busy
            counted = server.stop()
        # Without robots.txt.
        return Run(used, counted["requests"] - self.hosts, counted["cpu"], threads, busy)


class Documentation:
    """A folder served by nginx with one worker."""

    def __init__(self, options, nginx, name, host, first):
        self.options, self.nginx, self.name = options, nginx, name
        self.seed = f"http://{host}:{nginx.port}{first}"

    def crawl(self, trawl, place):
        before, threads, busy = self.nginx.cpu(), Threads(), busy_seconds()
        used = trawl.crawl([self.seed], place, self.options.timeout, threads.watch)
        server_cpu, busy = self.nginx.cpu() - before, busy_seconds() - busy
        return Run(used, len(self.nginx.take_requests()), server_cpu, threads, busy)


def measure(options, directory, site, trawls):
    """Runs by name of the program; the programs take turns."""
    runs = {name: [] for name in trawls}
    for repetition in range(options.repetitions + 1):
        for name, trawl in trawls.items():
            for _ in range(MOST_TRIES if repetition > 0 else 1):
                place = directory / "run"
                place.mkdir()
                run = site.crawl(trawl, place)
                shutil.rmtree(place)
                if run.others < MOST_BY_OTHERS or options.quick:
                    break
            if repetition > 0:  # the first warms the caches
                runs[name].append(run)
    return runs


def report(site, runs):
    print(f"## {site.name}\n")
    figures = {name: {figure: Series(getattr(run, figure) for run in each)
                      for figure in ("speed", "client", "server", "bound", "busiest", "others")}
               for name, each in runs.items()}

    def milliseconds(series):
        return Series(1000 * value for value in series.values).text("{:.4f}")

    print_table(["", "pages", "pages/s", "client CPU ms/page", "its busiest thread",
                 "server CPU ms/page", "bound pages/s", "% of the bound", "others' % of the cores"],
                [[name, runs[name][-1].pages, of["speed"].text("{:.0f}"),
                  milliseconds(of["client"]), milliseconds(of["busiest"]),
                  milliseconds(of["server"]), of["bound"].text("{:.0f}"),
                  Series(100 * value for value in ratio(of["speed"], of["bound"]).values)
                  .text("{:.0f}"),
                  Series(100 * value for value in of["others"].values).text("{:.0f}")]
                 for name, of in figures.items()])
    if "before" in figures:
        ours, theirs = figures["trawl"], figures["before"]
        print(f"trawl / before: pages/s {ratio(ours['speed'], theirs['speed']).text('{:.2f}')}, "
              f"CPU {ratio(ours['client'], theirs['client']).text('{:.3f}')}\n")
    # Every run found the same pages.
    return len({run.pages for each in runs.values() for run in each}) == 1


def one(options, directory):
    """One site at a time: how much of 2 / (CPU a page of client and server) is reached."""
    binaries = {"trawl": options.trawl}
    if options.against:
        binaries["before"] = options.against
    trawls = {name: Trawl(binary, options.connections, options.per_host, options.threads)
              for name, binary in binaries.items()}
    right = True
    if not options.only or "generated" in options.only:
        site = Generated(options)
        right &= report(site, measure(options, directory, site, trawls))
    if not options.only or "hosts" in options.only:
        # Each thread has hosts enough of its own.
        site = Generated(options, HOSTS)
        right &= report(site, measure(options, directory, site, {
            name: Trawl(binary, HOSTS, 1, options.threads) for name, binary in binaries.items()}))
    chosen = [site for site in sites_of(options) if not options.only or site[0] in options.only]
    if not chosen:
        return right
    nginx = Nginx(directory, [folder for _, folder, _ in chosen])
    try:
        nginx.take_requests()
        for host, (name, _, first) in zip(nginx.hosts, chosen):
            site = Documentation(options, nginx, name, host, first)
            right &= report(site, measure(options, directory, site, trawls))
    finally:
        nginx.stop()
    return right
