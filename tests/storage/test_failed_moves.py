"""Moves of workspaces that fail, and directories that do not fit the rows: no acknowledged change is lost."""

import asyncio
import threading
from contextlib import closing
from secrets import token_hex
from uuid import uuid4

import psycopg
import pytest

from onetool.domain.errors import SettingsError, StoreUnavailable, WorkspaceReadOnly
from onetool.domain.identity.person import Identity
from onetool.domain.identity.roles import Role
from onetool.domain.jobs.job import Job
from onetool.domain.policy.member import Member, MemberKind
from onetool.storage.postgres.cluster_admin import ClusterAdmin
from onetool.storage.postgres.clusters import HOME, Clusters
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.interrupted_moves import InterruptedMoves
from onetool.storage.postgres.job_queue import LostJobs
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.moves import WorkspaceMoves
from onetool.storage.postgres.people import PostgresPeople
from storage.interrupted_moves import STEPS, kill_after, mover
from support.postgres import execute, set_fenced, waits_for_lock
from support.processes import wait_until
from support.two_clusters import WEST
from support.waiting import HANG_S

STATE = "select fenced from onetool.workspace_state where workspace_id = %s"
END_LOCKS = """
select pg_terminate_backend(pid) from pg_locks join pg_database on pg_database.oid = pg_locks.database
where locktype = 'advisory' and granted and datname = current_database() and pid <> pg_backend_pid()
"""
GATE = """
create function public.wait_at_gate() returns trigger language plpgsql set lock_timeout = 0 as $$
begin
    perform pg_advisory_xact_lock(1);
    return new;
end $$;
create trigger gate before insert on onetool.toggles for each row execute function public.wait_at_gate();
select pg_advisory_lock(1)
"""
"""Rows of a table are not inserted until the lock is released."""
END_WAITING = """
select pg_terminate_backend(pid) from pg_stat_activity
where wait_event_type = 'Lock' and datname = current_database()
"""


def write(rows):
    """Store something. Return its id."""
    id = uuid4().hex
    with rows.recording() as cursor:
        values = (rows.workspace, id)
        cursor.execute("insert into toggles (workspace_id, id, is_enabled) values (%s, %s, true)", values)
    return id


def stored(two, workspace, cluster):
    query = "select id from onetool.toggles where workspace_id = %s"
    return {id for (id,) in execute(two.urls[cluster], query, workspace.id)}


def is_read_only(two, workspace, cluster):
    with psycopg.connect(two.urls[cluster]) as connection:
        row = connection.execute(STATE, (workspace.id,)).fetchone()
        return row and row[0]


class StoppedCopy:
    """A move in a thread that waits while it copies, until it may go on or fails."""

    def __init__(self, two, workspace, target):
        self._two, self._target = two, target
        write(two.rows(workspace))
        self._thread = threading.Thread(target=self._move, args=(workspace,))
        self.error, self.lines = None, []

    def _move(self, workspace):
        try:
            WorkspaceMoves(self._two.urls, self.lines.append).move(workspace.slug, self._target)
        except Exception as error:
            self.error = error

    def __enter__(self):
        url = self._two.urls[self._target]
        self._gate = psycopg.connect(url, autocommit=True)
        self._gate.execute(GATE)
        self._thread.start()
        assert wait_until(lambda: waits_for_lock(url))
        return self

    def fail(self):
        """End the connection to the target."""
        execute(self._two.urls[self._target], END_WAITING)
        self._thread.join(HANG_S)

    def __exit__(self, *_):
        self._gate.execute("select pg_advisory_unlock(1)")
        self._thread.join(HANG_S)
        self._gate.execute("drop function public.wait_at_gate cascade")
        self._gate.close()
        assert not self._thread.is_alive()


# Directories that do not fit the rows


def restore_entry(two, entry):
    change = "update home.workspaces set cluster = %s, epoch = %s, moved_at = null where id = %s"
    execute(two.urls[HOME], change, entry.cluster, entry.epoch, entry.id)


