"""What a way to a server consists of: the one place that takes these names from inside the package `mcp`."""

from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.shared.message import SessionMessage

__all__ = ["Incoming", "Outgoing", "SessionMessage", "TransportStreams"]

Incoming = ReadStream[SessionMessage | Exception]
Outgoing = WriteStream[SessionMessage]
