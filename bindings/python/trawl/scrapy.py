"""Scrapy on Trawl: a scheduler that loses nothing when the process is killed, a filter of duplicates
that takes a few bytes a request, and a quick fingerprinter.

    SCHEDULER = "trawl.scrapy.Scheduler"                         # needs JOBDIR
    DUPEFILTER_CLASS = "trawl.scrapy.DupeFilter"                 # or only this, with Scrapy's scheduler
    REQUEST_FINGERPRINTER_CLASS = "trawl.scrapy.Fingerprinter"   # optional: faster

docs/embedding.md describes the settings: TRAWL_EXPECTED_URLS, TRAWL_FALSE_POSITIVE_RATE, TRAWL_EXACT,
TRAWL_ORDER, TRAWL_POLITENESS, TRAWL_REFETCH_START, TRAWL_MAX_MEMORY, TRAWL_KEEP_SEEN.
"""

from ._scrapy_filter import DupeFilter, Fingerprinter
from ._scrapy_scheduler import Scheduler

__all__ = ["DupeFilter", "Fingerprinter", "Scheduler"]
