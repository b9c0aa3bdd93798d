"""HTTP for packs: a client that cannot be led into the private network, and requests that do not raise."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from onetool.runtime import current

if TYPE_CHECKING:
    import httpx2

SHOWN = 200
"""Characters of an error's body that a message repeats."""


def http_client() -> "httpx2.Client":
    """Return the shared HTTP client: pooled, 10 s timeout, follows redirects. Do not close it.

    It leads to no private address unless the operator has listed the host in `allowedHosts`.
    """
    return current().runtime.http.client()


def safe_request(client: Any, method: str, url: str, **kwargs: Any) -> tuple[bool, Any]:
    """Send a request; return (True, data) or (False, what went wrong), and never raise.

    Data is the parsed body when it is JSON, else its text.
    """
    try:
        response = client.request(method, url, **kwargs)
        if response.status_code >= 400:
            body = response.text
            cut = "..." if len(body) > SHOWN else ""
            return False, f"HTTP error ({response.status_code}): {body[:SHOWN]}{cut}"
        return True, _data(response)
    except Exception as error:  # noqa: BLE001 - whatever the client raises is an answer here
        return False, f"Request failed: {error}"


def _data(response: Any) -> Any:
    if "json" in response.headers.get("content-type", ""):
        with suppress(ValueError):  # it says JSON and is none: its text is what came
            return response.json()
    return response.text
