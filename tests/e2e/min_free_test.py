"""output.min_free: a crawl pauses before a disk is full, goes on when there is space again, else ends
with code 3 and a command to resume it; nothing is lost."""

import os
import random
import threading
import time

import trawl_testing as t
from scripted_server import ScriptedServer, answer, links

PAGES = 160
SIZE = 100_000
DISK = 32 << 20
MIN_FREE = 10 << 20


def site():
    def respond(request):
        if request.path == "/robots.txt":
            return answer("none", "404 Not Found")
        number = int(request.path[1:] or 0)
        below = [f"/{child}" for child in range(number * 10 + 1, number * 10 + 11)
                 if child < PAGES]
        noise = random.Random(number).getrandbits(SIZE * 8).to_bytes(SIZE, "little")
        return answer(links(below).encode() + noise.replace(b"<", b" "))
    return respond


def free(disk):
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


class Watch:
    """The least free space seen on a disk."""

    def __init__(self, disk):
        self.disk, self.least, self.stopping = disk, free(disk), False
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        while not self.stopping:
            self.least = min(self.least, free(self.disk))
            time.sleep(0.005)

    def stop(self):
        self.stopping = True
        self.thread.join()
        return self.least


def config_of(directory, name, server, output, **more):
    return t.write_config(directory / f"{name}.toml", t.fast_crawl(
        [server.url()], directory / name,
        output={"directory": output, "warc": True, "min_free": MIN_FREE, **more},
        politeness={"delay": "20ms", "per_host_connections": 4}))


def check_all(test, directory, name, server, output):
    pages = t.read_pages(test, output.parent)
    test.check_equal_sets({page["url"] for page in pages},
                          {server.url(f"/{number or ''}") for number in range(PAGES)}, name)
    test.check(len(pages) == PAGES, f"{name}: {len(pages)} lines of output")
    test.check(len(server.pages) == PAGES, f"{name}: {len(server.pages)} requests")


def goes_on(test, directory, options, disk):
    """A big file is on the disk, and deleted while the crawl waits."""
    output = disk / "output"
    big = disk / "big"
    big.write_bytes(b"x" * (DISK - MIN_FREE - (4 << 20)))
    with ScriptedServer(site()) as server:
        config = config_of(directory, "goes-on", server, output, min_free_wait="1m")
        crawl = t.Run(options, directory, "crawl", config)
        t.wait_until(lambda: "the crawl pauses" in crawl.log.read_text() or crawl.ended(),
                     "the pause")
        test.check(not crawl.ended(), "goes on: ended instead of pausing", crawl.tail())
        watch = Watch(disk)
        requests = -1
        while requests != len(server.requests):  # those in flight end
            requests = len(server.requests)
            time.sleep(0.3)
        test.check(watch.stop() > 0, "goes on: the disk is full")
        test.check(0 < requests < PAGES, f"goes on: {requests} requests when it paused")
        big.unlink()
        crawl.wait()
        t.expect_exit(test, crawl, t.EXIT_DONE, "goes on")
        test.check("goes on" in crawl.text, "goes on: not said", crawl.tail())
        check_all(test, directory, "goes on", server, output)


def gives_up(test, directory, options, disk):
    output = disk / "output"
    big = disk / "big"
    big.write_bytes(b"x" * (DISK - MIN_FREE - (4 << 20)))
    with ScriptedServer(site()) as server:
        config = config_of(directory, "gives-up", server, output, min_free_wait="500ms")
        watch = Watch(disk)
        crawl = t.run(options, directory, "crawl", config)
        test.check(watch.stop() > 0, "gives up: the disk was full")
        t.expect_exit(test, crawl, t.EXIT_NO_SPACE, "gives up")
        for text in ("the crawl pauses", "output.min_free", str(output), "trawl resume"):
            test.check(text in crawl.text, f"gives up: {text} is missing", crawl.tail())
        fetched = len(server.pages)
        test.check(0 < fetched < PAGES, f"gives up: {fetched} pages")
        again = t.run(options, directory, "resume", config)
        t.expect_exit(test, again, t.EXIT_NO_SPACE, "resumed without space")
        test.check(len(server.pages) == fetched, "resumed without space: pages were fetched")
        big.unlink()
        resumed = t.run(options, directory, "resume", config)
        t.expect_exit(test, resumed, t.EXIT_DONE, "resumed with space")
        check_all(test, directory, "gives up", server, output)


def min_free(test, directory, options):
    for part in (goes_on, gives_up):
        disk = directory / f"disk-{part.__name__}"
        disk.mkdir()
        with t.tmpfs(disk, str(DISK)) as works:
            if not works:
                raise t.Skip("cannot mount a small file system here")
            part(test, directory, options, disk)


if __name__ == "__main__":
    t.main(min_free, t.parser(__doc__).parse_args())
