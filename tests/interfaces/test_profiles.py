"""A client with a profile sees, finds, reads and calls nothing else, through any interface."""

import asyncio
import json
import os
import re
import sys
from dataclasses import replace

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onetool.bootstrap import open_runtime
from onetool.domain import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import Reason, ToolNotFound
from onetool.domain.identity.principal import LOCAL
from onetool.domain.text.json_text import pretty
from onetool.interfaces.mcp.exposure import EXPOSURES
from onetool.interfaces.mcp.mcp_endpoint import McpEndpoint, UnknownEndpoint, check_endpoint, create_endpoint
from onetool.interfaces.rest.auth.credentials import profile_token
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.testing import memory_runtime
from support.contents_world import SCRIPT
from support.mcp_client import child_env, create_home
from support.onetool_process import onetool
from support.raw_mcp import LEGACY, MODERN, RawMcpClient
from support.rest_in_process import TOKEN, serve_rest

HIDDEN = re.compile(r"zebra|giraffe|stripes|graze", re.IGNORECASE)
"""Words of tools outside the profile."""
PACKS = {
    "zebra": 'pack = "zebra"\ndef stripes() -> int:\n    """Count the stripes of a zebra."""\n    return 7\n',
    "horse": 'pack = "horse"\ndef ride() -> str:\n    """Ride a horse."""\n    return "ridden"\n\n\n'
    'def graze() -> str:\n    """Let it graze."""\n    return "grazed"\n',
    "broken": 'pack = "zebra_broken"\nimport nothing_with_this_name\n',
}
SETTINGS = {
    "aliases": {"z": "zebra.stripes", "g": "horse.graze", "r": "horse.ride"},
    "snippets": {
        "count": {"body": "zebra.stripes()", "description": "Count stripes."},
        "ride": {"body": "horse.ride()", "description": "Ride."},
    },
    "profiles": {
        "riders": {"packs": ["horse"], "exclude": ["*.graze"]},
        "keepers": {"servers": ["giraffe"]},
    },
    "expose": "run",
}
PROBES = [
    "ot.tools(info='full')",
    "ot.packs(info='full')",
    "ot.help()",
    "ot.help(query='animal with a pattern', info='full')",
    "ot.find(query='count something on an animal', limit=20)",
    "ot.aliases(info='full')",
    "ot.snippets(info='full')",
    "ot.config()",
    "ot.health()",
    "ot.check()",
    "ot.tasks()",
    "ot.stats()",
    "ot.resources()",
    "ot.prompts()",
    "horse.raze()",
    "zebr.stripe",
    "ot.help(query='zebr')",
]
"""Code whose result must not name anything outside the profile, except for the words in the code."""


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """A home with two packs and a server, whose tools are known."""
    root = tmp_path_factory.mktemp("zoo")
    home = create_home(root)
    for name, text in PACKS.items():
        home.write(f"tools/{name}.py", text)
    server = {"command": sys.executable, "args": ["-I", SCRIPT, str(root / "giraffe")], "sandbox": False}
    home.write("onetool.yaml", yaml.safe_dump(SETTINGS | {"servers": {"giraffe": server}}))
    done = onetool("servers", "test", "giraffe", env=child_env(**home.env), cwd=home.cwd)
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture
def animals(zoo, monkeypatch):
    """The shared home, as that of the user of this process."""
    for name, value in zoo.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(zoo.cwd)
    return zoo


def open_animals(home):
    paths = find_paths(home.env, home.cwd)
    return open_runtime(lambda: load_configuration(paths, {}), waits_for_servers=True)


def caller(profile="riders", **fields):
    return Caller(
        interface="mcp", principal=LOCAL.with_profile(profile), default_effect=Effect.ALLOW, **fields
    )


@pytest.mark.guards("client-profile")
async def test_nothing_outside_a_profile_is_shown(animals):
    async with open_animals(animals) as runtime:
        assert (await runtime.run("zebra.stripes()", Caller(interface="mcp"))).data == 7
        for code in PROBES:
            result = await runtime.run(code, caller())
            shown = str(result.data) if result.ok else result.error.message
            for word in re.findall(r"'(\w+)|^(\w+)", code):
                shown = shown.replace("".join(word), "")
            assert not HIDDEN.search(shown), (code, shown)
        for expose in ("search", "all"):
            tools, _ = await EXPOSURES[expose](runtime).page(None, caller())
            assert not HIDDEN.search(repr(tools)), expose


