"""`onetool migrate`, `onetool admin` and `onetool serve --hosted`, as an operator uses them."""

import asyncio
import json
import os
import signal
import subprocess
from uuid import uuid4

import httpx2
import psycopg
import pytest

from onetool.bootstrap.hosted_admin import open_people
from onetool.domain.identity.person import Identity
from support.onetool_process import onetool, start_onetool
from support.otlp_receiver import OtlpReceiver
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
    assert operator.ok("migrate", "--last-step") == operator.ok("migrate", "--pending")
    assert "Workspaces: 0." in operator.ok("admin", "check")
    keys = operator.env["ONETOOL_KEYS"]
    operator.env["ONETOOL_KEYS"] = operator.ok("admin", "new-key", "others")
    assert "which this process does not have" in operator.fail("serve", "--hosted", "--port", "0")
    assert "which this process does not have" in operator.fail("migrate")
    operator.env["ONETOOL_KEYS"] = keys
    del operator.env["ONETOOL_DATABASE_URL"]
    assert "Set ONETOOL_DATABASE_URL" in operator.fail("migrate")
    operator.env["ONETOOL_DATABASE_URL"] = "postgresql://x@127.0.0.1:1/x"
    assert "Cannot use the database" in operator.fail("migrate")


@pytest.mark.parametrize("command", [["migrate"], ["admin", "workspace", "list"], ["serve", "--hosted"]])
def test_invalid_url_of_the_database_is_not_shown(operator, command):
    """It may contain the password."""
    operator.env["ONETOOL_KEYS"] = operator.ok("admin", "new-key")
    operator.env["ONETOOL_DATABASE_URL"] = "postgresql://onetool:pass word%zz@127.0.0.1/x"
    error = operator.fail(*command)
    assert "postgresql://user:password@host" in error
    assert "pass word" not in error


def test_workspaces_are_created_listed_and_deleted(team):
    assert "already" in team.fail("admin", "workspace", "create", "team-a")
    assert "no name for URLs" in team.fail("admin", "workspace", "create", "Team B")
    listed = [{"slug": "team-a", "name": "Team A", "cluster": "home"}]
    assert json.loads(team.ok("admin", "workspace", "list")) == listed
    team.ok("admin", "workspace", "delete", "team-a", "--yes")
    assert "no workspace 'team-a'" in team.fail("admin", "workspace", "delete", "team-a", "--yes")
    assert "no workspace 'team-a'" in team.fail("admin", "key", "create", "team-a", "ci")


def test_workspace_is_moved_to_a_second_cluster_and_found_there_by_all_commands(team):
    with empty_database() as west:
        assert "Set ONETOOL_CLUSTER_WEST_URL" in team.fail("admin", "cluster", "add", "west")
        team.env["ONETOOL_CLUSTER_WEST_URL"] = west
        assert "Run: onetool migrate" in team.fail("admin", "cluster", "add", "west")
        team.ok("migrate")
        team.ok("admin", "cluster", "add", "west")
        moved = team.ok("admin", "workspace", "move", "team-a", "west")
        assert moved.startswith("Moved workspace team-a from home to west. Rows: ")
        team.ok("admin", "secret", "set", "team-a", "TOKEN", stdin="value")
        assert team.ok("admin", "secret", "list", "team-a") == "TOKEN"
        assert "Workspaces with new keys: 1." in team.ok("admin", "rotate-keys", "team-a")
        assert "Workspaces: 1. Sealed values that were opened: 1." in team.ok("admin", "check")
        clusters = json.loads(team.ok("admin", "cluster", "list"))
        assert [(item["name"], item["workspaces"]) for item in clusters] == [("home", 0), ("west", 1)]
        assert team.ok("admin", "workspace", "clean-up") == "Workspaces: 0."
        del team.env["ONETOOL_CLUSTER_WEST_URL"]
        for command in (
            ["serve", "--hosted", "--port", "0"],
            ["admin", "secret", "list", "team-a"],
            ["admin", "check"],
        ):
            assert "Set ONETOOL_CLUSTER_WEST_URL" in team.fail(*command)


