"""The crawls of scrapy_test.py, each a process of its own: python3 scrapy_crawls.py SPIDER URL SETTINGS-AS-JSON.
The last line that it prints is of the crawl's statistics."""

import json
import os
import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import CloseSpider

BODY_BYTES = 100 * 1024


class Base(scrapy.Spider):
    url = ""

    def start_requests(self):  # Scrapy before 2.13
        yield scrapy.Request(self.url, dont_filter=True)

    async def start(self):
        yield scrapy.Request(self.url, dont_filter=True)


class Site(Base):
    """All pages of the sample site; prints their URLs."""

    name = "site"
    handle_httpstatus_all = True

    def parse(self, response):
        print("PAGE", response.url, flush=True)
        if not isinstance(response, scrapy.http.TextResponse):
            return
        for reference in response.xpath("//a/@href | //frame/@src | //iframe/@src | //area/@href").getall():
            try:
                url = response.urljoin(reference.strip())
            except ValueError:
                continue
            if url.startswith(self.url):
                yield scrapy.Request(url)


class Tasks(Base):
    """What the test's own server asks for: each page has a JSON list of requests."""

    name = "tasks"

    def parse(self, response):
        for task in response.json():
            kind, url = task["kind"], response.urljoin(task["url"])
            if kind == "post":
                body = (url.encode() * (BODY_BYTES // len(url) + 1))[:BODY_BYTES]
                yield scrapy.Request(url, method="POST", body=body, callback=self.parse)
            elif kind == "lambda":
                yield scrapy.Request(url, callback=lambda answer: self.parse(answer))  # pylint: disable=W0108
            elif kind == "close":
                raise CloseSpider("enough")
            else:
                yield scrapy.Request(url, dont_filter=kind == "again", priority=task.get("priority", 0),
                                     meta=task.get("meta"))


class DelayedByAttribute(Tasks):
    name = "delayed-by-attribute"
    download_delay = 0.2


def say_in_progress(crawler):
    """Prints how many requests are in progress, whenever the engine changes that."""
    def watch(spider):
        del spider
        slot = getattr(crawler.engine, "_slot", None) or crawler.engine.slot
        requests = slot.inprogress
        for name in ("add", "remove"):
            def call(request, method=getattr(requests, name)):
                method(request)
                os.write(1, b"IN PROGRESS %d\n" % len(requests))
            setattr(requests, name, call)
    crawler.signals.connect(watch, scrapy.signals.spider_opened, weak=False)


def main():
    name, url, settings = sys.argv[1:]
    settings = {"LOG_LEVEL": "INFO", "ROBOTSTXT_OBEY": False, "TELNETCONSOLE_ENABLED": False,
                "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7", "DOWNLOAD_TIMEOUT": 20, **json.loads(settings)}
    process = CrawlerProcess(settings)
    kinds = {kind.name: kind for kind in (Site, Tasks, DelayedByAttribute)}
    crawler = process.create_crawler(kinds[name])
    if "trawl" in settings.get("SCHEDULER", ""):
        say_in_progress(crawler)
    deferred = process.crawl(crawler, url=url)
    failures = []
    deferred.addErrback(lambda failure: failures.append(failure.getErrorMessage()))
    process.start()
    if failures:
        sys.exit(f"FAILED {failures[0]}")
    print("STATS", json.dumps(crawler.stats.get_stats(), default=str), flush=True)


if __name__ == "__main__":
    main()
