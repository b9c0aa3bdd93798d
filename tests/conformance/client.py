"""OneTool as the client of the conformance suite: `client.py URL`, started by `client_suite.py`.

It uses the server of a scenario as any other one: log in if necessary, list the tools, and call each of them.
"""

import asyncio
import json
import os
import sys
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from onetool.bootstrap import open_runtime
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.calls.question import Answer, Asker, Question
from onetool.domain.errors import LoginFailed
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.sources.mcp_servers import McpServerSource

EXAMPLES: Mapping[str, Any] = {"integer": 5, "number": 5, "boolean": True, "array": [], "object": {}}
MAX_LOGINS = 2
CAPABILITIES = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


async def answer(question: Question) -> Answer:
    """Accept every question: a form with its default values."""
    if question.kind == "roots":
        return Answer("accept", {"roots": []})
    if question.kind == "sampling":
        content = {"type": "text", "text": "Yes."}
        return Answer("accept", {"role": "assistant", "content": content, "model": "none"})
    return Answer("accept", example(question.schema, with_optional=True))


def example(schema: Mapping[str, Any], *, with_optional: bool = False) -> dict[str, Any]:
    """Return arguments that fit a schema: defaults, or a value of each type."""
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    return {
        name: field.get("default", EXAMPLES.get(field.get("type"), "text"))
        for name, field in properties.items()
        if isinstance(field, Mapping) and (name in required or (with_optional and "default" in field))
    }


def open_browser(url: str) -> bool:
    """Open a page as a browser would: the suite logs in without a user, and redirects to OneTool."""
    with urllib.request.urlopen(url, timeout=10) as response:
        response.read()
    return True


async def log_in(source: McpServerSource) -> bool:
    """Log in with a browser, if the server has a login. Return whether it succeeded."""
    try:
        await source.login(print, open_browser)
    except LoginFailed as error:
        print(f"login failed: {error}", file=sys.stderr)
        return False
    return True


async def use_server(url: str, folder: Path) -> None:
    """Log in if necessary, list the tools and call them."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    server = {"url": url, "sampling": "ask", "new_tools": "allow"}
    (folder / "config").mkdir()
    (folder / "config" / "onetool.yaml").write_text(yaml.safe_dump({"servers": {"suite": server}}))
    env = {f"ONETOOL_{name.upper()}_DIR": str(folder / name) for name in ("config", "data", "state")}
    read = lambda: load_configuration(find_paths(os.environ | env, folder), {})  # noqa: E731
    async with open_runtime(read) as runtime:
        source = runtime.state.servers["suite"]
        for _ in range(MAX_LOGINS):  # as a user does, who is told to log in
            if await source.probe(10.0) or not await log_in(source):
                break
        caller = Caller(interface="test", default_effect=Effect.ALLOW, asker=Asker(answer, CAPABILITIES))
        tools = await source.pack("suite")
        calls = {tool.spec.name: example(tool.spec.input_schema) for tool in tools}
        for name, args in calls.items():
            if (
                "schema" in args
            ):  # a scenario compares the definition of its other tool with what arrived here
                args["schema"] = next(tool.spec.input_schema for tool in tools if tool.spec.name != name)
        wanted = [
            (f"suite.{call['name']}", call.get("arguments", {})) for call in context.get("toolCalls", ())
        ]
        for name, args in wanted or calls.items():
            result = await runtime.call_tool(name, args, caller, "mcp")
            if not result.ok and "login" in str(result.error) and await log_in(source):  # as a user would
                result = await runtime.call_tool(name, args, caller, "mcp")
            print(name, "ok" if result.ok else result.error, file=sys.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(use_server(sys.argv[-1], Path(folder)))
