"""A client whose messages are the JSON that was sent. The models of the SDK drop unknown fields."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions, DispatchContext, ProgressFnT
from mcp_types import CLIENT_CAPABILITIES_META_KEY, INVALID_REQUEST

from .questions import METHODS, QuestionRefused

OnQuestion = Callable[[str, Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Answers a request of the server: its method and parameters."""


class RawClient(ClientSession):
    """A ClientSession that can also return results unchanged, and answers questions as they were sent."""

    def __init__(self, on_question: OnQuestion, **options: Any) -> None:
        super().__init__(**options)
        self._on_question = on_question

    async def request_raw(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        timeout_s: float | None,
        on_progress: ProgressFnT | None = None,
        capabilities: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send a request as the protocol version requires and return its result as received.

        timeout_s: None if the caller ends the request itself.
        capabilities: what the server may ask during this request, if the protocol version can say it.

        Raises:
            MCPError: The server returned an error, the time is over, or the connection was closed.
        """
        data: dict[str, Any] = {"method": method, "params": dict(params or {})}
        options: CallOptions = {}
        self._stamp(data, options)
        meta = data["params"].get("_meta")
        if meta and CLIENT_CAPABILITIES_META_KEY in meta:
            meta[CLIENT_CAPABILITIES_META_KEY] = dict(capabilities or {})
        if timeout_s is not None:
            options["timeout"] = timeout_s
        if on_progress is not None:
            options["on_progress"] = on_progress
        return await self._dispatcher.send_raw_request(method, data["params"] or None, options)

    async def _on_request(
        self, dctx: DispatchContext[Any], method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        if method not in METHODS:
            return await super()._on_request(dctx, method, params)
        try:
            return await self._on_question(method, params or {})
        except QuestionRefused as error:
            raise MCPError(INVALID_REQUEST, str(error)) from error
