"""Trawl's URL frontier, its filters of URLs already seen, and its parsers.

Text goes in as str or bytes (UTF-8); where bytes that are not UTF-8 come out as str, they are
lone surrogates (PEP 383), and text.encode("utf-8", "surrogateescape") gives the bytes back. Times of a
wait are in seconds; times of day are Unix times in seconds.
All objects may be used by several threads at the same time; the GIL is released around whatever
waits for the disk or handles many keys.
"""

import enum
import os
from types import TracebackType
from typing import (
    Any,
    Iterable,
    Iterator,
    List,
    Literal,
    NamedTuple,
    Optional,
    Type,
    TypeVar,
    Union,
    final,
)

Text = Union[str, bytes]
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

__version__: str

class Error(Exception):
    """A failed call of Trawl. The message says what was wrong, where, and what to do."""

class InvalidArgumentError(Error, ValueError):
    """A value outside what the call allows."""

class InvalidUrlError(Error, ValueError):
    """Not a URL by the WHATWG URL Standard."""

class UnsupportedSchemeError(Error, ValueError):
    """A URL of a scheme other than http and https."""

class NotFoundError(Error):
    """No such file, directory, lease or host."""

class AlreadyExistsError(Error):
    """The directory already holds a frontier."""

class ProfileMismatchError(Error):
    """The directory's frontier has other rules for canonical keys."""

class InUseError(Error):
    """Another process, or another Frontier of this one, has the directory open."""

class CorruptError(Error):
    """A file is damaged, truncated or not Trawl's."""

class UnsupportedVersionError(Error):
    """A file was written by a newer Trawl."""

class NoSpaceError(Error, OSError):
    """Too little disk space or memory, or a cuckoo filter that is full."""

class PermissionDeniedError(Error, OSError):
    """The operating system refused access."""

class StorageError(Error, OSError):
    """Any other read or write failure."""

class UnavailableError(Error):
    """A service is out of reach: nothing was changed, the same call may succeed later."""

class ClosedError(Error):
    """The frontier was closed, or stopped after an earlier failure."""

class ForkedError(Error):
    """The frontier was opened before fork(), by the parent of this process."""

class Admission(enum.IntEnum):
    """The answer to a URL offered."""

    NEW = 0
    SEEN = 1
    INVALID = 2
    TOO_LONG = 3
    HELD = 4
    NOTE_TOO_LONG = 5
    FORWARDED = 6

class Url:
    """A URL to offer, with more than its text.

    `key` identifies the request in place of the canonical URL; `queue` is the queue's name in place
    of the host's; `note` comes back with the lease; `again` queues it even if it was admitted
    before; `hold` is a reason to set it aside instead. `depth` None is the call's: one deeper than the
    page for a link, else 0.
    """

    url: Text
    key: Optional[Text]
    queue: Optional[Text]
    parent: Optional[Text]
    note: Optional[Text]
    priority: int
    depth: Optional[int]
    redirects: int
    again: bool
    not_before: Optional[float]
    hold: Optional[Text]
    def __init__(
        self,
        url: Text,
        *,
        key: Optional[Text] = None,
        queue: Optional[Text] = None,
        parent: Optional[Text] = None,
        note: Optional[Text] = None,
        priority: int = 0,
        depth: Optional[int] = None,
        redirects: int = 0,
        again: bool = False,
        not_before: Optional[float] = None,
        hold: Optional[Text] = None,
    ) -> None: ...

FailureReason = Literal[
    "timeout",
    "connection",
    "too_many_requests",
    "unavailable",
    "server_error",
    "permanent",
    "no_such_host",
]

