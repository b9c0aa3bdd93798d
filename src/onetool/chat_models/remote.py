"""What chat models behind an address have in common: a late client, one request, patient attempts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from onetool.domain.chat import Message, Offer, Reply
from onetool.threads import Threads

from .answer import Answer
from .clients import LazyClient
from .endpoint import Endpoint
from .patience import Pace, Patience
from .wire import Wire

Client = TypeVar("Client")


class RemoteChat(ABC, Generic[Client]):
    """A ChatModel whose provider says how a request is made and how its answer is read."""

    def __init__(
        self, endpoint: Endpoint, threads: Threads, new_id: Callable[[], str], pace: Pace | None = None
    ) -> None:
        self.name, self.model = endpoint.name, endpoint.model
        self._endpoint = endpoint
        self._patience = Patience(endpoint, new_id, pace)
        self._client = LazyClient(self._make_client, threads)

    async def reply(
        self,
        messages: Sequence[Message],
        offers: Sequence[Offer],
        *,
        on_text: Callable[[str], None],
        deadline: float,
    ) -> Reply:
        """Ask for the next turn."""
        wire = Wire(messages, offers)
        request = self._request(messages, wire)
        return await self._patience.ask(
            wire, on_text, deadline, lambda answer: self._attempt(request, answer)
        )

    async def aclose(self) -> None:
        """Close the connections."""
        client = self._client.take()
        if client is not None:
            await self._close(client)

    @abstractmethod
    def _make_client(self) -> Client:
        """Import what is needed and make a client; on a thread."""

    @abstractmethod
    async def _close(self, client: Client) -> None:
        """Close a client."""

    @abstractmethod
    def _request(self, messages: Sequence[Message], wire: Wire) -> Any:
        """Say it in the provider's words."""

    @abstractmethod
    async def _attempt(self, request: Any, answer: Answer) -> None:
        """Send a request, and put its answer together.

        Raises ChatFailed.
        """
