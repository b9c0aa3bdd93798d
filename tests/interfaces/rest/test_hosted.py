"""The hosted server: each request runs in its workspace, on behalf of the owner of its key."""

import asyncio
import logging
import re
import threading
from datetime import timedelta

import httpx2
import psycopg
import pytest
from uuid_utils.compat import uuid7

from onetool.bootstrap.api_keys import ApiKeyAuthenticator
from onetool.bootstrap.hosted import DEGRADED_S, MAX_AGE_S
from onetool.bootstrap.hosted_admin import workspace_admin
from onetool.bootstrap.lookup_slots import MAX_LOOKUPS
from onetool.domain.errors import SettingsError
from onetool.interfaces.rest.current_workspace import split_path
from onetool.interfaces.rest.hosted import HostedApp
from onetool.logs import JsonLogHandler, redacting
from onetool.testing.http_stub import HttpStub, StubResponse
from support.hosted_server import RING, HostedServer
from support.rest_process import http_tool
from support.waiting import HANG_S, until

pytestmark = pytest.mark.asyncio(loop_scope="module")
WAITING = """
select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
"""


async def call(client, name, **args):
    return (await client.post("/tools/call", json={"name": name, "args": args})).json()


async def test_calls_of_known_tools_with_known_keys_make_no_query(own_server):
    """They go on without a database. Only their records wait to be written."""
    server = own_server
    slug = await server.new_workspace()
    key = await server.new_key(slug)
    async with server.client(slug, key.text) as client:
        await call(client, "tools.echo", message="warm up")
        server.parts.database.close()
        for number in range(20):
            assert (await call(client, "tools.echo", message=str(number)))["value"] == str(number)


async def test_requests_of_one_workspace_leave_connections_to_others(server):
    """Above a number in progress, they are refused before anything is read."""
    full, other = [await server.new_workspace() for _ in range(2)]
    keys = [await server.new_key(slug) for slug in (full, other)]
    opened, may_end = asyncio.Event(), asyncio.Event()
    app = HostedApp(
        server.workspaces,
        authenticate=ApiKeyAuthenticator(server.parts).authenticate,
        status=server.parts.status,
        threads=server.parts.threads,
        max_requests=1,
    )

    async def body():
        opened.set()
        await may_end.wait()
        yield b'{"name": "tools.echo", "args": {"message": "x"}}'

    def client(slug, key):
        headers = {"Authorization": f"Bearer {key.text}", "Content-Type": "application/json"}
        url = f"http://localhost/w/{slug}"
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=url, headers=headers)

    async with client(full, keys[0]) as first, client(other, keys[1]) as second:
        waiting = asyncio.create_task(first.post("/tools/call", content=body()))
        await opened.wait()
        refused = await first.get("/tools/tools")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert "1 requests of the workspace are in progress" in refused.text
        assert (await second.get("/tools/tools")).status_code == 200
        may_end.set()
        assert (await waiting).status_code == 200
        assert (await first.get("/tools/tools")).status_code == 200


async def test_no_transaction_is_open_while_an_upstream_answers(server, hosted_url):
    """A slow upstream occupies no connection of the pool."""
    asked, may_answer = threading.Event(), threading.Event()

    def respond(request):
        asked.set()
        may_answer.wait(HANG_S)
        return StubResponse({"rain": True})

    slug = await server.new_workspace()
    key = await server.new_key(slug)
    async with server.contents(slug) as contents:
        await contents.replace_settings({"allowedHosts": ["127.0.0.1"]}, "operator")
    with HttpStub({"/slow": respond}) as stub:
        async with server.client(slug, key.text) as client:
            bundle = f"/tools/bundles/{uuid7()}"
            await client.put(bundle, json={"slug": "up", "displayName": "Up", "isEnabled": True})
            stored = await client.put(f"{bundle}/tools/slow/version/v1", json=http_tool(f"{stub.url}/slow"))
            assert stored.status_code in (200, 201), stored.text
            running = asyncio.create_task(call(client, "up.slow"))
            assert await asyncio.to_thread(asked.wait, HANG_S)
            with psycopg.connect(hosted_url, autocommit=True) as connection:
                count = "select count(*) from pg_stat_activity where datname = current_database()"
                busy = f"{count} and pid <> pg_backend_pid() and xact_start is not null"
                await until(lambda: connection.execute(busy).fetchone() == (0,))  # records are written
            assert not running.done()
            may_answer.set()
            assert (await running)["ok"] is True


