"""Async tools: what would block the event loop is refused and names its replacement, which does the work."""

import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from onetool import sdk
from onetool.testing import memory_runtime
from support.onetool_process import onetool
from support.processes import wait_until
from support.rest_process import RestProcess
from support.waiting import HANG_S

BLOCKING: dict[str, tuple[Any, str]] = {
    "batch_execute": (lambda: sdk.batch_execute(["a"], str.upper), "to_thread(batch_execute, items, func)"),
    "call_tool": (lambda: sdk.call_tool("llm.greet", name="Ann"), "call_tool_async("),
    "get_pack": (lambda: sdk.get_pack("llm"), "call_tool_async('llm.FUNCTION', ...)"),
    "check_deps": (sdk.check_deps, "to_thread(check_deps, ...)"),
    "list_tools": (sdk.list_tools, "to_thread(list_tools, ...)"),
    "health": (sdk.health, "to_thread(health, ...)"),
    "fetch_url": (lambda: sdk.fetch_url("http://127.0.0.1:1", max_bytes=1), "to_thread(fetch_url, ...)"),
    "html_to_markdown": (lambda: sdk.html_to_markdown("<p>"), "to_thread(html_to_markdown, ...)"),
}
WAITS_FOR_POOL = '''"""Blocks the event loop with threads that need it."""
from concurrent.futures import ThreadPoolExecutor
from onetool.sdk import call_tool, tool

def echo(text: str) -> str:
    return text

@tool(timeout=1)
async def work() -> list:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda text: call_tool("mine.echo", text=text), "abc"))

async def hang() -> None:
    import time
    print("hanging", flush=True)
    while True:
        time.sleep(1)
'''


def greet(name: str) -> str:
    return f"hello {name}"


@pytest.mark.parametrize("name", BLOCKING)
async def test_functions_that_block_are_refused_on_the_event_loop(name):
    use, replacement = BLOCKING[name]

    async def work() -> Any:
        return use()

    async with memory_runtime({"probe": [work], "llm": [greet]}) as ot:
        result = await ot.call("probe.work")
    assert not result.ok
    assert f"{name}(" in result.error.message
    assert "would block the event loop" in result.error.message
    assert replacement in result.error.message


async def test_safe_request_is_refused_as_its_message():
    async def work() -> Any:
        return sdk.safe_request(sdk.http_client(), "GET", "http://127.0.0.1:1")

    async with memory_runtime({"probe": [work]}) as ot:
        ok, message = (await ot.call("probe.work")).data
    assert (ok, "await to_thread(safe_request, ...)" in message) == (False, True)


async def test_a_pack_obtained_on_a_thread_is_refused_on_the_event_loop():
    async def work() -> Any:
        pack = await sdk.to_thread(sdk.get_pack, "llm")
        return pack.greet(name="Ann")

    async with memory_runtime({"probe": [work], "llm": [greet]}) as ot:
        result = await ot.call("probe.work")
    assert "use: await call_tool_async('llm.greet', ...)" in result.error.message


async def test_to_thread_does_what_is_refused():
    """As a part of the call: functions that wait for each other do not run out of threads."""
    together = threading.Barrier(5)

    def meet(text: str) -> str:
        together.wait(HANG_S)
        return sdk.call_tool("llm.greet", name=text)

    async def work() -> Any:
        return [
            await sdk.to_thread(sdk.batch_execute, list("abcde"), meet),
            await sdk.to_thread(lambda: sdk.get_pack("llm").greet(name="Ann")),
            await sdk.to_thread(sdk.check_deps, tool="probe"),
        ]

    async with memory_runtime({"probe": [work], "llm": [greet]}) as ot:
        batch, greeting, report = (await ot.call("probe.work")).data
    assert batch == "\n\n".join(f"=== {name} ===\nhello {name}" for name in "abcde")
    assert (greeting, report) == ("hello Ann", [])


def test_an_async_tool_that_waits_for_its_own_threads_ends_at_its_time_limit(home):
    home.write("tools/mine.py", WAITS_FOR_POOL)
    done = onetool("call", "mine.work", "--json")
    error = json.loads(done.stdout)["error"]["message"]
    assert done.returncode == 1
    assert "the event loop is blocked by" in error
    assert "mine.py" in error
    assert "to_thread" in error


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_whose_event_loop_is_blocked(tmp_path, number):
    server = RestProcess(tmp_path)
    (server.config / "tools" / "mine.py").write_text(WAITS_FOR_POOL)
    with server, ThreadPoolExecutor(1) as pool:
        pool.submit(server.client.post, "/tools/call", json={"name": "mine.hang", "args": {}})
        log = server.root / "state" / "onetool.jsonl"
        assert wait_until(lambda: "hanging" in server.errors.read_text())
        assert wait_until(lambda: log.exists() and "the event loop is blocked by" in log.read_text())
        os.kill(server.process.pid, number)
        assert server.process.wait(HANG_S) == 128 + number
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    (blocked,) = [line for line in lines if "event loop is blocked by" in str(line)]
    assert "hang() (" in str(blocked)
    assert "mine.py, line" in str(blocked)
    assert any(number.name in str(line) for line in lines)
