"""The command line: JSON for programs, tables for terminals, helpful errors."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx2
import pytest

from bundles.openapi_documents import PETSTORE
from interfaces.cli.ask_process import Terminal
from onetool.interfaces.cli.main import COMMANDS
from onetool.interfaces.cli.serve import host_header
from onetool.interfaces.mcp_clients import known_clients
from support.onetool_process import on_a_terminal, onetool, start_onetool
from support.processes import wait_until
from support.waiting import HANG_S


def plain(*args: str) -> str:
    """Run a command on a terminal and return its output without colors."""
    return re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(*args))


@pytest.mark.linux
def test_on_a_terminal_a_list_is_an_aligned_table(home):
    lines = on_a_terminal("tools", "list", "fs.").splitlines()
    bare = [line.replace("\x1b", "").strip() for line in lines]
    assert len(bare) == 3
    assert "TOOL" in lines[0]
    assert "path, recursive?, maxDepth?" in lines[1]
    assert "[changes]" not in "".join(lines)
    assert "[changes]" in on_a_terminal("tools", "list", "file.edit")
    assert "No tools." in on_a_terminal("tools", "list", "nothing")


@pytest.mark.linux
def test_on_a_terminal_results_and_pages_are_readable_text(home):
    """Text and colors, not JSON."""
    assert "ok" in on_a_terminal("tools", "invoke", "shell.pwd")
    failed = on_a_terminal("tools", "invoke", "fs.read_file", "--args", '{"path": "none"}')
    assert "execution_error" in failed
    page = on_a_terminal("tools", "info", "fs.read_file")
    assert "Read a text file." in page
    assert "returns" in page
    assert "example" in page
    assert "PATH" in on_a_terminal("config", "path")
    assert "{timestamp: " in on_a_terminal("tools", "invoke", "time.now")
    home.write("tools/x.py", "def f(): ...")
    assert "x.f" in on_a_terminal("tools", "info", "x.f")
    assert "Tool not found" in on_a_terminal("tools", "info", "x.nothing")


@pytest.mark.linux
def test_markup_in_a_description_is_shown_as_text(home):
    """Descriptions and results cannot style the terminal."""
    home.write(
        "tools/x.py", 'def f() -> str:\n    """[red]not red[/red] [link=http://x]."""\n    return "[bold]x"\n'
    )
    assert "[red]not red[/red]" in on_a_terminal("tools", "list", "x.f")
    assert "[bold]x" in on_a_terminal("tools", "invoke", "x.f")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["toosl"], 2, "No such command 'toosl'. Did you mean tools?"),
        (["tools", "invoke", "x.y", "--args", "{message: hi}"], 2, "not valid JSON: '{message: hi}'"),
        (["tools", "invoke", "x.y", "--args", "{message: hi}"], 2, "a quoted JSON object: --args '{"),
        (["tools", "invoke", "x.y", "--args", "[1]"], 2, "not a JSON object"),
        (["tools", "info", "fs.raed_file"], 1, "Tool not found: 'fs.raed_file'. Did you mean fs.read_file?"),
        (["tools", "export", "--format", "opneai"], 2, "Did you mean openai?"),
        (["--nonsense"], 2, "No such option"),
        (["--log-level", "loud", "tools", "list"], 2, "loud"),
    ],
)
def test_errors_suggest_the_correct_usage(home, args, code, message):
    """The exit code is 2 for usage errors and 1 for failures."""
    done = onetool(*args)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_invalid_settings_are_one_message(home):
    """The message names file, line and key. The exit code is 2, without a traceback."""
    file = home.write("onetool.yaml", "execuion: {}")
    done = onetool("tools", "list")
    assert done.returncode == 2
    assert f"{file}:1: unknown key 'execuion'. Did you mean execution?" in done.stderr
    assert "Traceback" not in done.stderr
    assert onetool("config", "validate").returncode == 2


def test_help_has_examples(home):
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


