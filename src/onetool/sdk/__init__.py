"""What pack authors import: `from onetool.sdk import tool, call_tool`."""

from onetool.domain.call import ErrorText
from onetool.domain.invocation import Context

from .calls import call_tool, call_tool_async
from .declare import tool
from .paths import allowed_path, open_allowed, working_directory
from .state import get_config, get_secret, health

__all__ = [
    "Context",
    "ErrorText",
    "allowed_path",
    "call_tool",
    "call_tool_async",
    "get_config",
    "get_secret",
    "health",
    "open_allowed",
    "tool",
    "working_directory",
]
