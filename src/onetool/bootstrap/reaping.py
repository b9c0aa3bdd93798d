"""Clean-up of one workspace, without opening it."""

import time

from onetool.bundles.bundles import REAP_AFTER
from onetool.domain.bundles.bundle import rfc3339
from onetool.domain.jobs.job import RETENTION_S
from onetool.domain.usage.summary import DAY
from onetool.settings.documents import parse_settings
from onetool.settings.schema import Settings
from onetool.storage.postgres.activity import PostgresActivity
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.storage.postgres.client_grants import PostgresClientGrants
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.storage.postgres.results import PostgresResults
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.sessions import PostgresSessions
from onetool.storage.postgres.settings import PostgresSettings
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads


async def reap_workspace(workspace: WorkspaceDatabase, threads: Threads, sealer: Sealer) -> None:
    """Delete old bundles, results, jobs, conversations, tokens of clients and records of calls.

    Raises:
        SettingsError: The settings of the workspace are invalid.
        StoreUnavailable: The database failed.
    """
    now = time.time()
    await PostgresBundles(workspace, threads).reap(rfc3339(now - REAP_AFTER))
    await PostgresResults(workspace, threads).reap()
    await PostgresJobs(workspace, threads).reap(now - RETENTION_S)
    await PostgresClientGrants(workspace, threads, sealer).reap()
    stored = await threads.run(PostgresSettings(workspace, threads).read)
    settings = parse_settings(Settings, stored.document, lambda path: "settings")
    await PostgresSessions(workspace, threads).reap(now - settings.sessions.retention_days * DAY)
    activity = settings.activity
    await PostgresActivity(workspace, threads).delete_old(
        now - activity.retention_days * DAY, activity.max_bytes
    )
