"""`onetool servers`: other MCP servers moved in, tried, approved and taken out again."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest
import yaml

from commands import onetool

SCRIPTS = Path(__file__).parents[1] / "mcp_servers"
KEY = "BSA-1234567890"


def program(mode="good", *more, script="by_hand.py"):
    return [sys.executable, "-I", str(SCRIPTS / script), mode, *map(str, more)]


def entry(mode="good", *more, **known):
    command, *args = program(mode, *more)
    return {"command": command, "args": args, **known}


@pytest.fixture
def cursor(home):
    """Servers as Cursor knows them, and the environment in which its file is found."""
    file = home.root / ".cursor" / "mcp.json"

    def write(servers):
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"theme": "dark", "mcpServers": servers}))
        return file

    write.env = {**os.environ, "HOME": str(home.root)}
    return write


def test_a_clients_servers_move_in_with_one_command_and_answer(home, cursor):
    """Names fit Python, secrets go to their own file, the client then starts OneTool alone."""
    file = cursor({"brave-search": entry(env={"BRAVE_API_KEY": KEY, "MODE": "x"}), "time": entry()})
    done = onetool("servers", "import", "cursor", "--move", "--yes", env=cursor.env)
    assert done.returncode == 0, done.stderr
    settings, secrets = ((home.config / name).read_text() for name in ("onetool.yaml", "secrets.yaml"))
    assert KEY in secrets
    assert KEY not in settings + done.stdout + done.stderr
    assert stat.S_IMODE((home.config / "secrets.yaml").stat().st_mode) == 0o600
    assert list(json.loads(file.read_text())["mcpServers"]) == ["onetool"]
    assert json.loads(file.read_text())["theme"] == "dark"
    assert "brave-search" in file.with_name("mcp.json.before-onetool").read_text()
    ran = onetool("run", "['API_KEY' in brave_search.env(), time_2.echo(text='hi'), time.now()['iso'][:2]]")
    assert yaml.safe_load(ran.stdout) == [True, "hi", "20"], ran.stderr
    again = onetool("servers", "import", "cursor", "--yes", env=cursor.env)
    assert "no servers to take over" in again.stdout


def test_what_was_taken_over_before_can_be_moved_later(home, cursor):
    """The client lets go of what is here; a server of the same name that is another one stays with it."""
    file = cursor({"one": entry(), "two": entry()})
    assert onetool("servers", "import", "cursor", "--yes", env=cursor.env).returncode == 0
    cursor({"one": entry(), "two": {"command": "another"}})
    done = onetool("servers", "import", "cursor", "--move", "--yes", env=cursor.env)
    assert done.returncode == 0, done.stderr
    assert "two, but not the same: it stays" in done.stderr
    assert set(json.loads(file.read_text())["mcpServers"]) == {"two", "onetool"}


def test_what_cannot_be_taken_over_is_named_and_the_rest_is_taken(home, cursor):
    """One odd entry of a client does not keep the others back, and the exit code tells."""
    odd = {
        "legacy": {"type": "sse", "url": "http://127.0.0.1/sse"},
        "asks": {"command": "x", "env": {"A": "${input:a}"}},
        "empty": {},
        "words": "npx",
    }
    cursor({**odd, "good": entry()})
    done = onetool("servers", "import", "cursor", "--yes", env=cursor.env)
    assert done.returncode == 1
    assert all(f"left   {name}" in done.stderr for name in odd)
    assert "Took over 1 server" in done.stdout


def test_every_move_keeps_the_file_as_it_was(home, cursor):
    """The second backup replaces no first one, and the one that is named is the one that was written."""
    file = cursor({"one": entry()})
    for number, name in enumerate(("one", "two", "three"), start=1):
        before = cursor({name: entry()}).read_text()
        done = onetool("servers", "import", "cursor", "--move", "--yes", env=cursor.env)
        backup = file.with_name("mcp.json.before-onetool" + (f"-{number}" if number > 1 else ""))
        assert f"The file as it was: {backup}\n" in done.stdout, done.stderr
        assert backup.read_text() == before


def test_a_server_that_would_lose_something_stays_where_it_is(home, cursor):
    """What OneTool has no setting for is named; with --move the client keeps such a server."""
    file = cursor({"here": entry(cwd="/srv"), "good": entry(disabledTools=["fail"])})
    done = onetool("servers", "import", "cursor", "--move", "--yes", env=cursor.env)
    assert done.returncode == 1
    assert "left   here: OneTool has no setting for its 'cwd'" in done.stderr
    assert list(json.loads(file.read_text())["mcpServers"]) == ["here", "onetool"]
    assert yaml.safe_load((home.config / "onetool.yaml").read_text())["servers"]["good"]["exclude"] == [
        "fail"
    ]


def test_a_secret_that_stays_readable_is_said(home, cursor):
    """Of an argument only its name, both when it is moved in and when it is added by hand."""
    cursor({"s": {"command": "x", "args": ["--api-key", KEY]}})
    done = onetool("servers", "import", "cursor", "--yes", env=cursor.env)
    assert "note   s: its argument --api-key stays readable in onetool.yaml" in done.stderr
    added = onetool("servers", "add", "t", "--url", f"https://a.example/?token={KEY}")
    assert "note   t: token in its url stays readable in onetool.yaml" in added.stderr
    assert KEY not in done.stdout + done.stderr + added.stdout + added.stderr


def test_no_secret_is_kept_for_servers_that_cannot_be(home, cursor):
    """Settings that cannot be edited are found out before the first file is written."""
    cursor({"s": entry(env={"API_KEY": KEY})})
    settings = home.write("onetool.yaml", "servers: {a: {command: x}}\n")
    done = onetool("servers", "import", "cursor", "--yes", env=cursor.env)
    assert (done.returncode, "cannot be edited for you" in done.stderr) == (2, True)
    assert settings.read_text() == "servers: {a: {command: x}}\n"
    assert not (home.config / "secrets.yaml").exists()


def test_nothing_is_written_before_somebody_says_yes(home, cursor):
    """Declined means untouched."""
    file = cursor({"good": entry(env={"API_KEY": KEY})})
    before = file.read_text()
    assert onetool("servers", "import", "cursor", "--move", stdin="n\n", env=cursor.env).returncode == 1
    assert file.read_text() == before
    assert not list(home.config.iterdir())


def test_servers_are_added_tested_listed_and_removed(home):
    """The whole life of an entry, beside what a person wrote."""
    home.write("onetool.yaml", "# mine\naliases: {e: tools.echo}\n")
    assert onetool("servers", "add", "s", "--exclude", "e*", "--", *program()).returncode == 0
    assert onetool("servers", "add", "dead", "--", "no-such-program").returncode == 0
    assert [one["state"] for one in json.loads(onetool("servers", "list").stdout)] == ["configured"] * 2
    tested = onetool("servers", "test")
    dead, s = sorted(json.loads(tested.stdout), key=lambda one: one["name"])
    assert tested.returncode == 1
    assert (s["ok"], dead["ok"]) == (True, False)
    assert "no program 'no-such-program'" in dead["reason"]
    listed = {one["name"]: one for one in json.loads(onetool("servers", "list").stdout)}
    assert listed["s"]["state"] == "known"
    assert listed["s"]["tools"] == s["tools"]
    assert onetool("servers", "remove", "dead").returncode == 0
    assert onetool("servers", "test", "s").returncode == 0
    assert (home.config / "onetool.yaml").read_text().startswith("# mine\naliases: {e: tools.echo}\n")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("add", "s"), "either a command after -- or a --url"),
        (("add", "s", "--url", "http://a/", "--", "x"), "either a command"),
        (("add", "fs", "--", "x"), "a pack 'fs' already"),
        (("add", "a-b", "--", "x"), "a Python name"),
        (("add", "s", "--env", "A", "--", "x"), "--env takes NAME=VALUE"),
        (
            ("add", "s", "--header", f"Authorization: Bearer {KEY}", "--url", "http://a/"),
            "--header takes NAME=",
        ),
        (
            ("add", "s", "--header", f"Authorization: Basic {KEY}=", "--url", "http://a/"),
            "--header takes NAME=",
        ),
        (("add", "s", "--env", f"DB_URL=postgres://u:{KEY}@h/", "--", "x"), "looks like a secret"),
        (("add", "s", "--header", f"Authorization={KEY}", "--url", "http://a/"), "looks like a secret"),
        (("remove", "s"), "there is no 's'"),
        (("test", "githbu"), "Did you mean github"),
        (("test", "off"), "switched off"),
        (("approve", "github", "x"), "holds back no tool 'x'"),
    ],
)
def test_what_was_asked_wrongly_is_said_and_nothing_changes(home, args, says):
    """A mistake names itself, what would be right, and leaves the file as it was."""
    command = json.dumps(entry())
    home.write("onetool.yaml", f"servers:\n  github: {command}\n  'off': {{command: x, enabled: false}}\n")
    before = (home.config / "onetool.yaml").read_text()
    done = onetool("servers", *args)
    assert done.returncode != 0
    assert says in done.stderr
    assert KEY not in done.stderr
    assert "the settings cannot be used" not in done.stderr
    assert (home.config / "onetool.yaml").read_text() == before


def test_a_changed_tool_is_shown_and_approved(home, tmp_path):
    """A definition that changes after it was first seen is not used before somebody has looked at it."""
    listing = tmp_path / "tools.json"
    tool = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
    listing.write_text(json.dumps([tool]))
    onetool("servers", "add", "s", "--", *program("from-file", listing))
    assert onetool("servers", "test").returncode == 0
    listing.write_text(json.dumps([tool | {"description": "Says it louder."}]))
    held = json.loads(onetool("servers", "test").stdout)[0]
    assert "onetool servers approve s" in held["reason"]
    assert "changed since you approved it" in onetool("run", "s.echo()").stderr
    declined = onetool("servers", "approve", "s", stdin="n\n")
    assert "Says it again." in declined.stdout
    assert "Says it louder." in declined.stdout
    assert "Approved 1 tool" in onetool("servers", "approve", "s", "--yes").stdout
    assert onetool("run", "s.echo()").returncode == 0
    assert "holds nothing back" in onetool("servers", "approve", "s").stdout
