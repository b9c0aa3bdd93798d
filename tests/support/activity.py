"""Records of calls for tests."""

from collections.abc import Sequence
from typing import Any

from onetool.domain.activity.record import ActivityFilter, CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.usage.summary import UsageSummary
from onetool.ports import ActivityStore
from onetool.runtime.runtime import Runtime


def record(tool: str, ended: float, **fields: Any) -> CallRecord:
    """Return the record of a call, which has succeeded unless there is a reason."""
    return CallRecord(**{"id": "", "tool": tool, "started": ended, "ended": ended} | fields)


def figures(records: Sequence[CallRecord]) -> RollUp:
    """Return what is derived from records."""
    return RollUp().add_usage(records).add_counts(records)


def summary(records: Sequence[CallRecord]) -> UsageSummary:
    """Return the usage of these calls."""
    return figures(records).summarize(None, RollUp())


async def add(store: ActivityStore, *records: CallRecord) -> None:
    """Store records, as the recorder does."""
    await store.add(records, figures(records))


async def recorded(runtime: Runtime, filter: ActivityFilter | None = None) -> list[CallRecord]:
    """Return the records of a runtime, oldest first, with bodies."""
    store = await runtime.recorder.written()
    page = await store.page(filter or ActivityFilter(), None, 1_000)
    records = [await store.get(item.id) for item in reversed(page.items)]
    return [item for item in records if item is not None]
