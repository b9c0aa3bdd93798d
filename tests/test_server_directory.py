"""In which directory the program of a server runs."""

import json
import sys

import pytest
import yaml

from support.asking_client import AskingClient, HttpTransport, text_of
from support.onetool_process import onetool
from support.paths import MCP_SERVERS
from support.raw_mcp import LEGACY
from support.rest_process import TOKEN, RestProcess

SCRIPT = str(MCP_SERVERS / "faulty_server.py")


def settings(**fields):
    server = {"command": sys.executable, "args": ["-I", SCRIPT, "good"], "sandbox": False}
    return yaml.safe_dump({"servers": {"s": server | {"trust_annotations": True} | fields}, "expose": "all"})


def directory():
    """Return the directory in which the server runs, for a command in the current one."""
    return json.loads(onetool("tools", "invoke", "s.cwd").stdout)["data"]


@pytest.mark.spec("MCP-69")
def test_a_server_of_the_user_runs_in_its_own_directory(home):
    home.write("onetool.yaml", settings())
    assert directory() == str(home.state / "server_homes" / "s")


@pytest.mark.spec("MCP-69")
@pytest.mark.parametrize("folder", [".", "sub"])
def test_a_server_of_a_project_runs_in_the_project(home, monkeypatch, folder):
    """Wherever in the project the command is used."""
    (home.cwd / ".onetool").mkdir()
    (home.cwd / ".onetool" / "onetool.yaml").write_text(settings())
    assert onetool("trust", "--yes").returncode == 0
    (home.cwd / folder).mkdir(exist_ok=True)
    monkeypatch.chdir(home.cwd / folder)
    assert directory() == str(home.cwd)


@pytest.mark.spec("MCP-69")
def test_the_setting_decides(home, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    home.write("onetool.yaml", settings(cwd=str(place)))
    assert directory() == str(place)


@pytest.mark.spec("MCP-69")
def test_clients_with_different_roots_share_the_process(tmp_path):
    pids = []
    with RestProcess(tmp_path, settings=settings()) as process:
        for root in ("a", "b"):
            transport = HttpTransport(f"{process.url}/mcp", LEGACY, TOKEN)
            answer = {"roots": [{"uri": f"file:///{root}"}]}
            with AskingClient(transport, LEGACY, {"roots": {}}, lambda _, answer=answer: answer) as client:
                pids.append(text_of(client.call("s__pid", {})))
    assert pids[0].isdigit()
    assert pids[0] == pids[1]
