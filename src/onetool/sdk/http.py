"""HTTP for packs: a client that rejects private addresses, and requests that do not raise."""

from base64 import b64decode, b64encode
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from onetool.domain.calls.forwarding import FORWARDER
from onetool.domain.errors import ExecutionError, NoActiveRuntime
from onetool.domain.http.outgoing_check import OutgoingCheck
from onetool.domain.http.urls import Url
from onetool.network.resolution import HostNotAllowed
from onetool.runtime.active_call import current_call, current_runtime

from .forwarding import in_runtime, refuse_on_event_loop

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S = 10.0
MAX_ERROR_CHARS = 200
"""Limit for the part of an error response's body that is included in a message."""


def http_client() -> "httpx2.Client":
    """Return the shared HTTP client: pooled, 10 s timeout, follows redirects. Do not close it.

    It connects to private addresses only if the operator has listed the host in `allowedHosts`, and sends
    no secret to a host that is not one of the secret's.
    """
    if FORWARDER.get() is not None:
        return _forwarding_client()
    return current_runtime().state.http.client()


def safe_request(client: Any, method: str, url: str, **kwargs: Any) -> tuple[bool, Any]:
    """Send a request and return (True, data) or (False, error message). Never raises.

    The data is the parsed body if it is JSON, otherwise its text.
    In an async tool, use `await to_thread(safe_request, ...)`.
    """
    try:
        refuse_on_event_loop("safe_request()", "await to_thread(safe_request, ...)")
        response = client.request(method, url, **kwargs)
        if response.status_code >= 400:
            body = response.text
            ellipsis = "..." if len(body) > MAX_ERROR_CHARS else ""
            return False, f"HTTP error ({response.status_code}): {body[:MAX_ERROR_CHARS]}{ellipsis}"
        return True, _parse_body(response)
    except Exception as error:  # noqa: BLE001 - the client may raise anything, and callers expect a message
        return False, f"Request failed: {error}"


def check_request(request: "httpx2.Request") -> None:
    """Check that a request of a pack contains no secret of its call that the host may not have.

    Raises:
        HostNotAllowed: It contains one.
    """
    try:
        call = current_call()
    except NoActiveRuntime:  # not a request of a pack, or of a thread that a pack started itself
        return
    secrets, invocation = call.runtime.state.configuration.secrets, call.invocation
    own = invocation.caller.own_secrets.values()
    check = OutgoingCheck(secrets.values(), own, invocation.credentials, secrets.place)
    url = Url(
        scheme=request.url.scheme,
        host=request.url.host,
        port=request.url.port or 0,
        path=request.url.path,
        query=None,
    )
    if check.is_needed(url):
        headers = (f"{name}: {value}" for name, value in request.headers.multi_items())
        text = "\n".join([str(request.url), *headers, request.read().decode("utf-8", "replace")])
        try:
            check.check(url, text, f"The {request.method} request")
        except ExecutionError as error:
            raise HostNotAllowed(str(error)) from None


@in_runtime
def send_http(
    method: str, url: str, headers: list[list[str]], content: str, timeout: dict[str, Any]
) -> tuple[int, list[tuple[str, str]], bytes]:
    """Send one request for a worker process; return the status, the headers and the decoded content.

    content: in base64.
    """
    client = current_runtime().state.http.client()
    pairs = [(name, value) for name, value in headers]
    request = client.build_request(method, url, headers=pairs, content=b64decode(content), timeout=None)
    request.extensions["timeout"] = timeout
    response = client.send(request, follow_redirects=False)
    omitted = ("content-encoding", "content-length", "transfer-encoding")  # the content is decoded
    sent = [pair for pair in response.headers.multi_items() if pair[0].lower() not in omitted]
    return response.status_code, sent, response.content


@cache
def _forwarding_client() -> "httpx2.Client":
    """Return the client of a worker process. The runtime sends its requests, and checks the addresses."""
    import httpx2

    def send(request: httpx2.Request) -> httpx2.Response:
        headers = [[name, value] for name, value in request.headers.multi_items()]
        content, timeout = b64encode(request.read()).decode(), dict(request.extensions.get("timeout", {}))
        status, received, body = send_http(request.method, str(request.url), headers, content, timeout)
        return httpx2.Response(status, headers=received, content=body, request=request)

    transport = httpx2.MockTransport(send)  # a transport that is a function
    return httpx2.Client(transport=transport, timeout=TIMEOUT_S, follow_redirects=True, trust_env=False)


def _parse_body(response: Any) -> Any:
    if "json" in response.headers.get("content-type", ""):
        with suppress(ValueError):  # labelled as JSON, but not valid JSON: return the text
            return response.json()
    return response.text
