"""`onetool ask` as a process, optionally on a terminal, and the models that it talks to."""

import json
import os
import re
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from onetool.domain.tools.wire_names import names_by_wire, wire_names
from onetool.testing import RecordedRequest, ScriptedLLM, StubResponse
from support.onetool_process import onetool, start_onetool
from support.screen import render_screen
from support.user_home import Home
from support.waiting import HANG_S

ANSWER_FIELDS = {
    *("answer", "stop", "toolCalls", "toolResults", "toolError", "sessionContextUpdated"),
    *("session", "provider", "model", "tokens", "cost", "error"),
}


def ask(question: str, *options: str, provider: str = "fake", status: int = 0) -> dict[str, Any]:
    """Run `onetool ask` and return its JSON output, which has the same fields on success and on failure."""
    done = onetool("ask", question, "--provider", provider, *options)
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr or done.stdout
    answer: dict[str, Any] = json.loads(done.stdout)
    assert set(answer) == ANSWER_FIELDS
    assert bool(answer["error"]) == bool(status)
    planned = [(call["id"], call["name"]) for call in answer["toolCalls"]]
    assert planned == [(result["meta"]["callId"], result["meta"]["tool"]) for result in answer["toolResults"]]
    return answer


def ask_script(home: Home, turns: Sequence[dict[str, Any]], *options: str, status: int = 0) -> dict[str, Any]:
    """Ask the offline scripted model, which starts faster than a client of a model server."""
    script = home.write("script.yaml", json.dumps(turns))
    return ask("Go.", *options, "--model", str(script), provider="scripted", status=status)


@contextmanager
def serve_model(
    home: Home, *turns: dict[str, Any], settings: dict[str, Any] | None = None, **fields: Any
) -> Iterator[ScriptedLLM]:
    """Serve a scripted model as the provider `fake`.

    `fields` are added to the provider, `settings` to `onetool.yaml`.
    """
    with ScriptedLLM(turns) as llm:
        providers = {"fake": {"base_url": llm.base_url, "model": "m", **fields}}
        home.write("onetool.yaml", json.dumps({"providers": providers, **(settings or {})}))
        yield llm


class CountingLLM(ScriptedLLM):
    """A scripted model that reports ten input and two output tokens for each response."""

    def _turn(self, request: RecordedRequest) -> StubResponse:
        response = super()._turn(request)
        body = response.body if isinstance(response.body, str) else json.dumps(response.body)
        for field, count in (("prompt_tokens", 10), ("completion_tokens", 2)):
            body = body.replace(f'"{field}": 0', f'"{field}": {count}')
        return StubResponse(body, headers=response.headers)


def offered_tools(request: dict[str, Any]) -> list[str]:
    """Return the wire names of the tools in a request to a model."""
    return [tool["function"]["name"] for tool in request.get("tools", ())]


def decode_names(wire: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the tool names for wire names, given all candidate names."""
    by_wire = names_by_wire(wire_names(names))
    return [by_wire[name] for name in wire]


def message_texts(request: dict[str, Any], role: str = "tool") -> list[str]:
    """Return the texts of the messages with one role, oldest first."""
    return [message["content"] for message in request["messages"] if message["role"] == role]


def call_outcomes(answer: dict[str, Any]) -> list[Any]:
    """Return the data of each successful call, and the code and reason of each failed one."""
    return [
        result["data"] if result["ok"] else (result["error"]["code"], result["meta"]["reason"])
        for result in answer["toolResults"]
    ]


def read_lines(file: Path) -> list[str]:
    """Return the lines of a file, or none if it does not exist."""
    return file.read_text().splitlines() if file.exists() else []


class Terminal:
    """A command on a pseudo-terminal, with its output and a way to type."""

    def __init__(self, *words: str) -> None:
        import pty  # missing on Windows

        self._master, slave = pty.openpty()
        env = {**os.environ, "COLUMNS": "110", "TERM": "xterm-256color"}
        self._child = start_onetool(*words, stdin=slave, stdout=slave, stderr=slave, env=env)
        os.close(slave)
        self.output = self._raw = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.wait()
        os.close(self._master)

    @property
    def screen(self) -> str:
        """What is visible, without what was overwritten or erased."""
        return render_screen(self._raw)

    def type(self, text: str) -> None:
        """Send keystrokes."""
        os.write(self._master, text.encode())

    def wait_for(self, pattern: str) -> None:
        """Read until the output matches a pattern."""
        end = time.monotonic() + HANG_S
        while not re.search(pattern, self.output):
            assert self._read(end), f"{pattern!r} is not in {self.output!r}"

    def read_available(self) -> None:
        """Read what was printed so far, to verify that something is not printed."""
        while self._read(time.monotonic()):
            pass

    def wait_for_exit(self) -> int:
        """Read the remaining output and return the exit code."""
        end = time.monotonic() + HANG_S
        while self._read(end):
            pass
        return self._child.wait(HANG_S)

    def _read(self, end: float) -> bool:
        if not select.select([self._master], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            block = os.read(self._master, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            return False
        self._raw += block
        self.output += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", block)
        return bool(block)