async def test_wrong_keys_are_refused_and_do_not_reveal_workspaces(server):
    slug, other = await server.new_workspace(), await server.new_workspace()
    valid = await server.new_key(slug)
    foreign = (await server.new_key(other)).text
    expired = (await server.new_key(slug, lifetime=timedelta(seconds=-1))).text
    for wrong in ("", foreign, expired, valid.text[:-1], "x" * 5000, "é"):
        async with server.client(slug, wrong) as client:
            response = await client.get("/tools/tools")
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    async with server.client("no-such-workspace", valid.text) as client:
        missing = await client.get("/tools/tools")
    async with server.client(slug, foreign) as client:
        refused = await client.get("/tools/tools")
    assert missing.status_code == refused.status_code == 401
    assert missing.text.replace("no-such-workspace", slug) == refused.text


@pytest.mark.parametrize("cause", ["revoked", "workspace deleted"])
async def test_key_is_refused_as_soon_as_its_end_is_known(server, cause):
    slug = await server.new_workspace()
    created = await server.new_key(slug)
    async with server.client(slug, created.text) as client, server.contents(slug) as contents:
        assert (await client.get("/tools/tools")).status_code == 200
        if cause == "revoked":
            assert await contents.keys.revoke(created.key.id)
            assert not await contents.keys.revoke("no id")
        else:
            assert await server.parts.threads.run(workspace_admin(server.url, RING).delete, slug)
        async with asyncio.timeout(HANG_S):
            while (response := await client.get("/tools/tools")).status_code == 200:
                await asyncio.sleep(0.01)
    assert response.status_code == 401


async def test_unknown_keys_leave_connections_to_known_ones(server):
    """Anyone can send keys that must be looked up."""
    slug = await server.new_workspace()
    key = await server.new_key(slug)
    async with server.client(slug, key.text) as client, server.client(slug) as stranger:
        await call(client, "tools.echo", message="x")
        with psycopg.connect(server.url) as connection:
            connection.execute("lock table onetool.api_keys in access exclusive mode")
            wrong = [{"Authorization": f"Bearer otk_{number}"} for number in range(6)]
            attempts = [asyncio.create_task(stranger.get("/sessions", headers=keys)) for keys in wrong]
            with psycopg.connect(server.url, autocommit=True) as other:
                await until(lambda: other.execute(WAITING).fetchone()[0] == MAX_LOOKUPS)
                assert (await client.get("/tools/bundles")).status_code == 200
                assert other.execute(WAITING).fetchone()[0] == MAX_LOOKUPS
        assert {(await attempt).status_code for attempt in attempts} == {401}


