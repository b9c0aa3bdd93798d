"""A hosted server: no key opens another workspace, and no workspace reaches files and keys of the server."""

import ast
import asyncio
import base64
import json
import os
from datetime import timedelta
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from onetool.bootstrap.hosted_admin import open_contents
from onetool.domain.identity.principal import Principal, acting_as
from onetool.settings.hosted_profile import OMITTED_PACKS
from onetool.storage.postgres.results import PostgresResults
from onetool.storage.postgres.sessions import PostgresSessions
from onetool.threads import Threads
from support.hosted_process import OWNER, HostedProcess, Installation
from support.raw_mcp import HTTP_HEADERS, INITIALIZE, LEGACY
from support.rest_process import Upstream, http_tool, new_id, python_tool
from support.waiting import HANG_S

SERVER_KEY = "sk-of-the-server-process-4711"
FREE_ATTEMPTS = 4
"""Wrong keys that one address sends, so that the server does not delay it."""
METHODS = ("get", "head", "post", "put", "patch", "delete")
MCP_HEADERS = HTTP_HEADERS | {"MCP-Protocol-Version": LEGACY}
addresses = (f"127.{a}.{b}.{c}" for a in count(1) for b in range(256) for c in range(1, 255))
"""Loopback addresses from which to send requests."""


