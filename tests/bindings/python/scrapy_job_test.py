"""The jobs of trawl.scrapy.Scheduler: settings, directories and disks that are not as they should be."""

import errno
import os
import types

import pytest

import trawl

scrapy = pytest.importorskip("scrapy", reason="Scrapy (python3-scrapy) is not installed")
# pylint: disable=wrong-import-position
from scrapy.exceptions import NotConfigured  # noqa: E402
from scrapy.utils.spider import DefaultSpider  # noqa: E402
from scrapy_engine import Engine, Spider, end, jobs, request_of, take, take_all, urls  # noqa: E402,F401

# pylint: disable=redefined-outer-name


def kill(scheduler):
    """Leaves its files as a kill does."""
    scheduler._handed_out.close(clean=False)
    frontier, scheduler._frontier = scheduler._frontier, None
    frontier.close()


@pytest.mark.parametrize("settings, message", [
    ({"TRAWL_EXPECTED_URLS": 0}, "TRAWL_EXPECTED_URLS must be a whole number above 0, not 0"),
    ({"TRAWL_EXPECTED_URLS": "many"}, "not 'many'"),
    ({"TRAWL_EXPECTED_URLS": 1.5}, "not 1.5"),
    ({"TRAWL_EXPECTED_URLS": True}, "not True"),
    ({"TRAWL_FALSE_POSITIVE_RATE": 1}, "TRAWL_FALSE_POSITIVE_RATE must be from 1e-12 to below 1"),
    ({"TRAWL_FALSE_POSITIVE_RATE": "nan"}, "must be a number above 0"),
    ({"TRAWL_EXACT": "perhaps"}, "TRAWL_EXACT must be True or False"),
    ({"TRAWL_ORDER": "lifo"}, "TRAWL_ORDER must be 'bfs' or 'dfs', not 'lifo'"),
    ({"TRAWL_POLITENESS": "none"}, "TRAWL_POLITENESS must be 'scrapy' or 'frontier'"),
    ({"TRAWL_MAX_MEMORY": "256 apples"}, 'such as "256MiB", not \'256 apples\''),
    ({"TRAWL_MAX_MEMORY": "1MiB"}, "at least 64MiB"),
    ({"TRAWL_MAX_MEMORY": "1000TiB"}, "TRAWL_MAX_MEMORY must be at most what this machine has"),
    ({"TRAWL_EXPECTED_URLS": 10**30}, "TRAWL_EXPECTED_URLS must be at most 1,000,000,000,000,000, not 1,000,000,"),
    ({"TRAWL_FALSE_POSITIVE_RATE": 2}, "not 2.0; TRAWL_EXACT = True takes no new request"),
])
def test_wrong_settings(jobs, settings, message):
    with pytest.raises(ValueError) as caught:
        jobs(**settings)
    assert message in str(caught.value)


@pytest.mark.parametrize("settings", [
    {"TRAWL_EXPECTED_URLS": "5_000"}, {"TRAWL_FALSE_POSITIVE_RATE": "1e-6"}, {"TRAWL_MAX_MEMORY": "0.5 GiB"},
    {"TRAWL_MAX_MEMORY": 100_000_000}, {"TRAWL_MAX_MEMORY": "100 mb"}, {"TRAWL_EXACT": "1"}, {"TRAWL_ORDER": None}])
def test_settings_as_a_command_line_gives_them(jobs, settings):
    assert jobs(**settings).enqueue_request(request_of("1"))


def test_no_jobdir(jobs):
    with pytest.raises(NotConfigured, match="needs the setting JOBDIR"):
        jobs(JOBDIR=None)


@pytest.mark.parametrize("name", ["requests.queue", "requests.seen"])
def test_a_job_of_scrapys_own_scheduler_is_refused(jobs, tmp_path, name):
    (tmp_path / "job" / name).mkdir(parents=True)
    with pytest.raises(NotConfigured, match=f"is the job of another scheduler: it has {name}"):
        jobs()
    assert not (tmp_path / "job" / "trawl").exists()


