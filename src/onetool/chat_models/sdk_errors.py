"""Error mapping for the openai and anthropic packages, which share a code generator."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onetool.domain.chat.messages import ChatModelError, Failure

from .coerce import as_dict, as_str
from .endpoint import Endpoint

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
"""Kinds of errors in a stream by their type. All others are failures of the provider."""


@contextmanager
def map_errors(sdk: Any, endpoint: Endpoint) -> Iterator[None]:
    """Map errors of the SDK to ChatModelError.

    The original error is not chained: it contains the request and may quote the key.
    """
    import httpx2

    try:
        yield
        return
    except (sdk.APIConnectionError, httpx2.HTTPError):
        mapped = endpoint.unreachable()
    except sdk.APIError as error:
        status = getattr(error, "status_code", OK)
        if status == OK:
            mapped = _stream_error(endpoint, error)
        else:
            mapped = endpoint.rejected(status, _message(error.body, error.message), error.response.headers)
    except (json.JSONDecodeError, UnicodeDecodeError):
        mapped = endpoint.malformed("data that is not JSON")
    raise mapped from None


def dump_chunk(chunk: Any) -> Any:
    """Return a chunk as a dict. The SDK does not validate types, so it may be anything."""
    return as_dict(chunk.to_dict(warnings=False) if hasattr(chunk, "to_dict") else chunk)


def _stream_error(endpoint: Endpoint, error: Any) -> ChatModelError:
    body = as_dict(error.body)
    inner = as_dict(body.get("error", body))
    return endpoint.interrupted(
        KINDS.get(as_str(inner.get("type")), "unreachable"), _message(body, error.message)
    )


def _message(body: Any, default: str) -> str:
    """Return the message in the body of a provider's error."""
    outer = as_dict(body)
    return as_str(as_dict(outer.get("error", outer)).get("message")) or as_str(body) or default