async def test_settings_and_secrets_of_an_operator_take_effect_in_a_running_server(server):
    slug = await server.new_workspace()
    key = await server.new_key(slug)
    async with server.client(slug, key.text) as client, server.contents(slug) as contents:
        assert (await call(client, "say", message="x"))["ok"] is False
        await contents.secrets.put("CANARY", "canary-5e1f")
        assert await contents.replace_settings({"aliases": {"say": "tools.echo"}}, "operator") == 1
        async with asyncio.timeout(HANG_S):
            result = {"ok": False}
            while not result["ok"] or "canary" in result["value"]:
                result = await call(client, "say", message="the canary-5e1f")
        assert await contents.secret_names() == ["CANARY"]
        assert (await contents.settings()).document == {"aliases": {"say": "tools.echo"}}


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ({"servers": {"x": {"command": "sh"}}}, "servers.x.command"),
        ({"servers": {"y": {"command": "id", "enabled": False}}}, "servers.y.command"),
        ({"tools_dirs": ["/tmp"]}, "tools_dirs"),
        ({"secrets": {"backend": "keyring"}}, "secrets.backend"),
        ({"secrets": {"backend": "command", "command": ["printenv", "{name}"]}}, "secrets.backend"),
        ({"secrets": {"command": ["echo", "{name}"]}}, "secrets.command"),
        ({"topics": [{"pattern": "*", "file": "/etc/passwd"}]}, "topics"),
        ({"fs": {"roots": ["/"]}}, "fs.roots"),
        ({"fs": {"roots": []}}, "fs.roots"),
        ({"providers": {"scripted": {"model": "/etc/passwd"}}}, "providers.scripted"),
        ({"search": {"model_dir": "/tmp"}}, "search.model_dir"),
    ],
)
async def test_settings_that_use_the_server_are_refused(server, document, name):
    """Also those that reach the database by another way: the workspace does not open."""
    slug = await server.new_workspace()
    key = await server.new_key(slug)
    async with server.contents(slug) as contents:
        with pytest.raises(SettingsError, match=f"^{re.escape(name)}.* here"):  # they are not misspelled
            await contents.replace_settings(document, "operator")
        stored = await contents.settings()
        await contents._settings.put(stored._replace(document=document), "someone")
    async with server.client(slug, key.text) as client:
        response = await client.get("/tools/tools")
    assert response.status_code == 500
    assert name in response.json()["detail"]


async def test_health_needs_no_key_and_readiness_ends_before_the_process(server):
    server = HostedServer(server.parts, server.url)
    async with httpx2.AsyncClient(transport=server.transport(), base_url="http://localhost") as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert (await client.get("/readyz")).json() == {"status": "ok"}
        server.app.drain()
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/healthz")).status_code == 200
        for path in ("/", "/tools/tools", "/w", "/w/", "/x"):
            assert (await client.get(path)).status_code == 404
        assert (await client.get("/healthz", headers={"Host": "evil.example"})).status_code == 200
        assert (await client.get("/w/a/x", headers={"Host": "evil.example"})).status_code == 403


async def test_paths_of_a_single_user_do_not_exist_in_workspaces(server):
    slug = await server.new_workspace()
    key = await server.new_key(slug)
    async with server.client(slug, key.text) as client:
        for path in ("/healthz", "/readyz", "/registry/servers?search=x", "/unknown"):
            assert (await client.get(path)).status_code == 404
        assert (await client.get("/logout")).status_code == 405
        for path in ("/settings%0A", "/settings/log%0A", "/settings/%0Alog", "/registry/servers%0A?search=x"):
            assert (await client.get(path)).status_code == 400, path
        for method, path in (("PUT", "/settings/log.level%0A"), ("PUT", "/providers/openai/key%0A")):
            assert (await client.request(method, path, json={"value": "x"})).status_code == 400, path


async def test_browser_exchanges_a_key_for_a_cookie_of_the_workspace(server):
    """Other pages cannot use the cookie, and it is valid only in its workspace."""
    slug, other = await server.new_workspace(), await server.new_workspace()
    key = await server.new_key(slug)
    own_page = {"Origin": "http://localhost", "X-OneTool": "1"}
    call_body = {"name": "tools.echo", "args": {"message": "x"}}
    async with server.client(slug) as client:
        assert (await client.get("/login")).json()["loggedIn"] is False
        assert (await client.post("/login", json={"token": "wrong"})).status_code == 401
        assert (await client.post("/login", json={})).status_code == 400
        assert (await client.post("/login", content=b"x" * 5000)).status_code == 413
        response = await client.post("/login", json={"token": key.text})
        cookie = response.headers["set-cookie"]
        assert response.status_code == 204
        assert ("HttpOnly" in cookie, "SameSite=strict" in cookie, f"Path=/w/{slug}" in cookie) == (True,) * 3
        assert (await client.get("/login")).json()["loggedIn"] is True
        assert (await client.get("/tools/tools")).status_code == 200
        assert (await client.post("/tools/call", json=call_body, headers=own_page)).status_code == 200
        assert (await client.post("/tools/call", json=call_body)).status_code == 403
        foreign = {"Sec-Fetch-Site": "cross-site"}
        assert (await client.get("/tools/tools", headers=foreign)).status_code == 403
        elsewhere = await client.get(f"http://localhost/w/{other}/tools/tools", headers={"Cookie": cookie})
        assert elsewhere.status_code == 401
        assert (await client.post("/logout")).status_code == 204
        assert (await client.get("/login")).json()["loggedIn"] is False


