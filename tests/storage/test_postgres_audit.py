"""The audit log: every change of the configuration has an entry, in its own transaction and only there."""

import json
import random
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib import import_module
from pkgutil import walk_packages

import psycopg
import pytest
from uuid_utils.compat import uuid7

from onetool.domain.audit.entry import AuditAction, AuditEntry, AuditFilter
from onetool.domain.calls.effect import Effect
from onetool.domain.identity.client_grant import AllowedClient, CodeProof
from onetool.domain.identity.interface import PROCESS, acting_through
from onetool.domain.identity.principal import Principal, acting_as
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.domain.servers.manifest import approve, merge, receive_instructions, refuse_prompt_text
from onetool.domain.servers.server_tool import ServerTool
from onetool.storage import postgres as postgres_stores
from onetool.storage.postgres.audit import CHUNK, MAX_LENGTH, PostgresAudit, record
from onetool.storage.postgres.clusters import HOME
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import WorkspaceAdmin
from onetool.storage.postgres.key_ring import KEY_BYTES, KeyRing
from onetool.storage.postgres.key_rotation import rotate_keys
from onetool.storage.postgres.moves import WorkspaceMoves
from onetool.storage.postgres.rewrap import rewrap_keys
from onetool.storage.postgres.settings import SettingsVersion
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from storage.stored_bundles import make_bundle, new_tool
from storage.workspace_calls import AnyIds, WorkspaceCalls
from support.postgres import add_services, execute, new_database, set_fenced

SEED = 20_261_117
ANNA = Principal("anna")
PERSON = uuid7()
PROOF = CodeProof("https://client.example/c", "https://client.example/", "c")
OLD_KEY, NEW_KEY = {"test": b"k" * KEY_BYTES}, {"next": b"n" * KEY_BYTES}
CANARY = "canary-4b1d"
"""A value that must stay secret."""
CONFIGURATION = frozenset(
    {
        "bundles",
        "tools",
        "toggles",
        "manifests",
        "credentials",
        "secrets",
        "settings",
        "api_keys",
        "members",
        "grants",
        "invitations",
        "own_secrets",
        "data_keys",
        "oauth_grants",
    }
)
"""Tables whose changes have entries."""
RECORDS = {
    "audit": "the log itself",
    "oauth_tokens": "codes and tokens of clients, whose grants have entries",
    "workspace_state": "numbers of changes",
    **dict.fromkeys(("vocabulary", "words", "term_totals"), "derived from the tools"),
    **dict.fromkeys(("results", "result_totals"), "results of calls"),
    **dict.fromkeys(("sessions", "session_records", "chat_leases", "chat_approvals"), "chats of principals"),
    **dict.fromkeys(("client_sessions", "client_session_entries"), "sessions of MCP clients"),
    **dict.fromkeys(("calls", "call_bodies", "call_hours", "session_savings", "tool_counters"), "activity"),
    **dict.fromkeys(("begun_logins", "token_leases"), "logins and refreshes in progress"),
    **dict.fromkeys(("jobs", "job_owners", "job_answers"), "calls in progress"),
}
"""Tables whose changes have no entries, and what they contain."""
EXEMPT = {
    "manifests.change": "a listing, which no one has approved",
    "bundles.reap": "removes bundles whose deletion has an entry",
}
"""Methods that change configuration without an entry, and why."""
NOT_CALLED = {
    "PostgresJobs": "calls in progress",
    "PostgresJobQueue": "calls in progress",
    "PostgresPeople": "people are not of a workspace",
}
"""Stores whose methods the test does not call, and why."""
CHANGING = frozenset(
    {
        "bundles.change_bundle",
        "bundles.add_tool",
        "bundles.import_bundle",
        "bundles.change_tool",
        "bundles.delete_tool",
        "bundles.reap",
        "toggles.set",
        "manifests.change",
        "tokens.exclusive",
        "http_tokens.exclusive",
        "member_tokens.of",
        "keys.create",
        "keys.revoke",
        "secrets.put",
        "secrets.delete",
        "settings.put",
        "members.put",
        "members.remove",
        "members.put_grant",
        "members.remove_grant",
        "own_secrets.put",
        "own_secrets.delete",
        "invitations.create",
        "invitations.revoke",
        "client_grants.allow",
        "client_grants.revoke",
    }
)
"""Methods of stores that change configuration. Others than these must not, without being in this list."""


