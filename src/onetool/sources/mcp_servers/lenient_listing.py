"""Raw handshakes, and tool listings without the invalid definitions."""

import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from mcp.shared.dispatcher import CallOptions
from mcp_types import methods
from pydantic import ValidationError

from onetool.domain.text.strings import truncate_middle

from .limited_dispatcher import LimitedDispatcher
from .transport.notification_limit import NotificationLimit
from .transport.streams import Incoming, Outgoing

LIST_METHOD = "tools/list"
HANDSHAKES = ("initialize", "server/discover")
MAX_LOGGED_LENGTH = 500
raw_pages: ContextVar[list[dict[str, Any]]] = ContextVar("raw_pages")
"""Collects the listings that a task reads: the SDK's models drop every field that they do not know."""


class LenientDispatcher(LimitedDispatcher):
    """Removes invalid definitions from the result of `tools/list` before the SDK validates it."""

    def __init__(
        self,
        incoming: Incoming,
        outgoing: Outgoing,
        log: logging.Logger,
        version: Callable[[], str | None],
        limit: NotificationLimit,
        *,
        declared: Mapping[str, Any],
    ) -> None:
        """declared: the capabilities of the client that the server is told."""
        super().__init__(incoming, outgoing, limit)
        self._log, self._version, self._declared = log, version, declared
        self.capabilities: dict[str, Any] = {}
        """The capabilities of the last handshake, as the server sent them."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Send a request and return its result. A list of tools contains only valid definitions."""
        if method == "initialize":
            params = {**(params or {}), "capabilities": dict(self._declared)}
        result = await super().send_raw_request(method, params, opts, **kwargs)
        if method in HANDSHAKES and isinstance(capabilities := result.get("capabilities"), dict):
            self.capabilities = capabilities
        version = self._version()
        if method == LIST_METHOD and version and not _is_valid(result, version):
            result = self._skip_invalid(result, version)
        if method == LIST_METHOD:
            raw_pages.get([]).append(result)
        return result

    def _skip_invalid(self, result: dict[str, Any], version: str) -> dict[str, Any]:
        tools = result.get("tools")
        if not isinstance(tools, list):
            return result
        valid, skipped = [], []
        for tool in tools:
            if _is_valid({**result, "tools": [tool]}, version):
                valid.append(tool)
            else:
                skipped.append(tool.get("name") if isinstance(tool, dict) else tool)
        names = truncate_middle(repr(skipped), MAX_LOGGED_LENGTH)
        self._log.warning("skipped invalid tool definitions: %s", names)
        return {**result, "tools": valid}


def _is_valid(result: dict[str, Any], version: str) -> bool:
    try:
        methods.validate_server_result(LIST_METHOD, version, result)
    except ValidationError:
        return False
    return True
