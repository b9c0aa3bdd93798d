"""What openai and anthropic have in common: one generator wrote both packages."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onetool.domain.chat import ChatFailed, Failure

from .endpoint import Endpoint
from .reading import a_map, a_text

OK = 200
KINDS: dict[str, Failure] = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "invalid_request_error": "rejected",
    "not_found_error": "rejected",
    "request_too_large": "rejected",
}
"""Errors that come in the middle of a stream, by the type they name; any other is the provider's own."""


@contextmanager
def told_in_our_words(sdk: Any, endpoint: Endpoint) -> Iterator[None]:
    """Turn the package's errors into ChatFailed.

    The foreign error is not told of: it holds the request, and what the provider said about the key.
    """
    import httpx2

    try:
        yield
        return
    except (sdk.APIConnectionError, httpx2.HTTPError):
        failed = endpoint.unreachable()
    except sdk.APIError as error:
        status = getattr(error, "status_code", OK)
        if status == OK:
            failed = _in_stream(endpoint, error)
        else:
            failed = endpoint.refused(status, _said(error.body, error.message), error.response.headers)
    except (json.JSONDecodeError, UnicodeDecodeError):
        failed = endpoint.rubbish("a piece that is no JSON")
    raise failed from None


def as_map(piece: Any) -> Any:
    """Return what came as plain values; the package does not check types, so it may be anything."""
    return a_map(piece.to_dict(warnings=False) if hasattr(piece, "to_dict") else piece)


def _in_stream(endpoint: Endpoint, error: Any) -> ChatFailed:
    body = a_map(error.body)
    inner = a_map(body.get("error", body))
    return endpoint.stopped(KINDS.get(a_text(inner.get("type")), "unreachable"), _said(body, error.message))


def _said(body: Any, otherwise: str) -> str:
    """The sentence in the provider's error, without what is around it."""
    outer = a_map(body)
    return a_text(a_map(outer.get("error", outer)).get("message")) or a_text(body) or otherwise
