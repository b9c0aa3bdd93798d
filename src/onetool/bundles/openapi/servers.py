"""The base URL of an API: the first usable server of a document."""

import re
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from onetool.domain.http.urls import InvalidUrl, parse_authority
from onetool.domain.text.strings import truncate_middle

from .document import UnusableDocument, as_dict, as_list, as_text

VARIABLE = re.compile(r"\{([^{}]*)\}")
SAFE_CHARS = "/:@!&'()*+,;=~%"
"""Characters that are not escaped in a path. The dollar sign is, because it starts a placeholder."""


class ApiServer(NamedTuple):
    """The base URL, without a trailing slash, and its host."""

    url: str
    host: str


def choose_server(servers: Any, base_url: str | None) -> ApiServer:
    """Return the first absolute server, otherwise the first relative one joined with `base_url`.

    Raises:
        UnusableDocument: There is no server, or it cannot be used.
    """
    urls = [_with_defaults(server) for server in map(as_dict, as_list(servers)) if as_text(server.get("url"))]
    absolute = [url for url in urls if re.match(r"https?://", url, re.IGNORECASE)]
    if absolute:
        return parse_server(absolute[0])
    if base_url is None:
        problem = f"its server is {truncate_middle(urls[0], 80)!r}" if urls else "it names no server"
        raise UnusableDocument(
            f"{problem}. Pass the URL of the API with --base-url, for example https://api.example.com"
        )
    return parse_server(urljoin(base_url, urls[0]) if urls else base_url)


def parse_server(url: str) -> ApiServer:
    """Parse an absolute URL without variables.

    Raises:
        UnusableDocument: The URL is invalid, or has a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise InvalidUrl(f"{truncate_middle(url, 80)!r} does not start with http:// or https://")
        host, _ = parse_authority(parts.netloc)
    except ValueError as error:
        raise UnusableDocument(f"its server is invalid: {error}") from None
    if parts.query or parts.fragment:
        raise UnusableDocument(f"its server {truncate_middle(url, 80)!r} has a query or a fragment")
    path = quote(parts.path, safe=SAFE_CHARS).rstrip("/")
    return ApiServer(f"{parts.scheme}://{parts.netloc.lower()}{path}", host)


def _with_defaults(server: dict[str, Any]) -> str:
    """Return the URL of a server with the default values of its variables."""
    variables = as_dict(server.get("variables"))
    return VARIABLE.sub(
        lambda match: str(as_dict(variables.get(match.group(1))).get("default", match.group())),
        as_text(server["url"]),
    )
