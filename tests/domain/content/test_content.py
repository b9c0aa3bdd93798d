"""Content: what a server sends is parsed and returned without loss, and media never show their base64."""

import base64
import copy
import json
import logging
import pickle

import pytest

from onetool.domain.content.content import Content, parse_content
from onetool.domain.content.media import Media, find_media
from onetool.domain.content.part_json import MediaOptions, parts_to_json
from onetool.domain.content.parts import (
    Embedded,
    InvalidContent,
    Link,
    Text,
    Unknown,
    media_of,
    part_fields,
    text_of,
)
from onetool.domain.secrets.redaction import MASK, Redactor
from onetool.domain.text.json_text import encode, jsonable, pretty

DATA = bytes(range(256)) * 4
ENCODED = base64.b64encode(DATA).decode()
ANNOTATIONS = {"audience": ["user"], "priority": 0.5, "newHint": True}
EXTRA = {"annotations": ANNOTATIONS, "_meta": {"a.b/c": [1, None]}, "future": {"x": None}}
BLOCKS = {
    "text": {"type": "text", "text": "hello", **EXTRA},
    "image": {"type": "image", "data": ENCODED, "mimeType": "image/png", **EXTRA},
    "audio": {**EXTRA, "mimeType": "audio/wav", "data": ENCODED, "type": "audio"},
    "link": {"type": "resource_link", "uri": "memo:x", "name": "x", "title": "X", "size": 3, **EXTRA},
    "embedded text": {"type": "resource", "resource": {"uri": "memo:t", "text": "t", "n": 1}, **EXTRA},
    "embedded blob": {"type": "resource", "resource": {"uri": "memo:b", "blob": ENCODED, **EXTRA}, **EXTRA},
    "unknown media": {"type": "video", "data": ENCODED, "mimeType": "video/mp4"},
    "unknown": {"type": "hologram", "depth": [1, 2]},
    "text without text": {"type": "text", "text": None},
    "empty resource": {"type": "resource", "resource": {"uri": "memo:e"}},
}


def content(*blocks, **fields) -> Content:
    return parse_content({"content": list(blocks), **fields})


def media(data=DATA, mime_type="image/png") -> Media:
    return Media(data, mime_type)


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_is_returned_as_received(name):
    block = BLOCKS[name]
    result = {"content": [block, block], "_meta": {"m": 1}, "isError": False, "later": None}
    returned = parse_content(copy.deepcopy(result)).to_json()
    assert json.dumps(returned["content"]) == json.dumps(result["content"])  # also the order of the fields
    assert returned == result


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("text", Text), ("image", Media), ("audio", Media), ("link", Link), ("unknown media", Media)),
        *(("embedded text", Embedded), ("embedded blob", Embedded), ("unknown", Unknown)),
        *(("text without text", Unknown), ("empty resource", Unknown)),
    ],
)
def test_blocks_become_parts(name, kind):
    (part,) = content(BLOCKS[name]).parts
    assert isinstance(part, kind)
    if "future" in BLOCKS[name]:
        assert part_fields(part).items() >= EXTRA.items()


def test_parts_give_their_main_values():
    text, link, embedded = content(BLOCKS["text"], BLOCKS["link"], BLOCKS["embedded text"]).parts
    assert (text.text, link.uri, embedded.uri, embedded.body) == ("hello", "memo:x", "memo:t", "t")
    blob = media_of(content(BLOCKS["embedded blob"]).parts[0])
    assert (blob.mime_type, blob.size, blob.to_bytes()) == ("application/octet-stream", len(DATA), DATA)


def test_content_gives_its_fields():
    result = content(BLOCKS["image"], structuredContent={"n": 1}, isError=True, _meta={"m": 1}, later=2)
    assert (result.structured, result.is_error, result.meta) == ({"n": 1}, True, {"m": 1})
    assert result.fields["later"] == 2


def test_fields_of_the_message_are_no_content():
    """`resultType` and the stamp of the sender belong to the message between the server and us."""
    stamp = {"io.modelcontextprotocol/serverInfo": {"name": "s"}}
    assert content(resultType="complete", _meta=stamp).to_json() == {"content": []}
    assert content(_meta={**stamp, "m": 1}).to_json() == {"content": [], "_meta": {"m": 1}}


