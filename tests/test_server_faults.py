"""Faulty MCP servers beside good ones, in one `onetool mcp`, seen by its client and in the process table."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mcp_door import new_home, over_stdio, own_env
from processes import command_lines, descendants, is_running, marked, wait_until
from raw_mcp import Peer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes where Linux shows them")
SCRIPTS = Path(__file__).parent / "mcp_servers"
MODES = {"hangs": "hangs", "dies": "good", "rubbish": "flood", "many": "many", "huge": "good", "near": "good"}
QUICK = 3.0
"""Seconds that a good server's slowest answer may take on an idle machine, whatever the others do."""
SOON = 5.0
BAD = {
    "hangs": "hangs.echo(text='x')",
    "dies": "dies.die()",
    "rubbish": "rubbish.echo(text='x')",
    "many": "many.tool_4999()",
    "huge": "huge.huge()",
}
GOOD = {"near": "near.echo(text='fine')", "far": "far.search(query='fine')"}


class Answer(NamedTuple):
    failed: bool
    text: str
    seconds: float


@dataclass
class Seen:
    """Everything that happened in one life of a OneTool."""

    good: dict[str, list[Answer]] = field(default_factory=lambda: {name: [] for name in GOOD})
    bad: dict[str, Answer] = field(default_factory=dict)
    killed: dict[str, Answer] = field(default_factory=dict)
    started: int = 0
    left_behind: list[str] = field(default_factory=list)

    def shown(self) -> str:
        """What a reader needs who asks why."""
        slowest = {name: max(it.seconds for it in answers) for name, answers in self.good.items()}
        answers = {name: (*it[:1], it.text[:150], round(it.seconds, 1)) for name, it in self.bad.items()}
        return f"slowest {slowest}, {answers}, killed {self.killed}, left {self.left_behind}"


def program(mode: str, mark: str, *more: str) -> dict[str, Any]:
    args = ["-I", str(SCRIPTS / "by_hand.py"), mode, *more]
    return {"command": sys.executable, "args": args, "env": {"MARK": mark}}


async def asked(client: Any, command: str) -> Answer:
    begun = time.monotonic()
    answer = await client.call_tool("run", {"command": command})
    return Answer(bool(answer.is_error), answer.content[0].text, time.monotonic() - begun)


async def ask_good(client: Any, name: str, seen: Seen, bad: "asyncio.Future[Any]") -> None:
    """Ask a good server again and again, as long as a bad one is being waited for."""
    while not (seen.good[name] and bad.done()):
        seen.good[name].append(await asked(client, GOOD[name]))
        await asyncio.sleep(0.02)


async def ask_until_it_works(client: Any, command: str) -> Answer:
    """A machine that is busy may need its time for a long list, and says so."""
    end = time.monotonic() + 15
    while (answer := await asked(client, command)).failed and time.monotonic() < end:
        await asyncio.sleep(0.1)
    return answer


async def live_through(home: Any, far: "subprocess.Popen[str]") -> Seen:
    seen, mark = Seen(), str(home.root)
    before = descendants(os.getpid())
    async with over_stdio(env=own_env(**home.env), cwd=home.cwd) as client:

        async def ask_bad(name: str) -> None:
            seen.bad[name] = await asked(client, BAD[name])

        bad = asyncio.gather(*map(ask_bad, BAD))
        await asyncio.gather(bad, *(ask_good(client, name, seen, bad) for name in GOOD))
        seen.bad["many, later"] = await ask_until_it_works(client, BAD["many"])
        os.kill(int((await asked(client, "near.pid()")).text), signal.SIGKILL)
        seen.killed["near"] = await asked(client, GOOD["near"])
        far.kill()
        far.wait()
        seen.killed["far"] = await asked(client, GOOD["far"])
        ours = descendants(os.getpid()) - before
        seen.started = len(marked(mark))
    wait_until(lambda: not (marked(mark) or any(map(is_running, ours))), SOON)
    seen.left_behind = command_lines(marked(mark) | {pid for pid in ours if is_running(pid)})
    return seen


