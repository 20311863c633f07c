"""For the tests of trawl.scrapy.Scheduler: what the scheduler knows of Scrapy's engine, and calls as it makes."""

import types

import pytest

scrapy = pytest.importorskip("scrapy", reason="Scrapy (python3-scrapy) is not installed")
# pylint: disable=wrong-import-position
import twisted.internet.reactor  # noqa: E402,F401  pylint: disable=unused-import
from scrapy.core.scheduler import BaseScheduler  # noqa: E402
from scrapy.dupefilters import BaseDupeFilter  # noqa: E402
from scrapy.utils.misc import load_object  # noqa: E402
from scrapy.utils.test import get_crawler  # noqa: E402


class Spider(scrapy.Spider):
    name = "test"

    def other(self, response):
        pass


class Engine:
    """Of the engine what the scheduler knows."""

    def __init__(self, start_requests=()):
        self.woken = 0
        self.closed = []
        self.slot = types.SimpleNamespace(inprogress=set(), nextcall=types.SimpleNamespace(schedule=self._wake),
                                          start_requests=iter(start_requests))
        self.downloader = types.SimpleNamespace(active=set(), randomize_delay=True)

    def _wake(self):
        self.woken += 1

    def close_spider(self, _spider, reason):
        self.closed.append(reason)


@pytest.fixture
def jobs(tmp_path):
    """Opens the scheduler of a job in a directory; closes what is left open."""
    opened = []

    def job(start_requests=(), spider=Spider, engine=None, **settings):
        settings = {"JOBDIR": str(tmp_path / "job"), "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7", **settings}
        crawler = get_crawler(spider, settings)
        crawler.engine = engine or Engine(start_requests)
        kind = load_object("trawl.scrapy.Scheduler")
        assert issubclass(kind, BaseScheduler)
        scheduler = kind.from_crawler(crawler)
        scheduler.engine, scheduler.stats = crawler.engine, crawler.stats
        opened.append(scheduler)
        assert scheduler.open(spider.from_crawler(crawler)) is None
        return scheduler
    yield job
    for scheduler in opened:
        scheduler.close("finished")


def take(scheduler):
    """The next request, handed out as the engine does."""
    scheduler._frontier.flush()  # offers are not waited for
    request = scheduler.next_request()
    if request is not None:
        scheduler.engine.slot.inprogress.add(request)
        scheduler.engine.downloader.active.add(request)
    return request


def end(scheduler, request):
    scheduler.engine.downloader.active.discard(request)
    scheduler.engine.slot.inprogress.remove(request)


def take_all(scheduler):
    requests = []
    while (request := take(scheduler)) is not None:
        requests.append(request)
        end(scheduler, request)
    return requests


def urls(requests):
    return [request.url for request in requests]


def request_of(path, host="a.example", **options):
    return scrapy.Request(f"http://{host}/{path}", **options)


class MyDupeFilter(BaseDupeFilter):
    """A filter of the user's own."""
