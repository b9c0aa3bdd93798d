"""Where everything is kept: in memory, or in files."""

import os
from dataclasses import dataclass

from onetool.ports import (
    BundleStore,
    CounterStore,
    ManifestStore,
    ResultStore,
    SessionStore,
    SwitchStore,
    TokenStore,
    UsageStore,
)
from onetool.settings.configuration import Configuration
from onetool.sources.python_packs.index import PackIndex
from onetool.storage.flat_file import FlatFileResults
from onetool.storage.flat_file_bundles import FlatFileBundles
from onetool.storage.flat_file_manifests import FlatFileManifests
from onetool.storage.flat_file_sessions import FlatFileSessions
from onetool.storage.flat_file_switches import FlatFileSwitches
from onetool.storage.flat_file_tokens import FlatFileTokens
from onetool.storage.flat_file_usage import FlatFileUsage
from onetool.storage.memory import MemoryCounters, MemoryResults, MemorySwitches, MemoryUsage
from onetool.storage.memory_bundles import MemoryBundles
from onetool.storage.memory_manifests import MemoryManifests
from onetool.storage.memory_sessions import MemorySessions
from onetool.storage.memory_tokens import MemoryTokens
from onetool.storage.sqlite_counters import SqliteCounters

IN_MEMORY = PackIndex(None)
"""What is known of pack files, by their content: the same for every OneTool in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """One adapter for each port, and whether there are files to watch."""

    usage: UsageStore
    counters: CounterStore
    results: ResultStore
    bundles: BundleStore
    switches: SwitchStore
    manifests: ManifestStore
    tokens: TokenStore
    sessions: SessionStore
    packs: PackIndex
    has_files: bool


def memory_stores(configuration: Configuration) -> Stores:
    """Keep nothing longer than the process lives."""
    return Stores(
        usage=MemoryUsage(),
        counters=MemoryCounters(),
        results=MemoryResults(configuration.settings.output.ttl_s),
        bundles=MemoryBundles(),
        switches=MemorySwitches(),
        manifests=MemoryManifests(),
        tokens=MemoryTokens(),
        sessions=MemorySessions(),
        packs=IN_MEMORY,
        has_files=False,
    )


def flat_file_stores(configuration: Configuration) -> Stores:
    """Keep everything in the user's directories."""
    data, state = configuration.places.data, configuration.places.state
    return Stores(
        usage=FlatFileUsage(data / "usage"),
        counters=SqliteCounters(data / "counters.sqlite3"),
        results=FlatFileResults(data / "results", configuration.settings.output.ttl_s),
        bundles=FlatFileBundles(data / "bundles", with_words="ONETOOL_NO_FTS5" not in os.environ),
        switches=FlatFileSwitches(data / "bundles" / "switches.json"),
        manifests=FlatFileManifests(state / "servers"),
        tokens=FlatFileTokens(data / "logins"),
        sessions=FlatFileSessions(data / "sessions"),
        packs=PackIndex(state / "packs.json"),
        has_files=True,
    )
