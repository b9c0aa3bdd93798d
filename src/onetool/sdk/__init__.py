"""The public API for pack authors: `from onetool.sdk import tool, call_tool`."""

from onetool.domain.calls.call import ErrorText
from onetool.domain.calls.invocation import Context
from onetool.domain.content.media import Media
from onetool.domain.text.yaml_text import YamlList, YamlMap
from onetool.files.installation import extra_command

from .batch import batch_execute, normalize_items
from .calls import call_tool, call_tool_async, to_thread
from .decorators import tool
from .dependencies import check_deps, requires_cli, requires_lib, requires_secret
from .discovery import (
    find_tools,
    instructions,
    list_aliases,
    list_packs,
    list_servers,
    list_snippets,
    list_tools,
    show_snippet,
)
from .fetch import FetchedPage, fetch_url
from .http import http_client, safe_request
from .introspection import get_config, health, query_result, reload, usage, version
from .lazy_clients import lazy_client
from .markdown import html_to_markdown
from .models import ask_model
from .notifications import publish
from .packs import get_pack
from .paths import (
    allowed_path,
    open_allowed,
    open_allowed_directory,
    working_directory,
    write_allowed,
    write_report,
)
from .pools import run_tasks_in_calls
from .progress import report_progress
from .secrets import api_headers, get_secret
from .span import LogSpan

run_tasks_in_calls()

__all__ = [
    "Context",
    "ErrorText",
    "FetchedPage",
    "LogSpan",
    "Media",
    "YamlList",
    "YamlMap",
    "allowed_path",
    "api_headers",
    "ask_model",
    "batch_execute",
    "call_tool",
    "call_tool_async",
    "check_deps",
    "extra_command",
    "fetch_url",
    "find_tools",
    "get_config",
    "get_pack",
    "get_secret",
    "health",
    "html_to_markdown",
    "http_client",
    "instructions",
    "lazy_client",
    "list_aliases",
    "list_packs",
    "list_servers",
    "list_snippets",
    "list_tools",
    "normalize_items",
    "open_allowed",
    "open_allowed_directory",
    "publish",
    "query_result",
    "reload",
    "report_progress",
    "requires_cli",
    "requires_lib",
    "requires_secret",
    "safe_request",
    "show_snippet",
    "to_thread",
    "tool",
    "usage",
    "version",
    "working_directory",
    "write_allowed",
    "write_report",
]
