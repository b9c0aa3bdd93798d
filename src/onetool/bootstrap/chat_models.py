"""The configured chat models: their settings, their API keys, and the default."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from onetool.domain.chat.providers import (
    PROVIDERS,
    SCRIPTED,
    ChatProtocol,
    KnownProvider,
    provider_defaults,
)
from onetool.domain.errors import SettingsError
from onetool.domain.http.urls import InvalidUrl, is_listed, parse_url
from onetool.domain.secrets.secret import Secret
from onetool.domain.text.suggestions import did_you_mean
from onetool.ports import ChatModel
from onetool.settings.configuration import Configuration
from onetool.settings.schema import ProviderSettings
from onetool.threads import Threads

NO_PROVIDER = (
    "No chat model is set up. Store an API key: onetool auth login openai. "
    "Or try it without a model: onetool ask --provider scripted 'What time is it?'"
)


class ConfiguredChatModels:
    """The configured, the known and the scripted providers."""

    def __init__(
        self,
        configuration: Configuration,
        env: Mapping[str, str],
        threads: Threads,
        new_id: Callable[[], str],
    ) -> None:
        self._settings, self._secrets = configuration.settings, configuration.secrets
        self._preferred = configuration.provider
        self._cwd, self._env = configuration.paths.cwd, env
        self._threads, self._new_id = threads, new_id

    def names(self) -> Sequence[str]:
        """Return the provider names, the default first."""
        default = self.default()
        names = dict.fromkeys([*self._settings.providers, *PROVIDERS, SCRIPTED])
        return sorted(names, key=lambda name: name != default)

    def open(
        self, name: str | None = None, model: str | None = None, *, script: str | None = None
    ) -> ChatModel:
        """Return a chat model of the named or default provider."""
        provider = name or self.default()
        if provider is None:
            raise SettingsError(NO_PROVIDER)
        if provider == SCRIPTED:
            return self._scripted(script)
        if provider not in (names := self.names()):
            raise SettingsError(
                f"Provider not supported: {provider}.{did_you_mean(provider, names)} "
                f"Known: {', '.join(sorted(names))}."
            )
        return self._create(provider, model)

    def default(self) -> str | None:
        """Return the user's choice, else the first configured provider, else the first with an API key."""
        if self._preferred:
            return self._preferred
        if self._settings.providers:
            return next(iter(self._settings.providers))
        return next((name for name, provider in PROVIDERS.items() if self._has_key(provider)), None)

    def _has_key(self, provider: KnownProvider) -> bool:
        return any(name in self._secrets or self._env.get(name) for name in provider.keys)

    def _create(self, name: str, model: str | None) -> ChatModel:
        from onetool.chat_models.endpoint import Endpoint
        from onetool.chat_models.registry import load_adapter

        settings = self._settings.providers.get(name, ProviderSettings())
        defaults = provider_defaults(name, settings.protocol)
        if not (url := settings.base_url or defaults.base_url):
            raise SettingsError(
                f"providers.{name} has no base_url. Set it to the URL of the provider's API, or set protocol "
                f"to one of {', '.join(PROVIDERS)} to use its public API."
            )
        endpoint = Endpoint(
            name=name,
            model=model or settings.model or defaults.model,
            base_url=url,
            key=self._key(settings, defaults, url),
            images=_takes_images(defaults.protocol, url) if settings.images is None else settings.images,
        )
        return load_adapter(defaults.protocol)(endpoint, self._threads, self._new_id)

    def _key(self, settings: ProviderSettings, defaults: KnownProvider, url: str) -> str:
        """Return the API key to send to this URL, or an empty string."""
        for name in (settings.key_secret,) if settings.key_secret else defaults.keys:
            if reason := self._secrets.unavailable.get(name):  # another key must not be used instead
                raise SettingsError(f"Secret {name!r} is unavailable: {reason}.")
        if settings.key_secret:
            if settings.key_secret not in self._secrets:
                hint = f"Add it {self._secrets.how_to_add(settings.key_secret)}"
                raise SettingsError(f"There is no secret {settings.key_secret!r}. {hint}")
            return _value_for(self._secrets[settings.key_secret], url)
        for name in defaults.keys:
            if name in self._secrets:
                return _value_for(self._secrets[name], url)
        return next((self._env[name] for name in defaults.keys if self._env.get(name)), "")

    def _scripted(self, script: str | None) -> ChatModel:
        from onetool.chat_models.script import read_script
        from onetool.chat_models.scripted import ScriptedChat

        path = script or self._settings.providers.get(SCRIPTED, ProviderSettings()).model
        if path is None:
            return ScriptedChat()
        return ScriptedChat(read_script(self._cwd / Path(path).expanduser()), model=path)


def _takes_images(protocol: ChatProtocol, url: str) -> bool:
    """Whether a model takes images by default. Many models of servers with the API of OpenAI do not."""
    is_own_url = url.rstrip("/") == PROVIDERS[protocol].base_url
    return protocol in ("anthropic", "gemini") or (protocol == "openai" and is_own_url)


def _value_for(secret: Secret, url: str) -> str:
    """Return the value of a secret if it may be sent to this URL."""
    try:
        host = parse_url(url).host
    except InvalidUrl as error:
        raise SettingsError(f"Invalid base_url {url!r}: {error}") from None
    if secret.hosts is not None and not is_listed(host, secret.hosts):
        raise SettingsError(
            f"The secret {secret.name!r} may not be sent to {host!r}. Add the host to the secret's hosts."
        )
    return secret.value
