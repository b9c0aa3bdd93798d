"""Which addresses a URL that a model wrote may lead to: public ones, and those the operator has listed."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

METADATA = frozenset({IPv4Address("168.63.129.16"), IPv4Address("192.0.0.192")})
"""Cloud metadata services that look public."""
EMBEDDED = {
    IPv6Network("64:ff9b::/96"): 0,
    IPv6Network("64:ff9b:1::/48"): 0,
    IPv6Network("::/96"): 0,
    IPv6Network("2002::/16"): 80,
}
"""Networks whose addresses carry an IPv4 address, and how many bits stand behind it."""


def is_public(address: str) -> bool:
    """Whether an address is on the open internet, also where it carries another one inside."""
    ip = ip_address(address.partition("%")[0])
    return all(one.is_global and not one.is_multicast and one not in METADATA for one in _with_embedded(ip))


def is_listed(host: str, allowed: Sequence[str]) -> bool:
    """Whether the operator has listed a host, by name or as `*.domain`."""
    name = host.rstrip(".").lower()
    return any(fnmatchcase(name, pattern.lower()) for pattern in allowed)


def _with_embedded(ip: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    if isinstance(ip, IPv4Address):
        return [ip]
    inside: list[IPv4Address | IPv6Address] = [
        IPv4Address((int(ip) >> behind) & 0xFFFF_FFFF)
        for network, behind in EMBEDDED.items()
        if ip in network
    ]
    if ip.ipv4_mapped:
        return [ip.ipv4_mapped]
    if ip.teredo:
        inside += ip.teredo
    return [ip, *inside]
