"""Several clusters: workspaces work at every one of them, and move without a loss."""

import asyncio
import threading
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import psycopg
import pytest

from onetool.bootstrap.cluster_urls import cluster_urls
from onetool.domain.audit.entry import AuditFilter
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import MemberError, SettingsError, StoreUnavailable, WorkspaceReadOnly
from onetool.domain.identity.client_grant import AllowedClient, CodeProof
from onetool.domain.identity.person import Identity
from onetool.domain.identity.principal import OPERATOR
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.storage.postgres import workspace_database
from onetool.storage.postgres.api_keys import PostgresApiKeys
from onetool.storage.postgres.audit import PostgresAudit
from onetool.storage.postgres.client_grants import PostgresClientGrants
from onetool.storage.postgres.cluster_admin import ClusterAdmin
from onetool.storage.postgres.clusters import HOME, Clusters
from onetool.storage.postgres.database import store_errors
from onetool.storage.postgres.directory import Directory
from onetool.storage.postgres.invitations import PostgresInvitations
from onetool.storage.postgres.key_rotation import rotate_keys
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.moves import WorkspaceMoves
from onetool.storage.postgres.notices import HomeChanges, OpenRows
from onetool.storage.postgres.people import PostgresPeople
from onetool.storage.postgres.results import PostgresResults
from onetool.storage.postgres.rewrap import rewrap_keys
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from storage.interrupted_moves import STEPS, kill_after
from support.postgres import RING, execute, set_fenced
from support.processes import wait_until
from support.two_clusters import WEST
from support.waiting import HANG_S, until

ISSUER = "https://id.example"
YEAR = timedelta(days=365)


@pytest.fixture(params=[HOME, WEST])
def cluster(request):
    return request.param


async def sign_in(two, *groups):
    people = PostgresPeople(two.clusters.home, two.threads, two.clusters)
    return people, await people.sign_in(Identity(ISSUER, uuid4().hex, "p@x.example", "Pia", groups))


async def fill(two, workspace):
    """Store something of several kinds."""
    rows = two.rows(workspace)
    await PostgresMembers(rows, two.threads).put(Member(MemberKind.SERVICE, "anna", Role.OWNER, added_by="t"))
    await PostgresApiKeys(rows, two.threads).create("anna", "key", YEAR)
    await PostgresSecrets(rows, two.threads, Sealer(rows, RING)).put("NAME", "value")
    await PostgresResults(rows, two.threads).put("x" * 2_000, "a.b", owner="local")
    return rows


# People and groups are in the home cluster


async def test_members_keys_and_invitations_use_people_of_the_home_cluster(two, cluster):
    rows, group = two.rows(two.new_workspace(cluster)), f"g{uuid4().hex}"
    people, person = await sign_in(two, group)
    members, keys = PostgresMembers(rows, two.threads), PostgresApiKeys(rows, two.threads)
    with pytest.raises(MemberError, match="There is no person"):
        await members.put(Member(MemberKind.PERSON, str(uuid4()), Role.OWNER, added_by="t"))
    with pytest.raises(MemberError, match="is not a member"):
        await keys.create(str(person), "key", YEAR)
    invitations = PostgresInvitations(rows, two.threads)
    secret = (await invitations.create(Role.OWNER, (), "", YEAR, OPERATOR.id)).secret
    assert await invitations.accept(secret, str(person)) is Role.OWNER
    await keys.create(str(person), "key", YEAR)
    await members.put_grant(MemberKind.PERSON, str(person), Effect.DENY, "fs.*", "t")
    rights = (await members.rights())[str(person)]
    assert [each.role for each in rights.memberships] == [Role.OWNER]
    assert [each.pattern for each in rights.grants] == ["fs.*"]
    (member,) = await members.list()
    assert (member.name, member.email) == ("Pia", "p@x.example")
    with pytest.raises(MemberError, match="last owner"):
        await members.remove(MemberKind.PERSON, str(person))
    assert [each.roles for each in await people.workspaces_of(person)] == [("owner",)]
    assert await members.is_member(person)


async def test_change_of_people_is_noted_for_workspaces_of_every_cluster(two, cluster):
    """Also for one that was just moved to the home cluster: its rows did not change with the people."""
    rows = two.rows(two.new_workspace(cluster))
    two.notices.start()
    async with asyncio.timeout(HANG_S):
        while not rows.keys_changes:
            await asyncio.sleep(0.02)
    known = rows.keys_changes
    execute(two.urls[HOME], "update home.people_revision set revision = revision + 1")
    await until(lambda: rows.keys_changes > known)


