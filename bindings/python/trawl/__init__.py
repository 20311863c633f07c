"""Trawl's URL frontier, its filters of URLs already seen, and its parsers.

    with trawl.Frontier("state", delay=1.0) as frontier:
        frontier.offer(["https://example.com/"])
        for lease in frontier:
            page = fetch(lease.url)
            lease.complete(page.status, links=page.links)

The stubs next to this file (`__init__.pyi`) describe every call.
"""

import atexit as _atexit
import enum as _enum
import os as _os
import typing as _typing
import weakref as _weakref

from . import _trawl
from ._trawl import (
    AlreadyExistsError,
    BlockedBloomFilter,
    BloomFilter,
    Canonicalizer,
    ClassicBloomFilter,
    ClosedError,
    CorruptError,
    CountingBloomFilter,
    CuckooFilter,
    Error,
    ForkedError,
    InUseError,
    InvalidArgumentError,
    InvalidUrlError,
    Lease,
    NoSpaceError,
    NotFoundError,
    PermissionDeniedError,
    ProfileMismatchError,
    Robots,
    StorageError,
    UnavailableError,
    UnsupportedSchemeError,
    UnsupportedVersionError,
    __version__,
    bloom_bits,
    bloom_hashes,
    bloom_rate,
    filter_capacity,
    filter_rate,
    filter_size,
    resolve,
)

# What the stubs call the types of arguments.
Text = _typing.Union[str, bytes]
Path = _typing.Union[str, bytes, _os.PathLike[str], _os.PathLike[bytes]]


def _one_of(*names):  # as mypy sees a Literal of several
    return _typing.Union[tuple(_typing.Literal[name] for name in names)]


FailureReason = _one_of("timeout", "connection", "too_many_requests", "unavailable", "server_error",
                        "permanent", "no_such_host")
FilterKind = _one_of("blocked", "growing", "classic", "counting", "cuckoo")
LinkKind = _one_of("navigation", "form", "document", "resource", "related", "citation", "refresh",
                    "guess")

_open_frontiers = _weakref.WeakSet()


class Admission(_enum.IntEnum):
    NEW = 0
    SEEN = 1
    INVALID = 2
    TOO_LONG = 3
    HELD = 4
    NOTE_TOO_LONG = 5
    FORWARDED = 6


_trawl.set_admissions(list(Admission))


class Url:
    """A URL to offer, with more than its text."""

    __slots__ = ("url", "key", "queue", "parent", "note", "priority", "depth", "redirects", "again",
                 "not_before", "hold")

    def __init__(self, url, *, key=None, queue=None, parent=None, note=None, priority=0, depth=None,
                 redirects=0, again=False, not_before=None, hold=None):
        self.url = url
        self.key = key
        self.queue = queue
        self.parent = parent
        self.note = note
        self.priority = priority
        self.depth = depth
        self.redirects = redirects
        self.again = again
        self.not_before = not_before
        self.hold = hold

    def __repr__(self):
        return f"trawl.Url({self.url!r})"


class Frontier(_trawl.Frontier):
    """URLs in, leases out; each URL once, none lost. Thread-safe."""

    closed = False

    def __init__(self, directory, **options):
        super().__init__(directory, **options)
        _open_frontiers.add(self)

    def close(self):
        """Makes everything durable, takes a checkpoint if one is due, releases the storage. May be called again."""
        if self.closed:
            return
        super().close()
        self.closed = True
        _open_frontiers.discard(self)

    def __enter__(self):
        if self.closed:
            raise ClosedError("the frontier is closed")
        return self

    def __exit__(self, *_):
        try:
            self.close()
        except ForkedError:  # a child leaves the block, and the frontier to its parent
            pass

    def __iter__(self):
        """Leases one URL after another, waiting until one is due; ends when nothing is left."""
        while leases := self.lease(1, None):
            yield leases[0]


def _close_all():
    for frontier in list(_open_frontiers):
        try:
            frontier.close()
        except Error:  # a child of fork, or the disk: what is durable stays
            pass
    _trawl.leave_others_behind()  # daemon threads, which Python would end inside of our calls


_atexit.register(_close_all)


class Link(_typing.NamedTuple):
    url: str
    kind: str
    follow: bool
    element: str
    attribute: str
    rel: str
    text: str


class Page(_typing.NamedTuple):
    links: list
    title: str
    language: str
    text: str
    encoding: str
    canonical: _typing.Optional[str]
    refresh: _typing.Optional[str]
    no_index: bool
    no_follow: bool
    skipped: bool


class SitemapEntry(_typing.NamedTuple):
    url: str
    last_modified: _typing.Optional[int]
    change_frequency: _typing.Optional[str]
    priority: _typing.Optional[float]


class Sitemap(_typing.NamedTuple):
    kind: str
    entries: list
    complete: bool
    warnings: list


def extract_links(html, url=None, *, content_type=None, kinds=None, texts=False, max_text=0):
    """The links of an HTML page, and what the page says about itself."""
    links, *rest = _trawl.extract_links(html, url, content_type, kinds, texts, max_text)
    return Page([Link._make(link) for link in links], *rest)


def parse_sitemap(data, url):
    """The entries of a sitemap, sitemap index or feed, compressed or not."""
    kind, entries, complete, warnings = _trawl.parse_sitemap(data, url)
    return Sitemap(kind, [SitemapEntry._make(entry) for entry in entries], complete, warnings)