def test_two_schedulers_of_one_job(jobs, tmp_path):
    scheduler = jobs()
    with pytest.raises(trawl.InUseError, match=f"JOBDIR {tmp_path}/job is in use .* .pid {os.getpid()}.: stop that"):
        jobs()
    assert scheduler.enqueue_request(request_of("1")) and take(scheduler)


@pytest.mark.parametrize("slot", [None, types.SimpleNamespace(nextcall=None), types.SimpleNamespace(inprogress=[])])
def test_an_engine_of_another_make_is_refused(jobs, slot):
    engine = Engine()
    engine.slot = slot
    with pytest.raises(RuntimeError, match="does not say which requests are in progress"):
        jobs(engine=engine)


def test_another_fingerprinter_is_said(jobs, caplog):
    jobs().close("shutdown")
    jobs(REQUEST_FINGERPRINTER_CLASS="trawl.scrapy.Fingerprinter")
    assert "goes on with trawl._scrapy_filter.Fingerprinter" in caplog.text


@pytest.mark.parametrize("name, said", [("trawl.scrapy.DupeFilter", False), ("scrapy.dupefilters.RFPDupeFilter", False),
                                        ("scrapy_engine.MyDupeFilter", True)])
def test_the_filter_of_duplicates_is_not_asked(jobs, caplog, name, said):
    scheduler = jobs(DUPEFILTER_CLASS=name)
    assert ("is not asked" in caplog.text) == said
    assert scheduler.enqueue_request(request_of("1")) and not scheduler.enqueue_request(request_of("1"))


def test_a_storage_that_fails(jobs, caplog):
    """Closed under its feet, which looks as a full disk does: nothing is taken for done."""
    scheduler = jobs()
    scheduler.enqueue_request(request_of("1"))
    request = take(scheduler)
    scheduler._frontier.close()
    end(scheduler, request)
    assert scheduler.enqueue_request(request_of("2")) is False and scheduler.next_request() is None
    assert "its requests cannot be stored any more" in caplog.text and caplog.text.count("CRITICAL") == 1
    scheduler.close("trawl_storage_failed")
    assert urls(take_all(jobs())) == ["http://a.example/1"]


def test_scrapys_filter_that_takes_all_is_heeded(jobs):
    scheduler = jobs(DUPEFILTER_CLASS="scrapy.dupefilters.BaseDupeFilter")
    for _ in range(2):
        assert scheduler.enqueue_request(request_of("1"))
        assert scheduler.enqueue_request(request_of("1", callback=lambda response: None))
    assert len(take_all(scheduler)) == 4


