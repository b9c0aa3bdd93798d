"""The page of every route, from the app's own OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any

from .markdown import MADE, anchor, code, first_paragraph, page, table

ABOUT = f"""`GET /openapi.json` of a running `onetool serve` is this page for programs. [Serve over
REST](../how-to/rest.md) shows how to begin. {MADE}"""
ERRORS = """## Errors

| status | when |
| ------ | --- |
| 400 | the request cannot be understood, or a value is wrong |
| 401 | the token is missing or wrong |
| 403 | Host or Origin is not allowed, the bundle is read-only, or a tool was not approved |
| 404 | there is no such thing |
| 409 | it stands against what is there: the version exists, the tool is switched off |
| 413 | the request is too large |
| 429 | too many at once, or too often |
| 503 | the store cannot be reached now |

The body is a [Problem](#problem); calls answer `ok`, `error` and `meta` instead, with the
[reason](errors.md) in `meta.reason`."""
COMMON = frozenset({"400", "401", "403", "413", "503"})
"""Statuses that nearly every route may answer; only the others are named with a route."""
UNUSED = ("HTTPValidationError", "ValidationError", "JsonValue")


def pages(document: Mapping[str, Any]) -> dict[str, str]:
    """The page, by its place."""
    tags: dict[str, list[tuple[str, str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    shapes = {name: one for name, one in document["components"]["schemas"].items() if name not in UNUSED}
    parts = [ABOUT, document["info"]["description"].partition("\n\n")[2]]
    parts += [routes(tag, operations) for tag, operations in sorted(tags.items())]
    parts += [ERRORS, "## Shapes", *(shape(name, shapes[name]) for name in sorted(shapes))]
    return {"reference/rest.md": page("REST", *parts)}


def routes(tag: str, operations: list[tuple[str, str, Any]]) -> str:
    """The routes of one subject, and what their queries may say."""
    rows = [
        (code(f"{method} {path}"), _body(one), _answers(one), first_paragraph(one["description"]))
        for method, path, one in operations
    ]
    parts = [f"## {tag.capitalize()}", table(("route", "body", "answers", "what it does"), rows)]
    asked = {
        parameter["name"]: parameter
        for _, _, one in operations
        for parameter in one.get("parameters", ())
        if parameter["in"] == "query"
    }
    if asked:
        queries = [
            (code(name), kind(one["schema"]), one.get("description", "")) for name, one in asked.items()
        ]
        parts.append(table(("query", "type", "meaning"), queries))
    return "\n\n".join(parts)


def shape(name: str, schema: Mapping[str, Any]) -> str:
    """One object: its fields."""
    required = schema.get("required", ())
    rows = [
        (code(field) + (" *" if field in required else ""), kind(one), one.get("description", ""))
        for field, one in schema.get("properties", {}).items()
    ]
    said = first_paragraph(schema.get("description"))
    parts = [f"### {name}", said, table(("field (* must be given)", "type", "meaning"), rows) if rows else ""]
    return "\n\n".join(part for part in parts if part)


def kind(schema: Mapping[str, Any]) -> str:
    """A type in few words, with a link to the shape that it names."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "any JSON" if name in UNUSED else f"[{name}](#{anchor(name)})"
    if "anyOf" in schema or "oneOf" in schema:
        known = dict.fromkeys(map(kind, schema.get("anyOf") or schema["oneOf"]))
        return " or ".join(one for one in known if one != "null")
    if "enum" in schema or "const" in schema:
        return ", ".join(code(str(one)) for one in schema.get("enum", [schema.get("const")]))
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


def _answers(operation: Mapping[str, Any]) -> str:
    good = [(status, one) for status, one in operation["responses"].items() if status < "300"]
    written = [" ".join([status, " or ".join(_contents(one))]).strip() for status, one in good]
    other = sorted(status for status in operation["responses"] if status >= "300" and status not in COMMON)
    return ", ".join([*written, *other])