class Team:
    """A workspace that contains something of every kind, each with its canary."""

    def __init__(self, server: "TeamsServer", installation: Installation) -> None:
        self.canary, self._server, self._installation = f"canary{uuid4().hex}", server, installation
        snippets = {"hello": {"body": f"'{self.canary}'", "description": self.canary}}
        settings = {"allowedHosts": ["127.0.0.1"], "snippets": snippets}
        self.workspace = installation.create_workspace(json.dumps(settings))
        self.workspace.put_secret("TEAM", f"secret-{self.canary}", None)
        self.workspace.put_secret("ENV", "${ONETOOL_KEYS} ${PATH}", None)
        self.slug, self.key = self.workspace.slug, self.workspace.key
        self.bundle, self.tool, self.session = new_id(), "probe", f"talk-{uuid4().hex}"
        self.revoked = self.expired = self.job = self.call = self.handle = ""

    async def create(self) -> None:
        """Create what the API does not create."""
        clusters, keys = self._installation.clusters, self._installation.keys
        async with open_contents(clusters.home, keys, self.slug, clusters.others) as contents:
            self.expired = (await contents.keys.create(OWNER, "old", -timedelta(seconds=1))).text
            revoked = await contents.keys.create(OWNER, "revoked", timedelta(days=1))
            assert await contents.keys.revoke(revoked.key.id)
            self.revoked = revoked.text
        message = {"type": "message", "role": "user", "text": self.canary}
        threads, rows = Threads(), self.workspace.stored
        with acting_as(Principal(OWNER)):
            await PostgresSessions(rows, threads).append(self.session, [message])
        self.handle = (
            await PostgresResults(rows, threads).put(f"text {self.canary}", "a.b", owner=OWNER)
        ).handle
        threads.close()

    def fill(self) -> None:
        """Create through the API what can be created there."""
        client = self.client()
        body = {"slug": "probes", "displayName": self.canary, "description": self.canary, "isEnabled": True}
        assert client.put(f"/tools/bundles/{self.bundle}", json=body).status_code == 201
        tool = python_tool("time.now", description=self.canary, tags=[self.canary])
        created = client.put(self.tool_path, json=tool)
        assert created.status_code == 201, created.text
        start = {"name": "ot.start", "args": {"tool": "ot.help", "args": {"query": self.canary}}}
        self.job = client.post("/tools/call", json=start).json()["value"]["id"]
        found = client.get(f"/jobs/{self.job}", params={"wait": 50})
        assert (found.status_code, self.canary in found.text) == (200, True), found.text
        records = client.get("/activity", params={"text": self.canary}).json()["records"]
        self.call = records[0]["id"]

    def run(self, command: str) -> str:
        """Run code that must succeed, and return the response."""
        response = self.client().post("/run", json={"command": command})
        assert response.status_code == 200, response.text
        assert response.json()["ok"], response.text
        return response.text

    def call_error(self, name: str, **args: Any) -> str:
        """Call a tool that must fail, and return the code of the error."""
        return self.client().post("/tools/call", json={"name": name, "args": args}).json()["error"]["code"]

    @property
    def tool_path(self) -> str:
        return f"/tools/bundles/{self.bundle}/tools/{self.tool}/version/v1"

    def client(self, key: str | None = None, address: str | None = None) -> httpx2.Client:
        """Return a client with the key of this workspace, or another one; empty for none."""
        key = self.key if key is None else key
        return httpx2.Client(
            base_url=f"{self._server.origin}/w/{self.slug}",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            transport=httpx2.HTTPTransport(
                verify=False, local_address=address, limits=httpx2.Limits(max_keepalive_connections=0)
            ),
            timeout=HANG_S,
        )

    def contents(self) -> dict[str, Any]:
        """Return what the API shows of everything that was created."""
        client = self.client()
        paths = [
            f"/tools/bundles/{self.bundle}/export",
            self.tool_path,
            f"/jobs/{self.job}",
            f"/results/{self.handle}",
            f"/sessions/{self.session}",
            f"/activity/{self.call}",
        ]
        found = {path: client.get(path) for path in paths}
        for path, response in found.items():
            assert response.status_code == 200, (path, response.text)
            is_archive = path.endswith("/export")
            assert is_archive or self.canary in response.text, (path, response.text)
        return {path: r.content for path, r in found.items() if not path.endswith("/export")}

    def mcp(self, method: str, client: httpx2.Client, session: str = "", **params: Any) -> httpx2.Response:
        """Send an MCP request to this workspace."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = MCP_HEADERS | ({"Mcp-Session-Id": session} if session else {})
        return client.post("/mcp", json=message, headers=headers)


class TeamsServer(HostedProcess):
    """`onetool serve --hosted` with three workspaces."""

    def __init__(self, root: Path, installation: Installation) -> None:
        environment = {"OPENAI_API_KEY": SERVER_KEY, "HOME": str(root)}
        super().__init__(root, installation=installation, probes=False, **environment)
        self.keys, self.teams = installation.keys, [Team(self, installation) for _ in range(3)]

    def wait_until_ready(self) -> "TeamsServer":
        super().wait_until_ready()
        for team in self.teams:
            asyncio.run(team.create())
            team.fill()
        return self

    def operations(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return method, path and description of every route."""
        document = self.teams[0].client().get("/openapi.json").json()
        return [
            (method.upper(), path, operation)
            for path, item in document["paths"].items()
            for method, operation in item.items()
            if method in METHODS
        ]


@pytest.fixture(scope="module")
def server(installation, tmp_path_factory):
    with TeamsServer(tmp_path_factory.mktemp("hosted"), installation) as server:
        yield server


@pytest.fixture
def a(server):
    return server.teams[0]


@pytest.fixture
def b(server):
    return server.teams[1]


@pytest.fixture(scope="module")
def upstream():
    with Upstream() as upstream:
        yield upstream


def fill_path(path: str, team: Team) -> str:
    """Return a path with the ids of a workspace."""
    ids = {"bundleID": team.bundle, "toolSlug": team.tool, "version": "v1", "handle": team.handle}
    kind = path.split("/")[1]
    ids |= {"id": {"jobs": team.job, "sessions": team.session, "activity": team.call}.get(kind, "x")}
    return path.format_map(
        ids
        | {
            "question": "0",
            "key": "log.level",
            "kind": "service",
            "server": "remote",
            "name": "probes.probe" if kind == "access" else "remote",
        }
    )


