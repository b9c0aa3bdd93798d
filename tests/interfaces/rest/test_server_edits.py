"""Adding, changing and removing MCP servers over REST."""

import json
import stat
import sys
from urllib.request import urlopen

import pytest
import yaml

from support.oauth_server import OAuthMcpServer
from support.onetool_process import onetool
from support.paths import MCP_SERVERS
from support.rest_in_process import serve_home
from support.rest_process import RestProcess, new_id

KEY = "ghp_0123456789abcdef"
LITERAL = "p4ssw0rd-in-the-settings"
PROGRAM = {"command": sys.executable, "args": [str(MCP_SERVERS / "official.py"), "stdio"]}
ONE_SERVER = "servers:\n  s:\n    command: x\n"


def new_name():
    return f"s_{new_id()[-12:]}"


@pytest.fixture(scope="module", name="server")
def shared_server(tmp_path_factory):
    root = tmp_path_factory.mktemp("edits")
    home = root / "home"
    (home / ".cursor").mkdir(parents=True)
    with RestProcess(root, settings="# mine\nlog: {level: info}\n", HOME=str(home)) as server:
        yield server


def stored(server):
    return yaml.safe_load((server.config / "onetool.yaml").read_text()).get("servers", {})


def listed(server):
    return {entry["name"]: entry for entry in server.client.get("/servers").json()["servers"]}


def put(server, name, settings, digest=""):
    return server.client.put(f"/servers/{name}/settings", json={"settings": settings, "digest": digest})


def test_pasted_json_is_previewed_and_added(server, tmp_path):
    """The preview shows what is written. Secrets move to secrets.yaml and are never returned."""
    name = new_name()
    entry = PROGRAM | {"env": {"GITHUB_TOKEN": KEY, "MODE": "fast"}, "cwd": str(tmp_path)}
    text = json.dumps({"mcpServers": {name: entry, "old": {"url": "https://x.example/sse", "type": "sse"}}})
    preview = server.client.post("/servers/import/preview", json={"text": text}).json()
    planned, old = preview["servers"]
    secret = f"{name}_GITHUB_TOKEN".upper()
    assert (planned["status"], planned["secrets"]) == ("new", [secret])
    assert planned["settings"]["env"] == {"GITHUB_TOKEN": f"${{{secret}}}", "MODE": "fast"}
    assert any("may read" in note for note in planned["notes"])
    assert (old["status"], old["name"]) == ("unsupported", "")
    assert "SSE" in old["problem"]
    assert KEY not in json.dumps(preview)
    assert name not in stored(server)
    body = {"text": text, "digest": preview["digest"]}
    added = server.client.post("/servers/import", json=body)
    assert (added.status_code, added.json()["names"]) == (201, [name])
    assert stored(server)[name] == planned["settings"]
    file = server.config / "secrets.yaml"
    assert yaml.safe_load(file.read_text())[secret] == KEY
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (server.config / "onetool.yaml").read_text().startswith("# mine\n")
    assert listed(server)[name]["state"] == "configured"
    again = server.client.post("/servers/import/preview", json={"text": text}).json()
    assert again["servers"][0]["status"] == "exists"


@pytest.mark.guards("client-settings")
def test_only_what_was_previewed_is_written(server):
    name = new_name()
    shown = {"text": json.dumps({name: {"command": "harmless"}})}
    digest = server.client.post("/servers/import/preview", json=shown).json()["digest"]
    other = {"text": json.dumps({name: {"command": "harmful"}}), "digest": digest}
    refused = server.client.post("/servers/import", json=other)
    assert (refused.status_code, name in stored(server)) == (409, False)
    assert "changed since the preview" in refused.json()["detail"]


