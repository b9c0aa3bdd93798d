"""fetch_url: size limit, redirects, compression, cancellation."""

import asyncio
import gzip

import pytest

from onetool.sdk import fetch_url, tool
from onetool.testing import memory_runtime
from support.raw_http import RawHttpServer, raw_response
from support.waiting import until

LOOPBACK = {"allowedHosts": ["127.0.0.1"]}


def get(url: str, follow: bool = True) -> dict:
    """Fetch a URL."""
    page = fetch_url(
        url, max_bytes=1000, headers={"X-Key": "k"}, params={"q": "a b"}, follow_redirects=follow
    )
    return {"status": page.status, "text": page.text(), "url": page.url}


@tool(timeout=3600)
def get_all(url: str) -> str:
    """Fetch a large page."""
    return fetch_url(url, max_bytes=10**9).text()


@pytest.fixture
async def ot():
    async with memory_runtime({"demo": [get, get_all]}, settings=LOOPBACK) as tools:
        yield tools


async def test_headers_and_params_are_sent_and_any_status_is_returned(ot):
    async with RawHttpServer(lambda request: raw_response("gone", 410)) as server:
        result = await ot.call("demo.get", url=f"{server.url}/")
    assert result.data == {"status": 410, "text": "gone", "url": f"{server.url}/?q=a+b"}
    assert server.requests[0].headers["x-key"] == "k"
    assert server.requests[0].headers["accept-encoding"] == "gzip"


async def test_redirects_are_followed_unless_disabled(ot):
    pages = {"/": raw_response("", 302, Location="/there"), "/there": raw_response("found")}
    async with RawHttpServer(lambda request: pages[request.target.partition("?")[0]]) as server:
        assert (await ot.call("demo.get", url=f"{server.url}/")).data["text"] == "found"
        assert (await ot.call("demo.get", url=f"{server.url}/", follow=False)).data["status"] == 302


async def test_redirect_to_another_server_drops_private_headers(ot):
    """Cookies are neither stored nor sent."""
    async with RawHttpServer(lambda request: raw_response("other", Set_Cookie="a=b")) as other:
        pages = {
            "/": raw_response("", 302, Location="/same"),
            "/same": raw_response("", 302, Location=f"{other.url}/"),
        }
        async with RawHttpServer(lambda request: pages[request.target.partition("?")[0]]) as first:
            for _ in range(2):
                assert (await ot.call("demo.get", url=f"{first.url}/")).data["text"] == "other"
    assert ["x-key" in request.headers for request in (*first.requests, *other.requests)] == [True] * 4 + [
        False
    ] * 2
    assert not any("cookie" in request.headers for request in other.requests)


async def test_compressed_responses(ot):
    """gzip is decompressed up to the limit; invalid data and unknown encodings are errors."""
    zipped = gzip.compress(b"x" * 500)
    for body, coding, message in (
        (zipped, "gzip", ""),
        (gzip.compress(b"x" * 10_000_000), "gzip", "larger than 1000 bytes"),
        (b"no gzip", "gzip", "is invalid"),
        (zipped, "br", "unsupported content encoding 'br'"),
    ):
        response = raw_response(body, Content_Encoding=coding)
        async with RawHttpServer(lambda request, response=response: response) as server:
            result = await ot.call("demo.get", url=server.url)
        assert message in (result.error.message if result.error else "")
        assert result.ok == (not message)


async def test_the_body_of_a_redirect_is_not_read(ot):
    pages = {"/": raw_response("x" * 5_000_000, 302, Location="/there"), "/there": raw_response("found")}
    async with RawHttpServer(lambda request: pages[request.target.partition("?")[0]]) as server:
        assert (await ot.call("demo.get", url=f"{server.url}/")).data["text"] == "found"


async def test_reading_stops_when_the_call_is_cancelled(ot):
    """A server that sends single bytes forever does not block a thread forever."""
    sending, disconnected = asyncio.Event(), asyncio.Event()

    async def drip(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        try:
            while not reader.at_eof():
                writer.write(b"x")
                await writer.drain()
                sending.set()
                await asyncio.sleep(0.05)  # this is the attack
        except ConnectionError:
            pass
        finally:
            writer.close()
            disconnected.set()

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        call = asyncio.create_task(ot.call("demo.get_all", url=f"http://127.0.0.1:{port}/"))
        await until(sending.is_set)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(disconnected.is_set)


async def test_connection_error_names_the_url(ot):
    result = await ot.call("demo.get", url="http://127.0.0.1:1/")
    assert "Cannot fetch 'http://127.0.0.1:1/'" in result.error.message
