"""Contract suite of the token stores."""

import asyncio
import json
import logging
import stat
import threading
from contextlib import AsyncExitStack

import pytest

from onetool.domain.errors import StoreUnavailable
from onetool.files.atomic import write_atomic
from onetool.storage.files.tokens import FileTokens
from onetool.storage.memory.tokens import MemoryTokens
from onetool.storage.postgres.database import MAX_CONNECTIONS
from onetool.storage.postgres.tokens import PostgresTokens
from onetool.threads import Threads
from support.waiting import HANG_S

TEXT = '{"access_token": "s3cr3t"}'


@pytest.fixture(params=["memory", "files", "postgres"])
def tokens(request, tmp_path):
    if request.param == "postgres":
        workspace, sealer = (request.getfixturevalue(name) for name in ("workspace", "sealer"))
        return PostgresTokens(workspace, Threads(), sealer, "server")
    return MemoryTokens() if request.param == "memory" else FileTokens(tmp_path / "a" / "tokens", Threads())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


async def replace(tokens, text, server="s"):
    async with tokens.exclusive(server) as stored:
        await stored.replace(text)


async def test_tokens_are_stored_replaced_and_deleted_per_server(tokens):
    assert await tokens.read("s") is None
    await replace(tokens, None)
    await replace(tokens, TEXT)
    assert (await tokens.read("s"), await tokens.read("other")) == (TEXT, None)
    async with tokens.exclusive("s") as stored:
        assert stored.text == TEXT
        await stored.replace('{"n": "ä"}')
        assert stored.text == await tokens.read("s") == '{"n": "ä"}'
    await replace(tokens, None)
    assert await tokens.read("s") is None


async def test_concurrent_changes_are_serialized(tokens):
    """Each change receives the result of the one before it."""

    async def add():
        async with tokens.exclusive("s") as stored:
            count = json.loads(stored.text or '{"n": 0}')["n"]
            await asyncio.sleep(0)
            await stored.replace(json.dumps({"n": count + 1}))

    await asyncio.gather(*(add() for _ in range(8)))
    assert json.loads(await tokens.read("s")) == {"n": 8}


async def test_slow_change_blocks_only_its_own_server(tokens):
    async with tokens.exclusive("s") as stored:
        await replace(tokens, TEXT, "other")
        assert (await tokens.read("s"), await tokens.read("other")) == (None, TEXT)
        await stored.replace(TEXT)
    assert await tokens.read("s") == TEXT


async def test_failed_change_propagates_and_changes_nothing(tokens):
    """The lock is released."""
    await replace(tokens, TEXT)
    with pytest.raises(ZeroDivisionError):
        async with tokens.exclusive("s"):
            raise ZeroDivisionError
    async with tokens.exclusive("s") as stored:
        assert stored.text == TEXT


async def test_lock_of_a_cancelled_waiter_is_released(tokens):
    """Although the thread that waits for a file lock continues and gets it."""
    holding = asyncio.Event()

    async def wait():
        holding.set()
        async with tokens.exclusive("s"):
            pass

    async with tokens.exclusive("s"):
        waiter = asyncio.create_task(wait())
        await holding.wait()
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.wait({waiter})
    assert waiter.cancelled()
    await replace(tokens, TEXT)
    assert await tokens.read("s") == TEXT


async def test_lock_is_held_until_a_cancelled_write_is_done(tmp_path, monkeypatch):
    """The next owner of the lock sees what was written."""
    writing, resume = threading.Event(), threading.Event()

    def slow_write(*args):
        writing.set()
        assert resume.wait(HANG_S)
        write_atomic(*args)

    monkeypatch.setattr("onetool.storage.files.tokens.write_atomic", slow_write)
    store = FileTokens(tmp_path, Threads())
    writer = asyncio.create_task(replace(store, TEXT))
    assert await asyncio.to_thread(writing.wait, HANG_S)
    writer.cancel()
    await asyncio.wait({writer})
    asyncio.get_running_loop().call_later(0.05, resume.set)
    async with store.exclusive("s") as stored:
        assert stored.text == TEXT


