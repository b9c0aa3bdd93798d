"""The MCP interface over stdio with raw messages, in every version of the protocol."""

import asyncio
import json
from pathlib import Path

import pytest

from onetool.domain.activity.record import ActivityFilter
from onetool.storage.files.activity import FileActivity
from onetool.threads import Threads
from support.mcp_client import create_home
from support.processes import wait_until
from support.raw_mcp import CLIENT_INFO, META_PREFIX, MODERN, RawMcpClient

VERSIONS = ["2024-11-05", "2025-06-18", "2025-11-25", MODERN]
PACK = '''
import asyncio, os, subprocess, sys
from pathlib import Path

pack = "probe"

def shout() -> str:
    """Write to stdout in every possible way."""
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
    """Report progress from a thread."""
    ctx.progress(1, 2, "half")
    ctx.progress(2, 2, "whole")
    return "done"

async def hang(notes: str) -> str:
    """Wait forever."""
    Path(notes).write_text("started")
    try:
        await asyncio.Event().wait()
    finally:
        Path(notes).write_text("finished")
    return ""
'''


def home_with_pack(root):
    home = create_home(root)
    home.write("tools/probe.py", PACK)
    home.write("onetool.yaml", "execution: {timeout_s: 3600}\n")
    return home


@pytest.fixture(scope="module", params=VERSIONS)
def peer(request, tmp_path_factory):
    """A client for each version. The server must exit cleanly and send no unexpected messages."""
    home = home_with_pack(tmp_path_factory.mktemp("protocols"))
    peer = RawMcpClient(request.param, home.env, home.cwd)
    try:
        peer.server_info, peer.home = peer.initialize(), home
        yield peer
        assert peer.close() == 0
        assert (peer.remaining_messages(), peer.unexpected_responses) == ([], [])
    finally:
        peer.kill()


def wait_for_text(file, text):
    """Wait until a tool has written a text to a file."""
    assert wait_until(lambda: file.exists() and file.read_text() == text), f"{text!r} was not written"


def test_the_requested_version_is_used(peer):
    """The handshake agrees on it. Without a handshake, the server reports its versions."""
    server_info = peer.server_info
    assert "run" in server_info["instructions"]
    assert "tools" in server_info["capabilities"]
    if peer.version == MODERN:
        assert MODERN in server_info["supportedVersions"]
        implementation = server_info["_meta"][f"{META_PREFIX}/serverInfo"]
    else:
        assert server_info["protocolVersion"] == peer.version
        implementation = server_info["serverInfo"]
    assert implementation["name"] == "onetool"


def test_tools_are_listed_and_called(peer):
    """The result is one text, also for failed code."""
    (tool,) = peer.request("tools/list")["result"]["tools"]
    assert (tool["name"], tool["inputSchema"]["required"]) == ("run", ["command"])
    assert peer.run("20 * 2 + 2") == (False, "42")
    assert peer.run("1 / 0") == (True, "Error: line 1: ZeroDivisionError: division by zero\n    1 / 0")
    assert peer.run("'äöü\\u2028\\n' + '\\x00'") == (False, "äöü\u2028\n\x00")


def test_calls_are_recorded_with_the_name_of_the_client(peer):
    async def read():
        store = FileActivity(peer.home.root / "state" / "activity.sqlite3", Threads())
        page = await store.page(ActivityFilter(text="ask for it"), None, 10)
        await store.aclose()
        return [(record.tool, record.interface, record.client) for record in page.items]

    assert peer.run("'ask for it'") == (False, "ask for it")
    assert wait_until(lambda: asyncio.run(read()) != [])
    assert asyncio.run(read()) == [("run", "mcp", CLIENT_INFO["name"])]


def test_stdout_contains_only_messages(peer):
    """Output of tools and their child processes goes to stderr."""
    assert peer.run("probe.shout()") == (False, "quiet")
    outputs = (b"printed", b"to the first stdout", b"past Python", b"from a shell", b"from a child")
    assert wait_until(lambda: all(output in peer.errors for output in outputs)), peer.errors


def test_progress_is_sent_before_the_result(peer):
    """In order, with the name of the tool, and only if the client sent a progress token."""
    peer.notifications.clear()
    assert peer.run("probe.steps()", progressToken="mine") == (False, "done")
    progress = [item["params"] for item in peer.notifications if item["method"] == "notifications/progress"]
    assert [(item["progressToken"], item["progress"], item["message"]) for item in progress] == [
        ("mine", 1, "probe.steps: 1/2 half"),
        ("mine", 2, "probe.steps: 2/2 whole"),
    ]
    peer.notifications.clear()
    assert peer.run("probe.steps()") == (False, "done")
    assert peer.notifications == []


def test_a_cancelled_call_stops_and_has_no_result(peer, tmp_path):
    notes = tmp_path / "notes"
    code = f"probe.hang(notes={str(notes)!r})"
    request_id = peer.send("tools/call", name="run", arguments={"command": code})
    wait_for_text(notes, "started")
    peer.notify("notifications/cancelled", requestId=request_id, reason="enough")
    wait_for_text(notes, "finished")
    assert peer.run("1 + 1") == (False, "2")
    assert peer.unexpected_responses == []


def test_malformed_messages_do_not_affect_later_requests(peer):
    """Unknown methods and invalid parameters return JSON-RPC errors."""
    assert peer.request("no/such/method")["error"]["code"] == -32601
    assert peer.request("tools/call", arguments={})["error"]["code"] == -32602
    for message in (b"text", b"", b"{", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"1", b"null"):
        peer.write(message)
    peer.write(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}).encode())
    result = peer.run("1 + 1")
    errors = [peer.unexpected_responses.pop() for _ in range(len(peer.unexpected_responses))]
    assert result == (False, "2")
    assert all(error["id"] is None and error["error"]["code"] in (-32700, -32600) for error in errors)


@pytest.mark.parametrize(
    ("version", "stop"), [("2025-11-25", RawMcpClient.close), (MODERN, RawMcpClient.terminate)]
)
def test_the_server_exits_cleanly_during_a_call(tmp_path, version, stop):
    """When stdin closes or on SIGTERM, the tool is cancelled and the exit code is 0."""
    home, notes = home_with_pack(tmp_path), Path(tmp_path / "notes")
    peer = RawMcpClient(version, home.env, home.cwd)
    try:
        peer.initialize()
        code = f"probe.hang(notes={str(notes)!r})"
        peer.send("tools/call", name="run", arguments={"command": code})
        wait_for_text(notes, "started")
        assert stop(peer) == 0
        assert notes.read_text() == "finished"
        peer.remaining_messages()
    finally:
        peer.kill()


def test_an_unknown_version_is_answered_with_a_supported_one(home):
    peer = RawMcpClient("1999-12-31", home.env, home.cwd)
    try:
        assert peer.initialize()["protocolVersion"] in VERSIONS
        assert peer.close() == 0
    finally:
        peer.kill()
