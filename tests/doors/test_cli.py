"""The command line: JSON for programs, tables for people, errors that help."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx2
import pytest

from commands import onetool, start_command
from onetool.doors.cli.clients import known_clients
from openapi_documents import PETSTORE


def on_a_terminal(*args: str) -> str:
    """Run the command with a terminal as its output, and return what a person would see."""
    seen, shown = pty.openpty()
    env = {**os.environ, "COLUMNS": "110", "TERM": "xterm-256color"}
    child = start_command(args, (shown, shown, shown), env)
    os.close(shown)
    text = b""
    while True:
        try:
            block = os.read(seen, 65536)
        except OSError:
            break
        text += block
        if not block:
            break
    child.wait(30)
    os.close(seen)
    return text.decode()


def plain(*args: str) -> str:
    """The same without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(*args))


def test_on_a_terminal_a_list_is_an_aligned_table(home):
    """A row a tool; the columns start below each other."""
    lines = on_a_terminal("tools", "list", "fs.").splitlines()
    bare = [line.replace("\x1b", "").strip() for line in lines]
    assert len(bare) == 3
    assert "TOOL" in lines[0]
    assert "path, recursive?, maxDepth?" in lines[1]
    assert "No tools." in on_a_terminal("tools", "list", "nothing")


def test_on_a_terminal_results_and_pages_are_for_people(home):
    """Words and colours, not JSON envelopes."""
    assert "ok" in on_a_terminal("tools", "invoke", "shell.pwd")
    failed = on_a_terminal("tools", "invoke", "fs.read_file", "--args", '{"path": "none"}')
    assert "execution_error" in failed
    page = on_a_terminal("tools", "info", "fs.read_file")
    assert "Read a text file." in page
    assert "returns" in page
    assert "example" in page
    assert "WHERE" in on_a_terminal("config", "path")
    assert "{timestamp: " in on_a_terminal("tools", "invoke", "time.now")
    home.write("tools/x.py", "def f(): ...")
    assert "x.f" in on_a_terminal("tools", "info", "x.f")
    assert "Tool not found" in on_a_terminal("tools", "info", "x.nothing")


def test_markup_in_a_description_is_shown_as_text(home):
    """A tool cannot draw on the terminal."""
    home.write(
        "tools/x.py", 'def f() -> str:\n    """[red]not red[/red] [link=http://x]."""\n    return "[bold]x"\n'
    )
    assert "[red]not red[/red]" in on_a_terminal("tools", "list", "x.f")
    assert "[bold]x" in on_a_terminal("tools", "invoke", "x.f")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["toosl"], 2, "No such command 'toosl'. Did you mean tools?"),
        (["tools", "invoke", "x.y", "--args", "{"], 2, "not valid JSON"),
        (["tools", "invoke", "x.y", "--args", "[1]"], 2, "a JSON object is needed"),
        (["tools", "info", "fs.raed_file"], 1, "Tool not found: 'fs.raed_file'. Did you mean fs.read_file?"),
        (["tools", "export", "--format", "opneai"], 2, "Did you mean openai?"),
        (["--nonsense"], 2, "No such option"),
        (["--log-level", "loud", "tools", "list"], 2, "loud"),
    ],
)
def test_mistakes_are_answered_with_what_would_be_right(home, args, code, said):
    """Exit code 2 for a command typed wrongly, 1 for what could not be done."""
    done = onetool(*args)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_broken_settings_are_one_message(home):
    """File, line and key, exit code 2, no traceback."""
    file = home.write("onetool.yaml", "execuion: {}")
    done = onetool("tools", "list")
    assert done.returncode == 2
    assert f"{file}:1: unknown key 'execuion'. Did you mean execution?" in done.stderr
    assert "Traceback" not in done.stderr
    assert onetool("config", "validate").returncode == 2


def test_help_has_examples(home):
    """Every command shows how it is used."""
    for args in (
        [],
        ["tools", "list"],
        ["tools", "info"],
        ["tools", "invoke"],
        ["tools", "export"],
        ["trust"],
        ["init"],
        ["help"],
        ["search"],
        ["serve"],
        ["bundles", "list"],
        ["bundles", "import", "openapi"],
        ["packs"],
        ["snippets"],
        ["check"],
        ["stats"],
    ):
        assert "Example" in onetool(*args, "--help").stdout
    for name in ("show", "validate", "path"):
        assert "Example" in onetool("config", name, "--help").stdout