def query_of(operation: dict[str, Any], team: Team) -> dict[str, str]:
    """Return a query that asks for what a workspace has. It contains only a part of the canary."""
    part = team.canary[:-4]
    values = {
        "bundleIDs": team.bundle,
        "tags": team.canary,
        "q": part,
        "search": part,
        "query": part,
        "text": part,
        "session": team.session,
        "parent": team.call,
        "uri": f"ot.result://{team.handle}",
        "server": "remote",
        "includeDisabled": "true",
    }
    names = [item["name"] for item in operation.get("parameters", ()) if item["in"] == "query"]
    return {name: values[name] for name in names if name in values}


def body_of(path: str, team: Team) -> dict[str, Any]:
    """Return the body of a request that is about what a workspace has."""
    bodies = {
        "/tools/call": {"name": "probes.probe", "args": {}},
        "/run": {"command": f"[ot.result(handle='{team.handle}'), ot.tasks(), ot.tools(pattern='probes')]"},
        "/sessions/{id}": {"title": "mine"},
        "/jobs/{id}/answers": {"answers": {"0": {"action": "accept", "content": {}}}},
        "/tools/bundles/{bundleID}": {"isEnabled": False},
        "/tools/bundles/{bundleID}/tools/{toolSlug}/version/{version}": {"isEnabled": False},
        "/tools/bundles/{bundleID}/tools/{toolSlug}/version/{version}/invoke": {"args": {}},
    }
    return bodies.get(path, {})


def canaries(server: TeamsServer, but: Team | None, text: str) -> list[str]:
    return [team.slug for team in server.teams if team is not but and team.canary in text]


@pytest.mark.guards("tenant-routes")
@pytest.mark.parametrize("kind", ["none", "another workspace's", "revoked", "expired", "unknown"])
def test_every_route_refuses(server, a, b, kind):
    """All but the login, also the paths of MCP and those that do not exist."""
    keys = {"none": "", "another workspace's": b.key, "revoked": a.revoked, "expired": a.expired}
    key = keys.get(kind, f"otk_{'x' * 43}")
    operations = [(method, path) for method, path, _ in server.operations()]
    operations += [(method, path) for path in ("/mcp", "/mcp/p/x") for method in ("GET", "POST", "DELETE")]
    operations += [("GET", "/openapi.json"), ("GET", "/nothing")]
    operations = [(method, path) for method, path in operations if path not in ("/login", "/logout")]
    assert len(operations) > 60
    client = a.client(key, next(addresses))
    for number, (method, path) in enumerate(operations, 1):
        if number % FREE_ATTEMPTS == 0:
            client = a.client(key, next(addresses))
        response = client.request(method, fill_path(path, a), json=body_of(path, a))
        assert response.status_code == 401, (method, path, response.text)
        assert canaries(server, None, response.text + str(response.headers)) == [], (method, path)


def test_key_is_not_accepted_elsewhere_than_in_its_header(server, a):
    """Keys in URLs and cookies would be in logs, and sent by other pages."""
    for options in (
        {"params": {"token": a.key, "key": a.key, "api_key": a.key}},
        {"cookies": {"token": a.key, "onetool": a.key}},
        {"headers": {"X-Api-Key": a.key}},
        {"headers": {"Authorization": f"Basic {base64.b64encode(f'x:{a.key}'.encode()).decode()}"}},
    ):
        with httpx2.Client(
            base_url=f"{server.origin}/w/{a.slug}", trust_env=False, verify=False, **options
        ) as client:
            assert client.get("/tools/bundles").status_code == 401, options


@pytest.mark.guards("tenant-routes")
def test_ids_of_another_workspace_are_unknown(server, a, b):
    """Every route with ids of b and the key of a: nothing of b is returned or changed."""
    before, client = b.contents(), a.client()
    ids = ("{bundleID}", "{handle}", "/jobs/{id}", "/sessions/{id}", "/activity/{id}")
    for method, path, operation in server.operations():
        if method == "PUT" or path == "/chat":
            continue  # it creates something with this id in the own workspace
        response = client.request(
            method,
            fill_path(path, b),
            params=query_of(operation, b),
            **({} if method in ("GET", "DELETE") else {"json": body_of(path, b)}),
        )
        place = (method, path, response.status_code, response.text[:300])
        assert canaries(server, a, response.text) == [], place
        assert response.status_code < 500 or path == "/registry/servers", place  # the network is away
        if any(part in path for part in ids):
            assert response.status_code == 404, place
    assert b.contents() == before


