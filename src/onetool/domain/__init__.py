"""Pure values and rules: what a tool, a call and a result are."""

from .call import ErrorText, ToolCall, ToolResult
from .caller import Caller
from .errors import ErrorCode, Reason
from .registry import Registry
from .tool import Tool, ToolSpec

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
