"""Streams of calls and chats: heartbeats, order, errors, and what is left after clients disconnect."""

import asyncio
import gc
import json

import pytest

from onetool.interfaces.rest.routes.calls import MAX_QUEUED_STEPS
from onetool.testing import memory_runtime
from support.chat_client import SETTINGS, question, read_events, write_script
from support.rest_in_process import serve_memory, serve_rest
from support.scripted_model import scripted_calls
from support.waiting import HANG_S, until

EVENTS = {"Accept": "text/event-stream"}
CONCURRENT_STREAMS = 20


class Waits:
    """A tool that waits until it is cancelled."""

    def __init__(self) -> None:
        self.started = self.cancelled = 0

        async def wait() -> str:
            """Wait forever."""
            self.started += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled += 1
            return "never"

        self.packs = {"demo": [wait]}


@pytest.fixture
async def waits():
    return Waits()


@pytest.fixture
async def client(waits, tmp_path):
    settings = SETTINGS | {"execution": {"timeout_s": 3600}}
    runtime = memory_runtime(waits.packs, settings=settings, cwd=tmp_path)
    async with runtime as ot, serve_rest(ot.runtime) as client:
        yield client


@pytest.fixture
async def loop_errors():
    """Return what asyncio reports, such as tasks that are destroyed while they are pending."""
    errors = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    return errors


async def cut_stream(client, path, body):
    """Start a stream and disconnect after the first byte of its response."""
    async with asyncio.timeout(HANG_S), client.stream("POST", path, json=body, headers=EVENTS) as response:
        assert response.status_code == 200


STREAMED = {
    "/tools/call": lambda number: {"name": "demo.wait"},
    "/chat": lambda number: question(session=f"cut-{number}"),
}


@pytest.mark.parametrize("path", STREAMED)
async def test_nothing_is_left_after_streams_are_cut(client, waits, tmp_path, loop_errors, path, size):
    """Neither tasks of the server nor calls of tools."""
    write_script(tmp_path, scripted_calls(("demo.wait", {})))
    await cut_stream(client, path, STREAMED[path](-1))
    await until(lambda: waits.cancelled == waits.started)
    before = len(asyncio.all_tasks())
    for start in range(0, size(200, 1_000), CONCURRENT_STREAMS):
        numbers = range(start, start + CONCURRENT_STREAMS)
        await asyncio.gather(*(cut_stream(client, path, STREAMED[path](number)) for number in numbers))
    await until(lambda: len(asyncio.all_tasks()) <= before)
    gc.collect()
    await asyncio.sleep(0)
    assert waits.cancelled == waits.started
    assert loop_errors == []


@pytest.mark.parametrize("path", STREAMED)
async def test_heartbeats_are_sent_while_there_are_no_events(client, tmp_path, monkeypatch, path):
    """They keep proxies from closing the connection."""
    monkeypatch.setattr("onetool.interfaces.rest.sse.HEARTBEAT_S", 0.01)
    write_script(tmp_path, scripted_calls(("demo.wait", {})))
    async with client.stream("POST", path, json=STREAMED[path](0), headers=EVENTS) as response:
        async with asyncio.timeout(HANG_S):
            async for line in response.aiter_lines():
                if line == ": heartbeat":
                    break


async def test_steps_of_async_tools_precede_the_result():
    """Also a step that the tool reports immediately before it returns."""

    async def count(ctx) -> str:
        """Count to three."""
        for number in range(3):
            ctx.progress(number, 3, "")
        return "done"

    async with (
        serve_memory({"demo": [count]}) as client,
        client.stream("POST", "/tools/call", json={"name": "demo.count"}, headers=EVENTS) as response,
    ):
        events = [(kind, data.get("done", data.get("value"))) async for kind, data in read_events(response)]
    assert events == [("progress", 0), ("progress", 1), ("progress", 2), ("result", "done")]


async def test_steps_that_a_slow_client_does_not_read_are_dropped():
    """The result is not."""

    async def flood(ctx) -> str:
        """Report more steps than are queued."""
        for number in range(3 * MAX_QUEUED_STEPS):
            ctx.progress(number, None, "")
        return "done"

    async with serve_memory({"demo": [flood]}) as client:
        text = (await client.post("/tools/call", json={"name": "demo.flood"}, headers=EVENTS)).text
    assert text.count("event: progress") == MAX_QUEUED_STEPS
    assert json.loads(text.rpartition("data: ")[2])["value"] == "done"


async def test_an_internal_error_ends_the_stream_of_a_call():
    """With the type of the exception, but not its text."""

    def fail():
        raise OSError("no entropy")

    async with memory_runtime() as ot, serve_rest(ot.runtime) as client:
        ot.runtime.new_id = fail
        streamed = await client.post("/tools/call", json={"name": "time.now"}, headers=EVENTS)
    result = json.loads(streamed.text.rpartition("data: ")[2])
    assert (result["ok"], "OSError" in result["error"]["message"]) == (False, True)
    assert "entropy" not in streamed.text
