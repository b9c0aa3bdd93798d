"""The records of calls in memory."""

from collections import deque
from collections.abc import Collection, Hashable, Mapping, Sequence

from onetool.domain.activity.record import ActivityFilter, CallRecord, parse_cursor
from onetool.domain.activity.rollup import RollUp
from onetool.domain.page import Page
from onetool.domain.usage.summary import HOUR, CallCounter, UsageSummary
from onetool.ports.activity import MAX_TREE

MAX_RECORDS = 10_000
RECORD_BYTES = 500
"""Estimated size of a record without its body."""


class MemoryActivity:
    """The most recent records, and the figures of all, for the lifetime of the process."""

    def __init__(self) -> None:
        self.records: deque[CallRecord] = deque(maxlen=MAX_RECORDS)
        """Oldest first."""
        self._count, self._figures = 0, RollUp()

    def generation(self) -> Hashable:
        """Return the number of records so far."""
        return self._count

    async def add(self, records: Sequence[CallRecord], figures: RollUp) -> None:
        """Store records and add figures."""
        self.records.extend(records)
        self._count += len(records)
        self._figures.merge(figures)

    async def page(self, filter: ActivityFilter, cursor: str | None, limit: int) -> Page[CallRecord]:
        """Return records, newest first. The cursor is the number of the last one."""
        filter.check()
        last, found = parse_cursor(cursor), list[tuple[int, CallRecord]]()
        for number, record in zip(range(self._count, 0, -1), reversed(self.records), strict=False):
            if (last is None or number < last) and filter.matches(record):
                if len(found) == limit:
                    return Page([item for _, item in found], str(found[-1][0]))
                found.append((number, record._replace(arguments="", result="")))
        return Page([item for _, item in found])

    async def get(self, id: str) -> CallRecord | None:
        """Return the record of a call."""
        return next((record for record in reversed(self.records) if record.id == id), None)

    async def tree(self, id: str) -> Sequence[CallRecord]:
        """Return a call and all calls inside it. They end, and are stored, before it."""
        ids, found = {id}, list[CallRecord]()
        for record in reversed(self.records):
            if record.id in ids or record.parent in ids:
                ids.add(record.id)
                found.append(record)
        known = found if any(record.id == id for record in found) else []
        return sorted(known, key=lambda record: record.started)[:MAX_TREE]

    async def summarize(self, since: float | None) -> UsageSummary:
        """Summarize the usage since a time, or of all time."""
        first_hour = RollUp()
        if since is not None:
            end = (since // HOUR + 1) * HOUR
            first_hour.add_usage(record for record in self.records if since <= record.ended < end)
        return self._figures.summarize(since, first_hour)

    async def counters(self, tool_ids: Collection[str]) -> Mapping[str, CallCounter]:
        """Return the counters of the tools that were called at least once."""
        counters = self._figures.counters
        return {tool_id: counters[tool_id] for tool_id in tool_ids if tool_id in counters}

    async def delete_old(self, before: float, max_bytes: int) -> None:
        """Delete old records, then the bodies of the oldest ones, then the oldest ones."""
        while self.records and self.records[0].ended < before:
            self.records.popleft()
        size = len(self.records) * RECORD_BYTES + sum(map(_body_size, self.records))
        for number, record in enumerate(self.records):
            if size <= max_bytes:
                return
            size -= _body_size(record)
            self.records[number] = record._replace(arguments="", result="")
        while self.records and len(self.records) * RECORD_BYTES > max_bytes:
            self.records.popleft()

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


def _body_size(record: CallRecord) -> int:
    return len(record.arguments) + len(record.result)
