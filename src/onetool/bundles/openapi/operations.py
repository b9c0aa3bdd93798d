"""One operation of an API as one HTTP tool."""

import re
from typing import Any, NamedTuple
from urllib.parse import quote

from pydantic import ValidationError

from onetool.domain.bundle import InvalidBundle
from onetool.domain.bundle_bodies import METHODS, ToolBody
from onetool.domain.errors import InvalidTool
from onetool.domain.json_text import encode
from onetool.domain.schemas import compile_schema
from onetool.domain.templates import check_http_impl, secret_names
from onetool.domain.texts import cut

from .arguments import Arguments, add_body, add_parameters, json_kind
from .document import Document, Unusable, items, mapping, words
from .names import UniqueNames
from .schemas import Schema, SchemaWriter
from .security import LONGEST, Auth, Security
from .servers import SAFE, Server, choose_server

MAX_ARGS, MAX_OUTPUT = 200_000, 20_000
PLACE = re.compile(r"\{([^{}]*)\}")


class Operation(NamedTuple):
    """An operation where it stands in its document."""

    method: str
    path: str
    shared: dict[str, Any]
    """What the path says for all of its operations."""
    said: dict[str, Any]


class Made(NamedTuple):
    """A tool, and what it needs from the operator."""

    body: dict[str, Any]
    secrets: tuple[str, ...]
    hosts: tuple[str, ...]
    left_out: list[str]


def make_tool(
    operation: Operation, document: Document, security: Security, server: Server, base_url: str | None
) -> Made:
    """Make a tool that has been checked as if somebody had written it.

    Raises Unusable.
    """
    if operation.method not in METHODS:
        raise Unusable(f"the method cannot be sent. Valid: {', '.join(METHODS)}")
    own = items(operation.said.get("servers")) or items(operation.shared.get("servers"))
    # Paths that refer to one and the same item make a small document large.
    document.spend(len(encode([operation.said, operation.shared.get("parameters"), own])))
    server = choose_server(own, base_url) if own else server
    auth = security.auth_of(operation.said, server.url)
    arguments = _arguments(operation, document, auth)
    body = _body(operation, arguments, server, auth)
    hosts = (server.host, *auth.hosts)
    _check_size(body, document)
    _check(body, auth, hosts)
    output = _output(operation.said, document)
    return Made(body | ({"outputSchema": output} if output else {}), auth.secrets, hosts, arguments.left_out)


def _body(operation: Operation, arguments: Arguments, server: Server, auth: Auth) -> dict[str, Any]:
    request = {
        "method": operation.method,
        "urlTemplate": server.url + _path(operation.path, arguments),
        "query": arguments.query,
        "headers": arguments.headers,
        "body": arguments.body,
        "auth": auth.auth,
    }
    return {
        **_about(operation.said),
        "isEnabled": True,
        "type": "http",
        "argSchema": arguments.schema,
        "httpImpl": {"request": {field: value for field, value in request.items() if value}},
    }


def _arguments(operation: Operation, document: Document, auth: Auth) -> Arguments:
    arguments = Arguments(UniqueNames("_", LONGEST, auth.secrets))
    writer = SchemaWriter(document, "readOnly", MAX_ARGS)
    shared, own = operation.shared.get("parameters"), operation.said.get("parameters")
    add_parameters(arguments, document, writer, shared, own)
    if "requestBody" in operation.said:
        add_body(arguments, document.resolve(operation.said["requestBody"]), writer)
    return arguments


def _path(path: str, arguments: Arguments) -> str:
    if not path.startswith("/") or "?" in path or "#" in path:
        raise Unusable("the path must start with / and have neither query nor fragment")
    parts = PLACE.split(path)
    unknown = [name for name in parts[1::2] if name not in arguments.path]
    if unknown:
        raise Unusable(f"no parameter describes {{{cut(unknown[0], 80)}}} of its path")
    unused = set(arguments.path) - set(parts[1::2])
    if unused:
        raise Unusable(f"its path has no place for the parameter {cut(min(unused), 80)!r}")
    parts[::2] = [quote(part, safe=SAFE) for part in parts[::2]]
    parts[1::2] = [arguments.path[name] for name in parts[1::2]]
    return "".join(parts)


def _about(said: dict[str, Any]) -> dict[str, Any]:
    summary, description = words(said.get("summary")), words(said.get("description"))
    lines = ["Deprecated."] if said.get("deprecated") is True else []
    lines += [text for text in dict.fromkeys((summary, description)) if text]
    tags = [tag for tag in items(said.get("tags")) if isinstance(tag, str) and len(tag) <= 200]
    return {
        "displayName": summary[:200],
        "description": "\n\n".join(lines)[:10_000],
        "tags": list(dict.fromkeys(tags))[:50],
    }


def _check_size(body: dict[str, Any], document: Document) -> None:
    """Look at the whole: descriptions and names of parameters count as well."""
    size = len(encode(body))
    document.spend(size)
    if size > MAX_ARGS:
        raise Unusable(f"it has {size} bytes as a tool; {MAX_ARGS} are allowed")


def _check(body: dict[str, Any], auth: Auth, hosts: tuple[str, ...]) -> None:
    impl, schema = body["httpImpl"], body["argSchema"]
    try:
        ToolBody.model_validate(body)
        compile_schema(schema)
        check_http_impl(impl, schema, hosts)
    except ValidationError as error:
        raise Unusable(f"it is no tool: {error.errors(include_input=False)[0]['msg']}") from None
    except InvalidTool as error:
        raise Unusable(f"its schema is not valid: {error}") from None
    except InvalidBundle as error:
        raise Unusable(f"it is no tool: {error}") from None
    if set(secret_names(impl, schema)) != set(auth.secrets):
        raise Unusable("it would use a secret that is not its own")


def _output(said: dict[str, Any], document: Document) -> Schema | None:
    """The schema of the first good answer, where it is small and complete; else none at all."""
    answers = mapping(said.get("responses"))
    good = next((answers[code] for code in sorted(answers) if re.fullmatch(r"2(\d\d|XX)", code)), None)
    try:
        content = mapping(document.resolve(good or {}).get("content"))
        kind = json_kind(content)
        schema = mapping(content[kind]).get("schema") if kind else None
        written = SchemaWriter(document, "writeOnly", MAX_OUTPUT).write(schema) if schema else None
        compile_schema(written or {})
    except (Unusable, InvalidTool):
        return None
    return written or None
