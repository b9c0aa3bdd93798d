"""Settings without profiles decide as they did before profiles existed: 200 recorded decisions."""

import json
from pathlib import Path

from onetool.domain import Caller
from onetool.domain.calls.caller import never_approve
from onetool.domain.calls.effect import Effect
from onetool.sdk import tool
from onetool.testing import memory_runtime

RECORDED = json.loads((Path(__file__).parent / "data" / "approval_decisions.json").read_text())
"""allow, deny, allowed tools, caller, tool; whether it is listed, whether the user is asked, the reason."""


def read() -> int:
    """Read."""
    return 1


@tool(read_only=False)
def add() -> int:
    """Add."""
    return 2


async def decide(allow, deny, allowed, who, name):
    """Return whether a tool is listed, whether its call asks, and how the call ends."""
    asked = []

    async def approve(request):
        asked.append(request.tool)
        return True

    caller = Caller(
        interface="ask",
        allowed=None if allowed is None else frozenset(allowed),
        default_effect=Effect.ALLOW if who == "user" else Effect.ASK,
        approve=approve if who == "model" else never_approve,
    )
    settings = {"approval": {"allow": allow, "deny": deny}}
    async with memory_runtime({"notes": [read, add], "db": [read, add]}, settings=settings) as ot:
        listed = {spec.name for spec in await ot.runtime.state.catalog.specs(caller)}
        result = await ot.runtime.call_tool(name, {}, caller, "ask")
    return [name in listed, bool(asked), str(result.meta.reason or "ok")]


async def test_recorded_decisions_are_unchanged():
    assert len(RECORDED) == 200
    for *situation, listed, asked, reason in RECORDED:
        assert await decide(*situation) == [listed, asked, reason], situation
