"""`onetool servers search | install | update`: servers of the MCP registry."""

import json
import os
import re
import stat

import pytest
import yaml

from interfaces.cli.ask_process import Terminal
from onetool.testing import StubResponse
from support.onetool_process import onetool
from support.registry_stub import (
    FILESYSTEM,
    INTEGRITY,
    NOTES,
    SHA256,
    TIME,
    RegistryStub,
    entry,
    filesystem_entry,
    notes_entry,
    npm_package,
    time_entry,
    write_npx,
)

KEY = "key-1234567890"
TOOL = {"name": "list", "description": "List notes.", "inputSchema": {"type": "object"}}


@pytest.fixture
def stub(home, monkeypatch):
    """A registry whose programs `npx` and `uvx` record that they were started."""
    write_npx(home.root / "bin")
    monkeypatch.setenv("PATH", f"{home.root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ONETOOL_TEST_WAIT_FOR_SERVERS", "1")
    with RegistryStub(filesystem_entry(), time_entry(), notes_entry()) as running:
        for name, value in running.env.items():
            monkeypatch.setenv(name, value)
        home.write("onetool.yaml", f"# mine\nregistry: {{base_url: '{running.url}'}}\n")
        yield running


def servers(home):
    return yaml.safe_load((home.config / "onetool.yaml").read_text()).get("servers", {})


def has_started(home):
    return (home.root / "bin" / "started").exists()


def write_tools(home, version, *tools):
    (home.root / "bin" / f"{version}.json").write_text(json.dumps(tools))


def test_search_lists_name_version_kind_and_description(stub):
    done = onetool("servers", "search", "filesystem", "--json")
    assert json.loads(done.stdout) == [
        {
            "name": FILESYSTEM,
            "version": "2025.8.21",
            "kinds": ["npm"],
            "description": f"About {FILESYSTEM}",
            "repository": "https://github.com/modelcontextprotocol/servers",
            "status": "active",
        }
    ]


def test_search_on_a_terminal_shows_a_table_without_control_characters(stub):
    stub.entries = [
        entry("a.b/x", description="\x1b]0;title\x07 [red]bold", status="deprecated"),
        entry("a.b/x/y"),
    ]
    with Terminal("servers", "search", "x") as terminal:
        assert terminal.wait_for_exit() == 0
        assert "\x1b]0;" not in terminal.output
        assert "\x07" not in terminal.output
        for text in (
            "NAME",
            "KIND",
            "a.b/x",
            "[deprecated]",
            "Skipped 1 server",
            "onetool servers install NAME",
        ):
            assert text in terminal.output
    with Terminal("servers", "search", "nothing") as terminal:
        assert terminal.wait_for_exit() == 0
        assert "No servers found" in terminal.output


def test_search_without_a_connection_shows_the_age_of_the_answer(stub):
    online = onetool("servers", "search", "time")
    stub.failure = StubResponse("", 503)
    done = onetool("servers", "search", "time")
    assert done.stdout == online.stdout
    assert "status 503" in done.stderr
    assert re.search(r"stored answer that is \d+ (second|minute)s? old", done.stderr)
    failed = onetool("servers", "search", "other")
    assert failed.returncode == 1
    assert "The registry cannot be reached" in failed.stderr


def test_install_shows_what_would_run_and_pins_version_and_digest(stub, home):
    done = onetool("servers", "install", FILESYSTEM, "--path", ".", "--yes", cwd=home.cwd)
    assert done.returncode == 0, done.stderr
    command = f"npx -y @modelcontextprotocol/server-filesystem@2025.8.21 {home.cwd}"
    for text in (
        "io.github.modelcontextprotocol",
        command,
        INTEGRITY,
        "github.com/modelcontextprotocol/servers",
    ):
        assert text in done.stderr
    assert servers(home) == {
        "server_filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem@2025.8.21", str(home.cwd)],
            "paths": [{"path": str(home.cwd), "write": True}],
        }
    }
    assert f"It may read and change {home.cwd}." in done.stderr
    assert (home.config / "onetool.yaml").read_text().startswith("# mine\n")
    record = json.loads((home.root / "data" / "registry" / "server_filesystem.json").read_text())
    assert list(record["digests"].values()) == [INTEGRITY]
    assert not has_started(home)


