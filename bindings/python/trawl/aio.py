"""The frontier in asyncio: no thread waits; the event loop watches the frontier's eventfd.

    async with trawl.aio.Frontier("state") as frontier:
        frontier.offer(["https://example.com/"])
        async for lease in frontier.leases(concurrency=64):
            asyncio.create_task(fetch(lease))      # ends with lease.complete(...)
"""

import asyncio
import os

import trawl

# However long nothing is due by the frontier's own account, it is asked again after this time.
_LONGEST_WAIT = 60.0


class Frontier:
    """A trawl.Frontier for one event loop. Calls that would wait for the disk run in its executor."""

    def __init__(self, directory, **options):
        self._frontier = trawl.Frontier(directory, **options)
        self._loop = None
        self._wake = None

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
        if self._loop is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._fd = self._frontier.event_fd()
        self._loop.add_reader(self._fd, self._woken)

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
        self._watch()
        while True:
            self._wake.clear()
            leases = self._frontier.lease(max, 0)
            if leases or self._frontier.progress() != "running":
                return leases
            due = self._frontier.next_due()
            try:
                await asyncio.wait_for(self._wake.wait(),
                                       _LONGEST_WAIT if due is None else min(due, _LONGEST_WAIT))
            except asyncio.TimeoutError:
                pass

    async def leases(self, concurrency=64):
        """Leases until the end; at most `concurrency` are open at the same time."""
        open_leases = set()
        ended = asyncio.Event()

        def end(lease):
            open_leases.discard(lease.id)
            ended.set()

        while True:
            while len(open_leases) >= concurrency:
                ended.clear()
                await ended.wait()
            leases = await self.lease(concurrency - len(open_leases))
            if not leases:
                return
            for lease in leases:
                open_leases.add(lease.id)
                yield Lease(lease, end)

    async def flush(self):
        """Returns when everything completed or offered before is durable."""
        await asyncio.get_running_loop().run_in_executor(None, self._frontier.flush)

    async def close(self):
        if self._loop is not None:
            self._loop.remove_reader(self._fd)
            self._loop = None
        await asyncio.get_running_loop().run_in_executor(None, self._frontier.close)


class Lease:
    """A trawl.Lease of leases(): its end makes room for another."""

    __slots__ = ("_lease", "_end")

    def __init__(self, lease, end):
        self._lease = lease
        self._end = end

    def __getattr__(self, name):
        return getattr(self._lease, name)

    def complete(self, *args, **kwargs):
        result = self._lease.complete(*args, **kwargs)
        self._end(self._lease)
        return result

    def fail(self, *args, **kwargs):
        result = self._lease.fail(*args, **kwargs)
        self._end(self._lease)
        return result

    def hold(self, *args, **kwargs):
        self._lease.hold(*args, **kwargs)
        self._end(self._lease)

    def release(self, *args, **kwargs):
        self._lease.release(*args, **kwargs)
        self._end(self._lease)
