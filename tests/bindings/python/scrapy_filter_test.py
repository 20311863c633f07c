"""trawl.scrapy.DupeFilter and trawl.scrapy.Fingerprinter, asked as Scrapy's scheduler asks."""

import logging
import os
import random
import string
import subprocess
import sys

import pytest

import trawl
from examples_test import names_of_stub

scrapy = pytest.importorskip("scrapy", reason="Scrapy (python3-scrapy) is not installed")
# pylint: disable=wrong-import-position
import twisted.internet.reactor  # noqa: E402,F401  pylint: disable=unused-import
from scrapy.dupefilters import BaseDupeFilter  # noqa: E402
from scrapy.exceptions import NotConfigured  # noqa: E402
from scrapy.utils.misc import load_object  # noqa: E402
from scrapy.utils.test import get_crawler  # noqa: E402
from trawl._scrapy_plain import quick_fingerprint  # noqa: E402


class Spider(scrapy.Spider):
    name = "test"


def crawler_of(settings):
    return get_crawler(Spider, {"REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7", **settings})


def filter_of(**settings):
    crawler = crawler_of(settings)
    duplicates = load_object("trawl.scrapy.DupeFilter").from_crawler(crawler)
    duplicates.crawler = crawler
    return duplicates


def new(duplicates, first, last):
    """The numbers of the requests that are new to it."""
    return [number for number in range(first, last)
            if not duplicates.request_seen(scrapy.Request(f"http://a.example/{number}"))]


@pytest.fixture
def job(tmp_path):
    return str(tmp_path / "job")


EXACT = pytest.mark.parametrize("exact", [False, True])


@EXACT
def test_in_memory(tmp_path, monkeypatch, exact):
    monkeypatch.chdir(tmp_path)
    duplicates = filter_of(TRAWL_EXACT=exact)
    assert isinstance(duplicates, BaseDupeFilter)
    assert new(duplicates, 0, 1000) == list(range(1000)), "also before open(), as Scrapy's"
    duplicates.open()
    assert new(duplicates, 500, 1500) == list(range(1000, 1500))
    duplicates.close("finished")
    assert duplicates.crawler.stats.get_value("trawl/expected_lost") < 0.001
    assert duplicates.crawler.stats.get_value("trawl/filter_bytes") > 1000
    assert not list(tmp_path.iterdir())


@EXACT
def test_kept_in_jobdir(job, exact):
    for first in (0, 500, 1000):
        duplicates = filter_of(JOBDIR=job, TRAWL_EXACT=exact)
        duplicates.open()
        assert new(duplicates, 0, first + 500) == list(range(first, first + 500))
        duplicates.close("finished")


def test_requests_after_its_end_do_not_begin_a_run(job, caplog):
    duplicates = filter_of(JOBDIR=job)
    duplicates.open()
    assert new(duplicates, 0, 10) == list(range(10))
    duplicates.close("finished")
    assert new(duplicates, 0, 11) == [10], "as handlers of spider_closed may ask"
    duplicates.close("finished")
    again = filter_of(JOBDIR=job)
    again.open()
    assert new(again, 0, 11) == [10] and not caplog.text
    again.close("finished")


def killed(job, first, last, exact=False):
    """A process that has seen requests and is killed."""
    code = ("import os, sys; sys.path[:0] = [%r]; from scrapy_filter_test import *\n"
            "duplicates = filter_of(JOBDIR=%r, TRAWL_EXACT=%r, TRAWL_KEEP_SEEN=True); duplicates.open()\n"
            "new(duplicates, %d, %d); os.kill(os.getpid(), 9)" % (os.path.dirname(__file__), job, exact, first, last))
    assert subprocess.run([sys.executable, "-B", "-c", code], check=False).returncode == -9


@EXACT
def test_after_a_kill(job, exact, caplog):
    killed(job, 0, 1000, exact)
    killed(job, 1000, 2000, exact)
    duplicates = filter_of(JOBDIR=job, TRAWL_KEEP_SEEN=True, TRAWL_EXACT=exact)
    duplicates.open()
    assert "They count as seen, since TRAWL_KEEP_SEEN is set" in caplog.text
    assert new(duplicates, 0, 2001) == [2000], "all that it had seen"
    duplicates.close("finished")
    caplog.clear()
    killed(job, 2001, 2010, exact)
    duplicates = filter_of(JOBDIR=job, TRAWL_EXACT=exact)
    duplicates.open()
    assert "requests that were queued then are lost" in caplog.text and "starts empty" in caplog.text
    assert new(duplicates, 0, 2010) == list(range(2010))
    duplicates.close("finished")
    caplog.clear()
    duplicates = filter_of(JOBDIR=job, TRAWL_EXACT=exact)
    duplicates.open()
    assert not caplog.text and new(duplicates, 0, 2011) == [2010]
    duplicates.close("finished")


