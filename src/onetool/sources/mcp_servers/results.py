"""Results of `tools/call` as content."""

from typing import Any

from onetool.domain.content.content import Content, ToolReportedError, parse_content
from onetool.domain.content.parts import InvalidContent
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.servers.uris import namespaced_content
from onetool.domain.text.json_text import is_deeper
from onetool.domain.tools.tool import JsonSchema

MAX_NESTING = 100
"""Levels of a result or a definition."""
MAX_PARTS = 1_000
"""Parts of a result."""


def read_content(result: Any, tool: str, output_schema: JsonSchema | None, server: str) -> Content:
    """Return the content of a result, with namespaced URIs.

    Raises:
        ToolReportedError: The tool reports a failure, or the result has too many parts.
        ExecutionError: The result does not follow the protocol, or is nested too deeply.
    """
    if is_deeper(result, MAX_NESTING):
        message = f"The server sent a result that is nested deeper than {MAX_NESTING} levels."
        raise ExecutionError(Reason.TOO_LARGE_OUT, message)
    try:
        content = namespaced_content(parse_content(_cut_parts(result), output_schema), server)
    except InvalidContent as error:
        message = f"The server sent an invalid MCP response: {error}."
        raise ExecutionError(Reason.UPSTREAM, message) from None
    if content.is_error:
        raise ToolReportedError(content.error_text(tool), content)
    return content


def _cut_parts(result: Any) -> Any:
    """Return a result with at most MAX_PARTS parts. One that is cut off is an error that says so."""
    parts = result.get("content") if isinstance(result, dict) else None
    if not isinstance(parts, list) or len(parts) <= MAX_PARTS:
        return result
    message = f"The server sent a result of more than {MAX_PARTS:,} parts. The rest is cut off."
    return {**result, "content": [{"type": "text", "text": message}, *parts[:MAX_PARTS]], "isError": True}
