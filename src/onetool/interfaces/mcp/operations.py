"""Durations of the requests of MCP clients."""

from typing import Any

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types.methods import SPEC_CLIENT_METHODS, SPEC_CLIENT_NOTIFICATION_METHODS

from onetool.telemetry.spans import start_operation

TASK_METHODS = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
METHODS = SPEC_CLIENT_METHODS | SPEC_CLIENT_NOTIFICATION_METHODS | TASK_METHODS
TOOL_ERROR = "tool_error"
"""The `error.type` of a call whose result is an error, as in the spans of the SDK."""


async def measure(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Measure a request, if telemetry is on."""
    operation = start_operation(ctx.method, is_known=ctx.method in METHODS)
    if operation is None:
        return await call_next(ctx)
    with operation:
        try:
            result = await call_next(ctx)
        except MCPError as error:
            operation.fail(str(error.error.code))
            raise
        if isinstance(result, dict) and result.get("isError") is True:
            operation.fail(TOOL_ERROR)
        return result
