"""Validation of HTTP tool definitions: URLs, headers, authentication and placeholders."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onetool.domain.bundles.bundle import FieldError, InvalidBundle

from .placeholders import (
    MalformedTemplate,
    find_invalid_header_char,
    has_dot_segment,
    placeholder_names,
    sole_placeholder,
)
from .urls import InvalidUrl, is_listed, parse_authority

URL_TEMPLATE = re.compile(r"(https?://)([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?", re.DOTALL)
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
RESERVED_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "expect"}
)
"""Headers that the HTTP client sets; other values would allow request smuggling."""
SIGNED_PARTS = frozenset({"method", "path", "query", "timestamp", "body"})
"""Placeholders in the payload of an HMAC that refer to the request itself."""
STEP_REFERENCE = re.compile(r"steps\.([0-9]+)(\.\w+)*")
URL_EXAMPLE = "Example: https://api.example.com/cities/${city}"
Impl = Mapping[str, Any]


def check_http_impl(impl: Impl, arg_schema: Mapping[str, Any], allowed_hosts: Sequence[str]) -> None:
    """Check everything about a definition that is known before a call.

    Raises:
        InvalidBundle: The definition is invalid; the message names the request.
    """
    for number, request in enumerate(requests_of(impl)):
        where, path = (
            ("request", "request") if impl.get("request") else (f"requests[{number}]", f"requests.{number}")
        )
        try:
            _check_request(request, number, arg_schema, allowed_hosts)
        except (InvalidBundle, MalformedTemplate) as error:
            fields = [field.path for field in error.errors] if isinstance(error, InvalidBundle) else []
            errors = [FieldError(".".join(["httpImpl", path, *fields]), str(error))]
            raise InvalidBundle(f"{where}: {error}", errors=errors) from error


def requests_of(impl: Impl) -> list[Impl]:
    """Return the requests of a definition in order."""
    return [impl["request"]] if impl.get("request") else list(impl.get("requests") or ())


def secret_names(impl: Impl, arg_schema: Mapping[str, Any]) -> list[str]:
    """Return the placeholders that are secrets: neither arguments nor earlier responses."""
    names = {name for request in requests_of(impl) for name in _names(request)}
    return sorted(name for name in names if not is_step(name) and not is_argument(name, arg_schema))


def argument_names(impl: Impl, arg_schema: Mapping[str, Any]) -> list[str]:
    """Return the placeholders that are arguments of the call."""
    names = {name for request in requests_of(impl) for name in _names(request)}
    return sorted(name for name in names if not is_step(name) and is_argument(name, arg_schema))


def is_step(name: str) -> bool:
    """Whether a placeholder name refers to the response of an earlier request."""
    return name.startswith("steps.")


def is_argument(name: str, arg_schema: Mapping[str, Any]) -> bool:
    """Whether a placeholder name, or its part before the first dot, is a declared argument."""
    declared = arg_schema.get("properties") or {}
    return name in declared or name.partition(".")[0] in declared


def split_template(template: str) -> tuple[str, str, str, str | None]:
    """Split a URL template into scheme, authority, path and query.

    Raises:
        InvalidUrl: The template has another scheme, or a fragment.
    """
    match = URL_TEMPLATE.fullmatch(template)
    if not match:
        raise InvalidUrl(f"urlTemplate {template[:200]!r} must start with http:// or https://. {URL_EXAMPLE}")
    scheme, authority, path, query, fragment = match.groups()
    if fragment is not None:
        raise InvalidUrl(
            f"urlTemplate contains the fragment {fragment[:80]!r}, which is never sent. "
            "Remove it, or write # as %23."
        )
    return scheme, authority, path, query


def is_json_type(content_type: str) -> bool:
    """Whether a content type is JSON: `application/json`, `application/problem+json`."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json"))


def content_type_of(headers: Mapping[str, str]) -> str | None:
    """Return the content type header, or None if there is none."""
    return next((value for name, value in headers.items() if name.lower() == "content-type"), None)


def _check_request(request: Impl, number: int, arg_schema: Mapping[str, Any], allowed: Sequence[str]) -> None:
    _check_url(request["urlTemplate"], "urlTemplate", allowed)
    _check_headers(request.get("headers") or {})
    _check_body(request)
    _check_auth(request.get("auth") or {}, allowed)
    for name in _names(request):
        if is_step(name):
            _check_step(name, number)
        elif name.partition(".")[0] == "steps" and not is_argument(name, arg_schema):
            raise InvalidBundle(
                f"${{{name}}} does not refer to a response. Write ${{steps.0}} or ${{steps.0.field}}."
            )


def _check_url(template: str, path: str, allowed: Sequence[str]) -> None:
    """Check the URL at a path of the request."""
    try:
        problem = _find_url_problem(template, allowed)
    except InvalidUrl as error:
        raise InvalidBundle(str(error), path=path) from None
    if problem:
        raise InvalidBundle(f"{path.rpartition('.')[2]} {problem}", path=path)


