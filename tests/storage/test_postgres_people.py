"""People in PostgreSQL: recognized by issuer and subject, with groups, and with sessions of browsers."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from onetool.domain.calls.effect import Effect
from onetool.domain.errors import PersonDisabled, WorkspaceUnavailable
from onetool.domain.identity.person import Identity, Person
from onetool.domain.identity.roles import Right, Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.domain.policy.rights import Grant
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.people import MAX_EXPIRED, PostgresPeople
from onetool.threads import Threads
from support.postgres import execute, new_workspace

HOUR = timedelta(hours=1)


@pytest.fixture
def people(home_database):
    threads = Threads()
    yield PostgresPeople(home_database, threads)
    threads.close()


def identity(*groups, issuer="https://login.example", **fields):
    return Identity(issuer, f"subject-{uuid4().hex}", groups=groups, **fields)


def add_member(workspace, kind, id, role="caller"):
    with workspace.writing("keys") as cursor:
        cursor.execute(
            "insert into members (workspace_id, kind, id, role, added_by) values (%s, %s, %s, %s, 'test')",
            (workspace.workspace, kind, str(id), role),
        )


def group_id(url, issuer, name):
    return execute(url, "select id from home.groups where issuer = %s and name = %s", issuer, name)[0][0]


def keys_revision(workspace):
    with workspace.reading() as cursor:
        cursor.execute("select keys from onetool.revisions(%s)", ([workspace.workspace],))
        return cursor.fetchone()[0]


async def slugs(people, person):
    return [workspace.slug for workspace in await people.workspaces_of(person)]


async def test_person_is_the_same_at_every_login_and_name_and_address_are_updated(people):
    anna = identity(email="anna@example.com", name="Anna")
    person = await people.sign_in(anna)
    assert isinstance(person, UUID)
    assert await people.sign_in(anna._replace(email="new@example.com", name="Anna B.")) == person
    session = await people.begin_session(person, HOUR)
    assert await people.find_session(session) == Person(person, "new@example.com", "Anna B.")


async def test_same_address_or_subject_of_another_issuer_is_another_person(people, workspace):
    """An address can be claimed by anyone at some provider, so it gives no rights."""
    anna = identity(email="anna@example.com")
    person = await people.sign_in(anna)
    add_member(workspace, "person", person, "owner")
    for other in (identity(email="anna@example.com"), anna._replace(issuer="https://else.example")):
        impostor = await people.sign_in(other)
        assert impostor != person
        assert await people.workspaces_of(impostor) == []


async def test_concurrent_first_logins_create_one_person(people):
    anna = identity("ops")
    assert len(set(await asyncio.gather(*(people.sign_in(anna) for _ in range(8))))) == 1


async def test_groups_are_replaced_but_not_those_of_another_issuer(people, home_database, home_url):
    first, second, third = (new_workspace(home_database, home_url) for _ in range(3))
    names = [f"group-{uuid4().hex}" for _ in range(2)]
    anna = identity(*names)
    person = await people.sign_in(anna)
    for workspace, name in zip((first, second), names, strict=True):
        add_member(workspace, "group", group_id(home_url, anna.issuer, name))
    await people.sign_in(identity(names[0], issuer="https://else.example"))
    add_member(third, "group", group_id(home_url, "https://else.example", names[0]))
    assert len(await slugs(people, person)) == 2, "a group of the same name at another issuer is another one"
    await people.sign_in(anna._replace(groups=(names[1],)))
    (left,) = await people.workspaces_of(person)
    assert (left.id, left.roles) == (second.workspace, ("caller",))
    await people.sign_in(anna._replace(groups=()))
    assert await people.workspaces_of(person) == []


async def test_groups_about_which_the_issuer_says_nothing_only_deny(people, home_database, home_url):
    workspace, name = new_workspace(home_database, home_url), f"group-{uuid4().hex}"
    threads = Threads()
    members = PostgresMembers(workspace, threads)
    anna = identity(name)
    person = str(await people.sign_in(anna))
    group = str(group_id(home_url, anna.issuer, name))
    await members.put(Member(MemberKind.GROUP, group, Role.OWNER))
    await members.put_grant(MemberKind.GROUP, group, Effect.DENY, "shop.pay", "me")
    complete = (await members.rights())[person]
    assert complete.may(Right.MANAGE)
    revisions = [keys_revision(workspace)]
    for groups in (None, None, (name,)):
        await people.sign_in(anna._replace(groups=groups))
        revisions.append(keys_revision(workspace))
        rights = (await members.rights())[person]
        assert rights.grants == (Grant(Effect.DENY, "shop.pay", name),)
        assert rights.memberships == (() if groups is None else complete.memberships)
    assert revisions[0] < revisions[1] == revisions[2] < revisions[3], "each change is announced, once"
    await people.sign_in(anna._replace(groups=()))
    assert await members.rights() == {}
    threads.close()


async def test_login_makes_old_groups_count_again(people, home_database, home_url):
    workspace, name = new_workspace(home_database, home_url), f"group-{uuid4().hex}"
    anna = identity(name)
    await people.sign_in(anna)
    group = group_id(home_url, anna.issuer, name)
    add_member(workspace, "group", group)
    old = "update home.group_people set seen_at = now() - interval '31 days' where group_id = %s"
    execute(home_url, old, group)
    before = keys_revision(workspace)
    await people.sign_in(anna)
    assert keys_revision(workspace) > before
    age = "select now() - seen_at < interval '1 hour' from home.group_people where group_id = %s"
    assert execute(home_url, age, group) == [(True,)]


async def test_workspaces_that_lose_and_gain_a_person_are_told(people, home_database, home_url):
    lost, gained, kept, unrelated = (new_workspace(home_database, home_url) for _ in range(4))
    old, new = (f"group-{uuid4().hex}" for _ in range(2))
    anna = identity(old)
    await people.sign_in(identity(new))  # so that the group exists
    person = await people.sign_in(anna)
    add_member(lost, "group", group_id(home_url, anna.issuer, old))
    add_member(gained, "group", group_id(home_url, anna.issuer, new))
    add_member(kept, "person", person)
    before = [keys_revision(workspace) for workspace in (lost, gained, kept, unrelated)]
    await people.sign_in(anna)
    assert [keys_revision(workspace) for workspace in (lost, gained, kept, unrelated)] == before
    await people.sign_in(anna._replace(groups=(new,)))
    after = [keys_revision(workspace) for workspace in (lost, gained, kept, unrelated)]
    assert [number > earlier for number, earlier in zip(after, before, strict=True)] == [
        True,
        True,
        True,
        False,
    ]


async def test_people_who_change_places_do_not_block_each_other(people, home_database, home_url):
    """Each login changes the revisions of two workspaces, in opposite orders."""
    workspaces = [new_workspace(home_database, home_url) for _ in range(2)]
    names = [f"group-{uuid4().hex}" for _ in range(2)]
    both = [identity(names[0]), identity(names[1])]
    for person in both:
        await people.sign_in(person)
    for workspace, name in zip(workspaces, names, strict=True):
        add_member(workspace, "group", group_id(home_url, both[0].issuer, name))
    for number in range(6):
        moved = [person._replace(groups=(names[(number + i + 1) % 2],)) for i, person in enumerate(both)]
        ids = await asyncio.gather(*map(people.sign_in, moved))
    for id in ids:
        assert len(await people.workspaces_of(id)) == 1


async def test_disabled_person_is_refused_and_loses_all_sessions(people, home_database, home_url):
    anna, workspace = identity(), new_workspace(home_database, home_url)
    person = await people.sign_in(anna)
    add_member(workspace, "person", person)
    session, before = await people.begin_session(person, HOUR), keys_revision(workspace)
    assert await people.disable(person)
    later = await people.begin_session(person, HOUR)  # as if it had been disabled after the check
    assert [await people.find_session(text) for text in (session, later)] == [None, None]
    assert keys_revision(workspace) > before
    with pytest.raises(PersonDisabled, match="cannot log in"):
        await people.sign_in(anna._replace(groups=("ops",)))
    assert await people.enable(person)
    assert await people.sign_in(anna) == person
    assert await people.find_session(session) is None


async def test_unknown_person_can_neither_be_disabled_nor_have_a_session(people):
    assert not await people.disable(uuid4())
    assert not await people.enable(uuid4())
    with pytest.raises(WorkspaceUnavailable):
        await people.begin_session(uuid4(), HOUR)


async def test_session_ends_when_it_expires_or_is_ended(people):
    person = await people.sign_in(identity(name="Anna"))
    expired = await people.begin_session(person, -HOUR)
    first, second, third = [await people.begin_session(person, HOUR) for _ in range(3)]
    assert await people.find_session(expired) is None
    await people.end_session(first)
    assert await people.find_session(first) is None
    assert await people.find_session(second)
    assert await people.end_sessions(person) == 2
    assert await people.find_session(third) is None


async def test_only_the_hash_of_a_session_is_stored(people, home_url):
    person = await people.sign_in(identity())
    session = await people.begin_session(person, HOUR)
    query = "select encode(hash, 'escape') || '|' || row_to_json(s)::text from home.browser_sessions s"
    stored = "".join(text for (text,) in execute(home_url, query))
    assert session not in stored
    assert session.removeprefix("ots_").encode().hex() not in stored


@pytest.mark.parametrize(
    "text", ["", "ots_", "otk_" + "a" * 43, "ots_" + "ä" * 43, "ots_" + "a" * 43 + "\n", "\ud800"]
)
async def test_text_that_is_no_session_is_not_found(people, text):
    assert await people.find_session(text) is None
    await people.end_session(text)


async def test_expired_sessions_are_deleted_when_a_new_one_begins(people, home_url):
    person = await people.sign_in(identity())
    add = (
        "insert into home.browser_sessions (hash, person_id, expires_at)"
        " select sha256(convert_to(i::text || %s, 'utf8')), %s, now() - interval '1 s'"
        " from generate_series(1, %s) as i"
    )
    execute(home_url, add, uuid4().hex, person, MAX_EXPIRED)
    for _ in range(3):  # other tests have expired sessions too
        await people.begin_session(person, HOUR)
    query = "select count(*) from home.browser_sessions where person_id = %s and expires_at < now()"
    assert execute(home_url, query, person) == [(0,)]


async def test_texts_that_the_database_cannot_hold_are_replaced(people):
    person = await people.sign_in(identity(name="A\0nna\ud800", email="a\0"))
    session = await people.begin_session(person, HOUR)
    assert "\0" not in (await people.find_session(session)).name
