"""`onetool init` at a terminal: what it says, what it asks, and what an answer does."""

import json
import re

import pytest
import yaml

from asking import Terminal

KEY, TOKEN, LOGIN = "BSA-1234567890", "tok-abcdefgh123", "pw-0123456789"
CURSOR = {
    "brave-search": {"command": "npx", "args": ["-y", "brave"], "env": {"BRAVE_API_KEY": KEY}},
    "docs": {"url": f"https://u:{LOGIN}@docs.example.com/mcp?token={TOKEN}", "headers": {"X-Auth": KEY}},
    "hidden": {"command": "runner", "args": ["--api-key", TOKEN]},
    "legacy": {"type": "sse", "url": "http://127.0.0.1/sse"},
    "broken": {"url": "http://[::1"},
    "onetool": {"command": "onetool", "args": ["mcp"]},
}
QUESTION = r"(?s)(?:\[(?:y/N|Y/n)\].*){{{}}}"


@pytest.fixture
def at_home(home, monkeypatch):
    """Somebody whose Cursor has servers, and whose Claude has a file that nobody can read."""
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


def talk(*answers: str, words: tuple[str, ...] = ("init",)) -> str:
    """Answer each question as it comes; return all that was on the screen."""
    with Terminal(*words) as terminal:
        for number, answer in enumerate(answers, start=1):
            terminal.until(QUESTION.format(number))
            terminal.type(answer)
        assert terminal.rest() == 0
        return terminal.seen.replace("\r", "")


def settings(home):
    return yaml.safe_load((home.config / "onetool.yaml").read_text())


def test_a_person_is_shown_the_servers_of_other_programs_and_takes_them_over_by_a_yes(at_home):
    """Each that fits is a row without its secrets; the end is one command; later there is less to ask."""
    seen = talk("y\n", "n\n")
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
    again = talk()
    assert (again.count("kept"), "[y/N]" in again) == (3, False)


def test_by_default_nothing_is_taken_over_and_changes_are_asked_for(at_home):
    """Enter twice leaves what was written; `--yes` is not asked at all; a file that is there stays."""
    mine = at_home.write("tools/hello.py", "# mine\n")
    seen = talk("\n", "\n")
    assert {"servers", "approval"} & set(settings(at_home)) == set()
    assert mine.read_text() == "# mine\n"
    assert re.search(rf"(?m)^kept +{re.escape(str(mine))}$", seen)
    asked_nothing = talk(words=("init", "--yes"))
    assert asked_nothing.count("kept") == 3
    assert "MCP servers" not in asked_nothing
