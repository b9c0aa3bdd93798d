"""What happens to finished calls until they are written."""

import asyncio
import weakref
from typing import Any

import pytest

from onetool.domain.activity.record import ActivityFilter
from onetool.domain.calls.call import CallMeta, ToolCall
from onetool.domain.calls.caller import Caller
from onetool.domain.errors import StoreUnavailable
from onetool.domain.identity.principal import LOCAL
from onetool.domain.secrets.redaction import Redactor
from onetool.domain.usage.summary import TokenSaving
from onetool.pipeline import recorder as module
from onetool.pipeline.recorder import MAX_LOGGED_INPUTS, MAX_PENDING, FinishedCall, Recorder
from onetool.settings.schema import ActivitySettings, StatsSettings
from onetool.storage.memory.activity import MemoryActivity
from onetool.threads import Threads
from support.virtual_clock import with_virtual_clock
from support.waiting import HANG_S, until


class BlockedActivity(MemoryActivity):
    """A store whose writes wait, like those on a network drive that does not respond."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.released = asyncio.Event(), asyncio.Event()

    async def add(self, records: Any, figures: Any) -> None:
        self.entered.set()
        await self.released.wait()
        await super().add(records, figures)


class CallId(str):
    """An id whose memory can be observed."""


def finished(id_: object, args: dict[str, Any] | None = None, **fields: Any) -> FinishedCall:
    call = ToolCall(id_ if isinstance(id_, CallId) else str(id_), "demo.echo", args or {}, "python")
    meta = CallMeta("demo.echo", call.id, 1.0)
    values = {"value": "done", "redactor": Redactor(), "tool_id": ""} | fields
    return FinishedCall(call, values.pop("caller", Caller(interface="python")), meta, **values)


def messages(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "onetool.calls"]


@pytest.fixture
async def blocked(monkeypatch, threads) -> tuple[Recorder, BlockedActivity]:
    """Return a recorder whose write of the call "0" waits, and its store."""
    monkeypatch.setattr(module, "DELAY", 0.0)
    activity = BlockedActivity()
    recorder = Recorder(activity, threads)
    recorder.add(finished(0))
    await activity.entered.wait()
    return recorder, activity


async def test_calls_that_finish_during_a_blocked_write_are_limited_and_written_afterwards(blocked, caplog):
    """The most recent ones are kept, the others are reported, and one flush runs at a time."""
    recorder, activity = blocked
    tasks = asyncio.all_tasks()
    oldest = CallId(1)
    released = weakref.ref(oldest)
    recorder.add(finished(oldest))
    del oldest
    for number in range(2, MAX_PENDING + 11):
        recorder.add(finished(number))
        if number % 1_000 == 0:
            await asyncio.sleep(0.001)  # timers fire meanwhile
    assert asyncio.all_tasks() == tasks
    assert released() is None
    activity.released.set()
    await until(lambda: activity.generation() == MAX_PENDING + 1)
    assert [text for text in messages(caplog) if "dropped" in text] == [
        "dropped 10 events: the store failed or was too slow"
    ]
    assert activity.records[0].id == "11"
    assert activity.records[-1].id == str(MAX_PENDING + 10)


@pytest.mark.guards("record-calls")
async def test_bodies_of_waiting_calls_are_limited(monkeypatch, blocked):
    """While a write blocks, further calls are recorded without their arguments and results."""
    recorder, activity = blocked
    monkeypatch.setattr(module, "MAX_PENDING_BODIES", 50_000)
    for number in range(1, 101):
        recorder.add(finished(number, {"text": "x" * 9_000}))
    activity.released.set()
    await recorder.flush()
    bodies = [record.arguments for record in activity.records if record.arguments not in ("", "{}")]
    assert len(activity.records) == 101
    assert sum(map(len, bodies)) < 70_000
    recorder.add(finished("later", {"text": "x"}))
    await recorder.flush()
    assert activity.records[-1].arguments == '{"text":"x"}'


async def test_savings_alone_are_written_after_a_blocked_write(blocked):
    recorder, activity = blocked
    recorder.add_saving(TokenSaving(0.0, 10, session="s"))
    activity.released.set()
    await until(lambda: bool(activity._figures.sessions))
    assert (await recorder.summary()).sessions == {"s": 10}


async def test_statistics_are_returned_while_a_write_blocks_and_waiting_writes_are_one(
    monkeypatch, caplog, blocked
):
    monkeypatch.setattr(module, "READ_TIMEOUT_S", 0.01)
    recorder, activity = blocked
    recorder.add(finished(1))
    before = len(asyncio.all_tasks())
    for _ in range(20):
        assert (await recorder.summary()).tools == {}
    assert len(asyncio.all_tasks()) <= before + 1
    assert "cannot write the latest calls; statistics are incomplete: the store" in messages(caplog)[-1]
    monkeypatch.setattr(module, "READ_TIMEOUT_S", HANG_S)
    activity.released.set()
    assert (await recorder.summary()).tools["demo.echo"].calls == 2


@with_virtual_clock
async def test_statistics_that_cannot_be_read_are_an_error():
    class Silent(MemoryActivity):
        async def summarize(self, since: float | None) -> Any:
            await asyncio.Event().wait()

    with pytest.raises(StoreUnavailable, match="does not respond"):
        await Recorder(Silent(), Threads()).summary()


async def test_calls_that_cannot_be_written_at_the_end_are_reported(monkeypatch, caplog, blocked):
    monkeypatch.setattr(module, "CLOSE_TIMEOUT_S", 0.05)
    recorder, activity = blocked
    recorder.add(finished(1))
    recorder.add_saving(TokenSaving(0.0, 10))
    await recorder.close()
    assert messages(caplog)[-1] == "3 events may be lost: the store does not respond"
    activity.released.set()
    await recorder.flush()


async def test_a_write_that_fails_when_no_one_waits_is_repeated(threads):
    class Failing(BlockedActivity):
        has_failed = False

        async def add(self, records: Any, figures: Any) -> None:
            self.entered.set()
            await self.released.wait()
            if not self.has_failed:
                self.has_failed = True
                raise OSError("disk full")
            await MemoryActivity.add(self, records, figures)

    activity = Failing()
    recorder = Recorder(activity, threads)
    recorder.add(finished(0))
    waiting = asyncio.create_task(recorder.flush())
    await activity.entered.wait()
    waiting.cancel()
    activity.released.set()
    await until(lambda: activity.has_failed)
    await recorder.flush()
    assert [record.id for record in activity.records] == ["0"]


async def test_events_of_an_outage_are_stored_after_it_without_further_calls(monkeypatch, caplog, threads):
    """The log says once that they cannot be stored, and once that they are stored again."""

    class Away(MemoryActivity):
        attempts = 0
        is_back = asyncio.Event()

        async def add(self, records: Any, figures: Any) -> None:
            self.attempts += 1
            if self.attempts <= 5:
                raise StoreUnavailable("away")
            await super().add(records, figures)
            self.is_back.set()

    monkeypatch.setattr(module, "RETRY_S", 0.01)
    activity = Away()
    recorder = Recorder(activity, threads)
    recorder.add(finished(0))
    await activity.is_back.wait()
    await until(lambda: len(messages(caplog)) > 1)
    await recorder.close()
    assert [record.id for record in activity.records] == ["0"]
    assert messages(caplog) == [
        "cannot store 1 events; will retry: StoreUnavailable: away",
        "events are stored again",
    ]


async def test_events_that_were_stored_although_that_was_not_known_are_not_stored_twice(monkeypatch, threads):
    """The connection was lost after the commit, before its response."""

    class Lossy(MemoryActivity):
        has_failed = False

        async def add(self, records: Any, figures: Any) -> None:
            await super().add(records, figures)
            if not self.has_failed:
                self.has_failed = True
                raise StoreUnavailable("connection lost")

    monkeypatch.setattr(module, "RETRY_S", 0.01)
    activity = Lossy()
    recorder = Recorder(activity, threads)
    recorder.add(finished(0))
    recorder.add_saving(TokenSaving(0.0, 10))
    await until(lambda: activity.has_failed and not recorder.pending)
    recorder.add(finished(1))
    await recorder.flush()
    assert [record.id for record in activity.records] == ["0", "1"]
    summary = await recorder.summary()
    assert (summary.tools["demo.echo"].calls, summary.total().saved_tokens) == (2, 10)


async def test_calls_during_an_outage_are_logged_at_once_and_stored_once_after_it(caplog, threads):
    """Whether the first one was stored is not known until the store can be asked."""

    class Away(MemoryActivity):
        is_away = has_failed = False

        async def add(self, records: Any, figures: Any) -> None:
            await super().add(records, figures)
            if not self.has_failed:
                self.is_away = self.has_failed = True
                raise StoreUnavailable("connection lost")

        async def get(self, id: str) -> Any:
            if self.is_away:
                raise StoreUnavailable("away")
            return await super().get(id)

    caplog.set_level("INFO", logger="onetool.calls")
    activity = Away()
    recorder = Recorder(activity, threads)
    for number in range(3):
        recorder.add(finished(number))
        recorder.add_saving(TokenSaving(0.0, 10))
        with pytest.raises(StoreUnavailable):
            await recorder.flush()
        assert messages(caplog).count("call") == number + 1
    activity.is_away = False
    await recorder.flush()
    assert not recorder.pending
    assert [record.id for record in activity.records] == ["0", "1", "2"]
    summary = await recorder.summary()
    assert (summary.tools["demo.echo"].calls, summary.total().saved_tokens) == (3, 30)
    await recorder.close()


async def test_waiting_calls_keep_only_the_start_of_their_arguments(caplog, threads):
    """The complete ones could fill the memory. Of code, only the calls in it are logged."""
    caplog.set_level("INFO", logger="onetool.calls")
    recorder = Recorder(MemoryActivity(), threads)
    args = {"text": "x" * 1_000_000, "data": b"x" * 1_000, **{str(number): number for number in range(1_000)}}
    recorder.add(finished(0, args))
    recorder.add(finished(1, {"code": "1"}, kind="run"))
    await recorder.flush()
    await recorder.close()
    (record,) = [record for record in caplog.records if record.name == "onetool.calls"]
    assert len(record.inputs) == MAX_LOGGED_INPUTS
    assert (len(record.inputs["text"]) < 300, record.inputs["data"]) == (True, "[1000]")


async def test_settings_decide_what_is_stored(threads):
    """Counters are always updated; records need statistics, and bodies need records."""
    cases = {
        (True, True, True): ("done", 1),
        (True, True, False): ("", 1),
        (True, False, True): (None, 1),
        (False, True, True): (None, 0),
    }
    for (stats, enabled, bodies), (body, calls) in cases.items():
        activity = MemoryActivity()
        recorder = Recorder(activity, threads)
        recorder.configure(StatsSettings(enabled=stats), ActivitySettings(enabled=enabled, bodies=bodies))
        recorder.add(finished(0, tool_id="id"))
        recorder.add_saving(TokenSaving(0.0, 10))
        summary = await recorder.summary()
        assert [record.result for record in activity.records] == ([] if body is None else [body])
        assert (summary.total().calls, summary.total().saved_tokens) == (calls, 10 * calls)
        assert (await activity.counters(["id"]))["id"].calls == 1


async def test_record_has_the_caller_and_the_times(threads):
    activity = MemoryActivity()
    recorder = Recorder(activity, threads, now=lambda: 100.0)
    caller = Caller(
        interface="mcp", client="editor", principal=LOCAL.with_profile("work"), session="s", parent="outer"
    )
    recorder.add(finished(1, caller=caller, bytes_in=2, bytes_out=3, decision="approved"))
    await recorder.flush()
    (record,) = activity.records
    assert (record.started, record.ended, record.duration_ms) == (99.999, 100.0, 1.0)
    assert (record.interface, record.client, record.profile, record.session) == ("mcp", "editor", "work", "s")
    assert (record.parent, record.principal, record.decision) == ("outer", "local", "approved")
    assert (record.bytes_in, record.bytes_out) == (2, 3)
    assert (record.ok, record.code, len(record.tool_id)) == (True, None, 36)


async def test_names_that_clients_send_can_always_be_stored(threads):
    """Too long ones, and ones that are no Unicode."""
    activity = MemoryActivity()
    recorder = Recorder(activity, threads)
    recorder.add(
        finished("\ud800", caller=Caller(interface="mcp", client="\udfff" * 10_000, session="s\ud800"))
    )
    await recorder.flush()
    (record,) = activity.records
    for text in (record.id, record.client, record.session):
        assert len(text.encode()) < 1_000


async def test_old_records_are_deleted_once_in_a_while(monkeypatch, threads, caplog):
    """Failures are logged and stop nothing."""
    deleted = []

    class CleanedActivity(MemoryActivity):
        async def delete_old(self, before: float, max_bytes: int) -> None:
            deleted.append((before, max_bytes))
            raise OSError("read-only")

    now = [10 * 86_400.0]
    recorder = Recorder(CleanedActivity(), threads, now=lambda: now[0])
    recorder.configure(StatsSettings(), ActivitySettings(retention_days=3, max_bytes=2**20))
    for _ in range(3):
        recorder.add(finished(1))
        await recorder.flush()
    assert deleted == [(7 * 86_400.0, 2**20)]
    assert "cannot delete old records of calls: read-only" in caplog.text
    now[0] += 3601
    recorder.add(finished(2))
    await recorder.flush()
    assert len(deleted) == 2
    page = await (await recorder.written()).page(ActivityFilter(), None, 10)
    assert len(page.items) == 4