def test_keys_are_shown_once_listed_and_revoked(team):
    text = team.ok("admin", "key", "create", "team-a", "ci", "--owner", "anna", "--days", "30")
    (listed,) = json.loads(team.ok("admin", "key", "list", "team-a"))
    assert text.startswith(listed["prefix"])
    assert text not in json.dumps(listed)
    assert (listed["name"], listed["owner"], listed["revoked"]) == ("ci", "anna", False)
    team.ok("admin", "key", "revoke", "team-a", listed["id"])
    assert "no valid key" in team.fail("admin", "key", "revoke", "team-a", listed["id"])
    assert "no valid key" in team.fail("admin", "key", "revoke", "team-a", "x")


def test_people_are_listed_disabled_and_enabled(team):
    assert json.loads(team.ok("admin", "person", "list", "--json")) == []
    id = sign_in(team.env["ONETOOL_DATABASE_URL"])
    (listed,) = json.loads(team.ok("admin", "person", "list", "--json"))
    assert listed == {
        "id": id,
        "name": "Anna",
        "email": "anna@example.com",
        "identities": ["https://login.example anna-1"],
        "disabled": False,
    }
    assert team.ok("admin", "person", "disable", id) == f"Disabled {id}."
    (listed,) = json.loads(team.ok("admin", "person", "list", "--json"))
    assert listed["disabled"]
    assert team.ok("admin", "person", "enable", id) == f"Enabled {id}."
    assert "There is no person" in team.fail("admin", "person", "disable", str(uuid4()))
    assert "There is no person" in team.fail("admin", "person", "enable", str(uuid4()))


def sign_in(url):
    """Return the id of a person who logs in for the first time."""

    async def run():
        async with open_people(url) as people:
            identity = Identity("https://login.example", "anna-1", "anna@example.com", "Anna")
            return str(await people.sign_in(identity))

    return asyncio.run(run())


def test_invitations_are_created_listed_and_revoked(team):
    secret = team.ok("admin", "invitation", "create", "team-a", "--role", "owner", "--note", "for Anna")
    assert secret.startswith("oti_")
    (listed,) = json.loads(team.ok("admin", "invitation", "list", "team-a", "--json"))
    assert (listed["role"], listed["note"], listed["acceptedBy"]) == ("owner", "for Anna", None)
    assert secret not in json.dumps(listed)
    assert team.ok("admin", "invitation", "revoke", "team-a", listed["id"]) == f"Revoked {listed['id']}."
    assert "no open invitation" in team.fail("admin", "invitation", "revoke", "team-a", listed["id"])
    assert "no workspace" in team.fail("admin", "invitation", "create", "team-b")


def test_members_and_grants_are_set_listed_and_removed(team):
    assert (
        team.ok("admin", "member", "set", "team-a", "boss", "--role", "owner") == "boss is owner of team-a."
    )
    team.ok("admin", "key", "create", "team-a", "ci", "--only", "github.*")
    assert json.loads(team.ok("admin", "key", "list", "team-a"))[0]["only"] == ["github.*"]
    team.ok("admin", "member", "set", "team-a", "ci", "--role", "caller", "--only", "x.*", "--only", "y.*")
    added = team.ok("admin", "grant", "add", "team-a", "ci", "deny", "x.delete")
    assert added.endswith(": ci deny x.delete.")
    members = {row["id"]: row for row in json.loads(team.ok("admin", "member", "list", "team-a"))}
    assert (members["ci"]["role"], members["ci"]["only"]) == ("caller", ["x.*", "y.*"])
    (grant,) = members["ci"]["grants"]
    assert (grant["effect"], grant["pattern"]) == ("deny", "x.delete")
    team.ok("admin", "grant", "remove", "team-a", grant["id"])
    assert "no grant" in team.fail("admin", "grant", "remove", "team-a", grant["id"])
    assert "is not a member" in team.fail("admin", "grant", "add", "team-a", "ghost", "ask", "x.*")
    assert "last owner" in team.fail("admin", "member", "remove", "team-a", "boss")
    assert team.ok("admin", "member", "remove", "team-a", "ci") == "Removed ci from team-a."
    assert "is not a member" in team.fail("admin", "member", "remove", "team-a", "ci")
    wrong = team.fail(
        "admin", "member", "set", "team-a", "anna@example.com", "--kind", "person", "--role", "owner"
    )
    assert "'anna@example.com' is not the id of a person" in wrong


