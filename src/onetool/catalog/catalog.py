"""The catalog: which tools exist, and which tool a name refers to."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from onetool.domain.calls.caller import Caller
from onetool.domain.errors import Reason, ToolNotFound
from onetool.domain.page import Page, all_items
from onetool.domain.policy.policy import Policy
from onetool.domain.policy.rule import Decision, decide
from onetool.domain.search.tool_index import ToolIndex
from onetool.domain.text.suggestions import did_you_mean, similar_names
from onetool.domain.tools.help_text import origin_of
from onetool.domain.tools.pack_summary import PackSummary
from onetool.domain.tools.tool import Tool, ToolSpec
from onetool.ports import ToolSource

from .searchable_sources import SearchableSources
from .source_chain import SourceChain

PAGE_SIZE = 256
MAX_CACHED = 4096
"""Maximum number of resolved names in the cache."""
MAX_SUGGESTION_NAMES = 2_000
"""Maximum number of names to compare with a name that was not found."""
MAX_SUGGESTION_MATCHES = 5_000
"""Number of stored tools with a word above which it suggests none of them."""


@dataclass(frozen=True, slots=True)
class ResolvedTool:
    """A tool and its implementation. They differ only if the tool delegates to a handler."""

    tool: Tool
    implementation: Tool

    @property
    def read_only(self) -> bool:
        """Whether the tool and its implementation are both read-only."""
        return self.tool.spec.read_only and self.implementation.spec.read_only


class Catalog:
    """Finds tools by name in all sources. Caches what it resolved until a source changes."""

    def __init__(
        self,
        sources: Sequence[ToolSource],
        aliases: Mapping[str, str] | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.aliases = dict(aliases or {})
        self.policy = policy or Policy()
        """Decides which tools a caller sees and may call."""
        self._sources = SourceChain(sources)
        self.searchable = SearchableSources(self._sources)
        self._resolved: dict[str, ResolvedTool] = {}
        self._generation = -1

    @property
    def failures(self) -> Mapping[str, str]:
        """Sources that currently fail, by name, and why."""
        return self._sources.failures

    @property
    def skipped(self) -> Mapping[str, str]:
        """Packs that were not loaded, by name, and why."""
        return self._sources.skipped

    def skipped_packs(self, caller: Caller) -> dict[str, str]:
        """Return the packs that were not loaded and that are not hidden from a caller, and why."""
        skipped = self.skipped.items()
        return {name: reason for name, reason in skipped if self.policy.pack_rule(name, caller) is None}

    @property
    def skipped_tools(self) -> Sequence[str]:
        """Tools that were not loaded: where each is defined, and why."""
        return self._sources.skipped_tools

    @property
    def unlisted(self) -> dict[str, str]:
        """Servers whose tools are missing in listings because they have not started, and why."""
        return self._sources.unlisted

    async def resolve(self, name: str, caller: Caller) -> ResolvedTool:
        """Return the tool that a name, `name@version` or alias refers to, ready to be called.

        Raises:
            ToolNotFound: There is no such tool, or this caller may not call it now.
        """
        if not self._sources.is_current():
            await self._sources.refresh()
        resolved = self._cached(name) or await self._resolve(name, caller)
        spec = resolved.tool.spec
        if self.policy.access_rule(spec, caller) is not None:
            raise await self._unknown(name, caller)
        if not self.policy.is_visible(spec, caller):
            raise ToolNotFound(
                Reason.NOT_ALLOWED, f"Tool not found: {name!r} is not among the allowed tools."
            )
        return resolved

    async def explain(self, name: str, caller: Caller) -> Decision | None:
        """Return what the policy decides about a call, and why; None if there is no such tool."""
        tool = await self.find(name)
        if tool is None:
            rule = self.policy.excluded(name)
            return None if rule is None else decide([rule])
        implementation = await self._find(tool.spec.handler) or tool
        return self.policy.decide(tool.spec, implementation.spec, caller)

    async def find(self, name: str) -> Tool | None:
        """Return the tool with a name, `name@version` or alias; None if there is none."""
        await self._sources.refresh()
        return await self._find(name) or await self._find(self.aliases.get(name, ""))

    async def page(
        self,
        cursor: str | None = None,
        limit: int = PAGE_SIZE,
        *,
        start_servers: bool = True,
        pattern: str = "",
        in_memory: bool = False,
    ) -> Page[Tool]:
        """Return up to `limit` tools after an opaque cursor.

        start_servers: start servers whose tools are unknown; otherwise omit those tools.
        pattern: only tools whose names contain this text, ignoring case.
        in_memory: omit the tools of sources that answer queries themselves.
        """
        await self._sources.refresh()
        return await self._sources.page(
            cursor, limit, start_servers=start_servers, pattern=pattern, in_memory=in_memory
        )

    async def tools(
        self,
        caller: Caller | None = None,
        *,
        start_servers: bool = True,
        pattern: str = "",
        in_memory: bool = False,
    ) -> AsyncIterator[Tool]:
        """Iterate over all tools, or over those that a caller may call. See `page` for the parameters."""
        options = {"start_servers": start_servers, "in_memory": in_memory}
        async for tool in all_items(lambda cursor: self.page(cursor, pattern=pattern, **options)):
            if caller is None or self.policy.is_visible(tool.spec, caller):
                yield tool

    async def specs(
        self, caller: Caller | None = None, *, pattern: str = "", in_memory: bool = False
    ) -> list[ToolSpec]:
        """Return the specs of all tools, or of those that a caller may call."""
        return [tool.spec async for tool in self.tools(caller, pattern=pattern, in_memory=in_memory)]

    async def pack_summaries(self, caller: Caller) -> list[PackSummary]:
        """Return the packs with tools that a caller may call."""
        packs: dict[str, list[ToolSpec]] = {}
        for spec in await self.specs(caller, in_memory=True):
            if not spec.app_only:
                packs.setdefault(spec.pack, []).append(spec)
        stored = await self.searchable.pack_sizes()
        visible = await self.packs(caller)
        stored = {pack: size for pack, size in stored.items() if pack in visible}
        for pack in stored:
            if pack in packs or self.policy.is_restricted(caller):
                packs[pack] = await self.pack(pack, caller)
        return [
            *(PackSummary(pack, origin_of(specs), len(specs)) for pack, specs in packs.items() if specs),
            *(PackSummary(pack, "local", size) for pack, size in stored.items() if pack not in packs),
        ]

    async def packs(self, caller: Caller | None = None) -> set[str]:
        """Return the names of all packs, or of those that are not hidden from a caller."""
        await self._sources.refresh()
        packs = await self._sources.packs()
        if caller is None:
            return packs
        return {pack for pack in packs if self.policy.pack_rule(pack, caller) is None}

    async def hidden_packs(self, caller: Caller) -> set[str]:
        """Return the names of the packs that are hidden from a caller."""
        return await self.packs() - await self.packs(caller) if self.policy.is_restricted(caller) else set()

    async def pack(self, name: str, caller: Caller | None = None) -> list[ToolSpec]:
        """Return the specs of one pack, or of those tools in it that a caller may call."""
        return [tool.spec for tool in await self.pack_tools(name, caller)]

    async def pack_tools(self, name: str, caller: Caller | None = None) -> list[Tool]:
        """Return the tools of one pack, or those that a caller may call."""
        await self._sources.refresh()
        tools = await self._sources.pack(name)
        return [tool for tool in tools if caller is None or self.policy.is_visible(tool.spec, caller)]

    async def unavailable_reason(self, pack: str) -> str:
        """Return why no tool of a pack can be called; empty if one can, or if the reason is unknown."""
        specs = await self.pack(pack)
        if any(spec.enabled for spec in specs):
            return ""
        if specs:
            return f"it is disabled ({specs[0].disabled_reason or specs[0].name})"
        return self._sources.unavailable_reason(pack)

    async def has_pack(self, name: str) -> bool:
        """Whether a pack with this name exists."""
        return name in await self.packs()

    async def count_local(self) -> int:
        """Return the number of tools that do not belong to another server."""
        await self._sources.refresh()
        return await self._sources.count_local()

    async def generation(self) -> int:
        """Return a number that changes whenever a tool may have changed."""
        await self._sources.refresh()
        return self._sources.generation

    async def memory_generation(self) -> int:
        """Return a number that changes whenever a tool of a source without search may have changed."""
        await self._sources.refresh()
        return self._sources.memory_generation

    async def count(self) -> int:
        """Return the number of tools, except those of servers that must start first."""
        await self._sources.refresh()
        return await self._sources.count()

    def _cached(self, name: str) -> ResolvedTool | None:
        if self._generation != self._sources.generation or len(self._resolved) >= MAX_CACHED:
            self._generation = self._sources.generation
            self._resolved.clear()
        return self._resolved.get(name)

    async def _resolve(self, name: str, caller: Caller, *, tries_again: bool = True) -> ResolvedTool:
        generation = self._sources.generation
        tool = await self._find(name) or await self._find(self.aliases.get(name, ""))
        if tool is None or self.policy.access_rule(tool.spec, caller) is not None:
            unknown = await self._unknown(name, caller)
            if tries_again and generation != self._sources.generation:  # the tool may have appeared meanwhile
                return await self._resolve(name, caller, tries_again=False)
            raise unknown
        _check_enabled(name, tool)
        resolved = ResolvedTool(tool, await self._implementation(tool))
        if generation == self._sources.generation:
            self._resolved[name] = resolved
        return resolved

    async def _unknown(self, name: str, caller: Caller) -> ToolNotFound:
        """Return the error for a name that does not exist, or is outside the caller's rights or profile."""
        return ToolNotFound(Reason.UNKNOWN, f"Tool not found: {name!r}.{await self._suggest(name, caller)}")

    async def _find(self, name: str) -> Tool | None:
        bare_name, _, version = name.partition("@")
        return await self._sources.find(bare_name, version or None) if bare_name else None

    async def _implementation(self, tool: Tool) -> Tool:
        """Return the tool that a handler refers to. A handler must not refer to another handler."""
        handler = tool.spec.handler
        if handler == tool.spec.name:
            return tool
        implementation = await self._find(handler)
        if implementation is None or implementation.spec.handler != implementation.spec.name:
            message = f"Tool not found: {tool.spec.name!r} has handler {handler!r}, which is not registered."
            raise ToolNotFound(Reason.NOT_REGISTERED, message)
        _check_enabled(handler, implementation)
        return implementation

    async def _suggest(self, name: str, caller: Caller) -> str:
        """Return why the pack of a name is unavailable, or a similar name."""
        pack = name.partition(".")[0]
        packs = await self.packs(caller) | self.skipped_packs(caller).keys()
        if pack in packs and (reason := await self.unavailable_reason(pack)):
            return f" {pack!r} is unavailable: {reason}"
        names = [*await self._names(caller), *await self._stored_names(name, caller)]
        return did_you_mean(name, similar_names(name, names))

    async def _names(self, caller: Caller) -> list[str]:
        names: list[str] = []
        async for tool in self.tools(caller, start_servers=False, in_memory=True):
            names.append(tool.spec.name)
            if len(names) == MAX_SUGGESTION_NAMES:
                break
        return names

    async def _stored_names(self, name: str, caller: Caller) -> list[str]:
        """Return the names of stored tools that share words with a name."""
        query = await self.searchable.parse(name, ToolIndex(()))
        tools = await self.searchable.candidates(query, max_count=MAX_SUGGESTION_MATCHES)
        return [tool.key for tool in tools if self.policy.may_see(tool.key, caller)]


def _check_enabled(name: str, tool: Tool) -> None:
    if not tool.spec.enabled:
        reason = f" ({tool.spec.disabled_reason})" if tool.spec.disabled_reason else ""
        raise ToolNotFound(Reason.DISABLED, f"Tool not found: {name!r} is disabled{reason}.")
