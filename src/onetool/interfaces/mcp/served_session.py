"""A session of a client of the earlier protocol over HTTP, in one of the processes that serve it."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from mcp.server.connection import Connection
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp_types import JSONRPCNotification, RequestId

from .client_sessions import ClientSession

CANCELLED_NOTICE = "notifications/cancelled"


class HttpRequestRefused(Exception):
    """A request of a client is refused with an HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(eq=False)
class ServedSession:
    """A session at this process. Other processes may serve the same session."""

    session: ClientSession
    transport: StreamableHTTPServerTransport
    dispatcher: JSONRPCDispatcher[TransportContext]
    connection: Connection
    generation: Hashable = field(default_factory=object)
    """Of the entries in the store that were applied last. At first, none were."""

    @property
    def is_in_use(self) -> bool:
        """Whether a request is in progress or the stream of notices is open."""
        return self.transport._requests_in_flight > 0

    def runs(self, id: RequestId) -> bool:
        """Return whether a request of the client is in progress at this process."""
        return coerce_request_id(id) in self.dispatcher._in_flight

    async def cancel(self, id: RequestId) -> None:
        """Cancel a request as if the client had posted the cancellation to this process."""
        writer = self.transport._read_stream_writer
        if writer is not None and not self.transport.is_terminated:
            notice = JSONRPCNotification(jsonrpc="2.0", method=CANCELLED_NOTICE, params={"requestId": id})
            await writer.send(SessionMessage(notice))
