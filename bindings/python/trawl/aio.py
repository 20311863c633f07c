"""The frontier in asyncio: no thread waits; the event loop watches the frontier's eventfd.

    async with trawl.aio.Frontier("state") as frontier:
        frontier.offer(["https://example.com/"])
        async for lease in frontier.leases(concurrency=64):
            asyncio.create_task(fetch(lease))      # ends with lease.complete(...)
"""

import asyncio
import os
import threading

import trawl

# However long nothing is due by the frontier's own account, it is asked again after this time.
_LONGEST_WAIT = 60.0


class Frontier:
    """A trawl.Frontier for one event loop. Calls that would wait for the disk run in its executor."""

    def __init__(self, directory, **options):
        self._frontier = trawl.Frontier(directory, **options)
        self._loop = None
        self._wake = None
        self._closed = False

    def __reduce__(self):
        raise TypeError("cannot pickle or copy a trawl.aio.Frontier object")

    @property
    def sync(self):
        """The trawl.Frontier behind it, for calls that do not wait: stats(), set_host(), ..."""
        return self._frontier

    async def __aenter__(self):
        self._watch()
        return self

    async def __aexit__(self, *_):
        await self.close()

    def _watch(self):
        if self._closed:
            raise trawl.ClosedError("the frontier was closed")
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError("the frontier belongs to another event loop, which is not closed")
        self._fd = self._frontier.event_fd()
        loop.add_reader(self._fd, self._woken)
        self._loop = loop
        self._wake = asyncio.Event()

    def _unwatch(self, loop):
        loop.remove_reader(self._fd)
        self._wake.set()

    def _woken(self):
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            pass
        self._wake.set()

    def offer(self, urls, **settings):
        """As trawl.Frontier.offer(), without waiting: durable before any later completion."""
        return self._frontier.offer(urls, wait=False, **settings)

    async def lease(self, max=1):
        """Up to `max` leases, as soon as one is due; none at the end of the crawl."""
        while True:
            self._watch()
            self._wake.clear()
            leases = self._frontier.lease(max, 0)
            if leases or self._frontier.progress() != "running":
                return leases
            due = self._frontier.next_due()
            # Not asyncio.wait_for(): before 3.12 it loses a cancellation that comes with the wake-up.
            timer = self._loop.call_later(
                _LONGEST_WAIT if due is None else min(due, _LONGEST_WAIT), self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()

    async def leases(self, concurrency=64):
        """Leases until the end; at most `concurrency` are open at the same time.

        A lease counts as open until it is ended, or until nothing refers to it any more.
        """
        if concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        self._watch()
        loop, thread = self._loop, threading.get_ident()
        places = asyncio.Semaphore(concurrency)

        def free():
            if threading.get_ident() == thread:
                places.release()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(places.release)

        while True:
            await places.acquire()
            leases = await self.lease()
            if not leases:
                return
            lease = leases.pop()
            lease._on_end(free)
            yield lease
            del lease

    async def flush(self):
        """Returns when everything completed or offered before is durable."""
        await asyncio.get_running_loop().run_in_executor(None, self._frontier.flush)

    async def close(self):
        """Makes everything durable and releases the storage. Waiting calls raise ClosedError."""
        self._closed = True
        loop, self._loop = self._loop, None
        if loop is asyncio.get_running_loop():
            self._unwatch(loop)
        elif loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._unwatch, loop)
        await asyncio.get_running_loop().run_in_executor(None, self._frontier.close)
