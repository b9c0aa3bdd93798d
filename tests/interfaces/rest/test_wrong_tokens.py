"""Delays for clients that send wrong tokens."""

import asyncio

import httpx2
import pytest

from onetool.interfaces.rest.auth.credentials import Credentials
from onetool.interfaces.rest.auth.wrong_tokens import FREE_ATTEMPTS, MAX_ADDRESSES, PERIOD_S, WrongTokens
from onetool.testing import memory_runtime
from support.rest_in_process import TOKEN, serve_rest
from support.waiting import HANG_S

WRONG = "Bearer wrong"
GUESSES = {
    "a route": ("GET", "/usage", {"Authorization": WRONG}, None),
    "a call": ("POST", "/tools/call", {"Authorization": WRONG}, {"name": "time.now"}),
    "an unknown path": ("GET", "/nothing", {"Authorization": WRONG}, None),
    "another scheme": ("GET", "/usage", {"Authorization": f"Basic {TOKEN}"}, None),
    "the login status": ("GET", "/login", {"Authorization": WRONG}, None),
    "a login": ("POST", "/login", {}, {"token": "wrong"}),
    "a cookie": ("GET", "/usage", {"Cookie": f"{Credentials(TOKEN).cookie_name}=wrong"}, None),
}
HARMLESS = [
    ("GET", "/usage", {}, 401),
    ("GET", "/healthz", {"Authorization": WRONG}, 200),
    ("GET", "/login", {}, 200),
]
"""Requests that guess no token."""


async def send(client, guess, address="127.0.0.1"):
    method, path, headers, body = guess
    async with httpx2.AsyncClient(
        base_url=client.base_url, transport=httpx2.AsyncHTTPTransport(local_address=address), timeout=HANG_S
    ) as other:
        return await other.request(method, path, headers=headers, json=body)


@pytest.mark.guards("client-token")
@pytest.mark.linux
async def test_wrong_tokens_are_delayed_and_the_correct_one_is_not():
    """On every route, each guessed from an address. The delay is so long that the response never comes."""
    delays = WrongTokens(first_delay_s=HANG_S * 10, max_delay_s=HANG_S * 10)
    async with memory_runtime() as ot, serve_rest(ot.runtime, wrong_tokens=delays) as client:
        for number, guess in enumerate(GUESSES.values(), 1):
            address = f"127.0.1.{number}"
            for _ in range(FREE_ATTEMPTS):
                response = await send(client, guess, address)
                assert response.status_code == 401 or response.json() == {"loggedIn": False}
            delayed = asyncio.ensure_future(send(client, guess, address))
            for _ in range(10):
                assert (await client.get("/usage")).status_code == 200
                assert (await client.post("/login", json={"token": TOKEN})).status_code == 204
            for method, path, headers, status in HARMLESS:
                response = await send(client, (method, path, headers, None), address)
                assert response.status_code == status
            assert not delayed.done()
            delayed.cancel()
            await asyncio.wait({delayed})


async def test_the_response_to_a_wrong_token_comes_after_the_delay():
    delays = WrongTokens(first_delay_s=0.01, max_delay_s=0.02)
    async with memory_runtime() as ot, serve_rest(ot.runtime, wrong_tokens=delays) as client:
        for guess in [*GUESSES.values()] * 2:
            response = await send(client, guess)
            assert response.status_code == 401 or response.json() == {"loggedIn": False}


@pytest.mark.parametrize(
    ("proxies", "forwarded", "counted"),
    [
        ([], ["203.0.113.1", "203.0.113.2"], 1),
        (["127.0.0.0/8"], ["203.0.113.1", "203.0.113.2"], 2),
        (["127.0.0.1"], ["192.0.2.1, 203.0.113.1", "192.0.2.2, 203.0.113.1"], 1),
        (["192.0.2.0/24"], ["203.0.113.1", "203.0.113.2"], 1),
    ],
)
async def test_clients_behind_a_trusted_proxy_are_counted_one_by_one(proxies, forwarded, counted):
    """Others cannot choose their address. What a client puts before the entry of the proxy is ignored."""
    delays = WrongTokens()
    async with (
        memory_runtime() as ot,
        serve_rest(ot.runtime, wrong_tokens=delays, proxies=proxies) as client,
    ):
        for address in forwarded:
            headers = {"Authorization": WRONG, "X-Forwarded-For": address}
            assert (await client.get("/usage", headers=headers)).status_code == 401
    assert delays.address_count == counted


async def test_a_delay_ends_when_the_client_disconnects():
    delays = WrongTokens(first_delay_s=HANG_S * 10, max_delay_s=HANG_S * 10)
    sent = [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]

    async def receive():
        return sent.pop(0)

    async with asyncio.timeout(HANG_S):
        for _ in range(FREE_ATTEMPTS + 1):
            await delays.delay({"type": "http", "client": ("192.0.2.1", 1)}, receive)
    assert sent == []


@pytest.mark.guards("client-token")
def test_delays_grow_to_a_maximum_and_are_forgotten():
    now = 1_000.0
    delays = WrongTokens(first_delay_s=1, max_delay_s=10, clock=lambda: now)
    assert [delays.add("192.0.2.1") for _ in range(FREE_ATTEMPTS)] == [0] * FREE_ATTEMPTS
    assert [delays.add("192.0.2.1") for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    for _ in range(10_000):
        assert delays.add("192.0.2.1") == 10
    assert delays.add("192.0.2.2") == 0
    now += PERIOD_S - 1
    assert delays.add("192.0.2.1") == 10
    now += PERIOD_S
    assert delays.add("192.0.2.1") == 0


@pytest.mark.guards("client-token")
@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("testclient", "testclient", True),
    ],
)
def test_addresses_of_one_ipv6_network_are_one_client(first, second, is_same):
    delays = WrongTokens()
    for _ in range(FREE_ATTEMPTS):
        delays.add(first)
    assert (delays.add(second) > 0) is is_same


def test_the_memory_of_addresses_is_bounded():
    """The address whose last wrong token is oldest is forgotten first."""
    delays = WrongTokens()
    for _ in range(FREE_ATTEMPTS):
        delays.add("192.0.2.1")
    for number in range(MAX_ADDRESSES - 1):
        delays.add(f"10.0.{number // 256}.{number % 256}")
    assert (delays.address_count, delays.add("192.0.2.1") > 0) == (MAX_ADDRESSES, True)
    for number in range(MAX_ADDRESSES):
        delays.add(f"10.1.{number // 256}.{number % 256}")
    assert (delays.address_count, delays.add("192.0.2.1")) == (MAX_ADDRESSES, 0)


async def test_forwarded_addresses_are_ignored():
    """A client could claim a new one with every wrong token."""
    delays = WrongTokens(first_delay_s=0.01, max_delay_s=0.01)
    async with memory_runtime() as ot, serve_rest(ot.runtime, wrong_tokens=delays) as client:
        for number in range(5):
            headers = {"Authorization": WRONG, "X-Forwarded-For": f"192.0.2.{number}"}
            assert (await client.get("/usage", headers=headers)).status_code == 401
    assert delays.address_count == 1
