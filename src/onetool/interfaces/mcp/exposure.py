"""Three ways to expose tools to an MCP client: one tool that runs code, two that search and call, or all."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from onetool.domain.calls.caller import Caller
from onetool.domain.code.sandbox import IMPORTABLE_MODULES
from onetool.domain.servers.uris import namespaced_fields
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.tools.tool import Tool
from onetool.domain.tools.wire_names import names_by_wire, wire_names
from onetool.runtime.outcomes import Outcome
from onetool.runtime.runtime import Runtime

from .replies import WAIT_BY_NAME, CallReply, PreparedCall, prepare_call, prepare_run, render_outcome

RUN = f"""\
Run Python in which every tool is a function: pack.function(name=value). The last line is the result.
Find tools with ot.find(query="what you need"), read one with ot.help(query="pack.function").
Put several calls into one command and return only what you need. Files and network only through tools.
Give absolute paths: servers do not know your working directory.
Import only {", ".join(IMPORTABLE_MODULES)}.
No classes with bases, no yield, no del. A large result comes as a handle: ot.result(handle="...")."""
FIND = "Find tools by what they do: returns signatures with one line each. Then call one with call_tool."
CALL = "Call a tool by its name, with arguments by name, as find_tools shows them."
PAGE_SIZE = 200


class ListedTool(NamedTuple):
    """A tool in the listing of a client."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    read_only: bool = False
    open_world: bool = True
    """Whether it may reach things outside OneTool."""
    title: str = ""
    definition: Mapping[str, Any] | None = None
    """The definition of an MCP server, which is listed as it is, under another name."""


class Exposure(Protocol):
    """Lists and calls the tools that a client sees."""

    async def page(self, cursor: str | None, caller: Caller) -> tuple[list[ListedTool], str | None]:
        """Return a page of tools that starts at an opaque cursor, and the next cursor."""
        ...

    async def prepare(self, name: str, args: Mapping[str, Any], caller: Caller) -> PreparedCall | CallReply:
        """Prepare a call of one of the listed tools. A reply says why it cannot be called."""
        ...

    async def render(self, tool: str, outcome: Outcome) -> CallReply:
        """Return what the client gets of the outcome of a call."""
        ...


class RenderForModels:
    """Renders outcomes for clients whose models read them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def render(self, tool: str, outcome: Outcome) -> CallReply:
        """Return texts, shortened if they are long, and media."""
        return await render_outcome(self._runtime, tool, outcome)


class ExposeRun(RenderForModels):
    """Exposes a single tool that runs code."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._tool = ListedTool("run", RUN, _object_schema(command={"type": "string"}))

    async def page(self, cursor: str | None, caller: Caller) -> tuple[list[ListedTool], str | None]:
        """Return the `run` tool."""
        return [self._tool], None

    async def prepare(self, name: str, args: Mapping[str, Any], caller: Caller) -> PreparedCall | CallReply:
        """Prepare the code in `command`."""
        command = args.get("command")
        if name != "run" or not isinstance(command, str):
            return (
                _not_found(name, ["run"])
                if name != "run"
                else CallReply("Error: command must be a string.", True)
            )
        return prepare_run(self._runtime, command)


class ExposeSearch(RenderForModels):
    """Exposes `find_tools` and `call_tool`, for models that should not write code."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        limit = {"type": "integer", "minimum": 1, "maximum": 20}
        self._tools = [
            ListedTool(
                "find_tools",
                FIND,
                _object_schema(("query",), query={"type": "string"}, limit=limit),
                read_only=True,
                open_world=False,
            ),
            ListedTool(
                "call_tool", CALL, _object_schema(("name",), name={"type": "string"}, args={"type": "object"})
            ),
        ]

    async def page(self, cursor: str | None, caller: Caller) -> tuple[list[ListedTool], str | None]:
        """Return both tools."""
        return self._tools, None

    async def prepare(self, name: str, args: Mapping[str, Any], caller: Caller) -> PreparedCall | CallReply:
        """Prepare a search for tools, or a call by name."""
        if name == "find_tools":
            return prepare_call(self._runtime, "ot.find", args)
        if name != "call_tool":
            return _not_found(name, ["find_tools", "call_tool"])
        tool, tool_args = args.get("name"), args.get("args", {})
        if not isinstance(tool, str) or not isinstance(tool_args, Mapping):
            return CallReply('Error: call_tool requires {"name": "pack.function", "args": {...}}.', True)
        return prepare_call(self._runtime, tool, tool_args, WAIT_BY_NAME)


class ExposeAll(RenderForModels):
    """Exposes every tool under a name that all clients accept."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._cache: tuple[Any, dict[str, str]] = (None, {})
        """Key of a catalog state, and the tool names by wire name in that state."""

    async def page(self, cursor: str | None, caller: Caller) -> tuple[list[ListedTool], str | None]:
        """Return the tools that the caller may call."""
        names = await self._wire_names(caller)
        listed = list[ListedTool]()
        while len(listed) < PAGE_SIZE:
            page = await self._runtime.state.catalog.page(cursor, PAGE_SIZE)
            visible = [tool for tool in page.items if tool.spec.name in names]
            listed += [_listed_tool(tool, names[tool.spec.name]) for tool in visible]
            cursor = page.next
            if cursor is None:
                break
        return listed, cursor

    async def prepare(self, name: str, args: Mapping[str, Any], caller: Caller) -> PreparedCall | CallReply:
        """Prepare a call by wire name. Tools are listed again only if they may have changed."""
        catalog = self._runtime.state.catalog  # a reload replaces it
        state = (catalog, await catalog.generation(), caller.allowed)
        if state != self._cache[0] or name not in self._cache[1]:
            self._cache = (state, names_by_wire(await self._wire_names(caller)))
        names = self._cache[1]
        return prepare_call(self._runtime, names[name], args) if name in names else _not_found(name, names)

    async def _wire_names(self, caller: Caller) -> dict[str, str]:
        specs = await self._runtime.state.catalog.specs(caller)
        return wire_names([spec.name for spec in specs])


EXPOSURES: Mapping[str, type[ExposeRun] | type[ExposeSearch] | type[ExposeAll]] = {
    "run": ExposeRun,
    "search": ExposeSearch,
    "all": ExposeAll,
}


def _listed_tool(tool: Tool, wire_name: str) -> ListedTool:
    spec = tool.spec
    return ListedTool(
        wire_name,
        spec.description,
        spec.input_schema,
        spec.read_only,
        title=spec.title,
        definition=namespaced_fields(tool.definition, spec.pack) if tool.definition else None,
    )


def _object_schema(required: tuple[str, ...] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required or properties)}


def _not_found(name: str, names: Any) -> CallReply:
    return CallReply(f"Error: Tool not found: {name!r}.{did_you_mean(name, list(names))}", True)
