"""Members and grants of workspaces in PostgreSQL."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from onetool.domain.calls.effect import Effect
from onetool.domain.errors import MemberError
from onetool.domain.identity.roles import Right, Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.domain.policy.rights import NO_RIGHTS, Grant, Membership
from onetool.sources.members import Members
from onetool.storage.postgres import members as members_store
from onetool.storage.postgres.api_keys import PostgresApiKeys
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.principals import is_member
from support.postgres import execute, waits_for_lock
from support.waiting import until

PERSON, GROUP, SERVICE = MemberKind.PERSON, MemberKind.GROUP, MemberKind.SERVICE


@pytest.fixture
def members(workspace, threads):
    return PostgresMembers(workspace, threads)


class People:
    """People and groups of an installation."""

    def __init__(self, url):
        self._url = url

    def execute(self, statement, *values):
        execute(self._url, statement, *values)

    def add(self, name, *groups):
        id = uuid4()
        self.execute("insert into home.people (id, name) values (%s, %s)", id, name)
        for group in groups:
            self.execute("insert into home.group_people values (%s, %s)", group, id)
        return str(id)

    def add_group(self, name):
        id = str(uuid4())
        self.execute("insert into home.groups values (%s, %s, %s)", id, f"https://{id}.example", name)
        return id


@pytest.fixture
def people(home_url):
    return People(home_url)


async def test_rights_of_services_people_and_groups(members, people):
    developers, admins = people.add_group("developers"), people.add_group("admins")
    anna, ben = people.add("Anna", developers, admins), people.add("Ben", developers)
    await members.put(Member(SERVICE, "ci", Role.CALLER, ("github.*",), "anna"))
    await members.put(Member(PERSON, anna, Role.AUDITOR))
    await members.put(Member(GROUP, developers, Role.MAKER))
    await members.put(Member(GROUP, admins, Role.OWNER))
    await members.put_grant(GROUP, developers, Effect.DENY, "shop.pay", "anna")
    await members.put_grant(SERVICE, "ci", Effect.ALLOW, "github.merge", "anna")
    rights = await members.rights()
    assert rights.keys() == {"ci", anna, ben}
    assert rights["ci"].memberships == (Membership(Role.CALLER, ("github.*",)),)
    assert rights["ci"].grants == (Grant(Effect.ALLOW, "github.merge"),)
    assert set(rights[anna].memberships) == {
        Membership(Role.AUDITOR),
        Membership(Role.MAKER, (), "developers"),
        Membership(Role.OWNER, (), "admins"),
    }
    assert rights[ben].grants == (Grant(Effect.DENY, "shop.pay", "developers"),)
    listed = {member.id: member for member in await members.list()}
    assert (listed[anna].name, listed[developers].name, listed["ci"].added_by) == (
        "Anna",
        "developers",
        "anna",
    )


async def test_disabled_people_have_no_rights(members, people):
    group = people.add_group("g")
    anna = people.add("Anna", group)
    await members.put(Member(PERSON, anna, Role.OWNER))
    await members.put(Member(GROUP, group, Role.OWNER))
    assert (await members.rights())[anna].may(Right.MANAGE)
    people.execute("update home.people set disabled_at = now() where id = %s", anna)
    assert await members.rights() == {}


async def test_last_owner_stays(members):
    await members.put(Member(SERVICE, "a", Role.OWNER))
    for change in (
        members.put(Member(SERVICE, "a", Role.CALLER)),
        members.remove(SERVICE, "a"),
    ):
        with pytest.raises(MemberError, match="'a' is the last owner"):
            await change
    await members.put(Member(SERVICE, "a", Role.OWNER, (), "again"))
    await members.put(Member(SERVICE, "b", Role.OWNER))
    assert await members.remove(SERVICE, "a")
    assert [member.id for member in await members.list()] == ["b"]


async def test_key_is_not_created_for_an_owner_who_is_being_removed(
    members, people, workspace, postgres_url, threads
):
    """It would be valid again once the owner is a member again."""
    keys = PostgresApiKeys(workspace, threads)
    await members.put(Member(SERVICE, "a", Role.CALLER))
    delete = "delete from members where workspace_id = %s and id = 'a'"
    with workspace.recording() as cursor:
        cursor.execute(delete, (workspace.workspace,))
        creating = asyncio.create_task(keys.create("a", "k", timedelta(days=1)))
        await until(lambda: waits_for_lock(postgres_url))
    with pytest.raises(MemberError, match="'a' is not a member"):
        await creating
    assert await keys.list() == []


async def test_key_that_was_just_created_is_revoked_with_its_owner(
    members, people, workspace, postgres_url, threads
):
    keys = PostgresApiKeys(workspace, threads)
    await members.put(Member(SERVICE, "a", Role.CALLER))
    with workspace.recording() as cursor:
        assert is_member(workspace, cursor, "a", lock=True)
        removing = asyncio.create_task(members.remove(SERVICE, "a"))
        await until(lambda: waits_for_lock(postgres_url))
        cursor.execute(
            "insert into api_keys"
            " (workspace_id, hash, id, owner, name, prefix, patterns, created_at, expires_at)"
            " values (%s, 'x', gen_random_uuid(), 'a', 'k', 'otk_', '{}', now(), now() + interval '1 day')",
            (workspace.workspace,),
        )
    assert await removing
    (key,) = await keys.list()
    assert key.revoked_at


async def test_keys_are_for_members_and_people_of_groups(members, people, workspace, threads):
    keys, group = PostgresApiKeys(workspace, threads), people.add_group("g")
    anna, ben = people.add("Anna", group), people.add("Ben")
    await members.put(Member(GROUP, group, Role.CALLER))
    assert (await keys.create(anna, "k", timedelta(days=1))).key.owner == anna
    for other in (ben, group, "ci"):
        with pytest.raises(MemberError, match="is not a member"):
            await keys.create(other, "k", timedelta(days=1))


async def test_owners_who_cannot_act_are_not_counted(members, people):
    """Neither a group without people, nor one whose people have not logged in for long, nor the disabled."""
    empty, unseen, group = [people.add_group(name) for name in ("empty", "unseen", "group")]
    disabled = people.add("Ben")
    people.add("Cleo", unseen)
    people.add("Anna", group)
    people.execute("update home.people set disabled_at = now() where id = %s", disabled)
    long_ago = "update home.group_people set seen_at = now() - interval '31 days' where group_id = %s"
    people.execute(long_ago, unseen)
    await members.put(Member(SERVICE, "a", Role.OWNER))
    for kind, id in ((GROUP, empty), (GROUP, unseen), (PERSON, disabled)):
        await members.put(Member(kind, id, Role.OWNER))
    for change in (members.put(Member(SERVICE, "a", Role.MAKER)), members.remove(SERVICE, "a")):
        with pytest.raises(MemberError, match="'a' is the last owner"):
            await change
    await members.put(Member(GROUP, group, Role.OWNER))
    assert await members.remove(SERVICE, "a")
    with pytest.raises(MemberError, match="is the last owner"):
        await members.remove(GROUP, group)


async def test_groups_of_people_who_have_not_logged_in_for_long_only_deny(members, people):
    group = people.add_group("g")
    anna = people.add("Anna", group)
    await members.put(Member(PERSON, anna, Role.CALLER))
    await members.put(Member(GROUP, group, Role.OWNER))
    for effect, pattern in ((Effect.DENY, "a.*"), (Effect.ASK, "b.*"), (Effect.ALLOW, "c.*")):
        await members.put_grant(GROUP, group, effect, pattern, "me")
    seen = (
        "update home.group_people set seen_at = now() - interval '30 days' + %s * interval '1 s'"
        " where group_id = %s"
    )
    people.execute(seen, 600, group)
    rights = (await members.rights())[anna]
    assert rights.may(Right.MANAGE)
    assert len(rights.grants) == 3
    people.execute(seen, -1, group)
    rights = (await members.rights())[anna]
    assert rights.memberships == (Membership(Role.CALLER),)
    assert rights.grants == (Grant(Effect.DENY, "a.*", "g"), Grant(Effect.ASK, "b.*", "g"))


async def test_each_group_that_becomes_too_old_is_noticed(members, people, monkeypatch):
    """Also one that ends after another has ended, without any other change."""
    now = 0.0
    monkeypatch.setattr(members_store.time, "monotonic", lambda: now)
    groups = [people.add_group(f"g{number}") for number in range(2)]
    persons = [people.add(f"P{number}", group) for number, group in enumerate(groups)]
    for number, group in enumerate(groups):
        await members.put(Member(GROUP, group, Role.OWNER))
        ages = "update home.group_people set seen_at = now() - interval '30 days' + %s * interval '1 s'"
        people.execute(f"{ages} where group_id = %s", 1_000 * (number + 1), group)
    known = Members(members)
    assert all([(await known.current(person)).may(Right.MANAGE) for person in persons])
    for number, group in enumerate(groups):
        people.execute(f"{ages} where group_id = %s", -1, group)
        now += 1_001 * (number + 1)
        assert not (await known.current(persons[number])).may(Right.MANAGE)
        seen = members.generation()
        await known.current(persons[number])
        assert members.generation() == seen


async def test_removed_member_loses_grants_and_keys(members, workspace, threads):
    keys = PostgresApiKeys(workspace, threads)
    for name in ("a", "b"):
        await members.put(Member(SERVICE, name, Role.CALLER))
    grant = await members.put_grant(SERVICE, "a", Effect.ASK, "x.*", "me")
    own, other = [await keys.create(owner, "k", timedelta(days=1)) for owner in ("a", "b")]
    assert await members.remove(SERVICE, "a")
    assert not await members.remove(SERVICE, "a")
    assert not await members.remove_grant(grant.id)
    assert await members.grants() == []
    assert (await keys.find(own.text)).revoked_at
    assert (await keys.find(other.text)).revoked_at is None
    assert await keys.is_valid(other.key.id, "b")
    assert not await keys.is_valid(other.key.id, "a")
    assert not await keys.is_valid(own.key.id, "a")
    assert not await keys.is_valid("", "b")


async def test_grant_with_the_same_pattern_is_replaced(members):
    await members.put(Member(SERVICE, "a", Role.CALLER))
    first = await members.put_grant(SERVICE, "a", Effect.ASK, "x.*", "me")
    second = await members.put_grant(SERVICE, "a", Effect.DENY, "x.*", "you")
    (stored,) = await members.grants()
    assert (stored.id, stored.effect, stored.added_by) == (first.id, Effect.DENY, "you")
    assert second.id == first.id
    assert await members.remove_grant(first.id)
    assert not await members.remove_grant("no id")


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (Member(PERSON, str(uuid4()), Role.OWNER), "There is no person"),
        (Member(GROUP, str(uuid4()), Role.OWNER), "There is no group"),
        (Member(SERVICE, "not a name", Role.OWNER), "is not a name for a service"),
        (Member(SERVICE, "a", Role.OWNER, ("",)), "is not a pattern"),
    ],
)
async def test_invalid_members_are_refused(members, member, message):
    with pytest.raises(MemberError, match=message):
        await members.put(member)
    with pytest.raises(MemberError, match="is not a member"):
        await members.put_grant(member.kind, member.id, Effect.ASK, "x", "me")
    assert await members.list() == []


async def test_every_change_is_counted_like_a_revoked_key(members):
    known = members.generation()
    for change in (
        lambda: members.put(Member(SERVICE, "a", Role.CALLER)),
        lambda: members.put_grant(SERVICE, "a", Effect.ASK, "x", "me"),
        lambda: members.remove(SERVICE, "a"),
    ):
        await change()
        assert members.generation() != known
        known = members.generation()


async def test_rights_are_read_again_after_a_change(members):
    current = Members(members)
    assert await current.current("a") is NO_RIGHTS
    await members.put(Member(SERVICE, "a", Role.CALLER))
    assert current.of("a") is NO_RIGHTS
    assert (await current.current("a")).may(Right.CALL)
    assert current.of("a").may(Right.CALL)
