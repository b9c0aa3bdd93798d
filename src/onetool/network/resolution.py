"""From a host's name to addresses that were checked: asked once, and refused if any of them is closed."""

import socket
from collections.abc import Sequence
from ipaddress import ip_address

from .addresses import is_reachable


class HostNotAllowed(ConnectionError):
    """A URL leads to an address that is not public and was not listed."""


def resolve(host: str, port: int, allowed: Sequence[str]) -> list[str]:
    """Return the addresses of a host, resolved once; whoever connects must use these and not ask again.

    Raises HostNotAllowed when any of them may not be reached under this name, OSError when there is none.
    """
    addresses = _addresses(host, port)
    closed = next((one for one in addresses if not is_reachable(one, host, allowed)), None)
    if closed is not None:
        listed = closed if is_reachable(closed, host, [*allowed, closed]) else host
        why = f"{host!r} leads to {closed}, which is not public."
        raise HostNotAllowed(f"{why} Add {listed!r} itself to allowedHosts to reach it.")
    return addresses


def _addresses(host: str, port: int) -> list[str]:
    try:
        return [str(ip_address(host))]
    except ValueError:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
