"""Server entries in pasted text."""

import pytest

from onetool.domain.servers.pasted import UnreadableText, entries_in, parse_command_line, suggest_name

ENTRY = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@1.0", "/srv"]}


@pytest.mark.parametrize(
    "document",
    [
        {"mcpServers": {"files": ENTRY}},
        {"servers": {"files": ENTRY}, "inputs": []},
        {"mcp_servers": {"files": ENTRY}},
        {"context_servers": {"files": ENTRY}},
        {"mcp": {"servers": {"files": ENTRY}}},
        {"mcp": {"files": ENTRY}},
        {"files": ENTRY},
    ],
)
def test_the_settings_of_every_client_are_understood(document):
    assert entries_in(document) == {"files": ENTRY}


def test_a_single_entry_is_named_after_its_package():
    assert entries_in(ENTRY) == {"filesystem": ENTRY}


@pytest.mark.parametrize("document", [[], "x", 3, {}, {"mcpServers": 3}, {"name": "x"}, {"a": 1}])
def test_json_without_servers_is_rejected_with_an_example(document):
    with pytest.raises(UnreadableText, match=r"not an object|no servers\. Expected"):
        entries_in(document)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("npx -y pkg 'a b'", {"command": "npx", "args": ["-y", "pkg", "a b"]}),
        ("$ uvx mcp-server-time", {"command": "uvx", "args": ["mcp-server-time"]}),
        ("KEY=a=b MODE= uvx x", {"command": "uvx", "args": ["x"], "env": {"KEY": "a=b", "MODE": ""}}),
        ("npx -y \\\n  pkg", {"command": "npx", "args": ["-y", "pkg"]}),
        ("https://example.com/mcp", {"url": "https://example.com/mcp"}),
    ],
)
def test_a_command_line_or_url_is_an_entry(text, entry):
    assert parse_command_line(text) == entry


@pytest.mark.parametrize("text", ["", "$", "KEY=1", "a 'b", "https://example.com/mcp -x"])
def test_text_without_a_command_is_rejected(text):
    with pytest.raises(UnreadableText):
        parse_command_line(text)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (ENTRY, "filesystem"),
        ({"command": "bun", "args": ["x", "@acme/notes-mcp"]}, "notes"),
        ({"command": "uvx", "args": ["mcp-server-time==1.2"]}, "time"),
        ({"command": "uv", "args": ["tool", "run", "arxiv-mcp-server"]}, "arxiv"),
        ({"command": "/usr/bin/python3.11", "args": ["-u", "/srv/notes.py"]}, "notes"),
        ({"command": "node", "args": ["build/index.js"]}, "index"),
        ({"command": "/opt/acme-mcp"}, "acme"),
        ({"command": "npx"}, "npx"),
        ({"command": "mcp-server-"}, "mcp-server-"),
        ({}, "server"),
        ({"command": 3, "args": "x"}, "server"),
        ({"url": "https://mcp.linear.app/mcp"}, "linear"),
        ({"serverUrl": "https://api.mcp.com/x"}, "api"),
        ({"url": "http:///x"}, "server"),
    ],
)
def test_a_server_is_named_after_its_package_program_or_host(entry, name):
    assert suggest_name(entry) == name
