"""Chat models by name: what the settings say of them, their keys, and the one that is used by default."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from onetool.domain.errors import SettingsError
from onetool.domain.hosts import BadUrl, is_listed, parse_url
from onetool.domain.nearest import did_you_mean
from onetool.domain.providers import PROVIDERS, SCRIPTED, Known
from onetool.ports import ChatModel
from onetool.settings.configuration import Configuration
from onetool.settings.schema import Provider
from onetool.settings.secrets import Secret
from onetool.threads import Threads

NONE = (
    "No chat model is set up. Give one a key: onetool auth login openai. "
    "Or try things out without one: onetool ask --provider scripted 'What time is it?'"
)


class ConfiguredModels:
    """Those of the settings, those that OneTool knows, and the scripted one."""

    def __init__(
        self,
        configuration: Configuration,
        env: Mapping[str, str],
        threads: Threads,
        new_id: Callable[[], str],
    ) -> None:
        self._settings, self._secrets = configuration.settings, configuration.secrets
        self._chosen = configuration.provider
        self._cwd, self._env = configuration.places.cwd, env
        self._threads, self._new_id = threads, new_id

    def names(self) -> Sequence[str]:
        """Return what they are called, the one that is used by default first."""
        default = self.default()
        every = dict.fromkeys([*self._settings.providers, *PROVIDERS, SCRIPTED])
        return sorted(every, key=lambda name: name != default)

    def open(
        self, name: str | None = None, model: str | None = None, *, script: str | None = None
    ) -> ChatModel:
        """Return one by its provider's name, or the default one."""
        chosen = name or self.default()
        if chosen is None:
            raise SettingsError(NONE)
        if chosen == SCRIPTED:
            return self._scripted(script)
        if chosen not in (known := self.names()):
            names = ", ".join(sorted(known))
            raise SettingsError(
                f"Provider not supported: {chosen}.{did_you_mean(chosen, known)} Known: {names}."
            )
        return self._make(chosen, model)

    def default(self) -> str | None:
        """Return what the user chose, else the first of the settings, else the first whose key is there."""
        if self._chosen:
            return self._chosen
        if self._settings.providers:
            return next(iter(self._settings.providers))
        found = (name for name, known in PROVIDERS.items() if self._has_key(known))
        return next(found, None)

    def _has_key(self, known: Known) -> bool:
        return any(name in self._secrets or self._env.get(name) for name in known.keys)

    def _make(self, name: str, model: str | None) -> ChatModel:
        from onetool.chat_models.endpoint import Endpoint

        written = self._settings.providers.get(name, Provider())
        known = PROVIDERS.get(name, Known(base_url="", model=""))
        if not (url := written.base_url or known.base_url):
            raise SettingsError(f"providers.{name} has no base_url. Write where it is served.")
        endpoint = Endpoint(
            name=name,
            model=model or written.model or known.model,
            base_url=url,
            key=self._key(written, known, url),
        )
        return _adapter(name)(endpoint, self._threads, self._new_id)

    def _key(self, written: Provider, known: Known, url: str) -> str:
        """The key that may be sent to this address."""
        if written.key:
            if written.key not in self._secrets:
                raise SettingsError(f"There is no secret {written.key!r}. Add it to secrets.yaml.")
            return _for_host(self._secrets[written.key], url)
        for name in known.keys:
            if name in self._secrets:
                return _for_host(self._secrets[name], url)
        return next((self._env[name] for name in known.keys if self._env.get(name)), "")

    def _scripted(self, script: str | None) -> ChatModel:
        from onetool.chat_models.script import read_script
        from onetool.chat_models.scripted import ScriptedChat

        written = script or self._settings.providers.get(SCRIPTED, Provider()).model
        if written is None:
            return ScriptedChat()
        return ScriptedChat(read_script(self._cwd / Path(written).expanduser()), model=written)


def _for_host(secret: Secret, url: str) -> str:
    """The value of a secret, if it may be sent there."""
    try:
        host = parse_url(url).host
    except BadUrl as error:
        raise SettingsError(f"base_url {url!r} cannot be used: {error}") from None
    if secret.hosts is not None and not is_listed(host, secret.hosts):
        raise SettingsError(
            f"The secret {secret.name!r} may not be sent to {host!r}. Add it to the secret's hosts."
        )
    return secret.value


def _adapter(name: str) -> Callable[..., ChatModel]:
    """The adapter for a provider; whoever is not known by name speaks as OpenAI does."""
    if name == "anthropic":
        from onetool.chat_models.anthropic import AnthropicChat

        return AnthropicChat
    if name == "gemini":
        from onetool.chat_models.gemini import GeminiChat

        return GeminiChat
    if name == "ollama":
        from onetool.chat_models.ollama import OllamaChat

        return OllamaChat
    from onetool.chat_models.openai import OpenAIChat

    return OpenAIChat
