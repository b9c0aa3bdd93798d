"""Contract suite of reserved sessions and of approvals in them, and several processes in PostgreSQL."""

import asyncio

import pytest

from onetool.domain.chat.transcript import InvalidSession
from onetool.domain.errors import StoreUnavailable
from onetool.domain.identity.principal import Principal, acting_as
from onetool.storage.memory.chats import MemorySessionApprovals, MemorySessionLeases
from onetool.storage.postgres.chats import PostgresSessionApprovals, PostgresSessionLeases
from onetool.storage.postgres.sessions import PostgresSessions
from onetool.threads import Threads
from support.waiting import HANG_S

HOSTILE = ["", "../x", "a/b", "\0", "a\0b", "x" * 101, "\ud800"]
TITLE = {"type": "title", "title": "T"}
BEN = Principal("ben")


def user(text):
    return {"type": "message", "ask": "1", "at": 1.0, "role": "user", "text": text}


@pytest.fixture(params=["memory", "postgres"])
def leases(request):
    if request.param == "memory":
        return MemorySessionLeases()
    return PostgresSessionLeases(request.getfixturevalue("workspace"), Threads(), "here")


@pytest.fixture(params=["memory", "postgres"])
async def approvals(request):
    if request.param == "memory":
        return MemorySessionApprovals()
    workspace = request.getfixturevalue("workspace")
    sessions = PostgresSessions(workspace, Threads())
    for session in ("one", "two"):
        await sessions.append(session, [user("x")])
        with acting_as(BEN):
            await sessions.append(session, [user("x")])
    return PostgresSessionApprovals(workspace, Threads())


async def test_a_session_is_reserved_until_it_is_released(leases):
    assert not await leases.is_taken("one")
    assert not await leases.renew("one")
    assert await leases.take("one")
    assert await leases.renew("one")
    assert (await leases.is_taken("one"), await leases.is_taken("two")) == (True, False)
    await leases.release("one")
    await leases.release("one")
    assert (await leases.is_taken("one"), await leases.renew("one")) == (False, False)
    assert await leases.take("one")
    await leases.aclose()


async def test_principals_reserve_sessions_of_their_own(leases):
    assert await leases.take("one")
    with acting_as(BEN):
        assert not await leases.is_taken("one")
        assert not await leases.renew("one")
        await leases.release("one")
    assert await leases.is_taken("one")


@pytest.mark.parametrize("name", HOSTILE)
async def test_names_of_sessions_are_checked(leases, approvals, name):
    for method in (leases.take, leases.renew, leases.release, leases.is_taken):
        with pytest.raises(InvalidSession):
            await method(name)
    for method in (approvals.tools, approvals.discard):
        with pytest.raises(InvalidSession):
            await method(name)


async def test_tools_are_approved_in_one_session_of_one_principal(approvals):
    await approvals.add("one", "demo.a")
    await approvals.add("one", "demo.a")
    await approvals.add("one", "demo.b")
    await approvals.add("two", "demo.c")
    assert await approvals.tools("one") == {"demo.a", "demo.b"}
    with acting_as(BEN):
        assert await approvals.tools("one") == set()
        await approvals.discard("one")
    await approvals.discard("two")
    assert (await approvals.tools("one"), await approvals.tools("two")) == ({"demo.a", "demo.b"}, set())
    await approvals.aclose()


async def test_approvals_are_deleted_with_their_session(workspace):
    sessions, approvals = (
        PostgresSessions(workspace, Threads()),
        PostgresSessionApprovals(workspace, Threads()),
    )
    await approvals.add("one", "demo.a")
    assert await approvals.tools("one") == set()  # there is no such session
    await sessions.append("one", [user("x")])
    await approvals.add("one", "demo.a")
    await sessions.delete("one")
    await sessions.append("one", [user("x")])
    assert await approvals.tools("one") == set()


async def test_sessions_belong_to_their_principal(workspace):
    """The same name is another session."""
    sessions = PostgresSessions(workspace, Threads())
    await sessions.append("one", [user("mine")])
    with acting_as(BEN):
        assert (await sessions.read("one"), (await sessions.page(None, 10)).items) == ([], [])
        assert not await sessions.delete("one")
        await sessions.append("one", [user("his")])
        assert [record["text"] for record in await sessions.read("one")] == ["his"]
        assert await sessions.reap(1e12, keep="one") == 1
    assert await sessions.read("one") == []


async def test_of_several_processes_one_reserves_a_session(workspace):
    processes = [PostgresSessionLeases(workspace, Threads(), f"p{number}") for number in range(16)]
    taken = await asyncio.gather(*(leases.take("one") for leases in processes))
    assert taken.count(True) == 1
    holder = processes[taken.index(True)]
    others = [leases for leases in processes if leases is not holder]
    assert await asyncio.gather(*(leases.renew("one") for leases in others)) == [False] * 15
    await asyncio.gather(*(leases.release("one") for leases in others))
    assert await holder.renew("one")


async def lose(workspace, session="one"):
    """Reserve a session at a process that does not renew it, until another process has it."""
    lost = PostgresSessionLeases(workspace, Threads(), "lost", lease_s=0.01)
    other = PostgresSessionLeases(workspace, Threads(), "other")
    assert await lost.take(session)
    async with asyncio.timeout(HANG_S):
        while not await other.take(session):
            pass
    return lost, other


async def test_a_session_is_free_when_its_lease_has_ended(workspace):
    lost, other = await lose(workspace)
    assert (await lost.renew("one"), await lost.take("one"), await other.renew("one")) == (False, False, True)
    await lost.release("one")
    assert await other.is_taken("one")


async def test_reservations_of_killed_processes_are_deleted_later(workspace):
    sessions = PostgresSessions(workspace, Threads())
    killed = PostgresSessionLeases(workspace, Threads(), "killed")
    for session in ("old", "new"):
        await killed.take(session)
    with workspace.recording() as cursor:
        change = "update chat_leases set lease_until = now() - interval '2 days' where session_id = %s"
        cursor.execute(change, ("old",))
    await sessions.reap(0.0)
    with workspace.reading() as cursor:
        assert cursor.execute("select session_id from chat_leases").fetchall() == [("new",)]


async def test_a_process_that_lost_a_session_cannot_write_messages(workspace):
    here, there = (PostgresSessions(workspace, Threads(), replica=name) for name in ("lost", "other"))
    await here.append("one", [user("a")])
    await lose(workspace)
    with pytest.raises(StoreUnavailable, match="Another process continues session 'one'"):
        await here.append("one", [user("b")])
    await there.append("one", [user("c")])
    await here.append("one", [TITLE])
    records = await here.read("one")
    assert [record.get("text") for record in records] == ["a", "c", None]