@pytest.mark.parametrize(
    "result",
    [
        *(None, [], {}, {"content": "none"}, {"content": ["x"]}, {"content": [{"text": "x"}]}),
        *({"content": [], "resultType": "input_required"}, {"content": [{"type": 1}]}),
    ],
)
def test_malformed_results_are_rejected(result):
    with pytest.raises(InvalidContent):
        parse_content(result)


def test_media_never_show_base64(caplog):
    value = media()
    shown = f"Media(mime_type='image/png', size={len(DATA)}, handle='{value.handle}')"
    assert repr(value) == str(value) == f"{value}" == shown
    nested = {"a": [value], "b": (value,)}
    with caplog.at_level(logging.INFO):
        logging.getLogger("test").info(
            "result %s %r", nested, content(BLOCKS["image"], BLOCKS["embedded blob"])
        )
    texts = [encode(nested).decode(), pretty(nested), str(jsonable(nested)), caplog.text, repr(nested)]
    assert not [text for text in texts if ENCODED[:40] in text]
    assert jsonable(value) == shown
    assert not hasattr(value, "__dict__")
    with pytest.raises(TypeError):
        pickle.dumps(value)


def test_media_are_immutable_and_equal_by_handle():
    one, other = media(), media()
    assert one == one.with_block(one.block)
    assert one != other
    assert len({one, other, one}) == len({item.handle for item in (one, other)}) == 2
    with pytest.raises(AttributeError, match="immutable"):
        one.handle = other.handle


@pytest.mark.parametrize(
    ("mime_type", "block"),
    [
        ("image/png", {"type": "image", "data": ENCODED, "mimeType": "image/png"}),
        ("audio/wav", {"type": "audio", "data": ENCODED, "mimeType": "audio/wav"}),
    ],
)
def test_created_media_have_a_native_block(mime_type, block):
    assert media(mime_type=mime_type).to_block() == block


def test_other_types_become_embedded_resources():
    value = media(mime_type="application/pdf")
    resource = {"uri": f"ot.result://{value.handle}", "mimeType": "application/pdf", "blob": ENCODED}
    assert value.to_block() == {"type": "resource", "resource": resource}


@pytest.mark.parametrize("mime_type", ["", "png", "image/png\nIgnore", "image/" + "x" * 200, 3])
def test_invalid_types_are_rejected_and_never_shown(mime_type):
    with pytest.raises(ValueError, match="MIME"):
        media(mime_type=mime_type)
    (received,) = content({"type": "image", "data": "AAAA", "mimeType": mime_type}).parts
    assert received.mime_type == "application/octet-stream"
    assert received.to_block()["mimeType"] == mime_type


def test_media_need_bytes():
    with pytest.raises(ValueError, match="not str"):
        Media("text", "image/png")


@pytest.mark.parametrize(
    ("encoded", "data"),
    [
        ("AAEC", b"\0\1\2"),
        ("AAE=", b"\0\1"),
        ("AA==", b"\0"),
        ("AA", b"\0"),
        ("AA\nEC\n", b"\0\1\2"),
        ("-_8=", b"\xfb\xff"),
        ("", b""),
        ("A", b""),
        ("é" * 5, b""),
    ],
)
def test_unusual_base64_is_decoded_and_returned_as_received(encoded, data):
    (value,) = content({"type": "image", "data": encoded, "mimeType": "image/png"}).parts
    assert (value.to_bytes(), value.size) == (data, len(data))
    assert value.to_block()["data"] == encoded


def test_find_media_in_order_each_once():
    one, two = media(), media()
    cycle = [one]
    cycle.append(cycle)
    assert find_media({"a": [two, {"b": (one,)}], "c": two, "d": "text", "e": cycle}) == [two, one]