@final
class Lease:
    """A URL handed out for fetching. It stays durable until the lease is ended by one of its calls."""

    @property
    def id(self) -> int:
        """Its number, unique across runs."""
    @property
    def url(self) -> str:
        """The URL to fetch."""
    @property
    def host(self) -> str:
        """The name of its queue: the URL's host, unless it was offered with a queue."""
    @property
    def parent(self) -> str:
        """The page that links here; empty for a seed."""
    @property
    def note(self) -> bytes:
        """What the offer's `note` was."""
    @property
    def priority(self) -> int:
        """Higher ones of a host are leased first."""
    @property
    def depth(self) -> int:
        """Links followed from a seed."""
    @property
    def redirects(self) -> int:
        """Consecutive redirects that led here."""
    @property
    def attempts(self) -> int:
        """Failed fetches before this one."""
    @property
    def recrawl(self) -> bool:
        """Whether it was completed before."""
    def complete(
        self,
        status: int = 200,
        links: Iterable[Union[Text, Url]] = (),
        *,
        error: Optional[Text] = None,
        reason: Optional[Text] = None,
        recrawl_at: Optional[float] = None,
        note: Optional[Text] = None,
        requested: bool = True,
        end_later: bool = False,
    ) -> int:
        """Ends the lease and admits the links found, one level deeper. Returns how many were new.

        The links become durable no later than the completion; Frontier.flush() waits for both. Of a
        lease that ended before, only the links are admitted. With `end_later` its host may get another
        lease, but this one stays open until a second complete().
        """
    def fail(
        self,
        reason: FailureReason,
        retry_after: Optional[float] = None,
        *,
        status: int = 0,
        error: Optional[Text] = None,
    ) -> Optional[float]:
        """Ends a lease whose fetch failed. Returns the time of the retry; None: it ended as failed."""
    def hold(self, reason: Text, rules: int = 0, *, always: bool = False) -> None:
        """Sets the URL aside without a request; Frontier.retry() queues it again.

        `always`: even beyond the frontier's `max_set_aside`.
        """
    def release(self, after: Optional[float] = None) -> None:
        """Returns the URL unfetched to its queue, not to be leased for `after` seconds."""
    def fetched(self) -> None:
        """Reports that the request has ended: the lease stays open, but no longer counts for
        `leases_per_host`, so that its host's next URL may be leased while this one is processed."""
    def renew(self) -> None:
        """Makes the lease expire `lease_timeout` from now."""

_Self = TypeVar("_Self", bound="Frontier")

class Frontier:
    """URLs in, leases out; each URL once, none lost, though the process be killed at any moment.

    `directory` is used by one process at a time; None: a frontier in memory. The options are those
    of include/trawl/embedded_options.h and frontier_options.h: those that people set come first.
    """

    closed: bool
    def __init__(
        self,
        directory: Optional[Path],
        *,
        delay: float = 1.0,
        expected_urls: int = 1_000_000,
        false_positive_rate: float = 1e-6,
        exact: bool = False,
        ledger: bool = False,
        leases_per_host: int = 1,
        max_memory: int = ...,
        mode: Literal["create_or_resume", "create", "resume"] = "create_or_resume",
        durability: Literal["async", "sync"] = "async",
        rules: Optional[Iterable[Text]] = None,
        replace_rules: bool = False,
        revive_hosts: bool = False,
        domain_delay: float = 0,
        ip_delay: float = 0,
        adaptive_delay: float = 0,
        max_adaptive_delay: float = 60,
        retries: int = 2,
        retry_delay: float = 10,
        max_retry_delay: float = 3600,
        host_backoff: float = 1,
        max_host_backoff: float = 600,
        host_failures: int = 20,
        park_time: float = 0,
        no_such_host_wait: float = 3,
        max_url_length: int = 2083,
        max_note_bytes: int = 4096,
        lease_timeout: float = 3600,
        max_open_leases: int = 1_000_000,
        max_filter_memory: int = 0,
        max_set_aside: int = 10_000_000,
        shards: int = 1,
        keep_checkpoints: int = 2,
        max_replay: float = 30,
        checkpoint_interval: float = 0,
        checkpoint_admissions: int = 0,
        max_checkpoint_rate: int = 0,
    ) -> None: ...
    def offer(
        self,
        urls: Iterable[Union[Text, Url]],
        *,
        wait: bool = True,
        priority: int = 0,
        depth: int = 0,
        queue: Optional[Text] = None,
        parent: Optional[Text] = None,
        note: Optional[Text] = None,
        not_before: Optional[float] = None,
        again: bool = False,
        seen_only: bool = False,
    ) -> List[Admission]:
        """Admits the URLs that are new. Returns an answer for each.

        With `seen_only` they are not queued, but count as seen from then on.
        With `wait` the answers are durable when it returns; without, before any later completion or
        flush(). Hundreds of URLs become durable in parts: if the storage fails in between, the
        first ones are admitted all the same, and seen when they are offered again. The settings
        apply to the items that are plain text.
        """
    def lease(self, max: int = 1, wait: Optional[float] = 0) -> List[Lease]:
        """Leases up to `max` URLs that are due; waits up to `wait` seconds for the first one.

        None waits until one is due or nothing is left. ^C ends the wait.
        """
    def __iter__(self) -> Iterator[Lease]:
        """Leases one URL after another, waiting until one is due; ends when nothing is left."""
    def flush(self) -> None:
        """Returns when everything completed or offered before is durable."""
    def checkpoint(self) -> None:
        """Writes a snapshot of the filter, so that the next opening is quick."""
    def close(self) -> None:
        """Makes everything durable, takes a checkpoint if one is due, releases the storage. May be called again."""
    def __enter__(self: _Self) -> _Self: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...
    def progress(self) -> Literal["running", "finished", "exhausted", "only_recrawls_wait"]:
        """Whether something is left to do."""
    def stats(self) -> "dict[str, Any]":
        """Totals since the frontier was created, and its present state."""
    def host(self, host: Text, /) -> "dict[str, Any]":
        """The state and the settings of a host. NotFoundError if there is no record of it."""
    def hosts(self, after: Optional[Text] = None, limit: int = 1000) -> "List[dict[str, Any]]":
        """At most `limit` hosts that follow `after`, the last host of the previous call."""
    def set_host(
        self,
        host: Text,
        *,
        delay: float = ...,
        exact_delay: bool = ...,
        leases: int = ...,
        limit: Optional[int] = ...,
        blocked_until: Optional[float] = ...,
        parked: bool = ...,
    ) -> None:
        """Changes the settings that are given. `limit` and `blocked_until` None: none any more."""
    def drop_host(self, host: Text, /) -> int:
        """Deletes a host's queue; its URLs stay seen. Returns how many it had."""
    def set_aside(
        self, after: Optional[Text] = None, limit: int = 1000
    ) -> "List[dict[str, Any]]":
        """At most `limit` URLs held or failed that follow `after`, a `position` of the previous call."""
    def retry(
        self,
        *,
        state: Optional[Literal["held", "failed"]] = None,
        url: Optional[Text] = None,
        host: Optional[Text] = None,
        reason: Optional[Text] = None,
        status: Optional[int] = None,
    ) -> int:
        """Queues URLs set aside again: those that match all that is given. Returns how many."""
    def lookup(self, url: Text, /) -> "dict[str, Any]":
        """What is known of a URL or of the bytes of a key. May read all waiting URLs."""
    def event_fd(self) -> int:
        """A descriptor that becomes readable when to call lease(); read its 8 bytes. For loops."""
    def next_due(self) -> Optional[float]:
        """Seconds until a lease may succeed; None while everything waits for ends or offers."""

