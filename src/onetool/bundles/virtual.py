"""Virtual bundles: packs of other sources, shown as bundles that can only be enabled or disabled."""

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence

from onetool.domain.bundles.bundle import Bundle, BundleNotFound, StoredTool, ToolKey
from onetool.domain.bundles.identifiers import is_derived_id, to_slug
from onetool.domain.bundles.pack_views import bundle_view, tool_view
from onetool.domain.tools.tool import ToolSpec
from onetool.ports import ToggleStore

ListPacks = Callable[[], Awaitable[Mapping[str, Sequence[ToolSpec]]]]
ListNames = Callable[[], Awaitable[Collection[str]]]


class VirtualBundles:
    """Every pack of every source but the bundle store. They are few, so all are listed once per change."""

    def __init__(
        self,
        list_packs: ListPacks,
        list_names: ListNames,
        packs_generation: Callable[[], Awaitable[int]],
        toggles: ToggleStore,
    ) -> None:
        """Show packs as bundles.

        list_packs: may start servers, whose tools are not known otherwise.
        list_names: starts no server.
        packs_generation: returns a number that changes whenever a pack may have changed.
        """
        self._list_packs, self._list_names = list_packs, list_names
        self._packs_generation, self._toggles = packs_generation, toggles
        self._listed: tuple[Hashable, Sequence[StoredTool]] = (None, ())
        """The tools, and the generations in which they were listed."""

    def generation(self) -> Hashable:
        """Return a value that changes whenever a flag changes."""
        return self._toggles.generation()

    async def bundles(self) -> dict[str, Bundle]:
        """Return every pack as a bundle, by id."""
        return {stored.bundle.id: stored.bundle for stored in await self.tools()}

    async def find(self, bundle_id: str) -> Bundle | None:
        """Return one pack as a bundle; None if there is none. The id of a stored bundle starts no server."""
        return (await self.bundles()).get(bundle_id) if is_derived_id(bundle_id) else None

    async def named(self, name: str) -> list[Bundle]:
        """Return the pack with this slug or id. Starts servers only if a pack has this name."""
        if not is_derived_id(name) and name not in map(to_slug, await self._list_names()):
            return []
        return [bundle for bundle in (await self.bundles()).values() if name in (bundle.id, bundle.slug)]

    async def tools(self) -> Sequence[StoredTool]:
        """Return every tool of these packs."""
        generations = await self._packs_generation(), self._toggles.generation()
        if self._listed[0] != generations:
            flags, packs = await self._toggles.read(), await self._list_packs()
            self._listed = (
                generations,
                [
                    tool_view(spec, bundle_view(pack, specs[0], flags), flags)
                    for pack, specs in packs.items()
                    for spec in specs
                ],
            )
        return self._listed[1]

    async def tool(self, key: ToolKey) -> StoredTool | None:
        """Return one tool; None if its bundle is not virtual.

        Raises:
            BundleNotFound: The bundle is virtual and has no such tool.
        """
        if await self.find(key[0]) is None:
            return None
        tool = next((tool for tool in await self.tools() if tool.tool.key == key), None)
        if tool is None:
            raise tool_not_found(key)
        return tool

    async def set_enabled(self, id: str, is_enabled: bool) -> None:
        """Enable or disable a pack or a tool."""
        await self._toggles.set(id, is_enabled)


def tool_not_found(key: ToolKey) -> BundleNotFound:
    """Return the error for a tool version that does not exist."""
    return BundleNotFound(f"There is no tool {key[1]!r} version {key[2]!r} in bundle {key[0]}.")