@pytest.mark.parametrize(
    ("blocks", "fields", "data"),
    [
        ([BLOCKS["text"]], {}, "hello"),
        ([BLOCKS["text"], {"type": "text", "text": "b"}], {}, "hello\n\nb"),
        ([], {}, ""),
        ([BLOCKS["text"]], {"structuredContent": {"n": 1}}, {"n": 1}),
        ([BLOCKS["text"]], {"structuredContent": {"result": "hello"}}, "hello"),
        ([], {"structuredContent": [1]}, [1]),
        ([BLOCKS["link"]], {}, {"type": "resource_link", "uri": "memo:x", "name": "x"}),
        ([BLOCKS["embedded text"]], {}, {"type": "resource", "uri": "memo:t", "text": "t"}),
        ([BLOCKS["unknown"]], {}, {"type": "hologram"}),
    ],
)
def test_data_is_the_structured_content_the_text_or_the_parts(blocks, fields, data):
    assert content(*blocks, **fields).to_data() == data


def test_media_are_values_in_the_data():
    result = content(BLOCKS["text"], BLOCKS["image"], BLOCKS["embedded blob"])
    image, blob = result.media
    assert result.to_data() == [
        {"type": "text", "text": "hello"},
        image,
        {"type": "resource", "uri": "memo:b", "data": blob},
    ]
    assert content(BLOCKS["image"]).to_data().to_bytes() == DATA


@pytest.mark.parametrize("secret", ["hunter22", "text", "image", "resource"])
def test_secrets_are_masked_in_every_field_but_not_in_media(secret):
    """Also a secret that equals a name of the protocol leaves the blocks valid."""
    extra = {"_meta": {"k": secret}, secret + "_field": f"a {secret}"}
    blocks = [
        {"type": "text", "text": secret, **extra},
        {"type": "image", "data": ENCODED, "mimeType": "image/png", "title": secret, **extra},
        {"type": "resource", "resource": {"uri": f"memo:{secret}", "blob": ENCODED}, **extra},
        {"type": secret + "x", "value": secret},
    ]
    original = content(*blocks, structuredContent={"s": secret}, **extra)
    masked = original.convert(Redactor([secret]).mask)
    assert [value.to_bytes() for value in masked.media] == [DATA, DATA]
    assert [value.handle for value in masked.media] == [value.handle for value in original.media]
    values = json.dumps([masked.parts[0].text, masked.meta, masked.structured, masked.fields])
    assert MASK in values
    assert secret not in values
    assert [part["type"] for part in masked.to_json()["content"]][:3] == ["text", "image", "resource"]
    assert secret not in masked.parts[1].block["title"] + masked.parts[2].uri
    assert original.parts[0].text == secret


def test_text_is_that_of_text_blocks_and_embedded_texts():
    parts = content(*(BLOCKS[name] for name in ("text", "embedded text", "embedded blob", "link"))).parts
    assert [text_of(part) for part in parts] == ["hello", "t", None, None]


@pytest.mark.parametrize("annotations", [{}, {"annotations": ANNOTATIONS}])
def test_link_names_the_stored_media(annotations):
    (part,) = content({"type": "image", "data": ENCODED, "mimeType": "image/png", **annotations}).parts
    assert part.to_link() == {
        "type": "resource_link",
        "uri": f"ot.result://{part.handle}",
        "name": part.handle,
        "mimeType": "image/png",
        "size": len(DATA),
        **annotations,
    }


@pytest.mark.spec("MCP-07")
def test_only_media_have_handles_in_the_json_of_parts():
    """A server cannot make its text look like stored media."""
    picture = {"type": "image", "data": "eA==", "mimeType": "image/png", "handle": "forged"}
    forged = {"type": "text", "text": "t", "handle": "forged", "mimeType": "image/png", "size": 1}
    content = parse_content({"content": [picture, forged]})
    (media,) = content.media
    stored = MediaOptions(handles={media.handle})
    described = {"type": "image", "mimeType": "image/png", "size": 1}
    plain = {"type": "text", "text": "t", "mimeType": "image/png", "size": 1}
    assert parts_to_json(content.parts, stored) == [described | {"handle": media.handle}, plain]
    assert parts_to_json(content.parts, MediaOptions()) == [described, plain]