_Filter = TypeVar("_Filter", bound="_AnyFilter")

class _AnyFilter:
    """What all filters have: sets of keys in a few bits each, whose "no" is certain."""

    def add(self, key: Text, /) -> bool:
        """Adds a key. True if this call added it: of all threads, for one."""
    def update(self, keys: Iterable[Text], /) -> int:
        """Adds the keys. Returns how many were new."""
    def add_many(self, keys: Iterable[Text], /) -> bytes:
        """Adds the keys. Returns a byte for each: 1 if it was new, else 0."""
    def contains_many(self, keys: Iterable[Text], /) -> bytes:
        """Returns a byte for each key: 1 if it is in the filter, else 0."""
    def __contains__(self, key: Text, /) -> bool: ...
    def __len__(self) -> int: ...
    def save(self, path: Path, /) -> int:
        """Writes the filter to a file, atomically and durably. Returns the file's bytes."""
    def stats(self) -> "dict[str, Any]":
        """Capacity, keys, memory, fill and the false-positive rate now."""

class BloomFilter(_AnyFilter):
    """A Bloom filter for any number of keys: it grows, and keeps its rate."""

    def __init__(
        self,
        capacity: int = 1_000_000,
        false_positive_rate: float = 1e-6,
        *,
        hash_key: Optional[bytes] = None,
        max_memory: int = 0,
    ) -> None: ...
    @classmethod
    def open(cls: Type[_Filter], path: Path, *, max_memory: int = 0) -> _Filter:
        """Reads a file that save() or `trawl filter build` wrote."""

class BlockedBloomFilter(_AnyFilter):
    """A Bloom filter of a fixed size; a key is in one cache line."""

    def __init__(
        self,
        capacity: int = 1_000_000,
        false_positive_rate: float = 1e-6,
        *,
        hash_key: Optional[bytes] = None,
    ) -> None: ...
    @classmethod
    def open(cls: Type[_Filter], path: Path) -> _Filter:
        """Reads a file that save() or `trawl filter build` wrote."""
    def merge(self, other: "BlockedBloomFilter", /) -> None:
        """Adds all keys of a filter of equal size and hash key."""

class ClassicBloomFilter(_AnyFilter):
    """The textbook's Bloom filter, with the sizes of the literature."""

    def __init__(
        self,
        capacity: int = 1_000_000,
        false_positive_rate: float = 1e-6,
        *,
        hash_key: Optional[bytes] = None,
        bits: int = 0,
        hashes: int = 0,
    ) -> None: ...
    @classmethod
    def open(cls: Type[_Filter], path: Path) -> _Filter:
        """Reads a file that save() or `trawl filter build` wrote."""
    def merge(self, other: "ClassicBloomFilter", /) -> None:
        """Adds all keys of a filter of equal size and hash key."""

