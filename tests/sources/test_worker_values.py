"""Values and errors that pass between a runtime and a worker."""

import asyncio
import pickle
from dataclasses import dataclass

import orjson
import pytest

from onetool.domain.calls.call import ErrorText
from onetool.domain.content.media import Media, MediaText
from onetool.domain.errors import ExecutionError, Reason, SettingsError
from onetool.domain.text.json_text import TooLarge
from onetool.domain.text.yaml_text import YamlList
from onetool.sources.python_packs.worker_frames import MAX_HEADER_BYTES
from onetool.sources.python_packs.worker_values import (
    decode_value,
    describe_error,
    encode_value,
    pickle_message,
    rebuild_error,
)


@dataclass
class Local:
    """A class that the worker does not have."""

    x: int


class OwnError(PermissionError):
    """An exception type that the other process does not have."""


@pytest.mark.parametrize(
    "value", [None, 2**70, "\ud800", [1.5, {"a": [True]}], ErrorText("no"), YamlList([1])]
)
def test_result_of_a_worker_is_unchanged(value):
    decoded = decode_value(encode_value(value, 10_000))
    assert (decoded, type(decoded)) == (value, type(value))


def test_media_keep_handle_block_and_bytes():
    media = Media(b"abc", "image/png").with_block(
        {"type": "image", "data": None, "mimeType": "image/png", "annotations": {"priority": 1}}
    )
    for copy in (
        decode_value(encode_value({"m": [media]}, 10_000))["m"][0],
        pickle.loads(pickle_message([media]))[0],
        pickle.loads(pickle_message(MediaText.of(media, "text"))).media,
    ):
        assert (copy, copy.to_bytes(), copy.block) == (media, b"abc", media.block)


def test_too_large_value_is_refused_before_it_is_encoded():
    for value in ("x" * 2000, Media(b"x" * 2000, "image/png")):
        with pytest.raises(TooLarge):
            encode_value(value, 1000)


def test_objects_that_the_worker_does_not_have_become_json():
    assert pickle.loads(pickle_message({"a": [Local(1)]})) == {"a": [{"x": 1}]}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyError("k"), LookupError),
        (OSError(2, "gone"), FileNotFoundError),
        (OwnError("no"), PermissionError),
        (SettingsError("bad"), SettingsError),
        (ExecutionError(Reason.TIMEOUT, "late"), ExecutionError),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), UnicodeDecodeError),
        (ExceptionGroup("several", [ValueError(1)]), Exception),
        (SystemExit(3), SystemExit),
        (asyncio.CancelledError(), BaseException),
    ],
)
def test_error_keeps_its_type_and_text(error, kind):
    rebuilt = rebuild_error(describe_error(error))
    assert isinstance(rebuilt, kind)
    assert (type(rebuilt).__name__, str(rebuilt)) == (type(error).__name__, str(error))
    if isinstance(error, ExecutionError):
        assert rebuilt.reason is error.reason


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a\ud800"),
        UnicodeEncodeError("utf-8", "x\udcff", 1, 2, "surrogates not allowed"),
        KeyError(2**70),
        ValueError(*["x" * 1000] * 100_000),
        type("x" * 10_000_000, (Exception,), {})("own"),
    ],
)
def test_every_error_can_be_sent(error):
    """Also with lone surrogates, large integers and huge arguments."""
    header = orjson.dumps(describe_error(error))
    assert len(header) < MAX_HEADER_BYTES
    rebuilt = rebuild_error(orjson.loads(header))
    assert type(rebuilt).__name__ == type(error).__name__[:200]
