"""Three ways to present tools to a model: one tool that runs code, two that find and call, or all of them."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from onetool.domain.caller import Caller
from onetool.domain.nearest import did_you_mean
from onetool.domain.tool import ToolSpec
from onetool.domain.wire_names import names_by_wire, wire_names
from onetool.runtime import Runtime

RUN = """\
Run Python in which every tool is a function: pack.function(name=value). The last line is the result.
Find tools with ot.find(query="what you need"), read one with ot.help(query="pack.function").
Put several calls into one command and return only what you need. No imports, files or network but through
tools; no classes with bases, no yield, no del. A large result comes as a handle: ot.result(handle="...")."""
FIND = "Find tools by what they do: returns signatures with one line each. Then call one with call_tool."
CALL = "Call a tool by its name, with arguments by name, as find_tools shows them."
PAGE = 200


class Shown(NamedTuple):
    """A tool as a client sees it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    read_only: bool | None = None


class Said(NamedTuple):
    """What a call answers: one text, and whether it tells of a failure."""

    text: str
    is_error: bool


class Presentation(Protocol):
    """What a client lists, and what its calls mean."""

    async def page(self, cursor: str | None, caller: Caller) -> tuple[list[Shown], str | None]:
        """Return tools from an opaque cursor on, and the next cursor."""
        ...

    async def call(self, name: str, args: Mapping[str, Any], caller: Caller) -> Said:
        """Answer a call of one of these tools."""
        ...


class RunCode:
    """One tool, however many there are behind it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._shown = Shown("run", RUN, _object(command={"type": "string"}))

    async def page(self, cursor: str | None, caller: Caller) -> tuple[list[Shown], str | None]:
        """Return the one tool."""
        return [self._shown], None

    async def call(self, name: str, args: Mapping[str, Any], caller: Caller) -> Said:
        """Run code."""
        command = args.get("command")
        if name != "run" or not isinstance(command, str):
            return _unknown(name, ["run"]) if name != "run" else Said("Error: command must be a text.", True)
        result = await self._runtime.run(command, caller)
        return Said(await self._runtime.text_of(result), not result.ok)


class FindAndCall:
    """Two tools, for models that should not write code."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        limit = {"type": "integer", "minimum": 1, "maximum": 20}
        self._shown = [
            Shown(
                "find_tools", FIND, _object(("query",), query={"type": "string"}, limit=limit), read_only=True
            ),
            Shown("call_tool", CALL, _object(("name",), name={"type": "string"}, args={"type": "object"})),
        ]

    async def page(self, cursor: str | None, caller: Caller) -> tuple[list[Shown], str | None]:
        """Return both."""
        return self._shown, None

    async def call(self, name: str, args: Mapping[str, Any], caller: Caller) -> Said:
        """Find, or call what was found."""
        if name == "find_tools":
            return await answer(self._runtime, "ot.find", args, caller)
        if name != "call_tool":
            return _unknown(name, ["find_tools", "call_tool"])
        wanted, given = args.get("name"), args.get("args", {})
        if not isinstance(wanted, str) or not isinstance(given, Mapping):
            return Said('Error: call_tool takes {"name": "pack.function", "args": {...}}.', True)
        return await answer(self._runtime, wanted, given, caller)


class Everything:
    """Every tool by itself, under a name that every client takes."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known: tuple[Any, dict[str, str]] = (None, {})
        """A state of the catalog, and its tools by their names on the wire."""

    async def page(self, cursor: str | None, caller: Caller) -> tuple[list[Shown], str | None]:
        """Return tools that this caller may call."""
        names = await self._names(caller)
        shown = list[Shown]()
        while len(shown) < PAGE:
            page = await self._runtime.catalog.page(cursor, PAGE)
            visible = [tool.spec for tool in page.items if tool.spec.name in names]
            shown += [_shown(spec, names[spec.name]) for spec in visible]
            cursor = page.next
            if cursor is None:
                break
        return shown, cursor

    async def call(self, name: str, args: Mapping[str, Any], caller: Caller) -> Said:
        """Call the tool that a name on the wire stands for; all are listed only where they may have moved."""
        catalog = self._runtime.catalog  # a reload brings another
        state = (catalog, await catalog.state(), caller.allowed)
        if state != self._known[0] or name not in self._known[1]:
            self._known = (state, names_by_wire(await self._names(caller)))
        names = self._known[1]
        return (
            await answer(self._runtime, names[name], args, caller) if name in names else _unknown(name, names)
        )

    async def _names(self, caller: Caller) -> dict[str, str]:
        specs = await self._runtime.catalog.specs(caller)
        return wire_names([spec.name for spec in specs])


PRESENTATIONS: Mapping[str, type[RunCode] | type[FindAndCall] | type[Everything]] = {
    "run": RunCode,
    "search": FindAndCall,
    "all": Everything,
}


async def answer(runtime: Runtime, name: str, args: Mapping[str, Any], caller: Caller) -> Said:
    """Call a tool and say what came of it, in a text that is not too long for a model."""
    result = await runtime.call(runtime.new_call(name, args, "mcp"), caller)
    if result.error is not None:
        return Said(f"Error: {result.error.message.removeprefix('Error: ')}", True)
    return Said(await runtime.text_of_data(result.data, name), False)


def _shown(spec: ToolSpec, wire: str) -> Shown:
    return Shown(wire, spec.description, spec.input_schema, read_only=not spec.changes)


def _object(required: tuple[str, ...] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required or properties)}


def _unknown(name: str, known: Any) -> Said:
    return Said(f"Error: there is no tool {name!r}.{did_you_mean(name, list(known))}", True)
