"""Estimates of the tokens that a model saves by calling tools through code."""

import logging
from collections.abc import Callable

from onetool.catalog.catalog import Catalog
from onetool.domain.calls.caller import Caller
from onetool.domain.errors import StoreUnavailable
from onetool.domain.text.json_text import encode
from onetool.domain.usage.summary import TokenSaving, estimate_tokens

from .recorder import Recorder

log = logging.getLogger(__name__)
MAX_MEASURED = 500
"""Number of tool definitions to measure; the size of more is extrapolated."""
MAX_SESSIONS = 1_000
"""Number of sessions to remember as counted. Counting one again is harmless: the summary has it once."""


class TokenSavings:
    """Records estimates that are based on real sizes: definitions, large results and round trips."""

    def __init__(self, recorder: Recorder, session: str, now: Callable[[], float]) -> None:
        self._recorder, self._session, self._now = recorder, session, now
        self._counted_sessions: dict[str, None] = {}

    def count_result(self, size: int, preview: str) -> None:
        """Record that the model got a preview instead of a text of `size` bytes."""
        saved = estimate_tokens(size - len(preview.encode("utf-8", "replace")))
        self._recorder.add_saving(TokenSaving(self._now(), max(saved, 0)))

    async def count_run(self, caller: Caller, calls: int, catalog: Catalog) -> None:
        """Record the round trips that a run saved and, once per session, the definitions not sent."""
        session = caller.session or self._session
        if calls > 1:
            self._recorder.add_saving(TokenSaving(self._now(), round_trips=calls - 1))
        if session in self._counted_sessions:
            return
        self._counted_sessions[session] = None
        if len(self._counted_sessions) > MAX_SESSIONS:
            del self._counted_sessions[next(iter(self._counted_sessions))]
        try:
            tokens = estimate_tokens(await _definitions_size(caller, catalog))
        except StoreUnavailable as error:  # the run itself has ended, and keeps its result
            log.info("the definitions that a session saves are not counted yet: %s", error)
            self._counted_sessions.pop(session, None)
            return
        self._recorder.add_saving(TokenSaving(self._now(), tokens, session=session))


async def _definitions_size(caller: Caller, catalog: Catalog) -> int:
    """Return the size in bytes of all definitions that the caller could get, without starting servers."""
    measured, size = 0, 0
    async for tool in catalog.tools(caller, start_servers=False):
        measured, size = measured + 1, size + len(encode(tool.spec.summary()))
        if measured == MAX_MEASURED:
            return round(size / measured * await catalog.count())
    return size
