"""What trawl.scrapy.DupeFilter has seen, in memory and in JOBDIR."""

import hashlib
import math
import mmap
import os
import pathlib
import sys

from scrapy.exceptions import NotConfigured

import trawl

from ._scrapy_job import lock, refuse_if_locked
from ._scrapy_parts import allocate, logger, replace_file

_LENGTHS = [bytes((length,)) for length in range(256)]
_CHUNK = 1 << 20  # bytes of the log that are mapped at a time
_CHUNKS = 64  # then the filter is saved, and the log emptied
_LEAST_RATE = 1e-15
_MOST_HASHES = 14


class BloomSeen:
    """Fingerprints in Bloom filters, each for twice as many as the one before, at half of its rate: so the
    rates of all come to no more than the setting."""

    other = "requests.exact"

    def __init__(self, settings, directory=None):
        self._settings = settings
        self._full = []
        self._saved = 0  # full ones that are in files
        self._lost = 0.0  # expected of the full ones
        while directory is not None and (path := self._path(directory, len(self._full))).exists():
            self._full.append(trawl.ClassicBloomFilter.open(path))
        self._saved = max(0, len(self._full) - 1)
        if self._full:
            self._take(self._full.pop())
        else:
            self._grow()
        for layer in self._full:
            self._lost += layer.stats()["expected_false_positives"]

    @staticmethod
    def _path(directory, layer):
        return directory / f"requests.{layer}.filter"

    def _grow(self):
        layer = len(self._full)
        capacity = self._settings.expected_urls << layer
        rate = max(self._settings.rate / (2 << layer), _LEAST_RATE)
        # Each hash is a miss of the processor's cache. Half of the hashes take a third more bits.
        bits = math.ceil(capacity * -_MOST_HASHES / math.log1p(-rate ** (1 / _MOST_HASHES)))
        fewer = -math.log2(rate) > _MOST_HASHES
        shape = {"bits": bits, "hashes": _MOST_HASHES} if fewer else {}
        self._take(trawl.ClassicBloomFilter(capacity, rate, **shape))

    def _take(self, newest):
        self._newest = newest
        # Whether a fingerprint is new. The filter's own call where it is the only one: it is quick.
        self.add = self._add_to_newest if self._full else newest.add

    def _add_to_newest(self, fingerprint):
        for layer in self._full:
            if fingerprint in layer:
                return False
        return self._newest.add(fingerprint)

    def make_room(self):
        """Returns how many calls of add() there is room for."""
        stats = self._newest.stats()
        if stats["inserted"] >= stats["capacity"]:
            self._lost += stats["expected_false_positives"]
            self._full.append(self._newest)
            self._grow()
            stats = self._newest.stats()
        return stats["capacity"] - stats["inserted"]

    def save(self, directory):
        for number in range(self._saved, len(self._full)):
            self._full[number].save(self._path(directory, number))
        self._newest.save(self._path(directory, len(self._full)))
        self._saved = len(self._full)

    @classmethod
    def remove(cls, directory):
        for path in directory.glob("requests.*.filter"):
            path.unlink()

    def figures(self):
        """How many new requests were expected to be taken for seen ones, and bytes of memory."""
        stats = [layer.stats() for layer in (*self._full, self._newest)]
        newer = 0
        lost = self._lost + stats[-1]["expected_false_positives"]
        for each in reversed(stats):
            lost += newer * each["current_rate"]
            newer += each["inserted"]
        return lost, sum(each["memory"] for each in stats)


class ExactSeen:
    """Fingerprints in a set."""

    other = "requests.0.filter"

    def __init__(self, _settings, directory=None):
        self._set = set()
        if directory is not None and (path := directory / "requests.exact").exists():
            for fingerprint in _entries(path):
                self._set.add(fingerprint)

    def add(self, fingerprint):
        if fingerprint in self._set:
            return False
        self._set.add(fingerprint)
        return True

    @staticmethod
    def make_room():
        return 1 << 60

    def save(self, directory):
        replace_file(directory / "requests.exact", (_LENGTHS[len(one)] + one for one in self._set))

    @classmethod
    def remove(cls, directory):
        (directory / "requests.exact").unlink(missing_ok=True)

    def figures(self):
        return 0.0, sys.getsizeof(self._set) + sum(map(sys.getsizeof, self._set))


