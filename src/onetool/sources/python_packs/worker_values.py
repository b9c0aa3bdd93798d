"""Values and errors between a runtime and the worker process of a pack.

The runtime sends pickles: the worker trusts it. The worker sends JSON, which its results become in any case,
so the runtime executes nothing that a worker sends. Media keep their handles in both directions.
"""

import base64
import builtins
import io
import json
import pickle
import sys
import traceback
from collections.abc import Mapping
from secrets import token_hex
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple

import orjson

from onetool.domain.calls.call import ErrorNote, ErrorText
from onetool.domain.content.media import Media, MediaText, find_media
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.text.json_text import TooLarge, check_size, encode, encode_plain, jsonable
from onetool.domain.text.yaml_text import YamlList, YamlMap

MAX_ERROR_LENGTH = 1_000_000
"""Characters of the text of an exception."""
MAX_TRACEBACK_LENGTH = 20_000
"""Characters of the last part of a traceback."""
MAX_NAME_LENGTH = 200
"""Characters of the name of an exception type, and of its module."""
MAX_ARGS, MAX_ARG_LENGTH = 8, 10_000
"""Arguments of an exception that are sent with it, and characters of each."""
MAX_INT = 2**63
"""Integers from here on are not JSON for orjson."""
KINDS: Mapping[str, type] = {"error_text": ErrorText, "yaml_map": YamlMap, "yaml_list": YamlList}
"""Types of results that differ from plain JSON in how they are shown."""
SHARED_MODULES = ("onetool.domain.", "onetool.sdk.", "onetool.settings.", "builtins", "pathlib", "datetime")
"""Modules whose classes both processes have."""


class EncodedValue(NamedTuple):
    """A value of a worker as JSON, and what JSON cannot say about it."""

    header: dict[str, Any]
    body: bytes


def encode_value(value: Any, max_bytes: int) -> EncodedValue:
    """Encode a value in the worker.

    Raises:
        TooLarge: It is larger than allowed.
        Exception: It contains itself, or converting a foreign object failed.
    """
    check_size(value, max_bytes)
    kind = next((name for name, cls in KINDS.items() if isinstance(value, cls)), "")
    if media := find_media(value):
        if sum(item.size for item in media) > max_bytes:
            raise TooLarge(f"larger than {max_bytes} bytes")
        token, index = token_hex(8), {item.handle: number for number, item in enumerate(media)}
        text = json.dumps(jsonable(value, keep=Media), default=lambda item: {token: index[item.handle]})
        content = {"media": [_pack_media(item) for item in media], "value": text}
        return EncodedValue({"kind": kind, "token": token}, orjson.dumps(content))
    plain = encode_plain(value)
    if plain is not None:
        return EncodedValue({"kind": kind, "plain": True}, plain)
    return EncodedValue({"kind": kind}, encode(value))


def decode_value(encoded: EncodedValue) -> Any:
    """Decode a value of a worker.

    Raises:
        Exception: The worker sent something malformed.
    """
    header, body = encoded
    if header.get("plain"):
        value = orjson.loads(body)
    elif "token" in header:
        value = _decode_media(header["token"], body)
    else:
        value = json.loads(body)
    return KINDS[header["kind"]](value) if header["kind"] else value


