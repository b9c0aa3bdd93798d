"""Threads that packs start themselves: what they get from the SDK, and for whom they act."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from onetool import onetool_runtime, sdk
from onetool.domain import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.identity.principal import Principal
from onetool.domain.secrets.secret import Secret
from onetool.testing import memory_runtime
from support.waiting import HANG_S

METADATA = "# /// script\n# dependencies = []\n# ///\n"
PACK = '''
import threading
from concurrent.futures import ThreadPoolExecutor
from onetool.sdk import *

made = []
client = lazy_client(lambda: made.append(api_headers("KEY")) or object(), "KEY")
plain = lazy_client(lambda: made.append("plain") or object())
pool = ThreadPoolExecutor(4)

def started(function):
    """Return what a function returns on a thread that belongs to no call."""
    values = []
    thread = threading.Thread(target=lambda: values.append(function()))
    thread.start()
    thread.join()
    return values[0]

def echo(text: str) -> str:
    return text

def work() -> list:
    with ThreadPoolExecutor(8) as own:
        getters = [own.submit(get) for get in (client, plain) for _ in range(8)]
        ids = {id(future.result()) for future in getters}
    for get in (client, plain):
        ids |= {id(get()), id(pool.submit(get).result()), id(started(get))}
    return [
        len(ids),
        made,
        list(pool.map(lambda text: call_tool("mine.echo", text=text), "ab")),
        pool.submit(api_headers, "KEY").result(),
        pool.submit(get_secret, "KEY").result() == get_secret("KEY"),
        pool.submit(get_pack, "mine").result().echo(text="c"),
    ]

def from_a_thread() -> list:
    first = started(client)
    return [first is client(), started(plain) is plain(), len(made)]
'''
HEADERS = {"Authorization": "Bearer s3"}


@pytest.mark.spec("SDK-28", "SDK-29")
@pytest.mark.parametrize("metadata", ["", METADATA], ids=["in the runtime", "in a worker"])
def test_pool_threads_of_a_pack_have_the_clients_the_tools_and_the_secrets_of_its_calls(home, metadata):
    home.write("secrets.yaml", "KEY: s3\n")
    home.write("tools/mine.py", metadata + PACK)
    with onetool_runtime() as ot:
        result = ot.call("mine.work")
    assert result.error is None
    count, made, echoed, headers, same_secret, from_pack = result.data
    assert (count, len(made)) == (2, 2)
    assert (echoed, headers, same_secret, from_pack) == (["a", "b"], HEADERS, True, "c")


def test_a_thread_without_a_call_gets_the_client_of_the_runtime_that_loaded_its_pack(home):
    """Also if it is the first to ask, and the factory reads secrets."""
    home.write("secrets.yaml", "KEY: s3\n")
    home.write("tools/mine.py", PACK)
    with onetool_runtime() as ot:
        assert ot.call("mine.from_a_thread").data == [True, True, 2]


async def test_a_client_created_outside_a_runtime_is_used_inside():
    made: list[int] = []
    get = sdk.lazy_client(lambda: made.append(1) or object())
    before = get()

    def work() -> bool:
        return get() is before

    async with memory_runtime({"demo": [work]}) as ot:
        assert (await ot.call("demo.work")).data is True
    assert (get() is before, made) == (True, [1])


async def test_a_thread_without_a_call_gets_the_client_of_the_only_runtime_that_uses_it():
    made: list[int] = []
    get = sdk.lazy_client(lambda: made.append(1) or object())
    async with memory_runtime({"demo": [in_thread(get)]}) as ot:
        assert (await ot.call("demo.work")).data is True
    assert made == [1]


def in_thread(get: Any) -> Any:
    def work() -> bool:
        values = [get()]
        thread = threading.Thread(target=lambda: values.append(get()))
        thread.start()
        thread.join(HANG_S)
        return values[0] is values[1]

    return work


async def test_a_task_acts_for_the_call_that_submitted_it():
    """Also if its thread was started for the call of another caller: permissions and own secrets."""
    pool = ThreadPoolExecutor(1)

    def secret() -> str:
        return sdk.get_secret("TOKEN") or ""

    def shut() -> str:
        return "open"

    def work() -> list[str]:
        def task() -> str:
            try:
                return sdk.call_tool("demo.shut")
            except ValueError as error:
                return str(error)

        return [pool.submit(task).result(), pool.submit(secret).result()]

    own = {"TOKEN": Secret(name="TOKEN", value="value-of-anna")}
    free = Caller(interface="python", default_effect=Effect.ALLOW)
    anna = replace(free, principal=Principal("anna"), own_secrets=own)
    limited = replace(free, allowed=frozenset({"demo.work"}))
    async with memory_runtime({"demo": [work, shut]}, secrets={"TOKEN": "shared-value"}) as ot:
        seen = [
            (await ot.runtime.call_tool("demo.work", {}, caller, "sdk")).data
            for caller in (anna, limited, anna)
        ]
    pool.shutdown()
    assert seen[0] == seen[2] == ["open", "value-of-anna"]
    assert seen[1] == ["Tool not found: demo.shut", "shared-value"]


async def test_a_thread_without_a_call_cannot_call_tools_and_learns_how():
    got: list[BaseException] = []

    def attempt() -> None:
        try:
            sdk.call_tool("time.now")
        except BaseException as error:
            got.append(error)

    def work() -> None:
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(HANG_S)

    async with memory_runtime({"demo": [work]}) as ot:
        await ot.call("demo.work")
    assert "ThreadPoolExecutor" in str(got[0])


def test_tasks_outside_a_call_run_in_the_context_of_their_thread():
    """What an initializer sets stays visible."""
    value: contextvars.ContextVar[str] = contextvars.ContextVar("value", default="")
    with ThreadPoolExecutor(1, initializer=value.set, initargs=("set",)) as pool:
        assert pool.submit(value.get).result() == "set"


async def test_the_factory_cannot_use_its_own_client():
    get: Any = sdk.lazy_client(lambda: get())
    with pytest.raises(RuntimeError, match="uses the client that it creates"):
        get()


async def test_the_event_loop_does_not_wait_for_a_factory_that_needs_it():
    """The message names what waits without blocking the loop."""
    begun = threading.Event()

    def create() -> object:
        begun.set()
        return sdk.call_tool("demo.echo")

    get = sdk.lazy_client(create)

    def echo() -> str:
        return "made"

    async def work() -> list[Any]:
        creating = sdk.to_thread(get)
        task = asyncio.ensure_future(creating)
        await asyncio.sleep(0)
        begun.wait(HANG_S)
        try:
            get()
        except RuntimeError as error:
            return [str(error), await sdk.to_thread(get), await task]
        return []

    async with memory_runtime({"demo": [work, echo]}) as ot:
        message, *clients = (await ot.call("demo.work")).data
    assert "await to_thread(client)" in message
    assert clients == ["made", "made"]


@pytest.mark.parametrize("value", ["", None])
async def test_an_empty_secret_gives_no_header(value):
    def work() -> Any:
        return sdk.api_headers("KEY")

    async with memory_runtime({"demo": [work]}, secrets={} if value is None else {"KEY": value}) as ot:
        assert (await ot.call("demo.work")).data == {}
