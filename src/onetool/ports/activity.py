"""Port of the activity store: one record for every finished call, and what is derived from the records."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Protocol

from onetool.domain.activity.record import ActivityFilter, CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.page import Page
from onetool.domain.usage.summary import CallCounter, UsageSummary

MAX_TREE = 1_000
"""Maximum number of records in a tree."""


class ActivityStore(Protocol):
    """Stores records, and adds up usage and counters. Those never expire."""

    def generation(self) -> Hashable:
        """Return a value that changes with every write of any process. Costs at most two stats."""
        ...

    async def add(self, records: Sequence[CallRecord], figures: RollUp) -> None:
        """Store records and add figures, both or neither."""
        ...

    async def page(self, filter: ActivityFilter, cursor: str | None, limit: int) -> Page[CallRecord]:
        """Return up to `limit` records without bodies after an opaque cursor, newest first.

        A page may have fewer records than there are, and a cursor with which to go on: not all are searched
        at once.

        Raises:
            ValueError: The cursor or the pattern of the filter is invalid.
        """
        ...

    async def get(self, id: str) -> CallRecord | None:
        """Return the record of a call, or None."""
        ...

    async def tree(self, id: str) -> Sequence[CallRecord]:
        """Return a call and all calls inside it, by their start; at most MAX_TREE. None if it is unknown."""
        ...

    async def summarize(self, since: float | None) -> UsageSummary:
        """Summarize the usage since a time in seconds since the epoch, or of all time."""
        ...

    async def counters(self, tool_ids: Collection[str]) -> Mapping[str, CallCounter]:
        """Return the counters of the tools that were called at least once."""
        ...

    async def delete_old(self, before: float, max_bytes: int) -> None:
        """Delete records of calls that ended before a time; then the oldest bodies, then the oldest records,
        while all together exceed `max_bytes`. Usage and counters stay."""
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...
