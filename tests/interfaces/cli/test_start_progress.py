"""The progress of starting servers, and commands that print and ask while it is shown."""

import json
import os
import shlex
import sys

import pytest

from interfaces.cli.ask_process import Terminal
from support.paths import MCP_SERVERS


@pytest.mark.linux
def test_progress_is_removed_before_a_review_and_its_question(home, tmp_path):
    """The server starts only after the progress has been shown."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    server = f"{shlex.quote(sys.executable)} -I {MCP_SERVERS / 'faulty_server.py'} good"
    settings = {"command": "sh", "args": ["-c", f"read go < {gate}; exec {server}"], "sandbox": False}
    home.write("onetool.yaml", json.dumps({"servers": {"s": settings}}))
    with Terminal("servers", "approve", "s", "echo") as terminal:
        terminal.wait_for("Starting s")
        gate.write_text("go\n")
        terminal.wait_for(r"Approve 1 tool\? \[y/N\]: $")
        lines = [line.strip() for line in terminal.screen.splitlines()]
        assert "echo: the server declares it as read-only, which you have not approved" in lines
        assert not [line for line in lines if "Starting s" in line]
        terminal.type("y\n")
        terminal.wait_for("Approved 1 tool of s.")
        assert terminal.wait_for_exit() == 0