def test_rows_that_are_in_use_are_not_deleted_whatever_the_directory_says(two, urls):
    """The directory is from before a move, for example because the home cluster was restored."""
    workspace = two.new_workspace()
    rows = two.rows(workspace)
    write(rows)
    before = two.directory.find(workspace.slug)
    two.move(workspace, WEST)
    acknowledged = write(rows)
    restore_entry(two, before)
    assert workspace.slug not in {slug for slug, _ in WorkspaceMoves(urls).clean_up(keep_hours=0)}
    for target in (WEST, HOME):  # to the cluster that the directory names, it would only become writable
        with pytest.raises(StoreUnavailable, match=r"'west' has rows .* not read-only\. They may be newer"):
            two.move(workspace, target)
    assert is_read_only(two, workspace, HOME)
    assert acknowledged in stored(two, workspace, WEST)


def test_workspace_that_another_cluster_has_in_use_stays_read_only(two, urls, caplog):
    """The directory is from before a move. Changes would be lost if a worker made the old rows writable."""
    workspace = two.new_workspace()
    rows = two.rows(workspace)
    before = two.directory.find(workspace.slug)
    two.move(workspace, WEST)
    acknowledged = write(rows)
    restore_entry(two, before)
    for cluster in urls:
        assert workspace.slug not in end_moves(two, cluster)
    assert is_read_only(two, workspace, HOME)
    assert f"workspace {workspace.slug} stays read-only" in caplog.text
    assert {acknowledged, write(rows)} <= stored(two, workspace, WEST)


def test_move_from_a_cluster_without_the_rows_is_refused(two, urls):
    """It was restored from before a move to it. The copy that was left behind is the last one."""
    workspace = two.new_workspace()
    acknowledged = write(two.rows(workspace))
    two.move(workspace, WEST)
    with psycopg.connect(urls[WEST]) as connection:
        for table in ("toggles", "audit", "data_keys", "workspace_state"):
            connection.execute(f"delete from onetool.{table} where workspace_id = %s", (workspace.id,))
    for target in (HOME, WEST):
        with pytest.raises(StoreUnavailable, match=r"does not have its rows|has no rows"):
            two.move(workspace, target)
    assert acknowledged in stored(two, workspace, HOME)


@pytest.mark.parametrize("name", ["east", "other"])
def test_cluster_with_two_names_loses_nothing(two, urls, name):
    """It is neither added under the second name, nor cleaned up by it."""
    workspaces = [two.new_workspace(cluster) for cluster in (HOME, WEST)]
    ids = [write(two.rows(workspace)) for workspace in workspaces]
    more = {**urls, name: urls[WEST]}
    with pytest.raises(SettingsError, match=f"'{name}' is cluster 'west' already"):
        ClusterAdmin(more).add(name)
    WorkspaceMoves(more).clean_up(keep_hours=0)
    for workspace, cluster, id in zip(workspaces, (HOME, WEST), ids, strict=True):
        assert stored(two, workspace, cluster) == {id}


def end_moves(two, cluster):
    return InterruptedMoves(two.urls, two.clusters).end(cluster)


# Moves that fail


def test_move_of_a_workspace_that_becomes_writable_during_the_copy_loses_nothing(two, urls):
    """It is refused: what was written meanwhile is not in the copy."""
    workspace = two.new_workspace()
    rows = two.rows(workspace)
    with StoppedCopy(two, workspace, WEST) as move:
        execute(urls[HOME], "select onetool.end_move(%s, 1, 1, 1, 1)", workspace.id)
        acknowledged = write(rows)
    assert "Another process has made" in str(move.error)
    assert two.directory.find(workspace.slug).cluster == HOME
    assert {acknowledged, write(rows)} <= stored(two, workspace, HOME)


def test_failed_move_whose_lock_was_lost_leaves_the_workspace_to_the_next_one(two, urls):
    """Otherwise it would be writable at both clusters, and changes at the old one would be lost."""
    workspace = two.new_workspace()
    rows = two.rows(workspace)  # a process that has not heard of the move
    write(rows)
    with StoppedCopy(two, workspace, WEST) as first:
        assert len(execute(urls[HOME], END_LOCKS)) == 1
        first.fail()
    assert "is read-only until a worker ends the move, or it is repeated." in str(first.error)
    assert is_read_only(two, workspace, HOME)
    two.move(workspace, WEST)
    acknowledged = write(rows)
    assert acknowledged in stored(two, workspace, WEST)


