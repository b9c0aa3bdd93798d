"""Real servers from npm and PyPI: a new user adds one and calls it at once, in the default sandbox."""

import json
import os
import subprocess
import sys
from pathlib import Path

from support.package_registries import require_package
from support.user_home import Home

HANG_S = 600.0
"""A first start downloads the server; on a loaded machine this may take minutes."""


def onetool(user: Home, *words: str) -> "subprocess.CompletedProcess[str]":
    env = os.environ | user.env | {"HOME": str(user.root)}
    command = [sys.executable, "-m", "onetool", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, env=env, cwd=user.cwd)


def call_first(user: Home, command: list[str], tool: str, args: dict[str, str]) -> object:
    """Add a server and call its tool, without a step between."""
    added = onetool(user, "servers", "add", "real", *command)
    assert added.returncode == 0, added.stderr
    called = onetool(user, "tools", "invoke", f"real.{tool}", "--args", json.dumps(args), "--json")
    result = json.loads(called.stdout)
    assert result["ok"], result
    return result["data"]


def sandbox_of(user: Home) -> str:
    tested = json.loads(onetool(user, "servers", "test", "real", "--json").stdout)[0]
    assert tested["ok"], tested
    return next(step["detail"] for step in tested["steps"] if step["name"] == "sandbox")


def test_npx_server_works_at_the_first_call_of_a_new_user(home: Home):
    require_package("npx", "@modelcontextprotocol/server-filesystem")
    Path(home.cwd, "note.txt").write_text("A note.")
    args = {"path": str(home.cwd / "note.txt")}
    command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
    assert "A note." in str(call_first(home, command, "read_text_file", args))
    assert "files" in sandbox_of(home).partition("restricted")[0]


def test_uvx_server_works_at_the_first_call_of_a_new_user(home: Home):
    require_package("uvx", "mcp-server-time")
    result = call_first(home, ["uvx", "mcp-server-time"], "get_current_time", {"timezone": "Asia/Tokyo"})
    assert "+09:00" in str(result)
    assert "files" in sandbox_of(home).partition("restricted")[0]
