"""The settings TRAWL_... of trawl.scrapy, checked."""

import math
import os
import re

_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    _UNITS.update({_letter: 1 << 10 * _power, f"{_letter}ib": 1 << 10 * _power, f"{_letter}b": 1000 ** _power})
_LEAST_MEMORY = 64 << 20
_MOST_URLS = 10**15
_LEAST_RATE = 1e-12  # a filter that grows needs lower ones for its parts


class Settings:
    def __init__(self, settings):
        self.expected_urls = _positive(settings, "TRAWL_EXPECTED_URLS", int, 1_500_000)
        if self.expected_urls > _MOST_URLS:
            raise ValueError(f"TRAWL_EXPECTED_URLS must be at most {_MOST_URLS:,}, not {self.expected_urls:,}")
        self.rate = _positive(settings, "TRAWL_FALSE_POSITIVE_RATE", float, 1e-9)
        if not _LEAST_RATE <= self.rate < 1:
            raise ValueError(f"TRAWL_FALSE_POSITIVE_RATE must be from {_LEAST_RATE} to below 1, not {self.rate!r}; "
                             "TRAWL_EXACT = True takes no new request for a seen one")
        self.exact = _truth(settings, "TRAWL_EXACT")
        self.order = _one_of(settings, "TRAWL_ORDER", ("bfs", "dfs"))
        self.politeness = _one_of(settings, "TRAWL_POLITENESS", ("scrapy", "frontier"))
        self.refetch_start = _truth(settings, "TRAWL_REFETCH_START")
        self.keep_seen = _truth(settings, "TRAWL_KEEP_SEEN")
        self.max_memory = _size(settings, "TRAWL_MAX_MEMORY", 256 << 20)
        if self.max_memory < _LEAST_MEMORY:
            raise ValueError(f"TRAWL_MAX_MEMORY must be at least 64MiB, not {settings.get('TRAWL_MAX_MEMORY')!r}")
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if self.max_memory > memory:
            raise ValueError(f"TRAWL_MAX_MEMORY must be at most what this machine has, {memory >> 20}MiB, not "
                             f"{settings.get('TRAWL_MAX_MEMORY')!r}")


def _positive(settings, name, kind, default):
    value = settings.get(name)
    if value is None:
        return default
    try:
        number = kind(value)
    except (OverflowError, TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not 0 < number < math.inf or (isinstance(value, float) and number != value):
        raise ValueError(f"{name} must be a {'whole ' if kind is int else ''}number above 0, not {value!r}")
    return number


def _truth(settings, name):
    try:
        return settings.getbool(name, False)
    except ValueError:
        raise ValueError(f"{name} must be True or False, not {settings.get(name)!r}") from None


def _one_of(settings, name, values):
    value = settings.get(name)
    if value is None:
        return values[0]
    if value not in values:
        raise ValueError(f"{name} must be {' or '.join(map(repr, values))}, not {value!r}")
    return value


def _size(settings, name, default):
    """Bytes: a number, or a text such as "256MiB"."""
    value = settings.get(name)
    if value is None:
        return default
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(value), re.ASCII | re.IGNORECASE)
    unit = match and _UNITS.get(match[2].lower())
    if unit is None or isinstance(value, bool):
        raise ValueError(f"{name} must be a number of bytes, such as \"256MiB\", not {value!r}")
    return int(float(match[1]) * unit)