async def test_a_tool_outside_a_profile_is_unknown_like_one_that_does_not_exist(animals):
    outside = ("zebra.stripes", "z", "horse.graze", "g", "giraffe.echo", "zebra_broken.x", "shell.pwd")
    async with open_animals(animals) as runtime:
        for name in (*outside, "nothing.here"):
            with pytest.raises(ToolNotFound) as raised:
                await runtime.state.catalog.resolve(name, caller())
            assert raised.value.reason is Reason.UNKNOWN
            suggested = re.sub(r" Did you mean .*", "", str(raised.value))
            assert suggested == f"Tool not found: {name!r}."
            assert not HIDDEN.search(str(raised.value).removeprefix(suggested))
        assert (await runtime.call_tool("zebra.stripes", {}, Caller(interface="mcp"), "mcp")).data == 7


async def test_code_snippets_and_jobs_cannot_leave_a_profile(animals):
    async with open_animals(animals) as runtime:
        for code in ("zebra.stripes()", "z()", "g()", "$count", "ot.start(tool='zebra.stripes')"):
            result = await runtime.run(code, caller())
            assert not result.ok, code
            assert "7" not in result.error.message
        assert (await runtime.run("r() + '!'", caller())).data == "ridden!"
        assert (await runtime.run("$ride", caller())).data == "ridden"


async def test_resources_and_prompts_belong_to_the_server_of_a_profile(animals):
    async with open_animals(animals) as runtime:
        contents = runtime.state.contents
        assert await contents.items("resource", caller()) == []
        assert await contents.items("resource", caller("keepers")) != []
        result = await runtime.run("ot.read(uri='ot.giraffe+memo:x')", caller())
        assert "not found" in result.error.message
        assert (await runtime.run("ot.read(uri='ot.giraffe+memo:x')", caller("keepers"))).ok


async def test_a_profile_that_does_not_exist_hides_everything(animals):
    async with open_animals(animals) as runtime:
        assert await runtime.state.catalog.specs(caller("gone")) == []
        for endpoint, message in {
            McpEndpoint(
                profile="rider"
            ): "Profile 'rider' not found. Did you mean riders? Profiles: keepers, riders.",
            McpEndpoint(profile=""): "Profile '' not found.",
            McpEndpoint(only=""): "Server '' not found.",
            McpEndpoint(only="zebra"): "Server 'zebra' not found. Servers: giraffe.",
            McpEndpoint(only="giraffe", profile="riders"): "Server 'giraffe' not found. There are none.",
        }.items():
            with pytest.raises(UnknownEndpoint, match=re.escape(message)):
                check_endpoint(runtime, endpoint)
        check_endpoint(runtime, McpEndpoint(only="giraffe", profile="keepers"))
        assert "find_tools" in create_endpoint(runtime, McpEndpoint("search", profile="riders")).instructions


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_mcp_client_over_stdio_has_the_profile_of_its_command(animals, version):
    command = ["onetool", "mcp", "--profile", "riders", "--expose", "all"]
    client = RawMcpClient(version, animals.env, animals.cwd, command)
    try:
        handshake = client.initialize()
        listed = client.request("tools/list")
        called = client.request("tools/call", name="horse__ride", arguments={})
        refused = client.request("tools/call", name="zebra__stripes", arguments={})
    finally:
        client.kill()
    assert not HIDDEN.search(json.dumps([handshake, listed]))
    assert called["result"]["content"][0]["text"] == "ridden"
    assert refused["result"]["isError"]


@pytest.mark.parametrize("name", ["rider", ""])
def test_unknown_profile_ends_the_command(animals, name):
    """Also an empty name, such as that of a variable that is not set."""
    done = onetool("mcp", "--profile", name)
    assert done.returncode == 1
    assert f"Profile {name!r} not found." in done.stderr


@pytest.mark.guards("client-profile")
async def test_token_of_a_profile_is_only_for_calls_of_the_profile(animals):
    async with open_animals(animals) as runtime, serve_rest(runtime) as client:
        client.headers["authorization"] = f"Bearer {profile_token(TOKEN, 'riders')}"
        called = await client.post("/tools/call", json={"name": "horse.ride", "args": {}})
        assert called.json()["value"] == "ridden"
        refused = await client.post("/tools/call", json={"name": "zebra.stripes", "args": {}})
        assert refused.status_code == 404
        ran = await client.post("/run", json={"command": "zebra.stripes()"})
        assert "not defined" in ran.json()["error"]["message"]
        for path in ("/tools/tools", "/jobs", "/servers", "/usage", "/signatures", "/mcp", "/mcp/p/keepers"):
            assert (await client.get(path)).status_code == 403, path
        for token in (
            profile_token("wrong", "riders"),
            profile_token(TOKEN, "riders")[:-1],
            "riders.",
            "riders",
        ):
            client.headers["authorization"] = f"Bearer {token}"
            assert (await client.post("/tools/call", json={"name": "horse.ride"})).status_code == 401, token


