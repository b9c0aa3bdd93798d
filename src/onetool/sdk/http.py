"""HTTP for packs: a client that rejects private addresses, and requests that do not raise."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from onetool.runtime.active_call import current_call

if TYPE_CHECKING:
    import httpx2

MAX_ERROR_CHARS = 200
"""Limit for the part of an error response's body that is included in a message."""


def http_client() -> "httpx2.Client":
    """Return the shared HTTP client: pooled, 10 s timeout, follows redirects. Do not close it.

    It connects to private addresses only if the operator has listed the host in `allowedHosts`.
    """
    return current_call().runtime.state.http.client()


def safe_request(client: Any, method: str, url: str, **kwargs: Any) -> tuple[bool, Any]:
    """Send a request and return (True, data) or (False, error message). Never raises.

    The data is the parsed body if it is JSON, otherwise its text.
    """
    try:
        response = client.request(method, url, **kwargs)
        if response.status_code >= 400:
            body = response.text
            ellipsis = "..." if len(body) > MAX_ERROR_CHARS else ""
            return False, f"HTTP error ({response.status_code}): {body[:MAX_ERROR_CHARS]}{ellipsis}"
        return True, _parse_body(response)
    except Exception as error:  # noqa: BLE001 - the client may raise anything, and callers expect a message
        return False, f"Request failed: {error}"


def _parse_body(response: Any) -> Any:
    if "json" in response.headers.get("content-type", ""):
        with suppress(ValueError):  # labelled as JSON, but not valid JSON: return the text
            return response.json()
    return response.text
