"""`onetool servers`: import, add, test, approve and remove MCP servers."""

import json
import os
import stat
import sys

import pytest
import yaml

from support.onetool_process import onetool
from support.paths import MCP_SERVERS as SCRIPTS

KEY = "BSA-1234567890"


def program(mode="good", *args, script="faulty_server.py"):
    return [sys.executable, "-I", str(SCRIPTS / script), mode, *map(str, args)]


def entry(mode="good", **fields):
    command, *args = program(mode)
    return {"command": command, "args": args, **fields}


@pytest.fixture(autouse=True)
def wait_for_servers(monkeypatch):
    """Let commands wait for servers as long as they need to start."""
    monkeypatch.setenv("ONETOOL_TEST_WAIT_FOR_SERVERS", "1")


@pytest.fixture
def cursor(home):
    """Return a function that writes the servers of Cursor; `env` is the environment to find them in."""
    file = home.root / ".cursor" / "mcp.json"

    def write(servers):
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"theme": "dark", "mcpServers": servers}))
        return file

    write.env = {**os.environ, "HOME": str(home.root)}
    return write


@pytest.mark.linux
def test_import_with_move_replaces_the_servers_of_a_client(home, cursor):
    """Names become Python names, secrets go to their own file, and the client starts only OneTool."""
    file = cursor({"brave-search": entry(env={"BRAVE_API_KEY": KEY, "MODE": "x"}), "time": entry()})
    done = onetool("servers", "import", "cursor", "--move", "--yes", env=cursor.env)
    assert done.returncode == 0, done.stderr
    settings, secrets = ((home.config / name).read_text() for name in ("onetool.yaml", "secrets.yaml"))
    assert KEY in secrets
    assert KEY not in settings + done.stdout + done.stderr
    assert stat.S_IMODE((home.config / "secrets.yaml").stat().st_mode) == 0o600
    assert list(json.loads(file.read_text())["mcpServers"]) == ["onetool"]
    assert json.loads(file.read_text())["theme"] == "dark"
    backup = file.with_name("mcp.json.before-onetool")
    assert ("brave-search" in backup.read_text(), f"Backup: {backup}\n" in done.stdout) == (True, True)
    code = "['API_KEY' in brave_search.env(), time_2.echo(text='hi'), time.now()['iso'][:2]]"
    ran = onetool("run", code)
    assert yaml.safe_load(ran.stdout) == [True, "hi", "20"], ran.stderr
    again = onetool("servers", "import", "cursor", "--yes", env=cursor.env)
    assert "No servers to import" in again.stdout


@pytest.mark.parametrize(
    "changed", [{"command": "another"}, entry() | {"args": [*entry()["args"][:-1], "other"]}]
)
def test_imported_servers_can_be_moved_later(home, cursor, changed):
    """A server with the same name but another command or other arguments stays in the client."""
    file = cursor({"one": entry(), "two": entry()})
    assert onetool("servers", "import", "cursor", "--yes", env=cursor.env).returncode == 0
    cursor({"one": entry(), "two": changed})
    done = onetool("servers", "import", "cursor", "--move", "--yes", env=cursor.env)
    assert done.returncode == 0, done.stderr
    assert "two: configured differently; unchanged" in done.stderr
    assert set(json.loads(file.read_text())["mcpServers"]) == {"two", "onetool"}


def test_unsupported_servers_are_skipped_and_the_others_imported(home, cursor):
    """The exit code is 1 if a server was skipped."""
    unsupported = {
        "legacy": {"type": "sse", "url": "http://127.0.0.1/sse"},
        "asks": {"command": "x", "env": {"A": "${input:a}"}},
        "empty": {},
        "words": "npx",
    }
    cursor({**unsupported, "good": entry()})
    done = onetool("servers", "import", "cursor", "--yes", env=cursor.env)
    assert done.returncode == 1
    assert all(f"skipped  {name}" in done.stderr for name in unsupported)
    assert "Imported 1 server" in done.stdout


