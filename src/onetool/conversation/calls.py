"""The calls of one turn: in their order, together where the tools allow it, known results used again."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from onetool.catalog.catalog import Resolved
from onetool.domain.call import Meta, ToolCall, ToolResult
from onetool.domain.caller import Caller
from onetool.domain.chat import Message, ToolCallRequest
from onetool.domain.errors import Reason, ToolNotFound
from onetool.domain.json_text import is_json
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
    tool: Resolved | None

    @property
    def is_parallel(self) -> bool:
        return self.tool is not None and self.tool.tool.spec.parallel


class Calls:
    """Makes the calls that a model asks for."""

    def __init__(self, runtime: Runtime, offering: Offering, caller: Caller, tell: Tell) -> None:
        self._runtime, self._offering, self._caller, self._tell = runtime, offering, caller, tell

    async def make(self, requests: Sequence[ToolCallRequest], kept: dict[str, Kept]) -> AsyncIterator[Done]:
        """Make all calls of a turn; one that fails keeps none of the others back."""
        planned = [await self._plan(request, number) for number, request in enumerate(requests)]
        for is_parallel, group in groupby(planned, lambda one: one.is_parallel):
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
        return _Planned(request, call, problem, await self._resolve(request.name))

    async def _resolve(self, name: str) -> Resolved | None:
        try:
            return await self._runtime.catalog.resolve(name, self._caller)
        except ToolNotFound:  # said when it is called; a name may also be one of the offering's own
            return None

    async def _make(self, planned: _Planned, kept: dict[str, Kept]) -> Done:
        call, key = planned.call, self._key(planned)
        self._tell(CallStarted(call))
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

    def _key(self, planned: _Planned) -> str:
        """Under which a result may be used again: of a tool that only looks, and that may be called now."""
        if planned.tool is None:
            return ""
        spec, configuration = planned.tool.tool.spec, self._runtime.configuration
        denied = configuration.settings.approval.deny
        if not spec.cacheable or planned.tool.changes or planned.tool.fits(denied):
            return ""
        return call_key(spec.qualified_name, spec.version, planned.call.args, str(configuration.places.cwd))

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
