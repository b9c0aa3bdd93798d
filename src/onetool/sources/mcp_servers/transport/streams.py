"""Types of transport streams. Only this module imports them from private modules of `mcp`."""

from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage

__all__ = ["Incoming", "Outgoing", "SessionMessage", "TransportStreams"]

Incoming = ReadStream[SessionMessage | Exception]
Outgoing = WriteStream[SessionMessage]
