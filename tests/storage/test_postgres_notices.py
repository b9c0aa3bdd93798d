"""Changes in other processes are announced, also those that happened while the connection was lost."""

import threading

import psycopg
import pytest

from onetool.storage.postgres import notices as notices_module
from onetool.storage.postgres.database import Database, WorkspaceDatabase
from onetool.storage.postgres.notices import ChangeNotices
from onetool.storage.postgres.reload_signal import WorkspaceReloadSignal
from support.waiting import HANG_S


class WatchedWorkspace(WorkspaceDatabase):
    """A workspace that tells when a change was noted."""

    def __init__(self, database, workspace):
        super().__init__(database, workspace)
        self.changed = threading.Event()

    def note_change(self, revision):
        super().note_change(revision)
        self.changed.set()


@pytest.fixture
def listening(postgres_url):
    notices = ChangeNotices(postgres_url)
    notices.start()
    assert notices.is_listening.wait(HANG_S)
    yield notices
    notices.stop()


def test_change_of_another_process_is_noted(listening, workspace, postgres):
    """Its revision is then known here, and the settings count as changed."""
    here = WatchedWorkspace(postgres, workspace.workspace)
    signal = WorkspaceReloadSignal(here)
    signal.acknowledge(signal.current())
    listening.add(here)
    with workspace.writing():
        pass
    assert here.changed.wait(HANG_S)
    assert here.revision == workspace.revision
    assert signal.is_pending


def test_own_change_is_no_news(listening, workspace, postgres):
    here = WatchedWorkspace(postgres, workspace.workspace)
    listening.add(here)
    with here.writing():
        pass
    assert here.changed.wait(HANG_S)
    assert here.settings_changes == 0


def test_lost_connection_is_opened_again_and_everything_counts_as_changed(
    listening, workspace, postgres, postgres_url, monkeypatch
):
    monkeypatch.setattr(notices_module, "RETRY_S", 0.01)
    here = WatchedWorkspace(postgres, workspace.workspace)
    listening.add(here)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where query = 'listen onetool' and datname = current_database()"
        )
    assert here.changed.wait(HANG_S)
    assert (here.revision > 0, here.settings_changes) == (True, 1)


def test_foreign_payload_is_ignored(listening, workspace, postgres, postgres_url):
    here = WatchedWorkspace(postgres, workspace.workspace)
    listening.add(here)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for payload in ("", "x", f"{workspace.workspace} x"):
            connection.execute("select pg_notify('onetool', %s)", (payload,))
    with workspace.writing():
        pass
    assert here.changed.wait(HANG_S)
    assert here.revision == workspace.revision


def test_server_that_is_away_is_tried_again():
    notices = ChangeNotices("postgresql://nobody@127.0.0.1:1/nothing")
    notices.start()
    notices.stop()
    assert not notices.is_listening.is_set()


def test_unused_database_can_be_closed_twice(postgres_url):
    database = Database(postgres_url)
    database.close()
    database.close()