def test_servers_of_an_import_are_chosen_and_renamed(server):
    first, second, renamed = new_name(), new_name(), new_name()
    text = json.dumps({first: {"command": "a"}, second: {"url": "https://x.example/mcp"}})
    body = {"text": text, "names": {second: renamed}}
    preview = server.client.post("/servers/import/preview", json=body).json()
    assert [entry["name"] for entry in preview["servers"]] == [first, renamed]
    confirmed = body | {"digest": preview["digest"], "only": [renamed]}
    assert server.client.post("/servers/import", json=confirmed).json()["names"] == [renamed]
    assert first not in stored(server)


def test_a_command_line_grants_the_paths_that_it_names(server):
    text = "npx -y @modelcontextprotocol/server-filesystem ."
    (planned,) = server.client.post("/servers/import/preview", json={"text": text}).json()["servers"]
    work = str((server.root / "work").resolve())
    assert planned["name"] == "filesystem"
    assert planned["settings"]["args"][-1] == work
    assert planned["settings"]["paths"] == [{"path": work, "write": True}]
    assert planned["notes"] == [f"may read and change {work}"]


def test_a_fragment_of_json_is_understood(server):
    name = new_name()
    text = f'// from the README\n{{"{name}": {{"command": "x",}}}}'
    (planned,) = server.client.post("/servers/import/preview", json={"text": text}).json()["servers"]
    assert planned["name"] == name
    text = f'"{name}": {{"command": "x"}}'
    (planned,) = server.client.post("/servers/import/preview", json={"text": text}).json()["servers"]
    assert planned["name"] == name


def test_servers_of_a_client_are_imported_and_moved(server):
    name = new_name()
    file = server.root / "home" / ".cursor" / "mcp.json"
    before = json.dumps({"mcpServers": {name: PROGRAM}})
    file.write_text(before)
    assert "cursor" in [client["name"] for client in server.client.get("/servers/clients").json()["clients"]]
    preview = server.client.post("/servers/import/preview", json={"client": "cursor"}).json()
    body = {"client": "cursor", "digest": preview["digest"], "move": True}
    added = server.client.post("/servers/import", json=body).json()
    assert (added["names"], str(file) in added["note"]) == ([name], True)
    assert list(json.loads(file.read_text())["mcpServers"]) == ["onetool"]
    assert file.with_name("mcp.json.before-onetool").read_text() == before


def test_settings_are_replaced_and_the_server_follows(server):
    name = new_name()
    assert put(server, name, PROGRAM | {"sandbox": False}).json() == {"secrets": []}
    assert server.client.post(f"/servers/{name}/probe").json()["ok"]
    read = server.client.get(f"/servers/{name}/settings").json()
    assert (read["settings"], read["canEdit"]) == (PROGRAM | {"sandbox": False}, True)
    changed = put(server, name, {"command": "no-such-program"}, read["digest"])
    assert changed.status_code == 200, changed.text
    assert not server.client.post(f"/servers/{name}/probe").json()["ok"]
    assert server.client.delete(f"/servers/{name}").status_code == 204
    assert name not in listed(server)


@pytest.mark.guards("client-settings")
def test_hidden_values_keep_their_present_value(server):
    """A secret in the settings is hidden when they are read, and survives a change of something else."""
    name = new_name()
    file = server.config / "onetool.yaml"
    args = ["--password", LITERAL, "--name", "x"]
    data = yaml.safe_load(file.read_text())
    data.setdefault("servers", {})[name] = {"command": "x", "args": args}
    file.write_text("# mine\n" + yaml.safe_dump(data))
    server.client.post("/tools/call", json={"name": "ot.reload", "args": {}})
    read = server.client.get(f"/servers/{name}/settings").json()
    assert LITERAL not in json.dumps(read)
    hidden = read["settings"]
    assert put(server, name, hidden | {"timeout_s": 5}, read["digest"]).status_code == 200
    assert stored(server)[name] == {"command": "x", "args": args, "timeout_s": 5}
    digest = server.client.get(f"/servers/{name}/settings").json()["digest"]
    moved = put(server, name, {"command": "x", "args": hidden["args"][1:]}, digest)
    assert (moved.status_code, "hidden value" in moved.json()["detail"]) == (422, True)
    assert stored(server)[name]["args"] == args


