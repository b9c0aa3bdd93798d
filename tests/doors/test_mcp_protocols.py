"""The MCP door over pipes, by hand: every version of the protocol, and nothing on stdout but messages."""

import json
import time
from pathlib import Path

import pytest

from mcp_door import new_home
from processes import wait_until
from raw_mcp import MODERN, RESERVED, Peer

VERSIONS = ["2024-11-05", "2025-06-18", "2025-11-25", MODERN]
PACK = '''
import asyncio, os, subprocess, sys
from pathlib import Path

pack = "probe"

def shout() -> str:
    """Write to stdout in every way there is."""
    print("printed")
    sys.__stdout__.write("to the first stdout\\n")
    sys.__stdout__.flush()
    os.write(1, b"past Python\\n")
    os.write(1, b'{"jsonrpc": "2.0", "id": 1, "result": {}}\\n')
    os.system("echo from a shell")
    subprocess.run(["echo", "from a child"], check=True)
    subprocess.run(["sh", "-c", "cat; echo read"], check=True)
    return "quiet"

def steps(ctx) -> str:
    """Tell how far it is, from a thread."""
    ctx.progress(1, 2, "half")
    ctx.progress(2, 2, "whole")
    return "done"

async def hang(notes: str) -> str:
    """Wait without end."""
    Path(notes).write_text("begun")
    try:
        await asyncio.Event().wait()
    finally:
        Path(notes).write_text("ended")
    return ""
'''


def furnished(root):
    home = new_home(root)
    home.write("tools/probe.py", PACK)
    return home


@pytest.fixture(scope="module", params=VERSIONS)
def peer(request, tmp_path_factory):
    """A process for each version, which must end well and have said nothing unasked."""
    home = furnished(tmp_path_factory.mktemp("protocols"))
    peer = Peer(request.param, home.env, home.cwd)
    try:
        peer.greeting = peer.greet()
        yield peer
        assert peer.leave() == 0
        assert (peer.rest(), peer.strays) == ([], [])
    finally:
        peer.kill()


def until(file, text):
    """Wait for what a tool notes, but not as long as tools may take."""
    assert wait_until(lambda: file.exists() and file.read_text() == text, 5), f"{text!r} never came"


def test_the_version_that_was_asked_for_is_spoken(peer):
    """A handshake agrees on it; without one the server says what it speaks, and who it is."""
    greeting = peer.greeting
    assert "run" in greeting["instructions"]
    assert "tools" in greeting["capabilities"]
    if peer.version == MODERN:
        assert MODERN in greeting["supportedVersions"]
        about = greeting["_meta"][f"{RESERVED}/serverInfo"]
    else:
        assert greeting["protocolVersion"] == peer.version
        about = greeting["serverInfo"]
    assert about["name"] == "onetool"


def test_tools_are_listed_and_called(peer):
    """One tool with its schema; its answer is one text, also when the code has failed."""
    (tool,) = peer.ask("tools/list")["result"]["tools"]
    assert (tool["name"], tool["inputSchema"]["required"]) == ("run", ["command"])
    assert peer.run("20 * 2 + 2") == (False, "42")
    assert peer.run("1 / 0") == (True, "Error: line 1: ZeroDivisionError: division by zero")
    assert peer.run("'äöü\\u2028\\n' + '\\x00'") == (False, "äöü\u2028\n\x00")


def test_stdout_is_for_messages_alone(peer):
    """Print, a raw write, a shell and a child that would read stdin: the next line is the answer."""
    assert peer.run("probe.shout()") == (False, "quiet")
    for said in (b"printed", b"to the first stdout", b"past Python", b"from a shell", b"from a child"):
        assert said in peer.errors


def test_progress_comes_before_the_answer(peer):
    """In order, under the client's own token; unasked for there is none."""
    peer.notices.clear()
    assert peer.run("probe.steps()", progressToken="mine") == (False, "done")
    told = [notice["params"] for notice in peer.notices if notice["method"] == "notifications/progress"]
    assert [(it["progressToken"], it["progress"], it["total"], it["message"]) for it in told] == [
        ("mine", 1, 2, "half"),
        ("mine", 2, 2, "whole"),
    ]
    peer.notices.clear()
    assert peer.run("probe.steps()") == (False, "done")
    assert peer.notices == []


def test_a_cancelled_call_ends_and_has_no_answer(peer, tmp_path):
    """The tool is cancelled, the next call is answered, and the cancelled one never is."""
    notes = tmp_path / "notes"
    code = f"probe.hang(notes={str(notes)!r})"
    number = peer.send("tools/call", name="run", arguments={"command": code})
    until(notes, "begun")
    peer.tell("notifications/cancelled", requestId=number, reason="enough")
    until(notes, "ended")
    assert peer.run("1 + 1") == (False, "2")
    assert peer.strays == []


def test_what_is_no_request_harms_no_other(peer):
    """Unknown methods and wrong parameters are answered with the codes of JSON-RPC; rubbish is survived."""
    assert peer.ask("no/such/method")["error"]["code"] == -32601
    assert peer.ask("tools/call", arguments={})["error"]["code"] == -32602
    for rubbish in (b"rubbish", b"", b"{", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"1", b"null"):
        peer.write(rubbish)
    peer.write(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}).encode())
    answers = peer.run("1 + 1")
    refused = [peer.strays.pop() for _ in range(len(peer.strays))]
    assert answers == (False, "2")
    assert all(it["id"] is None and it["error"]["code"] in (-32700, -32600) for it in refused)


@pytest.mark.parametrize(("version", "end"), [("2025-11-25", Peer.leave), (MODERN, Peer.terminate)])
def test_it_ends_well_in_the_middle_of_a_call(tmp_path, version, end):
    """Exit code 0, soon, and the tool is told; whether stdin ends or a signal comes."""
    home, notes = furnished(tmp_path), Path(tmp_path / "notes")
    peer = Peer(version, home.env, home.cwd)
    try:
        peer.greet()
        code = f"probe.hang(notes={str(notes)!r})"
        peer.send("tools/call", name="run", arguments={"command": code})
        until(notes, "begun")
        begun = time.monotonic()
        assert end(peer) == 0
        assert time.monotonic() - begun < 5
        assert notes.read_text() == "ended"
        peer.rest()
    finally:
        peer.kill()


def test_a_version_that_nobody_knows_is_answered_with_one_that_is(home):
    """As the handshake says: the client then decides."""
    peer = Peer("1999-12-31", home.env, home.cwd)
    try:
        assert peer.greet()["protocolVersion"] in VERSIONS
        assert peer.leave() == 0
    finally:
        peer.kill()
