"""`onetool ask` on a terminal: calls, streamed responses and approval prompts."""

import json
import os
import re
import shlex
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from interfaces.cli.ask_process import Terminal, read_lines
from support.paths import MCP_SERVERS
from support.processes import wait_until
from support.scripted_model import scripted_calls
from support.waiting import HANG_S

PACK = '''
from onetool.sdk import tool

pack = "probe"

@tool(read_only=False)
def wipe(what: str) -> str:
    """Change something."""
    with open("wiped", "a") as trace:
        print(what, file=trace)
    return "wiped " + what

@tool(parallel=True)
def note() -> str:
    """Report that the calls before this one have started."""
    open("noted", "w").close()
    return "noted"
'''
LINE = r"(?m)^.*{}.*\b\d+(\.\d+)? ?m?s\s*$"
"""A call on its own line, with its duration."""


def scripted(home, *turns, options=()):
    """Ask the scripted model on a terminal."""
    script = home.write("script.yaml", json.dumps(turns))
    return Terminal("ask", "Go.", "--provider", "scripted", "--model", str(script), *options)


@contextmanager
def pausing_model():
    """Serve a model that pauses in the middle of its response until an event is set."""
    resume = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.send_text("First half, ")
            resume.wait(HANG_S)
            self.send_text("second half.", "stop")
            self.wfile.write(b"data: [DONE]\n\n")

        def send_text(self, content, reason=None):
            choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": reason}
            event = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
            self.wfile.write(f"data: {json.dumps({**event, 'choices': [choice]})}\n\n".encode())

        def log_message(self, *_):
            """Disable logging."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", resume
        resume.set()
        server.shutdown()


@pytest.mark.linux
def test_each_call_is_one_line_and_verbose_shows_results(home):
    """The line has the duration, and failures have a message."""
    turns = [
        scripted_calls(("tools.echo", {"message": "the echo"}), ("fs.read_file", {"path": "none"})),
        {"text": "It is done."},
    ]
    seen = {}
    for options in ((), ("-v",), ("--json",)):
        with scripted(home, *turns, options=options) as terminal:
            assert terminal.wait_for_exit() == 0
            seen[options] = terminal.output.replace("\r", "")
    short, long, as_json = seen.values()
    for shown in (short, long):
        assert [
            name for name in ("tools.echo", "fs.read_file") if not re.search(LINE.format(name), shown)
        ] == []
        assert "No such file" in shown
        assert max(map(shown.index, ("tools.echo", "fs.read_file"))) < shown.index("It is done.")
        assert '"toolCalls"' not in shown
    assert short.count("the echo") < long.count("the echo")
    assert json.loads(as_json)["answer"] == "It is done."


@pytest.mark.linux
def test_secret_that_is_streamed_in_pieces_is_not_printed(home):
    """The scripted model streams word by word."""
    home.write("secrets.yaml", "KEY: correct horse battery staple\n")
    with scripted(home, {"text": "It is correct horse battery staple, or correct horse."}) as terminal:
        assert terminal.wait_for_exit() == 0
    assert "It is [secret], or correct horse." in terminal.output
    assert "battery" not in terminal.output


@pytest.mark.linux
def test_the_response_is_streamed(home):
    with pausing_model() as (url, resume):
        home.write("onetool.yaml", json.dumps({"providers": {"fake": {"base_url": url, "model": "m"}}}))
        with Terminal("ask", "Go.", "--provider", "fake") as terminal:
            terminal.wait_for("First half,")
            assert "second half." not in terminal.output
            resume.set()
            assert terminal.wait_for_exit() == 0
    assert terminal.output.count("First half, second half.") == 1


@pytest.mark.linux
def test_tools_that_are_not_read_only_prompt_for_approval(home):
    """The prompt shows the arguments. Only `y` approves."""
    home.write("tools/probe.py", PACK)
    wipes = [("probe.wipe", {"what": what}) for what in ("one", "two", "three", "four")]
    with scripted(home, scripted_calls(*wipes), {"text": "It is done."}) as terminal:
        for number, key in enumerate(("n\n", "y\n", "\n", "\x04"), start=1):
            terminal.wait_for(rf"(?s)(?:\[y/N\].*){{{number}}}")
            assert wipes[number - 1][1]["what"] in terminal.output
            terminal.type(key)
        assert terminal.wait_for_exit() == 0
    assert read_lines(home.cwd / "wiped") == ["two"]
    assert ("It is done." in terminal.output, "Traceback" in terminal.output) == (True, False), (
        terminal.output
    )


@pytest.mark.linux
def test_text_typed_before_the_prompt_does_not_answer_it(home):
    """A model could ask the user to press `y` before it calls a tool."""
    home.write("tools/probe.py", PACK)
    turns = [scripted_calls(("probe.wipe", {"what": "one"})), {"text": "It is done."}]
    with scripted(home, *turns) as terminal:
        terminal.type("y\ny\n")
        terminal.wait_for(r"\[y/N\]")
        terminal.type("n\n")
        assert terminal.wait_for_exit() == 0
    assert not (home.cwd / "wiped").exists()


@pytest.mark.linux
def test_concurrent_calls_prompt_one_at_a_time(home):
    """So `y` always refers to the visible prompt."""
    home.write("tools/probe.py", PACK)
    command = (
        "import asyncio\n"
        "calls = [probe.wipe(what='one'), probe.wipe(what='two'), probe.note()]\n"
        "await asyncio.gather(*calls)"
    )
    turns = [scripted_calls(("run", {"command": command})), {"text": "It is done."}]
    with scripted(home, *turns, options=["--tools", "search"]) as terminal:
        terminal.wait_for(r"\[y/N\]")
        assert wait_until((home.cwd / "noted").exists)
        terminal.read_available()
        assert terminal.output.count("[y/N]") == 1, terminal.output
        terminal.type("y\n")
        terminal.wait_for(r"(?s)(?:\[y/N\].*){2}")
        assert wait_until((home.cwd / "wiped").exists)  # a refusal ends the code, and with it the other call
        terminal.type("n\n")
        assert terminal.wait_for_exit() == 0
    assert read_lines(home.cwd / "wiped") == re.findall("one|two", terminal.output)[:1]


@pytest.mark.linux
def test_progress_of_a_starting_server_overwrites_neither_the_call_nor_the_response(home, tmp_path):
    """The server starts only after the progress has been shown. `--yes` skips the prompt for its tool."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    server = f"{shlex.quote(sys.executable)} -I {MCP_SERVERS / 'faulty_server.py'} good"
    settings = {
        "command": "sh",
        "args": ["-c", f"echo Loading it >&2; read go < {gate}; exec {server}"],
        "sandbox": False,
    }
    home.write("onetool.yaml", json.dumps({"servers": {"s": settings}}))
    turns = ({"calls": [{"name": "s.pid", "args": {}}]}, {"text": "The answer."})
    with scripted(home, *turns, options=("--yes", "--tools", "all")) as terminal:
        terminal.wait_for("Starting s .*s: Loading it")
        gate.write_text("go\n")
        assert terminal.wait_for_exit() == 0
    assert "[y/N]" not in terminal.output
    lines = [line.strip() for line in terminal.screen.splitlines()]
    assert "The answer." in lines
    assert [line for line in lines if line.startswith("✓ s.pid(")]
    assert not [line for line in lines if "Loading it" in line]
