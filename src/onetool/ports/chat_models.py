"""Ports of chat models."""

from collections.abc import Callable, Sequence
from typing import Protocol

from onetool.domain.chat.messages import Message, ModelResponse, ToolDefinition


class ChatModels(Protocol):
    """The chat models that are configured, by provider name."""

    def names(self) -> Sequence[str]:
        """Return the provider names, the default first."""
        ...

    def default(self) -> str | None:
        """Return the name of the default provider, or None if no provider is configured."""
        ...

    def open(
        self, name: str | None = None, model: str | None = None, *, script: str | None = None
    ) -> "ChatModel":
        """Return a chat model of the named or default provider. May block. The caller closes it.

        script: the file that the scripted provider replays. It must come from the user, never from a model
            or a remote client.

        Raises:
            SettingsError: The provider is unknown, or something that it needs is missing.
        """
        ...


class ChatModel(Protocol):
    """A language model that continues a conversation and can request tool calls."""

    @property
    def name(self) -> str:
        """The provider name in the settings."""
        ...

    @property
    def model(self) -> str:
        """The provider's name for the model."""
        ...

    @property
    def image_types(self) -> frozenset[str]:
        """MIME types of the images that may be in `messages`. Empty: the model reads text only."""
        ...

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        *,
        on_text: Callable[[str], None],
        deadline: float,
    ) -> ModelResponse:
        """Return the model's next turn, and pass its text to `on_text` as it arrives.

        Tool names are catalog names in `tools`, in `messages` and in the response; a name that the model
        invented is returned unchanged. The implementation retries transient failures, but only until the
        first text has arrived.

        deadline: on the monotonic clock, in seconds.

        Raises:
            ChatModelError: The model gave no usable response in time.
            SettingsError: The user must change the configuration first.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections. Call this on the event loop that used them."""
        ...