def test_servers_of_a_project_are_changed_only_there(tmp_path):
    process = RestProcess(tmp_path, settings="")
    settings = tmp_path / "work" / ".onetool" / "onetool.yaml"
    settings.parent.mkdir()
    settings.write_text("servers: {theirs: {command: x}}\n")
    kinds = ("config", "data", "state")
    env = {f"ONETOOL_{kind.upper()}_DIR": str(tmp_path / kind) for kind in kinds}
    assert onetool("trust", "--yes", env=env, cwd=tmp_path / "work").returncode == 0
    with process as server:
        read = server.client.get("/servers/theirs/settings").json()
        assert (read["canEdit"], "project" in read["reason"]) == (False, True)
        refused = put(server, "theirs", {"command": "y"})
        assert (refused.status_code, "project" in refused.json()["detail"]) == (409, True)
        assert server.client.delete("/servers/theirs").status_code == 409


def test_a_login_continues_in_the_browser(server):
    """The stream contains the page to open. After the redirect it ends, and the server can be used."""
    name = new_name()
    with OAuthMcpServer() as protected:
        put(server, name, {"url": protected.url})
        assert listed(server)[name]["canLogIn"]
        with server.client.stream("POST", f"/servers/{name}/login") as stream:
            lines = (line for line in stream.iter_lines() if line.startswith(("event:", "data:")))
            assert next(lines) == "event: page"
            with urlopen(json.loads(next(lines).removeprefix("data: "))["url"]):  # follows the redirect
                pass
            assert list(lines) == ["event: done", "data: {}"]
        assert server.client.post(f"/servers/{name}/probe").json()["ok"]


@pytest.mark.guards("client-settings")
def test_other_machines_cannot_change_servers_unless_the_operator_allows_it(tmp_path):
    routes = (
        ("GET", "/servers/clients"),
        ("POST", "/servers/import/preview"),
        ("POST", "/servers/import"),
        ("GET", "/servers/s/settings"),
        ("PUT", "/servers/s/settings"),
        ("PATCH", "/servers/s"),
        ("DELETE", "/servers/s"),
        ("POST", "/servers/s/login"),
    )
    with RestProcess(tmp_path / "a", "--host", "0.0.0.0", settings=ONE_SERVER) as server:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")
        client = server.new_client()
        assert client.get("/servers").json()["canEdit"] is False
        for method, path in routes:
            refused = client.request(method, path, json={})
            assert (refused.status_code, "--edit-servers" in refused.json()["detail"]) == (403, True), path
        client.close()
    options = ("--host", "0.0.0.0", "--edit-servers")
    with RestProcess(tmp_path / "b", *options, settings=ONE_SERVER) as server:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")
        with server.new_client() as client:
            assert client.delete("/servers/s").status_code == 204
    with RestProcess(tmp_path / "c", "--no-edit-servers", settings=ONE_SERVER) as server:
        assert server.client.delete("/servers/s").status_code == 403


