"""Secrets of members and of their workspace: whose value a call uses, and who can see it."""

import logging
from contextlib import AsyncExitStack

import psycopg
import pytest
from pytest_asyncio import fixture as async_fixture
from uuid_utils.compat import uuid7

from onetool.bootstrap.hosted import open_hosted, open_workspace
from onetool.domain.identity.roles import Role
from onetool.logs import JsonLogHandler
from onetool.settings.configuration import operator_packs
from onetool.settings.paths import Paths
from onetool.testing.http_stub import HttpStub, StubResponse
from support.hosted_server import RING, HostedServer
from support.rest_process import http_tool, write_private

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANNA, BEN, SHARED = "canary-anna-51", "canary-ben-62", "canary-shared-73"
HIDDEN = "canary-hidden-84"
"""A value that the server does not know by itself."""
ROLES = {
    "anna": Role.CALLER,
    "ben": Role.CALLER,
    "maker": Role.MAKER,
    "owner": Role.OWNER,
    "auditor": Role.AUDITOR,
}
ALLOWED = ["127.0.0.1", "localhost", "tools.example.com"]
HEADERS = {"request": {"headers": {"X-Token": "${TOKEN}"}}}

LEAKY = '''"""A tool that writes a secret to the log."""

import logging

from onetool.sdk import call_tool, get_secret

pack = "leaky"


def write() -> str:
    """Write the secret."""
    logging.getLogger("onetool.leaky").warning("the secret is %s", get_secret("TOKEN"))
    return "done"


def nest() -> str:
    """Call the other tool."""
    return call_tool("leaky.write")
'''


class Team:
    """A workspace whose tool sends the secret TOKEN to a server, which repeats it."""

    def __init__(self, server, stub):
        self.server, self.stub = server, stub

    async def create(self, stack):
        self.slug = await self.server.new_workspace()
        async with self.server.contents(self.slug) as contents:
            await contents.replace_settings({"allowedHosts": ALLOWED}, "operator")
        for name, role in ROLES.items():
            key = await self.server.new_key(self.slug, name, role=role)
            client = self.server.client(self.slug, key.text)
            setattr(self, name, await stack.enter_async_context(client))
        self.bundle = bundle = f"/tools/bundles/{uuid7()}"
        await self.maker.put(bundle, json={"slug": "up", "displayName": "Up", "isEnabled": True})
        elsewhere = f"{self.stub.url}/echo".replace("127.0.0.1", "localhost")
        urls = {"echo": f"{self.stub.url}/echo", "fail": f"{self.stub.url}/fail", "elsewhere": elsewhere}
        for slug, url in urls.items():
            stored = await self.maker.put(f"{bundle}/tools/{slug}/version/v1", json=http_tool(url, **HEADERS))
            assert stored.status_code == 201, stored.text
        return self

    def sent(self):
        """Return the values that the server got, and forget them."""
        values = [request.headers.get("X-Token") for request in self.stub.requests]
        self.stub.requests.clear()
        return values


@async_fixture(loop_scope="module")
async def team(server):
    def repeat(status):
        def respond(request):
            return StubResponse({"sent": request.headers.get("X-Token"), "all": [ANNA, BEN, SHARED]}, status)

        return respond

    with HttpStub({"/echo": repeat(200), "/fail": repeat(422)}) as stub:
        async with AsyncExitStack() as stack:
            yield await Team(server, stub).create(stack)


async def call(client, name="up.echo"):
    return await client.post("/tools/call", json={"name": name, "args": {}})


async def put(client, value, **fields):
    return await client.put("/secrets/TOKEN", json={"value": value, "hosts": ["127.0.0.1"], **fields})


