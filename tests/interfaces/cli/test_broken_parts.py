"""A broken part of an installation is shown where it matters, and nowhere else."""

import json

from onetool import onetool_runtime
from onetool.runtime.health import check_health
from onetool.testing import memory_runtime
from support.onetool_process import on_a_terminal, onetool
from support.rest_process import RestProcess


def test_a_broken_pack_is_named_once_by_commands_that_list_or_use_it(home):
    home.write("tools/broken.py", "def f(:\n")
    for words in (("call", "time.now"), ("config", "path"), ("tools", "list", "time."), ("check", "time")):
        assert "broken" not in onetool(*words).stderr, words
    for words in (("tools", "list"), ("tools", "list", "broken."), ("packs",)):
        errors = onetool(*words).stderr
        assert (errors.count("\n"), errors.count("SyntaxError")) == (1, 1), (words, errors)
        assert "Missing: the tools of broken (broken.py was skipped: SyntaxError" in errors
    done = onetool("call", "broken.f", "--json")
    assert json.loads(done.stdout)["error"]["message"].count("SyntaxError") == 1
    assert "SyntaxError" not in done.stderr
    assert [record["level"] for record in home.log() if "skipped pack file" in record["message"]]


def test_a_program_that_uses_onetool_is_told_of_a_broken_pack(home, capsys):
    home.write("tools/broken.py", "def f(:\n")
    with onetool_runtime() as ot:
        assert not ot.call("broken.f").ok
    assert "skipped pack file" in capsys.readouterr().err


def test_doctor_without_servers_starts_none(home):
    """It reports what it checks while it does."""
    marker = home.cwd / "started"
    program = f"import pathlib; pathlib.Path({str(marker)!r}).touch()"
    server = {"command": "python3", "args": ["-c", program], "sandbox": False}
    home.write("onetool.yaml", json.dumps({"servers": {"far": server}}))
    done = onetool("doctor", "--no-servers", "--json")
    assert {finding["part"] for finding in json.loads(done.stdout)} >= {"settings", "tools", "code"}
    assert "Checking packs, code, requirements, sandbox ..." in done.stderr
    assert done.stderr.count("Checked ") == 4
    assert not marker.exists()
    onetool("check")
    assert not marker.exists()
    onetool("doctor")
    assert marker.exists()


def test_health_names_settings_that_broke_while_the_server_runs(tmp_path):
    """Until they can be loaded again; the server goes on with the earlier ones."""
    with RestProcess(tmp_path, probes=False) as server:
        assert server.client.get("/health").json()["settingsError"] == ""
        server.write_settings("execution: {timeout_s: many}\n")
        health = server.client.get("/health").json()
        assert "onetool.yaml" in health["settingsError"]
        (problem,) = [item for item in health["problems"] if "settings" in item["what"]]
        assert "timeout_s" in problem["what"]
        assert problem["fix"].endswith("onetool run 'ot.reload()'")
        server.write_settings("")
        assert server.client.get("/health").json()["settingsError"] == ""


async def test_health_of_a_runtime_without_files_has_no_settings_problem():
    async with memory_runtime() as ot:
        assert (await check_health(ot.runtime.state, ot.runtime.threads)).settings_error == ""


def test_check_lists_a_requirement_once_with_its_tools(home):
    code = "from onetool.sdk import requires_lib\n"
    code += "".join(f"@requires_lib('no_such_module')\ndef f{number}(): ...\n" for number in range(3))
    home.write("tools/mine.py", code)
    done = on_a_terminal("check", "mine")
    assert done.count("no_such_module") == 1
    assert "mine (3 tools)" in done
    assert len(json.loads(onetool("check", "mine", "--json").stdout)) == 3
    needs = [
        item
        for item in json.loads(onetool("doctor", "--no-servers", "--json").stdout)
        if item["part"] == "needs"
    ]
    assert [need["message"] for need in needs if "mine" in need["message"]] == [
        "mine (3 tools) requires no_such_module"
    ]
