"""Servers of the MCP registry over REST: search, review, install and update."""

import json
import stat

import pytest

from onetool.testing import StubResponse
from support.registry_server import RegistryServer, new_server_name
from support.registry_stub import (
    FILESYSTEM,
    INTEGRITY,
    NOTES,
    TIME,
    RegistryStub,
    entry,
    filesystem_entry,
    notes_entry,
    npm_package,
    time_entry,
)
from support.rest_in_process import serve_memory

KEY = "key-1234567890-of-the-user"


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory):
    with RegistryStub() as stub, RegistryServer(tmp_path_factory.mktemp("registry"), stub) as server:
        yield server


@pytest.fixture
def server(shared_server):
    """The shared server, with the entries and answers that every test begins with."""
    stub = shared_server.stub
    stub.entries = [filesystem_entry(), time_entry(), notes_entry()]
    stub.failure, stub.integrity, stub.index_status = None, INTEGRITY, 200
    return shared_server


def problems(plan):
    return {problem["name"]: problem["reason"] for problem in plan["problems"]}


def test_search_returns_what_can_be_installed(server):
    server.stub.entries += [entry("a.b/filesystem-x", packages=[{"registryType": "nuget"}]), {"server": 1}]
    found = server.client.get("/registry/servers", params={"search": "filesystem"}).json()
    assert (found["isComplete"], found["skipped"], found["offline"]) == (True, 0, None)
    other, filesystem = found["servers"]
    assert filesystem == {
        "name": FILESYSTEM,
        "version": "2025.8.21",
        "publisher": "io.github.modelcontextprotocol",
        "kinds": ["npm"],
        "description": f"About {FILESYSTEM}",
        "repository": "https://github.com/modelcontextprotocol/servers",
        "status": "active",
        "statusMessage": "",
        "isInstallable": True,
        "problem": "",
    }
    assert (other["isInstallable"], "nuget" in other["problem"]) == (False, True)
    for words in ("", "  ", "x" * 201):
        assert server.client.get("/registry/servers", params={"search": words}).status_code == 400


def test_search_without_a_connection_returns_the_age_of_the_answer(server):
    query = {"search": "modelcontextprotocol time"}
    online = server.client.get("/registry/servers", params=query).json()
    server.stub.failure = StubResponse("", 503)
    stored = server.client.get("/registry/servers", params=query).json()
    assert stored["servers"] == online["servers"]
    assert "503" in stored["offline"]["problem"]
    assert stored["offline"]["ageSeconds"] >= 0
    failed = server.client.get("/registry/servers", params={"search": "never-asked"})
    assert (failed.status_code, "cannot be reached" in failed.json()["detail"]) == (502, True)


def test_plan_names_the_missing_inputs_and_writes_nothing(server):
    before = server.settings
    plan = server.plan(NOTES)
    assert plan["inputs"] == [
        {
            "name": "NOTES_TOKEN",
            "kind": "secret",
            "isRequired": True,
            "isRepeated": False,
            "isKnown": False,
            "default": "",
            "choices": [],
            "description": "Token",
        }
    ]
    assert plan["problems"] == [
        {"name": "NOTES_TOKEN", "isMissing": True, "reason": "The server requires 'NOTES_TOKEN'."}
    ]
    assert (plan["isComplete"], plan["settings"], plan["command"], plan["planDigest"]) == (
        False,
        None,
        "",
        "",
    )
    assert (plan["server"]["publisher"], plan["package"], plan["packageVersion"], plan["kind"]) == (
        "io.github.owner",
        "notes-server",
        "1.0.0",
        "npm",
    )
    assert list(plan["digests"].values()) == [INTEGRITY]
    assert plan["registry"] == server.stub.url
    empty = server.plan(NOTES, values={"NOTES_TOKEN": ""})
    assert empty["problems"] == plan["problems"]
    assert server.settings == before


