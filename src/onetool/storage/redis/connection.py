"""The connections to Redis, which may be away at any time."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from hashlib import sha1
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from onetool.domain.errors import SettingsError

log = logging.getLogger(__name__)

TIMEOUT_S = 0.05
"""Seconds that a request may take, with the time to connect."""
PAUSE_S = 1.0
"""Seconds after a failure for which no request is sent."""
MAX_CONNECTIONS = 8


class LuaScript:
    """A Lua program that Redis runs as one step."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sha = sha1(text.encode(), usedforsecurity=False).hexdigest()
        """By which Redis knows a program that it has run before."""


class RedisConnection:
    """Runs scripts in Redis, and does not wait for a Redis that is away.

    After a failure no request is sent for PAUSE_S; then one of them tries again. The event loop that uses it
    first is the only one that may use it.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = TIMEOUT_S,
        pause_s: float = PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connections are made when they are needed.

        Raises:
            SettingsError: The URL is invalid.
        """
        self._timeout_s, self._pause_s, self._clock = timeout_s, pause_s, clock
        self._paused_until: float | None = None
        """When to try again; None while Redis responds."""
        self.requests = self.failures = 0
        """How many requests were sent, and how many of them failed."""
        retry = Retry(NoBackoff(), 0)
        try:
            pool = BlockingConnectionPool.from_url(
                url, max_connections=MAX_CONNECTIONS, timeout=timeout_s, retry=retry
            )
            self._redis = Redis.from_pool(pool)
        except (ValueError, TypeError):  # the URL may contain a password
            message = "The URL of Redis is invalid. Example: redis://user:password@host:6379/0"
            raise SettingsError(message) from None

    @property
    def is_available(self) -> bool:
        """Whether Redis responded when it was last asked."""
        return self._paused_until is None

    async def check(self) -> bool:
        """Return whether Redis responds."""
        return await self._send(self._ping) is not None

    async def run(self, script: LuaScript, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        """Run a script and return its result; None if Redis is away or refuses to run it."""
        return await self._send(lambda: self._run(script, keys, args))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._redis.aclose()

    async def _send(self, request: Callable[[], Any]) -> Any:
        if self._paused_until is not None:
            now = self._clock()
            if now < self._paused_until:
                return None
            self._paused_until = now + self._pause_s  # only this request tries
        self.requests += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                result = await request()
        except (RedisError, OSError) as error:  # a TimeoutError is an OSError
            self._note_failure(error)
            return None
        if self._paused_until is not None:
            self._paused_until = None
            log.warning("Redis is back: limits hold across all servers again")
        return result

    async def _run(self, script: LuaScript, keys: Sequence[str], args: Sequence[str | int]) -> Any:
        try:
            return await self._redis.evalsha(script.sha, len(keys), *keys, *args)
        except NoScriptError:
            return await self._redis.eval(script.text, len(keys), *keys, *args)

    async def _ping(self) -> Any:
        return await self._redis.ping()

    def _note_failure(self, error: Exception) -> None:
        self.failures += 1
        if self._paused_until is None:
            log.warning(
                "Redis cannot be used: each server admits its share of the limits: %s", type(error).__name__
            )
        self._paused_until = self._clock() + self._pause_s
