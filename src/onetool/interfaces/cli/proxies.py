"""The option with the proxies that a server trusts."""

from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

import click


class ProxiesType(click.ParamType[tuple[str, ...]]):
    """Addresses and networks, separated by commas."""

    name = "addresses"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the addresses and networks."""
        if isinstance(value, tuple):
            return value
        proxies = tuple(word.strip() for word in value.split(","))
        for proxy in proxies:
            try:
                ip_network(proxy)
            except ValueError:
                self.fail(
                    f"{proxy!r} is neither an address nor a network. "
                    "Example: --forwarded-allow-ips 127.0.0.1,10.0.0.0/8",
                    param,
                    ctx,
                )
        return proxies


proxies_option: Callable[[Any], Any] = click.option(
    "--forwarded-allow-ips",
    "proxies",
    type=ProxiesType(),
    default=(),
    metavar="ADDRESSES",
    help="Addresses or networks of proxies, separated by commas. What they send in X-Forwarded-For is the "
    "client's address. Default: none; the header is ignored.",
)