def test_a_server_with_unsupported_options_is_not_moved(home, cursor):
    file = cursor({"here": entry(envFile="/srv/env"), "good": entry(disabledTools=["fail"])})
    done = onetool("servers", "import", "cursor", "--move", "--yes", env=cursor.env)
    assert done.returncode == 1
    assert "skipped  here: OneTool has no setting for its 'envFile'" in done.stderr
    assert set(json.loads(file.read_text())["mcpServers"]) == {"here", "onetool"}
    assert yaml.safe_load((home.config / "onetool.yaml").read_text())["servers"]["good"]["exclude"] == [
        "fail"
    ]


def test_readable_secrets_are_reported_without_their_value(home, cursor):
    cursor({"s": {"command": "x", "args": ["--api-key", KEY]}})
    done = onetool("servers", "import", "cursor", "--yes", env=cursor.env)
    assert "note     s: its argument --api-key stays readable in onetool.yaml" in done.stderr
    added = onetool("servers", "add", "t", "--url", f"https://a.example/?token={KEY}")
    assert "note     t: token in its url stays readable in onetool.yaml" in added.stderr
    assert KEY not in done.stdout + done.stderr + added.stdout + added.stderr


def test_no_secret_is_stored_if_the_settings_cannot_be_edited(home, cursor):
    cursor({"s": entry(env={"API_KEY": KEY})})
    text = "packs: &a {a: {command: x}}\nservers: *a\n"
    settings = home.write("onetool.yaml", text)
    done = onetool("servers", "import", "cursor", "--yes", env=cursor.env)
    assert (done.returncode, "cannot be edited automatically" in done.stderr) == (2, True), done.stderr
    assert settings.read_text() == text
    assert not (home.config / "secrets.yaml").exists()


def test_nothing_is_written_without_confirmation(home, cursor):
    file = cursor({"good": entry(env={"API_KEY": KEY})})
    before = file.read_text()
    assert onetool("servers", "import", "cursor", "--move", stdin="n\n", env=cursor.env).returncode == 1
    assert file.read_text() == before
    assert not list(home.config.iterdir())


def test_servers_are_added_tested_listed_and_removed(home):
    """Comments and other settings in the file are unchanged."""
    home.write("onetool.yaml", "# mine\naliases: {e: tools.echo}\n")
    assert onetool("servers", "add", "s", "--exclude", "e*", "--", *program()).returncode == 0
    assert onetool("servers", "add", "dead", "--", "no-such-program").returncode == 0
    assert [server["state"] for server in json.loads(onetool("servers", "list").stdout)] == ["configured"] * 2
    tested = onetool("servers", "test")
    dead, s = sorted(json.loads(tested.stdout), key=lambda result: result["name"])
    assert tested.returncode == 1
    assert (s["ok"], dead["ok"]) == (True, False)
    assert "command 'no-such-program' not found" in dead["reason"]
    listed = {server["name"]: server for server in json.loads(onetool("servers", "list").stdout)}
    assert listed["s"]["state"] == "idle"
    assert listed["s"]["tools"] == s["tools"]
    assert onetool("servers", "remove", "dead").returncode == 0
    assert onetool("servers", "test", "s").returncode == 0
    assert (home.config / "onetool.yaml").read_text().startswith("# mine\naliases: {e: tools.echo}\n")


def test_tools_of_a_server_are_treated_as_read_only_once_approved(home):
    """Until then, the listing says that the server's claim is not accepted."""
    assert (
        onetool("servers", "add", "s", "--include", "echo", "--include", "pid", "--", *program()).returncode
        == 0
    )
    echo, pid = json.loads(onetool("servers", "tools", "s").stdout)
    assert (echo["name"], echo["access"]) == ("echo", "changes")
    assert echo["reason"] == "the server declares it as read-only, which you have not approved"
    assert (pid["access"], pid["reason"]) == ("changes", "the server does not declare it as read-only")
    shown = onetool("servers", "approve", "s", "echo", "--yes").stdout
    assert '"readOnlyHint": true' in shown
    assert "Approved 1 tool of s." in shown
    echo, _ = json.loads(onetool("servers", "tools", "s").stdout)
    assert (echo["access"], echo["reason"]) == ("read-only", "you approved this definition")
    assert "has no tool 'pid' to approve" in onetool("servers", "approve", "s", "pid", "--yes").stderr


