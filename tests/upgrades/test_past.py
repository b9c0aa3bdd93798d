"""What an earlier revision has stored opens with today's code: `write_past.py` wrote it.

A change of a format keeps these tests passing, with a migration where one is needed. A new fixture is added
when stores gain something; those that exist are never written again.
"""

import json
import lzma
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from onetool.storage.postgres.migrate import migrate
from support.onetool_process import onetool
from support.postgres import empty_database, new_database, postgres_program
from support.rest_process import RestProcess
from upgrades.write_past import BUNDLE, HTTP_ONLY, KEYS, TOKEN, WORKSPACE

FOLDER = Path(__file__).parent
REVISIONS = sorted(folder.name for folder in FOLDER.iterdir() if (folder / "home.tar.xz").exists())
TOOL = f"/tools/bundles/{BUNDLE}/tools"


class PastHome(RestProcess):
    """`onetool serve` with a home directory of the past."""

    token = TOKEN

    def __init__(self, root, revision):
        with tarfile.open(FOLDER / revision / "home.tar.xz") as archive:
            archive.extractall(root, filter="data")
        self.home = root / "home"
        super().__init__(self.home, probes=False, ONETOOL_TOKEN=TOKEN)
        self.variables = {
            f"ONETOOL_{name.upper()}_DIR": str(self.home / name) for name in ("config", "data", "state")
        }

    def write_settings(self, text):
        """Keep the settings of the past."""

    def write_secrets(self):
        """Keep the secrets of the past."""

    def json(self, *words):
        """Run a command and return its JSON output."""
        done = onetool(*words, "--json", env=os.environ | self.variables, cwd=self.home / "work")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(params=REVISIONS)
def past(request, tmp_path):
    """Return a home directory of the past."""
    return PastHome(tmp_path, request.param)


def check_bundles(server):
    """What stored tools do and whether they are enabled is as it was."""
    assert [server.find_bundle(bundle)["isEnabled"] for bundle in (BUNDLE, HTTP_ONLY)] == [True, False]
    reply = server.client.post(f"{TOOL}/shout/version/v1/invoke", json={"args": {"text": "quiet"}})
    assert reply.json()["value"] == "QUIET"
    fetches = [server.client.get(f"{TOOL}/fetch/version/{version}").json() for version in ("v1", "v2")]
    assert [tool["isEnabled"] for tool in fetches] == [False, True]
    assert fetches[1]["httpImpl"]["request"]["auth"] == {"type": "bearer", "token": "${BOUND}"}
    assert fetches[1]["tags"] == ["old"]


def test_stored_tools_of_a_home_are_called(past):
    with past as server:
        check_bundles(server)


def test_tools_servers_and_switches_of_a_home_are_kept(past):
    names = {tool["name"] for tool in past.json("tools", "list")}
    assert {"journal.write", "journal.pages", "clock.now", "house.shout"} <= names
    assert "time.now" not in names  # disabled
    assert {secret["name"] for secret in past.json("secrets", "list")} == {"PLAIN", "BOUND"}


def test_conversation_of_a_home_is_continued(past):
    shown = past.json("sessions", "show", "diary")
    assert [message["role"] for message in shown] == ["user", "assistant", "tool", "assistant"]
    command = ("ask", "Again.", "--provider", "scripted", "--session", "diary")
    done = onetool(*command, env=os.environ | past.variables, cwd=past.home / "work")
    assert json.loads(done.stdout)["answer"] == "It is written."


def test_calls_and_results_of_a_home_are_shown(past):
    calls = past.json("activity")
    assert {"journal.write", "clock.now", "journal.pages", "house.shout"} <= {call["tool"] for call in calls}
    (result,) = (past.home / "data" / "results").glob("*.json")
    page = past.json("call", "ot.result", f"handle={result.stem}")
    assert "word word" in json.dumps(page)


def test_nothing_of_a_home_is_put_aside_as_corrupt(past):
    past.json("tools", "list")
    with past as server:
        check_bundles(server)
    assert [file.name for file in past.home.rglob("*") if "corrupt" in file.name] == []
    assert [
        record
        for record in past.home.joinpath("state/onetool.jsonl").read_text().splitlines()
        if '"error"' in record
    ] == []


class PastInstallation:
    """A hosted installation of the past."""

    def __init__(self, root, url, revision):
        script = lzma.decompress((FOLDER / revision / "hosted.sql.xz").read_bytes())
        self.key = script.splitlines()[0].split()[-1].decode()
        subprocess.run(
            [postgres_program("psql"), "--quiet", "-v", "ON_ERROR_STOP=1", url],
            input=script,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.variables = {"ONETOOL_DATABASE_URL": url, "ONETOOL_KEYS": KEYS}
        self.server = PastServer(root, self)


class PastServer(RestProcess):
    """`onetool serve --hosted` with the database of the past."""

    command = ("serve", "--hosted", "--port", "0")
    path = f"/w/{WORKSPACE}"

    def __init__(self, root, installation):
        self.token = installation.key
        super().__init__(root, **installation.variables)


@pytest.fixture(params=REVISIONS)
def installation(request, tmp_path):
    """Return an installation of the past, whose tables have been migrated."""
    with new_database():  # creates the roles of the server
        pass
    with empty_database() as url:
        installation = PastInstallation(tmp_path, url, request.param)
        migrate(url)
        yield installation


def test_hosted_database_is_migrated_and_used(installation):
    checked = onetool("admin", "check", env=os.environ | installation.variables)
    assert checked.returncode == 0, checked.stderr
    secrets = onetool("admin", "secret", "list", WORKSPACE, env=os.environ | installation.variables)
    assert "PLAIN" in secrets.stdout
    with installation.server as server:
        check_bundles(server)
        calls = server.client.get("/activity").json()
        assert {"house.shout", "tools.echo"} <= {call["tool"] for call in calls["records"]}
