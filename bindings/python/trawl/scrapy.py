"""Scrapy on Trawl: a scheduler that loses nothing when the process is killed, a filter of duplicates
that takes a few bytes a request, and a quick fingerprinter.

    SCHEDULER = "trawl.scrapy.Scheduler"                         # needs JOBDIR
    DUPEFILTER_CLASS = "trawl.scrapy.DupeFilter"                 # or only this, with Scrapy's scheduler
    REQUEST_FINGERPRINTER_CLASS = "trawl.scrapy.Fingerprinter"   # optional: faster

Settings: TRAWL_EXPECTED_URLS, TRAWL_FALSE_POSITIVE_RATE, TRAWL_EXACT, TRAWL_ORDER, TRAWL_POLITENESS,
TRAWL_REFETCH_START, TRAWL_MAX_MEMORY, TRAWL_KEEP_SEEN.
"""

import hashlib
import heapq
import itertools
import logging
import os
import pathlib
import pickle

import scrapy
from scrapy.exceptions import NotConfigured
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.request import referer_str, request_from_dict

import trawl

logger = logging.getLogger(__name__)

_MAX_NOTE_BYTES = 16 << 20
_MAX_PRIORITY = 2**31 - 1
_DEPTHS = 1 << 12  # TRAWL_ORDER "dfs": depths that a priority can tell apart


class _Settings:
    """Those of Trawl, checked."""

    def __init__(self, settings):
        self.expected_urls = self._positive(settings, "TRAWL_EXPECTED_URLS", int, 1_000_000)
        self.rate = self._positive(settings, "TRAWL_FALSE_POSITIVE_RATE", float, 1e-9)
        if self.rate >= 1:
            raise NotConfigured("TRAWL_FALSE_POSITIVE_RATE must be below 1")
        self.exact = settings.getbool("TRAWL_EXACT", False)
        self.order = self._one_of(settings, "TRAWL_ORDER", ("bfs", "dfs"))
        self.politeness = self._one_of(settings, "TRAWL_POLITENESS", ("scrapy", "frontier"))
        self.refetch_start = settings.getbool("TRAWL_REFETCH_START", False)
        self.keep_seen = settings.getbool("TRAWL_KEEP_SEEN", False)
        self.max_memory = self._positive(settings, "TRAWL_MAX_MEMORY", int, 256 << 20)

    @staticmethod
    def _positive(settings, name, kind, default):
        value = settings.get(name, default)
        try:
            number = kind(value)
        except (TypeError, ValueError):
            raise NotConfigured(f"{name} must be a number, not {value!r}") from None
        if number <= 0:
            raise NotConfigured(f"{name} must be above 0, not {value!r}")
        return number

    @staticmethod
    def _one_of(settings, name, values):
        value = settings.get(name, values[0])
        if value not in values:
            raise NotConfigured(f"{name} must be one of {', '.join(values)}, not {value!r}")
        return value


class Fingerprinter:
    """Method, canonical URL and body, as Scrapy's; the URL by Trawl's canonical key with the query
    sorted. Its fingerprints differ from Scrapy's: choose one when a job begins."""

    @classmethod
    def from_crawler(cls, _crawler):
        return cls()

    def __init__(self):
        self._key = trawl.Canonicalizer(["sort_query"]).key

    def fingerprint(self, request):
        try:
            key = self._key(request.url)
        except trawl.Error:  # another scheme
            key = request.url
        digest = hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=20)
        if request.method != "GET" or request.body:
            digest.update(b"\0" + request.method.encode() + b"\0" + request.body)
        return digest.digest()


class _Duplicates:
    """Logs duplicates as Scrapy's filter does."""

    def __init__(self, debug, stats):
        self._debug = debug
        self._stats = stats
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
        if self._stats is not None:
            self._stats.inc_value("dupefilter/filtered", spider=spider)


class _MemoryQueue:
    """Requests that cannot be stored: the highest priority first, the newest of these first."""

    def __init__(self):
        self._heap = []
        self._count = itertools.count()

    def push(self, request):
        heapq.heappush(self._heap, (-request.priority, -next(self._count), request))

    def pop(self):
        return heapq.heappop(self._heap)[-1] if self._heap else None

    def __len__(self):
        return len(self._heap)