class World:
    """A workspace in a database of its own, and what changes it."""

    def __init__(self, url):
        self.url, self.database, self.threads = url, Database(url), Threads()
        self.slug = f"w{uuid7().hex}"
        self.admin = WorkspaceAdmin(url, KeyRing(OLD_KEY | NEW_KEY))
        self.workspace = WorkspaceDatabase(self.database, self.admin.create(self.slug).id)
        add_services(self.workspace, "ben")
        self.calls = WorkspaceCalls(self.workspace, self.threads, AnyIds.create(1), SEED)
        self.stores = self.calls.stores
        execute(url, "insert into home.people (id) values (%s) on conflict do nothing", PERSON)
        self.bundle = make_bundle()
        impl = {"request": {"headers": {"X-Key": CANARY}}}
        self.tool = new_tool(self.bundle, "today", type="http", http_impl=impl)
        self.target = f"{self.bundle.id}/today/v1"

    async def put_bundle(self, **changes):
        await self.stores.bundles.change_bundle(
            self.bundle.id, lambda old: replace(old or self.bundle, **changes)
        )
        return self.bundle.id

    async def add_tool(self):
        await self.put_bundle()
        await self.stores.bundles.add_tool(self.tool, lambda bundle: None)
        return self.target

    async def import_bundle(self):
        await self.stores.bundles.import_bundle(self.bundle, [self.tool])
        return self.bundle.id

    async def change_tool(self):
        await self.add_tool()
        await self.stores.bundles.change_tool(
            self.tool.key, lambda bundle, tool: replace(tool, is_enabled=False)
        )
        return self.target

    async def delete_tool(self):
        await self.add_tool()
        await self.stores.bundles.delete_tool(self.tool.key)
        return self.target

    async def delete_bundle(self):
        await self.put_bundle()
        return await self.put_bundle(soft_deleted_at="2")

    async def change_bundle(self):
        await self.put_bundle()
        return await self.put_bundle(description=CANARY, modified_at="2")

    async def set_toggle(self):
        await self.stores.toggles.set("some-id", False)
        return "some-id"

    async def approve(self):
        listed = [ServerTool(definition={"name": name, "inputSchema": {}}) for name in ("a", "b")]
        await self.stores.manifests.change("remote", lambda old: merge(old, listed, 1.0))
        await self.stores.manifests.change("remote", lambda old: approve(old, ["b"]))
        return "remote"

    async def approve_instructions(self):
        def receive(old):
            return receive_instructions(merge(old, [], 1.0), CANARY)

        await self.stores.manifests.change("remote", receive)
        await self.stores.manifests.change(
            "remote", lambda old: replace(old, instructions=old.instructions.approve())
        )
        return "remote"

    async def approve_prompt_text(self):
        await self.stores.manifests.change(
            "remote", lambda old: refuse_prompt_text(old, "hello", CANARY, "odd")
        )
        await self.stores.manifests.change(
            "remote", lambda old: approve(old, [text.label for text in old.prompt_texts.refused])
        )
        return "remote"

    async def log_in(self, text=CANARY, **options):
        async with self.stores.tokens.exclusive("remote") as tokens:
            await tokens.replace(text, **options)
        return "remote"

    async def log_in_again(self):
        await self.log_in()
        return await self.log_in(f"{CANARY} 2")

    async def log_out(self):
        await self.log_in()
        return await self.log_in(None)

    async def replace_settings(self):
        document = {"aliases": {"a": CANARY}, "expose": "run"}
        assert await self.calls.settings.put(SettingsVersion(0, {"expose": "run"}, {}), "anna")
        assert await self.calls.settings.put(SettingsVersion(1, document, {}), "anna")
        return "settings"

    async def put_secret(self):
        await self.calls.secrets.put("TOKEN", CANARY, ["api.example.com"])
        return "TOKEN"

    async def delete_secret(self):
        await self.put_secret()
        assert await self.calls.secrets.delete("TOKEN")
        return "TOKEN"

    async def create_key(self):
        created = await self.calls.keys.create("ben", "ci", timedelta(days=1), ["weather.*"])
        return created.key.id

    async def revoke_key(self):
        id = await self.create_key()
        assert await self.calls.keys.revoke(id)
        return id

    async def put_member(self):
        await self.calls.members.put(Member(MemberKind.SERVICE, "ci", Role.CALLER, ("weather.*",)))
        return "service/ci"

    async def remove_member(self):
        await self.put_member()
        await self.calls.keys.create("ci", "ci", timedelta(days=1))
        assert await self.calls.members.remove(MemberKind.SERVICE, "ci")
        return "service/ci"

    async def put_grant(self):
        await self.put_member()
        self.grant = await self.calls.members.put_grant(MemberKind.SERVICE, "ci", Effect.DENY, "x.*", "anna")
        return "service/ci"

    async def remove_grant(self):
        await self.put_grant()
        assert await self.calls.members.remove_grant(self.grant.id)
        return "service/ci"

    async def invite(self):
        created = await self.calls.invitations.create(Role.MAKER, [], "Ben", timedelta(days=1), "operator")
        self.invitation_secret = created.secret
        return created.invitation.id

    async def revoke_invitation(self):
        id = await self.invite()
        assert await self.calls.invitations.revoke(id)
        return id

    async def accept_invitation(self):
        id = await self.invite()
        assert await self.calls.invitations.accept(self.invitation_secret, str(PERSON))
        return id

    async def put_own_secret(self):
        await self.calls.own_secrets.put("ben", "TOKEN", CANARY, ["api.example.com"])
        return "TOKEN"

    async def delete_own_secret(self):
        await self.put_own_secret()
        assert await self.calls.own_secrets.delete("ben", "TOKEN")
        return "TOKEN"

    async def allow_client(self):
        id = uuid7()
        await self.calls.members.put(Member(MemberKind.PERSON, str(PERSON), Role.CALLER))
        client = AllowedClient(id, PERSON, PROOF.client_id, "C", *PROOF[1:])
        self.code = await self.calls.client_grants.allow(client)
        return str(id)

    async def revoke_client(self):
        id = await self.allow_client()
        assert await self.calls.client_grants.revoke(id, str(PERSON))
        return id

    async def replay_code(self):
        id = await self.allow_client()
        assert await self.calls.client_grants.redeem(self.code, PROOF)
        assert await self.calls.client_grants.redeem(self.code, PROOF) is None
        return id

    async def create_workspace(self):
        slug = f"w{uuid7().hex}"
        self.workspace = WorkspaceDatabase(self.database, self.admin.create(slug, "Team").id)
        return slug

    async def change_limits(self):
        assert self.admin.change_limits(self.slug, {"secrets": 3})
        return self.slug

    async def delete_workspace(self):
        assert self.admin.delete(self.slug)
        return self.slug

    async def complete_move(self):
        set_fenced(self.url, self.workspace.workspace)
        WorkspaceMoves({HOME: self.url}).move(self.slug, HOME)
        return self.slug

    async def rewrap(self):
        assert rewrap_keys(self.url, KeyRing(NEW_KEY | OLD_KEY))
        return self.rows("select id::text from onetool.data_keys where workspace_id = %s")[0][0]

    async def rotate(self):
        assert rotate_keys(self.url, KeyRing(NEW_KEY | OLD_KEY), self.slug)
        return self.rows("select id::text from onetool.data_keys where workspace_id = %s")[0][0]

    async def entries(self, **filter):
        log = PostgresAudit(self.workspace, self.threads)
        return [entry async for chunk in log.export(AuditFilter(**filter)) for entry in chunk]

    def rows(self, query):
        return execute(self.url, query, self.workspace.workspace)


