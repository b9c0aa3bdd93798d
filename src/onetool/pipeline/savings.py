"""What a model was spared by calling tools through code: round trips, definitions, large results."""

from collections.abc import Callable

from onetool.catalog.catalog import Catalog
from onetool.domain.caller import Caller
from onetool.domain.json_text import encode
from onetool.domain.usage import Saving, tokens

from .record import Recorder

MEASURED = 500
"""How many definitions are measured, of however many."""
SESSIONS = 1_000
"""How many sessions are remembered as counted; a forgotten one is counted again, and added up once."""
TOOL = "run"


class Savings:
    """Notes estimates from real sizes."""

    def __init__(self, recorder: Recorder, session: str, now: Callable[[], float]) -> None:
        self._recorder, self._session, self._now = recorder, session, now
        self._counted: dict[str, None] = {}

    def count_result(self, size: int, shown: str) -> None:
        """Note that a preview was shown instead of a text of this many bytes."""
        spared = tokens(size - len(shown.encode("utf-8", "replace")))
        self._recorder.save(Saving("result", self._now(), tool=TOOL, tokens=max(spared, 0)))

    async def count_run(self, caller: Caller, calls: int, catalog: Catalog) -> None:
        """Note the round trips of a run, and once a session the definitions that nobody had to read."""
        session = caller.session or self._session
        if calls > 1:
            self._recorder.save(Saving("calls", self._now(), session, TOOL, round_trips=calls - 1))
        if session in self._counted:
            return
        self._counted[session] = None
        if len(self._counted) > SESSIONS:
            del self._counted[next(iter(self._counted))]
        size = await _size_of_definitions(caller, catalog)
        self._recorder.save(Saving("definitions", self._now(), session, tokens=tokens(size)))


async def _size_of_definitions(caller: Caller, catalog: Catalog) -> int:
    """Bytes of all definitions that this caller could be sent; of very many, as the first ones are.

    No server is started for that.
    """
    seen, size = 0, 0
    async for tool in catalog.tools(caller, wakes=False):
        seen, size = seen + 1, size + len(encode(tool.spec.summary()))
        if seen == MEASURED:
            return round(size / seen * await catalog.count())
    return size
