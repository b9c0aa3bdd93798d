"""Retries of requests to a provider, up to a deadline."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from onetool.domain.chat.messages import ChatModelError, ModelResponse
from onetool.network.backoff import Backoff

from .endpoint import Endpoint
from .response_builder import ResponseBuilder
from .tool_names import ToolNameCodec

log = logging.getLogger(__name__)

Attempt = Callable[[ResponseBuilder], Awaitable[None]]

ATTEMPTS = 2
TRANSIENT = frozenset({"rate_limited", "unreachable"})
BASE_DELAY_S, MAX_WAIT_S = 0.5, 20.0
"""Shortest and longest delay before a retry. If the provider requests more, the request fails immediately."""


class Retrier:
    """Sends requests to one provider, retries transient failures, and enforces the deadline."""

    def __init__(self, endpoint: Endpoint, new_id: Callable[[], str], backoff: Backoff | None) -> None:
        self._endpoint, self._new_id, self._backoff = (
            endpoint,
            new_id,
            backoff or Backoff(base_s=BASE_DELAY_S),
        )

    async def run(
        self, codec: ToolNameCodec, on_text: Callable[[str], None], deadline: float, attempt: Attempt
    ) -> ModelResponse:
        """Make an attempt, and a second one if the first failed transiently before anything arrived.

        Raises:
            ChatModelError: All attempts failed, or the deadline has passed.
        """
        builders = [ResponseBuilder(self._endpoint, codec, on_text, self._new_id) for _ in range(ATTEMPTS)]
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                return await self._try(builders, deadline, attempt)
        except TimeoutError:
            if not limit.expired():
                raise
        raise self._endpoint.timed_out()

    async def _try(
        self, builders: Sequence[ResponseBuilder], deadline: float, attempt: Attempt
    ) -> ModelResponse:
        first, *others = builders
        try:
            await attempt(first)
            return first.build()
        except ChatModelError as error:
            delay = self._backoff.delay(1, error.retry_after)
            is_too_long = delay > MAX_WAIT_S or asyncio.get_running_loop().time() + delay >= deadline
            if not others or first.has_started or error.kind not in TRANSIENT or is_too_long:
                raise
            fields = {"provider": self._endpoint.name, "kind": error.kind, "wait_s": delay}
            log.info("retrying chat model request", extra=fields)
        await self._backoff.sleep(delay)
        return await self._try(others, deadline, attempt)
