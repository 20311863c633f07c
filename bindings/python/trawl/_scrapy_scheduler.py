"""trawl.scrapy.Scheduler."""

import hashlib

import scrapy
from scrapy.core.scheduler import BaseScheduler
from scrapy.dupefilters import BaseDupeFilter, RFPDupeFilter
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object
from scrapy.utils.spider import DefaultSpider

import trawl

from ._scrapy_filter import DupeFilter
from ._scrapy_job import Job, directory_of_job
from ._scrapy_parts import DiskQueue, Duplicates, HandedOut, InProgress, MemoryQueue, Wake, logger
from ._scrapy_plain import quick_fingerprint
from ._scrapy_requests import host_of, restored_request, stored_request
from ._scrapy_settings import Settings

_MAX_NOTE_BYTES = 16 << 20
_NUMBER_BYTES = 8  # a note is the request's number and its pickle
_MAX_PRIORITY = 2**31 - 1
_DEPTHS = 1 << 12  # TRAWL_ORDER "dfs": depths that have a priority of their own
_STARTS_ARE_MARKED = hasattr(scrapy.Spider, "start")  # from Scrapy 2.13 on, in Request.meta
_HANDED_OUT = "trawl_handed_out"  # in Request.meta
_FILTERED = b"f"  # begins the keys of requests that can have duplicates
# The queue of records without a request. They make the keys of requests that could not be stored seen, once
# these are done.
_DONE_QUEUE = b"trawl done"


class _Offered:
    """A trawl.Url that is made quickly."""

    parent = depth = not_before = hold = None
    redirects = 0
    again = False


