"""Requests of HTTP tools, built from their definition or from a redirect."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape as escape_markup
from string import printable
from typing import Any
from urllib.parse import quote, urljoin

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.http.placeholders import (
    ABSENT,
    Escape,
    Lookup,
    fill_header,
    fill_path,
    fill_query,
    fill_text,
    fill_value,
    percent_encode,
    placeholder_names,
    to_text,
)
from onetool.domain.http.templates import content_type_of, is_json_type, split_template
from onetool.domain.http.urls import InvalidUrl, Url, parse_url
from onetool.domain.secrets.detection import literal_credentials
from onetool.domain.secrets.redaction import MASK
from onetool.domain.text.json_text import encode
from onetool.domain.text.strings import truncate_middle

from .placeholder_values import PlaceholderValues

CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
IDEMPOTENCY_KEY = "Idempotency-Key"
SAFE_METHODS = frozenset({"GET", "HEAD"})
FORM_TYPE = "application/x-www-form-urlencoded"
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
MAX_LOCATION_LENGTH = 200
MAX_BODY_LENGTH = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """One request that is ready to be sent, except for its authentication."""

    method: str
    url: Url
    headers: Mapping[str, str]
    body: bytes
    label: str
    """Host and path for messages, without secrets."""
    private_headers: frozenset[str]
    """Headers with secrets, in lower case."""
    public_headers: frozenset[str]
    """Headers that another host may receive after a redirect, in lower case: constants, no credentials."""

    def with_headers(self, added: Mapping[str, str]) -> "OutgoingRequest":
        """Return a copy with private headers added or replaced."""
        names = {name.lower() for name in added}
        others = {name: value for name, value in self.headers.items() if name.lower() not in names}
        return replace(
            self,
            headers={**others, **added},
            private_headers=self.private_headers | names,
            public_headers=self.public_headers - names,
        )

    def with_idempotency_key(self, key: str) -> "OutgoingRequest":
        """Return a copy with the header, unless the request only reads or the tool sets its own."""
        names = {name.lower() for name in self.headers}
        if not key or self.method in SAFE_METHODS or IDEMPOTENCY_KEY.lower() in names:
            return self
        return replace(self, headers={**self.headers, IDEMPOTENCY_KEY: key})

    def with_query(self, name: str, value: str) -> "OutgoingRequest":
        """Return a copy with a query parameter added."""
        pair = f"{percent_encode(name)}={percent_encode(value)}"
        query = f"{self.url.query}&{pair}" if self.url.query else pair
        return replace(self, url=replace(self.url, query=query))

    def text(self) -> str:
        """Return the request in readable form, with private headers masked."""
        lines = [f"{self.method} {self.url}"]
        for name, value in self.headers.items():
            lines.append(f"{name}: {MASK if name.lower() in self.private_headers else value}")
        body = truncate_middle(self.body.decode("utf-8", "replace"), MAX_BODY_LENGTH)
        return "\n".join([*lines, "", body] if body else lines)

    def sent_text(self) -> str:
        """Return all that is sent, with secrets."""
        headers = (f"{name}: {value}" for name, value in self.headers.items())
        return "\n".join([str(self.url), *headers, self.body.decode("utf-8", "replace")])

    @property
    def size(self) -> int:
        """The size of path, query and body in bytes."""
        return len(self.url.target) + len(self.body)


def build(request: Mapping[str, Any], values: PlaceholderValues) -> OutgoingRequest:
    """Build a request from its definition.

    Raises:
        InvalidValue: A placeholder has no value or an invalid one.
        ExecutionError: A secret is missing or not allowed for the host.
    """
    scheme, authority, path, query = split_template(request["urlTemplate"])
    destination = parse_url(scheme + authority)
    values.note_destination(destination)
    lookup = values.lookup_for(host := destination.host)
    members = fill_value(dict(request.get("query") or {}), lookup)
    parts = [fill_query(query, lookup) if query else "", _encode_pairs(members)]
    full_query = "&".join(part for part in parts if part)
    headers, private_headers = _fill_headers(request.get("headers") or {}, lookup, values)
    values.hide(*literal_credentials(request.get("headers") or {}, url=request["urlTemplate"]))
    values.hide(*(value for name, value in headers.items() if name.lower() in CREDENTIAL_HEADERS))
    body, content_type = _encode_body(request.get("body"), content_type_of(headers), lookup)
    if content_type and content_type_of(headers) is None:
        headers["Content-Type"] = content_type
    return OutgoingRequest(
        method=request.get("method", "GET"),
        url=parse_url(
            scheme + authority + fill_path(path or "/", lookup) + (full_query and f"?{full_query}")
        ),
        headers=headers,
        body=body,
        label=host + fill_path(path or "/", values.lookup_masked),
        private_headers=private_headers,
        public_headers=_public_headers(request.get("headers") or {}),
    )


def build_redirect(
    outgoing: OutgoingRequest, status: int, location: str, values: PlaceholderValues
) -> tuple[OutgoingRequest, bool]:
    """Return the request that follows a redirect and whether it goes to the same server.

    A request to another server has no body, no credentials and no headers with secrets.

    Raises:
        ExecutionError: The redirect must not be followed.
    """
    try:
        url = parse_url(urljoin(str(outgoing.url), quote(location, safe=printable.strip())).partition("#")[0])
    except ValueError as error:
        reason = values.redact(
            str(error) if isinstance(error, InvalidUrl) else truncate_middle(location, MAX_LOCATION_LENGTH)
        )
        raise ExecutionError(
            Reason.HOST_NOT_ALLOWED, f"Cannot follow the redirect from {outgoing.label}: {reason}"
        ) from None
    if outgoing.url.scheme == "https" and url.scheme == "http":
        message = f"Cannot follow the redirect from {outgoing.label}: it downgrades from https to http."
        raise ExecutionError(Reason.UPSTREAM, message)
    is_same_server = url.host == outgoing.url.host and (
        url.port == outgoing.url.port or (outgoing.url.port, url.port) == (80, 443)
    )
    following = replace(outgoing, url=url, label=values.redact(url.host + url.path))
    if (status == 303 and outgoing.method != "HEAD") or (status in (301, 302) and outgoing.method == "POST"):
        following = _without_body(following, "GET")
    return following if is_same_server else _drop_secrets(following), is_same_server


def _without_body(outgoing: OutgoingRequest, method: str) -> OutgoingRequest:
    headers = {
        name: text for name, text in outgoing.headers.items() if not name.lower().startswith("content-")
    }
    return replace(outgoing, method=method, headers=headers, body=b"")


def _drop_secrets(outgoing: OutgoingRequest) -> OutgoingRequest:
    headers = {
        name: text for name, text in outgoing.headers.items() if name.lower() in outgoing.public_headers
    }
    return _without_body(replace(outgoing, headers=headers), outgoing.method)


def _encode_pairs(members: Mapping[str, Any]) -> str:
    """Encode filled members as a query or a form. The name is repeated for each item of a list."""
    several = ((name, value if isinstance(value, list) else [value]) for name, value in members.items())
    return "&".join(
        f"{percent_encode(name)}={percent_encode(to_text(value))}"
        for name, values in several
        for value in values
        if value is not None
    )


def _fill_headers(
    headers: Mapping[str, str], lookup: Lookup, values: PlaceholderValues
) -> tuple[dict[str, str], frozenset[str]]:
    """Return the filled headers and the names of those that contain a secret."""
    filled = {name: fill_header(text, lookup) for name, text in headers.items()}
    private = (name for name, text in headers.items() if any(map(values.is_secret, placeholder_names(text))))
    return {name: text for name, text in filled.items() if text is not None}, frozenset(
        name.lower() for name in private
    )


def _public_headers(headers: Mapping[str, str]) -> frozenset[str]:
    """Return the names of headers that are neither filled nor credentials."""
    return frozenset(
        name.lower()
        for name, text in headers.items()
        if not list(placeholder_names(text))
        and name.lower() not in CREDENTIAL_HEADERS
        and not list(literal_credentials({name: text}))
    )


def _encode_body(template: Any, content_type: str | None, lookup: Lookup) -> tuple[bytes, str | None]:
    """Return the bytes of the body and its content type."""
    if template is None:
        return b"", None
    value = fill_value(template, lookup, _escape_for(content_type or ""))
    if value is ABSENT:
        value = fill_text(template, lookup)  # raises InvalidValue for the placeholder without a value
    if content_type and content_type.startswith(FORM_TYPE) and isinstance(value, dict):
        return _encode_pairs(value).encode(), content_type
    if isinstance(value, str) and not is_json_type(content_type or ""):
        return value.encode(), content_type or "text/plain; charset=utf-8"
    return encode(value), content_type or "application/json"


def _escape_for(content_type: str) -> Escape:
    """Return the escaping that prevents injection by a value inside a longer text."""
    if content_type.startswith(FORM_TYPE):
        return percent_encode
    return escape_markup if "xml" in content_type or "html" in content_type else str
