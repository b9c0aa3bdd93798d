"""The base class of chat models behind a provider's API."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from onetool.domain.chat.messages import Message, ModelResponse, ToolDefinition
from onetool.domain.content.images import IMAGE_TYPES
from onetool.network.backoff import Backoff
from onetool.threads import Threads

from .endpoint import Endpoint
from .lazy_client import LazyClient
from .response_builder import ResponseBuilder
from .retries import Retrier
from .tool_names import ToolNameCodec

Client = TypeVar("Client")


class RemoteChatModel(ABC, Generic[Client]):
    """A chat model with a lazy client and retries. Subclasses convert requests and responses."""

    supported_image_types = IMAGE_TYPES
    """Types of images that the API accepts, in the result of a tool and from the user."""

    def __init__(
        self, endpoint: Endpoint, threads: Threads, new_id: Callable[[], str], backoff: Backoff | None = None
    ) -> None:
        self.name, self.model = endpoint.name, endpoint.model
        self.image_types = self.supported_image_types if endpoint.images else frozenset[str]()
        self._endpoint, self._threads = endpoint, threads
        self._retrier = Retrier(endpoint, new_id, backoff)
        self._client = LazyClient(self._create_client, threads)

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        *,
        on_text: Callable[[str], None],
        deadline: float,
    ) -> ModelResponse:
        """Request the next turn."""
        codec = ToolNameCodec(messages, tools)
        if any(message.images for message in messages):  # encoding them takes time
            request = await self._threads.run(self._request, messages, codec)
        else:
            request = self._request(messages, codec)
        return await self._retrier.run(
            codec, on_text, deadline, lambda builder: self._attempt(request, builder)
        )

    async def aclose(self) -> None:
        """Close the connections."""
        client = self._client.detach()
        if client is not None:
            await self._close(client)

    @abstractmethod
    def _create_client(self) -> Client:
        """Import the provider's package and create a client. Runs on a thread."""

    @abstractmethod
    async def _close(self, client: Client) -> None:
        """Close a client."""

    @abstractmethod
    def _request(self, messages: Sequence[Message], codec: ToolNameCodec) -> Any:
        """Return the request in the format of the provider."""

    @abstractmethod
    async def _attempt(self, request: Any, builder: ResponseBuilder) -> None:
        """Send a request and add its response to the builder.

        Raises:
            ChatModelError: The request failed.
        """
