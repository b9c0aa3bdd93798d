"""Settings files of MCP clients. Each has a file in `client_files`, as the client writes it."""

import json
import re
from pathlib import Path

import pytest

from onetool.domain.servers.client_config import CLIENTS, UnsupportedServer, import_server
from onetool.interfaces.mcp_clients import McpClient, UnreadableClientConfig, known_clients
from support.onetool_process import onetool

FILES = Path(__file__).parent / "client_files"
PLAIN = {"command": "/bin/onetool", "args": ["mcp"]}
ENTRIES = dict.fromkeys(CLIENTS, PLAIN) | {
    "vscode": {"type": "stdio", **PLAIN},
    "opencode": {"type": "local", "command": ["/bin/onetool", "mcp"], "enabled": True},
}
CLINE = "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
PATHS = {
    "linux": {
        "claude-desktop": ".config/Claude/claude_desktop_config.json",
        "cursor": ".cursor/mcp.json",
        "vscode": ".config/Code/User/mcp.json",
        "codex": ".codex/config.toml",
        "windsurf": ".codeium/windsurf/mcp_config.json",
        "zed": ".config/zed/settings.json",
        "gemini": ".gemini/settings.json",
        "cline": f".config/{CLINE}",
        "opencode": ".config/opencode/opencode.json",
    },
    "darwin": {
        "claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json",
        "vscode": "Library/Application Support/Code/User/mcp.json",
        "zed": ".config/zed/settings.json",
        "cline": f"Library/Application Support/{CLINE}",
        "opencode": ".config/opencode/opencode.json",
    },
    "win32": {
        "claude-desktop": "AppData/Roaming/Claude/claude_desktop_config.json",
        "vscode": "AppData/Roaming/Code/User/mcp.json",
        "zed": "AppData/Roaming/Zed/settings.json",
        "cline": f"AppData/Roaming/{CLINE}",
        "opencode": ".config/opencode/opencode.json",
    },
}


@pytest.fixture(params=CLIENTS)
def client(request, tmp_path) -> McpClient:
    """A client with the file that its fixture contains."""
    return make_client(tmp_path, request.param)