def test_its_log_does_not_grow_without_end(job, monkeypatch):
    monkeypatch.setattr("trawl._scrapy_seen._CHUNK", 4096)
    monkeypatch.setattr("trawl._scrapy_seen._CHUNKS", 2)
    duplicates = filter_of(JOBDIR=job, TRAWL_EXPECTED_URLS=1000)
    duplicates.open()
    new(duplicates, 0, 5000)
    assert os.path.getsize(os.path.join(job, "trawl-seen", "new")) <= 2 * 4096
    os.close(duplicates._files._lock)  # as if it was killed
    again = filter_of(JOBDIR=job, TRAWL_KEEP_SEEN=True, TRAWL_EXPECTED_URLS=1000)
    again.open()
    assert new(again, 0, 5001) == [5000]
    again.close("finished")


def test_it_grows_and_keeps_its_rate(job):
    """At a rate at which losses can be counted."""
    lost = 0
    for first in range(0, 12_000, 4_000):
        duplicates = filter_of(JOBDIR=job, TRAWL_EXPECTED_URLS=1000, TRAWL_FALSE_POSITIVE_RATE=0.01)
        duplicates.open()
        assert new(duplicates, 0, first) == []
        lost += 4_000 - len(new(duplicates, first, first + 4_000))
        duplicates.close("shutdown")
        expected = duplicates.crawler.stats.get_value("trawl/expected_lost")
    assert 0 < lost < 120
    assert lost / 2 < expected < 2 * lost
    assert duplicates.crawler.stats.get_value("trawl/filter_bytes") < 3 * 12_000


def test_two_of_one_job(job):
    first = filter_of(JOBDIR=job)
    first.open()
    with pytest.raises(trawl.InUseError, match=f"JOBDIR {job} is in use by another process .pid {os.getpid()}.: stop"):
        filter_of(JOBDIR=job)
    first.close("finished")
    filter_of(JOBDIR=job).open()


@pytest.mark.parametrize("name, message", [("requests.seen", "another filter of duplicates"),
                                           ("trawl", "is a job of trawl.scrapy.Scheduler")])
def test_jobs_of_others_are_refused(job, name, message):
    os.makedirs(os.path.join(job, name))
    with pytest.raises(NotConfigured, match=message):
        filter_of(JOBDIR=job).open()


def test_exact_is_chosen_once(job):
    for exact in (False, True):
        duplicates = filter_of(JOBDIR=job, TRAWL_EXACT=exact)
        if exact:
            with pytest.raises(NotConfigured, match="TRAWL_EXACT"):
                duplicates.open()
        else:
            duplicates.open()
            duplicates.close("finished")


def test_a_damaged_file_is_an_error(job):
    duplicates = filter_of(JOBDIR=job)
    duplicates.open()
    duplicates.close("finished")
    with open(os.path.join(job, "trawl-seen", "requests.0.filter"), "r+b") as file:
        file.write(b"\0" * 64)
    with pytest.raises(trawl.Error, match="requests.0.filter"):
        filter_of(JOBDIR=job).open()


@pytest.mark.parametrize("debug, lines", [(False, 1), (True, 3)])
def test_log_of_duplicates(caplog, debug, lines):
    duplicates = filter_of(DUPEFILTER_DEBUG=debug)
    spider = Spider.from_crawler(duplicates.crawler)
    with caplog.at_level(logging.DEBUG):
        for _ in range(3):
            duplicates.log(scrapy.Request("http://a.example/"), spider)
    assert caplog.text.count("Filtered duplicate request") == lines
    assert ("no more duplicates will be shown" in caplog.text) == (not debug)
    assert duplicates.crawler.stats.get_value("dupefilter/filtered") == 3


def test_from_settings_and_subclasses():
    kind = load_object("trawl.scrapy.DupeFilter")

    class ByHost(kind):
        def request_fingerprint(self, request):
            return request.url.split("/")[2]

    crawler = crawler_of({})
    for duplicates in (ByHost.from_crawler(crawler), ByHost.from_settings(
            crawler.settings, fingerprinter=crawler.request_fingerprinter)):
        assert [duplicates.request_seen(scrapy.Request(url)) for url in (
            "http://a.example/1", "http://a.example/2", "http://b.example/1")] == [False, True, False]
    plain = kind.from_settings(crawler.settings, fingerprinter=crawler.request_fingerprinter)
    request = scrapy.Request("http://a.example/")
    assert plain.request_fingerprint(request) == crawler.request_fingerprinter.fingerprint(request).hex()


def test_it_asks_the_crawlers_fingerprinter():
    duplicates = filter_of(REQUEST_FINGERPRINTER_CLASS="trawl.scrapy.Fingerprinter")
    assert not duplicates.request_seen(scrapy.Request("http://a.example/?b=1&a=2"))
    assert duplicates.request_seen(scrapy.Request("http://a.example/?a=2&b=1"))
    assert type(duplicates.fingerprinter).__name__ == "Fingerprinter"


PLAIN = string.ascii_letters + string.digits + "._~-"
STARTS = ["http://a.example", "https://b-c.example.:8000", "http://A.example:/", "HTTP://user@a.example/",
          "http://xn--4ca..x"]
