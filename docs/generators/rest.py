"""The reference page of the REST API, from its OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

from .markdown import GENERATED, anchor, code, first_paragraph, page, table

ABOUT = f"""A running `onetool serve` provides the same information at `GET /openapi.json`. [Serve the REST
API](../how-to/rest.md) shows how to start. {GENERATED}"""
ERRORS = """## Errors

| status | when |
| ------ | --- |
| 400 | the request is malformed or a value is invalid |
| 401 | the token is missing or invalid |
| 403 | Host or Origin is not allowed, the bundle is read-only, or a tool call was not approved |
| 404 | the resource does not exist |
| 409 | conflict: the version already exists or the tool is disabled |
| 410 | the stored result has expired |
| 413 | the request is too large |
| 416 | the stored result does not have these bytes |
| 429 | too many concurrent requests, or the rate limit is reached |
| 503 | the store is temporarily unavailable |

The body is a [Problem](#problem); calls return `ok`, `error` and `meta` instead, with the
[reason](errors.md) in `meta.reason`."""
COMMON = frozenset({"400", "401", "403", "413", "503"})
"""Statuses that nearly every route can return; they are not listed for each route."""
UNUSED = ("HTTPValidationError", "ValidationError", "JsonValue")


def pages(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the page by its path."""
    tags: dict[str, list[tuple[str, str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    schemas = {
        name: schema for name, schema in document["components"]["schemas"].items() if name not in UNUSED
    }
    parts = [ABOUT, document["info"]["description"].partition("\n\n")[2]]
    parts += [routes(tag, operations) for tag, operations in sorted(tags.items())]
    parts += [ERRORS, "## Schemas", *(schema_section(name, schemas[name]) for name in sorted(schemas))]
    return {"reference/rest.md": page("REST", *parts)}


def routes(tag: str, operations: list[tuple[str, str, Any]]) -> str:
    """Return the routes of one tag and their query parameters."""
    rows = [
        (
            code(f"{method} {path}"),
            _body(operation),
            _responses(operation),
            first_paragraph(operation["description"]),
        )
        for method, path, operation in operations
    ]
    parts = [f"## {tag.capitalize()}", table(("route", "body", "response", "description"), rows)]
    parameters = {
        parameter["name"]: parameter
        for _, _, operation in operations
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    }
    if parameters:
        queries = [
            (code(name), kind(parameter["schema"]), parameter.get("description", ""))
            for name, parameter in parameters.items()
        ]
        parts.append(table(("query", "type", "description"), queries))
    return "\n\n".join(parts)


def schema_section(name: str, schema: Mapping[str, Any]) -> str:
    """Return the fields of one object."""
    required = schema.get("required", ())
    rows = [
        (code(field) + (" *" if field in required else ""), kind(value), value.get("description", ""))
        for field, value in schema.get("properties", {}).items()
    ]
    summary = first_paragraph(schema.get("description"))
    parts = [
        f"### {name}",
        summary,
        table(("field (* required)", "type", "description"), rows) if rows else "",
    ]
    return "\n\n".join(part for part in parts if part)


def kind(schema: Mapping[str, Any]) -> str:
    """Return a short description of a type, with a link to the schema it refers to."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "any JSON" if name in UNUSED else f"[{name}](#{anchor(name)})"
    if "anyOf" in schema or "oneOf" in schema:
        kinds = dict.fromkeys(map(kind, schema.get("anyOf") or schema["oneOf"]))
        return " or ".join(name for name in kinds if name != "null")
    if "enum" in schema or "const" in schema:
        return ", ".join(code(str(value)) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type", "any JSON"))


def _contents(part: Mapping[str, Any]) -> Iterator[str]:
    for media, content in part.get("content", {}).items():
        schema = content.get("schema", {})
        if "application/json" in media and schema:
            yield kind(schema)
        elif media == "text/event-stream":
            yield "events"
        else:
            yield code(media)


def _body(operation: Mapping[str, Any]) -> str:
    return " or ".join(_contents(operation.get("requestBody", {})))


def _responses(operation: Mapping[str, Any]) -> str:
    success = [(status, body) for status, body in operation["responses"].items() if status < "300"]
    described = [" ".join([status, " or ".join(_contents(body))]).strip() for status, body in success]
    other = sorted(status for status in operation["responses"] if status >= "300" and status not in COMMON)
    return ", ".join([*described, *other])