async def test_group_gives_rights_at_every_cluster(two, cluster):
    rows, group = two.rows(two.new_workspace(cluster)), f"g{uuid4().hex}"
    _, person = await sign_in(two, group)
    with two.clusters.home.transaction() as cursor:
        ((id,),) = cursor.execute("select id::text from home.groups where name = %s", (group,)).fetchall()
    members = PostgresMembers(rows, two.threads)
    await members.put(Member(MemberKind.GROUP, id, Role.CALLER, added_by="t"))
    rights = (await members.rights())[str(person)]
    assert [(each.role, each.group) for each in rights.memberships] == [(Role.CALLER, group)]
    await PostgresApiKeys(rows, two.threads).create(str(person), "key", YEAR)


async def test_disabled_person_loses_rights_and_tokens_at_every_cluster(two, cluster):
    two.notices.start()
    rows = two.rows(two.new_workspace(cluster))
    people, person = await sign_in(two)
    members = PostgresMembers(rows, two.threads)
    await members.put(Member(MemberKind.PERSON, str(person), Role.CALLER, added_by="t"))
    grants = PostgresClientGrants(rows, two.threads, Sealer(rows, RING))
    proof = CodeProof("client", "http://localhost/", "challenge")
    code = await grants.allow(AllowedClient(uuid4(), person, "client", "Client", *proof[1:]))
    tokens = await grants.redeem(code, proof)
    assert await grants.find(tokens.access) is not None
    changes = rows.keys_changes
    await people.disable(person)
    assert wait_until(lambda: rows.keys_changes > changes)
    assert await members.rights() == {}
    assert await grants.find(tokens.access) is None


async def test_workspaces_of_a_cluster_that_is_away_are_not_listed(two):
    here, there = two.new_workspace(), two.new_workspace(WEST)
    people, person = await sign_in(two)
    for workspace in (here, there):
        member = Member(MemberKind.PERSON, str(person), Role.CALLER, added_by="t")
        await PostgresMembers(two.rows(workspace), two.threads).put(member)
    assert {each.id for each in await people.workspaces_of(person)} == {here.id, there.id}
    two.clusters[WEST].is_away = True
    assert [each.id for each in await people.workspaces_of(person)] == [here.id]


# Administration


def test_new_workspaces_are_created_in_the_open_cluster_with_the_fewest(two, urls):
    admin = ClusterAdmin(urls)
    for _ in range(2):
        status = {each.name: each for each in admin.list()}
        fewest = min(status.values(), key=lambda each: (each.workspaces, each.name)).name
        assert two.admin.create(f"w{uuid4().hex}").cluster == fewest
        assert {each.problem for each in status.values()} == {""}
    admin.accept_new(WEST, accepts_new=False)
    try:
        assert {two.admin.create(f"w{uuid4().hex}").cluster for _ in range(3)} == {HOME}
        with pytest.raises(SettingsError, match="'west' is not part of the installation, or accepts no new"):
            two.new_workspace(WEST)
    finally:
        admin.accept_new(WEST, accepts_new=True)


def test_cluster_without_url_and_home_of_an_installation_are_refused(urls):
    with pytest.raises(SettingsError, match="Set ONETOOL_CLUSTER_EAST_URL"):
        ClusterAdmin(urls).add("east")
    with pytest.raises(SettingsError, match="is the home cluster"):
        ClusterAdmin({**urls, "east": urls[HOME]}).add("east")
    with pytest.raises(SettingsError, match="not part of the installation"):
        ClusterAdmin(urls).accept_new("east", accepts_new=True)


def test_urls_come_from_the_environment():
    environment = {
        "ONETOOL_CLUSTER_WEST_URL": " postgresql://west ",
        "ONETOOL_CLUSTER_WEST_OWNER_URL": "postgresql://owner@west",
        "ONETOOL_CLUSTER_EAST_2_URL": "postgresql://east",
        "ONETOOL_CLUSTER_EMPTY_URL": "",
    }
    assert cluster_urls(environment) == {"west": "postgresql://west", "east_2": "postgresql://east"}
    assert cluster_urls(environment, is_owner=True)["west"] == "postgresql://owner@west"
    with pytest.raises(SettingsError, match="ONETOOL_CLUSTER_HOME_URL"):
        cluster_urls({"ONETOOL_CLUSTER_HOME_URL": "postgresql://x"})


