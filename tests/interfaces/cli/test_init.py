"""`onetool init` on a terminal: prompts and their effects."""

import json
import re

import pytest
import yaml

from interfaces.cli.ask_process import Terminal
from interfaces.cli.setups import write_setup
from support.onetool_process import onetool

KEY, TOKEN, LOGIN = "BSA-1234567890", "tok-abcdefgh123", "pw-0123456789"
CURSOR = {
    "brave-search": {"command": "npx", "args": ["-y", "brave"], "env": {"BRAVE_API_KEY": KEY}},
    "docs": {"url": f"https://u:{LOGIN}@docs.example.com/mcp?token={TOKEN}", "headers": {"X-Auth": KEY}},
    "hidden": {"command": "runner", "args": ["--api-key", TOKEN]},
    "legacy": {"type": "sse", "url": "http://127.0.0.1/sse"},
    "broken": {"url": "http://[::1"},
    "onetool": {"command": "onetool", "args": ["mcp"]},
}
PROMPT = r"(?s)(?:\[(?:y/N|Y/n|ask)\]: .*){{{}}}"


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


def files_in(directory):
    return {file: file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def settings(home):
    return yaml.safe_load((home.config / "onetool.yaml").read_text())


@pytest.mark.linux
def test_init_lists_the_servers_of_other_clients_and_imports_them_on_confirmation(at_home):
    """The list contains no secrets. The second run has nothing to ask."""
    seen = run_init("y\n", "n\n", "n\n")
    assert "OneTool in the background shares them" in seen
    assert str(at_home.config) in seen.partition("wrote")[0]
    rows = re.findall(r"(?m)^cursor +(\S+) +(.*?) *$", seen)
    assert rows == [
        ("brave-search", "npx -y brave"),
        ("docs", "https://docs.example.com/mcp"),
        ("hidden", "runner ..."),
        ("broken", "an invalid URL"),
    ]
    assert [secret for secret in (KEY, TOKEN, LOGIN) if secret in seen] == []
    assert seen.rstrip().splitlines()[-1].startswith("Try it:  onetool call hello.greet")
    written = settings(at_home)
    assert {"brave_search", "docs", "hidden"} <= set(written["servers"])
    assert written["approval"] == {"allow": ["*"]}
    assert written["aliases"] == {"now": "time.now"}
    assert KEY in (at_home.config / "secrets.yaml").read_text()
    again = run_init()
    assert (again.count("exists"), "]: " in again) == (3, False)


@pytest.mark.linux
def test_by_default_nothing_is_imported_and_approval_is_required(at_home):
    """`--yes` skips the prompts. Existing files are unchanged."""
    mine = at_home.write("tools/hello.py", "# mine\n")
    seen = run_init("\n", "\n", "\n")
    assert "servers" not in settings(at_home)
    assert settings(at_home)["approval"] == {"mcp": "ask"}
    assert mine.read_text() == "# mine\n"
    assert re.search(rf"(?m)^exists +{re.escape(str(mine))}$", seen)
    without_prompts = run_init(args=("init", "--yes"))
    assert without_prompts.count("exists") == 3
    assert "MCP servers" not in without_prompts


@pytest.mark.linux
def test_the_policy_for_mcp_clients_is_asked_once(at_home):
    """By whichever of `init` and `mcp install` runs first. Each policy has its consequence beside it."""
    seen = run_init("y\n", "allow\n", args=("mcp", "install", "zed"))
    lines = dict(re.findall(r"(?m)^  (allow|ask|deny) +(\S.*)$", seen))
    assert list(lines) == ["allow", "ask", "deny"]
    assert all(lines.values())
    assert "one tool that reaches all others" in seen
    assert f"Set approval.mcp to allow in {at_home.config / 'onetool.yaml'}." in seen
    assert settings(at_home) == {"approval": {"mcp": "allow"}}
    assert "Policy for MCP clients" not in run_init("y\n", args=("mcp", "install", "windsurf"))
    assert "Policy for MCP clients" not in run_init("\n", "\n")
    assert settings(at_home)["approval"] == {"mcp": "allow"}


@pytest.mark.linux
@pytest.mark.parametrize("answer", ["ask", "deny"])
def test_the_answer_is_the_policy(at_home, answer):
    """Also beside other rules of approval, and after a wrong answer."""
    at_home.write("onetool.yaml", "expose: all\napproval:\n  deny: [shell.*]  # mine\n")
    seen = run_init("y\n", "sometimes\n", f"{answer}\n", args=("mcp", "install", "zed"))
    assert settings(at_home) == {"expose": "all", "approval": {"deny": ["shell.*"], "mcp": answer}}
    assert "# mine" in (at_home.config / "onetool.yaml").read_text()
    assert "one tool that reaches all others" not in seen


@pytest.mark.parametrize("args", [("init",), ("init", "--yes"), ("mcp", "install", "zed", "--yes")])
def test_without_a_terminal_the_default_is_stated(at_home, args):
    """Nothing is asked or written. A policy in the settings is no default."""
    done = onetool(*args)
    assert done.returncode == 0
    assert "approval.mcp is allow, the default" in done.stdout
    file = at_home.config / "onetool.yaml"
    assert not file.exists() or "approval" not in settings(at_home)
    at_home.write("onetool.yaml", "approval: {mcp: deny}\n")
    assert "the default" not in onetool(*args).stdout
    at_home.write("onetool.yaml", "approval: {mcp: allow}\n")
    assert "the default" not in onetool(*args).stdout


@pytest.mark.linux
@pytest.mark.parametrize(
    ("args", "answers"),
    [
        (("mcp", "install", "zed"), []),
        (("mcp", "install", "zed"), ["y\n"]),
        (("mcp", "install", "zed"), ["y\n", "allow\n"]),
        (("init",), ["y\n", "y\n", "n\n"]),
    ],
    ids=["change", "policy", "background", "init"],
)
def test_an_interrupted_question_leaves_everything_unchanged(at_home, args, answers):
    """Of a command with several questions, also the last one. Ctrl-D ends a question as Ctrl-C does."""
    if args[0] == "mcp":
        at_home.write("onetool.yaml", "servers: {notes: {command: notes-server}}\n")
    before = files_in(at_home.config), files_in(at_home.root / ".config"), files_in(at_home.root / ".cursor")
    with Terminal(*args) as terminal:
        for number, answer in enumerate([*answers, "\x04"], start=1):
            terminal.wait_for(PROMPT.format(number))
            terminal.type(answer)
        assert terminal.wait_for_exit() == 1
    after = files_in(at_home.config), files_in(at_home.root / ".config"), files_in(at_home.root / ".cursor")
    assert after == before


@pytest.mark.linux
def test_an_interrupted_question_for_a_secret_says_how_to_set_it_later(at_home):
    """The setup is imported by then."""
    manifest = {"format": 1, "secrets": [{"name": name} for name in ("FIRST", "SECOND", "THIRD")]}
    file = write_setup(
        at_home, {"setup.yaml": yaml.safe_dump(manifest), "onetool.yaml": "aliases: {n: time.now}"}
    )
    with Terminal("import", str(file), "--yes") as terminal:
        for name, answer in (("FIRST", "value-of-1\n"), ("SECOND", "\x04")):
            terminal.wait_for(f"Value of {name}")
            terminal.type(answer)
        assert terminal.wait_for_exit() == 0
        commands = re.findall(r"onetool secrets set \w+", terminal.output)
    assert commands == ["onetool secrets set SECOND", "onetool secrets set THIRD"]
    assert "FIRST" in (at_home.config / "secrets.yaml").read_text()