def good_servers_answer(seen: Seen, name: str) -> bool:
    """Every one of their answers is right and quick, from the first on: none waits for the one that hangs."""
    answers = seen.good[name]
    limit = max(QUICK, 0.7 * seen.bad["hangs"].seconds)  # all are slow on a machine that does much else
    right = all(not it.failed and "fine" in it.text for it in answers)
    return len(answers) > 2 and right and max(it.seconds for it in answers) < limit


def says_why(answer: Answer, why: str) -> bool:
    """The call fails, in time, with what is wrong with the server and not with the code."""
    return answer.failed and bool(re.search(why, answer.text)) and answer.seconds < 9


def truths(seen: Seen) -> dict[str, bool]:
    many, huge, killed = seen.bad["many"], seen.bad["huge"], seen.killed
    broke_off = "broke off during the call: the program ended with exit code 3"
    return {
        "a good program answers while bad ones are waited for": good_servers_answer(seen, "near"),
        "a good HTTP server does": good_servers_answer(seen, "far"),
        "one that hangs says so": says_why(
            seen.bad["hangs"], "'hangs' cannot be used: .*(answer|start|long|time)"
        ),
        "one that dies says so": says_why(seen.bad["dies"], broke_off),
        "one that writes rubbish says so": says_why(
            seen.bad["rubbish"], "'rubbish' cannot be used: .*no messages"
        ),
        "one of 5,000 tools is called, or it is said why not yet": many.text == "tool-4999"
        or says_why(many, "'many' cannot be used: .*(start|long|time)"),
        "when all are read, it is called": seen.bad["many, later"][:2] == (False, "tool-4999"),
        "50 MB are kept aside, and shown in part": not huge.failed
        and len(huge.text) < 5_000
        and "50000000 bytes" in huge.text
        and "ot.result(handle=" in huge.text,
        "a killed program is started again": killed["near"][:2] == (False, "fine"),
        "a killed HTTP server is said to be gone": says_why(killed["far"], "'far' cannot be used: .*Connect"),
        "both soon": max(it.seconds for it in killed.values()) < SOON,
        "there was something to leave behind": seen.started >= 4,
        "nothing is left behind": seen.left_behind == [],
    }


def test_faulty_servers_beside_good_ones(tmp_path: Path) -> None:
    """Seven servers asked at once, two killed, then the client leaves: each is answered for, none is left."""
    home = new_home(tmp_path)
    words = [sys.executable, "-I", str(SCRIPTS / "github.py"), "http"]
    servers = {name: program(mode, str(home.root)) for name, mode in MODES.items()}
    with subprocess.Popen(words, env=own_env(), stdout=subprocess.PIPE, text=True) as far:
        try:
            assert far.stdout
            servers["far"] = {"url": far.stdout.readline().strip()}
            home.write("onetool.yaml", json.dumps({"servers": servers}))
            seen = asyncio.run(live_through(home, far))
        finally:
            far.kill()
    assert [truth for truth, holds in truths(seen).items() if not holds] == [], seen.shown()


def test_servers_die_with_a_onetool_that_is_killed(tmp_path: Path) -> None:
    """Also one that answers nothing, one that ignores signals, and the workers that run code."""
    home, notes = new_home(tmp_path), {}
    mark, servers = str(home.root), {}
    for mode in ("hangs", "stubborn", "good"):
        notes[mode] = tmp_path / f"{mode}.txt"
        servers[mode] = program(mode, mark, str(notes[mode]))
    home.write("onetool.yaml", json.dumps({"servers": servers}))
    peer = Peer("2025-06-18", home.env, home.cwd)
    try:
        peer.greet()
        for name in servers:
            peer.send("tools/call", name="run", arguments={"command": f"{name}.echo(text='x')"})
        assert wait_until(lambda: all(note.exists() for note in notes.values()), 10)
        family = descendants(peer.process.pid)
        assert len(family & marked(mark)) >= len(servers)
    finally:
        peer.kill()
    family |= marked(mark)
    wait_until(lambda: not any(map(is_running, family)), SOON)
    assert command_lines(pid for pid in family if is_running(pid)) == []
