"""Do tasks with a chat model, through the ask loop of OneTool."""

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.agents.checks import passes
from benchmarks.agents.home import temporary_home
from benchmarks.agents.mcp_client import AgentClient, open_client
from benchmarks.agents.servers import Entries
from benchmarks.agents.tasks import Task
from benchmarks.agents.transcript import CallRecord, Figures, Transcript
from benchmarks.token_counts import Tokenizer
from onetool.bootstrap import open_runtime
from onetool.conversation.conversation import AskRequest
from onetool.conversation.lifespan import open_conversation
from onetool.conversation.result import AskResult
from onetool.domain.calls.call import CallMeta, ToolCall, ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.chat.messages import Message, ToolDefinition
from onetool.domain.chat.transcript import replay
from onetool.domain.errors import Reason
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.settings.schema import PromptSettings

MAX_TOOL_TURNS = 20
SESSION = "task"


class McpToolset:
    """The tools of an MCP client as the toolset of a conversation."""

    def __init__(self, client: AgentClient) -> None:
        self._client = client
        self.definitions: Sequence[ToolDefinition] = client.definitions

    async def call(self, call: ToolCall, caller: Caller) -> ToolResult:
        """Call a tool of the client."""
        reply = await self._client.call_tool(call.name, call.args)
        meta = CallMeta(call.name, call.id, 0.0)
        if reply.failed:
            meta = meta._replace(reason=Reason.UPSTREAM)
            return ToolResult.failure(meta, Reason.UPSTREAM, reply.text)
        return ToolResult(True, meta, reply.text)


async def check_provider(provider: str | None, model: str | None) -> None:
    """Check that a chat model is set up.

    Raises:
        SettingsError: It is not.
    """
    async with _open_runtime() as runtime, open_conversation(runtime, SESSION, provider, model, script=model):
        pass


async def run_task(
    task: Task, mode: str, entries: Entries, provider: str | None, model: str | None, tokenizer: Tokenizer
) -> tuple[Transcript, Figures]:
    """Let a model do a task in a fresh home, and check the outcome."""
    with temporary_home(task, entries) as home:
        async with open_client(home, mode) as client, _open_runtime(client.instructions) as runtime:
            result, messages = await _ask(runtime, client, task, provider, model)
        transcript = Transcript(
            task=task.id,
            mode=mode,
            provider=result.provider,
            model=result.model,
            system=client.system,
            tools=client.tools_json,
            prompt=task.prompt,
            root=str(home.root),
            calls=_call_records(messages),
            answer=result.text,
            error=str(result.failure or ""),
        )
        success = passes(task.checks, home.root, result.text)
    return transcript, transcript.figures(success, tokenizer)


async def _ask(
    runtime: Runtime, client: AgentClient, task: Task, provider: str | None, model: str | None
) -> tuple[AskResult, list[Message]]:
    async with open_conversation(runtime, SESSION, provider, model, script=model) as conversation:
        request = AskRequest(text=task.prompt, toolset=McpToolset(client), max_tool_turns=MAX_TOOL_TURNS)
        result = await conversation.ask(request)
    return result, list(replay(await runtime.sessions.read(SESSION)).messages)


@asynccontextmanager
async def _open_runtime(instructions: str = "") -> AsyncIterator[Runtime]:
    """Open a runtime with the chat models of the user and the instructions of a client, without servers."""
    configuration = load_configuration(find_paths(os.environ, Path.cwd()), os.environ)
    configuration = replace(
        configuration,
        settings=replace(configuration.settings, servers={}),
        prompts=PromptSettings(instructions=instructions),
    )
    async with open_runtime(lambda: configuration, in_memory=True) as runtime:
        yield runtime


def _call_records(messages: list[Message]) -> list[CallRecord]:
    """Return the calls of a conversation with their replies. Calls of one message are one turn."""
    replies = {message.call_id: message for message in messages if message.role == "tool"}
    turns = [message for message in messages if message.calls]
    return [
        CallRecord(
            turn=turn,
            name=request.name,
            args=_arguments(request.arguments_text),
            reply=replies[request.id].text,
            failed=replies[request.id].failed,
        )
        for turn, message in enumerate(turns, 1)
        for request in message.calls
    ]


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
