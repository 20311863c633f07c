"""Sites of Debian's documentation packages: CPU, speed and fetched pages of each crawler."""

import collections
import pathlib
import shutil
from urllib.parse import unquote

from measure import CurlLoop, Nginx, Series, Trawl, Wget2, print_table, ratio

# Name, folder, first page.
SITES = [
    ("libstdc++", "/usr/share/doc/libstdc++-12-doc/libstdc++", "/index.html"),
    ("apache2", "/usr/share/doc/apache2-doc/manual", "/en/index.html"),
    ("cmake", "/usr/share/doc/cmake-data/html", "/index.html"),
    ("postgresql", "/usr/share/doc/postgresql-doc-15/html", "/index.html"),
    ("python", "/usr/share/doc/python3.11-doc/html", "/index.html"),
    ("git", "/usr/share/doc/git-doc", "/git.html"),
]


class Runs:
    """The runs of one crawler on one set of sites."""

    def __init__(self):
        self.used, self.server_cpu, self.requests = [], [], []

    def pages(self, i):
        return len(self.requests[i])

    def series(self, figure):
        return Series(figure(i) for i in range(len(self.used)))

    @property
    def cpu_ms(self):
        return self.series(lambda i: 1000 * self.used[i].cpu / max(1, self.pages(i)))

    @property
    def speed(self):
        return self.series(lambda i: self.pages(i) / self.used[i].seconds)

    @property
    def server_ms(self):
        return self.series(lambda i: 1000 * self.server_cpu[i] / max(1, self.pages(i)))

    @property
    def memory(self):
        return self.series(lambda i: self.used[i].memory / 2**20)


def sites_of(options):
    found = [site for site in SITES if pathlib.Path(site[1] + site[2]).exists()]
    for text in options.site or []:
        name, _, place = text.partition("=")
        folder, _, first = place.partition(":")
        found.append((name, folder, first or "/index.html"))
    if options.quick and not options.site:
        found = [site for site in found if site[0] in ("cmake", "git")] or found[:1]
    if options.only:
        found = [site for site in found if site[0] in options.only]
    return found


def measure(options, directory, nginx, seeds, crawlers):
    """Runs by crawler; the crawlers take turns, so that a disturbance affects all."""
    runs = {crawler.name: Runs() for crawler in crawlers}
    for repetition in range(options.repetitions + 1):
        for crawler in crawlers:
            if isinstance(crawler, CurlLoop):
                crawler.urls = [url for _, url in runs["trawl"].requests[-1]] \
                    if runs["trawl"].requests else [url for url in warm_up]
            place = directory / "run"
            place.mkdir()
            before = nginx.cpu()
            used = crawler.crawl(seeds, place, options.timeout)
            server_cpu = nginx.cpu() - before
            requests = nginx.take_requests()
            shutil.rmtree(place)
            if repetition == 0:  # warms the caches of the disk and of nginx
                warm_up = [url for _, url in requests]
                continue
            each = runs[crawler.name]
            each.used.append(used)
            each.server_cpu.append(server_cpu)
            each.requests.append(requests)
    return runs


def report(title, runs):
    """Prints the figures; returns whether every reachable page was fetched exactly once."""
    print(f"## {title}\n")
    # A page that exists and that any of the crawlers found is reachable.
    reachable = {unquote(url) for each in runs.values() for requests in each.requests
                 for status, url in requests if status < 400}
    rows, right = [], True
    for name, each in runs.items():
        counts = collections.Counter(unquote(url) for _, url in each.requests[-1])
        twice = sum(count - 1 for count in counts.values())
        missing = len(reachable - counts.keys())
        rows.append([name, each.pages(-1), twice, missing, each.cpu_ms.text(),
                     each.speed.text("{:.0f}"), each.server_ms.text(),
                     each.memory.text("{:.0f}")])
        if name.startswith("trawl") and (twice or missing):
            right = False
            for url in sorted(reachable - counts.keys())[:5]:
                print(f"{name} missed {url}")
            for url in sorted(url for url, count in counts.items() if count > 1)[:5]:
                print(f"{name} fetched twice {url}")
    print_table(["", "requests", "twice", "missing", "CPU ms/page", "pages/s", "nginx CPU ms/page",
                 "peak MiB"], rows)
    rows = []
    ours = runs["trawl"]
    for name, each in runs.items():
        if not name.startswith("trawl"):
            rows.append([f"trawl / {name}", ratio(ours.cpu_ms, each.cpu_ms).text("{:.2f}"),
                         ratio(ours.speed, each.speed).text("{:.2f}")])
    if "trawl, WARC" in runs and "wget2, saving" in runs:
        archive, saving = runs["trawl, WARC"], runs["wget2, saving"]
        rows.append(["trawl, WARC / wget2, saving",
                     ratio(archive.cpu_ms, saving.cpu_ms).text("{:.2f}"),
                     ratio(archive.speed, saving.speed).text("{:.2f}")])
    print_table(["ratio", "CPU a page", "pages/s"], rows)
    return right


def sites(options, directory):
    chosen = sites_of(options)
    if not chosen:
        raise RuntimeError("no site: install the packages of `scripts/deps.sh test`")
    nginx = Nginx(directory, [folder for _, folder, _ in chosen])
    crawlers = [Trawl(options.trawl, options.connections, options.per_host, options.threads),
                CurlLoop(options.programs, [], options.connections, options.loop_threads),
                Wget2(options.connections)]
    if not options.no_files:
        crawlers += [Trawl(options.trawl, options.connections, options.per_host, options.threads,
                           warc=True), Wget2(options.connections, save=True)]
    seeds = [f"http://{host}:{nginx.port}{first}"
             for host, (_, _, first) in zip(nginx.hosts, chosen)]
    right = True
    try:
        nginx.take_requests()
        if not options.all_only:
            for (name, _, _), seed in zip(chosen, seeds):
                right &= report(name, measure(options, directory, nginx, [seed], crawlers))
        if len(seeds) > 1:
            right &= report(f"all {len(seeds)} sites at once",
                            measure(options, directory, nginx, seeds, crawlers))
    finally:
        nginx.stop()
    return right
