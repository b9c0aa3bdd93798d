"""Where a listing goes on: an opaque text that carries its own filters."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from .bundle import InvalidBundle

LONGEST = 8_000
LARGEST_PAGE = 256


def _is_names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))


FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "kind": lambda value: isinstance(value, str),
    "ids": _is_names,
    "tags": _is_names,
    "off": lambda value: isinstance(value, bool),
    "after": lambda value: value is None or isinstance(value, str),
    "q": lambda value: isinstance(value, str),
    "size": lambda value: isinstance(value, int) and 1 <= value <= LARGEST_PAGE,
    "from": lambda value: isinstance(value, int) and value >= 0,
}
"""What a listing may remember, and how that must look."""


def write_token(state: Mapping[str, Any]) -> str:
    """Make a token of what the next page needs to know."""
    return urlsafe_b64encode(orjson.dumps(state)).decode().rstrip("=")


def read_token(token: str, like: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `write_token` was given by a listing of this kind.

    Raises InvalidBundle for anything else.
    """
    wrong = InvalidBundle("pageToken is not one that this listing gave. Leave it out to start anew.")
    if len(token) > LONGEST:
        raise wrong
    try:
        state = orjson.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (Error, ValueError):
        raise wrong from None
    is_ours = isinstance(state, dict) and state.keys() == like.keys() and state["kind"] == like["kind"]
    if not is_ours or not all(FIELDS[key](value) for key, value in state.items()):
        raise wrong
    return dict(state)
