"""Jobs of the first days, as a person types them: no editor, no look into the documentation."""

import json
import shlex
import sys

from onetool.testing.http_stub import HttpStub, StubResponse
from support.cli_process import onetool
from support.paths import MCP_SERVERS

PACK = '''\
"""Keys."""

from onetool.sdk import get_secret


def ending(name: str) -> str:
    """Return the end of a secret."""
    return (get_secret(name) or "")[-2:]
'''
SERVER = f"{shlex.quote(sys.executable)} -I {shlex.quote(str(MCP_SERVERS / 'faulty_server.py'))} good"


def follow(*lines: str, stdin: str = "") -> list:
    """Run the lines of a script, which must all succeed, and return what each printed."""
    printed = []
    for line in lines:
        done = onetool(*shlex.split(line), stdin=stdin)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        printed.append(done.stdout)
    return printed


def refuse(line: str) -> dict:
    """Run a line that must fail, and return its result."""
    done = onetool(*shlex.split(line))
    assert done.returncode == 1, done.stdout
    return json.loads(done.stdout)


def value(printed: str) -> object:
    return json.loads(printed)["data"]


def test_tools_are_listed_and_called_with_plain_arguments(home):
    (home.cwd / "a.txt").touch()
    (home.cwd / "args.json").write_text('{"path": "."}')
    listed, called, from_file = follow(
        "tools list fs", "call fs.list_dir path=. recursive:=false", "call fs.list_dir @args.json maxDepth=1"
    )
    assert "fs.list_dir" in listed
    assert [entry["path"] for entry in value(called)] == ["a.txt", "args.json"]
    assert value(from_file) == value(called)


def test_secret_is_stored_without_an_editor_and_used(home):
    (home.cwd / "keys.py").write_text(PACK)
    follow("secrets set WEATHER_KEY", stdin="hunter2-xy\n")
    *_, printed = follow("import keys.py --yes", "call keys.ending name=WEATHER_KEY")
    assert value(printed) == "xy"
    assert "hunter2" not in "".join(follow("secrets list", "config show"))
    follow("secrets rm WEATHER_KEY")
    assert value(*follow("call keys.ending name=WEATHER_KEY")) == ""


def test_server_is_added_and_called(home):
    _, printed = follow(f"servers add good {SERVER}", "call good.echo text=hi")
    assert value(printed) == "hi"


def test_servers_of_a_client_file_are_taken_over(home):
    program, *args = shlex.split(SERVER)
    entry = {"command": program, "args": args, "env": {"API_TOKEN": "hunter2-of-a-token"}}
    (home.cwd / "claude_desktop_config.json").write_text(json.dumps({"mcpServers": {"good": entry}}))
    follow("import claude_desktop_config.json --yes", "call good.echo text=hi")
    assert "hunter2" not in (home.config / "onetool.yaml").read_text()


def test_api_becomes_tools(home):
    with HttpStub({"/weather": lambda request: StubResponse({"path": request.path})}) as stub:
        parameter = {"name": "city", "in": "query", "required": True, "schema": {"type": "string"}}
        operation = {"operationId": "getWeather", "parameters": [parameter], "responses": {"200": {}}}
        document = {
            "openapi": "3.1.0",
            "info": {"title": "Weather", "version": "1"},
            "servers": [{"url": stub.url}],
            "paths": {"/weather": {"get": operation}},
        }
        document["paths"]["/weather"]["get"]["responses"]["200"] = {"description": "Weather."}
        (home.cwd / "api.json").write_text(json.dumps(document))
        *_, printed = follow(
            "import api.json --enable",
            "config set allowedHosts 127.0.0.1",
            "call weather.get_weather city=Paris",
        )
    assert value(printed) == {"path": "/weather?city=Paris"}


def test_function_is_changed_between_two_calls(home):
    follow("scaffold pack greet")
    file = home.config / "tools" / "greet.py"
    file.write_text('def hello(name: str) -> str:\n    """Greet."""\n    return f"Hello {name}"\n')
    assert value(*follow("call greet.hello name=Ada")) == "Hello Ada"
    file.unlink()
    file.write_text('def hello(name: str) -> str:\n    """Greet."""\n    return f"Hi {name}"\n')
    assert value(*follow("call greet.hello name=Ada")) == "Hi Ada"


def test_tool_is_turned_off_and_on(home):
    follow("tools disable time.now")
    assert "disabled" in refuse("call time.now")["error"]["message"]
    assert "onetool tools enable time.now" in onetool("call", "time.now").stderr
    follow("tools enable time.now", "call time.now")


def test_setting_is_changed_and_shown(home):
    *_, shown, _ = follow(
        "config set execution.timeout_s 30",
        "config get execution.timeout_s",
        "config unset execution.timeout_s",
    )
    assert "30" in shown


def test_dangerous_tool_is_forbidden(home):
    follow("deny file.write")
    assert "approval.deny" in refuse("call file.write path=a.txt content=hi")["error"]["message"]
    assert not (home.cwd / "a.txt").exists()


def test_client_is_connected_and_disconnected(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home.root))
    file = home.root / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": {"mine": {"command": "x"}}}')
    follow("mcp install cursor --yes")
    assert set(json.loads(file.read_text())["mcpServers"]) == {"mine", "onetool"}
    follow("mcp uninstall cursor --yes")
    assert json.loads(file.read_text()) == {"mcpServers": {"mine": {"command": "x"}}}


def test_program_is_saved_as_a_tool_with_a_parameter(home):
    program = """'tools.echo(message="Hello, Ada")'"""
    *_, printed = follow(
        f"run {program}", f"tools save my.hello {program} --param 'text=Hello, Ada'", "call my.hello text=Bob"
    )
    assert value(printed) == "Bob"


def test_cause_of_a_failed_call_is_found(home):
    refuse("call fs.read_file path=missing.txt")
    (record,) = json.loads(*follow("activity --failed --json"))
    assert "missing.txt" in follow(f"activity show {record['id']}")[0]
