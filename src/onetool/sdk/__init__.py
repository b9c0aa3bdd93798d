"""What pack authors import: `from onetool.sdk import tool, call_tool`."""

from onetool.domain.call import ErrorText
from onetool.domain.invocation import Context

from .batch import batch_execute, normalize_items
from .calls import call_tool, call_tool_async
from .declare import tool
from .dependencies import check_deps, requires_cli, requires_lib, requires_secret
from .http import http_client, safe_request
from .packs import get_pack
from .paths import allowed_path, open_allowed, working_directory
from .progress import report_progress
from .secrets import api_headers, get_secret, lazy_client
from .span import LogSpan
from .state import get_config, health, query_result

__all__ = [
    "Context",
    "ErrorText",
    "LogSpan",
    "allowed_path",
    "api_headers",
    "batch_execute",
    "call_tool",
    "call_tool_async",
    "check_deps",
    "get_config",
    "get_pack",
    "get_secret",
    "health",
    "http_client",
    "lazy_client",
    "normalize_items",
    "open_allowed",
    "query_result",
    "report_progress",
    "requires_cli",
    "requires_lib",
    "requires_secret",
    "safe_request",
    "tool",
    "working_directory",
]
