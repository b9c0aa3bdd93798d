"""Which addresses a URL that a model wrote may lead to: public ones, and those the operator has listed."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from onetool.domain.hosts import is_listed, is_listed_exactly

__all__ = ["is_listed", "is_public", "is_reachable"]

Address = IPv4Address | IPv6Address
METADATA: frozenset[Address] = frozenset(
    map(ip_address, ("168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254"))
)
"""Cloud metadata services that are not link-local."""
EMBEDDED = {
    IPv6Network("64:ff9b::/96"): 0,
    IPv6Network("64:ff9b:1::/48"): 0,
    IPv6Network("::/96"): 0,
    IPv6Network("::ffff:0:0:0/96"): 0,
    IPv6Network("2002::/16"): 80,
}
"""Networks whose addresses carry an IPv4 address, and how many bits stand behind it."""


def is_reachable(address: str, host: str, allowed: Sequence[str]) -> bool:
    """Whether the connection to a host may be made to this address of it.

    Public: always. Private or loopback: where the very host is listed, not only a pattern. Link-local and
    metadata: where that address itself is listed, whatever name led there.
    """
    ip = _parse(address)
    if any(one.is_link_local or one in METADATA for one in _with_embedded(ip)):
        return is_listed_exactly(str(ip), allowed)
    return is_public(address) or is_listed_exactly(host, allowed)


def is_public(address: str) -> bool:
    """Whether an address is on the open internet, also where it carries another one inside."""
    return all(
        one.is_global and not one.is_multicast and one not in METADATA
        for one in _with_embedded(_parse(address))
    )


def _parse(address: str) -> Address:
    return ip_address(address.partition("%")[0])


def _with_embedded(ip: Address) -> list[Address]:
    if isinstance(ip, IPv4Address):
        return [ip]
    inside: list[Address] = [
        IPv4Address((int(ip) >> behind) & 0xFFFF_FFFF)
        for network, behind in EMBEDDED.items()
        if ip in network
    ]
    if ip.ipv4_mapped:
        return [ip.ipv4_mapped]
    if ip.teredo:
        inside += ip.teredo
    return [ip, *inside]