@pytest.fixture
def user(home, tmp_path, monkeypatch) -> Path:
    """Return the home directory in which commands look for clients."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


def make_client(home: Path, name: str) -> McpClient:
    client = known_clients({"HOME": str(home)}, "linux")[name]
    client.file.parent.mkdir(parents=True)
    (fixture,) = FILES.glob(f"{name}.*")
    assert fixture.suffix == client.file.suffix
    client.file.write_bytes(fixture.read_bytes())
    return client


@pytest.mark.parametrize("platform", PATHS)
def test_paths_on_each_platform(platform):
    clients = known_clients({"HOME": "/home/me"}, platform)
    assert tuple(clients) == CLIENTS
    expected = {**PATHS["linux"], **PATHS[platform]}
    assert {name: client.file for name, client in clients.items()} == {
        name: Path("/home/me") / path for name, path in expected.items()
    }


def test_paths_follow_the_environment():
    env = {"HOME": "/h", "XDG_CONFIG_HOME": "/x", "APPDATA": "/a"}
    assert known_clients(env, "linux")["zed"].file == Path("/x/zed/settings.json")
    assert known_clients(env, "win32")["claude-desktop"].file == Path("/a/Claude/claude_desktop_config.json")


def test_opencode_uses_the_file_that_exists(tmp_path):
    file = tmp_path / ".config/opencode/opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    assert known_clients({"HOME": str(tmp_path)}, "linux")["opencode"].file == file


def test_the_entry_is_added_and_every_other_byte_stays(client):
    """Comments, other servers, other settings and the formatting."""
    before = client.text()
    after = client.with_server("/bin/onetool", ["mcp"])
    entries = client._entries(after)
    assert entries["onetool"] == ENTRIES[client.name]
    assert {name: entry for name, entry in entries.items() if name != "onetool"} == client._entries(before)
    old, new = ("".join(text.split()) for text in (before, after))
    start = next((index for index, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    assert new.endswith(old[start:]), "more than one insertion"
    client.file.write_text(after)
    assert client.with_server("/bin/onetool", ["mcp"]) == after


def test_a_missing_file_is_created_with_one_server(client):
    client.file.unlink()
    client.write(client.with_server("/bin/onetool", ["mcp"]))
    assert client._entries(client.text()) == {"onetool": ENTRIES[client.name]}
    assert client.file.stat().st_mode & 0o777 == 0o600


def test_an_added_entry_looks_like_its_surroundings(tmp_path):
    """Indentation with four spaces, tabs, or on one line."""
    texts = {
        name: make_client(tmp_path / name, name).with_server("onetool", ["mcp"])
        for name in ("cursor", "vscode", "cline", "gemini", "windsurf")
    }
    assert texts["cursor"].startswith(
        '{\n    "mcpServers": {\n        "onetool": {\n            "command": "onetool",\n'
    )
    assert '\t"servers": {\n\t\t"onetool": {\n\t\t\t"type": "stdio",\n' in texts["vscode"]
    assert texts["cline"].startswith(
        '{"mcpServers": {"onetool": {"command": "onetool", "args": ["mcp"]}, "weather"'
    )
    assert texts["gemini"].startswith('{\n  "mcpServers": {\n    "onetool": {\n      "command": "onetool",\n')
    assert texts["windsurf"].endswith('        "mcp"\n      ]\n    }\n  }\n}\n')


def test_an_outdated_entry_is_replaced(tmp_path):
    client = make_client(tmp_path, "zed")
    client.file.write_text(client.with_server("/old/onetool", ["mcp", "--old"]))
    after = client.with_server("/bin/onetool", ["mcp"])
    assert client._entries(after)["onetool"] == PLAIN
    assert after == make_client(tmp_path / "fresh", "zed").with_server("/bin/onetool", ["mcp"])


@pytest.mark.linux
def test_writing_keeps_mode_link_and_a_backup_of_each_state(tmp_path):
    """Dotfiles are often links into a repository."""
    client = make_client(tmp_path, "zed")
    target = client.file.rename(tmp_path / "dotfiles.json")
    target.chmod(0o644)
    client.file.symlink_to(target)
    before = client.text()
    first = client.write("{}")
    second = client.write("[]")
    assert (client.file.is_symlink(), target.read_text(), target.stat().st_mode & 0o777) == (
        True,
        "[]",
        0o644,
    )
    assert (first.read_text(), second.read_text()) == (before, "{}")
    assert second.name == "settings.json.before-onetool-2"


def test_line_ends_are_preserved(tmp_path):
    client = make_client(tmp_path, "zed")
    client.file.write_bytes(client.file.read_bytes().replace(b"\n", b"\r\n"))
    client.write(client.with_server("onetool", ["mcp"]))
    content = client.file.read_bytes()
    assert content.count(b"\r\n") == content.count(b"\n") > 20


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("zed", '{"context_servers": [}', "is not valid: line 1: unexpected '}'"),
        ("zed", '{"context_servers": []}', "has no map of servers under 'context_servers'"),
        ("zed", '{"context_servers": {}, "context_servers": {"a": {}}, "x": 1', "unexpected end of the file"),
        ("gemini", '{"mcpServers": null}', "has no map of servers under 'mcpServers'"),
        ("codex", "mcp_servers = {}\n", "add this to it yourself:\n[mcp_servers.onetool]\n"),
        ("codex", "[", "is not valid"),
    ],
)
def test_a_file_that_cannot_be_edited_stays_unchanged(user, name, text, message):
    client = make_client(user, name)
    client.file.write_text(text)
    with pytest.raises(UnreadableClientConfig, match=re.escape(message)):
        client.with_server("onetool", ["mcp"])
    done = onetool("mcp", "install", name, "--yes")
    assert (done.returncode, client.text(), list(client.file.parent.glob("*before*"))) == (1, text, [])
    assert done.stderr.rstrip().endswith("The file is unchanged.")


def test_the_shown_change_contains_no_other_line(user):
    """Lines around the change may contain keys of other services."""
    client = make_client(user, "zed")
    client.file.write_text(
        client.text().replace('"context_servers": {\n', '"context_servers": {\n // sk-neighbor\n')
    )
    done = onetool("mcp", "install", "zed", stdin="n\n")
    assert (done.returncode, "sk-neighbor" in done.stdout) == (1, False)
    assert '+    "onetool": {\n' in done.stdout


def test_servers_of_every_client_can_be_imported(client):
    """Those that only the client can resolve are rejected with a reason, not imported in part."""
    imported, rejected = {}, []
    for name, entry in client.servers().items():
        try:
            imported[name] = import_server(name, entry).server
        except UnsupportedServer:
            rejected.append(name)
    expected = {
        "claude-desktop": (["filesystem"], []),
        "cursor": (["docs"], []),
        "vscode": (["github"], []),
        "codex": (["context"], []),
        "zed": (["custom"], ["from-extension"]),
        "cline": (["weather"], []),
        "opencode": (["local", "remote"], ["variable"]),
    }
    assert (list(imported), rejected) == expected.get(client.name, ([], []))
    if client.name == "opencode":
        assert imported["local"] == {"command": "bun", "args": ["x", "server"], "env": {"MODE": "fast"}}
        assert imported["remote"] == {"url": "https://mcp.example.com", "enabled": False}


def test_entries_of_gemini_are_converted(tmp_path):
    """Its `url` is SSE, which OneTool does not support. `trust` concerns only the client."""
    client = make_client(tmp_path, "gemini")
    client.file.write_text(
        """{"mcpServers": {
        "a": {"command": "x", "trust": true, "includeTools": ["r*"], "excludeTools": ["w"]},
        "b": {"httpUrl": "https://example.com/mcp"}, "c": {"url": "https://example.com/sse"}, "d": 5}}"""
    )
    servers = client.servers()
    assert import_server("a", servers["a"]).server == {"command": "x", "include": ["r*"], "exclude": ["w"]}
    assert import_server("b", servers["b"]).server == {"url": "https://example.com/mcp"}
    for name, reason in (("c", "SSE"), ("d", "not an object")):
        with pytest.raises(UnsupportedServer, match=reason):
            import_server(name, servers[name])


def test_moving_servers_removes_only_them(tmp_path):
    client = make_client(tmp_path, "zed")
    after = client.with_server("onetool", ["mcp"], without={"custom", "not-there"})
    assert list(client._entries(after)) == ["onetool", "from-extension"]
    assert "// a custom server" in after
    assert '/* "context_servers": {"commented": {}}, */' in after


def test_removing_onetool_restores_the_file(client):
    """All but white space is as before. A map of servers that was added stays, empty."""
    before = client.text()
    client.write(client.with_server("/bin/onetool", ["mcp"]))
    assert client.onetool_entries() == ["onetool"]
    after = client.without_servers(["onetool"])
    assert client._entries(after) == client._entries(before)
    old, new = ("".join(text.split()) for text in (before, after))
    assert old == (new if client.key in before else new.replace(f'"{client.key}":{{}},', ""))
    client.file.write_text(after)
    assert client.onetool_entries() == []


@pytest.mark.parametrize("name", ["cursor", "codex", "opencode"])
def test_entries_for_profiles_and_single_servers_are_removed_too(user, name):
    """An entry of another program stays, whatever its name."""
    client = known_clients({"HOME": str(user)}, "linux")[name]
    commands = {
        "research": [r"C:\bin\onetool.exe", "mcp", "--profile", "research"],
        "github": ["/usr/bin/onetool", "mcp", "--only", "github"],
        "onetool-two": ["/usr/bin/other", "mcp"],
    }
    entries = {key: client.make_entry(command, args) for key, (command, *args) in commands.items()}
    client.file.parent.mkdir(parents=True)
    tables = [f"[mcp_servers.{key}]\ncommand = '{c}'\nargs = {a}\n" for key, (c, *a) in commands.items()]
    client.file.write_text("\n".join(tables) if client.is_toml else json.dumps({client.key: entries}))
    before = client.text()
    done = onetool("mcp", "uninstall", name, "--yes")
    assert (done.returncode, list(client._entries(client.text()))) == (0, ["onetool-two"]), done.stderr
    assert "Removed research, github." in done.stdout
    (backup,) = client.file.parent.glob("*before-onetool")
    assert backup.read_text() == before
    again = onetool("mcp", "uninstall", name, "--yes")
    assert (again.returncode, again.stdout) == (0, f"{client.file} does not contain OneTool.\n")


def test_removal_shows_no_values_of_variables(user):
    client = known_clients({"HOME": str(user)}, "linux")["codex"]
    client.file.parent.mkdir(parents=True)
    client.file.write_text(
        "[mcp_servers.onetool]\ncommand = 'onetool'\nargs = ['mcp']\n\n[mcp_servers.onetool.env]\n"
        'A = \'canary-1\'\nB = "canary\\u002D2"\n\'C\' = """\ncanary-3\n"""\n'
        "[mcp_servers.two]\ncommand = 'onetool'\nargs = ['mcp']\nenv = {D = 'canary-4', E = \"canary-5\"}\n"
    )
    done = onetool("mcp", "uninstall", "codex", stdin="n\n")
    assert (done.returncode, "canary" in done.stdout) == (1, False), done.stdout
    assert '-A = "***"\n-B = "***"\n' in done.stdout


def test_removal_without_a_confirmation_changes_nothing(user):
    client = make_client(user, "zed")
    client.file.write_text(client.with_server("onetool", ["mcp"]))
    before = client.text()
    done = onetool("mcp", "uninstall", "zed", stdin="n\n")
    assert (done.returncode, client.text()) == (1, before)
    assert '-    "onetool": {\n' in done.stdout


@pytest.mark.parametrize("name", ["claude", "claude-code"])
def test_guessed_client_is_answered_with_its_command(home, name):
    done = onetool("mcp", "install", name)
    assert done.returncode == 2
    assert "claude mcp add onetool -- onetool mcp" in done.stderr
