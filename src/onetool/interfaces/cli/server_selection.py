"""Names of servers on the command line."""

from collections.abc import Mapping, Sequence

import click

from onetool.domain.text.suggestions import did_you_mean
from onetool.settings.server_schema import ServerSettings

from .command import load_current_configuration


def select_servers(names: Sequence[str], *, only_enabled: bool = True) -> list[str]:
    """Validate server names and return them; without names, return all enabled servers.

    Raises:
        BadParameter: A server is unknown or disabled.
    """
    configured: Mapping[str, ServerSettings] = load_current_configuration().settings.servers
    for name in names:
        if name not in configured:
            raise click.BadParameter(f"unknown server {name!r}.{did_you_mean(name, configured)}")
        if only_enabled and not configured[name].enabled:
            raise click.BadParameter(f"server {name!r} is disabled in the settings.")
    return list(names) or [name for name, server in configured.items() if server.enabled]
