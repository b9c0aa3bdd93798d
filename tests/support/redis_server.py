"""The Redis server of the tests with a prefix of each test, and Redis servers that a test may kill."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from support.postgres import IS_REQUIRED
from support.waiting import HANG_S

SERVER = "redis://127.0.0.1:6379/0"


def redis_server_url() -> str:
    """Return the URL of the server; skip or fail the test if there is none."""
    url = os.environ.get("ONETOOL_TEST_REDIS_URL", SERVER)
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=2) as client:
            client.ping()
        return url
    except redis.RedisError as error:
        message = f"no Redis server: {error}"
        if os.environ.get(IS_REQUIRED):
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture(scope="session")
def redis_url() -> str:
    """Return the URL of the server that all tests share."""
    return redis_server_url()


@pytest.fixture
def redis_prefix(redis_url: str) -> Iterator[str]:
    """Return a prefix for the keys of one test, which are deleted afterwards."""
    prefix = f"onetool-test:{uuid4().hex}:"
    yield prefix
    with redis.Redis.from_url(redis_url) as client:
        for key in client.scan_iter(f"{prefix}*", count=1_000):
            client.delete(key)


class RedisServer:
    """A Redis server of one test. It listens at a socket in a new directory, and stores nothing."""

    def __init__(self, port: int = 0) -> None:
        """port: at which it listens as well; 0: at none."""
        self.port = port
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("no redis-server")
        self._program, self._directory = program, tempfile.mkdtemp(prefix="ot-redis-")
        self.path = Path(self._directory) / "s"
        self.url = f"unix://{self.path}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it responds."""
        self.path.unlink(missing_ok=True)
        options = [
            "--port",
            str(self.port),
            "--unixsocket",
            str(self.path),
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        self._process = subprocess.Popen(
            [self._program, *options, "--dir", self._directory],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + HANG_S
        while not self._responds():
            assert time.monotonic() < end, "the Redis server does not start"
            time.sleep(0.01)

    def kill(self) -> None:
        """Kill it, without a chance to clean up."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """Let it hang: it accepts connections and never responds."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a hanging server continue."""
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Stop it and delete its directory."""
        self.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _responds(self) -> bool:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(5)
            client.connect(str(self.path))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
        return False


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """Return a running Redis server that the test may kill."""
    server = RedisServer()
    try:
        server.start()
        yield server
    finally:
        server.close()
