"""What a client receives from a server: directly, and through each MCP interface of OneTool."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml

from fidelity.rules import NAME, namespaced, parameter_name, python_name, words
from fidelity.servers import RealServer, fill
from fidelity.world import World
from support.raw_mcp import LEGACY, RawMcpClient

INTERFACES = ("only", "all", "search", "run")
LISTS = {
    "tools/list": ("tools", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
    "prompts/list": ("prompts", "name"),
}
MAX_READS = 12
"""How many of the listed resources are read."""
PROGRAM = """\
import json
def plain(value):
    if isinstance(value, dict):
        return {{key: plain(item) for key, item in value.items()}}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return {{'media': value.mime_type, 'size': value.size}}
value = None
try:
    value = {call}
    outcome = {{'value': plain(value)}}
except Exception as error:
    outcome = {{'error': str(error)}}
print(json.dumps(outcome))
{last}
"""
"""Code that prints the value of a call, or its error, as JSON, and returns its media."""
Recording = dict[str, Any]
"""A response or a listed definition for each item, such as `tools/call 3 echo`."""


class Direct:
    """Requests to the server itself, which `--only` must answer in the same way."""

    def __init__(self, client: RawMcpClient) -> None:
        self.client = client
        self.handshake = client.initialize()

    def request(self, method: str, **params: Any) -> Any:
        """Return the result of a request, or its error."""
        response = self.client.request(method, **params)
        return response["result"] if "result" in response else {"error": response["error"]}

    def list_all(self, method: str) -> list[Any]:
        """Return all pages of a list; an empty list if the server has no such request."""
        items: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            page = self.request(method, **cursor)
            if "error" in page:
                return items
            items += page[LISTS[method][0]]
            if not page.get("nextCursor"):
                return items
            cursor = {"cursor": page["nextCursor"]}

    def tools(self) -> list[Any]:
        return self.list_all("tools/list")

    def call(self, tool: str, args: Mapping[str, Any], direct: Any) -> Any:
        return self.request("tools/call", name=tool, arguments=args)

    def prompt(self, name: str, args: Mapping[str, str]) -> Any:
        return self.request("prompts/get", name=name, arguments=args)

    def read(self, uri: str) -> Any:
        return self.request("resources/read", uri=uri)


class All(Direct):
    """`expose: all`: every tool under a name that contains the server's."""

    def call(self, tool: str, args: Mapping[str, Any], direct: Any) -> Any:
        return self.request("tools/call", name=f"{NAME}__{python_name(tool)}", arguments=args)

    def prompt(self, name: str, args: Mapping[str, str]) -> Any:
        return self.request("prompts/get", name=f"{NAME}__{python_name(name)}", arguments=args)

    def read(self, uri: str) -> Any:
        return self.request("resources/read", uri=namespaced(uri))


class Search(All):
    """`expose: search`: `call_tool` calls tools, and `ot.tools` describes them."""

    def tools(self) -> list[Any]:
        return described_tools(self)

    def call(self, tool: str, args: Mapping[str, Any], direct: Any) -> Any:
        return self.call_tool(f"{NAME}.{python_name(tool)}", args)

    def call_tool(self, name: str, args: Mapping[str, Any]) -> Any:
        return self.request("tools/call", name="call_tool", arguments={"name": name, "args": args})

    def value(self, name: str, args: Mapping[str, Any]) -> Any:
        """Return the value of a tool of ours, from its text."""
        return yaml.safe_load(self.call_tool(name, args)["content"][0]["text"])


class Run(All):
    """`expose: run`: code calls tools. Its value is recorded as JSON, or as blocks if it has media."""

    def tools(self) -> list[Any]:
        return described_tools(self)

    def call(self, tool: str, args: Mapping[str, Any], direct: Any) -> Any:
        words = [f"{parameter_name(name)}={value!r}" for name, value in args.items()]
        call = f"{NAME}.{python_name(tool)}({', '.join(words)})"
        last = "value" if has_media(direct) else "None"
        result = self.run(PROGRAM.format(call=call, last=last))
        if result.get("isError"):
            return result
        text, *blocks = result["content"]
        return {"outcome": json.loads(text["text"].partition("\n")[0]), "blocks": blocks}

    def value(self, name: str, args: Mapping[str, Any]) -> Any:
        """Return the value of a tool of ours."""
        words = ", ".join(f"{key}={value!r}" for key, value in args.items())
        return json.loads(self.run(f"import json\njson.dumps({name}({words}))")["content"][0]["text"])

    def run(self, code: str) -> Any:
        return self.request("tools/call", name="run", arguments={"command": code})


