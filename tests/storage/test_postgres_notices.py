"""Changes in other processes are noted: announced ones at once, missed ones when they are asked for."""

from uuid import uuid4

import psycopg
import pytest

from onetool.domain.errors import SettingsError
from onetool.storage.postgres import notices as notices_module
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import Workspace
from onetool.storage.postgres.notices import ChangeNotices
from onetool.storage.postgres.reload_signal import WorkspaceReloadSignal
from onetool.storage.postgres.workspace_database import Revisions
from support.postgres import execute
from support.processes import wait_until
from support.waiting import HANG_S

NEVER_S = 3600.0
TERMINATE = """
select pg_terminate_backend(pid) from pg_stat_activity
where application_name = 'onetool-replica' and datname = current_database()
"""


@pytest.fixture
def notices(postgres_url, postgres):
    notices = ChangeNotices(postgres_url, postgres)
    yield notices
    notices.stop()


def start(notices):
    notices.start()
    assert notices.is_listening.wait(HANG_S)


def opened(notices, workspace):
    return notices.workspace(Workspace(workspace.workspace, "slug", "name"))


def test_announced_change_of_another_process_is_noted(notices, workspace, monkeypatch):
    monkeypatch.setattr(notices_module, "POLL_S", NEVER_S)
    monkeypatch.setattr(notices_module, "PARTS_OF_POLL", 72_000)
    here = opened(notices, workspace)
    start(notices)
    with workspace.writing():
        pass
    assert wait_until(lambda: here.generation == 1)


@pytest.mark.parametrize("subject", ["contents", "settings", "keys"])
def test_change_that_was_not_announced_is_noted(notices, workspace, monkeypatch, subject):
    """A connection that goes through a pooler may never be told."""
    monkeypatch.setattr(notices_module, "CHANNEL", "another_channel")
    monkeypatch.setattr(notices_module, "POLL_S", 0.05)
    here = opened(notices, workspace)
    start(notices)
    with workspace.writing(subject):
        pass
    assert wait_until(lambda: here.generation == 1)
    assert (here.settings_changes, here.keys_changes) == (subject == "settings", subject == "keys")


def test_only_changes_to_settings_make_them_be_read_again(notices, workspace):
    here = opened(notices, workspace)
    signal = WorkspaceReloadSignal(here)
    signal.acknowledge(signal.current())
    start(notices)
    with workspace.writing():
        pass
    assert wait_until(lambda: here.generation == 1)
    assert not signal.is_pending
    with workspace.writing("settings"):
        pass
    assert wait_until(lambda: signal.is_pending)


def test_change_while_the_connection_was_lost_is_noted(notices, workspace, postgres_url, monkeypatch):
    """Also if the announcement that comes next is that of an older one."""
    monkeypatch.setattr(notices_module, "POLL_S", 0.05)
    here = opened(notices, workspace)
    with workspace.writing():
        pass
    start(notices)
    assert wait_until(lambda: here.generation == 1)
    execute(postgres_url, TERMINATE)
    with workspace.writing():
        pass
    assert wait_until(lambda: here.generation == 2)


def test_workspace_is_the_same_object_as_long_as_it_is_used(notices, workspace):
    found = Workspace(workspace.workspace, "slug", "name", Revisions(7, 5, 3))
    here = notices.workspace(found)
    assert notices.workspace(found) is here
    here.note(Revisions(7, 5, 3))
    assert (here.generation, here.settings_changes, here.keys_changes) == (0, 0, 0)


def test_foreign_payload_is_ignored(notices, workspace, postgres_url):
    here = opened(notices, workspace)
    start(notices)
    id = workspace.workspace
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for payload in ("", "x", f"{id} x", f"{id} 1 2 3 4", f"{uuid4()} 1 2 3"):
            connection.execute("select pg_notify('onetool', %s)", (payload,))
    with workspace.writing():
        pass
    assert wait_until(lambda: here.generation == 1)


def test_age_is_that_of_the_last_answer(postgres_url, postgres):
    now = 0.0
    notices = ChangeNotices(postgres_url, postgres, clock=lambda: now)
    now = 30.0
    assert notices.age_s() == 30.0
    start(notices)
    assert notices.age_s() == 0.0
    notices.stop()
    now = 90.0
    assert notices.age_s() == 60.0


def test_replicas_are_counted(postgres_server):
    """Also those with another login, as workers have."""
    with postgres_server() as url, psycopg.connect(url, autocommit=True) as connection:
        roles = [f"server_{uuid4().hex[:8]}", f"worker_{uuid4().hex[:8]}"]
        for role in roles:
            connection.execute(f"create role {role} login in role onetool_app")
        database = Database(url)
        both = [ChangeNotices(psycopg.conninfo.make_conninfo(url, user=role), database) for role in roles]
        try:
            for notices in both:
                start(notices)
            assert [notices.replicas() for notices in both] == [1, 2]
        finally:
            for notices in both:
                notices.stop()
            database.close()
            connection.execute(f"drop role {', '.join(roles)}")


def test_server_that_is_away_is_tried_again(postgres):
    notices = ChangeNotices("postgresql://onetool@127.0.0.1:1/nothing", postgres)
    notices.start()
    notices.stop()
    assert not notices.is_listening.is_set()


def test_invalid_url_is_not_shown(postgres):
    with pytest.raises(SettingsError) as error:
        ChangeNotices("postgresql://onetool:pass word%zz@127.0.0.1/x", postgres)
    assert "pass word" not in str(error.value)


def test_unused_database_can_be_closed_twice(postgres_url):
    database = Database(postgres_url)
    database.close()
    database.close()