async def test_jobs_of_living_processes_are_not_lost_by_a_move_that_fails(two):
    """Their signs of life could not be renewed meanwhile."""
    workspace = two.new_workspace()
    rows = two.rows(workspace)
    jobs = PostgresJobs(rows, two.threads)
    job = Job(token_hex(16), "ann", "demo.tool", "d", jobs.owner, 5.0)
    await jobs.put(job)
    with StoppedCopy(two, workspace, WEST) as move:
        execute(two.urls[HOME], "update onetool.job_owners set lease_until = now() - interval '1 s'")
        assert await jobs.is_alive(jobs.owner)
        await asyncio.to_thread(move.fail)
    assert move.lines[-1] == "The workspace is writable. Queued jobs: 0."
    assert await LostJobs(rows, two.threads).end(lambda job: job._replace(status="lost")) == []
    await jobs.put(job._replace(status="succeeded", ended_at=6.0))
    await jobs.aclose()


def test_move_whose_output_is_closed_is_completed(two, urls):
    workspace = two.new_workspace()
    rows = two.rows(workspace)

    def report(line):
        raise BrokenPipeError

    WorkspaceMoves(urls, report).move(workspace.slug, WEST)
    assert write(rows) in stored(two, workspace, WEST)


def test_changes_of_a_workspace_that_is_being_moved_say_so(two):
    workspace = two.new_workspace()
    set_fenced(two.urls[HOME], workspace.id)
    for change in (
        lambda: two.admin.delete(workspace.slug),
        lambda: two.admin.change_limits(workspace.slug, {"secrets": 1}),
    ):
        with pytest.raises(WorkspaceReadOnly, match="is read-only for a moment"):
            change()
    assert two.directory.find(workspace.slug)


async def test_people_log_in_while_a_workspace_is_moved_to_the_home_cluster(two):
    """The rows that it has left there are locked meanwhile."""
    workspace, people = two.new_workspace(), PostgresPeople(two.clusters.home, two.threads, two.clusters)
    identity = Identity("https://id.example", uuid4().hex, "p@x.example", "Pia", ("one",))
    person = await people.sign_in(identity)
    member = Member(MemberKind.PERSON, str(person), Role.OWNER, added_by="t")
    await PostgresMembers(two.rows(workspace), two.threads).put(member)
    two.move(workspace, WEST)
    with StoppedCopy(two, workspace, HOME):
        assert await people.sign_in(identity._replace(groups=("two",))) == person
        assert await people.disable(person)


def test_move_away_from_a_cluster_that_fails_after_the_copy_is_completed(two, urls):
    workspace = two.new_workspace(WEST)
    rows = two.rows(workspace)
    id = write(rows)

    def report(line):
        if line.startswith("The directory names"):
            assert len(execute(urls[WEST], END_LOCKS)) == 1

    WorkspaceMoves(urls, report).move(workspace.slug, HOME)
    assert {id, write(rows)} <= stored(two, workspace, HOME)


def test_move_and_change_of_limits_do_not_wait_for_each_other(two, urls):
    """Both lock the entry of the directory first. The database sees no deadlock over two clusters."""
    workspace = two.new_workspace(WEST)
    move = threading.Thread(target=two.move, args=(workspace, HOME))
    with psycopg.connect(urls[HOME]) as home, psycopg.connect(urls[WEST]) as rows:
        home.execute("select from home.workspaces where id = %s for update", (workspace.id,))
        move.start()
        assert wait_until(lambda: waits_for_lock(urls[HOME]))
        rows.execute("set lock_timeout = '5s'")
        with pytest.raises(psycopg.Error, match="is read-only"):
            rows.execute("select onetool.begin_write(%s, 'settings')", (workspace.id,))
    move.join(HANG_S)
    assert two.directory.find(workspace.slug).cluster == HOME
    assert two.admin.change_limits(workspace.slug, {"secrets": 1})


# Moves whose process has ended


