"""`onetool migrate`, `onetool admin` and `onetool serve --hosted`, as an operator uses them."""

import json
import os
import signal
import subprocess
import sys

import httpx2
import pytest

from support.cli_process import onetool
from support.postgres import empty_database
from support.waiting import HANG_S


class Operator:
    """Runs commands with the variables of an installation."""

    def __init__(self, home, url):
        self.env = {**os.environ, **home.env, "ONETOOL_DATABASE_URL": url}
        self.cwd = home.cwd

    def run(self, *args, stdin=""):
        return onetool(*args, stdin=stdin, env=self.env, cwd=self.cwd)

    def ok(self, *args, stdin=""):
        done = self.run(*args, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def fail(self, *args, stdin=""):
        done = self.run(*args, stdin=stdin)
        assert done.returncode != 0, done.stdout
        assert "Traceback" not in done.stderr
        return done.stderr


@pytest.fixture
def operator(home):
    with empty_database() as url:
        yield Operator(home, url)


@pytest.fixture
def team(operator):
    """Return an operator with one workspace."""
    operator.ok("migrate")
    operator.env["ONETOOL_KEYS"] = operator.ok("admin", "new-key")
    operator.ok("admin", "workspace", "create", "team-a", "--name", "Team A")
    return operator


def test_first_steps_say_what_is_missing(operator):
    assert "Set ONETOOL_KEYS" in operator.fail("serve", "--hosted", "--port", "0")
    assert "Set ONETOOL_KEYS" in operator.fail("admin", "workspace", "list")
    operator.env["ONETOOL_KEYS"] = "mine:tooshort"
    error = operator.fail("serve", "--hosted", "--port", "0")
    assert "onetool admin new-key" in error
    assert "tooshort" not in error
    operator.env["ONETOOL_KEYS"] = operator.ok("admin", "new-key")
    assert "Run: onetool migrate" in operator.fail("serve", "--hosted", "--port", "0")
    assert operator.ok("migrate").startswith("Applied ")
    assert operator.ok("migrate") == "The database is up to date."
    assert "onetool admin workspace create" in operator.fail("serve", "--hosted", "--port", "0")
    del operator.env["ONETOOL_DATABASE_URL"]
    assert "Set ONETOOL_DATABASE_URL" in operator.fail("migrate")
    operator.env["ONETOOL_DATABASE_URL"] = "postgresql://x@127.0.0.1:1/x"
    assert "Cannot migrate" in operator.fail("migrate")


def test_workspaces_are_created_listed_and_deleted(team):
    assert "already" in team.fail("admin", "workspace", "create", "team-a")
    assert "no name for URLs" in team.fail("admin", "workspace", "create", "Team B")
    assert json.loads(team.ok("admin", "workspace", "list")) == [{"slug": "team-a", "name": "Team A"}]
    team.ok("admin", "workspace", "delete", "team-a", "--yes")
    assert "no workspace 'team-a'" in team.fail("admin", "workspace", "delete", "team-a", "--yes")
    assert "no workspace 'team-a'" in team.fail("admin", "key", "create", "team-a", "ci")


def test_keys_are_shown_once_listed_and_revoked(team):
    text = team.ok("admin", "key", "create", "team-a", "ci", "--owner", "anna", "--days", "30")
    (listed,) = json.loads(team.ok("admin", "key", "list", "team-a"))
    assert text.startswith(listed["prefix"])
    assert text not in json.dumps(listed)
    assert (listed["name"], listed["owner"], listed["revoked"]) == ("ci", "anna", False)
    team.ok("admin", "key", "revoke", "team-a", listed["id"])
    assert "no valid key" in team.fail("admin", "key", "revoke", "team-a", listed["id"])
    assert "no valid key" in team.fail("admin", "key", "revoke", "team-a", "x")


def test_settings_and_secrets_are_checked_stored_and_shown(team):
    file = team.cwd / "settings.yaml"
    assert team.ok("admin", "settings", "show", "team-a") == "{}"
    file.write_text("aliases: {say: tools.echo}\n")
    assert "version 1" in team.ok("admin", "settings", "set", "team-a", str(file))
    assert json.loads(team.ok("admin", "settings", "show", "team-a")) == {"aliases": {"say": "tools.echo"}}
    for wrong, message in (
        ("aliasses: {}\n", "aliases"),
        ("servers: {x: {command: sh}}\n", "servers.x.command"),
        ("- 1\n", "map"),
    ):
        file.write_text(wrong)
        assert message in team.fail("admin", "settings", "set", "team-a", str(file))
    team.ok("admin", "secret", "set", "team-a", "TOKEN", "--host", "api.example.com", stdin="canary-77\n")
    assert team.ok("admin", "secret", "list", "team-a") == "TOKEN"
    assert "empty" in team.fail("admin", "secret", "set", "team-a", "TOKEN", stdin="\n")
    team.ok("admin", "secret", "delete", "team-a", "TOKEN")
    assert "no secret" in team.fail("admin", "secret", "delete", "team-a", "TOKEN")


def test_server_serves_workspaces_and_packs_of_the_operator_until_a_signal(team, home):
    home.write(
        "tools/probes.py", 'pack = "probes"\n\n\ndef one() -> int:\n    """Return one."""\n    return 1\n'
    )
    key = team.ok("admin", "key", "create", "team-a", "ci")
    server = subprocess.Popen(
        [sys.executable, "-m", "onetool", "serve", "--hosted", "--port", "0"],
        env=team.env,
        cwd=team.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = server.stdout.readline()
        assert "/w/WORKSPACE/" in line, server.stderr.read()
        url = line.split()[-1].replace("WORKSPACE/", "team-a")
        call = {"json": {"name": "probes.one", "args": {}}, "timeout": HANG_S}
        assert httpx2.post(f"{url}/tools/call", **call).status_code == 401
        answer = httpx2.post(f"{url}/tools/call", headers={"Authorization": f"Bearer {key}"}, **call)
        assert answer.json()["value"] == 1
        server.send_signal(signal.SIGTERM)
        assert server.wait(HANG_S) == 0
        assert server.stderr.read() == ""
    finally:
        server.kill()
        server.communicate()
