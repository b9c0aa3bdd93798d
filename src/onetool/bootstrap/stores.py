"""The stores of a runtime: in memory or in files."""

import logging
import os
import sys
from dataclasses import dataclass, fields

from onetool.ports import (
    ActivityStore,
    AuditLog,
    BundleStore,
    ClientSessionStore,
    JobQueue,
    JobStore,
    ManifestStore,
    MemberTokens,
    ResultStore,
    SessionApprovalStore,
    SessionLeases,
    SessionStore,
    ToggleStore,
    TokenStore,
)
from onetool.settings.paths import Paths
from onetool.sources.python_packs.index import PackIndex
from onetool.storage.files.activity import FileActivity
from onetool.storage.files.bundles.store import FileBundles
from onetool.storage.files.client_sessions import FileClientSessions
from onetool.storage.files.format import prepare_directories
from onetool.storage.files.jobs import FileJobs
from onetool.storage.files.manifests import FileManifests
from onetool.storage.files.old_usage import take_over_usage
from onetool.storage.files.results import FileResults
from onetool.storage.files.sessions import FileSessions
from onetool.storage.files.toggles import FileToggles
from onetool.storage.files.tokens import FileTokens
from onetool.storage.memory.activity import MemoryActivity
from onetool.storage.memory.bundles import MemoryBundles
from onetool.storage.memory.chats import MemorySessionApprovals, MemorySessionLeases
from onetool.storage.memory.client_sessions import MemoryClientSessions
from onetool.storage.memory.jobs import MemoryJobs
from onetool.storage.memory.manifests import MemoryManifests
from onetool.storage.memory.results import MemoryResults
from onetool.storage.memory.sessions import MemorySessions
from onetool.storage.memory.toggles import MemoryToggles
from onetool.storage.memory.tokens import MemoryTokens
from onetool.threads import Threads

IN_MEMORY = PackIndex(None)
"""Descriptions of pack files by content, shared by all in-memory runtimes of this process."""


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """One adapter for each store port. `has_files` is whether settings and packs are files to watch."""

    activity: ActivityStore
    results: ResultStore
    bundles: BundleStore
    toggles: ToggleStore
    manifests: ManifestStore
    tokens: TokenStore
    """Of logins to servers."""
    http_tokens: TokenStore
    """Of stored HTTP tools."""
    member_tokens: MemberTokens | None = None
    """Of logins of single members to servers. None: there is one user."""
    sessions: SessionStore
    session_leases: SessionLeases
    session_approvals: SessionApprovalStore
    jobs: JobStore
    client_sessions: ClientSessionStore
    """Of MCP clients."""
    packs: PackIndex
    has_files: bool
    queue: JobQueue | None = None
    """Of jobs that wait for a worker. None: each process runs its own."""
    audit: AuditLog | None = None
    """None: changes are not recorded."""

    async def aclose(self) -> None:
        """Close every store, in reverse order."""
        for field_ in reversed(fields(self)):
            store = getattr(self, field_.name)
            if hasattr(store, "aclose"):
                await store.aclose()


def memory_stores() -> Stores:
    """Return stores that live as long as the process."""
    return Stores(
        activity=MemoryActivity(),
        results=MemoryResults(),
        bundles=MemoryBundles(),
        toggles=MemoryToggles(),
        manifests=MemoryManifests(),
        tokens=MemoryTokens(),
        http_tokens=MemoryTokens(),
        sessions=MemorySessions(),
        session_leases=MemorySessionLeases(),
        session_approvals=MemorySessionApprovals(),
        jobs=MemoryJobs(),
        client_sessions=MemoryClientSessions(),
        packs=IN_MEMORY,
        has_files=False,
    )


async def open_file_stores(paths: Paths, threads: Threads) -> Stores:
    """Return stores in the user's directories, which are migrated to the current format first.

    Raises:
        StoreUnavailable: A newer version of OneTool wrote them.
    """
    data, state = paths.data, paths.state
    activity = state / "activity.sqlite3"
    await threads.run(prepare_directories, data, state)
    await threads.run(take_over_usage, data, activity)
    return Stores(
        activity=FileActivity(activity, threads),
        results=FileResults(data / "results", threads),
        bundles=FileBundles(
            data / "bundles",
            threads,
            full_text="ONETOOL_NO_FTS5" not in os.environ,
            report=_report_progress,
        ),
        toggles=FileToggles(data / "bundles" / "toggles.json", threads),
        manifests=FileManifests(state / "servers", threads),
        tokens=FileTokens(data / "logins", threads),
        http_tokens=FileTokens(data / "http_tokens", threads),
        sessions=FileSessions(data / "sessions", threads),
        session_leases=MemorySessionLeases(),
        session_approvals=MemorySessionApprovals(),
        jobs=FileJobs(data / "jobs", threads),
        client_sessions=FileClientSessions(data / "client_sessions", threads),
        packs=PackIndex(state / "packs.json"),
        has_files=True,
    )


def _report_progress(text: str) -> None:
    """Show the progress of a long operation on a terminal, or write it to the log."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{text} ... (Ctrl-C stops; the next start continues)\n")
        sys.stderr.flush()
    else:
        log.info("%s", text)
