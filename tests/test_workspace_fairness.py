"""Workspaces of one process: the calls and runs of one of them do not wait for those of another."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from onetool.bootstrap.hosted import CALL_SLOTS, open_hosted, open_workspace
from onetool.bootstrap.hosted_admin import workspace_admin
from onetool.domain import Caller, Reason
from onetool.domain.calls.effect import Effect
from onetool.domain.identity.principal import Principal
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.pipeline.fair_slots import MIN_SHARE
from onetool.settings.configuration import PackDirectory
from onetool.storage.postgres.key_ring import new_key
from support.waiting import until

RING = new_key("fair")
PACK = '''
import asyncio
from pathlib import Path
from onetool.sdk import tool

pack = "probes"


@tool(timeout=600, read_only=True)
async def hold(gate: str) -> str:
    """Wait until a file exists."""
    while not Path(gate).exists():
        await asyncio.sleep(0.01)
    return "held"
'''
ANNA = Principal("anna")
CALLER = Caller(interface="rest", default_effect=Effect.ALLOW, principal=ANNA)


@pytest.fixture
async def hosted(postgres_server, tmp_path):
    """Return the shared parts of a process, and a function that opens a new workspace with limits."""
    (tmp_path / "probes.py").write_text(PACK)
    packs = (PackDirectory(tmp_path, Path.read_bytes),)
    with postgres_server() as url:
        admin = workspace_admin(url, RING)
        admin.create("first")
        async with open_hosted(url, RING, pack_dirs=packs) as parts, AsyncExitStack() as stack:

            async def open_new(**limits):
                slug = f"w{uuid4().hex}"
                await parts.threads.run(admin.create, slug)
                await parts.threads.run(admin.change_limits, slug, limits)
                opened = await stack.enter_async_context(open_workspace(parts, slug))
                await opened.administration.members.put(Member(MemberKind.SERVICE, ANNA.id, Role.CALLER))
                return opened.runtime

            yield parts, open_new


async def test_flood_of_one_workspace_delays_no_call_and_no_run_of_another(hosted, tmp_path):
    parts, open_new = hosted
    gate, flooding, other = tmp_path / "gate", await open_new(), await open_new()
    calls = [
        asyncio.create_task(flooding.call_tool("probes.hold", {"gate": str(gate)}, CALLER, "rest"))
        for _ in range(3 * CALL_SLOTS)
    ]
    await until(lambda: parts.slots.used == CALL_SLOTS)
    for number in range(2 * MIN_SHARE):
        result = await other.call_tool("tools.echo", {"message": str(number)}, CALLER, "rest")
        assert result.data == str(number)
    assert (await other.run("1 + 1", CALLER)).data == 2
    assert parts.slots.used == CALL_SLOTS
    assert not any(task.done() for task in calls)
    gate.touch()
    assert {result.data for result in await asyncio.gather(*calls)} == {"held"}
    assert parts.slots.used == 0


async def test_runs_beyond_the_limit_of_the_workspace_wait_and_say_why_they_did_not_run(hosted, tmp_path):
    parts, open_new = hosted
    runtime, gate = await open_new(concurrent_runs=1), tmp_path / "gate"
    code = f"probes.hold(gate={str(gate)!r})"
    first = asyncio.create_task(runtime.run(code, CALLER))
    await until(lambda: parts.slots.used == 1)
    second = asyncio.create_task(runtime.run("2 + 2", CALLER))
    hurried = Caller(interface="rest", principal=ANNA, deadline=asyncio.get_running_loop().time() + 0.2)
    late = await runtime.run("1 + 1", hurried)
    assert late.error is not None
    assert late.error.reason is Reason.BUSY
    assert late.error.message == (
        "The code did not run: too many runs are in progress. Not more than 1 run at a time. Try again later."
    )
    assert not second.done()
    gate.touch()
    assert ((await first).data, (await second).data) == ("held", 4)
