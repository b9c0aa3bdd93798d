"""Approval questions in every interface: what is shown is what runs, and nothing is hidden silently."""

import asyncio
import hashlib
import json
import re
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from itertools import repeat
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from onetool.domain.calls.approval_request import MAX_ARGUMENTS, approval_request, call_digest
from onetool.domain.calls.caller import Caller
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import Tool, ToolSpec
from onetool.interfaces.cli.question_prompt import QuestionPrompt
from onetool.interfaces.mcp.server import create_server
from onetool.interfaces.mcp.transports import http_app
from onetool.sdk import tool
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import ScriptedLLM, memory_runtime
from onetool.testing.scripted_llm import calls, text
from onetool.threads import Threads
from support.adversarial_arguments import ADVERSARIAL_ARGUMENTS, LONG, shown_name
from support.chat_client import read_events
from support.rest_in_process import serve_rest
from support.waiting import HANG_S

SECRET = "hunter2hunter2"


class Recorder:
    """A tool that changes something and records the arguments it was called with."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        calls = self.calls

        @tool(read_only=False)
        def change(**anything: Any) -> str:
            """Change something."""
            calls.append(anything)
            return "changed"

        self.packs = {"demo": [change]}

    def digest(self) -> str:
        """Return the digest of the last call, computed as the documentation says."""
        call = {"args": self.calls[-1], "tool": "demo.change"}
        text = json.dumps(call, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def check_question(text: str, args: dict[str, Any]) -> None:
    """Check that a question has a line for each argument, and states every hidden part."""
    assert all(char.isprintable() or char == "\n" for char in text)
    lines = [line for line in text.split("\n") if line.startswith("  ")]
    for line, (name, value) in zip(lines, args.items(), strict=True):
        assert line.startswith(f"  {shown_name(name)}")
        if json.dumps(name) in line and line.startswith(f"  {json.dumps(name)}: "):
            assert json.loads("{" + line + "}") == {name: value}
        else:
            (hidden,) = re.findall(r'^  ".*?" \(([\d,]+) characters hidden\): ', line)
            assert int(hidden.replace(",", "")) > 0
            assert len(line) < 3_000


class Keyboard:
    """Stdin of a user who types one line after another."""

    def __init__(self, *lines: str) -> None:
        self._lines = iter(lines)

    def readline(self) -> str:
        return next(self._lines)

    def isatty(self) -> bool:
        return False  # nothing can be typed before the question


@asynccontextmanager
async def elicitation_client(recorder, replies):
    """Connect an MCP client whose user replies to questions. Yield the client and the questions."""
    questions = []

    async def elicit(context, params):
        questions.append(params)
        return types.ElicitResult(action="accept", content=next(replies))

    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        ot = await enter(memory_runtime(recorder.packs, settings={"approval": {"mcp": "ask"}}))
        app = await enter(http_app(create_server(ot.runtime, "all")))
        rest = await enter(serve_rest(ot.runtime, mounts={"/mcp": app}))
        transport = streamable_http_client(f"{str(rest.base_url).rstrip('/')}/mcp", http_client=rest)
        yield await enter(Client(transport, elicitation_callback=elicit, mode="legacy")), questions


def event_text(event: dict[str, Any]) -> str:
    """Return the arguments of an approval event as the lines of the other interfaces."""
    return "\n".join(
        f"  {argument['name']}"
        + (f" ({argument['hidden']:,} characters hidden)" if argument["hidden"] else "")
        + f": {argument['value']}"
        for argument in event["arguments"]
    )


@pytest.mark.guards("model-approval")
async def test_terminal_shows_what_runs(monkeypatch, capsys):
    recorder = Recorder()
    monkeypatch.setattr("sys.stdin", Keyboard(*["y\n"] * len(ADVERSARIAL_ARGUMENTS)))
    caller = Caller(interface="ask", approve=QuestionPrompt(Threads(), nullcontext).confirm)
    async with memory_runtime(recorder.packs, caller=caller) as ot:
        for case, args in ADVERSARIAL_ARGUMENTS.items():
            await ot.runtime.call_tool("demo.change", args, caller, "ask")
            shown = capsys.readouterr().err
            check_question(shown, args)
            assert recorder.calls[-1] == args, case
            assert f"Digest: {recorder.digest()[:16]}\nRun demo.change? [y/N" in shown
    assert len(recorder.calls) == len(ADVERSARIAL_ARGUMENTS)


async def test_terminal_shows_hidden_parts_on_request(monkeypatch, capsys):
    recorder = Recorder()
    monkeypatch.setattr("sys.stdin", Keyboard("s\n", "s\n"))
    caller = Caller(interface="ask", approve=QuestionPrompt(Threads(), nullcontext).confirm)
    async with memory_runtime(recorder.packs, caller=caller) as ot:
        await ot.runtime.call_tool("demo.change", {"old": LONG, "new": "x"}, caller, "ask")
    short, complete, end = capsys.readouterr().err.split("Run demo.change? ")
    assert '"old" (4,502 characters hidden): ' in short
    assert f'"old": "{LONG}"\n' in complete
    assert (end, recorder.calls) == ("[y/N]: ", [])  # `s` shows, and does not approve


@pytest.mark.guards("model-approval")
async def test_mcp_elicitation_shows_what_runs():
    recorder = Recorder()
    async with elicitation_client(recorder, repeat({"allow": True})) as (client, questions):
        for case, args in ADVERSARIAL_ARGUMENTS.items():
            if case != "lone surrogate":  # cannot be sent as UTF-8
                await client.call_tool("demo__change", args)
                check_question(questions[-1].message, args)
                assert recorder.calls[-1] == args, case
                assert questions[-1].message.endswith(f"Digest: {recorder.digest()[:16]}")
    assert len(recorder.calls) == len(questions) == len(ADVERSARIAL_ARGUMENTS) - 1


async def test_mcp_elicitation_shows_hidden_parts_on_request():
    recorder = Recorder()
    replies = iter([{"allow": True, "show_everything": True}, {"allow": False, "show_everything": True}])
    async with elicitation_client(recorder, replies) as (client, questions):
        await client.call_tool("demo__change", {"old": LONG, "new": "x"})
    short, complete = questions
    assert '"old" (4,502 characters hidden): ' in short.message
    assert "show_everything" in short.requested_schema["properties"]
    assert f'"old": "{LONG}"\n' in complete.message
    assert "show_everything" not in complete.requested_schema["properties"]
    assert recorder.calls == []


@pytest.mark.guards("model-approval")
async def test_chat_over_rest_shows_what_runs():
    """The event has the short form, and `GET /jobs/{id}/questions/{question}` everything."""
    recorder, questions = Recorder(), []
    turn = calls(*(("demo__change", args) for args in ADVERSARIAL_ARGUMENTS.values()))
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        llm = stack.enter_context(ScriptedLLM([turn, text("Done.")]))
        settings = {"providers": {"fake": {"base_url": llm.base_url, "model": "m"}}}
        ot = await enter(memory_runtime(recorder.packs, settings=settings))
        client = await enter(serve_rest(ot.runtime))
        client.timeout = HANG_S
        body = {"text": "Go.", "provider": "fake", "tools": "all"}
        response = await enter(client.stream("POST", "/chat", json=body))
        async for kind, event in read_events(response):
            if kind == "question":
                url = f"/jobs/{event['job']}/questions/{event['id']}"
                questions.append((event["approval"], (await client.get(url)).json()))
                answer = {"action": "accept", "content": {"allow": True}}
                await client.post(f"/jobs/{event['job']}/answers", json={"answers": {event["id"]: answer}})
            elif kind == "result":
                event, complete = questions[-1]
                args = list(ADVERSARIAL_ARGUMENTS.values())[len(questions) - 1]
                check_question(event_text(event), args)
                assert recorder.calls[-1] == args
                assert event["digest"] == complete["digest"] == recorder.digest()
                shown = [
                    (json.loads(shown["name"]), json.loads(shown["value"])) for shown in complete["arguments"]
                ]
                assert (shown, any(shown["hidden"] for shown in complete["arguments"])) == (
                    list(args.items()),
                    False,
                )
        assert (await client.get(url)).status_code == 404
    assert len(questions) == len(recorder.calls) == len(ADVERSARIAL_ARGUMENTS)


async def test_secrets_are_masked_before_a_question_is_shortened():
    """Otherwise a part of the secret would be shown where the text is cut."""
    shown = []

    async def approve(request):
        shown.extend([request.text(), request.complete_text()])
        return True

    recorder = Recorder()
    caller = Caller(interface="ask", approve=approve)
    async with memory_runtime(recorder.packs, secrets={"KEY": SECRET}) as ot:
        args = {f"{SECRET}": 1, "text": ("x" * 325 + SECRET) * 20}
        await ot.runtime.call_tool("demo.change", args, caller, "ask")
    assert recorder.calls == [args]
    assert [text for text in shown if "hunter" in text] == []
    assert all('"[secret]": 1' in text for text in shown)


async def test_credentials_that_the_call_used_are_masked_in_a_question():
    """For example a token that a server issued to the tool that makes this call."""
    shown, credentials = [], CredentialSet()
    credentials.add("issued-token-4711")

    async def approve(request):
        shown.append(request.text())
        return False

    async with memory_runtime(Recorder().packs) as ot:
        caller = Caller(interface="ask", approve=approve, credentials=credentials)
        await ot.runtime.call_tool("demo.change", {"token": "issued-token-4711"}, caller, "sdk")
    assert '"token": "[secret]"' in shown[0]


async def test_request_shows_no_secret_in_its_repr():
    """An error message or a log record may contain it."""
    request = approval_request("demo.change", {"key": SECRET}, lambda value: "[secret]")
    assert SECRET not in repr(request)


@pytest.mark.guards("model-approval")
async def test_arguments_that_change_after_the_question_do_not_run():
    """A pack that calls another tool keeps a reference to the arguments."""
    recorder = Recorder()
    args: dict[str, Any] = {"path": ["harmless"]}

    async def approve(request):
        args["path"].append("harmful")
        return True

    async with memory_runtime(recorder.packs) as ot:
        await ot.runtime.call_tool("demo.change", args, Caller(interface="ask", approve=approve), "sdk")
    assert recorder.calls == [{"path": ["harmless"]}]


async def test_question_and_digest_name_the_version_of_a_stored_tool():
    """A person who approves one version has not approved another one."""
    asked = []

    async def run(args, invocation):
        return "done"

    async def approve(request):
        asked.append(request)
        return True

    definition = {"description": "x", "input_schema": {"type": "object"}, "read_only": False}
    stored = Tool(ToolSpec(name="demo.change", version="1.0.0", **definition), run)
    registry = Registry()
    registry.register(stored)
    async with memory_runtime(sources=[SnapshotSource(StaticReader("stored", registry))]) as ot:
        caller = Caller(interface="ask", approve=approve)
        assert (await ot.runtime.call_tool("demo.change", {}, caller, "ask")).ok
    (request,) = asked
    assert request.tool == "demo.change@1.0.0"
    assert request.text().startswith("demo.change@1.0.0 is not read-only.")
    assert request.digest == call_digest("demo.change@1.0.0", {}) != call_digest("demo.change", {})


async def test_call_with_too_many_arguments_is_denied_without_a_question():
    recorder, asked = Recorder(), []

    async def approve(request):
        asked.append(request)
        return True

    args = {f"a{number}": number for number in range(MAX_ARGUMENTS + 1)}
    async with memory_runtime(recorder.packs) as ot:
        caller = Caller(interface="ask", approve=approve)
        result = await ot.runtime.call_tool("demo.change", args, caller, "ask")
    assert (asked, recorder.calls) == ([], [])
    assert "no person can check 10,001 arguments. At most 10,000 can be approved." in result.error.message


async def test_question_without_a_decision_is_denied_after_the_timeout():
    recorder = Recorder()
    asked = []

    async def approve(request):
        asked.append(request.tool)
        await asyncio.Event().wait()

    settings = {"approval": {"timeout_s": 1}}
    async with memory_runtime(recorder.packs, settings=settings) as ot:
        result = await ot.runtime.call_tool(
            "demo.change", {}, Caller(interface="ask", approve=approve), "ask"
        )
    assert (asked, recorder.calls) == (["demo.change"], [])
    assert result.error.message.startswith("demo.change is not read-only and was not approved within 1 s.")


async def test_pending_questions_do_not_occupy_slots():
    """Others can call tools while a user thinks."""
    recorder = Recorder()
    asked = asyncio.Event()

    async def approve(request):
        asked.set()
        await asyncio.Event().wait()

    async with memory_runtime(recorder.packs, settings={"execution": {"max_concurrent": 1}}) as ot:
        caller = Caller(interface="ask", approve=approve)
        waiting = asyncio.ensure_future(ot.runtime.call_tool("demo.change", {}, caller, "ask"))
        await asked.wait()
        assert (await ot.call("tools.echo", message="hi")).data == "hi"
        waiting.cancel()
