"""Scrapy on Trawl: a scheduler that loses nothing when the process is killed, a filter of duplicates
that takes a few bytes a request, and a quick fingerprinter. They are named in Scrapy's settings:

    SCHEDULER = "trawl.scrapy.Scheduler"                         # needs JOBDIR
    DUPEFILTER_CLASS = "trawl.scrapy.DupeFilter"                 # or only this, with Scrapy's scheduler
    REQUEST_FINGERPRINTER_CLASS = "trawl.scrapy.Fingerprinter"   # optional: faster

docs/embedding.md describes the settings TRAWL_...
"""

from typing import Any, Optional, Type, TypeVar

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

_Filter = TypeVar("_Filter", bound="DupeFilter")
_Fingerprinter = TypeVar("_Fingerprinter", bound="Fingerprinter")
_Scheduler = TypeVar("_Scheduler", bound="Scheduler")

class Scheduler:
    """Keeps requests in JOBDIR from the moment in which they are enqueued until the engine has done all
    that follows from them. So a kill at any moment repeats those in progress, and loses none but those
    that cannot be stored."""

    mqs: Any
    dqs: Any
    def __init__(self, crawler: Crawler) -> None: ...
    @classmethod
    def from_crawler(cls: Type[_Scheduler], crawler: Crawler) -> _Scheduler:
        """The way in which Scrapy makes one; wrong settings are an error."""
    def open(self, spider: Spider) -> None:
        """Opens the job in JOBDIR, and goes on with it if there is one."""
    def close(self, reason: str) -> None:
        """Closes the job. What is queued stays for the next run."""
    def __len__(self) -> int: ...
    def has_pending_requests(self) -> bool:
        """Whether requests wait, those that may not be fetched yet included."""
    def enqueue_request(self, request: Request) -> bool:
        """False: it is a duplicate."""
    def next_request(self) -> Optional[Request]:
        """None: none may be fetched now."""

class DupeFilter:
    """A Bloom filter of fingerprints in place of a set: a few bytes a request, kept in JOBDIR.

    With another scheduler than trawl.scrapy.Scheduler, requests that are queued when the process is
    killed are lost there. A filter that knows them would never let them in again, so after an unclean
    end it starts empty, unless TRAWL_KEEP_SEEN is set.
    """

    fingerprinter: Any
    def __init__(
        self,
        path: Optional[str] = None,
        debug: bool = False,
        *,
        fingerprinter: Any = None,
        settings: Optional[BaseSettings] = None,
        stats: Any = None,
    ) -> None: ...
    @classmethod
    def from_crawler(cls: Type[_Filter], crawler: Crawler) -> _Filter:
        """The way in which Scrapy makes one, with the crawler's fingerprinter and statistics."""
    @classmethod
    def from_settings(
        cls: Type[_Filter], settings: BaseSettings, *, fingerprinter: Any = None
    ) -> _Filter:
        """The same without a crawler, so without statistics of its own."""
    def open(self) -> None:
        """Reads what earlier runs of the job in JOBDIR have seen."""
    def close(self, reason: str = "") -> None:
        """Saves what was seen, if there is a JOBDIR."""
    def request_seen(self, request: Request) -> bool:
        """Whether a request of this fingerprint came before; from now on, one has."""
    def request_fingerprint(self, request: Request) -> str:
        """The fingerprint as text. A subclass that has another is asked for it."""
    def log(self, request: Request, spider: Spider) -> None:
        """Logs and counts a duplicate, as Scrapy's filter does."""

class Fingerprinter:
    """Method, canonical URL and body, as Scrapy's; the URL by Trawl's canonical key with the query
    sorted. Its fingerprints differ from Scrapy's: choose one when a job begins."""

    @classmethod
    def from_crawler(cls: Type[_Fingerprinter], crawler: Crawler) -> _Fingerprinter:
        """The way in which Scrapy makes one."""
    def fingerprint(self, request: Request) -> bytes:
        """20 bytes that requests for the same have in common."""
