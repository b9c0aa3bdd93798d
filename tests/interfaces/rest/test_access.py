"""`/access` and `onetool why` explain who may call a tool."""

import json

import pytest

from support.onetool_process import onetool
from support.rest_in_process import serve_memory


def change() -> str:
    """Change something."""
    return "changed"


PROFILES = {"readers": {"exclude": ["demo.*"]}, "askers": {"approval": {"mode": "ask"}}}


async def test_access_lists_the_decision_and_the_rules_for_every_kind_of_caller():
    settings = {"approval": {"mcp": "ask", "deny": ["time.*"]}, "profiles": PROFILES}
    async with serve_memory({"demo": [change]}, settings=settings) as client:
        page = (await client.get("/access", params={"query": "time.NOW"})).json()
        assert [tool["name"] for tool in page["tools"]] == ["time.now"]
        (tool,) = page["tools"]
        assert [decision["caller"] for decision in tool["decisions"]] == page["callers"]
        assert {decision["effect"] for decision in tool["decisions"]} == {"deny"}
        assert tool["decisions"][0]["rules"] == [
            {"effect": "deny", "origin": "approval.deny", "value": "time.*"}
        ]
        (tool,) = (await client.get("/access", params={"query": "demo."})).json()["tools"]
        effects = {
            decision["caller"].rpartition(" ")[2]: decision["effect"] for decision in tool["decisions"]
        }
        assert effects == {
            "UI": "allow",
            "chat": "allow",
            "clients": "allow",
            "readers": "hidden",
            "askers": "allow",
        }
        assert (await client.get("/access/demo.change")).json() == tool
        missing = await client.get("/access/demo.chang")
        assert (missing.status_code, missing.json()["detail"]) == (404, "Tool 'demo.chang' not found.")
        who = [(decision["interface"], decision["profile"]) for decision in tool["decisions"]]
        assert who == [("cli", ""), ("ask", ""), ("mcp", ""), ("mcp", "readers"), ("mcp", "askers")]
        first = (await client.get("/access", params={"pageSize": 2})).json()
        second = (await client.get("/access", params={"pageToken": first["nextPageToken"]})).json()
        assert not {tool["name"] for tool in first["tools"]} & {tool["name"] for tool in second["tools"]}


def why(tool, *options):
    done = onetool("why", tool, *options, "--json")
    assert done.returncode == 0, done.stderr
    return {
        entry["caller"]: (entry["effect"], entry["rules"][0]["origin"]) for entry in json.loads(done.stdout)
    }


def test_why_follows_allow_and_deny(home):
    home.write("onetool.yaml", "# mine\napproval:\n  mcp: ask  # asks\nprofiles:\n  part: {packs: [file]}\n")
    assert why("file.write")["MCP clients"] == ("ask", "approval.mcp")
    allowed = onetool("allow", "file.*")
    assert "Added 'file.*' to approval.allow" in allowed.stdout
    assert why("file.write")["MCP clients"] == ("allow", "approval.allow")
    onetool("deny", "file.*")
    assert why("file.write")["MCP clients"] == ("deny", "approval.deny")
    assert "file" not in str(json.loads(onetool("config", "show", "--json").stdout)["approval"]["allow"])
    onetool("allow", "file.*")
    onetool("deny", "file.write", "--profile", "part")
    assert why("file.write", "--profile", "part") == {
        "MCP clients with profile part": ("deny", "profiles.part.approval.deny")
    }
    assert why("file.write")["MCP clients"] == ("allow", "approval.allow")
    assert "# mine" in (home.config / "onetool.yaml").read_text()
    assert "mcp: ask  # asks" in (home.config / "onetool.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("why", "tim.now"), "Tool not found: 'tim.now'. Did you mean time.now"),
        (("why", "time.now", "--profile", "x"), "Profile 'x' not found. There are none."),
        (("deny", "a.*", "--profile", "x"), "Profile 'x' not found. There are none."),
        (("profiles", "token", "x"), "Profile 'x' not found. There are none."),
        (("mcp", "install", "cursor", "--profile", "x", "--yes"), "Profile 'x' not found. There are none."),
    ],
)
def test_unknown_names_are_errors(home, arguments, message):
    done = onetool(*arguments)
    assert done.returncode == 1
    assert message in done.stderr


def test_profiles_are_listed_with_their_tokens(home, monkeypatch):
    monkeypatch.setenv("ONETOOL_TOKEN", "t")
    home.write("onetool.yaml", "profiles: {part: {packs: [time]}, all: {}}\n")
    assert json.loads(onetool("profiles", "list", "--json").stdout)["part"]["packs"] == ["time"]
    assert onetool("profiles", "token", "part").stdout.startswith("part.")
