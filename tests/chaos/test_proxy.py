"""The links of the chaos suite: each mode treats connections as documented."""

import asyncio
from contextlib import suppress

import pytest

from chaos.proxy import Link, Mode
from support.waiting import HANG_S, until

SILENCE_S = 0.2
"""Seconds in which nothing may arrive. On a slow machine, the tests do not fail because of it."""


class Echo:
    """A server that sends back what it receives, through a link."""

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.link = await Link(self._server.sockets[0].getsockname()[1]).start()
        self.received, self._writers = b"", []
        return self

    async def __aexit__(self, *_):
        await self.link.close()
        self._server.close()
        for writer in self._writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve(self, reader, writer):
        self._writers.append(writer)
        with suppress(ConnectionError):
            while data := await reader.read(1_000):
                self.received += data
                writer.write(data)
        writer.close()

    async def connect(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.link.port)
        self._writers.append(writer)
        return reader, writer


async def exchange(reader, writer, data=b"hello"):
    writer.write(data)
    async with asyncio.timeout(HANG_S):
        return await reader.readexactly(len(data))


async def test_forwards_in_both_directions_until_an_end():
    async with Echo() as echo:
        reader, writer = await echo.connect()
        assert await exchange(reader, writer) == b"hello"
        writer.write_eof()
        async with asyncio.timeout(HANG_S):
            assert await reader.read() == b""
        await until(lambda: echo.link.connections == 0)


async def test_slow_modes_delay_and_lose_nothing():
    async with Echo() as echo:
        reader, writer = await echo.connect()
        for mode in (Mode.DELAY, Mode.THROTTLE):
            echo.link.set_mode(mode)
            data = mode.value.encode() * 200
            assert await exchange(reader, writer, data) == data


async def test_delay_takes_as_long_as_it_says():
    async with Echo() as echo:
        reader, writer = await echo.connect()
        echo.link.set_mode(Mode.DELAY)
        started = asyncio.get_running_loop().time()
        await exchange(reader, writer)
        assert asyncio.get_running_loop().time() - started >= 2 * echo.link.delay_s


async def test_silent_link_holds_everything_back_and_closes_nothing():
    async with Echo() as echo:
        reader, writer = await echo.connect()
        await exchange(reader, writer)
        echo.link.set_mode(Mode.DROP)
        other_reader, other_writer = await echo.connect()
        for stream in (writer, other_writer):
            stream.write(b"late")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(SILENCE_S):
                await reader.read(1)
        assert echo.received == b"hello"
        echo.link.set_mode(Mode.FORWARD)
        async with asyncio.timeout(HANG_S):
            assert await reader.readexactly(4) == await other_reader.readexactly(4) == b"late"


async def test_reset_breaks_open_connections_only():
    async with Echo() as echo:
        reader, writer = await echo.connect()
        await exchange(reader, writer)
        echo.link.reset()
        with pytest.raises(ConnectionError):
            async with asyncio.timeout(HANG_S):
                await reader.readexactly(1)
        assert await exchange(*await echo.connect()) == b"hello"


async def test_refusing_link_breaks_open_and_new_connections():
    async with Echo() as echo:
        reader, writer = await echo.connect()
        await exchange(reader, writer)
        echo.link.set_mode(Mode.REFUSE)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await exchange(reader, writer)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await exchange(*await echo.connect())
        echo.link.set_mode(Mode.FORWARD)
        assert await exchange(*await echo.connect()) == b"hello"


async def test_target_that_is_away_is_a_reset():
    async with Echo() as echo:
        target = echo.link.target
        echo.link.target = 1
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await exchange(*await echo.connect())
        echo.link.target = target