@pytest.mark.guards("registry-install")
def test_what_is_installed_is_what_the_plan_showed(server):
    """The settings refer to the secret. The program is not started."""
    name, plan = server.install(NOTES, values={"NOTES_TOKEN": KEY})
    reference = f"{name}_NOTES_TOKEN".upper()
    assert plan["settings"] == server.settings[name]
    assert plan["settings"]["env"] == {"NOTES_TOKEN": f"${{{reference}}}"}
    assert plan["command"] == "npx -y notes-server@1.0.0"
    assert KEY not in json.dumps(plan)
    assert server.secrets[reference] == KEY
    assert stat.S_IMODE((server.config / "secrets.yaml").stat().st_mode) == 0o600
    assert server.read_settings().startswith("# mine\n")
    record = json.loads((server.root / "data" / "registry" / f"{name}.json").read_text())
    assert list(record["digests"].values()) == [INTEGRITY]
    listed = {item["name"]: item["state"] for item in server.client.get("/servers").json()["servers"]}
    assert listed[name] == "configured"
    assert not server.has_started_a_server
    assert KEY not in server.log


def test_paths_are_granted_and_several_values_are_written(server, tmp_path):
    first, second = tmp_path / "a", tmp_path / "b c"
    first.mkdir()
    second.mkdir()
    name, plan = server.install(FILESYSTEM, values={"directory": [str(first), str(second)]})
    assert plan["inputs"][0]["isRepeated"]
    assert plan["grants"] == [
        {"path": str(first), "canWrite": True},
        {"path": str(second), "canWrite": True},
    ]
    assert plan["command"].endswith(f"{first} '{second}'")
    assert server.settings[name]["args"][2:] == [str(first), str(second)]
    further = server.plan(TIME, paths=["/a"], **{"as": "clock"})
    assert problems(further) == {"": "The server wants no further path: '/a'."}
    by_path = server.plan(FILESYSTEM, paths=[str(first)], **{"as": "by_path"})
    assert by_path["settings"]["args"][2:] == [str(first)]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"LEVEL": "loud"}, "'LEVEL' must be one of: high, low."),
        ({"LEVEL": ["low", "high"]}, "'LEVEL' accepts one value."),
        ({"NOTES_TOKEN": "${OTHER}"}, "There is no secret 'OTHER' in secrets.yaml."),
        ({"NOTES_TOKEN": f"{KEY}${{MINE}}"}, "The value of 'NOTES_TOKEN' cannot contain '${'."),
        ({"name": "a\0b"}, "The value of 'name' cannot contain a null character."),
        ({"directory": "work"}, "'directory' must be an absolute path, not 'work'."),
        ({"directory": "~no-such-user/x"}, "The home directory in '~no-such-user/x' is unknown."),
    ],
)
def test_invalid_value_is_reported_at_its_input(values, reason, server):
    server.stub.entries = [
        notes_entry(
            variables=[{"name": "LEVEL", "choices": ["high", "low"]}],
            packageArguments=[
                {"type": "positional", "valueHint": "name"},
                {"type": "positional", "valueHint": "directory"},
            ],
        )
    ]
    plan = server.plan(NOTES, values={"NOTES_TOKEN": KEY} | values)
    assert problems(plan) == {next(iter(values)): reason}
    assert (plan["isComplete"], plan["planDigest"]) == (False, "")
    assert KEY not in json.dumps(plan)
    option = server.plan(NOTES, values={"NOTES_TOKEN": KEY, "name": "--config"})
    assert "would be read as an option" in problems(option)[""]


@pytest.mark.guards("registry-secrets")
def test_no_problem_quotes_a_value(server):
    """A value may be a secret, so not even an invalid one is returned."""
    number = 98765432109876
    for value in (number, [number], "x" * 100_001, [KEY, {"a": KEY}], {"a": KEY}, ["x"] * 101):
        refused = server.client.post("/registry/plan", json={"name": NOTES, "values": {"NOTES_TOKEN": value}})
        assert refused.status_code == 400
        assert "NOTES_TOKEN" in refused.json()["detail"]
        for secret in (str(number), KEY, "xxx"):
            assert secret not in refused.text
    surrogate = '{"name": "a.b/c", "values": {"X": "\\ud800"}}'
    headers = {"Content-Type": "application/json"}
    assert server.client.post("/registry/plan", content=surrogate, headers=headers).status_code == 400


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../x", "'../x' is not a Python identifier."),
        ("time", "A pack 'time' already exists."),
        (None, "A pack 'time' already exists."),
    ],
)
def test_name_that_cannot_be_used_is_reported(name, problem, server):
    plan = server.plan(TIME, **{"as": name})
    assert (plan["nameProblem"], plan["isComplete"], plan["planDigest"]) == (problem, False, "")