def test_install_of_a_python_package_records_its_hashes(stub, home):
    done = onetool("servers", "install", TIME, "--as", "clock", "--env", "local-timezone=Asia/Tokyo", "--yes")
    assert done.returncode == 0, done.stderr
    assert servers(home)["clock"] == {
        "command": "uvx",
        "args": ["mcp-server-time==0.5.1", "--local-timezone=Asia/Tokyo"],
    }
    assert f"sha256:{SHA256}" in (home.root / "data" / "registry" / "clock.json").read_text()


def test_install_asks_for_the_secret_once_and_stores_it(stub, home):
    """The input is hidden, and the settings refer to the secret."""
    with Terminal("servers", "install", NOTES) as terminal:
        terminal.wait_for(r"NOTES_TOKEN \(Token\) \[secret, hidden\]")
        terminal.type(f"{KEY}\n")
        terminal.wait_for(r"Add notes to .*\? \[y/N\]")
        assert "npx -y notes-server@1.0.0" in terminal.output
        assert servers(home) == {}
        terminal.type("y\n")
        assert terminal.wait_for_exit() == 0
        assert KEY not in terminal.output
    assert servers(home)["notes"]["env"] == {"NOTES_TOKEN": "${NOTES_NOTES_TOKEN}"}
    file = home.config / "secrets.yaml"
    assert yaml.safe_load(file.read_text()) == {"NOTES_NOTES_TOKEN": KEY}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not has_started(home)


def test_nothing_is_written_if_the_user_declines(stub, home):
    with Terminal("servers", "install", FILESYSTEM) as terminal:
        terminal.wait_for("directory .*path")
        terminal.type("\n")
        terminal.wait_for("directory is required")
        terminal.type("/srv/my files\n")
        terminal.wait_for(r"\[y/N\]")
        assert "'/srv/my files'" in terminal.output
        terminal.type("n\n")
        assert terminal.wait_for_exit() == 1
    assert servers(home) == {}
    assert not (home.root / "data" / "registry").exists()


def test_install_without_a_terminal_needs_yes_and_required_values(stub, home):
    missing = onetool("servers", "install", NOTES, "--yes")
    assert missing.returncode == 2
    assert "requires 'NOTES_TOKEN'. Pass --env NOTES_TOKEN=VALUE" in missing.stderr
    missing = onetool("servers", "install", FILESYSTEM, "--yes")
    assert "requires 'directory'. Pass --path DIR" in missing.stderr
    unconfirmed = onetool("servers", "install", NOTES, "--env", f"NOTES_TOKEN={KEY}")
    assert unconfirmed.returncode == 1
    assert "Add --yes" in unconfirmed.stderr
    assert servers(home) == {}
    assert not (home.config / "secrets.yaml").exists()


def test_install_refers_to_an_existing_secret(stub, home):
    home.write("secrets.yaml", f"MINE: {KEY}\n")
    unknown = onetool("servers", "install", NOTES, "--env", "NOTES_TOKEN=${OTHER}", "--yes")
    assert "no secret 'OTHER'" in unknown.stderr
    done = onetool("servers", "install", NOTES, "--env", "NOTES_TOKEN=${MINE}", "--env", "MODE=x", "--yes")
    assert done.returncode == 0, done.stderr
    assert servers(home)["notes"]["env"] == {"NOTES_TOKEN": "${MINE}", "MODE": "x"}


def test_name_that_is_taken_asks_for_another(stub, home):
    done = onetool("servers", "install", TIME, "--yes")
    assert done.returncode == 2
    assert "A pack 'time' already exists. Choose another name with --as NAME." in done.stderr
    assert onetool("servers", "install", TIME, "--as", "clock", "--yes").returncode == 0
    done = onetool("servers", "install", TIME, "--as", "clock", "--yes")
    assert "A server 'clock' already exists" in done.stderr
    assert "not a Python identifier" in onetool("servers", "install", TIME, "--as", "../x", "--yes").stderr