CLIENT = {"client": PROOF.client_id, "name": "C"}
CHANGES = {
    World.put_bundle: (AuditAction.BUNDLE_CREATE, {"slug": "weather"}),
    World.change_bundle: (AuditAction.BUNDLE_CHANGE, {"slug": "weather", "fields": ["description"]}),
    World.delete_bundle: (AuditAction.BUNDLE_DELETE, {"slug": "weather", "fields": ["soft_deleted_at"]}),
    World.import_bundle: (AuditAction.BUNDLE_IMPORT, {"slug": "weather", "tools": 1}),
    World.add_tool: (AuditAction.TOOL_ADD, {"name": "weather.today"}),
    World.change_tool: (AuditAction.TOOL_CHANGE, {"name": "weather.today", "fields": ["is_enabled"]}),
    World.delete_tool: (AuditAction.TOOL_DELETE, {}),
    World.set_toggle: (AuditAction.TOGGLE_SET, {"enabled": False}),
    World.approve: (AuditAction.SERVER_APPROVE, {"approved": ["b"], "count": 1}),
    World.approve_instructions: (AuditAction.SERVER_APPROVE, {"approved": ["instructions"], "count": 1}),
    World.approve_prompt_text: (AuditAction.SERVER_APPROVE, None),
    World.log_in: (AuditAction.LOGIN_STORE, {"kind": "server"}),
    World.log_in_again: (AuditAction.LOGIN_STORE, {"kind": "server"}),
    World.log_out: (AuditAction.LOGIN_DELETE, {"kind": "server"}),
    World.replace_settings: (AuditAction.SETTINGS_REPLACE, {"version": 2, "keys": ["aliases"]}),
    World.put_secret: (AuditAction.SECRET_PUT, {"hosts": ["api.example.com"]}),
    World.delete_secret: (AuditAction.SECRET_DELETE, {}),
    World.create_key: (AuditAction.KEY_CREATE, None),
    World.revoke_key: (AuditAction.KEY_REVOKE, {}),
    World.put_member: (AuditAction.MEMBER_PUT, {"role": "caller", "patterns": ["weather.*"]}),
    World.remove_member: (AuditAction.MEMBER_REMOVE, {"revokedKeys": 1, "revokedClients": 0}),
    World.put_grant: (AuditAction.GRANT_PUT, {"effect": "deny", "pattern": "x.*"}),
    World.remove_grant: (AuditAction.GRANT_REMOVE, {"effect": "deny", "pattern": "x.*"}),
    World.invite: (
        AuditAction.INVITATION_CREATE,
        {"role": "maker", "patterns": [], "note": "Ben"},
    ),
    World.revoke_invitation: (AuditAction.INVITATION_REVOKE, {}),
    World.accept_invitation: (AuditAction.INVITATION_ACCEPT, {"person": str(PERSON), "role": "maker"}),
    World.put_own_secret: (
        AuditAction.OWN_SECRET_PUT,
        {"owner": "ben", "hosts": ["api.example.com"]},
    ),
    World.delete_own_secret: (AuditAction.OWN_SECRET_DELETE, {"owner": "ben"}),
    World.allow_client: (AuditAction.CLIENT_ALLOW, {**CLIENT, "replaced": 0}),
    World.revoke_client: (AuditAction.CLIENT_REVOKE, CLIENT),
    World.replay_code: (AuditAction.CLIENT_REPLAY, {**CLIENT, "replayed": "code", "person": str(PERSON)}),
    World.create_workspace: (AuditAction.WORKSPACE_CREATE, {"name": "Team"}),
    World.change_limits: (AuditAction.WORKSPACE_LIMITS, {"secrets": 3}),
    World.delete_workspace: (AuditAction.WORKSPACE_DELETE, {}),
    World.complete_move: (AuditAction.WORKSPACE_MOVE, {"from": HOME, "to": HOME}),
    World.rewrap: (AuditAction.KEYS_REWRAP, {"from": "test", "to": "next"}),
    World.rotate: (AuditAction.KEYS_ROTATE, None),
}
"""The action of each change, and the detail unless it varies."""