def test_a_job_does_not_lose_its_filter(jobs, tmp_path):
    """scrapy shell takes all: were it to go on with a job, it would crawl without end."""
    without = {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
    for settings in (without, {}):
        jobs(**settings).close("finished")
    with pytest.raises(NotConfigured, match=f"the job in JOBDIR {tmp_path}/job began with a filter of duplicates"):
        jobs(**without)


def test_a_request_whose_links_could_not_be_stored_is_not_done(jobs, monkeypatch):
    """Though the storage takes things again by then."""
    scheduler = jobs()
    scheduler.enqueue_request(request_of("1"))
    request = take(scheduler)
    with monkeypatch.context() as patch:
        def full(*_arguments, **_options):
            raise trawl.NoSpaceError("no space left")
        patch.setattr(type(scheduler._frontier), "offer", full)
        assert scheduler.enqueue_request(request_of("2")) is False
    end(scheduler, request)
    scheduler.close("trawl_storage_failed")
    again = jobs()
    assert urls(take_all(again)) == ["http://a.example/1"] and again.stats.get_value("trawl/repeated") == 1


def test_calls_after_the_end(jobs):
    """As handlers of spider_closed make."""
    scheduler = jobs()
    request = request_of("1")
    scheduler.enqueue_request(request)
    request = take(scheduler)
    scheduler.close("finished")
    assert scheduler.enqueue_request(request_of("2")) is False and scheduler.next_request() is None
    end(scheduler, request)
    scheduler.close("finished")


def test_the_job_of_another_spider_is_refused(jobs, tmp_path):
    class Other(Spider):
        name = "other"

    scheduler = jobs()
    scheduler.enqueue_request(request_of("1"))
    take(scheduler)
    kill(scheduler)
    for kind in (Other, DefaultSpider):
        with pytest.raises(NotConfigured, match=f"{tmp_path}/job is a job of the spider 'test', not of '{kind.name}'"):
            jobs(spider=kind)
    again = jobs()
    assert len(take_all(again)) == 1 and again.stats.get_value("trawl/repeated") == 1


def test_scrapys_own_commands_own_no_job(jobs):
    """scrapy shell, scrapy fetch: the same URL again and again, and a spider after them."""
    for _ in range(2):
        command = jobs([fetched := request_of("1", dont_filter=True, callback=lambda response: None)], DefaultSpider)
        (request,) = command.engine.slot.start_requests
        assert request is fetched and command.enqueue_request(request) and len(take_all(command)) == 1
        command.close("finished")
    spider = jobs(starts := [request_of("1", dont_filter=True)])
    for request in spider.engine.slot.start_requests:
        assert spider.enqueue_request(request)
    assert urls(take_all(spider)) == urls(starts)


@pytest.mark.parametrize("exact", [False, True])
def test_exact_is_chosen_once(jobs, exact):
    jobs(TRAWL_EXACT=exact).close("finished")
    with pytest.raises(NotConfigured, match=f"began with TRAWL_EXACT = {exact}: go on with that"):
        jobs(TRAWL_EXACT=not exact)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff"])
def test_a_damaged_record_of_a_job(jobs, caplog, tmp_path, text):
    scheduler = jobs()
    scheduler.enqueue_request(request_of("1"))
    scheduler.close("shutdown")
    (tmp_path / "job" / "trawl.json").write_bytes(text)
    again = jobs()
    assert f"{tmp_path}/job/trawl.json is damaged" in caplog.text
    assert urls(take_all(again)) == ["http://a.example/1"]
    again.close("shutdown")
    caplog.clear()
    jobs()
    assert "damaged" not in caplog.text


def test_a_damaged_record_of_what_was_handed_out(jobs, tmp_path):
    scheduler = jobs()
    scheduler.enqueue_request(request_of("1"))
    scheduler.close("shutdown")
    (tmp_path / "job" / "trawl.handed-out").write_bytes(b"\xff" * 1000)
    assert len(take_all(jobs())) == 1


def test_a_damaged_frontier_is_an_error_that_names_it(jobs, tmp_path):
    jobs().close("shutdown")
    (current,) = (tmp_path / "job" / "trawl").glob("store/CURRENT")
    current.write_bytes(b"rubbish")
    with pytest.raises(trawl.Error, match=f"{tmp_path}/job/trawl"):
        jobs()


@pytest.mark.parametrize("name", ["trawl", "trawl.json", "trawl.handed-out"])
def test_what_cannot_be_read_is_an_error_that_names_it(jobs, tmp_path, name):
    path = tmp_path / "job" / name
    if name == "trawl":
        path.parent.mkdir()
        path.write_text("a file")
    else:
        path.mkdir(parents=True)
    with pytest.raises((trawl.Error, OSError), match=str(path)):
        jobs()


def test_a_full_disk_at_the_start_is_an_error_that_names_the_file(jobs, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left on device, for .* bytes of: .*trawl.handed-out"):
        jobs()


@pytest.mark.parametrize("politeness", ["scrapy", "frontier"])
def test_concurrency_of_slots(jobs, politeness):
    scheduler = jobs(CONCURRENT_REQUESTS_PER_DOMAIN=2, TRAWL_POLITENESS=politeness,
                     DOWNLOAD_SLOTS={"a.example": {"concurrency": 5, "delay": 0}})
    for number in range(9):
        scheduler.enqueue_request(request_of(number))
    taken = 0
    while take(scheduler) is not None:
        taken += 1
    assert taken == 5


@pytest.mark.parametrize("depth", [None, "x", 2.5, -3])
def test_depths_of_any_kind(jobs, depth):
    scheduler = jobs(TRAWL_ORDER="dfs")
    assert scheduler.enqueue_request(request_of("1", meta={"depth": depth})) and take(scheduler)
