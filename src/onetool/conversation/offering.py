"""Which tools a model is told of, and what its calls of them mean."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from onetool.domain.call import Meta, ToolCall, ToolResult
from onetool.domain.caller import Caller
from onetool.domain.chat import Offer
from onetool.domain.errors import Reason
from onetool.domain.help_text import found_text, nothing_text
from onetool.domain.json_text import encode
from onetool.domain.tool import ToolSpec
from onetool.runtime import Runtime

Choice = Literal["all", "search", "auto"]
MOST_TOKENS = 8_000
"""Up to here all tools are offered: their definitions, at four bytes a token."""
MOST_OFFERS = 128
"""As many tools as every provider takes in one request."""
FIND, RUN = "find_tools", "run"
FIND_TEXT = "Find tools by what they do: returns signatures with one line each. Then use them in `run`."
RUN_TEXT = """\
Run Python in which every tool is a function: pack.function(name=value). The last line is the result.
Find tools first with find_tools. Put several calls into one piece of code and return only what you need.
No imports, files or network but through tools."""
MOST_FOUND = 20


class Offering(Protocol):
    """What a model is offered."""

    offers: Sequence[Offer]

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Answer a call of the model."""
        ...


class AllTools:
    """Every tool by itself."""

    def __init__(self, runtime: Runtime, specs: Sequence[ToolSpec]) -> None:
        self._runtime = runtime
        self.offers: Sequence[Offer] = [
            Offer(name=spec.name, description=spec.description, schema=spec.input_schema) for spec in specs
        ]

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Call the tool."""
        return await self._runtime.call(call, caller)


class FindAndRun:
    """Two tools, however many there are behind them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        limit = {"type": "integer", "minimum": 1, "maximum": MOST_FOUND}
        self.offers: Sequence[Offer] = [
            Offer(name=FIND, description=FIND_TEXT, schema=_object(query={"type": "string"}, limit=limit)),
            Offer(name=RUN, description=RUN_TEXT, schema=_object(command={"type": "string"})),
        ]

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Find tools, run code, or call a tool that was named as if it were offered."""
        own = {FIND: self._find, RUN: self._run}.get(call.name)
        return await (own(call, caller) if own else self._runtime.call(call, caller))

    async def _find(self, call: ToolCall, caller: Caller) -> ToolResult:
        query, limit = call.args.get("query"), call.args.get("limit", 5)
        if not isinstance(query, str) or not isinstance(limit, int):
            return failure(call, Reason.BAD_ARGS, f"{FIND} takes a query, and a limit if you like.")
        start = time.monotonic()
        found = await self._runtime.discovery.find(query, caller, min(max(limit, 1), MOST_FOUND))
        return ToolResult(True, _meta(call, start), found_text(found) or nothing_text(query))

    async def _run(self, call: ToolCall, caller: Caller) -> ToolResult:
        command = call.args.get("command")
        if not isinstance(command, str):
            return failure(call, Reason.BAD_ARGS, f"{RUN} takes a command, which is a text.")
        start = time.monotonic()
        result = await self._runtime.run(command, caller)
        meta = _meta(call, start)
        if result.error is not None:
            message = f"{result.printed}{result.error.message}"
            return ToolResult.failure(meta._replace(reason=result.error.reason), result.error.reason, message)
        return ToolResult(True, meta, await self._runtime.text_of(result))


async def offer_tools(runtime: Runtime, caller: Caller, choice: Choice) -> Offering:
    """Return what this caller's model is offered."""
    if choice == "search":
        return FindAndRun(runtime)
    everything = AllTools(runtime, await runtime.catalog.specs(caller))
    is_small = len(everything.offers) <= MOST_OFFERS and _tokens(everything.offers) < MOST_TOKENS
    if choice == "all" or is_small:
        return everything
    return FindAndRun(runtime)


def failure(call: ToolCall, reason: Reason, message: str) -> ToolResult:
    """The result of a call that was not made."""
    return ToolResult.failure(Meta(call.name, call.id, 0.0, reason=reason), reason, message)


def _meta(call: ToolCall, start: float) -> Meta:
    return Meta(call.name, call.id, round((time.monotonic() - start) * 1000, 3))


def _tokens(offers: Sequence[Offer]) -> int:
    return sum(len(offer.name) + len(offer.description) + len(encode(offer.schema)) for offer in offers) // 4


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [next(iter(properties))]}