@pytest.mark.linux
def test_init_writes_a_valid_configuration_and_never_overwrites(home):
    """Secrets are private, and the suggested command works."""
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
    assert "exists" in onetool("init").stdout
    assert (home.config / "onetool.yaml").read_text() == "aliases: {}\n"


def test_config_show_prints_the_active_settings(home):
    """Includes defaults, and only the names of secrets."""
    home.write("onetool.yaml", "aliases: {now: time.now}\ndocs_base_url: hunter2hunter2\n")
    home.write("secrets.yaml", "KEY: hunter2hunter2\n")
    shown = onetool("config", "show").stdout
    assert "now: time.now" in shown
    assert "timeout_s: 8.0" in shown
    assert "- KEY" in shown
    assert "hunter2" not in shown
    assert json.loads(onetool("config", "show", "--json").stdout)["secrets"]["names"] == ["KEY"]
    assert onetool("config", "validate").stdout.startswith("OK: ")
    assert json.loads(onetool("config", "path").stdout)["settings"] == str(home.config / "onetool.yaml")


def test_credentials_in_the_settings_of_packs_are_redacted(home):
    """In the settings, however they are shown, and in results of tools."""
    login = "https://me:pw-0123456789@a.test/v1"
    packs = {
        "notes": {"api_key": "k-1234567890", "base_url": login, "deep": [{"password": "hunter"}], "size": 3}
    }
    home.write("onetool.yaml", json.dumps({"packs": packs}))
    code = "def read() -> dict:\n    'Read.'\n    return get_config('packs.notes')\n"
    home.write("tools/notes.py", f"from onetool.sdk import get_config\n\n{code}")
    for words in (("config", "show"), ("config", "show", "--json"), ("config", "get", "packs.notes")):
        shown = onetool(*words).stdout
        assert [secret for secret in ("k-1234567890", "pw-0123456789", "hunter") if secret in shown] == []
        assert "size" in shown
    returned = onetool("run", "notes.read()").stdout
    assert "size" in returned
    assert [secret for secret in ("k-1234567890", "pw-0123456789") if secret in returned] == []


def test_validation_reports_what_a_start_would_skip(home):
    """Tools of the settings, pack files and functions are named, with their place. The exit code is 1."""
    tool = {"type": "function", "handler": "h", "description": "d", "parameters": {"type": "object"}}
    mock = {"type": "mock", "mock_response": 1}
    tools = [
        {**tool, "name": "good", "implementation": mock},
        {**tool, "name": "good", "implementation": mock},
        {**tool, "name": "typo", "implementation": {"type": "mook"}},
        5,
    ]
    home.write("onetool.yaml", "tools:\n" + "".join(f"- {json.dumps(tool)}\n" for tool in tools))
    home.write("tools/broken.py", "def f(:\n")
    home.write("tools/clock.py", 'pack = "time"\ndef now(): ...\ndef late(a, /): ...\ndef fine(): ...\n')
    done = onetool("config", "validate")
    assert (done.returncode, done.stdout) == (1, "")
    headline, *lines = done.stderr.splitlines()
    assert headline == "Error: A start would skip 6 definitions:"
    assert len(lines) == 6
    for expected in (
        f"{home.config / 'onetool.yaml'}:3: skipped duplicate tool 'good'",
        f"{home.config / 'onetool.yaml'}:4: skipped tool 'typo': unknown implementation type 'mook'",
        f"{home.config / 'onetool.yaml'}:5: skipped tool None: a tool must be a mapping",
        "pack broken: broken.py was skipped: SyntaxError",
        f"skipped function in pack file {home.config / 'tools' / 'clock.py'}: time.late: ",
        "skipped duplicate tool 'time.now' from source packs in",
    ):
        assert [line for line in lines if line.startswith(expected)] != [], expected


def test_validation_names_only_the_files_that_are_used(home):
    """An untrusted file of a project is not valid or invalid: it is ignored."""
    assert "using defaults" in onetool("config", "validate").stdout
    file = home.write("onetool.yaml", "log: {}\n")
    project = home.cwd / ".onetool" / "onetool.yaml"
    project.parent.mkdir()
    project.write_text("nonsense: 1\n")
    assert onetool("config", "validate").stdout == f"OK: {file}\n"
    project.write_text("stats: {}\n")
    assert onetool("trust", "--yes").returncode == 0
    assert onetool("config", "validate").stdout == f"OK: {file}, {project}\n"


