"""The status of chat model providers: their model, and the source of their API key."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from onetool.domain.chat.providers import PROVIDERS, SCRIPTED, provider_defaults
from onetool.domain.errors import SettingsError
from onetool.domain.text.suggestions import did_you_mean

from .configuration import Configuration
from .schema import Settings

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


def key_secret_name(settings: Settings, provider: str) -> str:
    """Return the name of the secret that holds the API key of a provider.

    Raises:
        SettingsError: The provider is unknown, needs no key, or has no `key_secret`.
    """
    configured = settings.providers.get(provider)
    if configured is not None and configured.key_secret:
        return configured.key_secret
    known = PROVIDERS.get(provider)
    if known is not None and known.keys:
        return known.keys[0]
    if configured is not None and known is None:
        raise SettingsError(
            f"providers.{provider} has no key_secret. Add to onetool.yaml: key_secret: NAME_OF_THE_SECRET"
        )
    with_key = [name for name, entry in PROVIDERS.items() if entry.keys]
    reason = "needs no key" if known or provider == SCRIPTED else "is not a known provider"
    raise SettingsError(
        f"{provider!r} {reason}.{did_you_mean(provider, with_key)} "
        f"Providers with a key: {', '.join(with_key)}."
    )


def check_provider(settings: Settings, provider: str) -> None:
    """Check that a provider can be the default.

    Raises:
        SettingsError: There is no such provider.
    """
    supported = [*settings.providers, *PROVIDERS, SCRIPTED]
    if provider not in supported:
        raise SettingsError(f"Provider not supported: {provider}.{did_you_mean(provider, supported)}")


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
