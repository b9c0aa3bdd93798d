"""Clients of the authorization server: what they say about themselves, and where they may be sent."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

MAX_ID_CHARS, MAX_NAME_CHARS, MAX_URI_CHARS, MAX_URIS = 1_000, 100, 500, 20
LOOPBACK = re.compile(r"(http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::[0-9]{1,5})?(?=[/?]|$)")
"""Where a program on the person's own computer waits. It may choose another port each time (RFC 8252)."""
URI = re.compile(
    r"(?P<origin>(?P<scheme>[a-z][a-z0-9+.-]{1,49})://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?)"
    r"(?:[/?][!$-;=?-Z_a-z~]*)?"
)
"""With a host and without a user, a fragment, quotes and others that mean something in HTML or headers."""
PRIVATE_SCHEME = re.compile(r"[a-z]{2,24}(?:\.[a-z0-9-]+)+")
"""A scheme of an app: the name of a domain of its maker, in reverse order (RFC 8252)."""
CLIENT_SCHEMES = frozenset(
    {
        "claude", "cursor", "goose", "kiro", "lmstudio", "raycast", "trae", "vscode", "vscode-insiders",
        "vscodium", "warp", "windsurf", "zed",
    }
)  # fmt: skip
"""Schemes of MCP clients that are no such names. Others may open programs of the system."""


class InvalidClient(ValueError):
    """A client cannot be used. The message says why."""


class OAuthClient(NamedTuple):
    """A client that may ask people for access. It has no secret."""

    id: str
    name: str
    """As it calls itself, which proves nothing; empty: it has no name."""
    redirect_uris: tuple[str, ...]
    host: str = ""
    """The host that its id names; empty: it was registered, and could be anyone."""

    def check_redirect_uri(self, uri: str) -> None:
        """Check that the client may be sent a code at a URI.

        Raises:
            InvalidClient: The URI is not one of the client's.
        """
        if URI.fullmatch(uri) is None or _without_port(uri) not in map(_without_port, self.redirect_uris):
            raise InvalidClient(f"The redirect URI {uri[:200]!r} is not one of the client's.")
        _check_registered(uri)  # a client that registered earlier may have others


def parse_client(id: str, document: Mapping[str, Any], host: str = "") -> OAuthClient:
    """Return the client that a metadata document or a registration describes (RFC 7591).

    Raises:
        InvalidClient: It cannot be used here.
    """
    method = document.get("token_endpoint_auth_method")
    if method not in (None, "none") or document.get("client_secret"):
        raise InvalidClient("The client must have no secret: token_endpoint_auth_method must be 'none'.")
    uris = document.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= MAX_URIS:
        raise InvalidClient(f"redirect_uris must be a list of 1 to {MAX_URIS} URIs.")
    for uri in uris:
        _check_registered(uri)
    name = document.get("client_name") or ""
    if not isinstance(name, str):
        raise InvalidClient("client_name must be a text.")
    return OAuthClient(id, printable(name)[:MAX_NAME_CHARS], tuple(uris), host)


def printable(text: str) -> str:
    """Return a text without characters that are not shown, or that change how others are shown."""
    return "".join(filter(str.isprintable, text)).strip()


def redirect_origin(uri: str) -> str:
    """Return the part of a redirect URI that says who receives a code: scheme, host and port."""
    match = URI.fullmatch(uri)
    return match["origin"] if match else ""


def is_loopback(uri: str) -> bool:
    """Return whether a redirect URI leads to a program on the person's own computer."""
    return LOOPBACK.match(uri) is not None


def _without_port(uri: str) -> str:
    """Return a URI without its port, if that may change."""
    return LOOPBACK.sub(r"\1", uri, count=1) if is_loopback(uri) else uri


def _check_registered(uri: object) -> None:
    match = URI.fullmatch(uri) if isinstance(uri, str) and len(uri) <= MAX_URI_CHARS else None
    if match is None:
        shown = str(uri)[:200]
        raise InvalidClient(f"The redirect URI {shown!r} must have a host, but no user and no fragment.")
    scheme = match["scheme"]
    is_app = scheme in CLIENT_SCHEMES or PRIVATE_SCHEME.fullmatch(scheme)
    if scheme != "https" and not is_app and not is_loopback(match[0]):
        raise InvalidClient(
            f"The redirect URI {match[0][:200]!r} must be one of https, of http on the same computer,"
            " or of an app, whose scheme is the name of a domain in reverse order, as in com.example.app://cb."
        )
