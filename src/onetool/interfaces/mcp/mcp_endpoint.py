"""Endpoints of the MCP interface: all tools, one server, or the part of the tools that a profile names."""

from typing import NamedTuple

from onetool.domain.calls.caller import Caller
from onetool.domain.identity.principal import current_principal
from onetool.domain.text.suggestions import did_you_mean
from onetool.runtime.runtime import Runtime

from .server import OneToolServer, create_server


class McpEndpoint(NamedTuple):
    """What the clients of one endpoint see."""

    expose: str | None = None
    """run, search or all; None for the one in the settings."""
    only: str | None = None
    """The name of the one server to pass on as it is; None for all tools."""
    profile: str | None = None
    """The name of the profile that restricts the clients; None if none does. An empty name is unknown."""


class UnknownEndpoint(Exception):
    """An endpoint names a server or a profile that does not exist."""

    def __init__(self, kind: str, name: str, names: list[str]) -> None:
        known = f"{kind}s: {', '.join(names)}." if names else "There are none."
        super().__init__(f"{kind} {name!r} not found.{did_you_mean(name, names)} {known}")


def check_endpoint(runtime: Runtime, endpoint: McpEndpoint) -> None:
    """Check that the server and the profile of an endpoint exist.

    Raises:
        UnknownEndpoint: One of them does not.
    """
    state = runtime.state
    profiles = state.configuration.settings.profiles
    if endpoint.profile is not None and endpoint.profile not in profiles:
        raise UnknownEndpoint("Profile", endpoint.profile, list(profiles))
    principal = current_principal().with_profile(endpoint.profile or "")
    policy, caller = state.catalog.policy, Caller(interface="mcp", principal=principal)
    servers = [name for name in state.servers if policy.pack_rule(name, caller) is None]
    if endpoint.only is not None and endpoint.only not in servers:
        raise UnknownEndpoint("Server", endpoint.only, servers)


def create_endpoint(runtime: Runtime, endpoint: McpEndpoint, session: str = "") -> OneToolServer:
    """Create the MCP server of an endpoint.

    session: the id of the only client; empty if the transport tells clients apart.
    """
    settings = runtime.state.configuration.settings
    profile = settings.profiles.get(endpoint.profile or "")
    expose = endpoint.expose or (profile.expose if profile else None) or settings.expose
    return create_server(runtime, expose, session, endpoint.only or "", endpoint.profile or "")