def test_export_filters_tools_in_catalog_order(home):
    done = onetool("tools", "export", "--format", "openai", "--tool-allow", "time.now, fs.read_file,zzz")
    assert [tool["function"]["name"] for tool in json.loads(done.stdout)] == ["fs__read_file", "time__now"]
    listed = json.loads(onetool("tools", "list", "--tool-allow", "time.now").stdout)
    assert [tool["name"] for tool in listed] == ["time.now"]


def test_log_level_option_overrides_the_settings(home):
    """`--log-level info` prints calls to stderr as JSON lines."""
    done = onetool("--log-level", "info", "tools", "invoke", "time.now")
    assert json.loads(done.stderr.splitlines()[-1])["span"] == "time.now"
    assert onetool("tools", "invoke", "time.now").stderr == ""


def test_a_closed_pipe_causes_no_traceback(home):
    """`onetool tools list | head -1` exits cleanly."""
    done = subprocess.run(
        f"{sys.executable} -m onetool tools list | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr


@pytest.mark.linux
def test_terminal_output_contains_no_control_sequences(home):
    """Output to a program is unchanged."""
    sequence = "\x1b]52;c;aGk=\x07"
    for args in (
        ("run", "print('\\x1b]52;c;aGk=\\x07')"),
        ("tools", "invoke", "tools.echo", "--args", json.dumps({"message": sequence})),
    ):
        shown = on_a_terminal(*args)
        assert "]52;c;aGk=" in shown
        assert "\x1b]52" not in shown
    assert sequence in onetool("run", "print('\\x1b]52;c;aGk=\\x07')").stdout


def test_run_accepts_code_as_argument_file_or_stdin(home):
    """Results go to stdout, errors to stderr."""
    assert onetool("run", "print('so'); 'far'").stdout == "so\nfar\n"
    assert json.loads(onetool("run", "[tools.echo(message=n) for n in range(2)]").stdout) == [0, 1]
    assert onetool("run", "x = 1").stdout == ""
    assert onetool("run", "-", stdin="'from stdin'").stdout == "from stdin\n"
    (home.cwd / "code.py").write_text("'from a file'")
    assert onetool("run", "-f", "code.py").stdout == "from a file\n"
    assert json.loads(onetool("run", "--json", "1 + 1").stdout) == {"ok": True, "data": 2}
    failed = onetool("run", "x = 1\ntools.ech(message=1)")
    assert (failed.returncode, failed.stdout) == (1, "")
    message = "Error: line 2: there is no tool tools.ech. Did you mean tools.echo?"
    assert failed.stderr == f"{message}\n    tools.ech(message=1)\n"
    assert "shell" in onetool("run", "--tool-allow", "time.now", "shell.pwd()").stderr
    assert onetool("run").returncode == 2
    assert "Pass either CODE or --file" in onetool("run").stderr


def test_short_runs_exit_cleanly(home, size):
    """No process aborts during shutdown."""
    codes = [onetool("run", "1 + 1").returncode for _ in range(size(10, 100))]
    assert set(codes) == {0}


def test_version(home):
    assert onetool("--version").stdout == "onetool 0.1.0\n"


@pytest.mark.linux
def test_packs_snippets_and_check_print_tables(home):
    """Tables on a terminal, otherwise JSON."""
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
    assert "No requirements." in on_a_terminal("check", "fs")
    wrong = onetool("check", "neddy")
    assert (wrong.returncode, "Did you mean needy" in wrong.stderr) == (1, True)


NEEDY = """
from onetool.sdk import requires_cli

@requires_cli("no-such-program", install="apt install it")
def f() -> str:
    return ""
"""


@pytest.mark.linux
def test_stats_prints_tables_and_writes_a_report(home):
    assert "No calls yet." in on_a_terminal("stats", "--tool", "x.y")
    onetool("tools", "invoke", "time.now")
    shown = plain("stats", "--period", "day", "--output", "usage.html")
    assert re.search(r"time\.now +1 ", shown)
    assert "<html" in (home.cwd / "usage.html").read_text()
    assert json.loads(onetool("stats", "--tool", "time.now").stdout)["total_calls"] == 1
    home.write("onetool.yaml", "stats: {enabled: false}\n")
    refused = onetool("stats")
    assert (refused.returncode, refused.stderr.count("Error: Statistics are disabled.")) == (1, 1)


def test_help_shows_a_page_or_searches(home):
    overview = onetool("help").stdout
    assert overview.startswith("# OneTool")
    assert "ot." not in overview
    assert set(re.findall(r"- onetool (\w+)", overview)) <= set(COMMANDS)
    assert "onetool tools list" in onetool("help", "zzqqxx").stdout
    assert onetool("help", "fs.read_file").stdout.startswith("# fs.read_file")
    assert "- fs.read_file: " in onetool("help", "raed", "file").stdout
    assert "fs.read_file" in onetool("help", "--info", "list", "read", "file").stdout


@pytest.mark.linux
def test_bundles_can_be_listed_enabled_imported_exported_and_deleted(home, tmp_path):
    document = tmp_path / "petstore.yaml"
    document.write_bytes(PETSTORE)
    imported = plain("bundles", "import", "openapi", str(document))
    assert re.search(r"Imported \d+ tools into bundle '\S+', disabled", imported)
    slug = re.search(r"onetool bundles enable (\S+)", imported)[1]
    assert re.search(rf"{slug} +disabled +bundle", plain("bundles", "list"))
    assert onetool("bundles", "enable", slug).stdout == f"{slug} is enabled.\n"
    shown = plain("bundles", "show", slug)
    assert re.search(r"TOOL +VERSION +STATE +TYPE +DESCRIPTION", shown)
    assert json.loads(onetool("bundles", "show", slug).stdout)["tools"]
    archive = tmp_path / "out.zip"
    assert "Wrote" in onetool("bundles", "export", slug, str(archive)).stdout
    again = onetool("bundles", "import", "zip", str(archive))
    assert (again.returncode, "already exists" in again.stderr) == (1, True)
    assert onetool("bundles", "delete", slug, "--yes").stdout == f"Deleted {slug}.\n"
    assert "tools. Review, then enable" in onetool("bundles", "import", "zip", str(archive)).stdout
    missing = onetool("bundles", "disable", "tiem")
    assert (missing.returncode, "Did you mean time?" in missing.stderr) == (1, True)
    assert onetool("bundles", "disable", "time").returncode == 0
    assert [
        bundle["slug"] for bundle in json.loads(onetool("bundles", "list").stdout) if not bundle["isEnabled"]
    ]
    assert json.loads(onetool("bundles", "import", "openapi", str(document)).stdout)["bundle"]["slug"] == slug
    several = onetool("bundles", "show", slug)
    assert (several.returncode, "Use an id instead" in several.stderr) == (1, True)


@pytest.mark.linux
def test_search_prints_the_best_match_first(home):
    assert re.search(r"fs\.read_file +current +Read a text file", plain("search", "read", "file"))
    assert json.loads(onetool("search", "+readfile").stdout)[0]["name"] == "fs.read_file"
    assert "No tools match" in plain("search", "xyznonexistent")
    assert onetool("search", "pwd", "--include-disabled").returncode == 0


@pytest.mark.linux
def test_search_says_if_more_tools_match(home):
    """A table has the best matches, JSON has all of them."""
    functions = "".join(f"def quokka{number}() -> int:\n    return 1\n" for number in range(300))
    home.write("tools/zoo.py", functions)
    shown = plain("search", "quokka")
    assert shown.count("zoo.quokka") == 20
    assert "More tools match." in shown
    assert len(json.loads(onetool("search", "quokka").stdout)) == 300


@contextmanager
def serving(*args):
    """Run `onetool serve`. Yield the process and its first line of output."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with start_onetool("serve", "--port", "0", *args, **pipes) as process:
        try:
            yield process, process.stdout.readline()
        finally:
            process.terminate()
            process.rest, process.errors = process.communicate(timeout=HANG_S)


def is_listening(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.linux
def test_the_token_is_generated_once(home):
    """It is stored in a private file and used by every later start. Logs do not contain it."""
    with serving() as (first, line):
        assert re.fullmatch(r"OneTool listens on http://127\.0\.0\.1:\d+\n", line)
    token = (home.state / "token").read_text()
    assert first.returncode == 0
    assert "#login=" not in first.rest
    assert f"A new token is stored in {home.state / 'token'}" in first.errors
    assert token not in first.errors
    assert (home.state / "token").stat().st_mode & 0o777 == 0o600
    with serving() as (second, line):
        url = line.split()[-1]
        response = httpx2.get(
            f"{url}/tools/tools", headers={"Authorization": f"Bearer {token}"}, trust_env=False, verify=False
        )
        assert response.status_code == 200
    assert (second.returncode, token in second.errors) == (0, False)


@pytest.mark.linux
def test_a_new_token_is_shown_on_a_terminal(home):
    with Terminal("serve", "--port", "0") as terminal:
        terminal.wait_for("OneTool listens on")
    assert f"\n  {(home.state / 'token').read_text()}" in terminal.output.replace("\r", "")


@pytest.mark.parametrize(
    ("host", "names"),
    [("10.0.0.5", ["10.0.0.5"]), ("fd00::5", ["[fd00::5]"]), ("0.0.0.0", []), ("::", [])],
)
def test_requests_may_name_the_address_that_the_server_listens_on(host, names):
    assert host_header(host) == names


def test_calls_in_progress_finish_when_the_server_stops(home):
    """On SIGTERM the server responds to pending requests and exits with code 0."""
    home.write("onetool.yaml", "execution: {timeout_s: 3600}\n")
    home.write("tools/slow.py", SLOW)
    with serving("--host", "127.0.0.1") as (process, line):
        url = line.split()[-1]
        token = (home.state / "token").read_text()
        responses = []

        def call():
            headers = {"Authorization": f"Bearer {token}"}
            body = {"name": "slow.f", "args": {}}
            responses.append(
                httpx2.post(
                    f"{url}/tools/call",
                    json=body,
                    headers=headers,
                    trust_env=False,
                    verify=False,
                    timeout=HANG_S,
                )
            )

        caller = threading.Thread(target=call)
        caller.start()
        assert wait_until((home.cwd / "begun").exists)
        process.terminate()
        assert wait_until(lambda: not is_listening(int(url.rpartition(":")[2])))
        (home.cwd / "go").touch()
        caller.join(HANG_S)
    assert responses[0].json()["value"] == "done"
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


@pytest.mark.parametrize("client", ["cursor", "codex", "opencode"])
def test_mcp_install_adds_onetool_to_a_client(home, tmp_path, client):
    """The change is confirmed, other settings are unchanged, and a backup is created."""
    env = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    target = known_clients(env)[client]
    target.file.parent.mkdir(parents=True)
    other = (
        '[mcp_servers.other]\ncommand = "x"\n'
        if target.is_toml
        else json.dumps({target.key: {"other": {}}, "a": 1})
    )
    target.file.write_text(other)
    declined = onetool("mcp", "install", client, env=env, stdin="n\n")
    assert (declined.returncode, target.file.read_text()) == (1, other)
    assert "+" in declined.stdout
    done = onetool("mcp", "install", client, "--yes", env=env)
    assert done.returncode == 0, done.stderr
    assert set(target.servers()) == {"other", "onetool"}
    assert target.servers()["onetool"]["args"] == ["mcp"]
    assert f"Restart {target.title} to apply the change." in done.stdout
    assert target.file.with_name(f"{target.file.name}.before-onetool").read_text() == other
    assert "already" in onetool("mcp", "install", client, "--yes", env=env).stdout
