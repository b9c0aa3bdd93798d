"""Strict URL parsing, so that no other parser sees a different host, and the list of allowed hosts."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

URL = re.compile(r"(https?)://([^/?#]*)(/[^?#]*)?(\?[^#]*)?(#.*)?")
AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")
NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
MAX_LABEL_LENGTH, MAX_HOST_LENGTH, MAX_PORT = 63, 253, 65_535
DEFAULT_PORTS = {"http": 80, "https": 443}


class InvalidUrl(ValueError):
    """A URL is invalid or ambiguous."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """The parts of a URL, with the host in normal form."""

    scheme: str
    host: str
    port: int
    path: str
    query: str | None

    @property
    def target(self) -> str:
        """The path and query, as in a request line."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


def parse_url(text: str) -> Url:
    """Parse an absolute HTTP or HTTPS URL.

    Raises:
        InvalidUrl: The URL is invalid, or parsers could interpret it differently.
    """
    match = URL.fullmatch(text)
    if not match:
        raise InvalidUrl(f"{text[:200]!r} does not start with http:// or https://")
    scheme, authority, path, query, _ = match.groups()
    host, port = parse_authority(authority)
    invalid = next((char for char in text if char == "\\" or not 0x20 < ord(char) < 0x7F), None)
    if invalid:
        raise InvalidUrl(f"the URL contains {invalid!r}. Percent-encode it.")
    return Url(
        scheme=scheme,
        host=host,
        port=DEFAULT_PORTS[scheme] if port is None else port,
        path=path or "/",
        query=query[1:] if query else None,
    )


def parse_authority(authority: str) -> tuple[str, int | None]:
    """Parse `host` or `host:port`.

    Raises:
        InvalidUrl: The host or the port is invalid, or there is a user name.
    """
    if "@" in authority:
        raise InvalidUrl("the URL contains a user name or password. Use auth instead.")
    match = AUTHORITY.fullmatch(authority)
    if not match:
        raise InvalidUrl(
            f"{authority[:200]!r} is not a host. Example: api.example.com or api.example.com:8443"
        )
    host, port = match.group(1), match.group(2)
    if port is not None and not 0 < int(port) <= MAX_PORT:
        raise InvalidUrl(f"port {port} is out of range. Valid: 1 to {MAX_PORT}.")
    return _check_host(host), None if port is None else int(port)


def normalize_host(host: str) -> str:
    """Return a host in the form used for comparison: lower case, ASCII, compressed IP addresses."""
    name = host.lower().removeprefix("[").removesuffix("]").removesuffix(".")
    try:
        return str(ip_address(name))
    except ValueError:
        return name if name.isascii() else _to_ascii(name)


def is_listed(host: str, allowed: Sequence[str]) -> bool:
    """Whether a host is in the list of allowed hosts: by name, through `*.domain`, or through `*`."""
    name = normalize_host(host)
    return is_listed_exactly(host, allowed) or any(
        pattern == "*" or (pattern.startswith("*.") and name.endswith(normalize_host(pattern[1:])))
        for pattern in allowed
    )


def is_listed_exactly(host: str, allowed: Sequence[str]) -> bool:
    """Whether a host is listed by its exact name, not only through a pattern."""
    name = normalize_host(host)
    return any(name == normalize_host(entry) for entry in allowed)


def how_to_allow(host: str, allowed: Sequence[str], *, is_hosted: bool = False) -> str:
    """Return a sentence that says how a host is added to the setting `allowedHosts`, which has `allowed`.

    >>> how_to_allow("127.0.0.1", ["api.example.com"])
    'Add it with: onetool config set allowedHosts api.example.com,127.0.0.1'
    >>> how_to_allow("127.0.0.1", [], is_hosted=True)
    'The operator adds it to the settings of the workspace with: onetool admin settings set'
    """
    if is_hosted:
        return "The operator adds it to the settings of the workspace with: onetool admin settings set"
    return f"Add it with: onetool config set allowedHosts {shlex.quote(','.join([*allowed, host]))}"


def _check_host(text: str) -> str:
    host = normalize_host(text)
    if text.startswith("["):
        _check_address(text, host, IPv6Address)
        return host
    labels = host.split(".")
    if NUMERIC_LABEL.fullmatch(labels[-1]):  # some parsers accept 127.1, 0x7f.1 and 2130706433 as addresses
        _check_address(text, host, IPv4Address)
        return host
    is_name = all(LABEL.fullmatch(label) and len(label) <= MAX_LABEL_LENGTH for label in labels)
    if not is_name or len(host) > MAX_HOST_LENGTH:
        raise InvalidUrl(f"{text[:200]!r} is not a host. Example: api.example.com")
    return host


def _check_address(text: str, host: str, kind: type[IPv4Address | IPv6Address]) -> None:
    try:
        kind(host)
    except ValueError:
        example = "127.0.0.1" if kind is IPv4Address else "[::1]"
        raise InvalidUrl(
            f"{text[:200]!r} is not an IP address in standard notation. Example: {example}"
        ) from None


def _to_ascii(name: str) -> str:
    try:
        return name.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return name


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
