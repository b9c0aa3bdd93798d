"""Opaque page tokens that carry the position and the filters of a listing."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from .bundle import InvalidBundle

MAX_LENGTH = 8_000
MAX_PAGE_SIZE = 256


def _is_optional_str_list(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))


FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "kind": lambda value: isinstance(value, str),
    "ids": _is_optional_str_list,
    "tags": _is_optional_str_list,
    "off": lambda value: isinstance(value, bool),
    "after": lambda value: value is None or isinstance(value, str),
    "q": lambda value: isinstance(value, str),
    "member": lambda value: isinstance(value, str),
    "server": lambda value: value is None or isinstance(value, str),
    "size": lambda value: isinstance(value, int) and 1 <= value <= MAX_PAGE_SIZE,
}
"""Fields that a token may contain, each with a check of its value."""


def write_token(state: Mapping[str, Any]) -> str:
    """Encode the state of a listing as a token."""
    return urlsafe_b64encode(orjson.dumps(state)).decode().rstrip("=")


def read_token(token: str, like: Mapping[str, Any]) -> dict[str, Any]:
    """Decode a token. `like` is a state of the same listing; it determines the kind and the fields.

    Raises:
        InvalidBundle: The token is malformed or belongs to another listing.
    """
    invalid = InvalidBundle("pageToken is not valid for this listing. Omit it to start at the first page.")
    if len(token) > MAX_LENGTH:
        raise invalid
    try:
        state = orjson.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (Error, ValueError):
        raise invalid from None
    has_fields = isinstance(state, dict) and state.keys() == like.keys() and state["kind"] == like["kind"]
    if not has_fields or not all(FIELDS[key](value) for key, value in state.items()):
        raise invalid
    return dict(state)
