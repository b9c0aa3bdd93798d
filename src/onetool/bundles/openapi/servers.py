"""Where an API lives: the first server of a document that a tool can be sent to."""

import re
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from onetool.domain.hosts import BadUrl, parse_authority
from onetool.domain.texts import cut

from .document import Unusable, items, mapping, words

VARIABLE = re.compile(r"\{([^{}]*)\}")
SAFE = "/:@!&'()*+,;=~%"
"""Not the dollar sign, with which a placeholder begins."""


class Server(NamedTuple):
    """The start of every URL, without a slash at its end."""

    url: str
    host: str


def choose_server(servers: Any, base_url: str | None) -> Server:
    """Return the first absolute server, else the first relative one joined with `base_url`.

    Raises Unusable.
    """
    urls = [_with_defaults(server) for server in map(mapping, items(servers)) if words(server.get("url"))]
    absolute = [url for url in urls if re.match(r"https?://", url, re.IGNORECASE)]
    if absolute:
        return read_server(absolute[0])
    if base_url is None:
        said = f"its server is {cut(urls[0], 80)!r}" if urls else "it names no server"
        raise Unusable(f"{said}. Say where the API lives with --base-url https://...")
    return read_server(urljoin(base_url, urls[0]) if urls else base_url)


def read_server(url: str) -> Server:
    """Read an absolute URL in which nothing is left to fill in.

    Raises Unusable.
    """
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise BadUrl(f"{cut(url, 80)!r} does not start with http:// or https://")
        host, _ = parse_authority(parts.netloc)
    except ValueError as error:
        raise Unusable(f"its server cannot be used: {error}") from None
    if parts.query or parts.fragment:
        raise Unusable(f"its server {cut(url, 80)!r} has a query or a fragment")
    path = quote(parts.path, safe=SAFE).rstrip("/")
    return Server(f"{parts.scheme}://{parts.netloc.lower()}{path}", host)


def _with_defaults(server: dict[str, Any]) -> str:
    variables = mapping(server.get("variables"))
    return VARIABLE.sub(
        lambda found: str(mapping(variables.get(found.group(1))).get("default", found.group())),
        words(server["url"]),
    )