def _find_url_problem(template: str, allowed: Sequence[str]) -> str:
    """Return what is wrong with a URL, or an empty text.

    Raises:
        InvalidUrl: The template is not a URL.
    """
    _, authority, path, _ = split_template(template)
    if "$" in authority:
        problem = f"has a placeholder in {authority[:200]!r}. The host and port must be literal."
        return f"{problem} Placeholders are allowed in the path, query, headers and body. {URL_EXAMPLE}"
    host, _ = parse_authority(authority)
    if not is_listed(host, allowed):
        listed = ", ".join(allowed) or "none"
        return (
            f"has the host {host!r}, which is not in allowedHosts. Add it to this setting. Listed: {listed}."
        )
    invalid = next((char for char in template if char == "\\" or char <= " " or char == "\x7f"), None)
    if invalid:
        return f"contains {invalid!r}. Percent-encode it. {URL_EXAMPLE}"
    if any(has_dot_segment(segment) for segment in path.split("/")):
        return "has '.' or '..' in its path. Write the resolved path."
    return ""


def _check_headers(headers: Mapping[str, str]) -> None:
    seen: set[str] = set()
    for name, value in headers.items():
        _check_header_name(name, "headers")
        if name.lower() in seen:
            raise InvalidBundle(f"header {name!r} is defined twice. Remove one.", path="headers")
        seen.add(name.lower())
        invalid = find_invalid_header_char(value)
        if invalid:
            raise InvalidBundle(
                f"header {name!r} contains {invalid!r}, which cannot be sent. Remove it.", path="headers"
            )


def _check_header_name(name: str, path: str) -> None:
    if not HEADER_NAME.fullmatch(name):
        raise InvalidBundle(
            f"header name {name!r} is invalid. Allowed: letters, digits and dashes. Example: X-Key", path=path
        )
    if name.lower() in RESERVED_HEADERS or name.lower().startswith("proxy-"):
        raise InvalidBundle(f"header {name!r} is set by OneTool. Remove it.", path=path)


def _check_body(request: Impl) -> None:
    body, kind = request.get("body"), content_type_of(request.get("headers") or {})
    if isinstance(body, str) and sole_placeholder(body) is None and kind and is_json_type(kind):
        hint = 'Write it as JSON, as in {"city": "${city}"}, so that values are quoted.'
        raise InvalidBundle(f"body is a string, but its content type is {kind!r}. {hint}", path="body")


def _check_auth(auth: Impl, allowed: Sequence[str]) -> None:
    if auth.get("type") == "oauth2":
        _check_url(auth["tokenUrl"], "auth.tokenUrl", allowed)
        required = ("clientId", "clientSecret") if _grant(auth) == "client_credentials" else ("refreshToken",)
        missing = [field for field in required if not auth.get(field)]
        if missing:
            raise InvalidBundle(
                f"auth with grant {_grant(auth)!r} requires {missing[0]}. Example: ${{MY_SECRET}}",
                path=f"auth.{missing[0]}",
            )
    for field, name in _auth_headers(auth).items():
        _check_header_name(name, f"auth.{field}")


def _auth_headers(auth: Impl) -> dict[str, str]:
    """Return the fields that contain names of headers, with these names."""
    if auth.get("type") == "apiKey" and auth.get("in") != "query":
        return {"name": auth["name"]}
    if auth.get("type") == "hmac":
        timestamp = auth.get("timestampHeader") or "X-Timestamp"
        return {"header": auth.get("header", "X-Signature"), "timestampHeader": timestamp}
    return {}


def _grant(auth: Impl) -> str:
    return str(auth.get("grant", "client_credentials"))


def _check_step(name: str, number: int) -> None:
    match = STEP_REFERENCE.fullmatch(name)
    if not match:
        raise InvalidBundle(
            f"${{{name}}} does not refer to a response. Write ${{steps.0}} or ${{steps.0.field}}."
        )
    if int(match.group(1)) >= number:
        earlier = f"Earlier requests: 0 to {number - 1}." if number else "No request runs before the first."
        raise InvalidBundle(f"${{{name}}} refers to a request that has not run yet. {earlier}")


def _names(request: Impl) -> Iterator[str]:
    """Yield the placeholder names of a request, without those that refer to the request itself."""
    for field in ("urlTemplate", "query", "headers", "body"):
        yield from placeholder_names(request.get(field))
    for field, value in (request.get("auth") or {}).items():
        if field in ("type", "in", "grant", "algorithm", "encoding"):
            continue
        request_parts = SIGNED_PARTS if field == "payload" else frozenset[str]()
        yield from (name for name in placeholder_names(value) if name not in request_parts)
