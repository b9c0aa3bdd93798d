"""An OpenAPI document as a bundle: one tool for each operation, and a word on each that cannot be one."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from onetool.domain.bundle import InvalidBundle
from onetool.domain.bundle_ids import LONGEST_SLUG, check_version
from onetool.domain.texts import cut

from .document import Document, Unusable, mapping, read_document, words
from .names import UniqueNames, slug_from
from .operations import Operation, make_tool
from .security import Security
from .servers import Server, choose_server

MAX_OPERATIONS = 10_000
VERBS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class ImportedTool(NamedTuple):
    """A tool as a client would write it."""

    slug: str
    version: str
    body: dict[str, Any]


class Imported(NamedTuple):
    """A bundle as a client would write it, and what is left for the operator to do."""

    bundle: dict[str, Any]
    tools: list[ImportedTool]
    secrets: list[str]
    """Names to add to secrets.yaml."""
    hosts: list[str]
    """Hosts to add to allowedHosts."""
    skipped: list[str]
    """Which operations were left out, and why."""


def read_openapi(content: bytes, *, base_url: str | None = None) -> Imported:
    """Make a bundle, switched off, of an OpenAPI 3.0 or 3.1 document; nothing is fetched.

    Raises InvalidBundle.
    """
    document = read_document(content)
    bundle = _bundle(mapping(document.root.get("info")))
    try:
        server = choose_server(document.root.get("servers"), base_url)
    except Unusable as error:
        raise InvalidBundle(f"The document does not say where its API lives: {error}") from None
    imported = Imported(bundle, [], [], [], [])
    _add_tools(imported, document, server, base_url)
    return imported


def _add_tools(imported: Imported, document: Document, server: Server, base_url: str | None) -> None:
    security = Security(document, imported.bundle["slug"])
    version = _version(mapping(document.root.get("info")).get("version"))
    slugs = UniqueNames("-", LONGEST_SLUG)
    for number, operation in enumerate(_operations(document, imported.skipped)):
        if number >= MAX_OPERATIONS:
            raise InvalidBundle(f"The document has more than {MAX_OPERATIONS} operations.")
        name = f"{operation.method} {cut(operation.path, 200)}"
        try:
            made = make_tool(operation, document, security, server, base_url)
        except Unusable as error:
            imported.skipped.append(_sentence(name, error))
            continue
        imported.tools.append(ImportedTool(slugs.take(_slug(operation)), version, made.body))
        imported.skipped.extend(_sentence(name, f"imported {text}") for text in made.left_out)
        imported.secrets.extend(name for name in made.secrets if name not in imported.secrets)
        imported.hosts.extend(host for host in made.hosts if host not in imported.hosts)


def _operations(document: Document, skipped: list[str]) -> Iterator[Operation]:
    for path, item in mapping(document.root.get("paths")).items():
        try:
            shared = document.resolve(item)
        except Unusable as error:
            skipped.append(_sentence(cut(path, 200), error))
            continue
        for verb in VERBS:
            if isinstance(shared.get(verb), dict):
                yield Operation(verb.upper(), path, shared, shared[verb])


def _sentence(name: str, problem: object) -> str:
    return f"{name}: {str(problem).rstrip('.')}."


def _bundle(info: dict[str, Any]) -> dict[str, Any]:
    title = words(info.get("title"))
    return {
        "slug": slug_from(title) or "api",
        "displayName": title[:200],
        "description": (words(info.get("description")) or words(info.get("summary")))[:10_000],
        "isEnabled": False,
    }


def _slug(operation: Operation) -> str:
    by_id = slug_from(words(operation.said.get("operationId")))
    return by_id or slug_from(f"{operation.method} {operation.path}")


def _version(said: Any) -> str:
    try:
        return check_version(str(said) if isinstance(said, str | float | int) else "")
    except InvalidBundle:
        return "v1"
