"""Where a tool may be sent: URLs read strictly, so that nobody after us finds another host in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

URL = re.compile(r"(https?)://([^/?#]*)(/[^?#]*)?(\?[^#]*)?(#.*)?")
AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
LONGEST_LABEL, LONGEST_HOST, LAST_PORT = 63, 253, 65_535
PORTS = {"http": 80, "https": 443}


class BadUrl(ValueError):
    """A URL that is not read as it stands: the message says what is wrong and what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """The parts of a URL; the host in its one normal form."""

    scheme: str
    host: str
    port: int
    path: str
    query: str | None

    @property
    def target(self) -> str:
        """Path and query, as the request line has them."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


def parse_url(text: str) -> Url:
    """Read an absolute URL.

    Raises BadUrl for all that two readers could understand differently.
    """
    found = URL.fullmatch(text)
    if not found:
        raise BadUrl(f"{text[:200]!r} does not start with http:// or https://")
    scheme, authority, path, query, _ = found.groups()
    host, port = parse_authority(authority)
    odd = next((char for char in text if char == "\\" or not 0x20 < ord(char) < 0x7F), None)
    if odd:
        raise BadUrl(f"the URL holds {odd!r}. Write it percent-encoded.")
    return Url(
        scheme=scheme,
        host=host,
        port=PORTS[scheme] if port is None else port,
        path=path or "/",
        query=query[1:] if query else None,
    )


def parse_authority(authority: str) -> tuple[str, int | None]:
    """Read `host` or `host:port`.

    Raises BadUrl.
    """
    if "@" in authority:
        raise BadUrl("the URL holds a user name or password before the host. Use auth instead.")
    found = AUTHORITY.fullmatch(authority)
    if not found:
        raise BadUrl(f"{authority[:200]!r} is not a host. Example: api.example.com or api.example.com:8443")
    host, port = found.group(1), found.group(2)
    if port is not None and not 0 < int(port) <= LAST_PORT:
        raise BadUrl(f"port {port} does not exist. Valid: 1 to {LAST_PORT}.")
    return _checked_host(host), None if port is None else int(port)


def normal_host(host: str) -> str:
    """A host in the form in which hosts are compared: lower case, ASCII, addresses in their short form."""
    name = host.lower().removeprefix("[").removesuffix("]").removesuffix(".")
    try:
        return str(ip_address(name))
    except ValueError:
        return name if name.isascii() else _ascii(name)


def is_listed(host: str, allowed: Sequence[str]) -> bool:
    """Whether the operator has listed a host: by name, as `*.domain`, or with `*` as any."""
    name = normal_host(host)
    return is_listed_exactly(host, allowed) or any(
        pattern == "*" or (pattern.startswith("*.") and name.endswith(normal_host(pattern[1:])))
        for pattern in allowed
    )


def is_listed_exactly(host: str, allowed: Sequence[str]) -> bool:
    """Whether the very host is listed, not only a pattern that it matches."""
    name = normal_host(host)
    return any(name == normal_host(entry) for entry in allowed)


def _checked_host(text: str) -> str:
    host = normal_host(text)
    if text.startswith("["):
        _check_address(text, host, IPv6Address)
        return host
    labels = host.split(".")
    if NUMBER.fullmatch(labels[-1]):  # some readers take 127.1, 0x7f.1 and 2130706433 for addresses
        _check_address(text, host, IPv4Address)
        return host
    is_name = all(LABEL.fullmatch(label) and len(label) <= LONGEST_LABEL for label in labels)
    if not is_name or len(host) > LONGEST_HOST:
        raise BadUrl(f"{text[:200]!r} is not a host. Example: api.example.com")
    return host


def _check_address(text: str, host: str, kind: type[IPv4Address | IPv6Address]) -> None:
    try:
        kind(host)
    except ValueError:
        example = "127.0.0.1" if kind is IPv4Address else "[::1]"
        raise BadUrl(f"{text[:200]!r} is not an address in its full form. Example: {example}") from None


def _ascii(name: str) -> str:
    try:
        return name.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return name
