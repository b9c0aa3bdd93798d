"""Media on the command line: one line each, and files with `--save`."""

import json
import re
import sys
from pathlib import Path

import pytest

from support.mcp_servers import rich_server
from support.onetool_process import on_a_terminal, onetool
from support.paths import MCP_SERVERS

RICH = {"command": sys.executable, "args": ["-I", str(MCP_SERVERS / "rich_server.py")], "sandbox": False}
LINE = r"Media\(mime_type='image/png', size=608, handle='([0-9a-f]{32})'\)"
HOSTILE_PACK = '''
from onetool.sdk import Media

pack = "hostile"

def files() -> list[Media]:
    """Return media of odd types."""
    return [Media(b"a", kind) for kind in ("application/x-sh", "text/..bashrc", "TEXT/HTML")]
'''


@pytest.fixture
def user(home):
    """A user with the server `rich`."""
    home.write("onetool.yaml", json.dumps({"servers": {"rich": RICH}}))
    return home


def run(*words):
    done = onetool(*words)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"[^\n\x20-\x7e]", done.stdout)
    return done


def contents(directory):
    return {path.name: path.read_bytes() for path in Path(directory).iterdir()}


@pytest.mark.spec("MCP-08")
def test_run_names_media_and_saves_them(user):
    done = run("run", "rich.picture()", "--save", "d/e")
    (handle,) = re.fullmatch(LINE, done.stdout.strip()).groups()
    assert contents("d/e") == {f"run-{handle[:8]}.png": rich_server.PNG}
    assert f"Saved 'd/e/run-{handle[:8]}.png' (image/png, 608 bytes)" in done.stderr


@pytest.mark.spec("MCP-08")
def test_run_names_and_saves_media_beside_structured_content(user):
    """If the value of the code is the whole result of the call."""
    done = run("run", "rich.both()", "--save", "d")
    value, line = done.stdout.splitlines()
    assert value.startswith("n: 1") or value.startswith("{n: 1")
    assert re.fullmatch(LINE, line)
    assert list(contents("d").values()) == [rich_server.PNG]


@pytest.mark.spec("MCP-08")
def test_json_has_the_content_of_rest(user):
    result = json.loads(run("tools", "invoke", "rich.screenshot", "--json", "--save", "d").stdout)
    text, image = result["content"]
    assert text == {"type": "text", "text": "The page:"}
    assert (image["type"], image["mimeType"], image["size"]) == ("image", "image/png", 608)
    assert contents("d") == {f"rich.screenshot-{image['handle'][:8]}.png": rich_server.PNG}
    again = json.loads(run("run", f"ot.result(handle={image['handle']!r})", "--json").stdout)
    assert [part["handle"] for part in again["content"]] == [image["handle"]]
    assert "content" not in json.loads(run("run", "1", "--json").stdout)


@pytest.mark.spec("MCP-08")
def test_files_are_never_replaced(user):
    result = json.loads(run("run", "rich.picture()", "--json").stdout)
    handle = result["content"][0]["handle"]
    for _ in range(3):
        run("run", f"ot.result(handle={handle!r})", "--save", "d")
    assert contents("d").keys() == {f"run-{handle[:8]}{suffix}.png" for suffix in ("", "-2", "-3")}


@pytest.mark.spec("MCP-08")
def test_a_type_chooses_only_among_known_extensions(home):
    home.write("tools/hostile.py", HOSTILE_PACK)
    run("tools", "invoke", "hostile.files", "--save", "d")
    assert sorted(name.partition(".files-")[2][8:] for name in contents("d")) == [".bin", ".bin", ".html"]


def test_media_beside_an_error_are_saved(user):
    done = onetool("tools", "invoke", "rich.failing", "--save", "d")
    assert done.returncode == 1
    assert list(contents("d").values()) == [rich_server.PNG]


@pytest.mark.spec("MCP-08")
@pytest.mark.linux
@pytest.mark.parametrize("tool", ["both", "failing", "screenshot"])
def test_a_terminal_shows_one_line_for_each_of_the_media(user, tool):
    """Also beside structured content and an error."""
    shown = on_a_terminal("tools", "invoke", f"rich.{tool}")
    assert len(re.findall(LINE, shown)) == 1
    assert rich_server.encode(rich_server.PNG)[:50] not in shown


def test_a_directory_that_is_a_file_is_rejected(user):
    Path("d").write_text("mine")
    assert onetool("run", "rich.picture()", "--save", "d").returncode == 2
    assert Path("d").read_text() == "mine"