@pytest.mark.guards("registry-install")
@pytest.mark.parametrize(
    ("package", "message"),
    [
        ({"registryType": "nuget"}, "nuget: packages of this kind cannot run"),
        ({"environmentVariables": [{"name": "A\x1b[2J"}]}, "has invisible characters"),
    ],
)
def test_unsafe_entry_is_refused(package, message, stub, home):
    stub.entries = [entry(NOTES, packages=[npm_package("p", "1.0.0") | package])]
    done = onetool("servers", "install", NOTES, "--yes")
    assert done.returncode == 1
    assert message in done.stderr
    assert "\x1b" not in done.stderr
    assert servers(home) == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--path", "/a"], "wants no further path: '/a'"),
        (["--env", "LD_PRELOAD=/x"], "could change which program runs"),
    ],
)
def test_unsuitable_value_is_refused(options, message, stub, home):
    done = onetool("servers", "install", NOTES, "--env", f"NOTES_TOKEN={KEY}", *options, "--yes")
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert servers(home) == {}


def test_package_that_the_index_does_not_have_is_refused(stub, home):
    stub.index_status = 404
    done = onetool("servers", "install", FILESYSTEM, "--path", "/a", "--yes")
    assert "npm has no @modelcontextprotocol/server-filesystem 2025.8.21" in done.stderr
    stub.index_status = 500
    done = onetool("servers", "install", FILESYSTEM, "--path", "/a", "--yes")
    assert "Digest       not available: " in done.stderr
    assert done.returncode == 0
    stub.entries = [notes_entry(fileSha256=SHA256)]
    done = onetool("servers", "install", NOTES, "--yes")
    assert "The hash of the package cannot be checked" in done.stderr


def test_remote_server_is_installed_with_its_header(stub, home):
    header = {
        "name": "Authorization",
        "value": "Bearer {t}",
        "isRequired": True,
        "variables": {"t": {"isSecret": True}},
    }
    remote = {"type": "streamable-http", "url": "https://mcp.example.com/mcp", "headers": [header]}
    stub.entries = [entry(NOTES, remotes=[remote]), entry("a.b/gone", status="deleted")]
    wrong = onetool("servers", "install", NOTES, "--env", "x=1", "--yes")
    assert "The server wants no 'x'" in wrong.stderr
    done = onetool("servers", "install", NOTES, "--env", f"t={KEY}", "--yes")
    assert done.returncode == 0, done.stderr
    assert servers(home)["notes"] == {
        "url": "https://mcp.example.com/mcp",
        "headers": {"Authorization": "Bearer ${NOTES_T}"},
    }
    assert "was deleted" in onetool("servers", "install", "a.b/gone", "--yes").stderr


def install_notes(home):
    write_tools(home, "1.0.0", TOOL)
    done = onetool("servers", "install", NOTES, "--env", f"NOTES_TOKEN={KEY}", "--yes")
    assert done.returncode == 0, done.stderr
    settings = home.config / "onetool.yaml"  # the program `npx` of the test needs files of the test
    settings.write_text(
        settings.read_text().replace("    command: npx", "    sandbox: false\n    command: npx")
    )
    assert onetool("servers", "test", "notes").returncode == 0


@pytest.mark.linux
def test_update_changes_the_version_and_shows_changed_definitions(stub, home):
    """Changed tools stay quarantined until they are approved; other settings of the server stay."""
    install_notes(home)
    text = (home.config / "onetool.yaml").read_text()
    (home.config / "onetool.yaml").write_text(
        text.replace("    command: npx", "    timeout_s: 99\n    command: npx")
    )
    assert "1.0.0 is up to date" in onetool("servers", "update").stdout
    stub.entries.append(
        notes_entry("1.1.0", variables=[{"name": "MODE", "isRequired": True, "default": "fast"}])
    )
    write_tools(home, "1.1.0", TOOL | {"description": "List and delete notes."})
    done = onetool("servers", "update", "notes", "--yes")
    assert done.returncode == 0, done.stderr
    assert "1.0.0: npx -y notes-server@1.0.0" in done.stderr
    assert "Command      npx -y notes-server@1.1.0" in done.stderr
    assert '-  "description": "List notes."' in done.stdout
    assert '+  "description": "List and delete notes."' in done.stdout
    assert "onetool servers approve notes" in done.stdout
    assert servers(home)["notes"] == {
        "command": "npx",
        "args": ["-y", "notes-server@1.1.0"],
        "sandbox": False,
        "timeout_s": 99,
        "env": {"NOTES_TOKEN": "${NOTES_NOTES_TOKEN}", "MODE": "fast"},
    }
    assert "1.1.0 is up to date" in onetool("servers", "update", "notes").stdout


