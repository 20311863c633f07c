"""The frontier in asyncio: no thread waits; the event loop watches the frontier's eventfd."""

from types import TracebackType
from typing import Any, AsyncIterator, Iterable, List, Optional, Type, TypeVar, Union

import trawl

_Self = TypeVar("_Self", bound="Frontier")

class Frontier:
    """A trawl.Frontier for one event loop. The options are those of trawl.Frontier."""

    def __init__(self, directory: Optional[trawl.Path], **options: Any) -> None: ...
    @property
    def sync(self) -> trawl.Frontier:
        """The trawl.Frontier behind it, for calls that do not wait: stats(), set_host(), ..."""
    async def __aenter__(self: _Self) -> _Self: ...
    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...
    def offer(
        self, urls: Iterable[Union[trawl.Text, trawl.Url]], **settings: Any
    ) -> List[trawl.Admission]:
        """As trawl.Frontier.offer(), without waiting: durable before any later completion."""
    async def lease(self, max: int = 1) -> List[trawl.Lease]:
        """Up to `max` leases, as soon as one is due; none at the end of the crawl."""
    def leases(self, concurrency: int = 64) -> AsyncIterator[trawl.Lease]:
        """Leases until the end; at most `concurrency` are open at the same time.

        A lease counts as open until it is ended, or until nothing refers to it any more.
        """
    async def flush(self) -> None:
        """Returns when everything completed or offered before is durable."""
    async def close(self) -> None:
        """Makes everything durable and releases the storage. Waiting calls raise ClosedError."""
