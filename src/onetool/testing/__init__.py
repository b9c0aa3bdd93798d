"""For tests of packs: a OneTool in memory, a scripted model, an HTTP stub, an MCP server."""

from .http_stub import HttpStub, Reply, Request
from .proxy_server import ProxyTool, proxy_server
from .runtime import MemoryTools, file_source, function_source, memory_runtime
from .scripted_llm import ScriptedLLM, calls, text

__all__ = [
    "HttpStub",
    "MemoryTools",
    "ProxyTool",
    "Reply",
    "Request",
    "ScriptedLLM",
    "calls",
    "file_source",
    "function_source",
    "memory_runtime",
    "proxy_server",
    "text",
]