@pytest.mark.parametrize("steps", range(1, STEPS + 1))
def test_workspace_whose_move_was_interrupted_becomes_writable_by_itself(two, urls, steps):
    """Where the directory says: the copy is either used as a whole, or not at all."""
    workspace = two.new_workspace()
    rows = two.rows(workspace)
    write(rows)
    before = two.contents(workspace.id, HOME)
    kill_after(two, workspace, WEST, steps)

    def end():
        for cluster in urls:
            end_moves(two, cluster)
        return not is_read_only(two, workspace, two.directory.find(workspace.slug).cluster)

    assert wait_until(end)  # the database notices the end of the process a moment later
    place = two.directory.find(workspace.slug).cluster
    assert place == (WEST if steps > 2 else HOME)
    assert two.contents(workspace.id, place) == before
    assert is_read_only(two, workspace, WEST if place == HOME else HOME) is not False
    assert write(rows) in stored(two, workspace, place)
    if steps < STEPS:
        assert audited(two, workspace, place) == [("process", {"to": place})]


def audited(two, workspace, cluster):
    query = "select actor, detail::jsonb from onetool.audit where workspace_id = %s and action = %s"
    return execute(two.urls[cluster], query, workspace.id, "workspace.move")


def test_workspace_that_a_process_moves_stays_read_only(two, urls):
    """No other process makes it writable or moves it."""
    workspace = two.new_workspace()
    with mover(two, workspace, WEST) as process:
        assert process.stdout.readline()
        for cluster in urls:
            assert workspace.slug not in end_moves(two, cluster)
        with pytest.raises(StoreUnavailable, match="Another process is moving"):
            two.move(workspace, WEST)
        assert is_read_only(two, workspace, HOME)


def test_workspace_is_not_made_writable_by_a_worker_that_has_lost_its_lock(two, urls):
    """Another process may move it meanwhile."""
    workspace = two.new_workspace()
    set_fenced(two.urls[HOME], workspace.id)
    errors = []

    def end():
        try:
            end_moves(two, HOME)
        except StoreUnavailable as error:
            errors.append(error)

    worker = threading.Thread(target=end)
    with psycopg.connect(urls[HOME]) as connection:
        connection.execute(f"{STATE} for update", (workspace.id,))
        worker.start()
        assert wait_until(lambda: waits_for_lock(urls[HOME]))
        assert connection.execute(END_LOCKS).rowcount == 1
    worker.join(HANG_S)
    assert errors
    assert is_read_only(two, workspace, HOME)


@pytest.fixture
def east(two):
    """Add a cluster that is away. Return the URLs of all."""
    url = "postgresql://postgres@127.0.0.1:1/onetool"
    execute(two.urls[HOME], "insert into home.clusters (name) values ('east')")
    yield {**two.urls, "east": url}
    execute(two.urls[HOME], "delete from home.clusters where name = 'east'")


def test_workspace_stays_read_only_while_a_cluster_is_away_that_may_have_newer_rows(two, east, caplog):
    """Unless the operator knows that it has none."""
    workspace = two.new_workspace()
    set_fenced(two.urls[HOME], workspace.id)
    with closing(Database(east["east"])) as away:
        clusters = Clusters(two.clusters.home, {WEST: two.clusters[WEST], "east": away})
        assert workspace.slug not in InterruptedMoves(east, clusters).end(HOME)
    assert "east may have newer rows, and is away" in caplog.text
    for target in (HOME, WEST):
        with pytest.raises(StoreUnavailable, match="If it has none, use --ignore-away"):
            WorkspaceMoves(east).move(workspace.slug, target)
    assert is_read_only(two, workspace, HOME)
    WorkspaceMoves(east, ignore_away=True).move(workspace.slug, HOME)
    assert write(two.rows(workspace)) in stored(two, workspace, HOME)


def test_interrupted_move_is_not_completed_without_the_url_of_another_cluster(two, east):
    """That cluster may have newer rows."""
    workspace = two.new_workspace()
    set_fenced(two.urls[HOME], workspace.id)
    with pytest.raises(SettingsError, match="ONETOOL_CLUSTER_EAST"):
        WorkspaceMoves(two.urls, ignore_away=True).move(workspace.slug, HOME)
    assert is_read_only(two, workspace, HOME)


def test_only_workers_may_end_moves(two, urls):
    workspace = two.new_workspace()
    for call in ("read_only_workspaces()", f"end_move('{workspace.id}', 1, 1, 1, 1)"):
        with psycopg.connect(urls[HOME]) as connection:
            connection.execute("set role onetool_app")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"select onetool.{call}")
