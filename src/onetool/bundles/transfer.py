"""Export and import of bundles: ZIP archives and OpenAPI documents."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from onetool.domain.bundles.bundle import AlreadyExists, Bundle, BundleFilter, ToolVersion, rfc3339
from onetool.domain.bundles.identifiers import check_id, check_key, check_stored_id
from onetool.domain.page import all_items
from onetool.ports import BundleStore
from onetool.threads import Threads

from .bundles import Bundles

PAGE_SIZE = 500


class BundleTransfer:
    """Exports and imports bundles. An imported bundle is disabled until the user enables it.

    Every method raises a subclass of BundleError if it fails.
    """

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
        await self._bundles.reject_read_only(bundle_id)
        bundle = await self._bundles.bundle(bundle_id)
        filter = BundleFilter(bundle_ids=frozenset({bundle_id}), include_disabled=True)
        stored = all_items(lambda cursor: self._store.tools(filter, cursor, PAGE_SIZE))
        return await self._threads.run(write_archive, bundle, [each.tool async for each in stored])

    async def import_archive(self, content: bytes) -> tuple[Bundle, int]:
        """Store the bundle of a ZIP archive. Return it and the number of its tools."""
        from .archive import read_archive

        archive = await self._threads.run(read_archive, content)
        return await self._store_bundle(archive.bundle, archive.tools), len(archive.tools)

    async def read_archive(self, content: bytes) -> tuple[Bundle, list[ToolVersion]]:
        """Return the bundle of a ZIP archive, disabled, and its tools, without storing them."""
        from .archive import read_archive

        return await self._threads.run(read_archive, content)

    async def import_openapi(self, content: bytes, base_url: str | None = None) -> dict[str, Any]:
        """Store the bundle of an OpenAPI document. Return it and what the user must configure to use it."""
        from .openapi import read_openapi

        report = await self._threads.run(lambda: read_openapi(content, base_url=base_url))
        bundle, tools = await self._threads.run(self._build_drafts, report)
        stored = await self._store_bundle(bundle, tools)
        hosts = ", ".join(report.hosts)
        return {
            "bundle": stored,
            "tools": len(tools),
            "skipped": list(report.skipped),
            "secrets": list(report.secrets),
            "hosts": list(report.hosts),
            "renamed": dict(report.renamed),
            "warnings": [
                f"The secret {name} already exists. These tools would send it to {hosts}."
                for name in report.secrets
                if name in self._bundles.secrets
            ],
        }

    def _build_drafts(self, report: Any) -> tuple[Bundle, list[ToolVersion]]:
        from onetool.domain.bundles.schemas import BundleBody, ToolBody

        from .validation import draft_bundle, draft_tool, validate_body

        at = rfc3339(self._now())
        bundle = draft_bundle(self._new_id(), validate_body(BundleBody, report.bundle))
        drafts = [
            draft_tool(
                self._new_id(),
                check_key((bundle.id, tool.slug, tool.version)),
                validate_body(ToolBody, tool.body),
                report.hosts,  # checked against the settings again with every call
            )
            for tool in report.tools
        ]
        tools = [replace(draft, created_at=at, modified_at=at) for draft in drafts]
        return replace(bundle, created_at=at, modified_at=at), tools

    async def _store_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> Bundle:
        """Store a bundle with its tools, all or nothing, disabled."""
        check_stored_id(bundle.id, "bundleID")
        await self._bundles.check_capacity(len(tools))
        imported = replace(bundle, is_enabled=False, imported_at=rfc3339(self._now()), soft_deleted_at=None)
        try:
            await self._store.import_bundle(imported, tools)
        except AlreadyExists as error:
            raise AlreadyExists(
                str(error) or f"Bundle {bundle.id} already exists. Delete it first."
            ) from None
        return imported
