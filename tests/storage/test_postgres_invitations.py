"""Invitations in PostgreSQL: valid once, for a while, and as long as who has invited may do so."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from onetool.domain.errors import MemberError
from onetool.domain.identity.person import Identity
from onetool.domain.identity.principal import OPERATOR
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.storage.postgres.invitations import MAX_OPEN, PostgresInvitations
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.people import PostgresPeople
from support.postgres import execute, new_workspace

DAY = timedelta(days=1)


@pytest.fixture
def invitations(workspace, threads):
    return PostgresInvitations(workspace, threads)


@pytest.fixture
def members(workspace, threads):
    return PostgresMembers(workspace, threads)


@pytest.fixture
def new_person(home_database, threads):
    async def create():
        identity = Identity("https://login.example", f"sub-{uuid4().hex}")
        return str(await PostgresPeople(home_database, threads).sign_in(identity))

    return create


async def invite(invitations, role=Role.CALLER, patterns=(), lifetime=DAY, created_by=OPERATOR.id):
    return await invitations.create(role, patterns, "for Anna", lifetime, created_by)


async def roles(members):
    return {member.id: member.role for member in await members.list()}


async def test_person_becomes_a_member_with_the_role_and_patterns_of_the_invitation(
    invitations, members, new_person
):
    person, created = await new_person(), await invite(invitations, Role.CALLER, ["github.*"])
    before = members.generation()
    assert await invitations.accept(created.secret, person) is Role.CALLER
    assert members.generation() != before, "all servers read the rights again"
    (member,) = await members.list()
    assert (member.kind, member.id, member.patterns) == (MemberKind.PERSON, person, ("github.*",))
    (listed,) = await invitations.list()
    assert (listed.accepted_by, listed.note) == (person, "for Anna")
    assert listed.accepted_at is not None


async def test_invitation_is_valid_once(invitations, members, new_person):
    created, people = await invite(invitations), [await new_person() for _ in range(4)]
    accepted = await asyncio.gather(*(invitations.accept(created.secret, person) for person in people))
    assert sorted(accepted, key=str) == [None, None, None, Role.CALLER]
    assert len(await members.list()) == 1
    assert not await invitations.revoke(created.invitation.id)


async def test_invitation_that_expired_or_was_revoked_is_not_valid(invitations, members, new_person):
    revoked, expired = await invite(invitations), await invite(invitations, lifetime=-DAY)
    assert await invitations.revoke(revoked.invitation.id)
    assert not await invitations.revoke(revoked.invitation.id)
    assert not await invitations.revoke("no id")
    for created in (expired, revoked):
        assert await invitations.accept(created.secret, await new_person()) is None
    assert await members.list() == []
    assert await invitations.find(expired.secret) == expired.invitation
    assert await invitations.find(revoked.secret) is None
    assert await invitations.find("no secret") is None


async def test_invitation_is_valid_in_its_workspace_only(
    invitations, postgres, postgres_url, threads, new_person
):
    other = PostgresInvitations(new_workspace(postgres, postgres_url), threads)
    created = await invite(invitations)
    assert await other.accept(created.secret, await new_person()) is None
    assert await other.find(created.secret) is None
    assert await invitations.find(created.secret) == created.invitation
    assert await other.list() == []
    assert not await other.revoke(created.invitation.id)


@pytest.mark.parametrize("change", ["demoted", "removed", "never a member"])
async def test_invitation_is_not_valid_once_its_creator_is_no_owner(invitations, members, new_person, change):
    """Else an owner who was removed could come back."""
    owner, other = await new_person(), await new_person()
    await members.put(Member(MemberKind.PERSON, other, Role.OWNER))
    if change != "never a member":
        await members.put(Member(MemberKind.PERSON, owner, Role.OWNER))
    created = await invite(invitations, Role.OWNER, created_by=owner)
    if change == "demoted":
        await members.put(Member(MemberKind.PERSON, owner, Role.MAKER))
    elif change == "removed":
        await members.remove(MemberKind.PERSON, owner)
    invited = await new_person()
    generation = members.generation()
    assert await invitations.find(created.secret) is None
    assert await invitations.accept(created.secret, invited) is None
    assert invited not in await roles(members)
    assert members.generation() == generation
    await members.put(Member(MemberKind.PERSON, owner, Role.OWNER))
    assert await invitations.accept(created.secret, invited) is Role.OWNER


async def test_member_does_not_lose_a_role_by_an_invitation(invitations, members, new_person):
    owner = await new_person()
    await members.put(Member(MemberKind.PERSON, owner, Role.OWNER))
    created = await invite(invitations, Role.CALLER)
    with pytest.raises(MemberError, match="already"):
        await invitations.accept(created.secret, owner)
    assert (await roles(members))[owner] is Role.OWNER
    assert await invitations.accept(created.secret, await new_person()), "it is still valid"


@pytest.mark.parametrize("secret", ["", "oti_", "oti_" + "a" * 43, "x" * 10_000, "oti_\0", "\ud800"])
async def test_wrong_secret_changes_nothing(invitations, members, new_person, secret):
    generation = members.generation()
    assert await invitations.accept(secret, await new_person()) is None
    assert members.generation() == generation


async def test_only_the_hash_of_the_secret_is_stored(invitations, workspace, postgres_url):
    created = await invite(invitations)
    query = "select row_to_json(i)::text || encode(hash, 'escape') from onetool.invitations i"
    stored = "".join(text for (text,) in execute(postgres_url, query))
    assert created.secret not in stored
    assert created.secret.encode().hex() not in stored


async def test_invalid_invitation_is_refused(invitations):
    with pytest.raises(MemberError, match="pattern"):
        await invite(invitations, patterns=[""])
    with pytest.raises(MemberError, match="do not limit the role maker"):
        await invite(invitations, role=Role.MAKER, patterns=["github.*"])
    for note in ("x" * 201, "a\0b"):
        with pytest.raises(MemberError, match="note"):
            await invitations.create(Role.CALLER, (), note, DAY, OPERATOR.id)


async def test_number_of_open_invitations_is_limited_and_expired_ones_do_not_count(invitations, workspace):
    with workspace.recording() as cursor:
        cursor.execute(
            "insert into invitations (workspace_id, hash, id, role, created_by, expires_at)"
            " select %s, sha256(i::text::bytea), gen_random_uuid(), 'caller', 'x', now() + interval '1 day'"
            " from generate_series(1, %s) as i",
            (workspace.workspace, MAX_OPEN),
        )
    with pytest.raises(MemberError, match="open invitations"):
        await invite(invitations)
    with workspace.recording() as cursor:
        cursor.execute(
            "update invitations set expires_at = now() where workspace_id = %s", (workspace.workspace,)
        )
    assert await invite(invitations)