def test_second_server_of_a_name_is_refused(server):
    name, plan = server.install(TIME)
    body = {"name": TIME, "as": name}
    assert server.plan(**body)["nameProblem"] == f"A server {name!r} already exists."
    again = server.client.post("/registry/install", json=body | {"planDigest": plan["planDigest"]})
    assert (again.status_code, "Review it again" in again.json()["detail"]) == (409, True)


def change_package(stub):
    stub.integrity = INTEGRITY.replace("A", "B")


def change_version(stub):
    stub.entries.append(notes_entry("1.1.0"))


def change_command(stub):
    stub.entries = [notes_entry(packageArguments=[{"type": "positional", "value": "--all"}])]


def lose_the_digest(stub):
    stub.index_status = 500


@pytest.mark.guards("registry-install")
@pytest.mark.parametrize("change", [change_package, change_version, change_command, lose_the_digest])
def test_plan_that_changed_since_it_was_shown_is_refused(change, server):
    body = {"name": NOTES, "as": new_server_name(), "values": {"NOTES_TOKEN": KEY + "-2"}}
    digest = server.plan(**body)["planDigest"]
    before, secrets = server.settings, server.secrets
    change(server.stub)
    refused = server.client.post("/registry/install", json=body | {"planDigest": digest})
    assert (refused.status_code, "not what was reviewed" in refused.json()["detail"]) == (409, True)
    incomplete = server.client.post("/registry/install", json={"name": NOTES, "planDigest": ""})
    assert incomplete.status_code == 409
    assert (server.settings, server.secrets) == (before, secrets)


@pytest.mark.guards("registry-secrets")
def test_secret_that_was_added_by_hand_is_not_replaced(server):
    """The file counts, even if its last change was not loaded yet."""
    body = {"name": NOTES, "as": new_server_name(), "values": {"NOTES_TOKEN": KEY}}
    label = f"{body['as']}_NOTES_TOKEN".upper()
    digest = server.plan(**body)["planDigest"]
    with (server.config / "secrets.yaml").open("a") as file:
        file.write(f"{label}: by-hand-123456\n")
    refused = server.client.post("/registry/install", json=body | {"planDigest": digest})
    assert refused.status_code == 409
    server.install(**body)
    assert (server.secrets[label], server.secrets[f"{label}_2"]) == ("by-hand-123456", KEY)


@pytest.mark.guards("registry-install")
@pytest.mark.parametrize(
    ("item", "status", "message"),
    [
        (entry(NOTES, packages=[{"registryType": "nuget"}]), 409, "nuget: packages of this kind cannot run"),
        (entry(NOTES, status="deleted"), 409, "was deleted"),
        (entry("a.b/other"), 404, "no such server"),
        (
            entry(NOTES, packages=[npm_package("p", "1.0.0", environmentVariables=[{"name": "A\x1b"}])]),
            409,
            "has invisible characters",
        ),
    ],
)
def test_entry_that_cannot_be_used_is_refused(item, status, message, server):
    server.stub.entries = [item]
    assert message in server.plan(NOTES, status)["detail"]
    assert server.plan("no-name", 409)["detail"].startswith("The entry cannot be used")


@pytest.mark.guards("registry-install")
def test_undeclared_values_are_variables_that_cannot_change_the_program(server):
    values = {"NOTES_TOKEN": "${MINE}", "MODE": "x"}
    plan = server.plan(NOTES, values=values)
    assert plan["settings"]["env"] == values
    refused = server.plan(NOTES, 400, values=values | {"LD_PRELOAD": "/x"})
    assert "could change which program runs" in refused["detail"]
    remote = {"type": "streamable-http", "url": "https://mcp.example.com/mcp"}
    server.stub.entries = [entry(NOTES, remotes=[remote])]
    assert "wants no 'MODE'" in server.plan(NOTES, 400, values={"MODE": "x"})["detail"]
    plan = server.plan(NOTES)
    assert (plan["kind"], plan["command"]) == ("remote", "https://mcp.example.com/mcp")


