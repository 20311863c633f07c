"""Crawls a site with Scrapy, whose requests Trawl keeps: killed at any moment and started again, it goes on.

    scrapy_spider.py STATE_DIRECTORY URL
"""

import sys
import urllib.parse

import scrapy
from scrapy.crawler import CrawlerProcess

import trawl

SETTINGS = {
    "SCHEDULER": "trawl.scrapy.Scheduler",
    "REQUEST_FINGERPRINTER_CLASS": "trawl.scrapy.Fingerprinter",
    "TRAWL_EXPECTED_URLS": 100_000,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
}


class Site(scrapy.Spider):
    name = "site"
    handle_httpstatus_all = True
    url = ""

    def start_requests(self):  # Scrapy before 2.13
        yield scrapy.Request(self.url, dont_filter=True)

    async def start(self):
        yield scrapy.Request(self.url, dont_filter=True)

    def parse(self, response):
        print(response.status, response.url, flush=True)
        page = trawl.extract_links(response.body, response.url, content_type=response.headers.get("Content-Type"))
        for link in page.links:
            if urllib.parse.urlsplit(link.url).netloc == urllib.parse.urlsplit(self.url).netloc:
                yield scrapy.Request(link.url)


def main(directory, url):
    process = CrawlerProcess({**SETTINGS, "JOBDIR": directory})
    process.crawl(Site, url=url)
    process.start()


if __name__ == "__main__":
    main(*sys.argv[1:])
