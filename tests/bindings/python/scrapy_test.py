"""trawl.scrapy.Scheduler, asked as Scrapy's engine asks: what it takes, gives, and refuses."""

import logging

import pytest

scrapy = pytest.importorskip("scrapy", reason="Scrapy (python3-scrapy) is not installed")
# pylint: disable=wrong-import-position
from scrapy_engine import Spider, end, jobs, request_of, take, take_all, urls  # noqa: E402,F401

# pylint: disable=redefined-outer-name

def test_each_request_once_until_it_is_done(jobs):
    scheduler = jobs()
    assert len(scheduler) == 0 and not scheduler.has_pending_requests() and scheduler.next_request() is None
    assert scheduler.enqueue_request(request_of("1")) is True
    assert scheduler.enqueue_request(request_of("1")) is False
    assert scheduler.enqueue_request(request_of("1", method="POST", body="x")) is True
    assert len(scheduler) == 2 == len(scheduler.dqs) and len(scheduler.mqs) == 0 and scheduler.has_pending_requests()
    first, second = take(scheduler), take(scheduler)
    assert (first.method, second.method, second.body) == ("GET", "POST", b"x")
    assert take(scheduler) is None and not scheduler.has_pending_requests()
    end(scheduler, second)
    scheduler.close("shutdown")
    again = jobs()
    assert len(again) == 1 and again.stats.get_value("trawl/resumed") == 1
    assert urls(take_all(again)) == [first.url]
    again.close("finished")
    assert again.stats.get_value("trawl/expected_lost") == 0 and again.stats.get_value("trawl/filter_bytes") > 1000
    third = jobs()
    assert len(third) == 0 and third.enqueue_request(request_of("1")) is False


def test_statistics_are_scrapys(jobs):
    scheduler = jobs(DUPEFILTER_DEBUG=True)
    for options in ({}, {}, {"dont_filter": True}, {"callback": lambda response: None, "method": "PUT"}):
        scheduler.enqueue_request(request_of("1", **options))
    take_all(scheduler)
    stats = {name: value for name, value in scheduler.stats.get_stats().items() if not name.startswith("log_count")}
    assert stats == {"scheduler/enqueued": 3, "scheduler/enqueued/disk": 2, "scheduler/enqueued/memory": 1,
                     "scheduler/dequeued": 3, "scheduler/dequeued/disk": 2, "scheduler/dequeued/memory": 1,
                     "scheduler/unserializable": 1, "dupefilter/filtered": 1}


def test_all_of_a_request_comes_back(jobs):
    scheduler = jobs()
    body = bytes(range(256)) * 400
    sent = scrapy.FormRequest(
        "http://a.example/?q=ü%00#part", method="PATCH", body=body, headers={"X": "1"}, cookies={"c": "ü\0"},
        meta={"depth": 3, "text": "\ud800\0"}, priority=-7, cb_kwargs={"n": 1}, flags=["f"], encoding="latin-1",
        callback=scheduler.spider.other, errback=scheduler.spider.parse)
    assert scheduler.enqueue_request(sent)
    got = take(scheduler)
    assert type(got) is scrapy.FormRequest and got.callback == scheduler.spider.other
    assert got.to_dict(spider=scheduler.spider) == sent.to_dict(spider=scheduler.spider)


@pytest.mark.parametrize("url", ["file:///etc/hostname", "data:,text", "s3://bucket/key", "HTTP://A.example:80/x",
                                 "http://a.example/\x00", "http://a.example/%ed%a0%80",
                                 "http://ü.example/ü", "about:blank", "http://a.example/" + "x" * 100_000])
def test_urls_of_any_kind(jobs, url):
    scheduler = jobs()
    request = scrapy.Request(url)
    assert scheduler.enqueue_request(request) and not scheduler.enqueue_request(request)
    assert take(scheduler).url == request.url


def test_priorities_and_order(jobs):
    scheduler = jobs()
    for number, priority in enumerate((0, 5, -5, 5, 2**40, 0)):
        scheduler.enqueue_request(request_of(number, priority=priority))
    requests = take_all(scheduler)
    assert [request.url[-1] for request in requests] == ["4", "1", "3", "0", "5", "2"]
    assert requests[0].priority == 2**40


def test_depth_first(jobs):
    scheduler = jobs(TRAWL_ORDER="dfs")
    for number, depth, priority in ((0, 1, 0), (1, 3, 0), (2, 2, 0), (3, 1, 1), (4, 100_000, 0)):
        scheduler.enqueue_request(request_of(number, meta={"depth": depth}, priority=priority))
    assert [request.url[-1] for request in take_all(scheduler)] == ["3", "4", "1", "2", "0"]


def test_slots_take_turns(jobs):
    scheduler = jobs(CONCURRENT_REQUESTS_PER_DOMAIN=2)
    for number in range(20):
        scheduler.enqueue_request(request_of(number))
    for number in range(2):
        scheduler.enqueue_request(request_of(number, host="b.example"))
        scheduler.enqueue_request(request_of(f"slot/{number}", meta={"download_slot": "other"}))
    taken = [take(scheduler) for _ in range(6)]
    assert sorted(urls(taken)) == sorted(
        [f"http://{host}/{path}{number}" for host, path in (("a.example", ""), ("b.example", ""),
                                                             ("a.example", "slot/")) for number in range(2)])
    # A slot's places are those of its downloads: callbacks and pipelines do not hold them.
    assert take(scheduler) is None and scheduler.has_pending_requests()
    scheduler.engine.downloader.active.clear()
    more = [take(scheduler), take(scheduler)]
    assert urls(more) == ["http://a.example/2", "http://a.example/3"]
    assert take(scheduler) is None
    for request in taken + more:
        end(scheduler, request)
    assert len(take_all(scheduler)) == 16