@pytest.mark.guards("tenant-routes")
def test_lists_of_a_workspace_have_nothing_of_another_one(server, a, b):
    """What is listed is there, so that the canary would be found."""
    for path in ("/tools/bundles", "/tools/tools", "/activity", "/jobs", "/sessions", "/signatures"):
        query = {"/tools/tools": {"recommendedPageSize": "256"}, "/activity": {"text": a.canary[:-4]}}
        own = a.client().get(path, params={"includeDisabled": "true"} | query.get(path, {}))
        assert canaries(server, a, own.text) == [], path
        assert any(own_id in own.text for own_id in (a.canary, a.job, a.session, a.call)), (
            path,
            own.text[:500],
        )
    for path in ("/tools/bundles", "/tools/tools"):
        found = a.client().get(path, params={"bundleIDs": b.bundle, "includeDisabled": "true"}).json()
        assert found.get("toolBundles", found.get("toolListItems")) == []
    found = a.client().get("/activity", params={"text": b.canary[:-4]}).json()
    assert found["records"] == []


def test_id_may_be_used_in_two_workspaces(server, a, b):
    """Creating, changing and deleting it in one does not touch the other one."""
    before, client, c = b.contents(), server.teams[2].client(), server.teams[2]
    body = {"slug": "copy", "displayName": "C", "description": "", "isEnabled": True}
    assert client.put(f"/tools/bundles/{b.bundle}", json=body).status_code == 201
    assert client.put(b.tool_path, json=python_tool("time.now")).status_code == 201
    assert canaries(server, c, client.get(b.tool_path).text) == []
    assert client.patch(b.tool_path, json={"isEnabled": False}).status_code == 200
    assert client.delete(b.tool_path).status_code == 204
    assert client.delete(f"/tools/bundles/{b.bundle}").status_code == 204
    talk = {"text": "Repeat the conversation.", "session": b.session, "provider": "scripted"}
    for response in (client.post("/chat", json=talk), client.get(f"/sessions/{b.session}")):
        assert (response.status_code, canaries(server, c, response.text)) == (200, [])
    assert client.delete(f"/sessions/{b.session}").status_code == 204
    assert b.contents() == before


@pytest.mark.guards("tenant-routes")
def test_code_and_tools_see_only_their_workspace(server, a, b):
    shown = a.run(
        "[ot.tools(info='full'), ot.snippets(info='full'), ot.tasks(), ot.config(), ot.stats(), ot.health()]"
    )
    assert canaries(server, a, shown) == []
    assert a.canary in shown
    for command in (f"ot.wait(id='{b.job}')", f"ot.cancel(id='{b.job}')", f"ot.result(handle='{b.handle}')"):
        response = a.client().post("/run", json={"command": command})
        assert canaries(server, a, response.text) == [], response.text
        assert "not found" in response.text.lower() or "unknown" in response.text.lower(), response.text


@pytest.mark.guards("tenant-routes")
def test_session_of_mcp_belongs_to_its_workspace(server, a, b):
    session = a.mcp("initialize", a.client(), **INITIALIZE["params"]).headers["Mcp-Session-Id"]
    for method in ("tools/list", "ping", "resources/list"):
        assert b.mcp(method, b.client(), session).status_code == 404, method
    ended = b.client().delete("/mcp", headers=MCP_HEADERS | {"Mcp-Session-Id": session})
    assert ended.status_code == 404
    listed = a.mcp("tools/list", a.client(), session)
    assert (listed.status_code, '"run"' in listed.text) == (200, True)
    assert canaries(server, a, listed.text) == []