async def test_each_member_calls_with_their_own_secret(team):
    missing = (await call(team.anna)).json()["error"]["message"]
    assert "Secret 'TOKEN' is missing" in missing
    assert "Add it to the secrets of the workspace: PUT /secrets/TOKEN" in missing
    assert "secrets.yaml" not in missing
    assert (await put(team.maker, SHARED, of="workspace")).status_code == 200
    assert (await put(team.anna, ANNA)).json() == {"name": "TOKEN", "of": "me", "hosts": ["127.0.0.1"]}
    for client, value in ((team.anna, ANNA), (team.ben, SHARED), (team.maker, SHARED)):
        result = await call(client)
        assert result.status_code == 200, result.text
        assert team.sent() == [value]
        assert value not in result.text
    assert (await put(team.ben, BEN)).status_code == 200
    for client, value in ((team.ben, BEN), (team.anna, ANNA)):
        assert (await call(client)).status_code == 200
        assert team.sent() == [value]
    assert (await team.anna.delete("/secrets/TOKEN")).status_code == 204
    assert (await team.anna.delete("/secrets/TOKEN")).status_code == 404
    await call(team.anna)
    assert team.sent() == [SHARED]


async def test_code_uses_the_secret_of_who_runs_it(team):
    await put(team.anna, ANNA)
    await put(team.ben, BEN)
    for client, value in ((team.anna, ANNA), (team.ben, BEN)):
        result = await client.post("/run", json={"command": "[up.echo(), up.echo()]"})
        assert result.json()["ok"], result.text
        assert team.sent() == [value, value]
        assert value not in result.text


@pytest.mark.guards("secret-hosts")
async def test_own_secret_is_sent_only_to_its_hosts(team):
    """A maker of tools cannot collect the secrets of other members."""
    await put(team.anna, ANNA)
    refused = await call(team.anna, "up.elsewhere")
    assert "may not be sent to" in refused.text
    assert team.sent() == []
    for hosts in ([], None):
        response = await put(team.anna, ANNA, hosts=hosts)
        assert (response.status_code, "Name the hosts" in response.text) == (400, True)


@pytest.mark.guards("secret-hosts")
async def test_own_secret_is_not_sent_without_encryption(team):
    """Neither in a header nor by the auth of a tool; the loopback interface is left out."""
    bundle = f"/tools/bundles/{uuid7()}"
    await team.maker.put(bundle, json={"slug": "open", "displayName": "Open", "isEnabled": True})
    url, token = "http://tools.example.com/x", {"type": "bearer", "token": "${TOKEN}"}
    for slug, fields in (("header", HEADERS), ("auth", {"request": {"auth": token}})):
        stored = await team.maker.put(f"{bundle}/tools/{slug}/version/v1", json=http_tool(url, **fields))
        assert stored.status_code == 201, stored.text
    await put(team.anna, ANNA, hosts=["tools.example.com"])
    for name in ("open.header", "open.auth"):
        refused = await call(team.anna, name)
        assert "Your secret 'TOKEN' is not sent to 'tools.example.com' over http" in refused.text, (
            refused.text
        )


async def test_own_secrets_are_redacted_in_the_log_of_a_call(hosted_url, tmp_path):
    """Also in what a pack writes on a thread, and in what its nested calls write."""
    write_private(tmp_path / "config" / "tools" / "leaky.py", LEAKY)
    paths = Paths(config=tmp_path / "config", data=tmp_path, state=tmp_path, cwd=tmp_path)
    handler = JsonLogHandler(stderr_level=logging.CRITICAL, file=None)
    records = []
    handler._records.put_nowait = records.append
    handler._writer = object()
    async with open_hosted(hosted_url, RING, pack_dirs=operator_packs(paths)) as parts:
        server = HostedServer(parts, hosted_url)
        slug = await server.new_workspace()
        logging.getLogger("onetool").addHandler(handler)
        try:
            async with server.client(slug, (await server.new_key(slug)).text) as client:
                await put(client, ANNA)
                for name in ("leaky.write", "leaky.nest"):
                    assert (await call(client, name)).json()["value"] == "done"
        finally:
            logging.getLogger("onetool").removeHandler(handler)
            await server.workspaces.aclose()
    lines = [handler.format_json(record) for record in records if record.name == "onetool.leaky"]
    assert len(lines) == 2
    assert "the secret is" in lines[0]
    assert ANNA not in "".join(lines)


