"""Results of MCP requests that leave as they are. The models of the SDK drop fields that they do not know."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import CallToolResult

ENVELOPE_FIELDS = ("resultType", "ttlMs", "cacheScope")
"""Fields that newer versions of the protocol require, if the SDK has set them."""


@dataclass(slots=True)
class _Raw:
    """What the handler of the current request sets."""

    result: dict[str, Any] | None = None
    fields: dict[str, Any] = field(default_factory=dict)


_current: ContextVar[_Raw] = ContextVar("raw_results")


def send_raw_results(server: Server[Any]) -> None:
    """Let the handlers of a server use `raw_result`, `set_raw_result` and `set_raw_fields`."""
    server.middleware.append(_replace_result)


def raw_result(result: Mapping[str, Any]) -> CallToolResult:
    """Return a value for a handler of `tools/call` that makes the client receive this very result."""
    set_raw_result(result)
    return CallToolResult(content=[])


def set_raw_result(result: Mapping[str, Any]) -> None:
    """Make the client receive this very result for the current request; that of the handler is dropped."""
    _current.get().result = dict(result)


def set_raw_fields(**fields: Any) -> None:
    """Set fields of the result of the current request; they are sent unchanged."""
    _current.get().fields.update(fields)


async def _replace_result(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    raw = _Raw()
    token = _current.set(raw)
    try:
        result = await call_next(ctx)
    finally:
        _current.reset(token)
    if not isinstance(result, dict):
        return result
    return (result if raw.result is None else _join(result, raw.result)) | raw.fields


def _join(envelope: Mapping[str, Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the raw result with what the SDK adds: the type, how long it may be cached, and our name."""
    added = {key: envelope[key] for key in ENVELOPE_FIELDS if key in envelope and key not in raw}
    meta, stamp = raw.get("_meta"), envelope.get("_meta")
    if stamp and (meta is None or isinstance(meta, Mapping)):
        added["_meta"] = {**(meta or {}), **stamp}
    return {**raw, **added}
