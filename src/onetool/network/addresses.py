"""Which IP addresses a URL may lead to: public ones, and those that the operator has listed."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from onetool.domain.http.urls import is_listed, is_listed_exactly

__all__ = ["is_listed", "is_public", "is_reachable"]

Address = IPv4Address | IPv6Address
METADATA_ADDRESSES: frozenset[Address] = frozenset(
    map(ip_address, ("168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "fd20:ce::254"))
)
"""Addresses of cloud metadata services that are not link-local."""
NETWORKS_WITH_IPV4 = {
    IPv6Network("64:ff9b::/96"): 0,
    IPv6Network("64:ff9b:1::/48"): 0,
    IPv6Network("::/96"): 0,
    IPv6Network("::ffff:0:0:0/96"): 0,
    IPv6Network("2002::/16"): 80,
}
"""Networks whose addresses contain an IPv4 address, and the number of bits that follow it."""
PUBLIC_IPV6, DOCUMENTATION_IPV6, NAT64 = map(IPv6Network, ("2000::/3", "3fff::/20", "64:ff9b::/96"))


def is_reachable(address: str, host: str, allowed: Sequence[str]) -> bool:
    """Whether a connection to a host may use this address of it.

    - Public addresses: always.
    - Private and loopback addresses: only if the host itself is listed; a pattern is not enough.
    - Link-local and metadata addresses: only if the address itself is listed, whatever the host.
    """
    ip = _parse(address)
    if any(candidate.is_link_local or candidate in METADATA_ADDRESSES for candidate in _with_embedded(ip)):
        return is_listed_exactly(str(ip), allowed)
    return is_public(address) or is_listed_exactly(host, allowed)


def is_public(address: str) -> bool:
    """Whether an address, and every address embedded in it, is on the public internet."""
    return all(
        candidate.is_global
        and not candidate.is_multicast
        and candidate not in METADATA_ADDRESSES
        and (isinstance(candidate, IPv4Address) or _is_assigned(candidate))
        for candidate in _with_embedded(_parse(address))
    )


def _is_assigned(ip: IPv6Address) -> bool:
    """Whether an IPv6 address is in a range for public hosts. Python counts unassigned ranges as global."""
    return (ip in PUBLIC_IPV6 and ip not in DOCUMENTATION_IPV6) or ip in NAT64


def _parse(address: str) -> Address:
    return ip_address(address.partition("%")[0])


def _with_embedded(ip: Address) -> list[Address]:
    """Return an address and the addresses embedded in it. A mapped IPv4 address replaces its IPv6 form."""
    if isinstance(ip, IPv4Address):
        return [ip]
    embedded: list[Address] = [
        IPv4Address((int(ip) >> shift) & 0xFFFF_FFFF)
        for network, shift in NETWORKS_WITH_IPV4.items()
        if ip in network
    ]
    if ip.ipv4_mapped:
        return [ip.ipv4_mapped]
    if ip.teredo:
        embedded += ip.teredo
    return [ip, *embedded]
