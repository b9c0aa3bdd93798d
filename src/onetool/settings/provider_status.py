"""The status of chat model providers: their model, and the source of their API key."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from onetool.domain.chat.providers import PROVIDERS, SCRIPTED, provider_defaults

from .configuration import Configuration

KeyLocation = Literal["secrets.yaml", "environment", "missing", "not needed"]


class ProviderStatus(NamedTuple):
    """The configuration of a provider."""

    name: str
    model: str
    key_location: KeyLocation
    """Where the API key was found."""
    key: str
    """The name of the key there, or an empty string."""


def provider_statuses(configuration: Configuration, env: Mapping[str, str]) -> list[ProviderStatus]:
    """Return the status of the configured, the defaults and the scripted providers."""
    names = dict.fromkeys([*configuration.settings.providers, *PROVIDERS, SCRIPTED])
    return [_status(configuration, env, name) for name in names]


def _status(configuration: Configuration, env: Mapping[str, str], name: str) -> ProviderStatus:
    settings = configuration.settings.providers.get(name)
    defaults = provider_defaults(name, settings.protocol if settings else None)
    keys = (settings.key_secret,) if settings and settings.key_secret else defaults.keys
    model = (settings and settings.model) or ("a script" if name == SCRIPTED else defaults.model)
    for key in keys:
        if key in configuration.secrets:
            return ProviderStatus(name, model, "secrets.yaml", key)
    for key in (
        () if settings and settings.key_secret else keys
    ):  # `key_secret` names a secret, not a variable
        if env.get(key):
            return ProviderStatus(name, model, "environment", key)
    return ProviderStatus(name, model, "missing" if keys else "not needed", "")
