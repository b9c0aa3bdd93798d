"""The header `Prefer` (RFC 7240): what a client would like, if the server supports it."""

import re
from typing import NamedTuple

from starlette.datastructures import Headers

from onetool.domain.jobs.job import MAX_KEY_LENGTH

from .problems import ProblemError

IDEMPOTENCY_KEY = "Idempotency-Key"
_PREFERENCE = re.compile(r'\s*([\w!#$%&\'*+.^`|~-]+)\s*(?:=\s*"?([^",;]*)"?)?[^,]*', re.ASCII)


class Preferences(NamedTuple):
    """The preferences that this API knows. Others are ignored, as the standard says."""

    respond_async: bool = False
    """Respond at once with 202; the client will poll."""
    wait: int | None = None
    """Seconds to wait before a response."""


def preferences(headers: Headers) -> Preferences:
    """Return what the client prefers. Of several values of one preference, the first counts."""
    found: dict[str, str] = {}
    for text in headers.getlist("prefer"):
        for name, value in _PREFERENCE.findall(text):
            found.setdefault(name.lower(), value.strip())
    wait = found.get("wait", "")
    return Preferences("respond-async" in found, int(wait) if re.fullmatch(r"[0-9]{1,9}", wait) else None)


def idempotency_key(headers: Headers) -> str:
    """Return the key with which the client marks attempts to start the same job; empty if there is none.

    Raises:
        ProblemError: It is too long.
    """
    key = headers.get(IDEMPOTENCY_KEY, "")
    if len(key) > MAX_KEY_LENGTH:
        message = f"{IDEMPOTENCY_KEY} has {len(key)} characters. Use {MAX_KEY_LENGTH} at the most."
        raise ProblemError(400, message)
    return key
