"""Edits of the user's files by commands."""

import os
import shutil
import subprocess
import sys

import pytest

from onetool.files.lock import locked
from onetool.interfaces.cli.config_files import edit_secrets
from support.onetool_process import onetool

KEY = "sk-0123456789abcdef"


def test_a_key_of_several_lines_is_rejected(home):
    """The error does not contain the key."""
    done = onetool("auth", "login", "openai", stdin=f"{KEY}\nlogin: me\n")
    assert (done.returncode, "The key has more than one line. Pass only the first line." in done.stderr) == (
        2,
        True,
    )
    assert KEY not in done.stderr
    assert not list(home.config.iterdir())


def test_edits_preserve_windows_line_endings(home):
    """Added lines use the line endings of the file."""
    file = home.write("onetool.yaml", "")
    file.write_bytes(b"# mine\r\nlog: {level: info}\r\n")
    assert onetool("servers", "add", "s", "--", "x").returncode == 0
    content = file.read_bytes()
    assert content.startswith(b"# mine\r\nlog: {level: info}\r\nservers:\r\n")
    assert content.count(b"\r\n") == content.count(b"\n")


def test_a_file_that_is_not_text_is_not_edited(home):
    """The message names the file and the position."""
    file = home.write("onetool.yaml", "")
    file.write_bytes(b"log: {}\n# caf\xe9\n")
    done = onetool("servers", "remove", "s")
    assert (done.returncode, done.stderr) == (2, f"Error: {file}:1: not UTF-8 text (byte 13).\n")


def test_system_errors_are_one_line(home):
    """No traceback for a file instead of a directory, or for input that is not text."""
    shutil.rmtree(home.state)
    home.state.write_text("a file")
    done = onetool("servers", "remove", "s")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert str(home.state) in done.stderr
    assert done.stderr.count("\n") == 1
    home.state.unlink()
    command = [sys.executable, "-m", "onetool", "auth", "login", "openai"]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    invalid = subprocess.run(command, input=b"sk-\xff\xfe", capture_output=True, timeout=60, env=env)
    assert (invalid.returncode, invalid.stderr) == (1, b"Error: not UTF-8 text (byte 3).\n")


def test_waiting_for_another_command_times_out(home, monkeypatch):
    """One command at a time edits the settings."""
    monkeypatch.setattr("onetool.interfaces.server_settings.settings_file.TIMEOUT_S", 0.05)
    with (
        (home.state / "settings.lock").open("w") as lock,
        locked(lock.fileno()),
        pytest.raises(TimeoutError, match=r"Another command has locked the settings for 0\.05 s"),
    ):
        edit_secrets({"KEY": KEY})
    assert not list(home.config.iterdir())
