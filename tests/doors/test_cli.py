"""The command line: JSON for programs, tables for people, errors that help."""

import json
import os
import pty
import re
import subprocess
import sys

import pytest


def onetool(*args: str, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "onetool", *args], capture_output=True, text=True, timeout=60, **more
    )


def on_a_terminal(*args: str) -> str:
    """Run the command with a terminal as its output, and return what a person would see."""
    seen, shown = pty.openpty()
    env = {**os.environ, "COLUMNS": "110", "TERM": "xterm-256color"}
    child = subprocess.Popen([sys.executable, "-m", "onetool", *args], stdout=shown, stderr=shown, env=env)
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


def test_code_is_run_from_the_command_line(home):
    """As an argument, from a file, from standard input; the result on stdout, errors on stderr."""
    assert onetool("run", "print('so'); 'far'").stdout == "so\nfar\n"
    assert json.loads(onetool("run", "[tools.echo(message=n) for n in range(2)]").stdout) == [0, 1]
    assert onetool("run", "x = 1").stdout == ""
    assert onetool("run", "-", input="'from stdin'").stdout == "from stdin\n"
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
