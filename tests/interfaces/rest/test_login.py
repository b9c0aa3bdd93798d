"""Login with the token, and protection of the cookie and the token."""

import asyncio
import logging

import httpx2
import pytest
from pytest_asyncio import fixture as async_fixture

from onetool.interfaces.rest.auth.credentials import Credentials
from support.chat_client import open_browser_session
from support.rest_in_process import TOKEN
from support.waiting import HANG_S

pytestmark = pytest.mark.asyncio(loop_scope="module")
RUN = {"command": "1 + 1"}


@async_fixture(loop_scope="module")
async def client(client):
    """Return the client of the module, without cookies of other tests."""
    client.cookies.clear()
    return client


@async_fixture(loop_scope="module")
async def page(client):
    page = await open_browser_session(client)
    yield page
    await page.aclose()


async def test_the_cookie_replaces_the_token_until_logout(client, page):
    assert (await page.get("/login")).json() == {"loggedIn": True}
    assert (await page.get("/tools/tools")).status_code == 200
    assert (await page.post("/run", json=RUN)).json()["data"] == 2
    assert (await page.post("/logout")).status_code == 204
    assert (await page.get("/login")).json() == {"loggedIn": False}
    assert (await page.get("/tools/tools")).status_code == 401


async def test_the_cookie_is_protected_and_does_not_contain_the_token(client):
    response = await client.post("/login", json={"token": TOKEN})
    cookie = response.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert TOKEN not in str(response.headers)
    over_tls = await client.post("/login", json={"token": TOKEN}, headers={"X-Forwarded-Proto": "https"})
    assert "Secure" in over_tls.headers["set-cookie"]


async def test_servers_with_other_tokens_use_other_cookies():
    """Browsers send cookies to every port of a host."""
    first, second = Credentials("first"), Credentials("second")
    assert first.cookie_name != second.cookie_name
    assert first.cookie_name == Credentials("first").cookie_name


CROSS_ORIGIN_REQUESTS = [
    ("POST", {"X-OneTool": None}, 403),
    ("POST", {"X-OneTool": "0"}, 403),
    ("POST", {"Origin": None}, 403),
    ("POST", {"Origin": "null"}, 403),
    ("POST", {"Origin": "http://evil.test"}, 403),
    ("POST", {"Origin": "http://localhost:1"}, 403),
    ("POST", {"Sec-Fetch-Site": "same-site"}, 403),
    ("GET", {"Sec-Fetch-Site": "cross-site"}, 403),
    ("GET", {"Origin": "http://evil.test"}, 403),
    ("DELETE", {"X-OneTool": None}, 403),
    ("GET", {"X-OneTool": None, "Origin": None}, 200),
    ("HEAD", {"X-OneTool": None, "Origin": None}, 405),
    ("POST", {"Sec-Fetch-Site": "same-origin"}, 200),
]
PATHS = {"POST": "/run", "DELETE": "/sessions/none", "GET": "/usage", "HEAD": "/usage"}


@pytest.mark.guards("browser-origin")
async def test_pages_of_other_origins_cannot_use_the_cookie(client, page):
    """Requests with the cookie need headers that only own pages can send."""
    options = {"base_url": client.base_url, "cookies": dict(page.cookies), "trust_env": False}
    async with httpx2.AsyncClient(**options) as other:
        for method, change, status in CROSS_ORIGIN_REQUESTS:
            own = {"Origin": str(page.base_url).rstrip("/"), "X-OneTool": "1"} | change
            headers = {name: value for name, value in own.items() if value is not None}
            body = RUN if method == "POST" else None
            response = await other.request(method, PATHS[method], headers=headers, json=body)
            assert response.status_code == status, (method, change, response.text)


async def test_other_cookies_are_rejected(client):
    """Also the cookie of another server, and the token as a cookie."""
    async with httpx2.AsyncClient(base_url=client.base_url, trust_env=False, verify=False) as other:
        for cookie in ("", "x", TOKEN, Credentials("another token").cookie, "é"):
            header = b"onetool=" + cookie.encode()
            assert (await other.get("/usage", headers={b"Cookie": header})).status_code == 401


async def test_a_token_in_the_url_is_rejected(client):
    """It would be stored in histories and in logs of proxies."""
    async with httpx2.AsyncClient(base_url=client.base_url, trust_env=False, verify=False) as other:
        assert (await other.get("/usage", params={"token": TOKEN})).status_code == 401
        assert (await other.post("/login", params={"token": TOKEN})).status_code == 400


INVALID_BODIES = (b"", b"[]", b'"s3cret-token"', b'{"token": 5}', b'{"tokne": "s3cret-token"}')


async def test_errors_for_invalid_bodies_do_not_contain_the_body(client):
    """It may contain the token."""
    for body in INVALID_BODIES:
        response = await client.post("/login", content=body)
        assert response.status_code == 400
        assert "s3cret" not in response.text
        assert "token" in response.json()["detail"]


@pytest.mark.guards("client-token")
async def test_a_large_body_is_rejected_at_login_before_it_is_read(client, caplog):
    """Clients without a token can send it. A token fits into 4 KiB."""
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    writer.write(b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4097\r\n\r\n")
    async with asyncio.timeout(HANG_S):
        assert b"413" in await reader.readline()
    writer.close()

    async def chunks():
        for _ in range(100):
            yield b"x" * 100

    chunked = await client.post("/login", content=chunks())
    assert (chunked.status_code, chunked.json()["detail"]) == (413, "The body is larger than 4096 bytes.")
    assert [record for record in caplog.records if record.exc_info] == []
    padded = b'{"token": "%s"}' % TOKEN.encode().ljust(4096 - 13)
    assert len(padded) == 4096
    assert (await client.post("/login", content=padded)).status_code == 204


async def test_tokens_are_not_logged(client, caplog):
    """Neither the right token nor wrong ones."""
    caplog.set_level(logging.DEBUG)
    for token in (TOKEN, "wrong-token-of-a-user"):
        await client.post("/login", json={"token": token})
        await client.get("/usage", headers={"Authorization": f"Bearer {token}"})
    messages = [
        record.getMessage() for record in caplog.records if record.name.startswith(("onetool", "uvicorn"))
    ]
    assert not [line for line in messages if TOKEN in line or "wrong-token" in line]


async def test_responses_are_not_rendered_or_cached_by_browsers(client):
    response = await client.post("/run", json={"command": "'<script>alert(1)</script>'"})
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-store"


async def test_a_malformed_cookie_header_is_rejected(client):
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    writer.write(b"GET /usage HTTP/1.1\r\nHost: localhost\r\nCookie: onetool=\xff\xfe; =; onetool\r\n\r\n")
    assert b"401" in await reader.readline()
    writer.close()
    await writer.wait_closed()
