"""The calls of one turn: in their order, together where the tools allow it, known results used again."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Any, NamedTuple

from onetool.domain.call import Meta, ToolCall, ToolResult
from onetool.domain.caller import Caller
from onetool.domain.chat import Message, ToolCallRequest
from onetool.domain.errors import Reason
from onetool.domain.json_text import is_json
from onetool.domain.tool import ToolSpec
from onetool.domain.transcript import Kept, call_key
from onetool.runtime import Runtime

from .answer import CallEnded, CallStarted, Tell
from .offering import Offering, failure

MOST_CALLS = 32
"""Calls of one turn that are made; a model that asks for more is told so."""


class Done(NamedTuple):
    """A call of the model with all that came of it."""

    call: ToolCall
    result: ToolResult
    message: Message
    key: str = ""
    """Under which its result may be used again; nothing: not at all."""


class _Planned(NamedTuple):
    request: ToolCallRequest
    call: ToolCall
    problem: str
    """Why it cannot be made."""
    spec: ToolSpec | None


class Calls:
    """Makes the calls that a model asks for."""

    def __init__(self, runtime: Runtime, offering: Offering, caller: Caller, tell: Tell) -> None:
        self._runtime, self._offering, self._caller, self._tell = runtime, offering, caller, tell

    async def make(self, requests: Sequence[ToolCallRequest], kept: dict[str, Kept]) -> AsyncIterator[Done]:
        """Make all calls of a turn; one that fails keeps none of the others back."""
        planned = [await self._plan(request, number) for number, request in enumerate(requests)]
        for is_parallel, group in groupby(planned, lambda one: one.spec is not None and one.spec.parallel):
            if is_parallel:
                for done in await asyncio.gather(*(self._make(one, kept) for one in group)):
                    yield done
            else:
                for one in group:
                    yield await self._make(one, kept)

    async def _plan(self, request: ToolCallRequest, number: int) -> _Planned:
        args, problem = _arguments(request)
        if number >= MOST_CALLS:
            problem = f"more than {MOST_CALLS} calls in one turn: ask for the others in the next."
        call = ToolCall(id=request.id, name=request.name, args=args, source="ask")
        tool = await self._runtime.catalog.find(request.name)
        return _Planned(request, call, problem, tool.spec if tool else None)

    async def _make(self, planned: _Planned, kept: dict[str, Kept]) -> Done:
        call, spec = planned.call, planned.spec
        self._tell(CallStarted(call))
        key = ""
        if spec is not None and self._may_be_kept(spec):
            key = call_key(
                spec.qualified_name, spec.version, call.args, str(self._runtime.configuration.places.cwd)
            )
        if planned.problem:
            result = failure(call, Reason.BAD_ARGS, planned.problem)
        elif key in kept:
            result = ToolResult(True, Meta(call.name, call.id, 0.0, cached=True), kept[key].data)
        else:
            result = await self._offering.call(call, self._caller)
        self._tell(CallEnded(call, result))
        text = await self._text(result)
        if key and result.ok:
            kept[key] = Kept(result.data)
        message = Message(role="tool", text=text, call_id=call.id, name=call.name, failed=not result.ok)
        return Done(call, result, message, key if result.ok and not result.meta.cached else "")

    def _may_be_kept(self, spec: ToolSpec) -> bool:
        """Whether a result may be used again: of a tool that only looks, and that may be called now."""
        denied = self._runtime.configuration.settings.approval.deny
        return (
            spec.cacheable
            and not spec.changes
            and self._runtime.catalog.is_visible(spec, self._caller)
            and not any(fnmatchcase(spec.qualified_name, pattern) for pattern in denied)
        )

    async def _text(self, result: ToolResult) -> str:
        """What the model reads: large results as a preview and a handle."""
        if result.error is not None:
            return f"Error: {result.error.message.removeprefix('Error: ')}"
        return await self._runtime.text_of_data(result.data, result.meta.tool)


def _arguments(request: ToolCallRequest) -> tuple[dict[str, Any], str]:
    """What a model wrote as arguments, or what is wrong with them."""
    try:
        args = json.loads(request.arguments_text)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments of {request.name} are not valid JSON: {error}"
    if not isinstance(args, dict) or not is_json(args):
        return {}, f"the arguments of {request.name} must be a JSON object, such as {{}}."
    return args, ""
