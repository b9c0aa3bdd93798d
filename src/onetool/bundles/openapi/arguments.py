"""The arguments of an operation: its parameters and body as one object, and where each value is sent."""

import re
from dataclasses import dataclass, field
from typing import Any

from onetool.domain.http.templates import HEADER_NAME, RESERVED_HEADERS
from onetool.domain.text.strings import truncate_middle

from .document import OpenApiDocument, UnusableDocument, as_dict, as_list, as_text
from .names import UniqueNames, argument_from
from .schemas import Schema, SchemaWriter

IGNORED_HEADERS = RESERVED_HEADERS | {"accept", "content-type", "authorization", "cookie"}
JSON_TYPE = re.compile(r"application/(json|[\w.+-]+\+json)", re.IGNORECASE | re.ASCII)
MAX_ARGUMENTS = 1_000
FLAT_KEYWORDS = frozenset(
    {"type", "properties", "required", "title", "description", "examples", "default", "additionalProperties"}
)
"""Keywords of an object schema whose properties can become separate arguments."""


@dataclass(slots=True)
class OperationArguments:
    """The arguments of a tool and the templates that use them."""

    names: UniqueNames
    """Names in use. They include the secrets, because no argument may have the name of a secret."""
    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    path: dict[str, str] = field(default_factory=dict)
    """The placeholder for each `{name}` of the path."""
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    omitted: list[str] = field(default_factory=list)
    """Optional parameters that are not supported, and why."""

    @property
    def schema(self) -> Schema:
        """The schema of the arguments. Other arguments are not allowed."""
        required = {"required": self.required} if self.required else {}
        return {
            "type": "object",
            "properties": self.properties,
            **required,
            "additionalProperties": False,
        }

    def add(self, name: str, schema: Any, *, is_required: bool) -> str:
        """Add an argument and return its placeholder.

        Raises:
            UnusableDocument: There are too many arguments.
        """
        if len(self.properties) >= MAX_ARGUMENTS:
            raise UnusableDocument(f"it has more than {MAX_ARGUMENTS} arguments")
        unique = self.names.reserve(name)
        self.properties[unique] = schema
        if is_required:
            self.required.append(unique)
        return f"${{{unique}}}"


def add_parameters(
    arguments: OperationArguments, document: OpenApiDocument, writer: SchemaWriter, *lists: Any
) -> None:
    """Add parameters. A later list overrides parameters of the same name and location in an earlier one.

    Raises:
        UnusableDocument: A required parameter is not supported.
    """
    parameters = [document.resolve(part) for parts in lists for part in as_list(parts)]
    unique = {(str(parameter.get("name")), str(parameter.get("in"))): parameter for parameter in parameters}
    for parameter in unique.values():
        try:
            _add_parameter(arguments, parameter, writer)
        except UnusableDocument as error:
            if parameter.get("required") is True or parameter.get("in") == "path":
                raise
            name = truncate_middle(str(parameter.get("name")), 80)
            arguments.omitted.append(f"without its optional parameter {name!r}: {error}")


def add_body(arguments: OperationArguments, body: dict[str, Any], writer: SchemaWriter) -> None:
    """Add a JSON body: each property as an argument, or the whole as `body` if names would clash.

    Raises:
        UnusableDocument: The body is not JSON.
    """
    content = as_dict(body.get("content"))
    media_type = json_media_type(content)
    if media_type is None:
        types = ", ".join(content) or "empty"
        raise UnusableDocument(f"its body is {truncate_middle(types, 80)}; only JSON is supported")
    schema = writer.write(as_dict(content[media_type]).get("schema", {}))
    is_required = body.get("required") is True
    flat = _flatten(schema)
    if flat is not None and not _clashes(arguments, flat["properties"]):
        required = flat.get("required", []) if is_required else []
        arguments.body = {
            name: arguments.add(argument_from(name), property_schema, is_required=name in required)
            for name, property_schema in flat["properties"].items()
        }
    else:
        described = _with_description(schema, as_text(body.get("description")))
        arguments.body = arguments.add("body", described, is_required=is_required)
    if not media_type.lower().startswith("application/json"):
        arguments.headers["Content-Type"] = media_type.partition(";")[0].strip()


