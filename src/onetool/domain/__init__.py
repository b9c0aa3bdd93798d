"""Values and pure rules, grouped by subject; no I/O."""

from .calls.call import ErrorText, ToolCall, ToolResult
from .calls.caller import Caller
from .errors import ErrorCode, Reason
from .tools.registry import Registry
from .tools.tool import Tool, ToolSpec

__all__ = [
    "Caller",
    "ErrorCode",
    "ErrorText",
    "Reason",
    "Registry",
    "Tool",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
]
