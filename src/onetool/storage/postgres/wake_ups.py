"""Wake-up calls to workers: rows in the queue, which procrastinate inserts in our transactions."""

from functools import cache
from typing import TYPE_CHECKING
from uuid import UUID

import psycopg

from .database import Cursor

if TYPE_CHECKING:
    from procrastinate import App

CALLS = "calls"
"""The queue of jobs that run calls."""
CALL_TASK = "onetool.call"
SEARCH_PATH = "set local search_path = onetool, queue, public"
"""In the SQL of procrastinate, no name has a schema."""


def wake_worker(cursor: Cursor, workspace: UUID, job: str) -> None:
    """Tell a worker about a job, at the commit of the transaction. Others learn only the ids."""
    from procrastinate.exceptions import ConnectorException

    cursor.execute(SEARCH_PATH)
    deferrer = _app().configure_task(CALL_TASK, queue=CALLS, connection=cursor.connection)
    try:
        deferrer.defer(workspace=str(workspace), job=job)
    except ConnectorException as error:
        cause = error.__cause__
        raise cause if isinstance(cause, psycopg.Error) else psycopg.Error(str(error)) from error


@cache
def _app() -> "App":
    """Return an app without connections of its own."""
    from procrastinate import App, SyncPsycopgConnector

    return App(connector=SyncPsycopgConnector())
