"""Schemas of OpenAPI as JSON Schema 2020-12 that stands alone: references are written out."""

from typing import Any, Literal

from onetool.domain.json_text import encode
from onetool.domain.texts import cut

from .document import Document, Unusable

Schema = dict[str, Any]
Direction = Literal["readOnly", "writeOnly"]
"""What to leave out: what is only read is never sent, and what is only written never comes back."""

MAX_DEPTH = 64
NODE = 60
"""What writing a schema costs besides its bytes, so that many small ones are no cheaper than a few large."""
ABOUT = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")
COPIED = frozenset(
    {*ABOUT, "type", "enum", "const", "format", "pattern", "required", "uniqueItems", "multipleOf"}
    | {f"{end}{of}" for end in ("min", "max") for of in ("Length", "Items", "Properties", "Contains", "imum")}
    | {"exclusiveMinimum", "exclusiveMaximum", "dependentRequired", "contentMediaType", "contentEncoding"}
)
ONE = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})


class SchemaWriter:
    """Writes the schemas of one tool; all of them together stay under a limit."""

    def __init__(self, document: Document, leave_out: Direction, limit: int) -> None:
        self._document, self._leave_out = document, leave_out
        self._left = self._limit = limit

    def write(self, schema: Any, within: tuple[str, ...] = (), depth: int = 0) -> Any:
        """Return a schema with its references written out; one that contains itself ends in `{}`.

        Raises Unusable.
        """
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise Unusable(f"it has {cut(repr(schema), 80)} for a schema")
        if depth > MAX_DEPTH:
            raise Unusable(f"its schema is nested more than {MAX_DEPTH} levels deep")
        self._spend(2)
        self._document.spend(NODE)
        if "$ref" in schema:
            return self._referred(schema, within, depth)
        written: Schema = {}
        for key, value in schema.items():
            if key in COPIED:
                written[key] = value
                self._spend(len(key) + 4 + len(encode(value)))
            elif (part := self._nested(key, value, within, depth + 1)) is not None:
                written[key] = part
                self._spend(len(key) + 4)
        return self._modern(self._one_way(written), schema)

    def _referred(self, schema: Schema, within: tuple[str, ...], depth: int) -> Any:
        reference = schema["$ref"]
        target = self._document.look_up(reference)
        if reference in within:
            return {}
        written = self.write(target, (*within, reference), depth + 1)
        beside = self.write({key: value for key, value in schema.items() if key != "$ref"}, within, depth)
        if not beside or not isinstance(written, dict):
            return written
        if all(key in ABOUT for key in beside):
            return written | beside
        return beside | {"allOf": [written, *beside.get("allOf", ())]}

    def _nested(self, key: str, value: Any, within: tuple[str, ...], depth: int) -> Any:
        """Write the schemas of one keyword; None for one that has no meaning here."""
        if key in ONE:
            return self.write(value, within, depth)
        if key in SEVERAL and isinstance(value, list):
            return [self.write(one, within, depth) for one in value]
        if key in NAMED and isinstance(value, dict):
            self._spend(sum(len(name) + 4 for name in value))
            return {name: self.write(one, within, depth) for name, one in value.items()}
        return None

    def _one_way(self, written: Schema) -> Schema:
        """Leave out the members that never travel in this direction."""
        members = written.get("properties", {})
        gone = [
            name
            for name, one in members.items()
            if isinstance(one, dict) and one.get(self._leave_out) is True
        ]
        if gone:
            written["properties"] = {name: one for name, one in members.items() if name not in gone}
        required = written.get("required")
        if isinstance(required, list):
            written["required"] = [name for name in required if name not in gone]
        elif required is not None:  # `required: true` beside a member means nothing
            del written["required"]
        return written

    def _modern(self, written: Schema, schema: Schema) -> Schema:
        """Say in JSON Schema what OpenAPI 3.0 says in words of its own."""
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(written.get(exclusive), bool) and written.pop(exclusive) and bound in written:
                written[exclusive] = written.pop(bound)
        if not isinstance(written.get("examples", []), list):
            del written["examples"]
        if "example" in schema and "examples" not in written:
            self._spend(len(encode(schema["example"])) + 12)
            written["examples"] = [schema["example"]]
        if schema.get("nullable") is True:
            return _nullable(written)
        return written

    def _spend(self, size: int) -> None:
        self._left -= size
        self._document.spend(size)
        if self._left < 0:
            raise Unusable(
                f"its schema is larger than {self._limit} bytes when its references are written out"
            )


def _nullable(written: Schema) -> Schema:
    kind = written.get("type")
    if not isinstance(kind, str):
        about = {key: written.pop(key) for key in ABOUT if key in written}
        return about | ({"anyOf": [written, {"type": "null"}]} if written else {})
    written["type"] = [kind, "null"]
    if isinstance(written.get("enum"), list) and None not in written["enum"]:
        written["enum"] = [*written["enum"], None]
    return written
