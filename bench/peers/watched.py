"""What it costs to watch a crawl: the status page open, and metrics scraped every second."""

import contextlib
import shutil
import subprocess
import tempfile
import threading
import urllib.request

from measure import Nginx, Series, Trawl, free_port, print_table, program, ratio
from sites import sites_of


class Watchers:
    """Headless Chromium with the status page open, and a scraper of /metrics."""

    def __init__(self, port):
        self.page = f"http://127.0.0.1:{port}/"
        self.scrapes = 0
        self.profile = tempfile.mkdtemp(prefix="trawl-watched-")
        self.done = threading.Event()
        self.browser = None
        self.scraper = threading.Thread(target=self.scrape)

    def begin(self):
        self.browser = subprocess.Popen(
            [program("chromium", "chromium"), "--headless", "--no-sandbox", "--disable-gpu",
             f"--user-data-dir={self.profile}", "--remote-debugging-port=0", self.page],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.scraper.start()

    def scrape(self):
        while not self.done.wait(1):
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(self.page + "metrics", timeout=5) as answer:
                    answer.read()
                    self.scrapes += 1

    def end(self):
        self.done.set()
        if self.browser:
            self.scraper.join()
            self.browser.kill()
            self.browser.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def watched(options, directory):
    """CPU a page of crawls that are watched and of others, in turns."""
    chosen = sites_of(options)
    nginx = Nginx(directory, [folder for _, folder, _ in chosen])
    seeds = [f"http://{host}:{nginx.port}{first}"
             for host, (_, _, first) in zip(nginx.hosts, chosen)]
    runs = {"alone": [], "watched": []}
    scrapes = []
    try:
        for repetition in range(options.repetitions + 1):
            for name, each in runs.items():
                port = free_port()
                # As many requests a second as a crawl of many sites makes, for some seconds.
                trawl = Trawl(options.trawl, options.connections, options.per_host, options.threads,
                              status={"listen": f"127.0.0.1:{port}"} if name == "watched" else {})
                watchers = Watchers(port)
                begun = []

                def watch(_):
                    if not begun and name == "watched":
                        begun.append(watchers.begin())

                place = directory / "run"
                place.mkdir()
                nginx.take_requests()
                try:
                    used = trawl.crawl(seeds, place, options.timeout, watch)
                finally:
                    watchers.end()
                shutil.rmtree(place)
                pages = len(nginx.take_requests())
                if repetition > 0:  # the first warms the caches
                    each.append((used, pages))
                    if name == "watched":
                        scrapes.append(watchers.scrapes)
    finally:
        nginx.stop()
    cpu = {name: Series(1000 * used.cpu / pages for used, pages in each)
           for name, each in runs.items()}
    print_table(["crawl", "pages", "CPU ms/page", "seconds", "scrapes"],
                [[name, each[-1][1], cpu[name].text("{:.4f}"),
                  Series(used.seconds for used, _ in each).text("{:.1f}"),
                  Series(scrapes).text("{:.0f}") if name == "watched" else ""]
                 for name, each in runs.items()])
    print(f"CPU a page, watched / alone: {ratio(cpu['watched'], cpu['alone']).text('{:.3f}')}\n")
    return True
