"""Resolution of host names to checked addresses, as protection against SSRF and DNS rebinding."""

import socket
from collections.abc import Sequence
from ipaddress import ip_address

from .addresses import is_reachable

MAX_PORT = 65_535


class HostNotAllowed(ConnectionError):
    """A URL leads to an address that is neither public nor listed."""


def resolve(host: str, port: int, allowed: Sequence[str]) -> list[str]:
    """Resolve a host once and check every address.

    Connect to the returned addresses only: resolving the name again could give unchecked addresses.

    Raises:
        HostNotAllowed: An address is not allowed for this host.
        OSError: The port is invalid, or the host cannot be resolved.
    """
    if not 0 < port <= MAX_PORT:  # the system would truncate it to 16 bits and connect to another port
        raise OSError(f"Port {port} does not exist. Valid: 1 to {MAX_PORT}.")
    addresses = _addresses(host, port)
    rejected = next((address for address in addresses if not is_reachable(address, host, allowed)), None)
    if rejected is not None:
        entry = rejected if is_reachable(rejected, host, [*allowed, rejected]) else host
        problem = f"{host!r} resolves to {rejected}, which is not public."
        raise HostNotAllowed(f"{problem} To allow it, add {entry!r} itself to the setting allowedHosts.")
    return addresses


def _addresses(host: str, port: int) -> list[str]:
    try:
        return [str(ip_address(host))]
    except ValueError:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in infos))