def test_old_key_of_the_ring_can_be_removed_after_all_is_sealed_again(team):
    team.ok("admin", "secret", "set", "team-a", "TOKEN", stdin="canary-78\n")
    old, new = team.env["ONETOOL_KEYS"], team.ok("admin", "new-key", "k2")
    team.env["ONETOOL_KEYS"] = new
    assert "'k1', which this process does not have" in team.fail("admin", "rewrap-keys")
    team.env["ONETOOL_KEYS"] = f"{new},{old}"
    assert team.ok("admin", "rewrap-keys") == "Keys that were sealed again: 1."
    team.env["ONETOOL_KEYS"] = new
    assert team.ok("admin", "secret", "list", "team-a") == "TOKEN"
    assert team.ok("admin", "rewrap-keys") == "Keys that were sealed again: 0."


def test_data_key_is_replaced_and_a_value_that_cannot_be_opened_is_named(team):
    team.ok("admin", "secret", "set", "team-a", "TOKEN", stdin="canary-79\n")
    rotated = "Workspaces with new keys: {}. Values sealed again: {}."
    assert team.ok("admin", "rotate-keys", "team-a") == rotated.format(1, 1)
    assert team.ok("admin", "rotate-keys", "--all") == rotated.format(1, 1)
    assert team.ok("admin", "rotate-keys", "--all", "--older-than", "1") == rotated.format(0, 0)
    assert team.ok("admin", "secret", "list", "team-a") == "TOKEN"
    assert "Name a workspace, or use --all." in team.fail("admin", "rotate-keys")
    assert "Name a workspace, or use --all." in team.fail("admin", "rotate-keys", "team-a", "--all")
    assert "There is no workspace 'team-b'." in team.fail("admin", "rotate-keys", "team-b")
    with psycopg.connect(team.env["ONETOOL_DATABASE_URL"]) as connection:
        connection.execute("update onetool.secrets set sealed = sealed || 'x'::bytea")
    wrong = team.fail("admin", "rotate-keys", "team-a")
    assert "team-a: secrets 'TOKEN': A value cannot be opened with key" in wrong
    assert "Store or delete these values, and run the command again." in wrong
    assert "team-a: A value cannot be opened with key" in team.fail("admin", "check")
    team.ok("admin", "secret", "set", "team-a", "TOKEN", stdin="canary-80\n")
    assert team.ok("admin", "rotate-keys", "team-a") == rotated.format(1, 0)


