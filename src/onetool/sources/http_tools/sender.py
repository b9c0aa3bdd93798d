"""The sender of one call's requests: it checks hosts, secrets and sizes, retries, and follows redirects."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from onetool.domain.calls.caller import RequestHandler
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.http.outgoing_check import OutgoingCheck
from onetool.domain.http.urls import how_to_allow, is_listed
from onetool.network.backoff import Backoff
from onetool.network.client import HttpClients
from onetool.network.resolution import HostNotAllowed
from onetool.sources.outgoing_content import check_content
from onetool.telemetry.spans import trace_headers
from onetool.version import __version__

from .placeholder_values import PlaceholderValues
from .request import REDIRECT_STATUSES, OutgoingRequest, build_redirect
from .request_auth import RequestAuth
from .response_body import OnEvent, ResponseBody, UnreadableBody, read_response

if TYPE_CHECKING:
    import httpx2

IDEMPOTENT_METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
"""Methods whose repetition has no further effect."""
TRANSIENT_STATUSES = frozenset({429, 502, 503, 504})
"""Statuses of failures that may be temporary."""
MAX_REDIRECTS = 5
UNAUTHORIZED = 401
CONNECT_TIMEOUT_S = 10.0
MAX_TOKEN_RESPONSE_BYTES = 1024 * 1024
DEFAULT_HEADERS = {"User-Agent": f"OneTool/{__version__}", "Accept": "*/*", "Accept-Encoding": "gzip"}
Sign = Callable[[OutgoingRequest], Awaitable[OutgoingRequest]]


class RequestSender:
    """Sends requests within the limits of one call."""

    def __init__(
        self,
        http: HttpClients,
        values: PlaceholderValues,
        check: OutgoingCheck,
        backoff: Backoff,
        *,
        allowed_hosts: Sequence[str],
        attempts: int,
        max_request_bytes: int | None,
        max_response_bytes: int,
        on_event: OnEvent,
        on_request: RequestHandler | None = None,
        is_hosted: bool = False,
    ) -> None:
        self._http, self._values, self._secrets_check = http, values, check
        self._backoff, self._on_event, self._on_request = backoff, on_event, on_request
        self._allowed_hosts, self._is_hosted, self._attempts = allowed_hosts, is_hosted, attempts
        self._max_request_bytes, self._max_response_bytes = max_request_bytes, max_response_bytes
        self.deadline = 0.0
        """The time of the event loop after which no attempt is made."""

    async def send(
        self, outgoing: OutgoingRequest, auth: RequestAuth, is_success: Callable[[int], bool]
    ) -> tuple[OutgoingRequest, ResponseBody]:
        """Send a request, follow redirects, and return the last request with its response.

        Raises:
            InvalidValue: A placeholder of the credentials has no value or an invalid one.
            ExecutionError: The request may not be sent, or there is no response.
        """
        sign: Sign = auth.sign
        for _ in range(MAX_REDIRECTS + 1):
            self._check_size(outgoing)
            response = await self._send_with_retries(outgoing, sign, is_success, self._max_response_bytes)
            if is_success(response.status):
                return outgoing, response
            if response.status == UNAUTHORIZED and sign is not _no_auth and auth.invalidate_token():
                response = await self._send_with_retries(outgoing, sign, is_success, self._max_response_bytes)
            if response.status not in REDIRECT_STATUSES or response.location is None:
                return outgoing, response
            outgoing, is_same_server = build_redirect(
                outgoing, response.status, response.location, self._values
            )
            sign = sign if is_same_server else _no_auth
        raise ExecutionError(Reason.UPSTREAM, f"{outgoing.label}: more than {MAX_REDIRECTS} redirects.")

    async def send_token_request(self, outgoing: OutgoingRequest) -> ResponseBody:
        """Send a token request. The tool's size limits do not apply, and redirects are not followed.

        Raises:
            ExecutionError: The request may not be sent, or there is no response.
        """
        return await self._send_with_retries(
            outgoing, _no_auth, lambda status: False, MAX_TOKEN_RESPONSE_BYTES
        )

    async def _send_with_retries(
        self, outgoing: OutgoingRequest, sign: Sign, is_success: Callable[[int], bool], max_bytes: int
    ) -> ResponseBody:
        for attempt in range(1, self._attempts + 1):
            outcome = await self._attempt(await sign(outgoing), max_bytes)
            is_done = isinstance(outcome, ResponseBody) and is_success(outcome.status)
            if is_done or attempt == self._attempts or not _can_retry(outgoing.method, outcome):
                break
            requested = outcome.retry_after if isinstance(outcome, ResponseBody) else None
            delay = self._backoff.delay(attempt, requested)
            if asyncio.get_running_loop().time() + delay >= self.deadline:
                break
            await self._backoff.sleep(delay)
        if isinstance(outcome, ResponseBody):
            return outcome
        reason = self._values.redact(f"{type(outcome).__name__}: {outcome}")
        message = f"{outgoing.method} {outgoing.label} failed: {reason}"
        raise ExecutionError(Reason.UPSTREAM, message) from outcome

    async def _attempt(
        self, outgoing: OutgoingRequest, max_bytes: int
    ) -> "ResponseBody | httpx2.TransportError":
        import httpx2

        self._check_host(outgoing)
        # Here, whatever put a secret into the request: a template, an earlier response or a redirect.
        subject = f"The {outgoing.method} request"
        await check_content(self._secrets_check, outgoing.url, outgoing.sent_text, subject)
        if self._on_request is not None:
            self._on_request(self._values.redact(outgoing.text()))
        request = httpx2.Request(
            outgoing.method,
            str(outgoing.url),
            headers=[(name.encode(), value.encode()) for name, value in _with_defaults(outgoing.headers)],
            content=outgoing.body or None,
            extensions={"target": outgoing.url.target.encode(), "timeout": {"connect": CONNECT_TIMEOUT_S}},
        )
        try:  # a client would store cookies and parse the redirect
            response = await self._http.async_transport().handle_async_request(request)
            try:
                return await read_response(response, outgoing.method, max_bytes, self._on_event)
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            return error
        except HostNotAllowed as error:
            raise ExecutionError(Reason.HOST_NOT_ALLOWED, str(error)) from error
        except UnreadableBody as error:
            message = f"Cannot read the response to {outgoing.method} {outgoing.label}: {error}."
            raise ExecutionError(Reason.UPSTREAM, message) from error

    def _check_host(self, outgoing: OutgoingRequest) -> None:
        if not is_listed(outgoing.url.host, self._allowed_hosts):
            hint = how_to_allow(outgoing.url.host, self._allowed_hosts, is_hosted=self._is_hosted)
            message = f"Host {outgoing.url.host!r} is not in allowedHosts. {hint}"
            raise ExecutionError(Reason.HOST_NOT_ALLOWED, message)

    def _check_size(self, outgoing: OutgoingRequest) -> None:
        if self._max_request_bytes is not None and outgoing.size > self._max_request_bytes:
            size = f"path, query and body have {outgoing.size} bytes"
            message = (
                f"{outgoing.method} {outgoing.label}: {size}; maxSentBytes is {self._max_request_bytes}."
            )
            raise ExecutionError(Reason.TOO_LARGE_OUT, message)


async def _no_auth(outgoing: OutgoingRequest) -> OutgoingRequest:
    return outgoing


def _with_defaults(headers: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    names = {name.lower() for name in headers}
    defaults = DEFAULT_HEADERS | trace_headers()
    yield from ((name, value) for name, value in defaults.items() if name.lower() not in names)
    yield from headers.items()


def _can_retry(method: str, outcome: "ResponseBody | httpx2.TransportError") -> bool:
    """Return whether a retry is safe and may succeed."""
    import httpx2

    if isinstance(outcome, ResponseBody):
        return method in IDEMPOTENT_METHODS and outcome.status in TRANSIENT_STATUSES
    if isinstance(outcome, httpx2.ConnectError | httpx2.ConnectTimeout):
        return True  # nothing was sent
    return method in IDEMPOTENT_METHODS and isinstance(
        outcome, httpx2.NetworkError | httpx2.RemoteProtocolError
    )