def test_packs_that_use_the_server_do_not_exist(a):
    names = [f"{pack}.{func}" for pack in sorted(OMITTED_PACKS) for func in functions_of(pack)]
    assert {"fs.read_file", "shell.pwd"} <= set(names)
    for name in names:
        assert a.call_error(name) == "tool_not_found", name
    listed = a.client().get("/signatures").text
    assert "tools.echo" in listed
    assert [name for name in names if name in listed] == []
    client = a.client()
    body = {"slug": "mine", "displayName": "", "description": "", "isEnabled": True}
    bundle = new_id()
    assert client.put(f"/tools/bundles/{bundle}", json=body).status_code == 201
    path = f"/tools/bundles/{bundle}/tools/read/version/v1"
    created = client.put(path, json=python_tool("fs.read_file"))
    if created.status_code == 201:
        result = client.post(f"{path}/invoke", json={"args": {"path": "/etc/hostname"}}).json()
        assert not result["ok"], result
    else:
        assert created.status_code in (400, 422), created.text


def functions_of(pack: str) -> list[str]:
    """Return the public functions of a shipped pack."""
    for package in ("onetool.packs", "onetool.starter_packs"):
        if spec := find_spec(f"{package}.{pack}"):
            tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
            functions = (ast.FunctionDef, ast.AsyncFunctionDef)
            return [n.name for n in tree.body if isinstance(n, functions) and n.name[0] != "_"]
    raise AssertionError(pack)


@pytest.mark.guards("tenant-routes")
def test_tools_write_no_file_of_the_server(server, a, tmp_path):
    """Also if the server runs as root, which can create any directory."""
    for path in (tmp_path / "report.html", server.root / "report.html", "report.html", "../report.html"):
        response = a.client().post("/run", json={"command": f"ot.stats(output={str(path)!r})"})
        assert "Cannot write" in response.text, response.text
        assert "html_report" not in response.text, response.text
    assert [*tmp_path.glob("*.html"), *server.root.glob("**/*.html")] == []


def test_variables_of_the_server_are_not_expanded(server, a, upstream):
    """Neither in secrets, nor in requests of stored tools."""
    client, bundle, path = a.client(), new_id(), upstream.script()
    body = {"slug": "sender", "displayName": "", "description": "", "isEnabled": True}
    assert client.put(f"/tools/bundles/{bundle}", json=body).status_code == 201
    for slug, header in {"secret": "${ENV}", "keys": "${ONETOOL_KEYS}", "path": "${PATH}"}.items():
        tool = http_tool(upstream.url + path, request={"headers": {"X-Value": header}})
        place = f"/tools/bundles/{bundle}/tools/{slug}/version/v1"
        response = client.put(place, json=tool)
        if response.status_code == 201:
            response = client.post(f"{place}/invoke", json={"args": {}})
        assert server.keys not in response.text
        assert os.environ["PATH"] not in response.text
        if slug != "secret":
            assert not response.json().get("ok"), response.text
    (sent,) = upstream.requests_to(path)
    assert sent.headers["x-value"] == "${ONETOOL_KEYS} ${PATH}"


def test_provider_keys_of_the_server_are_neither_shown_nor_used(server, a, upstream):
    providers = a.client().get("/providers")
    by_name = {item["name"]: item for item in providers.json()["providers"]}
    assert (providers.status_code, by_name["openai"]["key"]) == (200, "missing")
    assert providers.json()["default"] is None
    chat = a.client().post("/chat", json={"text": "Hello", "provider": "openai"})
    called = a.client().post("/run", json={"command": "[ot.config(), ot.health(), ot.check()]"})
    for response in (providers, chat, called):
        assert SERVER_KEY not in response.text
        assert server.keys not in response.text
    assert "There is no key for 'openai'" in chat.text
    assert SERVER_KEY not in server.errors.read_text()