@pytest.fixture(scope="module")
def audited_url():
    """Return a database of its own, because one change is about all workspaces."""
    with new_database() as url:
        yield url


@pytest.fixture
def world(audited_url):
    world = World(audited_url)
    yield world
    world.database.close()


@pytest.fixture
def log(workspace):
    return PostgresAudit(workspace, Threads())


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
async def test_change_has_an_entry_with_actor_interface_and_target(world, change):
    with acting_as(ANNA), acting_through("rest"):
        target = await change(world)
    action, detail = CHANGES[change]
    found = (await world.entries())[0]
    assert found[2:6] == (ANNA.id, "rest", action, target)
    assert detail is None or found.detail == detail


def test_every_action_is_made():
    assert {action for action, _ in CHANGES.values()} == set(AuditAction)


@pytest.mark.guards("tenant-audit")
async def test_no_entry_contains_a_secret_value(world):
    key = await world.calls.keys.create("ben", "ci", timedelta(days=1))
    changes = [change for change in CHANGES if change not in (World.create_workspace, World.delete_workspace)]
    for change in changes:
        if change not in (World.import_bundle, World.replace_settings, World.rewrap):  # each only once
            await change(World(world.url))
    await world.replace_settings()
    await world.import_bundle()
    rows = str(execute(world.url, "select * from onetool.audit"))
    assert AuditAction.SECRET_PUT in rows
    assert CANARY not in rows
    assert key.text not in rows


