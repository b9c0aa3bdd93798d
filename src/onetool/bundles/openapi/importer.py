"""Conversion of an OpenAPI document to a bundle: one tool per operation, and a report of skipped ones."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.bundles.identifiers import MAX_SLUG_LENGTH, check_version, python_name
from onetool.domain.text.strings import truncate_middle

from .document import OpenApiDocument, UnusableDocument, as_dict, as_text, read_document
from .names import UniqueNames, slug_from
from .operations import Operation, build_tool
from .security import SecuritySchemes
from .servers import ApiServer, choose_server

MAX_OPERATIONS = 10_000
METHOD_KEYS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class ImportedTool(NamedTuple):
    """A tool, with the body that a client would send to create it."""

    slug: str
    version: str
    body: dict[str, Any]


class ImportReport(NamedTuple):
    """A bundle, with the body that a client would send to create it, and what the operator must configure."""

    bundle: dict[str, Any]
    tools: list[ImportedTool]
    secrets: list[str]
    """Names to add to secrets.yaml."""
    hosts: list[str]
    """Hosts to add to allowedHosts."""
    skipped: list[str]
    """Operations and parameters that were not imported, and why."""
    renamed: dict[str, str]
    """The functions of operations whose `operationId` is not the name of the function."""


def read_openapi(content: bytes, *, base_url: str | None = None) -> ImportReport:
    """Convert an OpenAPI 3.0 or 3.1 document to a disabled bundle. Nothing is fetched.

    Raises:
        InvalidBundle: The document cannot be used as a whole.
    """
    document = read_document(content)
    bundle = _bundle_body(as_dict(document.root.get("info")))
    try:
        server = choose_server(document.root.get("servers"), base_url)
    except UnusableDocument as error:
        raise InvalidBundle(f"The document has no usable server URL: {error}") from None
    report = ImportReport(bundle, [], [], [], [], {})
    _add_tools(report, document, server, base_url)
    return report


def _add_tools(
    report: ImportReport, document: OpenApiDocument, server: ApiServer, base_url: str | None
) -> None:
    security = SecuritySchemes(document, report.bundle["slug"])
    version = _version(as_dict(document.root.get("info")).get("version"))
    slugs = UniqueNames("-", MAX_SLUG_LENGTH)
    for number, operation in enumerate(_operations(document, report.skipped)):
        if number >= MAX_OPERATIONS:
            raise InvalidBundle(f"The document has more than {MAX_OPERATIONS} operations.")
        name = f"{operation.method} {truncate_middle(operation.path, 200)}"
        try:
            built = build_tool(operation, document, security, server, base_url)
        except UnusableDocument as error:
            report.skipped.append(_skip_message(name, error))
            continue
        slug = slugs.reserve(_slug(operation))
        report.tools.append(ImportedTool(slug, version, built.body))
        operation_id = truncate_middle(as_text(operation.definition.get("operationId")), 200)
        if operation_id and operation_id != python_name(slug):
            report.renamed[operation_id] = python_name(slug)
        report.skipped.extend(_skip_message(name, f"imported {text}") for text in built.omitted)
        report.secrets.extend(name for name in built.secrets if name not in report.secrets)
        report.hosts.extend(host for host in built.hosts if host not in report.hosts)


def _operations(document: OpenApiDocument, skipped: list[str]) -> Iterator[Operation]:
    for path, part in as_dict(document.root.get("paths")).items():
        try:
            path_item = document.resolve(part)
        except UnusableDocument as error:
            skipped.append(_skip_message(truncate_middle(path, 200), error))
            continue
        for key in METHOD_KEYS:
            if isinstance(path_item.get(key), dict):
                yield Operation(key.upper(), path, path_item, path_item[key])


def _skip_message(name: str, problem: object) -> str:
    return f"{name}: {str(problem).rstrip('.')}."


def _bundle_body(info: dict[str, Any]) -> dict[str, Any]:
    title = as_text(info.get("title"))
    return {
        "slug": slug_from(title) or "api",
        "displayName": title[:200],
        "description": (as_text(info.get("description")) or as_text(info.get("summary")))[:10_000],
        "isEnabled": False,
    }


def _slug(operation: Operation) -> str:
    from_id = slug_from(as_text(operation.definition.get("operationId")))
    return from_id or slug_from(f"{operation.method} {operation.path}")


def _version(value: Any) -> str:
    try:
        return check_version(str(value) if isinstance(value, str | float | int) else "")
    except InvalidBundle:
        return "v1"
