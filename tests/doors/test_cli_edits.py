"""Commands that change the user's files: what they keep, and what they say where they cannot."""

import fcntl
import os
import shutil
import subprocess
import sys

import pytest
import yaml

from commands import onetool
from onetool.doors.cli.edits import edit_secrets

KEY = "sk-0123456789abcdef"


def test_a_new_key_keeps_the_hosts_of_the_old_one(home):
    """A secret that may go to one host only is not sent elsewhere after it was renewed."""
    file = home.write("secrets.yaml", "OPENAI_API_KEY: {value: old, hosts: [api.openai.com]}\n")
    assert onetool("auth", "login", "openai", stdin=f"{KEY}\n").returncode == 0
    assert yaml.safe_load(file.read_text()) == {"OPENAI_API_KEY": {"value": KEY, "hosts": ["api.openai.com"]}}


def test_a_key_of_several_lines_is_refused_at_once(home):
    """It could be sent in no header; the error repeats none of it."""
    done = onetool("auth", "login", "openai", stdin=f"{KEY}\nlogin: me\n")
    assert (done.returncode, "The key has more than one line: give only its first." in done.stderr) == (
        2,
        True,
    )
    assert KEY not in done.stderr
    assert not list(home.config.iterdir())


def test_a_file_from_windows_stays_one(home):
    """Line ends are as the author wrote them, also in the lines that a command adds."""
    file = home.write("onetool.yaml", "")
    file.write_bytes(b"# mine\r\nlog: {level: info}\r\n")
    assert onetool("servers", "add", "s", "--", "x").returncode == 0
    content = file.read_bytes()
    assert content.startswith(b"# mine\r\nlog: {level: info}\r\nservers:\r\n")
    assert content.count(b"\r\n") == content.count(b"\n")


def test_an_edit_that_cannot_be_made_says_why_and_no_more(home):
    """The settings are fine: it is the edit that is not."""
    file = home.write("onetool.yaml", "log: {}\n")
    done = onetool("servers", "remove", "nope")
    assert (done.returncode, done.stderr) == (2, f"Error: {file}: servers: there is no 'nope'.\n")


def test_a_file_that_is_no_text_is_left_alone(home):
    """It is named, with the place where it stops being text."""
    file = home.write("onetool.yaml", "")
    file.write_bytes(b"log: {}\n# caf\xe9\n")
    done = onetool("servers", "remove", "s")
    assert (done.returncode, done.stderr) == (2, f"Error: {file}:1: not UTF-8 text (byte 13).\n")


def test_what_the_system_refuses_is_one_line(home):
    """A file where a directory should be, or input that is no text: said, not traced."""
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
    strange = subprocess.run(command, input=b"sk-\xff\xfe", capture_output=True, timeout=60, env=env)
    assert (strange.returncode, strange.stderr) == (1, b"Error: not UTF-8 text (byte 3).\n")


def test_who_waits_too_long_for_another_command_is_told(home, monkeypatch):
    """The settings are changed by one command at a time."""
    monkeypatch.setattr("onetool.doors.cli.edits.PATIENCE", 0.05)
    with (home.state / "settings.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError, match=r"another command has held the settings for 0\.05 s"):
            edit_secrets({"KEY": KEY})
    assert not list(home.config.iterdir())