def test_init_writes_a_configuration_that_works_and_never_overwrites(home):
    """What it writes is valid, private where it must be, and its last line can be typed."""
    first = onetool("init")
    assert first.returncode == 0
    assert (home.config / "secrets.yaml").stat().st_mode & 0o777 == 0o600
    assert onetool("config", "validate").returncode == 0
    command = first.stdout.rpartition("onetool ")[2]
    import shlex

    assert json.loads(onetool(*shlex.split(command)).stdout)["data"] == "Hello, Ada."
    assert json.loads(onetool("tools", "invoke", "hello").stdout)["meta"]["mock"] is True
    assert json.loads(onetool("tools", "invoke", "now").stdout)["ok"]
    (home.config / "onetool.yaml").write_text("aliases: {}\n")
    assert "kept" in onetool("init").stdout
    assert (home.config / "onetool.yaml").read_text() == "aliases: {}\n"


def test_config_shows_what_is_in_force(home):
    """Defaults included, secrets by name only."""
    home.write("onetool.yaml", "aliases: {now: time.now}\ndocs_base: hunter2hunter2\n")
    home.write("secrets.yaml", "KEY: hunter2hunter2\n")
    shown = onetool("config", "show").stdout
    assert "now: time.now" in shown
    assert "timeout_s: 8.0" in shown
    assert "- KEY" in shown
    assert "hunter2" not in shown
    assert json.loads(onetool("config", "show", "--json").stdout)["secrets"] == ["KEY"]
    assert onetool("config", "validate").stdout.startswith("OK: ")
    assert json.loads(onetool("config", "path").stdout)["settings"] == str(home.config / "onetool.yaml")


def test_without_files_validation_says_that_defaults_hold(home):
    """Nothing to check is fine."""
    assert "defaults are in force" in onetool("config", "validate").stdout


def test_export_filters_and_keeps_the_order(home):
    """Only what is named, in the order of the catalog."""
    done = onetool("tools", "export", "--format", "openai", "--tool-allow", "time.now, fs.read_file,zzz")
    assert [tool["function"]["name"] for tool in json.loads(done.stdout)] == ["fs__read_file", "time__now"]
    listed = json.loads(onetool("tools", "list", "--tool-allow", "time.now").stdout)
    assert [tool["name"] for tool in listed] == ["time.now"]


def test_the_log_level_is_the_commands_own(home):
    """`--log-level info` shows the calls on stderr as JSON lines."""
    done = onetool("--log-level", "info", "tools", "invoke", "time.now")
    assert json.loads(done.stderr.splitlines()[-1])["span"] == "time.now"
    assert onetool("tools", "invoke", "time.now").stderr == ""


