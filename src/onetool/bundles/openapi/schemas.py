"""Conversion of OpenAPI schemas to self-contained JSON Schema 2020-12, with references inlined."""

from typing import Any, Literal

from onetool.domain.text.json_text import encode
from onetool.domain.text.strings import truncate_middle

from .document import OpenApiDocument, UnusableDocument

Schema = dict[str, Any]
OmittedFlag = Literal["readOnly", "writeOnly"]
"""Properties to omit: `readOnly` ones are never sent, `writeOnly` ones are never received."""

MAX_DEPTH = 64
NODE_COST = 60
"""Cost of a schema in addition to its bytes, so that many small schemas are not cheaper than a few large."""
ANNOTATIONS = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly")
COPIED_KEYWORDS = frozenset(
    {*ANNOTATIONS, "type", "enum", "const", "format", "pattern", "required", "uniqueItems", "multipleOf"}
    | {f"{end}{of}" for end in ("min", "max") for of in ("Length", "Items", "Properties", "Contains", "imum")}
    | {"exclusiveMinimum", "exclusiveMaximum", "dependentRequired", "contentMediaType", "contentEncoding"}
)
SCHEMA_KEYWORDS = frozenset(
    {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
"""Keywords whose value is a schema."""
SCHEMA_LIST_KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MAP_KEYWORDS = frozenset({"properties", "patternProperties", "dependentSchemas"})


class SchemaWriter:
    """Converts the schemas of one tool. All of them together stay under a size limit."""

    def __init__(self, document: OpenApiDocument, omit: OmittedFlag, limit: int) -> None:
        self._document, self._omit = document, omit
        self._remaining = self._limit = limit

    def write(self, schema: Any, parents: tuple[str, ...] = (), depth: int = 0) -> Any:
        """Return a schema with its references inlined. A recursive reference becomes `{}`.

        parents: the references that are being inlined.

        Raises:
            UnusableDocument: The schema is malformed, too large or nested too deeply.
        """
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            raise UnusableDocument(f"it has {truncate_middle(repr(schema), 80)} instead of a schema")
        if depth > MAX_DEPTH:
            raise UnusableDocument(f"its schema is nested more than {MAX_DEPTH} levels deep")
        self._charge(2)
        self._document.charge(NODE_COST)
        if "$ref" in schema:
            return self._inline(schema, parents, depth)
        output: Schema = {}
        for key, value in schema.items():
            if key in COPIED_KEYWORDS:
                output[key] = value
                self._charge(len(key) + 4 + len(encode(value)))
            elif (nested := self._write_keyword(key, value, parents, depth + 1)) is not None:
                output[key] = nested
                self._charge(len(key) + 4)
        return self._modernize(self._drop_omitted(output), schema)

    def _inline(self, schema: Schema, parents: tuple[str, ...], depth: int) -> Any:
        reference = schema["$ref"]
        target = self._document.look_up(reference)
        if reference in parents:
            return {}
        inlined = self.write(target, (*parents, reference), depth + 1)
        siblings = self.write({key: value for key, value in schema.items() if key != "$ref"}, parents, depth)
        if not siblings or not isinstance(inlined, dict):
            return inlined
        if all(key in ANNOTATIONS for key in siblings):
            return inlined | siblings
        return siblings | {"allOf": [inlined, *siblings.get("allOf", ())]}

    def _write_keyword(self, key: str, value: Any, parents: tuple[str, ...], depth: int) -> Any:
        """Convert the schemas of a keyword; None if the keyword is not part of JSON Schema."""
        if key in SCHEMA_KEYWORDS:
            return self.write(value, parents, depth)
        if key in SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            return [self.write(schema, parents, depth) for schema in value]
        if key in SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            self._charge(sum(len(name) + 4 for name in value))
            return {name: self.write(schema, parents, depth) for name, schema in value.items()}
        return None

    def _drop_omitted(self, output: Schema) -> Schema:
        """Drop the properties that are not used in this direction."""
        properties = output.get("properties", {})
        omitted = [
            name
            for name, schema in properties.items()
            if isinstance(schema, dict) and schema.get(self._omit) is True
        ]
        if omitted:
            output["properties"] = {
                name: schema for name, schema in properties.items() if name not in omitted
            }
        required = output.get("required")
        if isinstance(required, list):
            output["required"] = [name for name in required if name not in omitted]
        elif required is not None:  # `required: true` next to a property is an OpenAPI mistake without effect
            del output["required"]
        return output

    def _modernize(self, output: Schema, schema: Schema) -> Schema:
        """Replace the keywords that only OpenAPI 3.0 has with those of JSON Schema."""
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(output.get(exclusive), bool) and output.pop(exclusive) and bound in output:
                output[exclusive] = output.pop(bound)
        if not isinstance(output.get("examples", []), list):
            del output["examples"]
        if "example" in schema and "examples" not in output:
            self._charge(len(encode(schema["example"])) + 12)
            output["examples"] = [schema["example"]]
        if schema.get("nullable") is True:
            return _make_nullable(output)
        return output

    def _charge(self, size: int) -> None:
        self._remaining -= size
        self._document.charge(size)
        if self._remaining < 0:
            raise UnusableDocument(
                f"its schema is larger than {self._limit} bytes once its references are inlined"
            )


def _make_nullable(output: Schema) -> Schema:
    kind = output.get("type")
    if not isinstance(kind, str):
        annotations = {key: output.pop(key) for key in ANNOTATIONS if key in output}
        return annotations | ({"anyOf": [output, {"type": "null"}]} if output else {})
    output["type"] = [kind, "null"]
    if isinstance(output.get("enum"), list) and None not in output["enum"]:
        output["enum"] = [*output["enum"], None]
    return output
