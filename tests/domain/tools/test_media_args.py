"""Where the schema of a tool accepts media."""

import pytest

from onetool.domain.content.media import Media
from onetool.domain.tools.media_args import MAX_SCHEMAS, MediaNotAccepted, encode_media

MEDIA = Media(b"abc", "image/png")
BYTES = {"type": "string", "contentEncoding": "base64"}


def root(schema, **keywords):
    return {"type": "object", "properties": {"x": schema}, **keywords}


@pytest.mark.spec("MCP-14")
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (BYTES, MEDIA),
        ({"format": "byte"}, MEDIA),
        ({"anyOf": [{"type": "null"}, BYTES]}, MEDIA),
        ({"allOf": [{"oneOf": [BYTES]}]}, MEDIA),
        ({"$ref": "#/$defs/bytes"}, MEDIA),
        ({"items": BYTES}, [MEDIA]),
        ({"properties": {"y": {"items": BYTES}}}, {"y": [MEDIA], "z": 1}),
        ({"additionalProperties": BYTES}, {"any": MEDIA}),
    ],
)
def test_media_are_found_at_any_depth(schema, value):
    encoded = encode_media(root(schema, **{"$defs": {"bytes": BYTES}}), {"x": value, "other": 1})
    assert str(encoded) == str({"x": value, "other": 1}).replace(repr(MEDIA), "'YWJj'")


@pytest.mark.spec("MCP-14")
@pytest.mark.parametrize(
    ("schema", "value", "path"),
    [
        ({"type": "string"}, MEDIA, "x"),
        ({"format": "binary"}, MEDIA, "x"),
        (True, MEDIA, "x"),
        ({"$ref": "#/$defs/loop"}, MEDIA, "x"),
        ({"$ref": "#/missing"}, MEDIA, "x"),
        ({"anyOf": 5}, MEDIA, "x"),
        ({"properties": 5}, {"y": MEDIA}, "x.y"),
        ({"items": {"type": "string"}}, ["a", MEDIA], "x.1"),
        (BYTES, [MEDIA], "x.0"),
        ({"properties": {"y": {}}, "additionalProperties": BYTES}, {"y": MEDIA}, "x.y"),
        ({"anyOf": [{"type": "null", "n": n} for n in range(2 * MAX_SCHEMAS)] + [5]}, MEDIA, "x"),
    ],
)
def test_media_are_refused_elsewhere(schema, value, path):
    loop = {"$ref": "#/$defs/loop"}
    with pytest.raises(MediaNotAccepted, match=f"^{path} does not accept Media"):
        encode_media(root(schema, **{"$defs": {"loop": loop}}), {"x": value})