def _decode_media(token: str, body: bytes) -> Any:
    """Return a value whose media are dicts with one key, the token."""
    content = orjson.loads(body)
    media = [_unpack_media(*item) for item in content["media"]]
    return json.loads(
        content["value"], object_hook=lambda item: media[item[token]] if token in item else item
    )


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return an exception as JSON: its type, its nearest built-in type, its text, arguments and traceback."""
    described = brief_error(error)
    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, ErrorNote)]
    described["notes"] = [encodable(note[:MAX_ARG_LENGTH]) for note in notes]
    try:
        described["text"] = encodable(str(error)[:MAX_ERROR_LENGTH])
        described["traceback"] = encodable("".join(traceback.format_exception(error))[-MAX_TRACEBACK_LENGTH:])
    except BaseException:  # noqa: BLE001 - `__str__` of a foreign exception may raise anything
        return described
    if isinstance(error, ExecutionError):
        described["reason"] = error.reason.value
    if type(error).__module__ == "builtins" and _has_small_args(error):
        described["args"] = [encodable(item) if isinstance(item, str) else int(item) for item in error.args]
    return described


def brief_error(error: BaseException) -> dict[str, Any]:
    """Return an exception as JSON that can always be sent: only its type and its nearest built-in type."""
    kind = type(error)
    builtin = next(base.__name__ for base in kind.__mro__ if base.__module__ == "builtins")
    names = {"type": kind.__name__, "module": kind.__module__, "builtin": builtin}
    return {name: encodable(str(value)[:MAX_NAME_LENGTH]) for name, value in names.items()} | {"text": ""}


def encodable(text: str) -> str:
    """Return a text without lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def _has_small_args(error: BaseException) -> bool:
    return len(error.args) <= MAX_ARGS and all(
        len(item) <= MAX_ARG_LENGTH
        if isinstance(item, str)
        else isinstance(item, int) and -MAX_INT <= item < MAX_INT
        for item in error.args
    )


def rebuild_error(described: Mapping[str, Any]) -> BaseException:
    """Return an exception with the type, the text and our notes of one in the other process.

    A type that this process does not have becomes a new one, derived from the nearest built-in type.
    """
    error = _rebuild(described)
    for note in described.get("notes", ()):
        error.add_note(ErrorNote(note))
    return error


def _rebuild(described: Mapping[str, Any]) -> BaseException:
    text, name, module = str(described["text"]), str(described["type"]), str(described["module"])
    if "reason" in described:
        return ExecutionError(Reason(described["reason"]), text)
    base = getattr(builtins, str(described["builtin"]), None)
    if not (isinstance(base, type) and issubclass(base, BaseException)) or issubclass(
        base, BaseExceptionGroup
    ):
        base = Exception  # a group needs its exceptions
    if "args" in described and module == "builtins":
        error = base.__new__(base, *described["args"])
        error.__init__(*described["args"])  # type: ignore[misc]
        if str(error) == text:
            return error
    own: type[BaseException] = _own_type(module, name) or base
    kind: type[BaseException] = type(name, (own,), {"__str__": lambda self: text, "__module__": module})
    rebuilt = kind.__new__(kind, text)
    rebuilt.args = (text,)
    return rebuilt


def _own_type(module: str, name: str) -> type[BaseException] | None:
    """Return an exception type that packs may catch, of OneTool and of its HTTP client."""
    if not module.startswith(("onetool.domain.", "onetool.network.", "httpx2")):
        return None
    kind = getattr(sys.modules.get(module), name, None)
    return kind if isinstance(kind, type) and issubclass(kind, BaseException) else None


def pickle_message(message: Any) -> bytes:
    """Pickle a message of the runtime. Objects that the worker cannot have become JSON values."""
    buffer = io.BytesIO()
    _MessagePickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(message)
    return buffer.getvalue()


class _MessagePickler(pickle.Pickler):
    """Pickles values of shared types. Media and foreign objects need a form of their own."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, Media):
            return _unpack_media, _pack_media(value)
        if isinstance(value, MediaText):
            return _media_text, (str(value), value.media)
        if isinstance(value, MappingProxyType):
            return dict, (dict(value),)
        if isinstance(value, type | FunctionType) or type(value).__module__.startswith(SHARED_MODULES):
            return NotImplemented
        return _identity, (jsonable(value, keep=Media),)


def _identity(value: Any) -> Any:
    return value


def _media_text(text: str, media: Media) -> MediaText:
    return MediaText.of(media, text)


def _pack_media(media: Media) -> tuple[str, str, str, dict[str, Any]]:
    data = base64.b64encode(media.to_bytes()).decode()
    return media.handle, data, media.mime_type, jsonable(media.block)


def _unpack_media(handle: str, data: str, mime_type: str, block: dict[str, Any]) -> Media:
    return Media.stored(handle, base64.b64decode(data), mime_type).with_block(block)