def test_every_table_is_configuration_or_has_a_reason_not_to_be(postgres_url):
    tables = execute(
        postgres_url,
        "select relname from pg_class where relnamespace = 'onetool'::regnamespace and relkind in ('r', 'p')",
    )
    assert {name for (name,) in tables} == CONFIGURATION | set(RECORDS)


def test_every_store_is_called_or_has_a_reason_not_to_be(workspace):
    own = WorkspaceCalls(workspace, Threads(), AnyIds.create(1), SEED)
    called = {name.partition(".")[0] for name in own.methods()}
    stores = {type(getattr(own.stores, name, None) or getattr(own, name)).__name__ for name in called}
    modules = walk_packages(postgres_stores.__path__, f"{postgres_stores.__name__}.")
    names = {name for module in modules for name in vars(import_module(module.name))}
    assert {name for name in names if name.startswith("Postgres")} == stores | set(NOT_CALLED)


@pytest.mark.guards("tenant-audit")
async def test_every_method_that_changes_configuration_adds_an_entry(workspace, postgres_url, size):
    """Methods of all stores are called at random, and the tables are compared before and after."""
    own = WorkspaceCalls(workspace, Threads(), AnyIds.create(1), SEED)
    own.ids.canaries.append(own.canary)
    rng, changed, rounds = random.Random(SEED), set(), size(5, 60)
    calls = [*own.methods(), *sorted(CHANGING) * 7] * rounds
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        snapshot = partial(configuration, connection, workspace.workspace)
        before = snapshot()
        for name in rng.sample(calls, len(calls)):
            entries = own.changes
            await own.call(name)
            after = snapshot()
            if after[0] != before[0]:
                changed.add(name)
                assert after[1] == before[1] + 1 or name in EXEMPT, name
            assert after[1] == before[1] + own.changes - entries, name
            before = after
    assert changed == CHANGING


def configuration(connection, workspace):
    """Return the rows of all tables of configuration as hashes, and the number of entries of the log."""
    parts = " union all ".join(
        f"select '{table}', md5(coalesce(string_agg(rows::text, '' order by rows::text), ''))"
        f" from onetool.{table} rows where workspace_id = %(ws)s"
        for table in sorted(CONFIGURATION)
    )
    rows = connection.execute(parts, {"ws": workspace}).fetchall()
    count = "select count(*) from onetool.audit where workspace_id = %s"
    ((number,),) = connection.execute(count, (workspace,)).fetchall()
    return rows, number


async def test_refreshed_tokens_and_listings_have_no_entry(world):
    await world.log_in()
    before = await world.entries()
    for text in ("refreshed", None):
        await world.log_in(text, is_refresh=True)
    tools = [ServerTool(definition={"name": "a", "inputSchema": {}})]
    for n in range(2):
        await world.stores.manifests.change(
            "remote", lambda old, n=n: receive_instructions(merge(old, tools, n), f"Text {n}.")
        )
    assert await world.entries() == before


async def test_what_is_not_changed_has_no_entry(world):
    await world.replace_settings()
    before = await world.entries()
    assert not await world.calls.settings.put(SettingsVersion(1, {}, {}), "anna")
    assert not world.admin.delete("missing")
    assert world.admin.change_limits(world.slug, {})
    assert await world.entries() == before


async def test_undone_change_has_no_entry(world):
    before = await world.entries()

    def fail(old):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await world.stores.bundles.change_bundle(world.bundle.id, fail)
    with pytest.raises(RuntimeError):
        record_and_fail(world.workspace)
    assert await world.entries() == before