async def test_pages_of_the_web_ui_need_no_key_and_the_api_still_does(server):
    slug = await server.new_workspace()
    html = {"Accept": "text/html"}
    async with server.client(slug) as client:
        for path in ("/", "/tools", "/jobs/1", "/anything"):
            page = await client.get(path, headers=html)
            assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert (await client.get("http://localhost/favicon.svg")).status_code == 200
        assert (await client.get("/tools", headers={"Accept": "*/*"})).status_code == 401
        assert (await client.get("/tools/tools", headers=html)).status_code == 401
        assert (await client.get("/mcp", headers=html)).status_code == 401


async def test_known_keys_are_accepted_for_a_minute_while_the_database_is_away(own_server, monkeypatch):
    """After that, it is not known which of them were revoked."""
    server = own_server
    slug = await server.new_workspace()
    known, unknown = await server.new_key(slug), await server.new_key(slug)
    async with server.client(slug, known.text) as client, server.client(slug, unknown.text) as other:
        await call(client, "tools.echo", message="x")
        echo = {"command": "tools.echo(message='x')"}
        assert (await client.post("/run", json=echo)).json()["ok"]
        await server.parts.threads.run(server.parts.notices.stop)
        server.parts.database.is_away = True
        for away_s, status, expected in (
            (DEGRADED_S - 1, "ok", 200),
            (MAX_AGE_S - 1, "degraded", 200),
            (MAX_AGE_S, "unavailable", 503),
        ):
            monkeypatch.setattr(server.parts.notices, "age_s", lambda away_s=away_s: away_s)
            ready = await client.get("http://localhost/readyz")
            assert (ready.json()["status"], ready.status_code) == (status, expected)
            response = await client.post("/tools/call", json={"name": "tools.echo", "args": {"message": "x"}})
            code = await client.post("/run", json=echo)
            assert (response.status_code, code.status_code) == (expected, expected)
            unknown_tool = await client.post("/tools/call", json={"name": "mine.tool", "args": {}})
            listing = await client.get("/tools/tools")
            unknown_key = await other.get("/tools/tools")
            statuses = [reply.status_code for reply in (unknown_tool, listing, unknown_key)]
            assert statuses == [503] * 3


PATHS = {"/w/a/x/y": ("a", "/x/y"), "/w/a": ("a", "/"), "/w/a/": ("a", "/"), "/x": ("", ""), "/w": ("", "")}


@pytest.mark.parametrize(("path", "expected"), PATHS.items())
async def test_workspace_of_a_path(path, expected):
    assert split_path(path) == expected


async def test_log_record_of_a_workspace_is_redacted_with_its_own_secrets():
    from onetool.domain.secrets.credential_set import CredentialSet

    process = CredentialSet()
    workspace = CredentialSet(process)
    workspace.keep(["canary-0a1b"])
    handler = JsonLogHandler(stderr_level=logging.CRITICAL, file=None, credentials=process)
    records = []
    handler._records.put_nowait = records.append
    handler._writer = object()
    with redacting(workspace):
        handler.emit(logging.makeLogRecord({"msg": "canary-0a1b", "name": "onetool.x"}))
    handler.emit(logging.makeLogRecord({"msg": "canary-0a1b", "name": "onetool.x"}))
    assert ["canary" in handler.format_json(record) for record in records] == [False, True]
    assert "onetool_credentials" not in handler.format_json(records[0])


async def test_redirects_and_locations_stay_in_the_workspace(server):
    slug = await server.new_workspace()
    key = await server.new_key(slug)
    async with server.client(slug, key.text) as client:
        response = await client.get("/tools/tools/")
    assert response.headers["location"] == f"http://localhost/w/{slug}/tools/tools"