def test_worker_says_what_is_missing(team):
    del team.env["ONETOOL_KEYS"]
    assert "Set ONETOOL_KEYS" in team.fail("worker")


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
    command = start_onetool(
        *("serve", "--hosted", "--port", "0"),
        env=team.env,
        cwd=team.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with command as server:
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


def test_limits_are_shown_changed_and_removed(team):
    limits = json.loads(team.ok("admin", "workspace", "limits", "team-a"))
    assert (limits["calls_per_minute"], limits["concurrent_runs"]) == (None, 8)
    changes = ("--calls-per-minute", "600", "--concurrent-runs", "none", "--stored-tools", "0")
    changed = json.loads(team.ok("admin", "workspace", "limits", "team-a", *changes))
    assert changed == limits | {"calls_per_minute": 600, "concurrent_runs": None, "stored_tools": 0}
    assert json.loads(team.ok("admin", "workspace", "limits", "team-a")) == changed
    for wrong, message in (("many", "neither a number nor none"), ("0", "calls_per_minute is 0")):
        assert message in team.fail("admin", "workspace", "limits", "team-a", "--calls-per-minute", wrong)
    assert "no workspace 'team-b'" in team.fail("admin", "workspace", "limits", "team-b")
    team.ok("admin", "workspace", "limits", "team-a", "--secrets", "0")
    error = team.fail("admin", "secret", "set", "team-a", "TOKEN", stdin="x\n")
    assert "the workspace has 0 secrets, and its limit is 0" in error


def test_invalid_url_of_redis_is_not_shown(team):
    team.env["ONETOOL_REDIS_URL"] = "postgres://:pass-word@127.0.0.1"
    error = team.fail("serve", "--hosted", "--port", "0")
    assert "The URL of Redis is invalid. Example: redis://" in error
    assert "pass-word" not in error


def test_audit_log_shows_what_the_operator_has_done(team):
    team.ok("admin", "secret", "set", "team-a", "TOKEN", stdin="canary-79\n")
    team.ok("admin", "workspace", "limits", "team-a", "--secrets", "5")
    key = team.ok("admin", "key", "create", "team-a", "ci")
    (listed,) = json.loads(team.ok("admin", "key", "list", "team-a"))
    team.ok("admin", "key", "revoke", "team-a", listed["id"])
    text = team.ok("admin", "audit", "team-a", "--json")
    found = json.loads(text)
    assert [(entry["action"], entry["target"]) for entry in found] == [
        ("key.revoke", listed["id"]),
        ("key.create", listed["id"]),
        ("member.put", "service/ci"),
        ("workspace.limits", "team-a"),
        ("secret.put", "TOKEN"),
        ("workspace.create", "team-a"),
    ]
    assert {(entry["actor"], entry["interface"]) for entry in found} == {("operator", "cli")}
    assert "canary-79" not in text
    assert key not in text
    filters = ("--actor", "operator", "--action", "key", "--target", listed["id"], "--since", "1h")
    assert json.loads(team.ok("admin", "audit", "team-a", *filters, "--limit", "1")) == found[:1]
    assert json.loads(team.ok("admin", "audit", "team-a", "--actor", "anna")) == []
    lines = team.ok("admin", "audit", "team-a", "--export", "--action", "key").splitlines()
    assert [json.loads(line) for line in lines] == found[:2]
    assert "no workspace 'team-b'" in team.fail("admin", "audit", "team-b")


def test_audit_log_is_sent_as_logs(team):
    team.ok("admin", "secret", "set", "team-a", "TOKEN", stdin="canary-79\n")
    assert "Set OTEL_EXPORTER_OTLP_ENDPOINT" in team.fail("admin", "audit", "team-a", "--otlp")
    with OtlpReceiver() as receiver:
        team.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url
        assert team.ok("admin", "audit", "team-a", "--otlp") == "Sent 2 changes."
        stored = json.loads(team.ok("admin", "audit", "team-a", "--json"))
        assert [(time // 1_000_000, record) for time, record in receiver.logs()] == [
            (
                round(entry["at"] * 1_000),
                {
                    "onetool.audit.id": entry["id"],
                    "onetool.workspace": "team-a",
                    "onetool.audit.actor": "operator",
                    "onetool.audit.interface": "cli",
                    "onetool.audit.action": entry["action"],
                    "onetool.audit.target": entry["target"],
                    "onetool.audit.detail": json.dumps(entry["detail"], separators=(",", ":")),
                },
            )
            for entry in stored
        ]
        assert "canary-79" not in receiver.received()
        team.env["OTEL_EXPORTER_OTLP_HEADERS"] = "X-Key=a%20b, X-Other = c"
        team.env["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] = f"{receiver.url}/elsewhere"
        assert "(HTTP status 404)" in team.fail("admin", "audit", "team-a", "--otlp")
        sent = {name.lower(): value for name, value in receiver.requests[-1].headers.items()}
        assert (sent["x-key"], sent["x-other"]) == ("a b", "c")
    assert "(ConnectError). Sent so far: 0" in team.fail("admin", "audit", "team-a", "--otlp")