class Scheduler(BaseScheduler):
    """Requests are kept in a trawl.Frontier in JOBDIR from the moment in which they are enqueued until the
    engine has done all that follows from them. So a kill at any moment repeats those in progress, and loses
    none but those that cannot be stored."""

    def __init__(self, crawler):
        self._crawler = crawler
        self._stats = crawler.stats
        self._settings = Settings(crawler.settings)
        self._directory = directory_of_job(crawler.settings)
        self._duplicates = Duplicates(crawler.settings.getbool("DUPEFILTER_DEBUG"), crawler.stats)
        self._fingerprint = quick_fingerprint(crawler.request_fingerprinter)
        self._depth_first = self._settings.order == "dfs"
        self._filters = load_object(crawler.settings["DUPEFILTER_CLASS"]) is not BaseDupeFilter  # that takes all
        self._job = Job(self._directory, crawler, self._settings.exact, self._filters)
        self._frontier = self._wake = self._handed_out = self._slot = self.spider = None
        self._leases = {}  # request in progress: its lease
        self._left = set()  # requests in progress that have left the downloader, and hold no place there
        self._unstored = {}  # request in progress that was kept in memory: its key, if it can have duplicates
        self._unstored_keys = set()  # of these, and of those that wait in memory
        self._start = None  # the start request that the engine enqueues now
        self._starts = trawl.BloomFilter(10_000, self._settings.rate)  # start requests of this run
        self._start_copies = {}
        self._refetches = self._failed = False
        self.mqs = MemoryQueue()
        self.dqs = DiskQueue()

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    # ---- opening and closing ----

    def open(self, spider):
        self.spider = spider
        slot = getattr(self._crawler.engine, "_slot", None) or getattr(self._crawler.engine, "slot", None)
        if not isinstance(getattr(slot, "inprogress", None), set) or not hasattr(slot, "nextcall"):
            raise RuntimeError(
                f"Scrapy {scrapy.__version__} does not say which requests are in progress in the way that "
                "trawl.scrapy.Scheduler knows (inprogress of the engine's slot): use Scrapy's own scheduler")
        self._slot = slot
        self._warn_unserializable = not isinstance(spider, DefaultSpider)  # whose requests never can be stored
        self._job.belongs_to(spider)
        delay = self._delay()
        self._frontier = trawl.Frontier(
            self._directory / "trawl", delay=delay, leases_per_host=self._concurrency(),
            expected_urls=self._settings.expected_urls, false_positive_rate=self._settings.rate,
            exact=self._settings.exact, max_memory=self._settings.max_memory, lease_timeout=0,
            max_note_bytes=_MAX_NOTE_BYTES, max_url_length=1 << 20, max_set_aside=0)
        self._handed_out = HandedOut(self._directory / "trawl.handed-out")
        self._job.begin(self._set_slots(self._job.slots_before(), delay))
        self._say_who_filters()
        self._frontier.retry(state="held")  # what could not be read by the code of an earlier run
        stats = self._frontier.stats()
        self.dqs.count = stats["queued"] + stats["leased"] + stats["deferred"]
        resumed = stats["admitted"] > 0
        self._refetches = resumed and self._settings.refetch_start
        if resumed:
            logger.info("Resuming crawl (%(queuesize)d requests scheduled)", {"queuesize": self.dqs.count},
                        extra={"spider": spider})
            self._stats.set_value("trawl/resumed", self.dqs.count)
            if not self.dqs.count and not self._settings.refetch_start:
                logger.info("No request of this job is left, and start requests that it has had are not fetched "
                            "again: TRAWL_REFETCH_START = True fetches them", extra={"spider": spider})
        if getattr(slot, "start_requests", None) is not None:  # Scrapy before 2.13
            slot.start_requests = self._marked(slot.start_requests)
        slot.inprogress = InProgress(slot.inprogress, self._done)
        self._wake = Wake(self._frontier.event_fd(), slot.nextcall.schedule)

    def close(self, reason):
        if self._frontier is None:
            return
        if self._wake is not None:
            self._wake.close()
        if len(self.mqs):
            logger.warning("%(count)d requests that could not be stored are lost", {"count": len(self.mqs)},
                           extra={"spider": self.spider})
        failed, self._failed = self._failed, True  # requests that come later find it closed
        try:
            if not failed:
                for request, lease in self._leases.items():
                    if request not in self._left:
                        lease.release()
                self._frontier.flush()
            stats = self._frontier.stats()
            self._stats.set_value("trawl/expected_lost", stats["expected_lost"])
            self._stats.set_value("trawl/filter_bytes", stats["filter"]["memory"])
            if self._handed_out is not None:
                self._handed_out.close(clean=not self._leases and not failed)
        finally:
            frontier, self._frontier = self._frontier, None
            try:
                frontier.close()
            except trawl.Error:
                if not failed:  # it was said
                    raise

    def _set_slots(self, before, delay):
        """Gives slots what DOWNLOAD_SLOTS has for them, in place of what an earlier run gave; returns their names."""
        slots = self._crawler.settings.getdict("DOWNLOAD_SLOTS")
        for name in before:
            if name not in slots:
                self._frontier.set_host(_encoded(name), delay=0, exact_delay=False, leases=0)
        for name, slot in slots.items():
            own = float(slot.get("delay", delay)) if self._settings.politeness == "frontier" else 0
            self._frontier.set_host(_encoded(name), delay=own, exact_delay=True, leases=int(slot.get("concurrency", 0)))
        self._frontier.set_host(_DONE_QUEUE, delay=0, exact_delay=True, leases=1000)
        return slots

    def _say_who_filters(self):
        name = self._crawler.settings["DUPEFILTER_CLASS"]
        if load_object(name) not in (BaseDupeFilter, RFPDupeFilter, DupeFilter):
            logger.warning("DUPEFILTER_CLASS %(name)s is not asked: trawl.scrapy.Scheduler finds duplicates by the "
                           "request fingerprinter", {"name": name}, extra={"spider": self.spider})

    def _delay(self):
        """The delay that Trawl keeps. The downloader keeps the same, without chance, for requests that come
        from elsewhere, such as robots.txt; requests of the frontier find that it is over."""
        if self._settings.politeness == "scrapy":
            return 0
        delay = getattr(self.spider, "download_delay", None)
        if delay is None:
            delay = self._crawler.settings.getfloat("DOWNLOAD_DELAY")
        self._crawler.engine.downloader.randomize_delay = False
        return float(delay)

    def _concurrency(self):
        settings = self._crawler.settings
        most = getattr(self.spider, "max_concurrent_requests", None)
        if most is None:
            most = (settings.getint("CONCURRENT_REQUESTS_PER_IP")
                    or settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN"))
        return max(1, int(most))

    # ---- requests ----

    def __len__(self):
        return self.dqs.count + len(self.mqs)

    def has_pending_requests(self):
        return len(self) > 0

    def enqueue_request(self, request):
        number = self._handed_out.next_number()
        key = self._key_of(request, number)
        if self._unstored_keys and key in self._unstored_keys:
            self._duplicates.log(request, self.spider)
            return False
        try:
            note = number + stored_request(request, self.spider)
        except Exception as error:  # pylint: disable=broad-except  # of any class that takes part
            return self._keep_in_memory(request, key, error)
        answer = self._offer(request.url, key, self._queue_of(request), note, self._priority_of(request))
        if answer is trawl.Admission.NEW:
            self.dqs.count += 1
            self._stats.inc_value("scheduler/enqueued/disk")
            self._stats.inc_value("scheduler/enqueued")
            return True
        if answer is trawl.Admission.SEEN:
            self._duplicates.log(request, self.spider)
            return False
        if answer is None:
            return False
        return self._keep_in_memory(request, key, f"{answer.name.replace('_', ' ').lower()} for the frontier")

    def next_request(self):
        if self._failed:
            return None
        if self.mqs.waiting:
            request, key = self.mqs.pop()
            self._unstored[request] = key
            _mark(request)
            self._stats.inc_value("scheduler/dequeued/memory")
            self._stats.inc_value("scheduler/dequeued")
            return request
        try:
            return self._leased_request()
        except trawl.Error as error:
            self._fail(error)
            return None

    def _leased_request(self):
        while self.dqs.count:
            leases = self._frontier.lease(1, 0)
            if not leases:
                if self._free_places():
                    continue
                self._ask_again_in_time()
                return None
            (lease,) = leases
            self.dqs.count -= 1
            note = lease.note
            if not note:
                lease.complete()
                continue
            try:
                request = restored_request(memoryview(note)[_NUMBER_BYTES:], self.spider)
            except Exception:  # pylint: disable=broad-except  # the code is not as it was
                logger.error("The stored request %(url)s cannot be read by this code; the next run of the job tries "
                             "again", {"url": lease.url}, exc_info=True, extra={"spider": self.spider})
                self._stats.inc_value("trawl/unreadable")
                lease.hold("unreadable", always=True)
                continue
            _mark(request)
            self._leases[request] = lease
            if self._handed_out.add(note[:_NUMBER_BYTES]):
                self._stats.inc_value("trawl/repeated")
            self._stats.inc_value("scheduler/dequeued/disk")
            self._stats.inc_value("scheduler/dequeued")
            return request
        return None

    def _done(self, request):
        """The engine has taken the request out of its set. What followed from it was enqueued before, and
        becomes durable no later."""
        if self._failed:
            return  # not all that followed from it was stored: it comes again
        lease = self._leases.pop(request, None)
        if lease is not None:
            self._left.discard(request)
            try:
                lease.complete()
            except trawl.Error as error:
                self._fail(error)
        elif (key := self._unstored.pop(request, None)) is not None:
            if self._offer(request.url, key, _DONE_QUEUE, b"", _MAX_PRIORITY) is trawl.Admission.NEW:
                self.dqs.count += 1
            self._unstored_keys.discard(key)

    def _offer(self, url, key, queue, note, priority):
        """None: the frontier has failed."""
        if self._failed:
            return None
        offered = _Offered()
        offered.url = url if url.isascii() else url.encode("utf-8", "surrogatepass")
        offered.key = key
        offered.queue = queue
        offered.note = note
        offered.priority = priority
        try:
            (answer,) = self._frontier.offer((offered,), wait=False)
        except trawl.Error as error:
            self._fail(error)
            return None
        return answer

    def _keep_in_memory(self, request, key, reason):
        if key[:1] != _FILTERED:
            key = None
        elif self._was_seen(request, key):
            self._duplicates.log(request, self.spider)
            return False
        else:
            self._unstored_keys.add(key)
        if self._warn_unserializable:
            logger.warning("Unable to serialize request: %(request)s - reason: %(reason)s. It is kept in memory, "
                           "and lost when the process ends - no more unserializable requests will be logged "
                           "(stats being collected)", {"request": request, "reason": reason},
                           exc_info=isinstance(reason, Exception), extra={"spider": self.spider})
            self._warn_unserializable = False
        self.mqs.push(request, key)
        self._stats.inc_value("scheduler/unserializable")
        self._stats.inc_value("scheduler/enqueued/memory")
        self._stats.inc_value("scheduler/enqueued")
        return True

    def _was_seen(self, request, key):
        """Whether the frontier has the key. A link that is held is refused as seen if it was admitted, and
        otherwise not kept: max_set_aside is 0."""
        if self._failed:
            return False
        try:
            if self._settings.exact:
                self._frontier.flush()  # the ledger decides, which has what is durable
            (answer,) = self._frontier.offer((trawl.Url(b"trawl:", key=key, queue=self._queue_of(request),
                                                        hold="unstored"),), wait=False)
        except trawl.Error as error:
            self._fail(error)
            return False
        return answer is trawl.Admission.SEEN

    def _free_places(self):
        """Requests that have left the downloader need their slot's place no more, though their callbacks and
        pipelines may take long. Whether there were any."""
        active = self._crawler.engine.downloader.active
        left = [request for request in self._leases if request not in active and request not in self._left]
        for request in left:
            self._leases[request].complete(end_later=True)
        self._left.update(left)
        return bool(left)

    def _ask_again_in_time(self):
        """The engine asks every five seconds; a delay may end before."""
        if self._settings.politeness == "frontier":
            due = self._frontier.next_due()
            if due is not None:
                self._wake.wake_in(max(due, 0.001))

    def _fail(self, error):
        """The disk is full, or worse: what is durable stays for the next run."""
        if self._failed:
            return
        self._failed = True
        logger.critical("The spider is closed, since its requests cannot be stored any more: %(error)s",
                        {"error": error}, extra={"spider": self.spider})
        engine = self._crawler.engine
        if hasattr(engine, "close_spider_async"):  # from Scrapy 2.14 on
            self._wake.call_later(0, lambda: deferred_from_coro(
                engine.close_spider_async(reason="trawl_storage_failed")))
        else:
            self._wake.call_later(0, lambda: engine.close_spider(self.spider, reason="trawl_storage_failed"))

    # ---- keys, queues and priorities ----

    def _key_of(self, request, number):
        """What identifies a request; a request with dont_filter is a duplicate of nothing."""
        announced, self._start = self._start, None
        filtered = self._filters and not request.dont_filter
        if filtered and not self._refetches:
            return _FILTERED + self._fingerprint(request)
        is_start = announced is request or (
            _STARTS_ARE_MARKED and request.meta.get("is_start_request") and _HANDED_OUT not in request.meta)
        if is_start and self._refetches:
            return b"a" + number
        if filtered:
            return _FILTERED + self._fingerprint(request)
        if not is_start:
            return b"a" + number
        # The same in each run, and another for each of several equal ones.
        fingerprint = self._fingerprint(request)
        copy = 0
        if not self._starts.add(fingerprint):
            copy = self._start_copies[fingerprint] = self._start_copies.get(fingerprint, 0) + 1
        return b"s" + copy.to_bytes(4, "big") + fingerprint

    def _marked(self, start_requests):
        for request in start_requests:
            self._start = request
            yield request

    def _queue_of(self, request):
        """The name of its download slot."""
        name = request.meta.get("download_slot")
        if name is None:
            name = host_of(request)
        return _encoded(name) if name else b"none"

    def _priority_of(self, request):
        priority = request.priority
        if self._depth_first:
            depth = request.meta.get("depth")
            priority = priority * _DEPTHS + (min(depth, _DEPTHS - 1) if isinstance(depth, int) else 0)
        if -_MAX_PRIORITY <= priority <= _MAX_PRIORITY:
            return priority
        return _MAX_PRIORITY if priority > 0 else -_MAX_PRIORITY


def _encoded(name):
    """The name of a queue, which is limited."""
    encoded = str(name).encode("utf-8", "surrogatepass")
    return encoded if len(encoded) <= 255 else hashlib.sha1(encoded).hexdigest().encode()


def _mark(request):
    """So that copies of a start request, such as retries, are not taken for start requests."""
    if _STARTS_ARE_MARKED and "is_start_request" in request.meta:
        request.meta[_HANDED_OUT] = True
