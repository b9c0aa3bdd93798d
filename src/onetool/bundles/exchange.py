"""Bundles in and out: ZIP archives, and descriptions of APIs. What comes in is switched off at first."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from onetool.domain.bundle import Bundle, Filter, Taken, ToolVersion, rfc3339
from onetool.domain.bundle_ids import check_id, check_pair, check_stored_id
from onetool.ports import BundleStore
from onetool.threads import Threads

from .bundles import Bundles

PAGE = 500


class Exchange:
    """Exports and imports. Raises BundleError."""

    def __init__(
        self,
        bundles: Bundles,
        store: BundleStore,
        *,
        threads: Threads,
        new_id: Callable[[], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._bundles, self._store, self._threads = bundles, store, threads
        self._new_id, self._now = new_id, now

    async def export(self, bundle_id: str) -> bytes:
        """Return a bundle with all its tools as a ZIP archive."""
        from .archive import write_archive

        bundle_id = check_id(bundle_id, "bundleID")
        await self._bundles.refuse_shelf(bundle_id)
        bundle = await self._bundles.bundle(bundle_id)
        tools, after = list[ToolVersion](), None
        wanted = Filter(bundle_ids=frozenset({bundle_id}), include_disabled=True)
        while True:
            page = await self._threads.run(self._store.tools, wanted, after, PAGE)
            tools += [listed.tool for listed in page.items]
            after = page.next
            if after is None:
                return await self._threads.run(write_archive, bundle, tools)

    async def import_archive(self, content: bytes) -> tuple[Bundle, int]:
        """Store what a ZIP archive holds; return the bundle and how many tools it has."""
        from .archive import read_archive

        archive = await self._threads.run(read_archive, content)
        return await self._take(archive.bundle, archive.tools), len(archive.tools)

    async def import_openapi(self, content: bytes, base_url: str | None = None) -> dict[str, Any]:
        """Turn a description of an API into a bundle; return it with what is still needed to use it."""
        from .openapi import read_openapi

        imported = await self._threads.run(lambda: read_openapi(content, base_url=base_url))
        bundle, tools = await self._threads.run(self._drafts, imported)
        stored = await self._take(bundle, tools)
        return {
            "bundle": stored,
            "tools": len(tools),
            "skipped": list(imported.skipped),
            "secrets": list(imported.secrets),
            "hosts": list(imported.hosts),
            "warnings": [
                f"You have a secret {name} already: these tools would send it to {', '.join(imported.hosts)}."
                for name in imported.secrets
                if name in self._bundles.secrets
            ],
        }

    def _drafts(self, imported: Any) -> tuple[Bundle, list[ToolVersion]]:
        from onetool.domain.bundle_bodies import BundleBody, ToolBody

        from .drafts import check_shape, draft_bundle, draft_tool

        at = rfc3339(self._now())
        bundle = draft_bundle(self._new_id(), check_shape(BundleBody, imported.bundle))
        drafts = [
            draft_tool(
                self._new_id(),
                check_pair((bundle.id, tool.slug, tool.version)),
                check_shape(ToolBody, tool.body),
                imported.hosts,  # asked for again, against the settings, whenever the tool is called
            )
            for tool in imported.tools
        ]
        tools = [replace(draft, created_at=at, modified_at=at) for draft in drafts]
        return replace(bundle, created_at=at, modified_at=at), tools

    async def _take(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> Bundle:
        """Store a bundle with its tools, all or nothing, switched off."""
        check_stored_id(bundle.id, "bundleID")
        await self._bundles.check_room(len(tools))
        imported = replace(bundle, is_enabled=False, imported_at=rfc3339(self._now()), soft_deleted_at=None)
        try:
            await self._threads.run(self._store.import_bundle, imported, tools)
        except Taken as error:
            raise Taken(str(error) or f"Bundle {bundle.id} is there already. Delete it first.") from None
        return imported
