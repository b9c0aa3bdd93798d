"""The arguments of an operation: parameters and body as one object, and where each of them goes."""

import re
from dataclasses import dataclass, field
from typing import Any

from onetool.domain.templates import HEADER, OUR_HEADERS
from onetool.domain.texts import cut

from .document import Document, Unusable, items, mapping, words
from .names import UniqueNames, argument_from
from .schemas import Schema, SchemaWriter

IGNORED_HEADERS = OUR_HEADERS | {"accept", "content-type", "authorization", "cookie"}
JSON_TYPE = re.compile(r"application/(json|[\w.+-]+\+json)", re.IGNORECASE | re.ASCII)
MANY = 1_000
FLAT = frozenset(
    {"type", "properties", "required", "title", "description", "examples", "default", "additionalProperties"}
)
"""What an object may say of itself and still be given member by member."""


@dataclass(slots=True)
class Arguments:
    """What a call is given, and the templates that take it."""

    names: UniqueNames
    """Those of secrets are taken: no argument may have one."""
    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    path: dict[str, str] = field(default_factory=dict)
    """What stands for each `{name}` of the path."""
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    left_out: list[str] = field(default_factory=list)

    @property
    def schema(self) -> Schema:
        """The arguments as one object that takes nothing else."""
        required = {"required": self.required} if self.required else {}
        return {
            "type": "object",
            "properties": self.properties,
            **required,
            "additionalProperties": False,
        }

    def add(self, name: str, schema: Any, *, is_required: bool) -> str:
        """Add an argument; return its placeholder."""
        if len(self.properties) >= MANY:
            raise Unusable(f"it has more than {MANY} arguments")
        free = self.names.take(name)
        self.properties[free] = schema
        if is_required:
            self.required.append(free)
        return f"${{{free}}}"


def add_parameters(arguments: Arguments, document: Document, writer: SchemaWriter, *lists: Any) -> None:
    """Add the parameters of a path and of its operation, which replace those of the same name and place.

    Raises Unusable.
    """
    parameters = [document.resolve(one) for several in lists for one in items(several)]
    for one in {(str(one.get("name")), str(one.get("in"))): one for one in parameters}.values():
        try:
            _add_parameter(arguments, one, writer)
        except Unusable as error:
            if one.get("required") is True or one.get("in") == "path":
                raise
            arguments.left_out.append(
                f"without its optional parameter {cut(str(one.get('name')), 80)!r}: {error}"
            )


def add_body(arguments: Arguments, body: dict[str, Any], writer: SchemaWriter) -> None:
    """Add a JSON body: its members beside the parameters, or all of it as `body` where names would clash.

    Raises Unusable for a body that is no JSON.
    """
    content = mapping(body.get("content"))
    kind = json_kind(content)
    if kind is None:
        said = ", ".join(content) or "nothing"
        raise Unusable(f"its body is {cut(said, 80)}; only JSON is sent")
    schema = writer.write(mapping(content[kind]).get("schema", {}))
    is_required = body.get("required") is True
    members = _members(schema)
    if members is not None and not _clash(arguments, members["properties"]):
        needed = members.get("required", []) if is_required else []
        arguments.body = {
            name: arguments.add(argument_from(name), one, is_required=name in needed)
            for name, one in members["properties"].items()
        }
    else:
        described = _described(schema, words(body.get("description")))
        arguments.body = arguments.add("body", described, is_required=is_required)
    if not kind.lower().startswith("application/json"):
        arguments.headers["Content-Type"] = kind.partition(";")[0].strip()


def json_kind(content: dict[str, Any]) -> str | None:
    """The first kind of a content that is JSON."""
    return next((kind for kind in content if JSON_TYPE.fullmatch(kind.partition(";")[0].strip())), None)


def _add_parameter(arguments: Arguments, one: dict[str, Any], writer: SchemaWriter) -> None:
    name, place = one.get("name"), one.get("in")
    if not isinstance(name, str) or not name or place not in ("path", "query", "header"):
        raise Unusable(f"a parameter in {cut(repr(place), 80)} cannot be sent")
    if place == "header" and name.lower() in IGNORED_HEADERS:
        return
    if "${" in name or (place == "header" and not HEADER.fullmatch(name)):
        raise Unusable(f"no {place} can be called {cut(name, 80)!r}")
    schema, note = _sent_as_text(one, writer.write(one.get("schema", {})), place)
    described = _described(schema, words(one.get("description")), note)
    argument = argument_from(name)
    if argument in arguments.names:
        argument = f"{argument}_{place}"
    is_required = place == "path" or one.get("required") is True
    placeholder = arguments.add(argument, described, is_required=is_required)
    {"path": arguments.path, "query": arguments.query, "header": arguments.headers}[place][name] = placeholder


def _sent_as_text(one: dict[str, Any], schema: Any, place: str) -> tuple[Any, str]:
    """Return the schema of a parameter, and what to know of it, where its style can be written."""
    kinds = items(mapping(schema).get("type")) or [mapping(schema).get("type")]
    if "content" in one or "object" in kinds or "properties" in mapping(schema):
        raise Unusable("an object cannot be sent there")
    is_plain = one.get("style", "form") == "form" and one.get("explode", True) is True
    if "array" not in kinds or (place == "query" and is_plain):
        return schema, ""
    separator = {"spaceDelimited": "spaces", "pipeDelimited": "|"}.get(str(one.get("style")), "commas")
    text = {key: value for key, value in schema.items() if key in ("title", "description")}
    return text | {"type": "string"}, f"Several values are separated by {separator}."


def _described(schema: Any, description: str, note: str = "") -> Any:
    if not isinstance(schema, dict):
        return schema
    text = " ".join(filter(None, (description or words(schema.get("description")), note)))
    return schema | ({"description": text} if text else {})


def _members(schema: Any) -> Schema | None:
    """An object as its members, with those of all its parts; None where it is more than that."""
    whole = mapping(schema)
    parts = [{key: value for key, value in whole.items() if key != "allOf"}, *items(whole.get("allOf"))]
    members: Schema = {"properties": {}, "required": []}
    for part in parts:
        if not _is_flat(part) or set(mapping(part.get("properties"))) & set(members["properties"]):
            return None
        members["properties"] |= mapping(part.get("properties"))
        members["required"] += items(part.get("required"))
    return members if members["properties"] else None


def _is_flat(part: Any) -> bool:
    if not isinstance(part, dict) or set(part) - FLAT:
        return False
    return part.get("type", "object") == "object" and part.get("additionalProperties", False) is False


def _clash(arguments: Arguments, members: dict[str, Any]) -> bool:
    names = [argument_from(name) for name in members]
    is_taken = any(name in arguments.names for name in names)
    return is_taken or len(set(names)) < len(names) or any("${" in name for name in members)