def json_media_type(content: dict[str, Any]) -> str | None:
    """Return the first media type that is JSON."""
    return next((key for key in content if JSON_TYPE.fullmatch(key.partition(";")[0].strip())), None)


def _add_parameter(arguments: OperationArguments, parameter: dict[str, Any], writer: SchemaWriter) -> None:
    name, location = parameter.get("name"), parameter.get("in")
    if location not in ("path", "query", "header"):
        raise UnusableDocument(f"parameters in {truncate_middle(repr(location), 80)} are not supported")
    if not isinstance(name, str) or not name:
        raise UnusableDocument("a parameter has no name")
    if location == "header" and name.lower() in IGNORED_HEADERS:
        return
    if "${" in name or (location == "header" and not HEADER_NAME.fullmatch(name)):
        raise UnusableDocument(f"{truncate_middle(name, 80)!r} is not a valid {location} name")
    schema, note = _text_schema(parameter, writer.write(parameter.get("schema", {})), location)
    described = _with_description(schema, as_text(parameter.get("description")), note)
    argument = argument_from(name)
    if argument in arguments.names:
        argument = f"{argument}_{location}"
    is_required = location == "path" or parameter.get("required") is True
    placeholder = arguments.add(argument, described, is_required=is_required)
    templates = {"path": arguments.path, "query": arguments.query, "header": arguments.headers}
    templates[location][name] = placeholder


def _text_schema(parameter: dict[str, Any], schema: Any, location: str) -> tuple[Any, str]:
    """Return the schema of a parameter and a note on its format. A list may have to be sent as one text."""
    types = as_list(as_dict(schema).get("type")) or [as_dict(schema).get("type")]
    if "content" in parameter or "object" in types or "properties" in as_dict(schema):
        raise UnusableDocument("objects are not supported there")
    is_repeatable = parameter.get("style", "form") == "form" and parameter.get("explode", True) is True
    if "array" not in types or (location == "query" and is_repeatable):
        return schema, ""
    separator = {"spaceDelimited": "spaces", "pipeDelimited": "|"}.get(str(parameter.get("style")), "commas")
    text = {key: value for key, value in schema.items() if key in ("title", "description")}
    return text | {"type": "string"}, f"Separate several values with {separator}."


def _with_description(schema: Any, description: str, note: str = "") -> Any:
    if not isinstance(schema, dict):
        return schema
    text = " ".join(filter(None, (description or as_text(schema.get("description")), note)))
    return schema | ({"description": text} if text else {})


def _flatten(schema: Any) -> Schema | None:
    """Return all properties of an object and of its `allOf` parts; None if the schema says more than that."""
    whole = as_dict(schema)
    parts = [{key: value for key, value in whole.items() if key != "allOf"}, *as_list(whole.get("allOf"))]
    flat: Schema = {"properties": {}, "required": []}
    for part in parts:
        if not _is_flat(part) or set(as_dict(part.get("properties"))) & set(flat["properties"]):
            return None
        flat["properties"] |= as_dict(part.get("properties"))
        flat["required"] += as_list(part.get("required"))
    return flat if flat["properties"] else None


def _is_flat(part: Any) -> bool:
    if not isinstance(part, dict) or set(part) - FLAT_KEYWORDS:
        return False
    return part.get("type", "object") == "object" and part.get("additionalProperties", False) is False


def _clashes(arguments: OperationArguments, properties: dict[str, Any]) -> bool:
    names = [argument_from(name) for name in properties]
    is_in_use = any(name in arguments.names for name in names)
    return is_in_use or len(set(names)) < len(names) or any("${" in name for name in properties)
