"""The MCP client of a task: what it shows a model, and the calls of the model."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from benchmarks.agents.home import AgentHome
from onetool.conversation.system_prompt import system_text
from onetool.domain.chat.messages import ToolDefinition
from onetool.settings.schema import PromptSettings

EXPOSE: Mapping[str, str] = {"run": "run", "search": "search", "native": "all"}
"""The value of `expose` for each mode."""


class ToolReply(NamedTuple):
    """What the model gets back from a call."""

    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class AgentClient:
    """A connection to `onetool mcp`."""

    client: Client
    definitions: list[ToolDefinition]
    instructions: str
    """What the client tells the model besides its own rules."""

    @property
    def system(self) -> str:
        """The system message."""
        return system_text(PromptSettings(instructions=self.instructions), self.definitions)

    @property
    def tools_json(self) -> str:
        """The tools as a model sees them."""
        return tools_json(self.definitions)

    async def call_tool(self, name: str, args: Mapping[str, Any]) -> ToolReply:
        """Call one of the listed tools."""
        if name not in {tool.name for tool in self.definitions}:
            return ToolReply(f"Error: There is no tool {name!r}.", True)
        result = await self.client.call_tool(name, dict(args))
        return ToolReply("\n".join(map(_part_text, result.content)), bool(result.is_error))


def tools_json(definitions: list[ToolDefinition]) -> str:
    """Return definitions as JSON: name, description and parameters, as providers get them."""
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.schema}
        for tool in definitions
    ]
    return json.dumps(tools, ensure_ascii=False, separators=(",", ":"))


@asynccontextmanager
async def open_client(home: AgentHome, mode: str) -> AsyncIterator[AgentClient]:
    """Start `onetool mcp` in a home, and list its tools."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "onetool", "mcp", "--expose", EXPOSE[mode]],
        env=home.env,
        cwd=home.work,
    )
    async with Client(stdio_client(server)) as client:
        page = await client.list_tools()
        tools = list(page.tools)
        while page.next_cursor:
            page = await client.list_tools(cursor=page.next_cursor)
            tools += page.tools
        definitions = [
            ToolDefinition(name=tool.name, description=tool.description or "", schema=tool.input_schema)
            for tool in tools
        ]
        folder = f"The working directory of the user is {home.work}."
        yield AgentClient(client, definitions, f"{client.instructions or ''}\n{folder}".strip())


def _part_text(part: Any) -> str:
    if part.type == "text":
        return str(part.text)
    return json.dumps(part.model_dump(mode="json", by_alias=True, exclude_none=True))[:200]