def test_a_reader_that_leaves_early_is_no_error(home):
    """`onetool tools list | head -1` ends without a traceback."""
    done = subprocess.run(
        f"{sys.executable} -m onetool tools list | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr


def test_results_do_not_steer_the_terminal(home):
    """What a tool returns is shown, not obeyed; a program gets it as it is."""
    evil = "\x1b]52;c;aGk=\x07"
    for words in (
        ("run", "print('\\x1b]52;c;aGk=\\x07')"),
        ("tools", "invoke", "tools.echo", "--args", json.dumps({"message": evil})),
    ):
        shown = on_a_terminal(*words)
        assert "]52;c;aGk=" in shown
        assert "\x1b]52" not in shown
    assert evil in onetool("run", "print('\\x1b]52;c;aGk=\\x07')").stdout


def test_code_is_run_from_the_command_line(home):
    """As an argument, from a file, from standard input; the result on stdout, errors on stderr."""
    assert onetool("run", "print('so'); 'far'").stdout == "so\nfar\n"
    assert json.loads(onetool("run", "[tools.echo(message=n) for n in range(2)]").stdout) == [0, 1]
    assert onetool("run", "x = 1").stdout == ""
    assert onetool("run", "-", stdin="'from stdin'").stdout == "from stdin\n"
    (home.cwd / "code.py").write_text("'from a file'")
    assert onetool("run", "-f", "code.py").stdout == "from a file\n"
    assert json.loads(onetool("run", "--json", "1 + 1").stdout) == {"ok": True, "data": 2}
    failed = onetool("run", "x = 1\ntools.ech(message=1)")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "Error: line 2: there is no tool tools.ech. Did you mean tools.echo?\n"
    assert "shell" in onetool("run", "--tool-allow", "time.now", "shell.pwd()").stderr
    assert onetool("run").returncode == 2
    assert "Give either CODE or --file" in onetool("run").stderr


def test_short_runs_end_in_order(home, size):
    """No process aborts at its exit, however short it was."""
    codes = [onetool("run", "1 + 1").returncode for _ in range(size(10, 100))]
    assert set(codes) == {0}


def test_version(home):
    """The version, and nothing else."""
    assert onetool("--version").stdout == "onetool 0.1.0\n"


def test_packs_snippets_and_needs_as_tables(home):
    """What the ot pack answers, in columns for a person and as JSON for a program."""
    home.write("onetool.yaml", "snippets: {twice: {description: Say it twice, body: '1 + 1'}}\n")
    home.write("tools/needy.py", NEEDY)
    assert re.search(r"NAME +SOURCE +TOOL COUNT", plain("packs"))
    assert "- fs.read_file: " in on_a_terminal("packs", "fs", "--full")
    assert json.loads(onetool("packs", "fs").stdout) == [{"name": "fs", "source": "local", "tool_count": 2}]
    assert re.search(r"twice +Say it twice", plain("snippets"))
    assert "body: |" in onetool("snippets", "twice", "--full").stdout
    assert "No snippets." in on_a_terminal("snippets", "nothing has this name")
    missing = onetool("check", "needy")
    assert missing.returncode == 1
    assert [need["status"] for need in json.loads(missing.stdout)] == ["missing"]
    assert "missing" in on_a_terminal("check")
    assert onetool("check", "fs").returncode == 0
    assert "Nothing is needed" in on_a_terminal("check", "fs")
    wrong = onetool("check", "neddy")
    assert (wrong.returncode, "Did you mean needy" in wrong.stderr) == (1, True)


NEEDY = """
from onetool.sdk import requires_cli

@requires_cli("no-such-program", install="apt install it")
def f() -> str:
    return ""
"""


def test_statistics_on_the_command_line(home):
    """Figures and tools as tables, a report in a file, an error with a way out."""
    assert "No calls yet." in on_a_terminal("stats", "--tool", "x.y")
    onetool("tools", "invoke", "time.now")
    shown = plain("stats", "--period", "day", "--output", "usage.html")
    assert re.search(r"time\.now +1 ", shown)
    assert "<html" in (home.cwd / "usage.html").read_text()
    assert json.loads(onetool("stats", "--tool", "time.now").stdout)["total_calls"] == 1
    home.write("onetool.yaml", "stats: {enabled: false}\n")
    refused = onetool("stats")
    assert (refused.returncode, refused.stderr.count("Error: Statistics are disabled.")) == (1, 1)


def test_help_on_the_command_line(home):
    """A page for a name, a search for words, names alone on request."""
    assert onetool("help").stdout.startswith("# OneTool")
    assert onetool("help", "fs.read_file").stdout.startswith("# fs.read_file")
    assert "- fs.read_file: " in onetool("help", "raed", "file").stdout
    assert "fs.read_file" in onetool("help", "--info", "list", "read", "file").stdout


def test_bundles_on_the_command_line(home, tmp_path):
    """Listed, switched, imported, exported, deleted by slug or id; what cannot be done is said in a line."""
    document = tmp_path / "petstore.yaml"
    document.write_bytes(PETSTORE)
    imported = plain("bundles", "import", "openapi", str(document))
    assert re.search(r"Imported \d+ tools into the bundle '\S+', switched off", imported)
    slug = re.search(r"onetool bundles enable (\S+)", imported)[1]
    assert re.search(rf"{slug} +off +bundle", plain("bundles", "list"))
    assert onetool("bundles", "enable", slug).stdout == f"{slug} is on.\n"
    shown = plain("bundles", "show", slug)
    assert re.search(r"TOOL +VERSION +STATE +TYPE +DESCRIPTION", shown)
    assert json.loads(onetool("bundles", "show", slug).stdout)["tools"]
    archive = tmp_path / "out.zip"
    assert "Wrote" in onetool("bundles", "export", slug, str(archive)).stdout
    again = onetool("bundles", "import", "zip", str(archive))
    assert (again.returncode, "there already" in again.stderr) == (1, True)
    assert onetool("bundles", "delete", slug, "--yes").stdout == f"Deleted {slug}.\n"
    assert "tools. Look at them" in onetool("bundles", "import", "zip", str(archive)).stdout
    missing = onetool("bundles", "disable", "tiem")
    assert (missing.returncode, "Did you mean time?" in missing.stderr) == (1, True)
    assert onetool("bundles", "disable", "time").returncode == 0
    assert [
        bundle["slug"] for bundle in json.loads(onetool("bundles", "list").stdout) if not bundle["isEnabled"]
    ]
    assert json.loads(onetool("bundles", "import", "openapi", str(document)).stdout)["bundle"]["slug"] == slug
    several = onetool("bundles", "show", slug)
    assert (several.returncode, "Give the id of one" in several.stderr) == (1, True)


def test_search_on_the_command_line(home):
    """The best first, as a table or as JSON."""
    assert re.search(r"fs\.read_file +current +Read a text file", plain("search", "read", "file"))
    assert json.loads(onetool("search", "+readfile").stdout)[0]["name"] == "fs.read_file"
    assert "Nothing found" in plain("search", "xyznonexistent")
    assert onetool("search", "pwd", "--all").returncode == 0


@contextmanager
def serving(*args):
    """A server in a process of its own: its first line, and how it ends when it is asked to."""
    command = [sys.executable, "-m", "onetool", "serve", "--port", "0", *args]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline()
    finally:
        process.terminate()
        _, process.said = process.communicate(timeout=30)


def test_the_token_is_made_once_and_shown_once(home):
    """Kept where only its owner reads it; asked for by every later start."""
    with serving() as (first, line):
        assert re.fullmatch(r"OneTool listens on http://127\.0\.0\.1:\d+\n", line)
    kept = (home.state / "token").read_text()
    assert first.returncode == 0
    assert kept in first.said
    assert (home.state / "token").stat().st_mode & 0o777 == 0o600
    with serving() as (second, line):
        url = line.split()[-1]
        answer = httpx2.get(
            f"{url}/tools/tools", headers={"Authorization": f"Bearer {kept}"}, trust_env=False
        )
        assert answer.status_code == 200
        port = url.rpartition(":")[2]
        taken = onetool("serve", "--port", port)
        assert (taken.returncode, "Choose another --port" in taken.stderr) == (1, True)
    assert (second.returncode, kept in second.said) == (0, False)


def test_calls_in_flight_finish_when_the_server_is_ended(home):
    """Ended by a signal, it answers who waits and then leaves with 0."""
    home.write("tools/slow.py", SLOW)
    with serving("--host", "127.0.0.1") as (process, line):
        url = line.split()[-1]
        token = (home.state / "token").read_text()
        answers = []

        def call():
            headers = {"Authorization": f"Bearer {token}"}
            body = {"name": "slow.f", "args": {}}
            answers.append(
                httpx2.post(f"{url}/tools/call", json=body, headers=headers, trust_env=False, timeout=30)
            )

        caller = threading.Thread(target=call)
        caller.start()
        while not (home.cwd / "begun").exists():
            assert caller.is_alive()
        process.terminate()
        (home.cwd / "go").touch()
        caller.join(30)
    assert answers[0].json()["value"] == "done"
    assert process.returncode == 0


SLOW = """
import time
from pathlib import Path

def f() -> str:
    Path("begun").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return "done"
"""


@pytest.mark.parametrize("client", ["claude", "cursor", "vscode", "codex"])
def test_a_client_gets_to_know_onetool(home, tmp_path, client):
    """Shown first, written once, everything else kept, the old file beside it."""
    env = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    chosen = known_clients(env)[client]
    chosen.file.parent.mkdir(parents=True)
    other = (
        '[mcp_servers.other]\ncommand = "x"\n'
        if chosen.is_toml
        else json.dumps({chosen.key: {"other": {}}, "a": 1})
    )
    chosen.file.write_text(other)
    declined = onetool("mcp", "install", client, env=env, stdin="n\n")
    assert (declined.returncode, chosen.file.read_text()) == (1, other)
    assert "+" in declined.stdout
    done = onetool("mcp", "install", client, "--yes", env=env)
    assert done.returncode == 0, done.stderr
    assert set(chosen.servers()) == {"other", "onetool"}
    assert chosen.servers()["onetool"]["args"] == ["mcp"]
    assert chosen.file.with_name(f"{chosen.file.name}.before-onetool").read_text() == other
    assert "already" in onetool("mcp", "install", client, "--yes", env=env).stdout
    chosen.file.write_text("{ not valid")
    broken = onetool("mcp", "install", client, "--yes", env=env)
    assert (broken.returncode, chosen.file.read_text()) == (1, "{ not valid")


def test_clients_lie_where_each_system_keeps_them():
    """Linux, macOS, Windows."""
    for platform, part in (("linux", ".config"), ("darwin", "Application Support"), ("win32", "Roaming")):
        assert part in str(known_clients({"HOME": "/home/me"}, platform)["claude"].file)