def record_and_fail(workspace):
    with workspace.writing() as cursor:
        record(cursor, workspace.workspace, AuditAction.TOGGLE_SET, "x")
        raise RuntimeError


@pytest.mark.guards("tenant-audit")
@pytest.mark.parametrize(
    ("change", "table"),
    [(World.set_toggle, "toggles"), (World.create_key, "api_keys"), (World.log_in, "credentials")],
)
async def test_entry_is_written_in_the_transaction_of_its_change(world, change, table):
    await change(world)
    ((transaction,),) = world.rows(f"select xmin::text from onetool.{table} where workspace_id = %s")
    entries = world.rows("select xmin::text from onetool.audit where workspace_id = %s order by id desc")
    assert entries[0] == (transaction,)


async def test_pages_and_filters(workspace, log):
    with workspace.recording() as cursor:
        for number in range(10):
            with acting_as(Principal(f"p{number % 2}")):
                for action in (AuditAction.BUNDLE_CHANGE, AuditAction.TOOL_CHANGE):
                    tool = "" if action is AuditAction.BUNDLE_CHANGE else "/t/v1"
                    record(cursor, workspace.workspace, action, f"b{number}{tool}", {"n": number})
    everything = (await log.page(AuditFilter(), None, 100)).items
    assert [entry.id for entry in everything] == sorted((entry.id for entry in everything), reverse=True)
    assert len(everything) == 21
    assert everything[-1].action == AuditAction.WORKSPACE_CREATE

    found, cursor = [], None
    while True:
        page = await log.page(AuditFilter(actor="p1"), cursor, 3)
        assert len(page.items) <= 3
        found += page.items
        if (cursor := page.next) is None:
            break
    assert found == [entry for entry in everything if entry.actor == "p1"]

    async def number(**words):
        return len((await log.page(AuditFilter(**words), None, 100)).items)

    assert (await number(action="bundle"), await number(action="bundle.change")) == (10, 10)
    assert (await number(action="bund"), await number(action="bundle.")) == (0, 0)
    assert (await number(target="b1"), await number(target="b1/t/v1"), await number(target="b")) == (2, 1, 0)
    assert (await number(actor="p1", action="tool", target="b1"), await number(actor="")) == (1, 0)
    assert await number(target="x\0\ud800") == 0
    middle = everything[7].at
    assert await number(since=middle) == sum(entry.at >= middle for entry in everything)
    assert await number(until=middle) == sum(entry.at < middle for entry in everything)
    assert (await number(since=1e300), await number(until=1e300), await number(until=-1.0)) == (0, 21, 0)
    for wrong in ("", "5", "x" * 36):
        with pytest.raises(ValueError, match="Omit it to start at the newest entry"):
            await log.page(AuditFilter(), wrong, 3)


async def test_export_has_all_entries_in_chunks_and_holds_no_transaction(workspace, log, postgres_url):
    rows = 2 * CHUNK + 1
    with workspace.recording() as cursor:
        for number in range(rows):
            record(cursor, workspace.workspace, AuditAction.TOGGLE_SET, str(number))
    sizes, targets = [], []
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        async for chunk in log.export(AuditFilter(action="toggle")):
            sizes.append(len(chunk))
            targets += [entry.target for entry in chunk]
            held = connection.execute(
                "select count(*) from pg_stat_activity"
                " where datname = current_database() and state like 'idle in transaction%'"
            ).fetchall()
            assert held == [(0,)]
    assert sizes == [CHUNK, CHUNK, 1]
    assert targets == [str(number) for number in reversed(range(rows))]


async def test_texts_that_cannot_be_stored_or_are_long_are_replaced_and_shortened(workspace, log):
    with workspace.recording() as cursor:
        record(cursor, workspace.workspace, AuditAction.SERVER_APPROVE, "\0" * 5_000, {"a": "\ud800\0"})
    found: AuditEntry = (await log.page(AuditFilter(), None, 1)).items[0]
    assert found.target == "\ufffd" * MAX_LENGTH
    assert found.detail == {"a": "\ufffd\0"}
    assert (found.actor, found.interface) == ("local", PROCESS)
    assert (await log.page(AuditFilter(target="\0" * 5_000), None, 5)).items == [found]
    assert json.loads(json.dumps(found.detail)) == found.detail
