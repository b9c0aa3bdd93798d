"""The adapter of each protocol. An adapter and its SDK are imported when it is first used."""

from collections.abc import Callable, Mapping
from importlib import import_module

from onetool.ports import ChatModel

ADAPTERS: Mapping[str, tuple[str, str]] = {
    "openai": ("onetool.chat_models.openai", "OpenAIChat"),
    "anthropic": ("onetool.chat_models.anthropic", "AnthropicChat"),
    "gemini": ("onetool.chat_models.gemini", "GeminiChat"),
    "ollama": ("onetool.chat_models.ollama", "OllamaChat"),
}
"""The module and the class of the adapter, by protocol."""


def load_adapter(protocol: str) -> Callable[..., ChatModel]:
    """Import the adapter of a protocol.

    Raises:
        KeyError: There is no such protocol.
    """
    module, name = ADAPTERS[protocol]
    adapter: Callable[..., ChatModel] = getattr(import_module(module), name)
    return adapter