def test_arguments_that_may_be_meant_differently_are_noted(home):
    """An option after the command belongs to the command, and a bare word stays as it is."""
    (home.cwd / "notes").mkdir()
    added = onetool("servers", "add", "s", "x", "notes", "x" * 5000, "--env", "A=b", "--write=notes")
    assert added.returncode == 0
    notes = [line.strip() for line in added.stderr.splitlines() if "note " in line]
    assert notes == [
        "note     s: 'notes' is passed as it is; for the directory, remove the server and pass ./notes",
        "note     s: --env is passed to the command; options of `servers add` precede it",
        "note     s: --write is passed to the command; options of `servers add` precede it",
    ]
    assert onetool("servers", "add", "t", "--env", "A=b", "x", "./notes").stderr == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("add", "s"), "either a command or --url"),
        (("add", "s", "--url", "http://a/", "--", "x"), "either a command"),
        (("add", "fs", "--", "x"), "a pack 'fs' already exists"),
        (("add", "github", "x"), "server 'github' already exists. Remove it: onetool servers remove github"),
        (("add", "a-b", "--", "x"), "a Python identifier"),
        (("add", "s", "--env", "A", "--", "x"), "--env requires NAME=VALUE"),
        (
            ("add", "s", "--header", f"Authorization: Bearer {KEY}", "--url", "http://a/"),
            "--header requires NAME=",
        ),
        (
            ("add", "s", "--header", f"Authorization: Basic {KEY}=", "--url", "http://a/"),
            "--header requires NAME=",
        ),
        (("add", "s", "--env", f"DB_URL=postgres://u:{KEY}@h/", "--", "x"), "looks like a secret"),
        (("add", "s", "--header", f"Authorization={KEY}", "--url", "http://a/"), "looks like a secret"),
        (("remove", "s"), "there is no 's'"),
        (("test", "githbu"), "Did you mean github"),
        (("test", "off"), "is disabled"),
        (("approve", "github", "x"), "has no tool 'x' to approve"),
    ],
)
def test_usage_errors_change_nothing(home, args, message):
    """No error message contains a secret."""
    command = json.dumps(entry())
    home.write("onetool.yaml", f"servers:\n  github: {command}\n  'off': {{command: x, enabled: false}}\n")
    before = (home.config / "onetool.yaml").read_text()
    done = onetool("servers", *args)
    assert done.returncode != 0
    assert message in done.stderr
    assert KEY not in done.stderr
    assert "Invalid settings" not in done.stderr
    assert (home.config / "onetool.yaml").read_text() == before


def test_a_changed_tool_is_quarantined_until_it_is_approved(home, tmp_path):
    listing = tmp_path / "tools.json"
    tool = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
    listing.write_text(json.dumps([tool]))
    onetool("servers", "add", "s", "--", *program("from-file", listing))
    assert onetool("servers", "test").returncode == 0
    listing.write_text(json.dumps([tool | {"description": "Says it louder."}]))
    tested = json.loads(onetool("servers", "test").stdout)[0]
    assert "onetool servers approve s" in tested["reason"]
    assert "changed since you approved it" in onetool("run", "s.echo()").stderr
    declined = onetool("servers", "approve", "s", stdin="n\n")
    assert "Says it again." in declined.stdout
    assert "Says it louder." in declined.stdout
    assert "Approved 1 tool" in onetool("servers", "approve", "s", "--yes").stdout
    assert onetool("run", "s.echo()").returncode == 0
    assert "has no quarantined tools or other definitions" in onetool("servers", "approve", "s").stdout
