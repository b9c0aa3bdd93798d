"""URIs of servers' resources, with a prefix that names the server: `ot.NAME+URI`."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from onetool.domain.content.content import Content
from onetool.domain.content.parts import Fields, part_fields, with_fields

PREFIX, SEPARATOR = "ot.", "+"
UI_SCHEME = "ui://"
"""The scheme of apps must stay, so the server's name goes into the authority."""
URI_FIELDS = ("uri", "uriTemplate")
OLD_APP_FIELD = "ui/resourceUri"
C = TypeVar("C", bound=Content)
NAMESPACED = re.compile(
    r"(?P<scheme>ui://)?ot\.(?P<server>[a-z0-9-]+)\+(?P<uri>.*)", re.IGNORECASE | re.DOTALL
)


def namespaced_uri(server: str, uri: str) -> str:
    """Return the URI, or URI template, of a server's resource outside the server's own endpoint."""
    prefix = f"{PREFIX}{server.replace('_', '-')}{SEPARATOR}"
    if uri[: len(UI_SCHEME)].lower() == UI_SCHEME:
        return f"{UI_SCHEME}{prefix}{uri[len(UI_SCHEME) :]}"
    return f"{prefix}{uri}"


def split_uri(uri: str, servers: Iterable[str]) -> tuple[str, str] | None:
    """Return the server and its own URI of a namespaced URI; None if it names none of the servers.

    The case of the prefix does not matter: programs write the scheme of a URI in lower case.
    """
    found = NAMESPACED.fullmatch(uri)
    if found is None:
        return None
    names = {server.replace("_", "-").lower(): server for server in servers}
    server = names.get(found["server"].lower())
    return None if server is None else (server, f"{found['scheme'] or ''}{found['uri']}")


def own_uri(server: str, uri: str) -> str:
    """Return the server's own URI of a namespaced one; other URIs unchanged."""
    found = split_uri(uri, [server])
    return uri if found is None else found[1]


def namespaced_content(content: C, server: str) -> C:
    """Return the content of a server's result with namespaced URIs, so that a read of them works."""
    return _convert_content(content, partial(namespaced_uri, server))


def own_content(content: C, server: str) -> C:
    """Return content with the server's own URIs: the reverse of `namespaced_content`."""
    return _convert_content(content, partial(own_uri, server))


def namespaced_fields(fields: Fields, server: str) -> Fields:
    """Return a definition or a content block of a server with namespaced URIs."""
    return convert_uris(fields, partial(namespaced_uri, server))


def convert_uris(fields: Fields, convert: Callable[[str], str]) -> Fields:
    """Convert the URIs in the places that the protocol defines, never inside a text."""
    changed: dict[str, Any] = {}
    for key in URI_FIELDS:
        if isinstance(uri := fields.get(key), str):
            changed[key] = convert(uri)
    if isinstance(resource := fields.get("resource"), Mapping):
        changed["resource"] = convert_uris(resource, convert)
    if isinstance(meta := fields.get("_meta"), Mapping):
        changed["_meta"] = _convert_meta(meta, convert)
    return {**fields, **changed} if changed else fields


def _convert_meta(meta: Fields, convert: Callable[[str], str]) -> Fields:
    changed: dict[str, Any] = {}
    if isinstance(uri := meta.get(OLD_APP_FIELD), str):
        changed[OLD_APP_FIELD] = convert(uri)
    app = meta.get("ui")
    if isinstance(app, Mapping) and isinstance(uri := app.get("resourceUri"), str):
        changed["ui"] = {**app, "resourceUri": convert(uri)}
    return {**meta, **changed} if changed else meta


def _convert_content(content: C, convert: Callable[[str], str]) -> C:
    parts = []
    for part in content.parts:
        before = part_fields(part)
        after = convert_uris(before, convert)
        parts.append(part if after is before else with_fields(part, after))
    return content._replace(parts=tuple(parts), fields=convert_uris(content.fields, convert))
