"""`onetool init` on a terminal: prompts and their effects."""

import json
import re

import pytest
import yaml

from support.ask_process import Terminal

KEY, TOKEN, LOGIN = "BSA-1234567890", "tok-abcdefgh123", "pw-0123456789"
CURSOR = {
    "brave-search": {"command": "npx", "args": ["-y", "brave"], "env": {"BRAVE_API_KEY": KEY}},
    "docs": {"url": f"https://u:{LOGIN}@docs.example.com/mcp?token={TOKEN}", "headers": {"X-Auth": KEY}},
    "hidden": {"command": "runner", "args": ["--api-key", TOKEN]},
    "legacy": {"type": "sse", "url": "http://127.0.0.1/sse"},
    "broken": {"url": "http://[::1"},
    "onetool": {"command": "onetool", "args": ["mcp"]},
}
PROMPT = r"(?s)(?:\[(?:y/N|Y/n)\].*){{{}}}"


@pytest.fixture
def at_home(home, monkeypatch):
    """A user whose Cursor has servers and whose Claude settings are invalid."""
    monkeypatch.setenv("HOME", str(home.root))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name, text in (
        (".cursor/mcp.json", json.dumps({"mcpServers": CURSOR})),
        (".config/Claude/claude_desktop_config.json", "{"),
    ):
        file = home.root / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return home


def run_init(*answers: str, args: tuple[str, ...] = ("init",)) -> str:
    """Answer each prompt and return the whole output."""
    with Terminal(*args) as terminal:
        for number, answer in enumerate(answers, start=1):
            terminal.wait_for(PROMPT.format(number))
            terminal.type(answer)
        assert terminal.wait_for_exit() == 0
        return terminal.output.replace("\r", "")


def settings(home):
    return yaml.safe_load((home.config / "onetool.yaml").read_text())


@pytest.mark.linux
def test_init_lists_the_servers_of_other_clients_and_imports_them_on_confirmation(at_home):
    """The list contains no secrets. The second run has nothing to ask."""
    seen = run_init("y\n", "n\n")
    assert str(at_home.config) in seen.partition("wrote")[0]
    rows = re.findall(r"(?m)^cursor +(\S+) +(.*?) *$", seen)
    assert rows == [
        ("brave-search", "npx -y brave"),
        ("docs", "https://docs.example.com/mcp"),
        ("hidden", "runner ..."),
    ]
    assert [secret for secret in (KEY, TOKEN, LOGIN) if secret in seen] == []
    assert seen.rstrip().splitlines()[-1].startswith("Try it:  onetool tools invoke hello.greet")
    written = settings(at_home)
    assert {"brave_search", "docs", "hidden"} <= set(written["servers"])
    assert written["approval"] == {"allow": ["*"]}
    assert written["aliases"] == {"now": "time.now"}
    assert KEY in (at_home.config / "secrets.yaml").read_text()
    again = run_init()
    assert (again.count("exists"), "[y/N]" in again) == (3, False)


@pytest.mark.linux
def test_by_default_nothing_is_imported_and_approval_is_required(at_home):
    """`--yes` skips the prompts. Existing files are unchanged."""
    mine = at_home.write("tools/hello.py", "# mine\n")
    seen = run_init("\n", "\n")
    assert {"servers", "approval"} & set(settings(at_home)) == set()
    assert mine.read_text() == "# mine\n"
    assert re.search(rf"(?m)^exists +{re.escape(str(mine))}$", seen)
    without_prompts = run_init(args=("init", "--yes"))
    assert without_prompts.count("exists") == 3
    assert "MCP servers" not in without_prompts
