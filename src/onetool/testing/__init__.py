"""Test helpers for pack authors: an in-memory runtime, a scripted model, an HTTP stub, a fake MCP server."""

from .fake_mcp_server import FakeMcpTool, fake_mcp_server
from .http_stub import HttpStub, RecordedRequest, StubResponse
from .runtime import MemoryClient, file_source, function_source, memory_runtime
from .scripted_llm import ScriptedLLM, calls, text

__all__ = [
    "FakeMcpTool",
    "HttpStub",
    "MemoryClient",
    "RecordedRequest",
    "ScriptedLLM",
    "StubResponse",
    "calls",
    "fake_mcp_server",
    "file_source",
    "function_source",
    "memory_runtime",
    "text",
]
