"""trawl.scrapy.DupeFilter and trawl.scrapy.Fingerprinter."""

import fcntl
import hashlib
import itertools
import os
import pathlib
import sys

from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.job import job_dir
from scrapy.utils.request import RequestFingerprinter

import trawl

from ._scrapy_parts import Duplicates, logger
from ._scrapy_settings import Settings

_LENGTHS = [bytes((length,)) for length in range(256)]
_MAX_LOG_BYTES = 64 << 20  # then the filter is saved
_CHUNK = 1 << 16


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
        self._fingerprint = self.fingerprinter.fingerprint
        if type(self).request_fingerprint is not DupeFilter.request_fingerprint:
            self._fingerprint = lambda request: self.request_fingerprint(request).encode()
        self._settings = Settings(BaseSettings() if settings is None else settings)
        self._duplicates = Duplicates(debug, stats)
        self._directory = pathlib.Path(path) if path else None
        self._seen = self._files = None
        self._add = self._open_and_add

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
        kind = _ExactSeen if self._settings.exact else _BloomSeen
        if self._directory is None:
            self._seen = kind(self._settings)
            self._add = self._seen.add
        else:
            self._files = _Files(self._directory, self._settings, kind)
            self._seen = self._files.seen
            self._add = self._files.add

    def close(self, reason=""):
        if self._seen is None:
            return
        seen, files = self._seen, self._files
        self._seen = self._files = None
        self._add = self._open_and_add
        if self._duplicates.stats is not None:
            expected_lost, memory = seen.figures()
            self._duplicates.stats.set_value("trawl/expected_lost", expected_lost)
            self._duplicates.stats.set_value("trawl/filter_bytes", memory)
        if files is not None:
            files.close()

    def request_seen(self, request):
        return not self._add(self._fingerprint(request))

    def request_fingerprint(self, request):
        """The fingerprint as text. A subclass that has another is asked for it."""
        return self.fingerprinter.fingerprint(request).hex()

    def log(self, request, spider):
        self._duplicates.log(request, spider)

    def _open_and_add(self, fingerprint):
        self.open()
        return self._add(fingerprint)


class _BloomSeen:
    """Fingerprints in a Bloom filter."""

    name, other = "requests.filter", "requests.exact"

    def __init__(self, settings, path=None):
        if path is None:
            self._filter = trawl.BloomFilter(settings.expected_urls, settings.rate)
        else:
            self._filter = trawl.BloomFilter.open(path)
        self.add = self._filter.add
        self.update = self._filter.update
        self.save = self._filter.save

    def figures(self):
        stats = self._filter.stats()
        return stats["expected_false_positives"], stats["memory"]


class _ExactSeen:
    """Fingerprints in a set."""

    name, other = "requests.exact", "requests.filter"

    def __init__(self, _settings, path=None):
        self._set = set()
        self.update = self._set.update
        if path is not None:
            _add_all(self, path)

    def add(self, fingerprint):
        if fingerprint in self._set:
            return False
        self._set.add(fingerprint)
        return True

    def save(self, path):
        new = pathlib.Path(f"{path}.new")
        with new.open("wb") as file:
            file.writelines(_LENGTHS[len(one)] + one for one in self._set)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)

    def figures(self):
        return 0.0, sys.getsizeof(self._set) + sum(map(sys.getsizeof, self._set))


class _Files:
    """The fingerprints that were saved, and a log of those that came since. The log is deleted when the spider is
    closed: where there is one at the start, the last run did not come to its end."""

    def __init__(self, job, settings, kind):
        if (job / "requests.seen").exists():
            raise NotConfigured(
                f"JOBDIR {job} has the requests that another filter of duplicates has seen (requests.seen): finish "
                "this job with that filter, or give JOBDIR a directory of its own")
        if (job / "trawl").exists():
            raise NotConfigured(
                f"JOBDIR {job} is a job of trawl.scrapy.Scheduler: go on with SCHEDULER = \"trawl.scrapy.Scheduler\", "
                "or give JOBDIR a directory of its own")
        directory = job / "trawl-seen"
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise NotConfigured(f"JOBDIR {job} is in use by another process") from None
        self._saved = directory / kind.name
        self._log_path = directory / "new"
        if (directory / kind.other).exists():
            raise NotConfigured(f"the job in JOBDIR {job} began with another TRAWL_EXACT: go on with that, or give "
                                "JOBDIR a directory of its own")
        unclean = self._log_path.exists()
        if unclean and not settings.keep_seen:
            logger.warning("The last run of the job in %(job)s did not end cleanly: requests that were queued then are "
                           "lost in its scheduler, so the filter of duplicates starts empty, and pages are fetched "
                           "again. TRAWL_KEEP_SEEN = True keeps the filter; trawl.scrapy.Scheduler loses no request",
                           {"job": job})
            self._saved.unlink(missing_ok=True)
            self._log_path.unlink()
        elif unclean:
            logger.warning("The last run of the job in %(job)s did not end cleanly: requests that were queued then are "
                           "lost in its scheduler. They count as seen, since TRAWL_KEEP_SEEN is set", {"job": job})
        self.seen = kind(settings, self._saved if self._saved.exists() else None)
        if self._log_path.exists():
            _add_all(self.seen, self._log_path)
        # Unbuffered: it has all when the process is killed.
        self._log = open(self._log_path, "ab", buffering=0)  # pylint: disable=consider-using-with
        self._left = _MAX_LOG_BYTES - self._log_path.stat().st_size

    def add(self, fingerprint):
        if len(fingerprint) > 255:
            fingerprint = hashlib.blake2b(fingerprint).digest()
        if not self.seen.add(fingerprint):
            return False
        if self._log is not None:
            self._append(_LENGTHS[len(fingerprint)] + fingerprint)
        return True

    def _append(self, entry):
        try:
            self._log.write(entry)
            self._left -= len(entry)
            if self._left < 0:
                self.seen.save(self._saved)
                self._log.truncate(0)
                self._left = _MAX_LOG_BYTES
        except (OSError, trawl.Error) as error:
            logger.error("Requests seen from now on are not kept if the process is killed: %(error)s",
                         {"error": error})
            self._log = None

    def close(self):
        self.seen.save(self._saved)
        if self._log is not None:
            self._log.close()
        self._log_path.unlink(missing_ok=True)
        os.close(self._lock)


def _add_all(seen, path):
    entries = _entries(path)
    while some := list(itertools.islice(entries, 10_000)):
        seen.update(some)


def _entries(path):
    """The fingerprints of a file. Its last one may be cut off, by a kill."""
    with open(path, "rb") as file:
        data = b""
        while more := file.read(_CHUNK):
            data += more
            at = 0
            while at < len(data) and at + 1 + data[at] <= len(data):
                yield data[at + 1:at + 1 + data[at]]
                at += 1 + data[at]
            data = data[at:]
