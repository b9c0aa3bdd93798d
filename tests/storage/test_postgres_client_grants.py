"""Clients that people have allowed: codes are valid once, refresh tokens rotate, all die with their grant."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from onetool.domain.audit.entry import AuditFilter
from onetool.domain.errors import MemberError
from onetool.domain.identity.client_grant import AllowedClient, CodeProof
from onetool.domain.identity.person import Identity
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.storage.postgres import client_grants
from onetool.storage.postgres.audit import PostgresAudit
from onetool.storage.postgres.client_grants import (
    MAX_ACCESS_TOKENS,
    MAX_PERSON_GRANTS,
    PostgresClientGrants,
)
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.people import PostgresPeople
from onetool.storage.postgres.sealer import Sealer
from support.postgres import RING, new_workspace

CLIENT, URI, CHALLENGE = "https://client.example/c.json", "http://127.0.0.1:8/cb", "c" * 43
PROOF = CodeProof(CLIENT, URI, CHALLENGE)


class GrantWorld:
    """A workspace with a person who allows clients."""

    def __init__(self, workspace, people, threads, person):
        self.workspace, self.people, self.threads, self.person = workspace, people, threads, person
        self.grants = PostgresClientGrants(workspace, threads, Sealer(workspace, RING))
        self.members = PostgresMembers(workspace, threads)

    async def allow(self, client=CLIENT):
        return await self.grants.allow(AllowedClient(uuid4(), self.person, client, "C", URI, CHALLENGE))

    async def tokens(self, client=CLIENT):
        tokens = await self.grants.redeem(await self.allow(client), PROOF._replace(client_id=client))
        assert tokens is not None
        return tokens

    def set(self, assignment, kind, table="oauth_tokens"):
        """Change rows as if time had passed."""
        condition = "and kind = %s" if table == "oauth_tokens" else "and %s::text is not null"
        with self.workspace.recording() as cursor:
            query = f"update {table} set {assignment} where workspace_id = %s {condition}"
            cursor.execute(query, (self.workspace.workspace, kind))

    async def actions(self):
        log = PostgresAudit(self.workspace, self.threads)
        page = await log.page(AuditFilter(action="client"), None, 100)
        return [entry.action for entry in page.items]


@pytest.fixture
async def world(workspace, home_database, threads):
    people = PostgresPeople(home_database, threads)
    person = await people.sign_in(Identity("https://login.example", f"sub-{uuid4().hex}"))
    world = GrantWorld(workspace, people, threads, UUID(str(person)))
    await world.members.put(Member(MemberKind.PERSON, str(person), Role.CALLER))
    return world


async def test_code_becomes_tokens_with_which_the_client_is_the_person(world):
    tokens = await world.tokens()
    found = await world.grants.find(tokens.access)
    assert found.owner == str(world.person)
    assert found.is_valid(datetime.now(UTC))
    assert not found.is_valid(found.expires_at)
    assert tokens.lifetime_s == 3600
    assert len({tokens.access, tokens.refresh}) == 2
    (grant,) = await world.grants.list(str(world.person))
    assert (grant.client_id, grant.client_name) == (CLIENT, "C")
    assert grant.created_at <= grant.used_at < grant.expires_at


async def test_codes_and_tokens_are_stored_as_hashes(world):
    code, tokens = await world.allow(), await world.tokens()
    with world.workspace.reading() as cursor:
        rows = str(cursor.execute("select * from oauth_tokens").fetchall())
    assert not any(secret in rows for secret in (code, tokens.access, tokens.refresh))


@pytest.mark.parametrize("wrong", [{"client_id": "x"}, {"redirect_uri": "x"}, {"challenge": "x"}])
async def test_code_is_only_for_what_it_was_made_for(world, wrong):
    code = await world.allow()
    assert await world.grants.redeem(code, PROOF._replace(**wrong)) is None
    assert await world.grants.redeem(code, PROOF) is not None, "no one else can use it up"


async def test_expired_code_is_refused(world):
    code = await world.allow()
    world.set("expires_at = now()", "code")
    assert await world.grants.redeem(code, PROOF) is None
    assert await world.actions() == ["client.allow"]


async def test_code_that_is_used_twice_revokes_its_grant_and_no_other(world):
    other = await world.tokens()
    code = await world.allow()
    tokens = await world.grants.redeem(code, PROOF)
    assert await world.grants.redeem(code, PROOF) is None
    assert await world.grants.find(tokens.access) is None
    assert await world.grants.refresh(tokens.refresh, CLIENT) is None
    assert await world.grants.find(other.access) is not None
    assert (await world.actions())[0] == "client.replay"


async def test_concurrent_uses_of_a_code_give_tokens_once(world):
    code = await world.allow()
    results = await asyncio.gather(*(world.grants.redeem(code, PROOF) for _ in range(8)))
    assert len([tokens for tokens in results if tokens]) == 1
    assert await world.grants.list(str(world.person)) == []


async def test_refresh_whose_response_was_lost_is_answered_again_with_the_same_next_token(world):
    first = await world.tokens()
    second = await world.grants.refresh(first.refresh, CLIENT)
    again = await world.grants.refresh(first.refresh, CLIENT)
    assert again.refresh == second.refresh
    assert again.access != second.access
    assert await world.grants.refresh(again.refresh, CLIENT) is not None


async def test_refresh_token_whose_successor_was_used_is_a_replay(world):
    """The response has arrived, so that someone else sends the token again."""
    first = await world.tokens()
    second = await world.grants.refresh(first.refresh, CLIENT)
    third = await world.grants.refresh(second.refresh, CLIENT)
    assert len({first.refresh, second.refresh, third.refresh}) == 3
    assert await world.grants.find(third.access) is not None
    assert await world.grants.refresh(first.refresh, CLIENT) is None
    assert await world.grants.find(third.access) is None


async def test_concurrent_refreshes_agree_on_the_next_token(world):
    first = await world.tokens()
    results = await asyncio.gather(*(world.grants.refresh(first.refresh, CLIENT) for _ in range(8)))
    assert len({tokens.refresh for tokens in results}) == 1
    assert await world.grants.refresh(results[0].refresh, CLIENT) is not None


async def test_refresh_token_that_is_replayed_later_revokes_its_grant_and_no_other(world):
    other, first = await world.tokens(), await world.tokens()
    second = await world.grants.refresh(first.refresh, CLIENT)
    world.set("replaced_at = replaced_at - interval '61 seconds'", "refresh")
    assert await world.grants.refresh(first.refresh, CLIENT) is None
    assert await world.grants.find(second.access) is None
    assert await world.grants.refresh(second.refresh, CLIENT) is None
    assert await world.grants.refresh(other.refresh, CLIENT) is not None
    assert (await world.actions())[0] == "client.replay"


async def test_refresh_token_of_another_client_is_refused_without_harm(world):
    tokens = await world.tokens()
    assert await world.grants.refresh(tokens.refresh, "https://other.example/c") is None
    assert await world.grants.refresh(tokens.refresh, CLIENT) is not None


async def test_expired_tokens_are_refused(world):
    tokens = await world.tokens()
    world.set("expires_at = now()", "access")
    assert await world.grants.find(tokens.access) is None
    world.set("expires_at = now()", "refresh")
    assert await world.grants.refresh(tokens.refresh, CLIENT) is None


async def test_tokens_are_of_one_kind(world):
    code = await world.allow()
    tokens = await world.tokens()
    for wrong in (code, tokens.refresh, "", "ota_x", f"ota_{'a' * 43}"):
        assert await world.grants.find(wrong) is None
    for wrong in (code, tokens.access):
        assert await world.grants.refresh(wrong, CLIENT) is None
    for wrong in (tokens.refresh, tokens.access):
        assert await world.grants.redeem(wrong, PROOF) is None


async def test_tokens_of_a_workspace_are_unknown_in_another(world, home_database, home_url):
    tokens, code = await world.tokens(), await world.allow()
    workspace = new_workspace(home_database, home_url)
    other = GrantWorld(workspace, world.people, world.threads, world.person)
    await other.members.put(Member(MemberKind.PERSON, str(world.person), Role.OWNER))
    assert await other.grants.find(tokens.access) is None
    assert await other.grants.refresh(tokens.refresh, CLIENT) is None
    assert await other.grants.redeem(code, PROOF) is None
    await other.grants.revoke_token(tokens.refresh, CLIENT)
    assert await world.grants.find(tokens.access) is not None


async def test_removed_member_loses_all_clients(world):
    tokens, code = await world.tokens(), await world.allow()
    before = world.workspace.keys_changes
    await world.members.remove(MemberKind.PERSON, str(world.person))
    assert world.workspace.keys_changes > before
    await world.members.put(Member(MemberKind.PERSON, str(world.person), Role.OWNER))
    assert await world.grants.find(tokens.access) is None
    assert await world.grants.refresh(tokens.refresh, CLIENT) is None
    assert await world.grants.redeem(code, PROOF) is None


async def test_clients_of_a_person_who_is_disabled_or_without_a_group_are_refused(world):
    tokens, code = await world.tokens(), await world.allow()
    await world.people.disable(world.person)
    assert await world.grants.find(tokens.access) is None
    assert await world.grants.refresh(tokens.refresh, CLIENT) is None
    assert await world.grants.redeem(code, PROOF) is None
    await world.people.enable(world.person)
    assert await world.grants.find(tokens.access) is not None
    with world.workspace.recording() as cursor:  # as if the person had been a member through a group
        cursor.execute("delete from members where workspace_id = %s", (world.workspace.workspace,))
    assert await world.grants.find(tokens.access) is None
    assert await world.grants.refresh(tokens.refresh, CLIENT) is None
    assert await world.grants.redeem(code, PROOF) is None


async def test_person_takes_back_a_grant(world):
    tokens, other = await world.tokens(), await world.tokens()
    grants = await world.grants.list(str(world.person))
    before = world.workspace.keys_changes
    assert not await world.grants.revoke(grants[1].id, str(uuid4())), "only one's own"
    assert not await world.grants.revoke("x", str(world.person))
    assert not await world.grants.revoke(grants[1].id, "a-service")
    assert await world.grants.list("a-service") == []
    assert await world.grants.revoke(grants[1].id, str(world.person))
    assert world.workspace.keys_changes > before, "all servers are told"
    assert not await world.grants.revoke(grants[1].id, str(world.person))
    assert await world.grants.find(tokens.access) is None
    assert await world.grants.refresh(tokens.refresh, CLIENT) is None
    assert await world.grants.find(other.access) is not None


@pytest.mark.parametrize("kind", ["access", "refresh"])
async def test_client_revokes_its_own_grant(world, kind):
    tokens = await world.tokens()
    token = getattr(tokens, kind)
    await world.grants.revoke_token(token, "https://other.example/c")
    await world.grants.revoke_token("unknown", CLIENT)
    assert await world.grants.find(tokens.access) is not None
    await world.grants.revoke_token(token, CLIENT)
    assert await world.grants.find(tokens.access) is None
    assert await world.grants.refresh(tokens.refresh, CLIENT) is None


async def test_one_answer_creates_one_grant(world):
    client = AllowedClient(uuid4(), world.person, CLIENT, "C", URI, CHALLENGE)
    await world.grants.allow(client)
    with pytest.raises(MemberError, match="allowed already"):
        await world.grants.allow(client)


async def test_new_grant_replaces_the_least_recently_used_of_the_person(world):
    first, second = await world.tokens("https://a.example/"), await world.tokens("https://b.example/")
    await world.grants.refresh(first.refresh, "https://a.example/")
    for _ in range(MAX_PERSON_GRANTS - 1):
        await world.allow()
    assert len(await world.grants.list(str(world.person))) == MAX_PERSON_GRANTS
    assert await world.grants.find(first.access) is not None
    assert await world.grants.find(second.access) is None


async def test_workspace_has_a_limited_number_of_grants(world, monkeypatch):
    await world.allow()
    monkeypatch.setattr(client_grants, "MAX_GRANTS", 2)
    await world.allow()
    with pytest.raises(MemberError, match="2 allowed clients"):
        await world.allow()


async def test_number_of_stored_tokens_of_a_grant_is_limited(world):
    tokens = await world.tokens()
    for _ in range(MAX_ACCESS_TOKENS):
        latest = await world.grants.refresh(tokens.refresh, CLIENT)
    assert await world.grants.find(tokens.access) is None
    assert await world.grants.find(latest.access) is not None
    with world.workspace.reading() as cursor:
        counts = dict(cursor.execute("select kind, count(*) from oauth_tokens group by kind").fetchall())
    assert counts == {"access": MAX_ACCESS_TOKENS, "code": 1, "refresh": 2}


async def test_expired_grants_and_tokens_are_deleted_after_a_day(world):
    await world.tokens()
    await world.grants.reap()
    assert counts(world) == (1, 3)
    world.set("expires_at = now() - interval '2 days'", "access")
    await world.grants.reap()
    assert counts(world) == (1, 2)
    world.set("expires_at = now() - interval '1 hour'", "x", "oauth_grants")
    assert await world.grants.list(str(world.person)) == []
    await world.grants.reap()
    assert counts(world) == (1, 2)
    world.set("expires_at = now() - interval '2 days'", "x", "oauth_grants")
    await world.grants.reap()
    assert counts(world) == (0, 0)


def counts(world):
    with world.workspace.reading() as cursor:
        tables = ("oauth_grants", "oauth_tokens")
        return tuple(cursor.execute(f"select count(*) from {table}").fetchone()[0] for table in tables)
