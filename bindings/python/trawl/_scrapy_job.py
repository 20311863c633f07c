"""Jobs in JOBDIR: who has one open, and of trawl.scrapy.Scheduler's whose it is and with what it began."""

import fcntl
import json
import os
import pathlib

from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir
from scrapy.utils.spider import DefaultSpider

import trawl

from ._scrapy_parts import logger, replace_file


def lock(path, job):
    """Returns a descriptor whose closing ends the lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _lock(descriptor, fcntl.LOCK_EX, job)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d" % os.getpid())
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def refuse_if_locked(path, job):
    """Before Scrapy has opened the spider: what it does when that fails later damages files of the other process."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # opening the job says it
        return
    try:
        _lock(descriptor, fcntl.LOCK_SH, job)
    finally:
        os.close(descriptor)


def _lock(descriptor, kind, job):
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        process = os.pread(descriptor, 20, 0).decode("ascii", "replace") or "unknown"
        raise trawl.InUseError(f"JOBDIR {job} is in use by another process (pid {process}): stop that, or give JOBDIR "
                               "a directory of its own") from None


def directory_of_job(settings):
    directory = job_dir(settings)
    if not directory:
        raise NotConfigured(
            "trawl.scrapy.Scheduler needs the setting JOBDIR, the directory where it keeps requests, such as "
            "-s JOBDIR=jobs/NAME. For commands without a job, such as scrapy shell: "
            "-s SCHEDULER=scrapy.core.scheduler.Scheduler")
    for name in ("requests.queue", "requests.seen"):
        if pathlib.Path(directory, name).exists():
            raise NotConfigured(
                f"JOBDIR {directory} is the job of another scheduler: it has {name}. Its requests cannot be taken "
                "over: finish it with that scheduler, or give JOBDIR a directory of its own")
    refuse_if_locked(pathlib.Path(directory, "trawl", "LOCK"), directory)
    return pathlib.Path(directory)


class Job:
    """The file that says how the job began. What may not change in a job is an error; what may is said."""

    def __init__(self, directory, crawler, exact, filters):
        self._directory = directory
        self._spider = None
        self._path = directory / "trawl.json"
        self._before = self._read()
        if self._before.get("exact", exact) != exact:
            raise NotConfigured(f"the job in JOBDIR {directory} began with TRAWL_EXACT = {not exact}: go on with that, "
                                "or give JOBDIR a directory of its own")
        if self._before.get("filters", filters) and not filters:  # as scrapy shell, which must not go on with a job
            raise NotConfigured(f"the job in JOBDIR {directory} began with a filter of duplicates, and "
                                "DUPEFILTER_CLASS takes all now: give JOBDIR a directory of its own, such as "
                                "-s JOBDIR=shell")
        fingerprinter = type(crawler.request_fingerprinter)
        self._now = {"exact": exact, "filters": filters,
                     "fingerprinter": f"{fingerprinter.__module__}.{fingerprinter.__qualname__}",
                     "implementation": str(crawler.settings.get("REQUEST_FINGERPRINTER_IMPLEMENTATION")), "slots": []}
        if getattr(crawler, "spider", None) is not None:
            self.belongs_to(crawler.spider)

    def belongs_to(self, spider):
        self._spider = spider
        if self._before.get("spider", spider.name) != spider.name:
            raise NotConfigured(
                f"JOBDIR {self._directory} is a job of the spider {self._before['spider']!r}, not of {spider.name!r}: "
                f"give each spider a directory of its own, such as -s JOBDIR={self._directory}-{spider.name}")
        if not isinstance(spider, DefaultSpider):  # of scrapy shell and scrapy fetch, which own no job
            self._now["spider"] = spider.name

    def slots_before(self):
        """The download slots that had delays of their own in the last run."""
        return self._before.get("slots", ())

    def begin(self, slots):
        """Says what has changed, and writes what is now."""
        for key in ("fingerprinter", "implementation"):
            before, now = self._before.get(key, self._now[key]), self._now[key]
            if before != now:
                logger.warning("This job began with the request %(key)s %(before)s, and goes on with %(now)s: requests "
                               "that it has had may be taken for new", {"key": key, "before": before, "now": now},
                               extra={"spider": self._spider})
        self._now["slots"] = list(slots)
        if self._now == self._before:
            return
        replace_file(self._path, [json.dumps(self._now).encode("utf-8")])

    def _read(self):
        try:
            text = self._path.read_text("utf-8")
        except FileNotFoundError:
            return {}
        except UnicodeDecodeError:
            text = ""
        try:
            before = json.loads(text)
            if isinstance(before, dict):
                return before
        except ValueError:
            pass
        logger.warning("%(path)s is damaged: whether this job began with these settings is not known",
                       {"path": self._path})
        return {}