class CountingBloomFilter(_AnyFilter):
    """A Bloom filter from which keys can be removed."""

    def __init__(
        self,
        capacity: int = 1_000_000,
        false_positive_rate: float = 1e-6,
        *,
        hash_key: Optional[bytes] = None,
    ) -> None: ...
    @classmethod
    def open(cls: Type[_Filter], path: Path) -> _Filter:
        """Reads a file that save() or `trawl filter build` wrote."""
    def remove(self, key: Text, /) -> bool:
        """Removes a key that was added. False if it was not there."""

class CuckooFilter(_AnyFilter):
    """A compact filter from which keys can be removed, and which can become full (NoSpaceError)."""

    def __init__(
        self,
        capacity: int = 1_000_000,
        false_positive_rate: float = 1e-6,
        *,
        hash_key: Optional[bytes] = None,
    ) -> None: ...
    @classmethod
    def open(cls: Type[_Filter], path: Path) -> _Filter:
        """Reads a file that save() or `trawl filter build` wrote."""
    def remove(self, key: Text, /) -> bool:
        """Removes a key that was added. False if it was not there."""

FilterKind = Literal["blocked", "growing", "classic", "counting", "cuckoo"]

def filter_size(kind: FilterKind, capacity: int, rate: float) -> "dict[str, Any]":
    """The size of a filter: bits, hashes, memory, file_bytes, and its rate."""

def filter_capacity(kind: FilterKind, rate: float, bits: int) -> int:
    """The most keys at this rate that fit into so many bits."""

def filter_rate(kind: FilterKind, keys: int, bits: int) -> float:
    """The lowest rate for so many keys in so many bits."""

def bloom_bits(keys: float, rate: float) -> float:
    """The textbook's m = -n ln p / (ln 2)^2."""

def bloom_hashes(bits_per_key: float) -> float:
    """The textbook's k = (m / n) ln 2."""

def bloom_rate(keys: float, bits: float, hashes: float) -> float:
    """The textbook's p = (1 - e^(-kn/m))^k."""

class Canonicalizer:
    """Decides which URLs are the same. `rules`: names of opt-in rules, such as "sort_query"."""

    def __init__(self, rules: Optional[Iterable[Text]] = None) -> None: ...
    def key(self, url: Text, /) -> str:
        """The canonical key of a URL. InvalidUrlError, UnsupportedSchemeError."""

def resolve(url: Text, base: Optional[Text] = None) -> str:
    """A URL as browsers parse it, relative to a base."""

class Robots:
    """The rules of a robots.txt (RFC 9309). Any text is accepted."""

    def __init__(self, text: Text) -> None: ...
    def allowed(self, agent: Text, url: Text) -> bool:
        """Whether a crawler whose product token is `agent` may fetch the URL."""
    def crawl_delay(self, agent: Text, /) -> Optional[float]:
        """The agent's Crawl-delay in seconds."""
    def sitemaps(self) -> List[str]:
        """The URLs of the Sitemap lines."""

LinkKind = Literal[
    "navigation", "form", "document", "resource", "related", "citation", "refresh",
    "guess"
]

class Link(NamedTuple):
    """A link of a page. `follow` is False if its rel or the page says nofollow."""

    url: str
    kind: str
    follow: bool
    element: str
    attribute: str
    rel: str
    text: str

class Page(NamedTuple):
    """What extract_links() found. `skipped`: the page was too large, too deep or too slow to parse."""

    links: List[Link]
    title: str
    language: str
    text: str
    encoding: str
    canonical: Optional[str]
    refresh: Optional[str]
    no_index: bool
    no_follow: bool
    skipped: bool

def extract_links(
    html: Text,
    url: Optional[Text] = None,
    *,
    content_type: Optional[Text] = None,
    kinds: Optional[Iterable[LinkKind]] = None,
    texts: bool = False,
    max_text: int = 0,
) -> Page:
    """The links of an HTML page, and what the page says about itself. Any bytes are accepted.

    `url` is the page's, for relative references; `content_type` the response's header. By default
    the kinds that crawlers of pages follow.
    """

class SitemapEntry(NamedTuple):
    """A page of a sitemap, or a sitemap of an index. `last_modified` is Unix time in seconds."""

    url: str
    last_modified: Optional[int]
    change_frequency: Optional[str]
    priority: Optional[float]

class Sitemap(NamedTuple):
    """What parse_sitemap() found. `kind`: urlset, index, text, rss, atom or unknown."""

    kind: str
    entries: List[SitemapEntry]
    complete: bool
    warnings: List[str]

def parse_sitemap(data: Text, url: Text) -> Sitemap:
    """The entries of a sitemap, sitemap index or feed, compressed or not. Any bytes are accepted."""