@pytest.mark.linux
def test_update_that_is_declined_changes_nothing(stub, home):
    """Only an answer that was typed after the question counts."""
    install_notes(home)
    before = (home.config / "onetool.yaml").read_text()
    stub.entries.append(notes_entry("1.1.0"))
    with Terminal("servers", "update", "notes") as terminal:
        terminal.type("y\n")  # typed before the question, so it is no answer
        terminal.wait_for(r"Update notes from 1\.0\.0 to 1\.1\.0\? \[y/N\]")
        terminal.type("n\n")
        assert terminal.wait_for_exit() == 1
    assert (home.config / "onetool.yaml").read_text() == before
    assert "1.1.0" not in (home.root / "bin" / "started").read_text()


@pytest.mark.linux
def test_update_reports_a_version_that_does_not_work(stub, home):
    install_notes(home)
    stub.entries.append(notes_entry("1.1.0"))
    done = onetool("servers", "update", "--yes")
    assert done.returncode == 1
    assert "notes does not work: " in done.stderr
    stub.entries.append(notes_entry("1.2.0"))
    write_tools(home, "1.2.0", TOOL)
    done = onetool("servers", "update", "--yes")
    assert "No definition of a tool has changed" in done.stdout


@pytest.mark.linux
def test_update_of_one_server_does_not_depend_on_another(stub, home):
    """A version that cannot be used is reported, and a disabled server is updated but not started."""
    install_notes(home)
    assert onetool("servers", "install", FILESYSTEM, "--path", "/a", "--yes").returncode == 0
    text = (home.config / "onetool.yaml").read_text().replace("  notes:\n", "  notes:\n    enabled: false\n")
    (home.config / "onetool.yaml").write_text(text)
    stub.entries += [filesystem_entry("latest"), notes_entry("1.1.0")]
    done = onetool("servers", "update", "--yes")
    assert done.returncode == 1
    assert "server_filesystem: " in done.stderr
    assert "is not an exact version" in done.stderr
    assert "notes is disabled in the settings and was not started" in done.stdout
    assert servers(home)["notes"]["args"] == ["-y", "notes-server@1.1.0"]
    assert "1.1.0" not in (home.root / "bin" / "started").read_text()


@pytest.mark.guards("registry-install")
@pytest.mark.linux
def test_update_is_refused_if_the_installed_package_has_changed(stub, home):
    install_notes(home)
    stub.entries.append(notes_entry("1.1.0"))
    stub.integrity = INTEGRITY.replace("A", "B")
    done = onetool("servers", "update", "notes", "--yes")
    assert done.returncode == 1
    assert "the files of notes-server 1.0.0 have changed in the package index" in done.stderr
    stub.index_status = 500
    done = onetool("servers", "update", "notes", "--yes")
    assert "the installed package cannot be checked" in done.stderr
    assert servers(home)["notes"]["args"] == ["-y", "notes-server@1.0.0"]


@pytest.mark.linux
def test_older_version_of_the_registry_is_not_an_update(stub, home):
    install_notes(home)
    stub.entries.append(notes_entry("0.9.0"))
    assert "1.0.0 is up to date" in onetool("servers", "update", "notes", "--yes").stdout


def test_update_is_refused_if_the_server_is_not_what_was_installed(stub, home):
    assert onetool("servers", "install", FILESYSTEM, "--path", "/a", "--yes").returncode == 0
    assert onetool("servers", "add", "other", "--", "npx", "x").returncode == 0
    assert onetool("servers", "update", "othr").returncode == 2
    assert "was not installed from the registry" in onetool("servers", "update", "other").stderr
    text = (home.config / "onetool.yaml").read_text()
    (home.config / "onetool.yaml").write_text(text.replace("- /a", "- /b"))
    done = onetool("servers", "update")
    assert done.returncode == 1
    assert "was changed in the settings" in done.stderr
    record = home.root / "data" / "registry" / "server_filesystem.json"
    record.write_text("[]")
    assert "not a record of an installed server" in onetool("servers", "update").stderr
