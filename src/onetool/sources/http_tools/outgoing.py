"""A request as it will be sent: built from its definition, and followed where an answer leads it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape as escape_markup
from string import printable
from typing import Any
from urllib.parse import quote, urljoin

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.hosts import BadUrl, Url, parse_url
from onetool.domain.json_text import encode
from onetool.domain.placeholders import (
    ABSENT,
    Escape,
    Lookup,
    as_text,
    fill_header,
    fill_path,
    fill_query,
    fill_text,
    fill_value,
    names_in,
    percent,
)
from onetool.domain.redaction import MASK
from onetool.domain.templates import content_type_of, is_json_type, split_template
from onetool.domain.texts import cut

from .values import Values

CREDENTIALS = frozenset({"authorization", "cookie"})
FORM = "application/x-www-form-urlencoded"
REDIRECTS = frozenset({301, 302, 303, 307, 308})
LONGEST_SHOWN = 200
LONGEST_BODY = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One request; `shown` is how messages name it."""

    method: str
    url: Url
    headers: Mapping[str, str]
    body: bytes
    shown: str
    private: frozenset[str]
    """Headers, in lower case, that no other host is sent."""

    def with_headers(self, added: Mapping[str, str]) -> "Outgoing":
        """Add headers in place of those of the same name."""
        names = {name.lower() for name in added}
        kept = {name: value for name, value in self.headers.items() if name.lower() not in names}
        return replace(self, headers={**kept, **added}, private=self.private | names)

    def with_query(self, name: str, value: str) -> "Outgoing":
        """Add a parameter to the query."""
        pair = f"{percent(name)}={percent(value)}"
        query = f"{self.url.query}&{pair}" if self.url.query else pair
        return replace(self, url=replace(self.url, query=query))

    def text(self) -> str:
        """The request as a person reads it, without the headers that hold a secret."""
        lines = [f"{self.method} {self.url}"]
        for name, value in self.headers.items():
            lines.append(f"{name}: {MASK if name.lower() in self.private else value}")
        body = cut(self.body.decode("utf-8", "replace"), LONGEST_BODY)
        return "\n".join([*lines, "", body] if body else lines)

    @property
    def size(self) -> int:
        """Bytes of the path, the query and the body."""
        return len(self.url.target) + len(self.body)


def build(request: Mapping[str, Any], values: Values) -> Outgoing:
    """Fill in a definition.

    Raises BadValue, and ExecutionError for a secret that is missing or not for this host.
    """
    scheme, authority, path, query = split_template(request["urlTemplate"])
    host = parse_url(scheme + authority).host
    lookup = values.at(host)
    members = fill_value(dict(request.get("query") or {}), lookup)
    pairs = [fill_query(query, lookup) if query else "", _pairs(members)]
    whole_query = "&".join(pair for pair in pairs if pair)
    headers, private = _headers(request.get("headers") or {}, lookup, values)
    body, kind = _body(request.get("body"), content_type_of(headers), lookup)
    if kind and content_type_of(headers) is None:
        headers["Content-Type"] = kind
    return Outgoing(
        method=request.get("method", "GET"),
        url=parse_url(
            scheme + authority + fill_path(path or "/", lookup) + (whole_query and f"?{whole_query}")
        ),
        headers=headers,
        body=body,
        shown=host + fill_path(path or "/", values.masked),
        private=private,
    )


def redirected(outgoing: Outgoing, status: int, location: str, values: Values) -> tuple[Outgoing, bool]:
    """The request that an answer leads to, and whether it goes to the same place as before.

    To another one go neither body nor anything that holds a secret. Raises ExecutionError.
    """
    try:
        url = parse_url(urljoin(str(outgoing.url), quote(location, safe=printable.strip())).partition("#")[0])
    except ValueError as error:
        said = values.redact(str(error) if isinstance(error, BadUrl) else cut(location, LONGEST_SHOWN))
        raise ExecutionError(
            Reason.HOST_NOT_ALLOWED, f"{outgoing.shown} redirects to what is not followed: {said}"
        ) from None
    if outgoing.url.scheme == "https" and url.scheme == "http":
        raise ExecutionError(Reason.UPSTREAM, f"{outgoing.shown} redirects from https to http. Not followed.")
    is_same = url.host == outgoing.url.host and (
        url.port == outgoing.url.port or (outgoing.url.port, url.port) == (80, 443)
    )
    following = replace(outgoing, url=url, shown=values.redact(url.host + url.path))
    if (status == 303 and outgoing.method != "HEAD") or (status in (301, 302) and outgoing.method == "POST"):
        following = _without_body(following, "GET")
    return following if is_same else _stripped(following), is_same


def _without_body(outgoing: Outgoing, method: str) -> Outgoing:
    kept = {name: text for name, text in outgoing.headers.items() if not name.lower().startswith("content-")}
    return replace(outgoing, method=method, headers=kept, body=b"")


def _stripped(outgoing: Outgoing) -> Outgoing:
    secret = outgoing.private | CREDENTIALS
    kept = {name: text for name, text in outgoing.headers.items() if name.lower() not in secret}
    return _without_body(replace(outgoing, headers=kept), outgoing.method)


def _pairs(members: Mapping[str, Any]) -> str:
    """Members that are filled in already, as a query or a form; a list gives its name several times."""
    several = ((name, value if isinstance(value, list) else [value]) for name, value in members.items())
    return "&".join(
        f"{percent(name)}={percent(as_text(value))}"
        for name, values in several
        for value in values
        if value is not None
    )


def _headers(
    headers: Mapping[str, str], lookup: Lookup, values: Values
) -> tuple[dict[str, str], frozenset[str]]:
    filled = {name: fill_header(text, lookup) for name, text in headers.items()}
    private = (name for name, text in headers.items() if any(map(values.is_secret, names_in(text))))
    return {name: text for name, text in filled.items() if text is not None}, frozenset(
        name.lower() for name in private
    )


def _body(template: Any, kind: str | None, lookup: Lookup) -> tuple[bytes, str | None]:
    """The bytes of the body, and the content type for one that has none yet."""
    if template is None:
        return b"", None
    value = fill_value(template, lookup, _escape_for(kind or ""))
    if value is ABSENT:
        value = fill_text(template, lookup)  # says which placeholder has no value
    if kind and kind.startswith(FORM) and isinstance(value, dict):
        return _pairs(value).encode(), kind
    if isinstance(value, str) and not is_json_type(kind or ""):
        return value.encode(), kind or "text/plain; charset=utf-8"
    return encode(value), kind or "application/json"


def _escape_for(kind: str) -> Escape:
    """How a value inside a longer text is kept from being read as more than a value."""
    if kind.startswith(FORM):
        return percent
    return escape_markup if "xml" in kind or "html" in kind else str
