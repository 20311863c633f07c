"""What a job of trawl.scrapy.Scheduler is: whose, with what it began, and where."""

import json
import os
import pathlib

from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir
from scrapy.utils.spider import DefaultSpider

from ._scrapy_parts import logger


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
    return pathlib.Path(directory)


class Job:
    """The file that says how the job began. What may not change in a job is an error; what may is said."""

    def __init__(self, directory, spider, crawler, exact):
        self._path = directory / "trawl.json"
        self._spider = spider
        self._before = self._read()
        # scrapy shell and scrapy fetch have a spider of Scrapy's, which owns no job.
        name = None if isinstance(spider, DefaultSpider) else spider.name
        if self._before.get("spider", spider.name) != spider.name:
            raise NotConfigured(
                f"JOBDIR {directory} is a job of the spider {self._before['spider']!r}, not of {spider.name!r}: "
                f"give each spider a directory of its own, such as -s JOBDIR={directory}-{spider.name}")
        if self._before.get("exact", exact) != exact:
            raise NotConfigured(f"the job in JOBDIR {directory} began with TRAWL_EXACT = {not exact}: go on with that, "
                                "or give JOBDIR a directory of its own")
        fingerprinter = type(crawler.request_fingerprinter)
        self._now = {"exact": exact, "fingerprinter": f"{fingerprinter.__module__}.{fingerprinter.__qualname__}",
                     "implementation": str(crawler.settings.get("REQUEST_FINGERPRINTER_IMPLEMENTATION")), "slots": []}
        if name is not None or "spider" in self._before:
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
        new = self._path.with_name(f"{self._path.name}.new")
        with new.open("w", encoding="utf-8") as file:
            json.dump(self._now, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)

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
                       {"path": self._path}, extra={"spider": self._spider})
        return {}
