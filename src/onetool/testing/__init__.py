"""For tests of packs: a OneTool in memory, with your functions as its tools."""

from .runtime import MemoryTools, function_source, memory_runtime

__all__ = ["MemoryTools", "function_source", "memory_runtime"]