def test_update_is_applied_as_it_was_shown(server):
    """Other settings of the server stay, and the response does not contain them."""
    name, _ = server.install(NOTES, values={"NOTES_TOKEN": KEY})
    text = server.read_settings()
    own = f"  {name}:\n    timeout_s: 99\n    sandbox: false\n"
    server.edit_settings(text.replace(f"  {name}:\n", own))
    same = server.find_update(name)
    assert (same["installed"], same["latest"], same["isNewer"], same["plan"]) == (
        "1.0.0",
        "1.0.0",
        False,
        None,
    )
    server.stub.entries.append(notes_entry("1.1.0", variables=[{"name": "MODE", "isRequired": True}]))
    found = server.find_update(name)
    assert (found["installed"], found["latest"], found["isNewer"]) == ("1.0.0", "1.1.0", True)
    assert found["command"] == "npx -y notes-server@1.0.0"
    assert problems(found["plan"]) == {"MODE": "The server requires 'MODE'."}
    assert {item["name"]: item["isKnown"] for item in found["plan"]["inputs"]} == {
        "NOTES_TOKEN": True,
        "MODE": False,
    }
    body = {"values": {"MODE": "fast"}}
    plan = server.client.post(f"/servers/{name}/update/plan", json=body).json()["plan"]
    assert plan["command"] == "npx -y notes-server@1.1.0"
    assert ("timeout_s" in plan["settings"], plan["isSandboxed"]) == (False, False)
    stale = server.client.post(f"/servers/{name}/update", json=body | {"planDigest": "0" * 64})
    assert stale.status_code == 409
    done = server.client.post(f"/servers/{name}/update", json=body | {"planDigest": plan["planDigest"]})
    assert (done.status_code, done.json()) == (200, {"name": name})
    assert server.settings[name] == {
        "command": "npx",
        "args": ["-y", "notes-server@1.1.0"],
        "timeout_s": 99,
        "sandbox": False,
        "env": {"NOTES_TOKEN": f"${{{name.upper()}_NOTES_TOKEN}}", "MODE": "fast"},
    }
    again = server.client.post(f"/servers/{name}/update", json=body | {"planDigest": plan["planDigest"]})
    assert (again.status_code, "up to date" in again.json()["detail"]) == (409, True)
    assert not server.has_started_a_server


def test_update_is_refused_if_the_server_is_not_what_was_installed(server):
    name, _ = server.install(NOTES, values={"NOTES_TOKEN": KEY})
    assert "not found" in server.find_update("no_such_server", 404)["detail"]
    other = new_server_name()
    text = server.read_settings()
    text = text.replace("servers:\n", f"servers:\n  {other}:\n    command: npx\n")
    server.edit_settings(text)
    assert "was not installed from the registry" in server.find_update(other, 404)["detail"]
    server.stub.entries.append(notes_entry("1.1.0"))
    server.stub.integrity = INTEGRITY.replace("A", "B")
    assert "have changed in the package index" in server.find_update(name, 409)["detail"]
    server.stub.integrity = INTEGRITY
    marker = f"  {name}:\n    command: npx"
    assert marker in text
    server.edit_settings(text.replace(marker, f"  {name}:\n    command: other"))
    assert "was changed in the settings" in server.find_update(name, 409)["detail"]
    server.edit_settings(text)
    record = server.root / "data" / "registry" / f"{name}.json"
    record.write_text("[]")
    assert "not a record of an installed server" in server.find_update(name, 409)["detail"]


async def test_routes_that_change_servers_ask_for_permission():
    """Search and plans need none: they write nothing."""

    async with serve_memory() as client:
        body = {"name": NOTES, "planDigest": "", "values": {}}
        assert (await client.post("/registry/install", json=body)).status_code == 403
        del body["name"]
        assert (await client.post("/servers/x/update", json=body)).status_code == 403
        assert (await client.get("/servers/x/update")).status_code == 404
        assert (await client.get("/registry/servers", params={"search": " "})).status_code == 400
