"""What trawl.scrapy is made of: the log of duplicates, queues in memory, the event loop, and the record of what
was handed out."""

import heapq
import itertools
import logging
import mmap
import os
import sys
import time

from scrapy.utils.request import referer_str

logger = logging.getLogger("trawl.scrapy")


class Duplicates:
    """Logs and counts duplicates as Scrapy's filter does."""

    def __init__(self, debug, stats):
        self._debug = debug
        self.stats = stats
        self._first = True

    def log(self, request, spider):
        if self._debug:
            logger.debug("Filtered duplicate request: %(request)s (referer: %(referer)s)",
                         {"request": request, "referer": referer_str(request)}, extra={"spider": spider})
        elif self._first:
            logger.debug("Filtered duplicate request: %(request)s - no more duplicates will be shown "
                         "(see DUPEFILTER_DEBUG to show all duplicates)", {"request": request},
                         extra={"spider": spider})
            self._first = False
        stats = self.stats if self.stats is not None else spider.crawler.stats
        stats.inc_value("dupefilter/filtered")


class InProgress(set):
    """The engine's set of the requests in progress, which says when it takes one out."""

    def __init__(self, requests, on_removed):
        super().__init__(requests)
        self._on_removed = on_removed

    def remove(self, request):
        super().remove(request)
        self._on_removed(request)

    def discard(self, request):
        if request in self:
            self.remove(request)


class MemoryQueue:
    """Requests that cannot be stored, with their keys: the highest priority first, of these the newest."""

    def __init__(self):
        self.waiting = []  # a heap
        self._count = itertools.count()

    def push(self, request, key):
        heapq.heappush(self.waiting, (-request.priority, -next(self._count), request, key))

    def pop(self):
        return heapq.heappop(self.waiting)[-2:] if self.waiting else None

    def __len__(self):
        return len(self.waiting)


class DiskQueue:
    """The number of requests in the frontier, for Scrapy's telnet console."""

    def __init__(self):
        self.count = 0

    def __len__(self):
        return self.count


def allocate(file, start, size, path):
    """Of a file that will be mapped: a full disk is an error here, and not a signal later."""
    try:
        os.posix_fallocate(file.fileno(), start, size)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}, for {size} bytes of", os.fspath(path)) from None


def replace_file(path, pieces):
    """The file is the old one or the new one, whenever the process ends."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


class HandedOut:
    """A file of the last requests that were handed out. It is mapped, so that it is right after a kill at any
    moment; what is in it then and is handed out again was in progress."""

    _PLACES = 1 << 14
    _SIZE = 8 * (1 + _PLACES)  # first, how many there were; then their numbers

    def __init__(self, path):
        self._path = path
        with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            if os.fstat(file.fileno()).st_size not in (0, self._SIZE):
                file.truncate(0)
            allocate(file, 0, self._SIZE, path)
            self._map = mmap.mmap(file.fileno(), self._SIZE)
        self._count = int.from_bytes(self._map[:8], "little")
        places = self._map[8:]
        self._before = {places[at:at + 8] for at in range(0, len(places), 8)} - {bytes(8)}
        self._next = time.time_ns()  # so they grow from run to run

    def next_number(self):
        """8 bytes that stand for one request."""
        self._next += 1
        return self._next.to_bytes(8, "little")

    def add(self, number):
        """Whether it was handed out in an earlier run."""
        count = self._count
        at = 8 + 8 * (count % self._PLACES)
        self._map[at:at + 8] = number
        self._count = count = count + 1
        self._map[:8] = count.to_bytes(8, "little")
        if self._before and number in self._before:
            self._before.remove(number)
            return True
        return False

    def close(self, clean):
        self._map.close()
        if clean:
            self._path.unlink(missing_ok=True)


class Wake:
    """Calls `wake` when a descriptor becomes readable or after a time, in Twisted's reactor or, where Scrapy
    runs without one, in asyncio's loop."""

    def __init__(self, fd, wake):
        self._fd = fd
        self._wake = wake
        self._timer = None
        self._at = 0.0
        self._reactor = self._loop = None
        if "twisted.internet.reactor" in sys.modules:
            from twisted.internet import reactor  # pylint: disable=import-outside-toplevel

            self._reactor = reactor
            reactor.addReader(self)
        else:
            import asyncio  # pylint: disable=import-outside-toplevel

            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(fd, self.doRead)

    def call_later(self, seconds, call):
        return (self._reactor.callLater if self._reactor else self._loop.call_later)(seconds, call)

    def wake_in(self, seconds):
        at = time.monotonic() + seconds
        if self._timer is not None:
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        self._timer = self.call_later(seconds, self._in_time)

    def _in_time(self):
        self._timer = None
        self._wake()

    def close(self):
        if self._reactor:
            self._reactor.removeReader(self)
        else:
            self._loop.remove_reader(self._fd)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Twisted's IReadDescriptor:
    def fileno(self):
        return self._fd

    def doRead(self):
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            pass
        self._wake()

    def connectionLost(self, _reason):
        pass

    def logPrefix(self):
        return "trawl"
