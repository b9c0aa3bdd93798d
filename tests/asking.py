"""`onetool ask` in a process of its own, on a terminal too, and the models that it asks."""

import json
import os
import pty
import re
import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from commands import onetool, start_command
from homes import Home
from onetool.domain.wire_names import names_by_wire, wire_names
from onetool.testing import Reply, Request, ScriptedLLM

MEMBERS = {
    *("answer", "stop", "toolCalls", "toolResults", "toolError", "sessionContextUpdated"),
    *("session", "provider", "model", "tokens", "cost", "error"),
}
PATIENCE = 30.0


def ask(question: str, *options: str, provider: str = "fake", status: int = 0) -> dict[str, Any]:
    """Ask, and read what was written; the shape is the same whatever happened."""
    done = onetool("ask", question, "--provider", provider, *options)
    assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr or done.stdout
    answer: dict[str, Any] = json.loads(done.stdout)
    assert set(answer) == MEMBERS
    assert bool(answer["error"]) == bool(status)
    planned = [(call["id"], call["name"]) for call in answer["toolCalls"]]
    assert planned == [(it["meta"]["callId"], it["meta"]["tool"]) for it in answer["toolResults"]]
    return answer


def ask_script(home: Home, turns: Sequence[dict[str, Any]], *options: str) -> dict[str, Any]:
    """Ask the offline model, which does what a script says: it starts faster than a client of a server."""
    script = home.write("script.yaml", json.dumps(turns))
    return ask("Go.", *options, "--model", str(script), provider="scripted")


def wants(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A turn of such a script that calls tools by their own names."""
    return {"calls": [{"name": name, "args": args} for name, args in calls]}


@contextmanager
def model(home: Home, *turns: dict[str, Any], more: Any = None, **fields: Any) -> Iterator[ScriptedLLM]:
    """Serve a model as the provider `fake`; fields go to the provider, `more` to the settings."""
    with ScriptedLLM(turns) as llm:
        known = {"fake": {"base_url": llm.base_url, "model": "m", **fields}}
        home.write("onetool.yaml", json.dumps({"providers": known, **(more or {})}))
        yield llm


class CountingLLM(ScriptedLLM):
    """Says that each reply took ten tokens to read and two to write."""

    def _turn(self, request: Request) -> Reply:
        reply = super()._turn(request)
        body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        for field, count in (("prompt_tokens", 10), ("completion_tokens", 2)):
            body = body.replace(f'"{field}": 0', f'"{field}": {count}')
        return Reply(body, headers=reply.headers)


def offered(request: dict[str, Any]) -> list[str]:
    """The tools that a request offers, as the provider sees them."""
    return [tool["function"]["name"] for tool in request.get("tools", ())]


def real_names(wire: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names that stand behind those which a provider sees."""
    back = names_by_wire(wire_names(names))
    return [back[name] for name in wire]


def told(request: dict[str, Any], role: str = "tool") -> list[str]:
    """What a request says in one role, oldest first."""
    return [message["content"] for message in request["messages"] if message["role"] == role]


def results(answer: dict[str, Any]) -> list[Any]:
    """What became of each call: its data, or its code and reason."""
    return [
        it["data"] if it["ok"] else (it["error"]["code"], it["meta"]["reason"])
        for it in answer["toolResults"]
    ]


def lines(file: Path) -> list[str]:
    """What tools have left in a file."""
    return file.read_text().splitlines() if file.exists() else []


class Terminal:
    """A person at a terminal: sees what a command writes, and types."""

    def __init__(self, *words: str) -> None:
        self._mine, theirs = pty.openpty()
        env = {**os.environ, "COLUMNS": "110", "TERM": "xterm-256color"}
        self._child = start_command(words, (theirs, theirs, theirs), env)
        os.close(theirs)
        self.seen = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.wait()
        os.close(self._mine)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._mine, text.encode())

    def until(self, pattern: str) -> None:
        """Read on until something stands there."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.seen):
            assert self._read(end), f"{pattern!r} is not in {self.seen!r}"

    def wait(self, seconds: float) -> None:
        """Look on for a while: only so can it be seen that nothing comes."""
        end = time.monotonic() + seconds
        while self._read(end):
            pass

    def rest(self) -> int:
        """Read to the end; return how the command ended."""
        self.wait(PATIENCE)
        return self._child.wait(PATIENCE)

    def _read(self, end: float) -> bool:
        if not select.select([self._mine], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            block = os.read(self._mine, 65536).decode(errors="replace")
        except OSError:  # the other side is closed
            return False
        self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", block)
        return bool(block)
