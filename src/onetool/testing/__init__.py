"""For tests of packs: a OneTool in memory, a scripted model, an HTTP stub, an MCP server."""

from .http_stub import HttpStub, Reply, Request
from .runtime import MemoryTools, file_source, function_source, memory_runtime
from .scripted_llm import ScriptedLLM, calls, text

__all__ = [
    "HttpStub",
    "MemoryTools",
    "Reply",
    "Request",
    "ScriptedLLM",
    "calls",
    "file_source",
    "function_source",
    "memory_runtime",
    "text",
]
