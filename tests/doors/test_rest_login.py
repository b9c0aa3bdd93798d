"""Pages log in once; nobody else can use their cookie, and the token goes nowhere."""

import asyncio
import logging

import httpx2
import pytest

from chatting import page_of
from onetool.doors.rest.credentials import Credentials
from onetool.doors.rest.login import TRIES, Tries
from onetool.testing import memory_runtime
from rest_app import TOKEN, served

RUN = {"command": "1 + 1"}


@pytest.fixture
async def client():
    async with memory_runtime() as ot, served(ot.runtime) as found:
        yield found


@pytest.fixture
async def page(client):
    found = await page_of(client)
    yield found
    await found.aclose()


async def test_a_page_logs_in_acts_and_logs_out(client, page):
    """The cookie is as good as the token until the page gives it back."""
    assert (await page.get("/login")).json() == {"loggedIn": True}
    assert (await page.get("/tools/tools")).status_code == 200
    assert (await page.post("/run", json=RUN)).json()["data"] == 2
    assert (await page.post("/logout")).status_code == 204
    assert (await page.get("/login")).json() == {"loggedIn": False}
    assert (await page.get("/tools/tools")).status_code == 401


async def test_the_cookie_is_out_of_reach_and_is_not_the_token(client):
    """No script reads it, no other site sends it, and it does not lead back to the token."""
    answer = await client.post("/login", json={"token": TOKEN})
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert TOKEN not in str(answer.headers)
    over_tls = await client.post("/login", json={"token": TOKEN}, headers={"X-Forwarded-Proto": "https"})
    assert "Secure" in over_tls.headers["set-cookie"]


def test_servers_with_other_tokens_use_other_cookies():
    """A browser sends cookies to every port of a host; logging in to one server logs out of no other."""
    one, other = Credentials("one"), Credentials("other")
    assert one.cookie_name != other.cookie_name
    assert one.cookie_name == Credentials("one").cookie_name


FOREIGN = [
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


async def test_a_foreign_page_can_neither_act_nor_read(client, page):
    """The cookie alone is not enough: the page must say that it is ours, which only ours can."""
    known = {"base_url": client.base_url, "cookies": dict(page.cookies), "trust_env": False}
    async with httpx2.AsyncClient(**known) as other:
        for method, change, status in FOREIGN:
            own = {"Origin": str(page.base_url).rstrip("/"), "X-OneTool": "1"} | change
            headers = {name: value for name, value in own.items() if value is not None}
            body = RUN if method == "POST" else None
            answer = await other.request(method, PATHS[method], headers=headers, json=body)
            assert answer.status_code == status, (method, change, answer.text)


async def test_another_servers_cookie_opens_nothing(client):
    """Each server knows only its own; the token itself is no cookie."""
    async with httpx2.AsyncClient(base_url=client.base_url, trust_env=False) as other:
        for cookie in ("", "x", TOKEN, Credentials("another token").cookie, "é"):
            header = b"onetool=" + cookie.encode()
            assert (await other.get("/usage", headers={b"Cookie": header})).status_code == 401


async def test_a_token_in_the_url_opens_nothing(client):
    """It would stay in histories and in the logs of proxies."""
    async with httpx2.AsyncClient(base_url=client.base_url, trust_env=False) as other:
        assert (await other.get("/usage", params={"token": TOKEN})).status_code == 401
        assert (await other.post("/login", params={"token": TOKEN})).status_code == 400


async def test_a_token_is_not_guessed(client):
    """After ten wrong ones nobody logs in for a minute, not even with the right one; who is in stays in."""
    page = await page_of(client)
    for number in range(TRIES):
        assert (await client.post("/login", json={"token": f"guess {number}"})).status_code == 401
    answer = await client.post("/login", json={"token": TOKEN})
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 60
    assert (await page.get("/usage")).status_code == 200
    assert (await client.get("/usage")).status_code == 200
    await page.aclose()


def test_after_a_minute_one_may_try_again():
    """Only the tries of the last minute count."""
    now = 1_000.0
    tries = Tries(lambda: now)
    for _ in range(TRIES):
        assert tries.wait() == 0
        tries.count()
    assert 59 <= tries.wait() <= 61
    now += 61
    assert tries.wait() == 0


WRONG_BODIES = (b"", b"[]", b'"s3cret-token"', b'{"token": 5}', b'{"tokne": "s3cret-token"}')


async def test_a_wrong_body_is_told_without_what_it_held(client):
    """It may hold the token."""
    for body in WRONG_BODIES:
        answer = await client.post("/login", content=body)
        assert answer.status_code == 400
        assert "s3cret" not in answer.text
        assert "token" in answer.json()["detail"]


async def test_the_token_is_in_no_log(client, caplog):
    """Neither the right one nor a wrong one."""
    caplog.set_level(logging.DEBUG)
    for token in (TOKEN, "wrong-token-of-somebody"):
        await client.post("/login", json={"token": token})
        await client.get("/usage", headers={"Authorization": f"Bearer {token}"})
    ours = [it.getMessage() for it in caplog.records if it.name.startswith(("onetool", "uvicorn"))]
    assert not [line for line in ours if TOKEN in line or "wrong-token" in line]


async def test_answers_are_never_taken_for_pages(client):
    """Whatever a tool returns or a person wrote: JSON, unsniffed and uncached."""
    answer = await client.post("/run", json={"command": "'<script>alert(1)</script>'"})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


async def test_a_socket_without_manners_is_refused(client):
    """A cookie header of odd bytes is no cookie, and breaks nothing."""
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    writer.write(b"GET /usage HTTP/1.1\r\nHost: localhost\r\nCookie: onetool=\xff\xfe; =; onetool\r\n\r\n")
    assert b"401" in await reader.readline()
    writer.close()
    await writer.wait_closed()
