"""A listing with a definition that MCP does not allow loses that one tool, not all of them."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import methods
from pydantic import ValidationError

from onetool.domain.texts import cut

from .streams import Incoming, Outgoing

LIST = "tools/list"
SHOWN = 500


class Tolerant(JSONRPCDispatcher[TransportContext]):
    """Sends requests, and looks through the answer to one of them before it is checked as a whole."""

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
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **known: Any
    ) -> dict[str, Any]:
        """Send a request; leave out of a list of tools what is none."""
        answer = await super().send_raw_request(method, params, opts, **known)
        version = self._version()
        if method == LIST and version and not _is_valid(answer, version):
            return self._mended(answer, version)
        return answer

    def _mended(self, answer: dict[str, Any], version: str) -> dict[str, Any]:
        tools = answer.get("tools")
        if not isinstance(tools, list):
            return answer
        kept, names = [], []
        for tool in tools:
            if _is_valid({**answer, "tools": [tool]}, version):
                kept.append(tool)
            else:
                names.append(tool.get("name") if isinstance(tool, dict) else tool)
        self._log.warning("lists tools that MCP does not allow, left out: %s", cut(repr(names), SHOWN))
        return {**answer, "tools": kept}


def _is_valid(answer: dict[str, Any], version: str) -> bool:
    try:
        methods.validate_server_result(LIST, version, answer)
    except ValidationError:
        return False
    return True
