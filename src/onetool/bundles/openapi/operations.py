"""Conversion of one API operation to one HTTP tool."""

import re
from typing import Any, NamedTuple
from urllib.parse import quote

from pydantic import ValidationError

from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.bundles.schemas import METHODS, ToolBody
from onetool.domain.errors import InvalidTool
from onetool.domain.http.templates import check_http_impl, secret_names
from onetool.domain.text.json_text import encode
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.json_schema import compile_schema

from .arguments import OperationArguments, add_body, add_parameters, json_media_type
from .document import OpenApiDocument, UnusableDocument, as_dict, as_list, as_text
from .names import UniqueNames
from .schemas import Schema, SchemaWriter
from .security import MAX_NAME_LENGTH, OperationAuth, SecuritySchemes
from .servers import SAFE_CHARS, ApiServer, choose_server

MAX_TOOL_BYTES, MAX_OUTPUT_SCHEMA_BYTES = 200_000, 20_000
PATH_PARAMETER = re.compile(r"\{([^{}]*)\}")


class Operation(NamedTuple):
    """An operation and the path item that contains it."""

    method: str
    path: str
    path_item: dict[str, Any]
    """What applies to all operations of the path."""
    definition: dict[str, Any]


class BuiltTool(NamedTuple):
    """A tool, and the secrets and hosts that the operator must configure for it."""

    body: dict[str, Any]
    secrets: tuple[str, ...]
    hosts: tuple[str, ...]
    omitted: list[str]


def build_tool(
    operation: Operation,
    document: OpenApiDocument,
    security: SecuritySchemes,
    server: ApiServer,
    base_url: str | None,
) -> BuiltTool:
    """Build a tool and validate it like one that a client sends.

    Raises:
        UnusableDocument: The operation cannot become a tool.
    """
    if operation.method not in METHODS:
        raise UnusableDocument(f"its method is not supported. Valid: {', '.join(METHODS)}")
    servers = as_list(operation.definition.get("servers")) or as_list(operation.path_item.get("servers"))
    # Many paths that refer to the same path item make a small document large.
    document.charge(len(encode([operation.definition, operation.path_item.get("parameters"), servers])))
    server = choose_server(servers, base_url) if servers else server
    auth = security.auth_for(operation.definition, server.url)
    arguments = _arguments(operation, document, auth)
    body = _tool_body(operation, arguments, server, auth)
    hosts = (server.host, *auth.hosts)
    _check_size(body, document)
    _check_tool(body, auth, hosts)
    output_schema = _output_schema(operation.definition, document)
    return BuiltTool(
        body | ({"outputSchema": output_schema} if output_schema else {}),
        auth.secrets,
        hosts,
        arguments.omitted,
    )


def _tool_body(
    operation: Operation, arguments: OperationArguments, server: ApiServer, auth: OperationAuth
) -> dict[str, Any]:
    request = {
        "method": operation.method,
        "urlTemplate": server.url + _path_template(operation.path, arguments),
        "query": arguments.query,
        "headers": arguments.headers,
        "body": arguments.body,
        "auth": auth.auth,
    }
    return {
        **_description_fields(operation.definition),
        "isEnabled": True,
        "type": "http",
        "argSchema": arguments.schema,
        "httpImpl": {"request": {field: value for field, value in request.items() if value}},
    }


def _arguments(operation: Operation, document: OpenApiDocument, auth: OperationAuth) -> OperationArguments:
    arguments = OperationArguments(UniqueNames("_", MAX_NAME_LENGTH, auth.secrets))
    writer = SchemaWriter(document, "readOnly", MAX_TOOL_BYTES)
    add_parameters(
        arguments,
        document,
        writer,
        operation.path_item.get("parameters"),
        operation.definition.get("parameters"),
    )
    if "requestBody" in operation.definition:
        add_body(arguments, document.resolve(operation.definition["requestBody"]), writer)
    return arguments


def _path_template(path: str, arguments: OperationArguments) -> str:
    if not path.startswith("/") or "?" in path or "#" in path:
        raise UnusableDocument("its path must start with / and have no query and no fragment")
    parts = PATH_PARAMETER.split(path)
    undefined = [name for name in parts[1::2] if name not in arguments.path]
    if undefined:
        raise UnusableDocument(
            f"its path contains {{{truncate_middle(undefined[0], 80)}}}, which no parameter defines"
        )
    unused = set(arguments.path) - set(parts[1::2])
    if unused:
        raise UnusableDocument(
            f"its path does not contain the path parameter {truncate_middle(min(unused), 80)!r}"
        )
    parts[::2] = [quote(part, safe=SAFE_CHARS) for part in parts[::2]]
    parts[1::2] = [arguments.path[name] for name in parts[1::2]]
    return "".join(parts)


def _description_fields(definition: dict[str, Any]) -> dict[str, Any]:
    summary, description = as_text(definition.get("summary")), as_text(definition.get("description"))
    paragraphs = ["Deprecated."] if definition.get("deprecated") is True else []
    paragraphs += [text for text in dict.fromkeys((summary, description)) if text]
    named = [tag for tag in as_list(definition.get("tags")) if isinstance(tag, str) and len(tag) <= 200]
    tags = [part for tag in named for part in map(str.strip, tag.split(",")) if part]
    return {
        "displayName": summary[:200],
        "description": "\n\n".join(paragraphs)[:10_000],
        "tags": list(dict.fromkeys(tags))[:50],
    }


def _check_size(body: dict[str, Any], document: OpenApiDocument) -> None:
    """Check the whole tool, because descriptions and parameter names count too."""
    size = len(encode(body))
    document.charge(size)
    if size > MAX_TOOL_BYTES:
        raise UnusableDocument(f"it has {size} bytes as a tool; the maximum is {MAX_TOOL_BYTES}")


def _check_tool(body: dict[str, Any], auth: OperationAuth, hosts: tuple[str, ...]) -> None:
    impl, schema = body["httpImpl"], body["argSchema"]
    try:
        ToolBody.model_validate(body)
        compile_schema(schema)
        check_http_impl(impl, schema, hosts)
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]["msg"]
        raise UnusableDocument(f"it is not a valid tool: {problem}") from None
    except InvalidTool as error:
        raise UnusableDocument(f"its schema is not valid: {error}") from None
    except InvalidBundle as error:
        raise UnusableDocument(f"it is not a valid tool: {error}") from None
    if set(secret_names(impl, schema)) != set(auth.secrets):
        raise UnusableDocument("it would use a secret that its security scheme does not declare")


def _output_schema(definition: dict[str, Any], document: OpenApiDocument) -> Schema | None:
    """Return the schema of the first successful response; None if there is none or it is not usable."""
    responses = as_dict(definition.get("responses"))
    success = next((responses[code] for code in sorted(responses) if re.fullmatch(r"2(\d\d|XX)", code)), None)
    try:
        content = as_dict(document.resolve(success or {}).get("content"))
        media_type = json_media_type(content)
        source = as_dict(content[media_type]).get("schema") if media_type else None
        writer = SchemaWriter(document, "writeOnly", MAX_OUTPUT_SCHEMA_BYTES)
        schema = writer.write(source) if source else None
        if not isinstance(schema, dict):  # `true` allows anything
            return None
        compile_schema(schema)
    except (UnusableDocument, InvalidTool):
        return None
    return schema or None