ODD = ["//", "/../", ";", "?", "&", "=", "#", "%7e", "%2F", "+", " ", "\u00fc", "%c3%bc", "%C3", "%", "\"", "\\", "{",
       "x" * 70]


@pytest.mark.parametrize("implementation", ["2.6", "2.7"])
@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
def test_scrapys_fingerprints_of_plain_urls_are_found_without_scrapy(implementation):
    """Its fingerprinter is the oracle."""
    crawler = crawler_of({"REQUEST_FINGERPRINTER_IMPLEMENTATION": implementation})
    quick = quick_fingerprint(crawler.request_fingerprinter)
    assert quick != crawler.request_fingerprinter.fingerprint
    chance = random.Random(1)

    def pairs():
        return "&".join("".join(chance.choices(PLAIN, k=chance.randrange(3))) + "=" * (chance.random() < 0.9) +
                        "".join(chance.choices("ab-.~", k=chance.randrange(3))) for _ in range(chance.randrange(5)))

    for number in range(2000):
        parts = chance.choices(PLAIN, k=8) + chance.choices(ODD, k=number % 3)
        chance.shuffle(parts)
        url = chance.choice(STARTS) + "/" + "".join(parts) + f"?{pairs()}" * (number % 2)
        try:
            request = scrapy.Request(url, method=chance.choice(["GET", "POST", "post", "X-Y"]),
                                     body=chance.choice([b"", b"\xff\0"]))
            expected = crawler.request_fingerprinter.fingerprint(request)
        except ValueError:
            continue
        assert quick(request) == expected, url

    class Other(type(crawler.request_fingerprinter)):
        pass

    assert quick_fingerprint(other := Other(crawler)) == other.fingerprint


def fingerprint(url, **options):
    crawler = crawler_of({"REQUEST_FINGERPRINTER_CLASS": "trawl.scrapy.Fingerprinter"})
    return crawler.request_fingerprinter.fingerprint(scrapy.Request(url, **options))


def test_stubs(source):
    """They name what there is, and are typed."""
    package = source / "bindings" / "python"
    described = names_of_stub(package / "trawl" / "scrapy.pyi")
    module = load_object("trawl.scrapy.Scheduler"), load_object("trawl.scrapy.DupeFilter"), load_object(
        "trawl.scrapy.Fingerprinter")
    assert set(described) == {kind.__name__ for kind in module}
    for kind in module:
        own = {name for name, value in vars(kind).items() if not name.startswith("_") and callable(getattr(kind, name))}
        assert own == described[kind.__name__], kind
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--ignore-missing-imports",
         str(package / "trawl" / "scrapy.pyi")],
        env={**os.environ, "MYPYPATH": str(package)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


SAME = [
    ("http://a.example/?b=2&a=1", "http://a.example/?a=1&b=2"), ("http://A.example:80/#x", "http://a.example/"),
    ("http://a.example/%7Ex", "http://a.example/~x"), ("file:///etc/passwd#x", "file:///etc/passwd"),
]
DIFFERENT = [
    ("http://a.example/1", "http://a.example/2"), ("http://a.example/", "https://a.example/"),
    ("http://a.example/?a=1", "http://a.example/?a=2"), ("data:,1", "data:,2"), ("s3://b/1", "s3://b/2"),
    ("http://a.example/?a=1&a=2", "http://a.example/?a=1"), ("file:///1", "file:///2"),
]


def test_fingerprints_of_urls():
    for one, other in SAME:
        assert fingerprint(one) == fingerprint(other), (one, other)
    for one, other in DIFFERENT:
        assert fingerprint(one) != fingerprint(other), (one, other)


def test_fingerprints_of_methods_bodies_and_headers():
    url = "http://a.example/"
    plain = fingerprint(url)
    assert isinstance(plain, bytes) and len(plain) == 20
    assert fingerprint(url, headers={"X": "1"}, cookies={"c": "1"}, meta={"m": 1}, priority=3) == plain
    assert fingerprint(url, method="get") == plain
    others = [dict(method="POST"), dict(method="POST", body="a"), dict(method="PUT", body="a"), dict(body="a"),
              dict(method="POST", body=b"\xff\0"), dict(method="POST", body=b"a" * 100_000),
              dict(method="HEAD"), dict(method="POSTA"), dict(method="POST\0", body="a")]
    prints = [plain] + [fingerprint(url, **options) for options in others]
    assert len(set(prints)) == len(prints)
    assert fingerprint(url, **others[1]) == prints[2], "the same each time"


def test_fingerprints_do_not_change_between_versions():
    """Jobs go on with them."""
    assert fingerprint("http://a.example/?b=1&a=2").hex() == "1feb2807d263db526731ddee352fb3b4ed23770e"
    assert fingerprint("http://a.example/", method="POST", body="x").hex() == "3d833184a153c2f5458c88805078ff07a763f7e4"