def described_tools(connection: "Search | Run") -> list[Any]:
    """Return name, description and arguments of all tools, as `ot.tools` shows them."""
    names = connection.value("ot.tools", {"pattern": f"{NAME}.", "info": "list"})
    found = [connection.value("ot.tools", {"pattern": name, "info": "full"}) for name in names]
    tools = [
        next(tool for tool in tools if tool["name"] == name) for name, tools in zip(names, found, strict=True)
    ]
    return [described_tool(tool) for tool in tools]


def described_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return name, description, parameters and their descriptions."""
    args = dict(text.split(": ", 1) for text in tool.get("args", ()))
    return {
        "name": tool["name"],
        "description": words(tool["description"]),
        "parameters": sorted(signature_parameters(tool["signature"])),
        "args": {name: words(text) for name, text in args.items()},
    }


def signature_parameters(signature: str) -> list[str]:
    """Return the names of the parameters in a signature, which are those outside all brackets and quotes."""
    depth, quote, plain = 0, "", ""
    for character in signature.partition("(")[2]:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth < 0:
                break
        elif depth == 0:
            plain += character
    return re.findall(r"(\w+): ", plain)


def has_media(result: Any) -> bool:
    """Return whether a result has blocks that are not text."""
    blocks = result.get("content", [])
    return any("data" in block or "blob" in block.get("resource", {}) for block in blocks)


CONNECTIONS: Mapping[str, type[Direct]] = {
    "direct": Direct,
    "only": Direct,
    "all": All,
    "search": Search,
    "run": Run,
}


@contextmanager
def connect(world: World, server: RealServer, interface: str) -> Iterator[Direct]:
    """Start the server, directly or behind OneTool, with new sample files."""
    world.reset()
    command, env = server.command(world.work), world.env(server)
    if interface != "direct":
        option = ["--only", NAME] if interface == "only" else ["--expose", interface]
        command = [sys.executable, "-m", "onetool", "mcp", *option]
        env = env | world.home.env
    client = RawMcpClient(LEGACY, env, world.work, command)
    try:
        yield CONNECTIONS[interface](client)
    finally:
        client.kill()


def record(world: World, server: RealServer, interface: str, direct: Recording) -> Recording:
    """Return all listings and the responses to the requests of a server.

    Args:
        world: The directories.
        server: The server.
        interface: `direct`, or one of `INTERFACES`.
        direct: What was recorded directly, empty for the first recording.
    """
    found: Recording = {}
    with connect(world, server, interface) as connection:
        if interface in ("direct", "only"):
            handshake = connection.handshake
            found["initialize"] = {key: handshake.get(key) for key in ("capabilities", "instructions")}
        for method, (_, key) in LISTS.items():
            items = connection.tools() if method == "tools/list" else connection.list_all(method)
            if interface == "all":
                items = [item for item in items if NAME in item[key] or NAME.replace("_", "-") in item[key]]
            found |= {f"{method} {item[key]}": item for item in items}
        listed = listed_keys(direct or found, "resources/list")
        for uri in dict.fromkeys([*listed[:MAX_READS], *fill(server.reads, world.work)]):
            found[f"resources/read {uri}"] = connection.read(uri)
        for name, args in [*optional_prompts(direct or found, server), *server.prompts]:
            found[f"prompts/get {name} {json.dumps(args)}"] = connection.prompt(name, args)
        for number, (tool, args) in enumerate(fill(server.calls, world.work), 1):
            item = f"tools/call {number} {tool}"
            found[item] = connection.call(tool, args, direct.get(item, {}))
    return found


def listed_keys(recording: Recording, method: str) -> list[str]:
    """Return the names or URIs in a list."""
    return [item.removeprefix(f"{method} ") for item in recording if item.startswith(f"{method} ")]


def optional_prompts(recording: Recording, server: RealServer) -> list[tuple[str, Mapping[str, str]]]:
    """Return the listed prompts that need no arguments."""
    definitions = [recording[f"prompts/list {name}"] for name in listed_keys(recording, "prompts/list")]
    return [
        (definition["name"], {})
        for definition in definitions
        if not any(argument.get("required") for argument in definition.get("arguments", ()))
    ]