class Files:
    """The fingerprints that were saved, and a log of those that came since. The log is deleted when the spider is
    closed: where there is one at the start, the last run did not come to its end."""

    def __init__(self, job, settings, kind):
        refuse_jobs_of_others(job)
        self._directory = directory = job / "trawl-seen"
        directory.mkdir(parents=True, exist_ok=True)
        self._lock = lock(directory / "lock", job)
        try:
            if (directory / kind.other).exists():
                raise NotConfigured(f"the job in JOBDIR {job} began with another TRAWL_EXACT: go on with that, or "
                                    "give JOBDIR a directory of its own")
            self._open(job, settings, kind)
        except BaseException:
            os.close(self._lock)
            raise

    def _open(self, job, settings, kind):
        log = self._directory / "new"
        unclean = log.exists()
        if unclean and not settings.keep_seen:
            logger.warning("The last run of the job in %(job)s did not end cleanly: requests that were queued then are "
                           "lost in its scheduler, so the filter of duplicates starts empty, and pages are fetched "
                           "again. TRAWL_KEEP_SEEN = True keeps the filter; trawl.scrapy.Scheduler loses no request",
                           {"job": job})
            kind.remove(self._directory)
            log.unlink()
        elif unclean:
            logger.warning("The last run of the job in %(job)s did not end cleanly: requests that were queued then are "
                           "lost in its scheduler. They count as seen, since TRAWL_KEEP_SEEN is set", {"job": job})
        self.seen = kind(settings, self._directory)
        if log.exists():
            for fingerprint in _entries(log):
                self.seen.add(fingerprint)
                self.seen.make_room()
            self.seen.save(self._directory)
        self._log = _Log(log)

    def add(self, fingerprint):
        size = len(fingerprint)
        if not 0 < size <= 255:
            fingerprint = hashlib.blake2b(fingerprint).digest()
            size = len(fingerprint)
        if not self.seen.add(fingerprint):
            return False
        log = self._log
        if log is not None:
            end = log.at + size + 1
            if end <= log.size:
                log.map[log.at:end] = _LENGTHS[size] + fingerprint
                log.at = end
            else:
                self._add_at_end(_LENGTHS[size] + fingerprint)
        return True

    def _add_at_end(self, entry):
        """With no place in what is mapped of the log."""
        try:
            if self._log.full():
                self.seen.save(self._directory)
                self._log.begin()
            else:
                self._log.map_next()
                self._log.add(entry)
        except (OSError, trawl.Error) as error:
            logger.error("Requests seen from now on are not kept if the process is killed: %(error)s",
                         {"error": error})
            self._log = None

    def close(self):
        try:
            self.seen.save(self._directory)
            (self._directory / "new").unlink(missing_ok=True)
        finally:
            os.close(self._lock)


class _Log:
    """Entries one after another. The file is mapped, so that it has all when the process is killed. Where a zero
    follows an entry, the next is at the start of the next chunk."""

    def __init__(self, path):
        self._path = path
        self._file = open(path, "w+b", buffering=0)  # pylint: disable=consider-using-with
        self.begin()

    def begin(self):
        self._file.truncate(0)
        self._chunks = 0
        self.map_next()

    def full(self):
        return self._chunks >= _CHUNKS

    def map_next(self):
        start = self._chunks * _CHUNK
        allocate(self._file, start, _CHUNK, self._path)
        self.map = mmap.mmap(self._file.fileno(), _CHUNK, offset=start)
        self.size = _CHUNK
        self._chunks += 1
        self.at = 0

    def add(self, entry):
        end = self.at + len(entry)
        self.map[self.at:end] = entry
        self.at = end


def _entries(path):
    """The fingerprints of a file. The last one may be cut off, by a kill."""
    data = pathlib.Path(path).read_bytes()
    at = 0
    while at < len(data):
        size = data[at]
        if size == 0:
            at = (at // _CHUNK + 1) * _CHUNK
        else:
            yield data[at + 1:at + 1 + size]
            at += 1 + size


def refuse_jobs_of_others(job):
    if (job / "requests.seen").exists():
        raise NotConfigured(
            f"JOBDIR {job} has the requests that another filter of duplicates has seen (requests.seen): finish "
            "this job with that filter, or give JOBDIR a directory of its own")
    if (job / "trawl").exists():
        raise NotConfigured(
            f"JOBDIR {job} is a job of trawl.scrapy.Scheduler: go on with SCHEDULER = \"trawl.scrapy.Scheduler\", "
            "or give JOBDIR a directory of its own")
    refuse_if_locked(job / "trawl-seen" / "lock", job)
