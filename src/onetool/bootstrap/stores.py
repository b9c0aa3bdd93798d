"""The stores of a runtime: in memory or in files."""

import os
from dataclasses import dataclass, fields

from onetool.ports import (
    BundleStore,
    CounterStore,
    ManifestStore,
    ResultStore,
    SessionStore,
    ToggleStore,
    TokenStore,
    UsageStore,
)
from onetool.settings.paths import Paths
from onetool.sources.python_packs.index import PackIndex
from onetool.storage.files.bundles.store import FileBundles
from onetool.storage.files.counters import FileCounters
from onetool.storage.files.format import prepare_directories
from onetool.storage.files.manifests import FileManifests
from onetool.storage.files.results import FileResults
from onetool.storage.files.sessions import FileSessions
from onetool.storage.files.toggles import FileToggles
from onetool.storage.files.tokens import FileTokens
from onetool.storage.files.usage import FileUsage
from onetool.storage.memory.bundles import MemoryBundles
from onetool.storage.memory.counters import MemoryCounters
from onetool.storage.memory.manifests import MemoryManifests
from onetool.storage.memory.results import MemoryResults
from onetool.storage.memory.sessions import MemorySessions
from onetool.storage.memory.toggles import MemoryToggles
from onetool.storage.memory.tokens import MemoryTokens
from onetool.storage.memory.usage import MemoryUsage
from onetool.threads import Threads

IN_MEMORY = PackIndex(None)
"""Descriptions of pack files by content, shared by all in-memory runtimes of this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """One adapter for each store port. `has_files` is whether settings and packs are files to watch."""

    usage: UsageStore
    counters: CounterStore
    results: ResultStore
    bundles: BundleStore
    toggles: ToggleStore
    manifests: ManifestStore
    tokens: TokenStore
    """Of logins to servers."""
    http_tokens: TokenStore
    """Of stored HTTP tools."""
    sessions: SessionStore
    packs: PackIndex
    has_files: bool

    async def aclose(self) -> None:
        """Close every store, in reverse order."""
        for field_ in reversed(fields(self)):
            store = getattr(self, field_.name)
            if hasattr(store, "aclose"):
                await store.aclose()


def memory_stores() -> Stores:
    """Return stores that live as long as the process."""
    return Stores(
        usage=MemoryUsage(),
        counters=MemoryCounters(),
        results=MemoryResults(),
        bundles=MemoryBundles(),
        toggles=MemoryToggles(),
        manifests=MemoryManifests(),
        tokens=MemoryTokens(),
        http_tokens=MemoryTokens(),
        sessions=MemorySessions(),
        packs=IN_MEMORY,
        has_files=False,
    )


async def open_file_stores(paths: Paths, threads: Threads) -> Stores:
    """Return stores in the user's directories, which are migrated to the current format first.

    Raises:
        StoreUnavailable: A newer version of OneTool wrote them.
    """
    data, state = paths.data, paths.state
    await threads.run(prepare_directories, data, state)
    return Stores(
        usage=FileUsage(data / "usage", threads),
        counters=FileCounters(data / "counters.sqlite3", threads),
        results=FileResults(data / "results", threads),
        bundles=FileBundles(data / "bundles", threads, full_text="ONETOOL_NO_FTS5" not in os.environ),
        toggles=FileToggles(data / "bundles" / "toggles.json", threads),
        manifests=FileManifests(state / "servers", threads),
        tokens=FileTokens(data / "logins", threads),
        http_tokens=FileTokens(data / "http_tokens", threads),
        sessions=FileSessions(data / "sessions", threads),
        packs=PackIndex(state / "packs.json"),
        has_files=True,
    )
