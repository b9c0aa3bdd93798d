"""Chat model providers that OneTool knows by name, with their defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

SCRIPTED = "scripted"
"""Name of the provider that replays a script offline, for tests and experiments."""
ChatProtocol = Literal["openai", "anthropic", "gemini", "ollama"]
"""The API that a provider implements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProvider:
    """The defaults of a provider; settings override them."""

    base_url: str = ""
    model: str = ""
    protocol: ChatProtocol = "openai"
    keys: tuple[str, ...] = ()
    """Names of its API key in the secrets or the environment. Empty: no key required."""


PROVIDERS: Mapping[str, KnownProvider] = {
    "openai": KnownProvider(
        base_url="https://api.openai.com/v1", model="gpt-5.4-mini", keys=("OPENAI_API_KEY",)
    ),
    "anthropic": KnownProvider(
        base_url="https://api.anthropic.com",
        model="claude-sonnet-5-5",
        protocol="anthropic",
        keys=("ANTHROPIC_API_KEY",),
    ),
    "gemini": KnownProvider(
        base_url="https://generativelanguage.googleapis.com",
        model="gemini-3.8-flash",
        protocol="gemini",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "ollama": KnownProvider(base_url="http://127.0.0.1:11434", model="llama3.2", protocol="ollama"),
}


def provider_defaults(name: str, protocol: ChatProtocol | None = None) -> KnownProvider:
    """Return the defaults of a provider, given the protocol in its settings.

    A provider that OneTool does not know has the URL and the model of the protocol's own provider, but never
    its key: the name of the key belongs to the known provider.
    """
    known = PROVIDERS.get(name)
    if protocol is None:
        return known or KnownProvider()
    if known is not None:
        return replace(known, protocol=protocol)
    return replace(PROVIDERS[protocol], keys=())
