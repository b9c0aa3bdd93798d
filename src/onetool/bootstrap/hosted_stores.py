"""The stores of one workspace of a hosted OneTool."""

from onetool.sources.python_packs.index import PackIndex
from onetool.storage.postgres.activity import PostgresActivity
from onetool.storage.postgres.audit import PostgresAudit
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.storage.postgres.chats import (
    PostgresSessionApprovals,
    PostgresSessionLeases,
    new_replica,
)
from onetool.storage.postgres.client_sessions import PostgresClientSessions
from onetool.storage.postgres.job_queue import PostgresJobQueue
from onetool.storage.postgres.jobs import LEASE_S, PostgresJobs
from onetool.storage.postgres.manifests import PostgresManifests
from onetool.storage.postgres.results import PostgresResults
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.sessions import PostgresSessions
from onetool.storage.postgres.toggles import PostgresToggles
from onetool.storage.postgres.tokens import PostgresTokens
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads

from .stores import Stores


def hosted_stores(
    workspace: WorkspaceDatabase,
    threads: Threads,
    sealer: Sealer,
    packs: PackIndex,
    *,
    lease_s: float = LEASE_S,
) -> Stores:
    """Return the stores of one workspace."""
    replica = new_replica()
    jobs = PostgresJobs(workspace, threads, lease_s=lease_s)
    return Stores(
        activity=PostgresActivity(workspace, threads),
        results=PostgresResults(workspace, threads),
        bundles=PostgresBundles(workspace, threads),
        toggles=PostgresToggles(workspace, threads),
        manifests=PostgresManifests(workspace, threads),
        tokens=PostgresTokens(workspace, threads, sealer, "server"),
        http_tokens=PostgresTokens(workspace, threads, sealer, "http"),
        member_tokens=PostgresTokens(workspace, threads, sealer, "server"),
        sessions=PostgresSessions(workspace, threads, replica=replica),
        session_leases=PostgresSessionLeases(workspace, threads, replica),
        session_approvals=PostgresSessionApprovals(workspace, threads),
        jobs=jobs,
        client_sessions=PostgresClientSessions(workspace, threads),
        packs=packs,
        has_files=False,
        queue=PostgresJobQueue(workspace, threads, sealer, jobs),
        audit=PostgresAudit(workspace, threads),
    )