async def test_profile_that_asks_refuses_rest_calls_that_cannot_be_asked(home):
    profile = SETTINGS["profiles"]["riders"] | {"approval": {"mode": "ask"}}
    pack = PACKS["horse"].replace(
        "def ride", "from onetool.sdk import tool\n\n\n@tool(read_only=False)\ndef ride"
    )
    home.write("onetool.yaml", yaml.safe_dump({"profiles": {"riders": profile}}))
    home.write("tools/horse.py", pack)
    async with open_animals(home) as runtime, serve_rest(runtime) as client:
        body = {"name": "horse.ride", "args": {}}
        assert (await client.post("/tools/call", json=body)).json()["ok"]
        client.headers["authorization"] = f"Bearer {profile_token(TOKEN, 'riders')}"
        refused = (await client.post("/tools/call", json=body)).json()
        assert "was not approved" in refused["error"]["message"]
        asked = await client.post("/tools/call", json=body | {"interactive": True})
        assert asked.status_code == 202
        (question,) = asked.json()["questions"]
        body = {"answers": {question["id"]: {"action": "accept", "content": {"allow": True}}}}
        answered = await client.post(f"/jobs/{asked.json()['job']}/answers", json=body, params={"wait": 30})
        assert answered.json()["result"]["value"] == "ridden"


def test_project_cannot_change_a_profile_of_the_user(home):
    home.write("onetool.yaml", "profiles: {riders: {packs: [horse]}}\n")
    project = home.cwd / ".onetool"
    project.mkdir(mode=0o700)
    (project / "onetool.yaml").write_text("profiles: {riders: {packs: ['*']}, more: {packs: [time]}}\n")
    (project / "onetool.yaml").chmod(0o600)
    paths = find_paths(home.env, home.cwd)
    assert list(load_configuration(paths, os.environ).settings.profiles) == ["riders"]
    assert onetool("trust", "--yes").returncode != 0
    (project / "onetool.yaml").write_text("profiles: {more: {packs: [time], roots: [.]}}\n")
    trusted = onetool("trust", "--yes")
    assert trusted.returncode == 0, trusted.stderr
    assert "profiles.more.packs" in trusted.stdout
    profiles = load_configuration(paths, os.environ).settings.profiles
    assert profiles["more"].roots == (str(home.cwd.resolve()),)
    (project / "onetool.yaml").write_text("profiles: {riders: {packs: ['*']}}\n")
    assert "riders" not in load_configuration(paths, os.environ).settings.profiles["riders"].packs


NAMES = st.sampled_from(["demo.add", "other.get", "time.now", "ot.find", "ot.tools"])
PATTERNS = st.lists(st.sampled_from(["demo.*", "*.add", "other.*", "time.now", "x"]), max_size=2)


@pytest.mark.guards("client-profile")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    profile=st.fixed_dictionaries(
        {"exclude": PATTERNS},
        optional={"packs": st.lists(st.sampled_from(["demo", "o*", "time"]), max_size=2)},
    ),
    allowed=st.none() | st.frozensets(NAMES),
)
def test_every_interface_agrees_with_the_policy(profile, allowed):
    """Listings, search, code and calls by name show and run exactly what the policy does not hide."""
    asyncio.run(_check_agreement(profile, allowed))


def add() -> int:
    """Add."""
    return 1


def sub() -> int:
    """Subtract."""
    return 2


def get() -> int:
    """Get."""
    return 3


async def _check_agreement(profile, allowed):
    profiles = {"profiles": {"part": profile}}
    async with memory_runtime({"demo": [add, sub], "other": [get]}, settings=profiles) as ot:
        runtime, own = ot.runtime, caller("part", allowed=allowed)
        policy = runtime.state.catalog.policy
        specs = {spec.name: spec for spec in await runtime.state.catalog.specs()}
        visible = {name for name, spec in specs.items() if policy.is_visible(spec, own)}
        assert {spec.name for spec in await runtime.state.catalog.specs(own)} == visible
        found = await runtime.state.search.find("add sub get now find tools", own, 50)
        assert {spec.name for spec in found.specs} <= visible
        tools, _ = await EXPOSURES["all"](runtime).page(None, own)
        assert len(tools) == len(visible)
        for name in ("demo.add", "demo.sub", "other.get", "time.now"):
            assert (await runtime.call_tool(name, {}, own, "mcp")).ok == (name in visible)
            assert (await runtime.run(f"{name}()", own)).ok == (name in visible)
            assert (await runtime.run(f"{name}()", replace(own, depth=1))).ok == (name in visible)
        if "ot.tools" in visible:
            listed = await runtime.run("ot.tools(info='list')", own)
            assert set(listed.data) == visible, pretty(listed.data)
