"""Rules of HTTP definitions: where their URLs lead, what their placeholders mean, which secrets they use."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .bundle import InvalidBundle
from .hosts import BadUrl, is_listed, parse_authority
from .placeholders import Malformed, is_dotted, names_in, unsendable, whole

SPLIT = re.compile(r"(https?://)([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?", re.DOTALL)
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
OUR_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "expect"}
)
"""Written by whoever sends the request; another value would let one request look like two."""
SIGNED = frozenset({"method", "path", "query", "timestamp", "body"})
"""Names that mean the request itself in what an HMAC signs."""
STEP = re.compile(r"steps\.([0-9]+)(\.\w+)*")
URL_EXAMPLE = "Example: https://api.example.com/cities/${city}"
Impl = Mapping[str, Any]


def check_http_impl(impl: Impl, arg_schema: Mapping[str, Any], allowed_hosts: Sequence[str]) -> None:
    """Check all of a definition that can be known before it is called.

    Raises InvalidBundle.
    """
    for number, request in enumerate(requests_of(impl)):
        where = "request" if impl.get("request") else f"requests[{number}]"
        try:
            _check_request(request, number, arg_schema, allowed_hosts)
        except (InvalidBundle, Malformed, BadUrl) as error:
            raise InvalidBundle(f"{where}: {error}") from error


def requests_of(impl: Impl) -> list[Impl]:
    """The requests of a definition, in order."""
    return [impl["request"]] if impl.get("request") else list(impl.get("requests") or ())


def secret_names(impl: Impl, arg_schema: Mapping[str, Any]) -> list[str]:
    """Names that a definition takes from the secrets: all that are neither arguments nor earlier answers."""
    found = {name for request in requests_of(impl) for name in _names(request)}
    return sorted(name for name in found if not is_step(name) and not is_argument(name, arg_schema))


def argument_names(impl: Impl, arg_schema: Mapping[str, Any]) -> list[str]:
    """Names that a definition takes from the arguments of a call."""
    found = {name for request in requests_of(impl) for name in _names(request)}
    return sorted(name for name in found if not is_step(name) and is_argument(name, arg_schema))


def is_step(name: str) -> bool:
    """Whether a name means the answer of an earlier request."""
    return name.startswith("steps.")


def is_argument(name: str, arg_schema: Mapping[str, Any]) -> bool:
    """Whether a name, or the part before its first dot, is declared as an argument."""
    declared = arg_schema.get("properties") or {}
    return name in declared or name.partition(".")[0] in declared


def split_template(template: str) -> tuple[str, str, str, str | None]:
    """Split a URL template into scheme, authority, path and query.

    Raises BadUrl.
    """
    found = SPLIT.fullmatch(template)
    if not found:
        raise BadUrl(f"urlTemplate {template[:200]!r} must start with http:// or https://. {URL_EXAMPLE}")
    scheme, authority, path, query, fragment = found.groups()
    if fragment is not None:
        raise BadUrl(
            f"urlTemplate holds {fragment[:80]!r}, which no server is sent. Leave it out, or write %23."
        )
    return scheme, authority, path, query


def is_json_type(content_type: str) -> bool:
    """Whether a content type is JSON: `application/json`, `application/problem+json`."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json"))


def content_type_of(headers: Mapping[str, str]) -> str | None:
    """What a definition says about its body; None where it says nothing."""
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
            raise InvalidBundle(f"${{{name}}} names no answer. Write ${{steps.0}} or ${{steps.0.field}}.")


def _check_url(template: str, what: str, allowed: Sequence[str]) -> None:
    _, authority, path, _ = split_template(template)
    if "$" in authority:
        problem = f"{what} has a placeholder in {authority[:200]!r}. The host and port are written out;"
        raise InvalidBundle(f"{problem} placeholders stand in path, query, headers and body. {URL_EXAMPLE}")
    host, _ = parse_authority(authority)
    if not is_listed(host, allowed):
        listed = ", ".join(allowed) or "none"
        raise InvalidBundle(
            f"{what} leads to {host!r}, which is not in allowedHosts. Add it there. Listed: {listed}."
        )
    odd = next((char for char in template if char == "\\" or char <= " " or char == "\x7f"), None)
    if odd:
        raise InvalidBundle(f"{what} holds {odd!r}. Write it percent-encoded. {URL_EXAMPLE}")
    if any(is_dotted(part) for part in path.split("/")):
        raise InvalidBundle(f"{what} has '.' or '..' as a part of its path. Write the path that is meant.")


def _check_headers(headers: Mapping[str, str]) -> None:
    seen: set[str] = set()
    for name, value in headers.items():
        _check_header_name(name)
        if name.lower() in seen:
            raise InvalidBundle(f"header {name!r} is given twice. Keep one.")
        seen.add(name.lower())
        odd = unsendable(value)
        if odd:
            raise InvalidBundle(f"header {name!r} holds {odd!r}, which cannot be sent. Leave it out.")


def _check_header_name(name: str) -> None:
    if not HEADER.fullmatch(name):
        raise InvalidBundle(
            f"header name {name!r} cannot be sent. Allowed: letters, digits and -. Example: X-Key"
        )
    if name.lower() in OUR_HEADERS or name.lower().startswith("proxy-"):
        raise InvalidBundle(f"header {name!r} is written by OneTool itself. Leave it out.")


def _check_body(request: Impl) -> None:
    body, kind = request.get("body"), content_type_of(request.get("headers") or {})
    if isinstance(body, str) and whole(body) is None and kind and is_json_type(kind):
        right = 'Write it as JSON, as in {"city": "${city}"}, so that values are quoted.'
        raise InvalidBundle(f"body is a text, yet its content type is {kind!r}. {right}")


def _check_auth(auth: Impl, allowed: Sequence[str]) -> None:
    if auth.get("type") == "oauth2":
        _check_url(auth["tokenUrl"], "tokenUrl", allowed)
        needed = ("clientId", "clientSecret") if _grant(auth) == "client_credentials" else ("refreshToken",)
        missing = [field for field in needed if not auth.get(field)]
        if missing:
            raise InvalidBundle(
                f"auth with grant {_grant(auth)!r} needs {missing[0]}. Example: ${{MY_SECRET}}"
            )
    for name in _auth_headers(auth):
        _check_header_name(name)


def _auth_headers(auth: Impl) -> list[str]:
    if auth.get("type") == "apiKey" and auth.get("in") != "query":
        return [auth["name"]]
    if auth.get("type") == "hmac":
        return [auth.get("header", "X-Signature"), auth.get("timestampHeader") or "X-Timestamp"]
    return []


def _grant(auth: Impl) -> str:
    return str(auth.get("grant", "client_credentials"))


def _check_step(name: str, number: int) -> None:
    found = STEP.fullmatch(name)
    if not found:
        raise InvalidBundle(f"${{{name}}} names no answer. Write ${{steps.0}} or ${{steps.0.field}}.")
    if int(found.group(1)) >= number:
        earlier = f"Earlier ones: 0 to {number - 1}." if number else "There is none before the first."
        raise InvalidBundle(f"${{{name}}} names a request that has not run by then. {earlier}")


def _names(request: Impl) -> Iterator[str]:
    for field in ("urlTemplate", "query", "headers", "body"):
        yield from names_in(request.get(field))
    for field, value in (request.get("auth") or {}).items():
        if field in ("type", "in", "grant", "algorithm", "encoding"):
            continue
        own = SIGNED if field == "payload" else frozenset[str]()
        yield from (name for name in names_in(value) if name not in own)