async def test_repr_shows_no_token(tokens):
    await replace(tokens, TEXT)
    assert "s3cr3t" not in repr(tokens)


async def test_change_times_out_while_another_holds_the_lock(tmp_path, monkeypatch):
    """A process that hangs does not block others forever."""
    monkeypatch.setattr("onetool.storage.files.tokens.TIMEOUT_S", 0.01)
    store = FileTokens(tmp_path, Threads())
    async with store.exclusive("s"):
        with pytest.raises(StoreUnavailable):
            await replace(store, TEXT)


@pytest.mark.parametrize("content", [b"{", b'["s3cr3t"]', b"\xff", b"", b"[" * 100_000, b'"s3cr3t"'])
async def test_corrupt_file_is_moved(tmp_path, content, caplog):
    """The server counts as logged out, the file remains private, and the log does not quote it."""
    (tmp_path / "s.json").write_bytes(content)
    (tmp_path / "s.json").chmod(0o600)
    with caplog.at_level(logging.DEBUG):
        assert await FileTokens(tmp_path, Threads()).read("s") is None
    (moved,) = tmp_path.glob("s.json.corrupt-*")
    assert (mode(moved), moved.read_bytes()) == (0o600, content)
    assert "moved corrupt file" in caplog.text
    assert "s3cr3t" not in caplog.text


async def test_refreshes_that_wait_for_an_issuer_occupy_no_connection(workspace, sealer):
    """Otherwise a few issuers that hang would stop the refreshes of all workspaces."""
    tokens = PostgresTokens(workspace, Threads(), sealer, "server")
    async with AsyncExitStack() as stack:
        for number in range(2 * MAX_CONNECTIONS):
            await stack.enter_async_context(tokens.exclusive(f"s{number}"))
        await replace(tokens, TEXT, "other")
    assert await tokens.read("other") == TEXT


async def test_lock_of_a_process_that_ended_expires(workspace, sealer):
    """What that process would still store is refused: another one may have stored newer tokens."""
    tokens = PostgresTokens(workspace, Threads(), sealer, "server")
    async with tokens.exclusive("s") as stored:
        with workspace.recording() as cursor:
            cursor.execute(
                "update token_leases set expires_at = now() - interval '1 second' where workspace_id = %s",
                (workspace.workspace,),
            )
        await replace(tokens, TEXT)
        with pytest.raises(StoreUnavailable, match="has expired"):
            await stored.replace('{"n": 1}')
    assert await tokens.read("s") == TEXT


async def test_tokens_of_members_are_apart(workspace, sealer):
    tokens = PostgresTokens(workspace, Threads(), sealer, "server")
    before = tokens.generation()
    await replace(tokens.of("anna"), TEXT)
    assert tokens.generation() != before
    assert [await tokens.of(owner).read("s") for owner in ("anna", "ben", "")] == [TEXT, None, None]
    async with tokens.of("anna").exclusive("s"):
        await replace(tokens.of("ben"), '{"n": 2}')
    await replace(tokens.of("anna"), None)
    assert [await tokens.of(owner).read("s") for owner in ("anna", "ben")] == [None, '{"n": 2}']


async def test_text_that_cannot_be_opened_is_replaced_by_a_new_login(workspace, sealer, caplog):
    tokens = PostgresTokens(workspace, Threads(), sealer, "server")
    await replace(tokens, TEXT)
    with workspace.recording() as cursor:
        change = "update credentials set sealed = sealed || 'x'::bytea where workspace_id = %s"
        cursor.execute(change, (workspace.workspace,))
    assert await tokens.read("s") is None
    assert "cannot be opened" in caplog.text
    await replace(tokens, '{"n": 1}')
    assert await tokens.read("s") == '{"n": 1}'
