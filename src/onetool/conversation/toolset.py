"""The tools that a model sees in a conversation."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from onetool.domain.calls.call import CallMeta, ToolCall, ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.chat.messages import ToolDefinition
from onetool.domain.code.sandbox import IMPORTABLE_MODULES
from onetool.domain.errors import Reason
from onetool.domain.text.json_text import encode
from onetool.domain.tools.help_text import found_text
from onetool.domain.tools.tool import ToolSpec
from onetool.runtime.runtime import Runtime

Choice = Literal["all", "search", "auto"]
MAX_TOKENS = 8_000
"""Maximum size of the definitions, at four bytes per token, for which a model sees all tools."""
MAX_DEFINITIONS = 128
"""Maximum number of tools that every provider accepts in one request."""
FIND, RUN = "find_tools", "run"
FIND_TEXT = "Find tools by what they do. Returns signatures with a one-line description. Call them in `run`."
RUN_TEXT = f"""\
Run Python code in which every tool is a function: pack.function(name=value). The last line is the result.
Find tools with find_tools first. Put several calls into one piece of code and return only what you need.
Files and the network are available only through tools. Import only {", ".join(IMPORTABLE_MODULES)}."""
MAX_MATCHES = 20


class Toolset(Protocol):
    """A set of tools for a model."""

    definitions: Sequence[ToolDefinition]

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Run a call of the model."""
        ...


class AllToolset:
    """Every tool, individually."""

    def __init__(self, runtime: Runtime, specs: Sequence[ToolSpec]) -> None:
        self._runtime, redactor = runtime, runtime.state.redactor
        self.definitions: Sequence[ToolDefinition] = [
            ToolDefinition(
                name=spec.name,
                description=redactor.redact(spec.description),
                schema=redactor.mask(dict(spec.input_schema)),
            )
            for spec in specs
        ]

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Call the tool, under an id of our own: those of models are unique only within a turn."""
        return await self._runtime.call_tool(call.name, call.args, caller, call.source)


class SearchToolset:
    """Two tools, `find_tools` and `run`, that give access to all others."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        limit = {"type": "integer", "minimum": 1, "maximum": MAX_MATCHES}
        self.definitions: Sequence[ToolDefinition] = [
            ToolDefinition(
                name=FIND, description=FIND_TEXT, schema=_object(query={"type": "string"}, limit=limit)
            ),
            ToolDefinition(name=RUN, description=RUN_TEXT, schema=_object(command={"type": "string"})),
        ]

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Find tools or run code. Also accepts direct calls of other tools."""
        handler = {FIND: self._find, RUN: self._run}.get(call.name)
        if handler is not None:
            return await handler(call, caller)
        return await self._runtime.call_tool(call.name, call.args, caller, call.source)

    async def _find(self, call: ToolCall, caller: Caller) -> ToolResult:
        query, limit = call.args.get("query"), call.args.get("limit", 5)
        if not isinstance(query, str) or not isinstance(limit, int):
            return failed_result(
                call, Reason.BAD_ARGS, f"{FIND} requires a string query and accepts an integer limit."
            )
        start = time.monotonic()
        found = await self._runtime.state.search.find(query, caller, min(max(limit, 1), MAX_MATCHES))
        text = self._runtime.state.redactor.redact(found_text(query, found))
        return ToolResult(True, _meta(call, start), text)

    async def _run(self, call: ToolCall, caller: Caller) -> ToolResult:
        command = call.args.get("command")
        if not isinstance(command, str):
            return failed_result(call, Reason.BAD_ARGS, f"{RUN} requires a string command.")
        start = time.monotonic()
        result = await self._runtime.run(command, caller)
        meta = _meta(call, start)
        if result.error is not None:
            error = await self._runtime.state.model_output.render_error(result)
            message = f"{result.printed}{error.text}"
            return ToolResult.failure(meta._replace(reason=result.error.reason), result.error.reason, message)
        text = (await self._runtime.state.model_output.render_run(result)).text
        return ToolResult(True, meta, text, media=result.media)


async def select_toolset(runtime: Runtime, caller: Caller, choice: Choice) -> Toolset:
    """Return the toolset for a caller. `auto` selects all tools if they are few, otherwise search."""
    if choice == "search":
        return SearchToolset(runtime)
    all_tools = AllToolset(
        runtime, [spec for spec in await runtime.state.catalog.specs(caller) if not spec.app_only]
    )
    is_small = len(all_tools.definitions) <= MAX_DEFINITIONS and _tokens(all_tools.definitions) < MAX_TOKENS
    if choice == "all" or is_small:
        return all_tools
    return SearchToolset(runtime)


def failed_result(call: ToolCall, reason: Reason, message: str) -> ToolResult:
    """Return the result of a call that was rejected."""
    return ToolResult.failure(CallMeta(call.name, call.id, 0.0, reason=reason), reason, message)


def _meta(call: ToolCall, start: float) -> CallMeta:
    return CallMeta(call.name, call.id, round((time.monotonic() - start) * 1000, 3))


def _tokens(tools: Sequence[ToolDefinition]) -> int:
    return sum(len(tool.name) + len(tool.description) + len(encode(tool.schema)) for tool in tools) // 4


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [next(iter(properties))]}
