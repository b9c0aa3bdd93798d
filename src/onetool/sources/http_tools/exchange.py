"""Sends the requests of one call: each is checked, repeated where that is safe, and led on where allowed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from onetool.domain.caller import Sent
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.hosts import is_listed
from onetool.network.client import HttpClients
from onetool.network.resolution import HostNotAllowed
from onetool.version import __version__

from .auth import Credentials
from .bodies import Answer, Unreadable, read
from .outgoing import REDIRECTS, Outgoing, redirected
from .retry import PASSING, REPEATABLE, Pace
from .values import Values

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTS = 5
UNAUTHORIZED = 401
CONNECT_SECONDS = 10.0
TOKEN_BYTES = 1024 * 1024
DEFAULTS = {"User-Agent": f"OneTool/{__version__}", "Accept": "*/*", "Accept-Encoding": "gzip"}
Sign = Callable[[Outgoing], Awaitable[Outgoing]]


class Exchange:
    """Knows the bounds of one call."""

    def __init__(
        self,
        http: HttpClients,
        values: Values,
        pace: Pace,
        *,
        allowed_hosts: Sequence[str],
        attempts: int,
        max_sent: int | None,
        max_read: int,
        sent: Sent | None = None,
    ) -> None:
        self._http, self._values, self._pace, self._sent = http, values, pace, sent
        self._allowed_hosts, self._attempts = allowed_hosts, attempts
        self._max_sent, self._max_read = max_sent, max_read
        self.deadline = 0.0

    async def follow(
        self, outgoing: Outgoing, credentials: Credentials, is_wanted: Callable[[int], bool]
    ) -> tuple[Outgoing, Answer]:
        """Send a request and go where its answers lead; return the last one with its answer.

        Raises ExecutionError, and BadValue where a placeholder of the credentials has no value.
        """
        sign: Sign = credentials.sign
        for _ in range(MAX_REDIRECTS + 1):
            self._check_size(outgoing)
            answer = await self._deliver(outgoing, sign, is_wanted, self._max_read)
            if is_wanted(answer.status):
                return outgoing, answer
            if answer.status == UNAUTHORIZED and sign is not _unsigned and credentials.forget_kept_token():
                answer = await self._deliver(outgoing, sign, is_wanted, self._max_read)
            if answer.status not in REDIRECTS or answer.location is None:
                return outgoing, answer
            outgoing, is_same = redirected(outgoing, answer.status, answer.location, self._values)
            sign = sign if is_same else _unsigned
        raise ExecutionError(Reason.UPSTREAM, f"{outgoing.shown}: more than {MAX_REDIRECTS} redirects.")

    async def deliver(self, outgoing: Outgoing) -> Answer:
        """Ask for a token: what a tool may send and read is no bound for that, and it goes nowhere else.

        Raises ExecutionError.
        """
        return await self._deliver(outgoing, _unsigned, lambda status: False, TOKEN_BYTES)

    async def _deliver(
        self, outgoing: Outgoing, sign: Sign, is_wanted: Callable[[int], bool], max_read: int
    ) -> Answer:
        for attempt in range(1, self._attempts + 1):
            outcome = await self._attempt(await sign(outgoing), max_read)
            is_over = isinstance(outcome, Answer) and is_wanted(outcome.status)
            if is_over or attempt == self._attempts or not _may_pass(outgoing.method, outcome):
                break
            gap = self._pace.gap(attempt, outcome.retry_after if isinstance(outcome, Answer) else None)
            if asyncio.get_running_loop().time() + gap >= self.deadline:
                break
            await self._pace.sleep(gap)
        if isinstance(outcome, Answer):
            return outcome
        why = self._values.redact(f"{type(outcome).__name__}: {outcome}")
        problem = f"{outgoing.method} {outgoing.shown} has no answer: {why}"
        raise ExecutionError(Reason.UPSTREAM, problem) from outcome

    async def _attempt(self, outgoing: Outgoing, max_read: int) -> "Answer | httpx2.TransportError":
        import httpx2

        self._check_host(outgoing)
        if self._sent is not None:
            self._sent(self._values.redact(outgoing.text()))
        request = httpx2.Request(
            outgoing.method,
            str(outgoing.url),
            headers=[(name.encode(), value.encode()) for name, value in _complete(outgoing.headers)],
            content=outgoing.body or None,
            extensions={"target": outgoing.url.target.encode(), "timeout": {"connect": CONNECT_SECONDS}},
        )
        try:  # not through a client, which would keep cookies and read the redirect itself
            response = await self._http.async_transport().handle_async_request(request)
            try:
                return await read(response, outgoing.method, max_read)
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            return error
        except HostNotAllowed as error:
            raise ExecutionError(Reason.HOST_NOT_ALLOWED, str(error)) from error
        except Unreadable as error:
            raise ExecutionError(
                Reason.UPSTREAM, f"{outgoing.method} {outgoing.shown} cannot be read: {error}."
            ) from error

    def _check_host(self, outgoing: Outgoing) -> None:
        if not is_listed(outgoing.url.host, self._allowed_hosts):
            problem = f"Host {outgoing.url.host!r} is not in allowedHosts. Add it there to reach it."
            raise ExecutionError(Reason.HOST_NOT_ALLOWED, problem)

    def _check_size(self, outgoing: Outgoing) -> None:
        if self._max_sent is not None and outgoing.size > self._max_sent:
            size = f"path, query and body have {outgoing.size} bytes; maxSentBytes is {self._max_sent}"
            raise ExecutionError(Reason.TOO_LARGE_IN, f"{outgoing.method} {outgoing.shown}: {size}.")


async def _unsigned(outgoing: Outgoing) -> Outgoing:
    return outgoing


def _complete(headers: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    given = {name.lower() for name in headers}
    yield from ((name, value) for name, value in DEFAULTS.items() if name.lower() not in given)
    yield from headers.items()


def _may_pass(method: str, outcome: "Answer | httpx2.TransportError") -> bool:
    """Whether sending again is safe, and may help."""
    import httpx2

    if isinstance(outcome, Answer):
        return method in REPEATABLE and outcome.status in PASSING
    if isinstance(outcome, httpx2.ConnectError | httpx2.ConnectTimeout):
        return True  # nothing was sent yet
    return method in REPEATABLE and isinstance(outcome, httpx2.NetworkError | httpx2.RemoteProtocolError)