@pytest.mark.guards("member-secrets")
async def test_secrets_are_listed_without_values(team):
    await put(team.maker, SHARED, of="workspace", hosts=None)
    await put(team.anna, ANNA)
    listed = await team.anna.get("/secrets")
    assert listed.json()["secrets"] == [
        {"name": "TOKEN", "of": "me", "hosts": ["127.0.0.1"]},
        {"name": "TOKEN", "of": "workspace", "hosts": None},
    ]
    assert [item["of"] for item in (await team.ben.get("/secrets")).json()["secrets"]] == ["workspace"]
    assert ANNA not in listed.text


async def test_invalid_names_are_refused(team):
    body = {"value": "v", "hosts": ["h"]}
    for name in ("1A", "A-B", "A.B", "x" * 101, "Ä"):
        assert (await team.anna.put(f"/secrets/{name}", json=body)).status_code == 400, name


@pytest.mark.guards("member-secrets")
async def test_values_are_sealed_for_their_owner(team, hosted_url):
    """A row that is moved to another member opens nothing."""
    await put(team.anna, ANNA)
    await put(team.ben, BEN)
    with psycopg.connect(hosted_url) as connection:
        rows = connection.execute("select * from onetool.own_secrets").fetchall()
        assert ANNA not in str(rows)
        connection.execute(
            "update onetool.own_secrets set sealed = (select sealed from onetool.own_secrets other"
            " where other.owner = 'anna' and other.workspace_id = own_secrets.workspace_id)"
            " where owner = 'ben' and workspace_id = (select id from home.workspaces where slug = %s)",
            (team.slug,),
        )
    await team.anna.put("/secrets/OTHER", json={"value": "v", "hosts": ["h"]})  # what was read is read again
    result = await call(team.ben)
    assert (result.status_code, "up.echo was not called" in result.text) == (503, True)
    assert team.sent() == []
    assert ANNA not in result.text


async def test_member_has_at_most_a_hundred_secrets(team):
    for number in range(100):
        body = {"value": "v", "hosts": ["h"]}
        assert (await team.anna.put(f"/secrets/N{number}", json=body)).status_code == 200
    assert "the limit is 100" in (await team.anna.put("/secrets/MORE", json=body)).text
    assert (await team.anna.put("/secrets/N1", json=body)).status_code == 200
    assert (await put(team.ben, BEN)).status_code == 200


async def put_tool(team, slug, credentials, names=("TOKEN",)):
    """Store a tool that sends secrets, and says whose."""
    headers = {f"X-{name.title()}": f"${{{name}}}" for name in names}
    body = http_tool(f"{team.stub.url}/echo", request={"headers": headers})
    body["httpImpl"]["credentials"] = credentials
    stored = await team.maker.put(f"{team.bundle}/tools/{slug}/version/v1", json=body)
    assert stored.status_code == 201, stored.text
    return f"up.{slug}"


async def test_tool_says_whose_secrets_it_uses(team):
    await put(team.maker, SHARED, of="workspace")
    shared, own = await put_tool(team, "shared", "workspace"), await put_tool(team, "own", "person")
    refused = await call(team.anna, own)
    assert refused.status_code == 403
    assert refused.json()["meta"]["reason"] == "needs_login"
    assert "Yours are missing: TOKEN" in refused.text
    await put(team.anna, ANNA)
    for name in (shared, own):
        assert (await call(team.anna, name)).json()["ok"]
    assert team.sent() == [SHARED, ANNA]


