"""Delays for clients that send wrong tokens."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from starlette.types import Receive, Scope

FREE_ATTEMPTS = 5
"""Wrong tokens of an address that are answered immediately: typing errors."""
FIRST_DELAY_S, MAX_DELAY_S = 0.5, 10.0
PERIOD_S = 60.0
"""Seconds without a wrong token after which an address is forgotten."""
MAX_ADDRESSES = 10_000
"""Addresses in memory; the one whose last wrong token is oldest is forgotten first."""
IPV6_HOST_BITS = 64
"""One client can use all IPv6 addresses of a network of this size."""


class Attempts(NamedTuple):
    """The wrong tokens of one address."""

    number: int
    last_at: float


class WrongTokens:
    """Counts wrong tokens by address and delays the responses to them. A correct token is never delayed."""

    def __init__(
        self,
        *,
        first_delay_s: float = FIRST_DELAY_S,
        max_delay_s: float = MAX_DELAY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first_delay_s, self._max_delay_s, self._clock = first_delay_s, max_delay_s, clock
        self._attempts: OrderedDict[str, Attempts] = OrderedDict()

    @property
    def address_count(self) -> int:
        """Number of addresses in memory."""
        return len(self._attempts)

    def add(self, address: str) -> float:
        """Count a wrong token and return the seconds by which to delay its response."""
        now, key = self._clock(), client_network(address)
        previous = self._attempts.pop(key, None)
        is_recent = previous is not None and now - previous.last_at < PERIOD_S
        number = previous.number + 1 if previous and is_recent else 1
        self._attempts[key] = Attempts(number, now)
        if len(self._attempts) > MAX_ADDRESSES:
            self._attempts.popitem(last=False)
        doublings = min(number - FREE_ATTEMPTS - 1, 30)
        return min(self._first_delay_s * 2**doublings, self._max_delay_s) if doublings >= 0 else 0.0

    async def delay(self, scope: Scope, receive: Receive) -> None:
        """Count a wrong token and wait until its response is due or the client disconnects."""
        seconds = self.add(client_address(scope))
        if not seconds:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (await receive())["type"] != "http.disconnect":
                    pass


def client_address(scope: Scope) -> str:
    """Return the address of the client: of the other end of the connection, or what a trusted proxy says."""
    client = scope.get("client")
    return client[0] if client else ""


def client_network(address: str) -> str:
    """Return the address, or the network of an IPv6 address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:  # no network address, for instance of a test client
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Address(int(parsed) >> IPV6_HOST_BITS << IPV6_HOST_BITS))
