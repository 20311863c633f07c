"""trawl.scrapy.DupeFilter and trawl.scrapy.Fingerprinter."""

import hashlib
import pathlib

from scrapy.dupefilters import BaseDupeFilter
from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir
from scrapy.utils.request import RequestFingerprinter

import trawl

from ._scrapy_parts import Duplicates
from ._scrapy_plain import quick_fingerprint
from ._scrapy_seen import BloomSeen, ExactSeen, Files, refuse_jobs_of_others
from ._scrapy_settings import Settings


class Fingerprinter:
    """Method, canonical URL and body, as Scrapy's; the URL by Trawl's canonical key with the query
    sorted. Its fingerprints differ from Scrapy's: choose one when a job begins."""

    @classmethod
    def from_crawler(cls, crawler):  # pylint: disable=unused-argument
        return cls()

    def __init__(self):
        self._key = trawl.Canonicalizer(["sort_query"]).key

    def fingerprint(self, request):
        url = request.url
        try:
            key = self._key(url)
        except (trawl.Error, ValueError):  # another scheme
            key = url.partition("#")[0]
        body = request.body
        if request.method == "GET" and not body:
            return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=20).digest()
        method = request.method.encode("utf-8", "surrogatepass")
        start = b"%d %b %b\0" % (len(method), method, key.encode("utf-8", "surrogatepass"))
        digest = hashlib.blake2b(start, digest_size=20, person=b"request")
        digest.update(body)
        return digest.digest()


class DupeFilter(BaseDupeFilter):
    """A Bloom filter of fingerprints in place of a set: a few bytes a request, kept in JOBDIR.

    With another scheduler than trawl.scrapy.Scheduler, requests that are queued when the process is
    killed are lost there. A filter that knows them would never let them in again, so after an unclean
    end it starts empty, unless TRAWL_KEEP_SEEN is set.
    """

    def __init__(self, path=None, debug=False, *, fingerprinter=None, settings=None, stats=None):
        self.fingerprinter = fingerprinter or RequestFingerprinter()
        self._fingerprint = quick_fingerprint(self.fingerprinter)
        if type(self).request_fingerprint is not DupeFilter.request_fingerprint:
            self._fingerprint = lambda request: self.request_fingerprint(request).encode()
        self._settings = Settings(BaseSettings() if settings is None else settings)
        self._duplicates = Duplicates(debug, stats)
        self._directory = pathlib.Path(path) if path else None
        if self._directory is not None:
            refuse_jobs_of_others(self._directory)
        self._seen = self._files = self._add = None
        self._room = 0  # for so many calls

    @classmethod
    def from_crawler(cls, crawler):
        return cls(job_dir(crawler.settings), crawler.settings.getbool("DUPEFILTER_DEBUG"),
                   fingerprinter=crawler.request_fingerprinter, settings=crawler.settings, stats=crawler.stats)

    @classmethod
    def from_settings(cls, settings, *, fingerprinter=None):
        return cls(job_dir(settings), settings.getbool("DUPEFILTER_DEBUG"), fingerprinter=fingerprinter,
                   settings=settings)

    def open(self):
        if self._seen is not None:
            return
        kind = ExactSeen if self._settings.exact else BloomSeen
        if self._directory is None:
            self._seen = kind(self._settings)
        else:
            self._files = Files(self._directory, self._settings, kind)
            self._seen = self._files.seen

    def close(self, reason=""):
        if self._seen is None:
            return
        files, self._files = self._files, None  # requests that come later are only remembered
        self._room = 0
        if self._duplicates.stats is not None:
            expected_lost, memory = self._seen.figures()
            self._duplicates.stats.set_value("trawl/expected_lost", expected_lost)
            self._duplicates.stats.set_value("trawl/filter_bytes", memory)
        if files is not None:
            files.close()

    def request_seen(self, request):
        self._room -= 1
        if self._room < 0:
            self._make_room()
        return not self._add(self._fingerprint(request))

    def request_fingerprint(self, request):
        """The fingerprint as text. A subclass that has another is asked for it."""
        return self.fingerprinter.fingerprint(request).hex()

    def log(self, request, spider):
        self._duplicates.log(request, spider)

    def _make_room(self):
        self.open()  # if it was not, as Scrapy's filter does not need it
        self._room = self._seen.make_room() - 1
        self._add = self._seen.add if self._files is None else self._files.add