def test_limits_and_deletion_apply_at_every_cluster(two, cluster):
    workspace = two.new_workspace(cluster)
    two.notices.start()
    rows = two.rows(workspace)
    assert two.admin.change_limits(workspace.slug, {"secrets": 1}).secrets == 1
    assert wait_until(lambda: rows.settings_changes == 1)
    changes = rows.keys_changes
    assert two.admin.delete(workspace.slug)
    assert wait_until(lambda: rows.keys_changes > changes)
    assert two.directory.find(workspace.slug) is None


async def test_keys_are_rotated_and_sealed_again_at_every_cluster(two, urls, cluster):
    workspace = two.new_workspace(cluster)
    rows = await fill(two, workspace)
    (done,) = rotate_keys(urls[HOME], RING, workspace.slug, others=two.others)
    assert done.values > 0
    assert rewrap_keys(urls[HOME], RING, two.others) == 0
    assert "NAME" in PostgresSecrets(rows, two.threads, Sealer(rows, RING)).read()


# Moves


def counts(rows):
    return rows.generation, rows.settings_changes, rows.keys_changes


async def test_move_takes_everything_and_leaves_other_workspaces_unchanged(two):
    two.notices.start()
    workspace, other = two.new_workspace(), two.new_workspace()
    rows = await fill(two, workspace)
    await fill(two, other)
    before, foreign = two.contents(workspace.id, HOME), two.contents(other.id, HOME)
    assert len([table for table, found in before.items() if found]) >= 6
    changes = counts(rows)
    moved = two.move(workspace, WEST)
    assert moved.rows >= 6
    assert two.contents(workspace.id, WEST) == before
    assert two.contents(other.id, HOME) == foreign
    assert wait_until(lambda: rows.database is two.clusters[WEST])
    assert all(now > then for now, then in zip(counts(rows), changes, strict=True))
    await PostgresSecrets(rows, two.threads, Sealer(rows, RING)).put("LATER", "value")
    assert two.move(workspace, HOME).rows > moved.rows
    assert wait_until(lambda: rows.database is two.clusters.home)
    assert sorted(PostgresSecrets(rows, two.threads, Sealer(rows, RING)).read()) == ["LATER", "NAME"]
    audit = PostgresAudit(rows, two.threads)
    entries = (await audit.page(AuditFilter(action="workspace.move"), None, 10)).items
    assert [entry.detail for entry in entries] == [{"from": WEST, "to": HOME}, {"from": HOME, "to": WEST}]


def test_process_without_the_url_of_the_target_looks_keys_up_again_and_finds_nothing(two):
    workspace, home = two.new_workspace(), two.clusters.home
    directory = Directory(home)
    known = OpenRows(directory)
    rows = known.open(directory.find(workspace.slug))
    changes = rows.keys_changes
    two.move(workspace, WEST)
    HomeChanges(known, Clusters(home)).note("moved", [str(workspace.id), WEST, "2"])
    assert rows.keys_changes > changes
    with pytest.raises(StoreUnavailable, match="Set ONETOOL_CLUSTER_WEST_URL"):
        directory.find(workspace.slug)


async def test_writes_during_a_move_wait_and_go_to_the_target(two):
    """Without the announcement: the process learns of the move because its write is refused."""
    workspace = two.new_workspace()
    rows, acknowledged, stop = await fill(two, workspace), [], threading.Event()

    def write():
        while not stop.is_set():
            value = uuid4().hex
            with rows.recording() as cursor:
                cursor.execute(
                    "insert into toggles (workspace_id, id, is_enabled) values (%s, %s, true)",
                    (rows.workspace, value),
                )
            acknowledged.append(value)

    def has_more(seen):
        return len(acknowledged) > seen + 5

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    try:
        for target in (WEST, HOME, WEST):
            assert wait_until(partial(has_more, len(acknowledged)))
            two.move(workspace, target)
        assert wait_until(partial(has_more, len(acknowledged)))
    finally:
        stop.set()
        for writer in writers:
            writer.join(HANG_S)
    with psycopg.connect(two.urls[WEST]) as connection:
        found = connection.execute("select id from onetool.toggles where workspace_id = %s", (workspace.id,))
        assert {id for (id,) in found.fetchall()} == set(acknowledged)


