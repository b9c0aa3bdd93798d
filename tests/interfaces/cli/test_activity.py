"""`onetool activity`: list, filter, follow and show calls."""

import json
import re
import signal
import subprocess
import threading

import pytest

from support.mcp_client import child_env
from support.onetool_process import on_a_terminal, onetool, start_onetool
from support.waiting import HANG_S


def plain(*args):
    """Run a command on a terminal and return its output without colors."""
    return re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal(*args))


def listed(*options):
    done = onetool("activity", *options, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def used(home, monkeypatch):
    """A home with a run of two calls, a failed call and a session."""
    monkeypatch.setenv("ONETOOL_SESSION", "work")
    done = onetool("run", "[tools.echo(message=n) for n in ('one', 'two')]")
    assert done.returncode == 0, done.stderr
    onetool("tools", "invoke", "fs.read_file", "--args", '{"path": "missing"}')
    return home


def test_calls_are_listed_newest_first(used):
    shown = [(call["tool"], call["interface"], call["ok"], bool(call["parent"])) for call in listed()]
    assert shown == [
        ("fs.read_file", "cli", False, False),
        ("run", "cli", True, False),
        ("tools.echo", "cli", True, True),
        ("tools.echo", "cli", True, True),
    ]


@pytest.mark.parametrize(
    ("options", "tools"),
    [
        (["--tool", "tools"], ["tools.echo", "tools.echo"]),
        (["--tool", "*.read_*"], ["fs.read_file"]),
        (["--failed"], ["fs.read_file"]),
        (["--session", "work", "--tool", "run"], ["run"]),
        (["--interface", "mcp"], []),
        (["--client", "editor"], []),
        (["--profile", "work"], []),
        (["--since", "1h", "-n", "1"], ["fs.read_file"]),
        (["--since", "2099-01-01"], []),
    ],
)
def test_filters(used, options, tools):
    assert [call["tool"] for call in listed(*options)] == tools


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--since", "soon"], "neither a duration such as 15m nor a time"),
        (["--tool", "*a*a*a*a*"], "wildcards"),
        (["show", "missing"], "no call 'missing' is recorded"),
    ],
)
def test_mistakes_are_usage_errors(used, options, message):
    done = onetool("activity", *options)
    assert (done.returncode, message in done.stderr) == (2, True), done


def test_call_is_shown_with_the_calls_inside(used):
    (run,) = listed("--tool", "run")
    shown = json.loads(onetool("activity", "show", run["id"]).stdout)
    assert shown["arguments"] == "[tools.echo(message=n) for n in ('one', 'two')]"
    assert shown["result"] == '["one","two"]'
    assert [call["arguments"] for call in shown["calls"]] == ['{"message":"one"}', '{"message":"two"}']


@pytest.mark.linux
def test_terminal_shows_a_table_and_a_tree(used):
    (run,) = listed("--tool", "run")
    table = plain("activity")
    assert table.split()[:3] == ["ID", "TIME", "TOOL"]
    assert run["id"] in table
    tree = plain("activity", "show", run["id"])
    assert re.search(r"run  ok  [\d.]+ ms  \d+ bytes in, \d+ out", tree)
    assert re.search(r"├── tools.echo  ok", tree)
    assert 'arguments: {"message":"one"}' in tree
    assert "No calls." in plain("activity", "--client", "someone-else")


def test_new_calls_are_followed(used):
    """Each as one line, oldest first, until the command is interrupted."""
    words = ("activity", "-f", "--tool", "tools")
    process = start_onetool(*words, stdout=subprocess.PIPE, env=child_env(**used.env), cwd=used.cwd)
    watchdog = threading.Timer(HANG_S, process.kill)
    watchdog.start()
    try:
        first = [json.loads(process.stdout.readline())["id"] for _ in range(2)]
        onetool("run", "[tools.echo(message=n) for n in range(3)]")
        later = [json.loads(process.stdout.readline()) for _ in range(3)]
        assert len({*first, *(call["id"] for call in later)}) == 5
        assert [call["endedAt"] for call in later] == sorted(call["endedAt"] for call in later)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(HANG_S)
        watchdog.cancel()
        process.stdout.close()


def test_nothing_is_recorded_if_the_settings_say_so(home):
    home.write("onetool.yaml", "activity: {enabled: false}\n")
    onetool("run", "tools.echo(message=1)")
    assert listed() == []
    assert json.loads(onetool("stats").stdout)["total_calls"] == 1
    home.write("onetool.yaml", "activity: {bodies: false}\n")
    onetool("tools", "invoke", "tools.echo", "--args", '{"message": "hi"}')
    (call,) = listed("--tool", "tools.echo")
    shown = json.loads(onetool("activity", "show", call["id"]).stdout)
    assert (shown["arguments"], shown["result"], shown["bytesIn"]) == ("", "", 16)
