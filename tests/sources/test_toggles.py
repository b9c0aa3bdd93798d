"""Which packs and tools are disabled, while their store fails."""

import pytest

from onetool.domain.errors import WorkspaceUnavailable
from onetool.sources.toggles import Toggles


class FailingStore:
    """A store whose reads fail from some time on."""

    def __init__(self) -> None:
        self.fault: Exception | None = None

    async def read(self) -> dict[str, bool]:
        if self.fault:
            raise self.fault
        return {"pack": False}

    def generation(self) -> int:
        return 0


async def test_states_stay_while_the_database_is_away():
    toggles = Toggles(store := FailingStore())
    await toggles.refresh()
    store.fault = WorkspaceUnavailable("away")
    with pytest.raises(WorkspaceUnavailable):
        await toggles.refresh()
    assert toggles.states == {"pack": False}


async def test_unreadable_states_enable_nothing():
    toggles = Toggles(store := FailingStore())
    await toggles.refresh()
    store.fault = OSError("damaged")
    with pytest.raises(OSError, match="damaged"):
        await toggles.refresh()
    with pytest.raises(ValueError, match="Cannot read which tools are disabled"):
        _ = toggles.states