def test_requests_that_cannot_be_stored(jobs, caplog):
    def unstorable(**options):
        return request_of("1", callback=lambda response: None, **options)

    scheduler = jobs()
    with caplog.at_level(logging.WARNING):
        assert scheduler.enqueue_request(unstorable())
        assert "Unable to serialize request" in caplog.text and "lost when the process ends" in caplog.text
    for again in (unstorable(), request_of("1")):
        assert not scheduler.enqueue_request(again)
    assert scheduler.enqueue_request(unstorable(dont_filter=True)) and len(scheduler.mqs) == 2 == len(scheduler)
    scheduler.close("shutdown")
    assert "2 requests that could not be stored are lost" in caplog.text
    again = jobs()
    assert len(again) == 0 and again.enqueue_request(unstorable()), "one that was lost must come again"
    for duplicate in (unstorable(), request_of("1")):
        assert not again.enqueue_request(duplicate)
    request = take(again)
    assert not again.enqueue_request(unstorable()), "it is in progress"
    end(again, request)
    assert take_all(again) == [] and len(again) == 0
    assert not again.enqueue_request(unstorable()) and not again.enqueue_request(request_of("1"))
    again.close("finished")
    last = jobs()
    assert not last.enqueue_request(unstorable()), "it was done"
    assert last.enqueue_request(request_of("2")) and not last.enqueue_request(
        request_of("2", callback=lambda response: None))


@pytest.mark.parametrize("exact", [False, True])
def test_unstorable_after_stored(jobs, exact):
    scheduler = jobs(TRAWL_EXACT=exact)
    assert scheduler.enqueue_request(request_of("1"))
    assert not scheduler.enqueue_request(request_of("1", callback=lambda response: None))


def test_bodies_of_100_kib_and_beyond_the_limit(jobs):
    scheduler = jobs()
    for size in (100 << 10, 17 << 20):
        assert scheduler.enqueue_request(request_of(size, method="POST", body=b"x" * size))
    assert (len(scheduler.dqs), len(scheduler.mqs)) == (1, 1)
    assert sorted(len(request.body) for request in take_all(scheduler)) == [100 << 10, 17 << 20]


class Getter(Spider):
    def gone(self, response):
        pass


def test_requests_that_the_code_cannot_read_wait_for_other_code(jobs, caplog):
    scheduler = jobs(spider=Getter)
    scheduler.enqueue_request(request_of("1", callback=scheduler.spider.gone))
    scheduler.enqueue_request(request_of("2"))
    scheduler.close("shutdown")
    without = jobs()
    assert urls(take_all(without)) == ["http://a.example/2"] and len(without) == 0
    assert without.stats.get_value("trawl/unreadable") == 1 and "cannot be read by this code" in caplog.text
    without.close("finished")
    again = jobs(spider=Getter)
    assert urls(take_all(again)) == ["http://a.example/1"]


def start(scheduler, requests):
    """Enqueues start requests as the engine does, before and from 2.13 on."""
    if hasattr(scrapy.Spider, "start"):
        for request in requests:
            request.meta["is_start_request"] = True
            scheduler.enqueue_request(request)
    else:
        for request in scheduler.engine.slot.start_requests:
            scheduler.enqueue_request(request)


def starts(*, dont_filter=True):
    return [request_of(path, dont_filter=dont_filter) for path in ("1", "2", "1")]


def test_start_requests_are_not_fetched_again(jobs, caplog):
    scheduler = jobs(starts())
    start(scheduler, starts())
    (first, *_) = requests = take_all(scheduler)
    assert urls(requests) == [request.url for request in starts()], "equal ones are fetched as often as they come"
    retry = first.replace(dont_filter=True)
    assert scheduler.enqueue_request(retry) and scheduler.enqueue_request(retry.copy()), "retries are none"
    assert scheduler.enqueue_request(request_of("1")), "as with Scrapy's filter"
    take_all(scheduler)
    scheduler.close("finished")
    with caplog.at_level(logging.INFO):
        again = jobs(starts() + [request_of("3", dont_filter=True)])
    assert "TRAWL_REFETCH_START" in caplog.text
    start(again, starts() + [request_of("3", dont_filter=True)])
    assert urls(take_all(again)) == ["http://a.example/3"]
    again.close("finished")
    for dont_filter in (True, False):
        refetch = jobs(starts(dont_filter=dont_filter), TRAWL_REFETCH_START=True)
        start(refetch, starts(dont_filter=dont_filter))
        assert len(take_all(refetch)) == 3
        refetch.close("finished")


def test_delays_of_the_frontier(jobs):
    scheduler = jobs(TRAWL_POLITENESS="frontier", DOWNLOAD_DELAY=30,
                     DOWNLOAD_SLOTS={"b.example": {"delay": 0, "concurrency": 3}})
    assert scheduler.engine.downloader.randomize_delay is False
    frontier = scheduler._frontier
    assert frontier.host("b.example")["leases"] == 3
    for number in range(5):
        for host in ("a.example", "b.example"):
            scheduler.enqueue_request(request_of(number, host=host))
    taken = []
    while request := take(scheduler):
        taken.append(request)
    assert [request.url for request in taken if "b.example" in request.url] == [
        f"http://b.example/{number}" for number in range(3)]
    assert len(taken) <= 4 and scheduler.has_pending_requests()
    scheduler.close("shutdown")
    assert jobs(TRAWL_POLITENESS="frontier", DOWNLOAD_DELAY=30)._frontier.host("b.example").get("leases") in (None, 0)