class Scheduler:
    """Requests are kept in a trawl.Frontier in JOBDIR from the moment in which they are enqueued until
    the engine has done all that follows from them; a kill at any moment repeats those in progress."""

    def __init__(self, crawler):
        self._crawler = crawler
        self._settings = _Settings(crawler.settings)
        self._jobdir = crawler.settings.get("JOBDIR")
        self._warn_unserializable = crawler.settings.getbool("SCHEDULER_DEBUG")
        self._duplicates = _Duplicates(crawler.settings.getbool("DUPEFILTER_DEBUG"), crawler.stats)
        self._fingerprint = crawler.request_fingerprinter.fingerprint
        self._frontier = None
        self._pending = 0
        self._leases = {}  # request in progress: its lease
        self._start = None  # the start request that the engine enqueues now
        self._resumed = False
        self.mqs = _MemoryQueue()
        self.dqs = self  # scrapy.utils.engine asks for its length

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        self.spider = spider
        if not self._jobdir:
            raise NotConfigured("trawl.scrapy.Scheduler needs JOBDIR, the directory where it keeps the requests")
        directory = pathlib.Path(self._jobdir)
        for name in ("requests.queue", "requests.seen"):
            if (directory / name).exists():
                raise NotConfigured(
                    f"{directory} is the job of another scheduler: it has {name}. Its requests cannot be taken "
                    "over: finish it with that scheduler, or give JOBDIR a directory of its own")
        slot = getattr(self._crawler.engine, "slot", None) or getattr(self._crawler.engine, "_slot", None)
        if slot is None or not hasattr(slot, "inprogress"):
            raise NotConfigured(
                f"Scrapy {scrapy.__version__} does not say which requests are in progress as the versions do that "
                "trawl.scrapy knows (engine.slot.inprogress): use its own scheduler")
        self._slot = slot
        if getattr(slot, "start_requests", None) is not None:
            slot.start_requests = self._marked(slot.start_requests)
        self._frontier = trawl.Frontier(
            directory / "trawl", delay=self._delay(), leases_per_host=self._concurrency(),
            expected_urls=self._settings.expected_urls, false_positive_rate=self._settings.rate,
            exact=self._settings.exact, max_memory=self._settings.max_memory, lease_timeout=0,
            max_note_bytes=_MAX_NOTE_BYTES, max_url_length=1 << 20, max_set_aside=0)
        stats = self._frontier.stats()
        self._pending = stats["queued"] + stats["leased"] + stats["deferred"]
        self._resumed = stats["admitted"] > 0
        if self._resumed:
            logger.info("Resuming crawl (%(queuesize)d requests scheduled)", {"queuesize": self._pending},
                        extra={"spider": spider})
            self._count("trawl/resumed", self._pending)
        self._watch()

    def close(self, reason):
        if self._frontier is None:
            return
        self._complete_done()
        for lease in self._leases.values():
            lease.release()
        self._leases.clear()
        self._unwatch()
        self._frontier.flush()
        stats = self._frontier.stats()
        self._crawler.stats.set_value("trawl/expected_lost", stats["expected_lost"])
        self._crawler.stats.set_value("trawl/filter_bytes", stats["filter"]["memory"])
        self._frontier.close()

    def __len__(self):
        return self._pending + len(self.mqs)

    def has_pending_requests(self):
        return len(self) > 0

    def enqueue_request(self, request):
        is_start = request is self._start
        self._start = None
        fingerprint = self._fingerprint(request)
        if is_start and not self._settings.refetch_start:
            key = b"start\0" + fingerprint if request.dont_filter else fingerprint
        elif request.dont_filter:  # not a duplicate of anything, nor anything of it
            key = b"again\0" + os.urandom(16)
        else:
            key = fingerprint
        try:
            note = pickle.dumps(request.to_dict(spider=self.spider), protocol=4)
        except (AttributeError, pickle.PicklingError, RecursionError, TypeError, ValueError) as error:
            self._keep_in_memory(request, error)
            return True
        (answer,) = self._frontier.offer(
            (trawl.Url(request.url, key=key, queue=self._queue_of(request), note=note,
                       priority=self._priority_of(request)),), wait=False)
        if answer is trawl.Admission.SEEN:
            self._duplicates.log(request, self.spider)
            return False
        if answer is not trawl.Admission.NEW:
            self._keep_in_memory(request, answer.name)
            return True
        self._pending += 1
        self._count("scheduler/enqueued/disk")
        self._count("scheduler/enqueued")
        return True

    def next_request(self):
        self._complete_done()
        request = self.mqs.pop()
        if request is not None:
            self._count("scheduler/dequeued/memory")
            self._count("scheduler/dequeued")
            return request
        leases = self._frontier.lease(1, 0) if self._pending else ()
        if not leases:
            if self._pending:
                self._ask_again_in_time()
            return None
        (lease,) = leases
        request = request_from_dict(pickle.loads(lease.note), spider=self.spider)
        self._leases[request] = lease
        self._pending -= 1
        self._count("scheduler/dequeued/disk")
        self._count("scheduler/dequeued")
        return request

    def _complete_done(self):
        """Completes the requests that the engine has taken out of its set. What followed from them was
        enqueued before, and is durable no later."""
        in_progress = self._slot.inprogress
        for request in [each for each in self._leases if each not in in_progress]:
            self._leases.pop(request).complete()

    def _keep_in_memory(self, request, reason):
        if self._warn_unserializable:
            logger.warning("Unable to serialize request: %(request)s - reason: %(reason)s - no more "
                           "unserializable requests will be logged (stats being collected)",
                           {"request": request, "reason": reason}, extra={"spider": self.spider})
            self._warn_unserializable = False
        self.mqs.push(request)
        self._count("scheduler/unserializable")
        self._count("scheduler/enqueued/memory")
        self._count("scheduler/enqueued")

    def _count(self, name, count=1):
        self._crawler.stats.inc_value(name, count, spider=self.spider)

    def _marked(self, start_requests):
        for request in start_requests:
            self._start = request
            yield request

    def _queue_of(self, request):
        """The name of its download slot."""
        name = request.meta.get("download_slot") or urlparse_cached(request).hostname or "none"
        encoded = str(name).encode("utf-8", "surrogatepass")
        return encoded if len(encoded) <= 255 else hashlib.sha1(encoded).hexdigest()

    def _priority_of(self, request):
        priority = request.priority
        if self._settings.order == "dfs":
            priority = priority * _DEPTHS + min(int(request.meta.get("depth", 0)), _DEPTHS - 1)
        return max(-_MAX_PRIORITY, min(priority, _MAX_PRIORITY))

    def _delay(self):
        """The delay that Trawl keeps; then Scrapy's downloader keeps none."""
        if self._settings.politeness == "scrapy":
            return 0
        delay = getattr(self.spider, "download_delay", None)
        if delay is None:
            delay = self._crawler.settings.getfloat("DOWNLOAD_DELAY")
        self.spider.download_delay = 0
        return delay

    def _concurrency(self):
        """Leases of a slot at the same time. Scrapy's downloader has a limit of its own, and a request
        holds its lease longer than its place there."""
        settings = self._crawler.settings
        if self._settings.politeness == "frontier":
            return max(1, settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"))
        return max(1, 4 * settings.getint("CONCURRENT_REQUESTS"))

    def _watch(self):
        from twisted.internet import reactor

        self._reactor = reactor
        self._timer = None
        self._reader = _WakeReader(self._frontier.event_fd(), self._slot.nextcall.schedule)
        reactor.addReader(self._reader)

    def _unwatch(self):
        self._reactor.removeReader(self._reader)
        if self._timer is not None and self._timer.active():
            self._timer.cancel()

    def _ask_again_in_time(self):
        """The engine asks every five seconds by itself; a delay may end before."""
        due = self._frontier.next_due()
        if due is None or (self._timer is not None and self._timer.active()):
            return
        self._timer = self._reactor.callLater(due, self._slot.nextcall.schedule)


class _WakeReader:
    """Wakes the engine when the frontier's eventfd says that a request may have become due."""

    def __init__(self, fd, wake):
        self._fd = fd
        self._wake = wake

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


class DupeFilter:
    """A Bloom filter of fingerprints in place of a set: a few bytes a request, kept in JOBDIR.

    With another scheduler than trawl.scrapy.Scheduler, requests that are queued when the process is
    killed are lost there. A filter that knows them would never let them in again, so after an unclean
    end it starts empty, unless TRAWL_KEEP_SEEN is set.
    """

    def __init__(self, jobdir, settings, debug, stats, fingerprint):
        self._settings = settings
        self._duplicates = _Duplicates(debug, stats)
        self._stats = stats
        self._fingerprint = fingerprint
        self._directory = pathlib.Path(jobdir, "trawl-seen") if jobdir else None
        self.filter = None

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings.get("JOBDIR"), _Settings(crawler.settings),
                   crawler.settings.getbool("DUPEFILTER_DEBUG"), crawler.stats,
                   crawler.request_fingerprinter.fingerprint)

    def open(self):
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._load()
        if self.filter is None:
            self.filter = trawl.BloomFilter(self._settings.expected_urls, self._settings.rate)

    def _load(self):
        saved, running = self._directory / "requests.filter", self._directory / "running"
        unclean = running.exists()
        running.touch()
        if unclean and not self._settings.keep_seen:
            logger.warning("The last run of this job did not end cleanly: requests that were queued then are lost in "
                           "its scheduler, so the filter of duplicates starts empty. TRAWL_KEEP_SEEN = True keeps "
                           "it; trawl.scrapy.Scheduler loses none")
        elif saved.exists():
            self.filter = trawl.BloomFilter.open(saved)

    def close(self, _reason):
        if self._stats is not None:
            stats = self.filter.stats()
            self._stats.set_value("trawl/expected_lost", stats["expected_false_positives"])
            self._stats.set_value("trawl/filter_bytes", stats["memory"])
        if self._directory is not None:
            self.filter.save(self._directory / "requests.filter")
            (self._directory / "running").unlink(missing_ok=True)

    def request_seen(self, request):
        return not self.filter.add(self._fingerprint(request))

    def request_fingerprint(self, request):
        return self._fingerprint(request).hex()

    def log(self, request, spider):
        self._duplicates.log(request, spider)
