"""Packs and tools that the user disabled: their stored states and the wrapper that applies them."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from onetool.domain.bundles.pack_views import BUNDLE_DISABLED, DISABLED, bundle_id_of, tool_id_of
from onetool.domain.errors import WorkspaceUnavailable
from onetool.domain.page import Page
from onetool.domain.tools.tool import Tool
from onetool.ports import ToggleStore, ToolSource

from .without_tools import SourceWithoutTools
from .wrapper import SourceWrapper


class Toggles(SourceWithoutTools):
    """The stored states."""

    name = "toggles"

    def __init__(self, store: ToggleStore) -> None:
        self._store = store
        self._states: Mapping[str, bool] | None = None

    @property
    def states(self) -> Mapping[str, bool]:
        """The state of every bundle and tool that was ever toggled, by id.

        Raises:
            ValueError: The states cannot be read. Disabled tools must not become enabled by that.
        """
        if self._states is None:
            raise ValueError("Cannot read which tools are disabled.")
        return self._states

    def generation(self) -> Hashable:
        """Return a value that changes with every toggle."""
        return self._store.generation()

    async def refresh(self) -> None:
        """Read the states again. If the database is away, those that were read before stay."""
        try:
            self._states = await self._store.read()
        except WorkspaceUnavailable:
            raise
        except Exception:
            self._states = None
            raise


class ToggledSource(SourceWrapper):
    """Marks the tools of a source as disabled where the user disabled them or their pack."""

    def __init__(self, source: ToolSource, toggles: Toggles) -> None:
        super().__init__(source)
        self._toggles = toggles

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool with this name, disabled or not."""
        tool = await super().find(name, version)
        return self._toggled(tool) if tool else None

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return tools after an opaque cursor."""
        page = await super().page(cursor, limit)
        return Page([self._toggled(tool) for tool in page.items], page.next)

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        return [self._toggled(tool) for tool in await super().pack(name)]

    def _toggled(self, tool: Tool) -> Tool:
        states = self._toggles.states
        if not states:
            return tool
        if not states.get(bundle_id_of(tool.spec.pack), True):
            return _disabled(tool, BUNDLE_DISABLED)
        return tool if states.get(tool_id_of(tool.spec.name), True) else _disabled(tool, DISABLED)


def _disabled(tool: Tool, reason: str) -> Tool:
    return replace(tool, spec=replace(tool.spec, enabled=False, disabled_reason=reason))