@pytest.mark.guards("client-settings")
async def test_a_server_is_added_changed_disabled_and_removed(home, monkeypatch):
    """Each change is in the settings file and in the next listing."""
    monkeypatch.setenv("HOME", str(home.root))
    async with serve_home(home, edit_servers=True) as client:
        for number, text in enumerate(("npx -y mcp-server-notes", '"x": {"url": "http://127.0.0.1:9/mcp"}')):
            preview = (await client.post("/servers/import/preview", json={"text": text})).json()
            body = {"text": text, "digest": preview["digest"]}
            (name,) = (await client.post("/servers/import", json=body)).json()["names"]
            assert name == ("notes", "x")[number]
        stored = (await client.get("/servers/notes/settings")).json()
        assert stored["settings"] == {"command": "npx", "args": ["-y", "mcp-server-notes"]}
        new = {"command": "uvx", "args": ["notes"], "env": {"NOTES_TOKEN": KEY}}
        body = {"settings": new, "digest": stored["digest"]}
        changed = await client.put("/servers/notes/settings", json=body)
        assert changed.json() == {"secrets": ["NOTES_NOTES_TOKEN"]}
        kept = {**new, "env": {"NOTES_TOKEN": "${NOTES_NOTES_TOKEN}"}}
        for stale in (stored["digest"], ""):  # changes of others are not overwritten
            refused = await client.put("/servers/notes/settings", json=body | {"digest": stale})
            assert (refused.status_code, stored_servers(home)["notes"]) == (409, kept)
        for enabled, state in ((True, "configured"), (False, "disabled"), (True, "configured")):
            patched = await client.patch("/servers/notes", json={"enabled": enabled})
            assert patched.status_code == 204
            servers = (await client.get("/servers")).json()["servers"]
            assert {server["name"]: server["state"] for server in servers} == {
                "notes": state,
                "x": "configured",
            }
        assert stored_servers(home)["notes"] == kept
        failed = (await client.post("/servers/notes/login")).text
        assert ("event: error" in failed, "has no login" in failed) == (True, True)
        assert "event: error" in (await client.post("/servers/x/login")).text
        assert (await client.delete("/servers/notes")).status_code == 204
    assert stored_servers(home) == {"x": {"url": "http://127.0.0.1:9/mcp"}}
    assert yaml.safe_load((home.config / "secrets.yaml").read_text()) == {"NOTES_NOTES_TOKEN": KEY}


def stored_servers(home):
    return yaml.safe_load((home.config / "onetool.yaml").read_text())["servers"]


async def test_nothing_is_written_that_was_refused(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home.root))
    home.write("onetool.yaml", ONE_SERVER)
    cursor = home.root / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"mcpServers": {"client": {"command": "y"}}}))
    async with serve_home(home, edit_servers=True) as client:
        clients = (await client.get("/servers/clients")).json()["clients"]
        assert [entry["name"] for entry in clients] == ["cursor"]
        preview = (await client.post("/servers/import/preview", json={"client": "cursor"})).json()
        confirmed = {"client": "cursor", "digest": preview["digest"]}
        for method, path, body, status, message in (
            ("POST", "/servers/import/preview", {}, 400, ""),
            ("POST", "/servers/import/preview", {"text": "{"}, 422, "The JSON is invalid"),
            ("POST", "/servers/import/preview", {"text": "{}"}, 422, "has no servers"),
            ("POST", "/servers/import/preview", {"text": "npx 'x"}, 422, "neither JSON nor a command line"),
            ("POST", "/servers/import/preview", {"text": ""}, 422, "contains no command"),
            ("POST", "/servers/import", confirmed | {"digest": "other"}, 409, "changed since the preview"),
            ("POST", "/servers/import", confirmed | {"only": ["clint"]}, 400, "Did you mean client?"),
            ("PUT", "/servers/a-b/settings", {"settings": {"command": "x"}}, 422, "not a Python identifier"),
            ("PUT", "/servers/fs/settings", {"settings": {"command": "x"}}, 409, "already exists"),
            ("PUT", "/servers/new/settings", {"settings": {"comand": "x"}}, 422, "comand"),
            ("PUT", "/servers/new/settings", {"settings": {}}, 422, "set either command or url"),
            ("GET", "/servers/new/settings", None, 404, "'new' not found"),
            ("POST", "/servers/new/login", None, 404, "'new' not found"),
            ("DELETE", "/servers/new", None, 404, "'new' not found"),
        ):
            response = await client.request(method, path, json=body)
            assert response.status_code == status, (path, response.text)
            assert message in response.json()["detail"], (path, response.text)
        assert (home.config / "onetool.yaml").read_text() == ONE_SERVER
        moved = await client.post("/servers/import", json=confirmed | {"move": True})
        assert moved.json()["names"] == ["client"]
    assert list(json.loads(cursor.read_text())["mcpServers"]) == ["onetool"]
