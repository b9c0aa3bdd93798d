"""fetch_url: answers are read as far as allowed, for as long as somebody waits."""

import asyncio
import gzip

import pytest

from onetool.sdk import fetch_url, tool
from onetool.testing import memory_runtime
from raw_http import RawServer, reply

LOOPBACK = {"allowedHosts": ["127.0.0.1"]}


def get(url: str, follow: bool = True) -> dict:
    """Get a URL."""
    found = fetch_url(
        url, max_bytes=1000, headers={"X-Key": "k"}, params={"q": "a b"}, follow_redirects=follow
    )
    return {"status": found.status, "text": found.text(), "url": found.url}


@tool(timeout=0.5)
def hurry(url: str) -> str:
    """Get a URL in half a second."""
    return fetch_url(url, max_bytes=10**9).text()


@pytest.fixture
async def ot():
    async with memory_runtime({"demo": [get, hurry]}, settings=LOOPBACK) as tools:
        yield tools


async def test_what_is_sent_and_what_comes_back(ot):
    """Headers and parameters go out; any status comes back with its text."""
    async with RawServer(lambda seen: reply("gone", 410)) as server:
        result = await ot.call("demo.get", url=f"{server.url}/")
    assert result.data == {"status": 410, "text": "gone", "url": f"{server.url}/?q=a+b"}
    assert server.requests[0].headers["x-key"] == "k"
    assert server.requests[0].headers["accept-encoding"] == "gzip"


async def test_a_redirect_is_followed_or_shown(ot):
    """As it was asked for; the answer says where it ended."""
    pages = {"/": reply("", 302, Location="/there"), "/there": reply("found")}
    async with RawServer(lambda seen: pages[seen.target.partition("?")[0]]) as server:
        assert (await ot.call("demo.get", url=f"{server.url}/")).data["text"] == "found"
        assert (await ot.call("demo.get", url=f"{server.url}/", follow=False)).data["status"] == 302


async def test_a_key_stays_with_its_server(ot):
    """A redirect to another one does not take it along; cookies are neither kept nor sent."""
    async with RawServer(lambda seen: reply("other", Set_Cookie="a=b")) as other:
        pages = {"/": reply("", 302, Location="/same"), "/same": reply("", 302, Location=f"{other.url}/")}
        async with RawServer(lambda seen: pages[seen.target.partition("?")[0]]) as first:
            for _ in range(2):
                assert (await ot.call("demo.get", url=f"{first.url}/")).data["text"] == "other"
    assert ["x-key" in seen.headers for seen in (*first.requests, *other.requests)] == [True] * 4 + [
        False
    ] * 2
    assert not any("cookie" in seen.headers for seen in other.requests)


async def test_compressed_answers(ot):
    """gzip is unpacked no further than allowed; what is broken or unknown is said."""
    zipped = gzip.compress(b"x" * 500)
    for body, coding, said in (
        (zipped, "gzip", ""),
        (gzip.compress(b"x" * 10_000_000), "gzip", "larger than 1000 bytes"),
        (b"no gzip", "gzip", "is broken"),
        (zipped, "br", "content encoding 'br' is not understood"),
    ):
        answer = reply(body, Content_Encoding=coding)
        async with RawServer(lambda seen, answer=answer: answer) as server:
            result = await ot.call("demo.get", url=server.url)
        assert said in (result.error.message if result.error else "")
        assert result.ok == (not said)


async def test_a_redirect_with_an_endless_body_is_not_read(ot):
    """Only the answer at the end of the way is."""
    pages = {"/": reply("x" * 5_000_000, 302, Location="/there"), "/there": reply("found")}
    async with RawServer(lambda seen: pages[seen.target.partition("?")[0]]) as server:
        assert (await ot.call("demo.get", url=f"{server.url}/")).data["text"] == "found"


async def test_reading_ends_when_nobody_waits(ot):
    """A server that sends a byte now and then, for ever, holds no thread for ever."""
    hung_up = asyncio.Event()

    async def drip(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        try:
            while not reader.at_eof():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.05)  # this is the attack
        except ConnectionError:
            pass
        finally:
            writer.close()
            hung_up.set()

    async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        result = await ot.call("demo.hurry", url=f"http://127.0.0.1:{port}/")
        assert result.meta.reason.value == "timeout"
        await asyncio.wait_for(hung_up.wait(), 20)


async def test_a_server_that_is_not_there(ot):
    """The message names the URL."""
    result = await ot.call("demo.get", url="http://127.0.0.1:1/")
    assert "'http://127.0.0.1:1/' cannot be fetched" in result.error.message
