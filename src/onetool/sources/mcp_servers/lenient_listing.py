"""Tool listings in which invalid definitions are skipped instead of failing the whole listing."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import methods
from pydantic import ValidationError

from onetool.domain.text.strings import truncate_middle

from .transport.streams import Incoming, Outgoing

LIST_METHOD = "tools/list"
MAX_LOGGED_LENGTH = 500


class LenientDispatcher(JSONRPCDispatcher[TransportContext]):
    """Removes invalid definitions from the result of `tools/list` before the SDK validates it."""

    def __init__(
        self,
        incoming: Incoming,
        outgoing: Outgoing,
        log: logging.Logger,
        version: Callable[[], str | None],
    ) -> None:
        super().__init__(incoming, outgoing)
        self._log, self._version = log, version

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Send a request and return its result. A list of tools contains only valid definitions."""
        result = await super().send_raw_request(method, params, opts, **kwargs)
        version = self._version()
        if method == LIST_METHOD and version and not _is_valid(result, version):
            return self._skip_invalid(result, version)
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