async def test_secrets_of_a_member_are_not_mixed_with_those_of_the_workspace(team):
    """Otherwise a member could, say, use the token of the workspace for an account of their own choice."""
    tool = await put_tool(team, "both", "either", ("TOKEN", "ACCOUNT"))
    for name in ("TOKEN", "ACCOUNT"):
        body = {"value": f"shared-{name}", "hosts": ["127.0.0.1"], "of": "workspace"}
        assert (await team.maker.put(f"/secrets/{name}", json=body)).status_code == 200
    await team.anna.put("/secrets/ACCOUNT", json={"value": "chosen", "hosts": ["127.0.0.1"]})
    assert (await call(team.anna, tool)).json()["ok"]
    (request,) = team.stub.requests
    assert (request.headers["X-Token"], request.headers["X-Account"]) == ("shared-TOKEN", "shared-ACCOUNT")
    await put(team.anna, ANNA)
    assert (await call(team.anna, tool)).json()["ok"]
    request = team.stub.requests[-1]
    assert (request.headers["X-Token"], request.headers["X-Account"]) == (ANNA, "chosen")
    assert (await team.maker.delete("/secrets/ACCOUNT", params={"of": "workspace"})).status_code == 204
    assert (await team.anna.delete("/secrets/TOKEN")).status_code == 204
    assert (await call(team.anna, tool)).json()["ok"], "the workspace leaves the account to its members"
    request = team.stub.requests[-1]
    assert (request.headers["X-Token"], request.headers["X-Account"]) == ("shared-TOKEN", "chosen")


@pytest.mark.guards("secret-hosts")
async def test_token_for_a_secret_is_sent_only_to_hosts_of_the_secret(team):
    """A maker of tools cannot collect tokens that were issued for secrets of other members."""
    url = team.stub.url.replace("127.0.0.1", "localhost")
    auth = {
        "type": "oauth2",
        "tokenUrl": f"{team.stub.url}/token",
        "clientId": "me",
        "clientSecret": "${TOKEN}",
    }
    body = http_tool(f"{url}/echo", request={"auth": auth})
    stored = await team.maker.put(f"{team.bundle}/tools/stolen/version/v1", json=body)
    assert stored.status_code == 201, stored.text
    await put(team.anna, ANNA)
    refused = await call(team.anna, "up.stolen")
    assert "may not be sent to 'localhost'" in refused.text
    assert team.sent() == []


@pytest.mark.guards("member-secrets")
async def test_no_one_sees_the_secret_of_another_member(team):
    """Neither by an echo nor an error, in records, the audit log, lists, code, nor the place of a secret."""
    assert (await put(team.anna, HIDDEN)).status_code == 200
    seen = [(await call(team.anna, name)).text for name in ("up.echo", "up.fail")]
    assert team.sent() == [HIDDEN] * 2
    paths = ["/activity", "/audit", "/audit/export", "/secrets", "/jobs", "/tools/tools", "/usage", "/keys"]
    for name in ROLES:
        client = getattr(team, name)
        records = (await client.get("/activity")).json().get("records", [])
        places = paths + [f"/activity/{record['id']}" for record in records]
        seen += [(await client.get(path)).text for path in places]
        code = {"command": "[ot.config(), ot.health(), ot.stats(), ot.tasks()]"}
        seen.append((await client.post("/run", json=code)).text)
        if name != "anna":
            seen += [(await call(client, tool)).text for tool in ("up.echo", "up.fail")]
    assert len(seen) > 40
    assert not [text for text in seen if HIDDEN in text]
    assert team.sent() == [], "a call of someone else has used the secret"


async def test_variables_of_the_server_are_not_expanded_in_settings(team, monkeypatch):
    """Neither in the headers of a server nor in the key of a model."""
    monkeypatch.setenv("ONETOOL_KEYS", HIDDEN)
    url, server = team.stub.url, team.server
    settings = {
        "allowedHosts": ["127.0.0.1"],
        "servers": {"far": {"url": f"{url}/echo", "headers": {"X-Token": "${ONETOOL_KEYS}"}}},
        "providers": {"openai": {"base_url": url, "key_secret": "ONETOOL_KEYS"}},
    }
    async with server.contents(team.slug) as contents:
        await contents.replace_settings(settings, "operator")
    async with open_workspace(server.parts, team.slug) as opened:
        assert "ONETOOL_KEYS" not in opened.runtime.state.configuration.secrets
        assert HIDDEN not in str(opened.runtime.state.configuration.settings)
    chat = await team.owner.post("/chat", json={"text": "Hello", "provider": "openai"})
    listed = await team.owner.get("/servers")
    called = await call(team.owner, "up.echo")
    assert HIDDEN not in chat.text + listed.text + called.text
    assert not [request for request in team.stub.requests if HIDDEN in str(request)]
