"""Attacks of members on each other: secrets of another person, keys with more rights than their owner."""

from contextlib import AsyncExitStack

import pytest
from uuid_utils.compat import uuid7

from onetool.bootstrap.hosted import open_workspace
from onetool.domain.identity.roles import Role
from onetool.testing.http_stub import HttpStub, StubResponse
from support.rest_process import http_tool

SECRET = "canary-anna-8d1c"
HEADERS = {"X-Token": "${TOKEN}"}


@pytest.fixture
def upstream():
    """A server that repeats what it gets, in a result and in an error."""

    def repeat(status):
        return lambda request: StubResponse({"got": request.headers.get("X-Token")}, status)

    with HttpStub({"/echo": repeat(200), "/fail": repeat(422)}) as stub:
        yield stub


@pytest.fixture
async def team(server, upstream):
    """Clients by name, in a workspace with tools that send the secret TOKEN."""
    slug = await server.new_workspace()
    roles = {
        "anna": Role.CALLER,
        "ben": Role.CALLER,
        "mia": Role.MAKER,
        "otto": Role.OWNER,
        "aida": Role.AUDITOR,
    }
    async with server.contents(slug) as contents:
        await contents.replace_settings({"allowedHosts": ["127.0.0.1"]}, "operator")
    async with AsyncExitStack() as stack:
        clients = {"slug": slug}
        for name, role in roles.items():
            key = await server.new_key(slug, name, role=Role(role))
            clients[name] = await stack.enter_async_context(server.client(slug, key.text))
        bundle = f"/tools/bundles/{uuid7()}"
        await clients["mia"].put(bundle, json={"slug": "up", "displayName": "Up", "isEnabled": True})
        for path in ("echo", "fail"):
            tool = http_tool(f"{upstream.url}/{path}", request={"headers": HEADERS})
            stored = await clients["mia"].put(f"{bundle}/tools/{path}/version/v1", json=tool)
            assert stored.status_code == 201, stored.text
        yield clients


async def call(client, name, **headers):
    return await client.post("/tools/call", json={"name": name, "args": {}}, headers=headers)


async def test_no_one_sees_the_secret_of_another_member(team, upstream):
    """Neither by an echo nor an error, in records, the audit log, lists, code, nor the place of a secret."""
    body = {"value": SECRET, "hosts": ["127.0.0.1"]}
    assert (await team["anna"].put("/secrets/TOKEN", json=body)).status_code == 200
    own = [await call(team["anna"], name) for name in ("up.echo", "up.fail")]
    assert [request.headers["X-Token"] for request in upstream.requests] == [SECRET] * 2
    upstream.requests.clear()
    seen = [response.text for response in own]
    for name in ("anna", "ben", "mia", "otto", "aida"):
        client = team[name]
        paths = [
            "/activity",
            "/audit",
            "/audit/export",
            "/secrets",
            "/jobs",
            "/tools/tools",
            "/usage",
            "/keys",
        ]
        records = (await client.get("/activity")).json().get("records", [])
        paths += [f"/activity/{record['id']}" for record in records]
        seen += [(await client.get(path)).text for path in paths]
        code = {"command": "[ot.config(), ot.health(), ot.stats(), ot.tasks()]"}
        seen.append((await client.post("/run", json=code)).text)
        if name != "anna":
            seen += [(await call(client, tool)).text for tool in ("up.echo", "up.fail")]
    assert len(seen) > 40
    assert not [text for text in seen if SECRET in text]
    assert upstream.requests == [], "a call of someone else has used the secret"


async def test_key_with_wider_patterns_than_its_owner_gives_no_more(team, server):
    owner = team["otto"]
    assert (
        await owner.put("/members/service/ben", json={"role": "caller", "patterns": ["time.*"]})
    ).status_code == 200
    created = await team["ben"].post("/keys", json={"name": "wide", "patterns": ["*", "tools.*"]})
    assert created.status_code == 201, created.text
    async with server.client(team["slug"], created.json()["key"]) as wide:
        for name in ("tools.echo", "up.echo"):
            assert (await call(wide, name)).status_code == 404
        assert (await wide.get("/members")).status_code == 403
    limited = await team["otto"].post("/keys", json={"name": "narrow", "patterns": ["time.*"]})
    async with server.client(team["slug"], limited.json()["key"]) as narrow:
        for method, path in (("POST", "/keys"), ("GET", "/keys"), ("GET", "/members"), ("GET", "/secrets")):
            response = await narrow.request(method, path, json={"name": "more"})
            assert response.status_code == 403, (method, path)


async def test_variables_of_the_server_are_not_expanded_in_settings(team, server, upstream, monkeypatch):
    """Neither in the headers of a server nor in the key of a model."""
    monkeypatch.setenv("ONETOOL_KEYS", SECRET)
    settings = {
        "allowedHosts": ["127.0.0.1"],
        "servers": {"up": {"url": f"{upstream.url}/echo", "headers": {"X-Token": "${ONETOOL_KEYS}"}}},
        "providers": {"openai": {"base_url": upstream.url, "key_secret": "ONETOOL_KEYS"}},
    }
    async with server.contents(team["slug"]) as contents:
        await contents.replace_settings(settings, "operator")
    upstream.requests.clear()
    async with open_workspace(server.parts, team["slug"]) as opened:
        assert "ONETOOL_KEYS" not in opened.runtime.state.configuration.secrets
        assert SECRET not in str(opened.runtime.state.configuration.settings)
    chat = await team["otto"].post("/chat", json={"text": "Hello", "provider": "openai"})
    listed = await team["otto"].get("/servers")
    called = await call(team["otto"], "up.echo")
    assert SECRET not in chat.text + listed.text + called.text
    assert not [request for request in upstream.requests if SECRET in str(request)]