def test_write_to_a_workspace_that_stays_read_only_is_refused(two, monkeypatch):
    monkeypatch.setattr(workspace_database, "MOVE_WAIT_S", 0.3)
    workspace = two.new_workspace()
    rows = two.rows(workspace)
    set_fenced(two.urls[HOME], workspace.id)
    began = time.monotonic()
    with pytest.raises(WorkspaceReadOnly), store_errors(), rows.writing():
        pass
    assert time.monotonic() - began >= 0.3
    two.move(workspace, HOME)
    with rows.writing():
        pass


@pytest.mark.parametrize("steps", range(1, STEPS + 1))
async def test_move_that_was_killed_is_completed_by_the_next_one(two, steps):
    workspace = two.new_workspace()
    rows = await fill(two, workspace)
    before = two.contents(workspace.id, HOME)
    kill_after(two, workspace, WEST, steps)
    repeat(two, workspace, WEST)
    assert two.directory.find(workspace.slug).cluster == WEST
    assert two.contents(workspace.id, WEST) == before
    with rows.writing():
        pass


@pytest.mark.parametrize("steps", [1, 2])
async def test_move_that_was_killed_is_undone_by_a_move_to_where_it_was(two, steps):
    workspace = two.new_workspace()
    rows = await fill(two, workspace)
    before = two.contents(workspace.id, HOME)
    kill_after(two, workspace, WEST, steps)
    repeat(two, workspace, HOME)
    assert two.contents(workspace.id, HOME) == before
    with rows.writing():
        pass
    assert two.directory.find(workspace.slug).cluster == HOME


def repeat(two, workspace, target):
    """Move again, once the database has noticed the end of the other process."""

    def move():
        with suppress(StoreUnavailable):
            return two.move(workspace, target)

    assert wait_until(move)


async def test_copy_that_fails_leaves_the_workspace_writable_where_it_was(two):
    workspace = two.new_workspace()
    rows = await fill(two, workspace)
    await PostgresSecrets(rows, two.threads, Sealer(rows, RING)).put("REFUSED", "value")
    with psycopg.connect(two.urls[WEST], autocommit=True) as connection:
        connection.execute(
            "alter table onetool.secrets add constraint none_here check (name <> 'REFUSED') not valid"
        )
        try:
            with pytest.raises(StoreUnavailable, match="none_here"):
                two.move(workspace, WEST)
        finally:
            connection.execute("alter table onetool.secrets drop constraint none_here")
    with rows.writing():
        pass
    assert not any(two.contents(workspace.id, WEST).values())


def test_move_to_another_schema_to_the_same_database_or_to_nowhere_is_refused(two, urls):
    workspace = two.new_workspace()
    with pytest.raises(SettingsError, match="'east' is not part"):
        two.move(workspace, "east")
    with pytest.raises(SettingsError, match="no workspace 'none'"):
        WorkspaceMoves(urls).move("none", WEST)
    with pytest.raises(SettingsError, match="are the same database"):
        WorkspaceMoves({**urls, WEST: urls[HOME]}).move(workspace.slug, WEST)
    with psycopg.connect(urls[WEST], autocommit=True) as connection:
        change = "update public.onetool_migrations set checksum = %s || checksum where number = 1"
        connection.execute(change, ("x",))
        try:
            with pytest.raises(StoreUnavailable, match="have different tables"):
                two.move(workspace, WEST)
        finally:
            undo = (
                "update public.onetool_migrations set checksum = substring(checksum from 2) where number = 1"
            )
            connection.execute(undo)


async def test_rows_at_the_source_are_deleted_a_day_after_the_move(two, urls):
    workspace = two.new_workspace()
    await fill(two, workspace)
    two.move(workspace, WEST)
    moves = WorkspaceMoves(urls)
    assert (workspace.slug, HOME) not in moves.clean_up()
    assert any(two.contents(workspace.id, HOME).values())
    there = two.contents(workspace.id, WEST)
    assert (workspace.slug, HOME) in moves.clean_up(keep_hours=0)
    assert not any(two.contents(workspace.id, HOME).values())
    assert two.contents(workspace.id, WEST) == there
    assert UUID(str(two.directory.find(workspace.slug).id)) == workspace.id
