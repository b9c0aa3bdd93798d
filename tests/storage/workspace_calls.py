"""Random calls of the stores of one workspace, and how many rows it has afterwards."""

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from enum import Enum
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from onetool.bootstrap.hosted_stores import hosted_stores
from onetool.domain.activity.record import ActivityFilter
from onetool.domain.activity.rollup import SessionSaving
from onetool.domain.audit.entry import AuditFilter
from onetool.domain.bundles.bundle import AlreadyExists, Bundle, BundleFilter, ToolKey, ToolVersion, rfc3339
from onetool.domain.bundles.ranking import SearchPosition, SearchQuery, Tier, searchable_words
from onetool.domain.calls.effect import Effect
from onetool.domain.content.media import Media
from onetool.domain.errors import MemberError
from onetool.domain.identity.client_grant import AllowedClient, CodeProof
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.domain.servers.manifest import merge
from onetool.domain.servers.server_tool import ServerTool
from onetool.ports import BegunServerLogin
from onetool.sources.python_packs.index import PackIndex
from onetool.storage.postgres.api_keys import PostgresApiKeys
from onetool.storage.postgres.begun_logins import MAX_BEGUN, PostgresBegunLogins
from onetool.storage.postgres.bundles.rows import ToolTerms, lexemes
from onetool.storage.postgres.client_grants import MAX_PERSON_GRANTS, PostgresClientGrants
from onetool.storage.postgres.invitations import PostgresInvitations
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.own_secrets import PostgresOwnSecrets
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.settings import PostgresSettings, SettingsVersion
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from support.activity import figures, record
from support.postgres import RING

NOW = 1_794_700_000.0
NEVER, ALWAYS = 0.0, 1e12
"""Times before which nothing, or everything, was changed."""
NAMES = [f"name{n}" for n in range(4)]
"""Names that all workspaces use."""
PERSON = UUID(int=1)
"""Who is unknown, and allows clients in all workspaces."""
SESSION_IDS = [f"{n}" * 32 for n in range(4)]
WORD = 24
"""Characters of a canary that a search does not change."""


@dataclass
class AnyIds:
    """Ids of all workspaces. Each call takes any of them."""

    bundles: list[str]
    tools: list[str]
    canaries: list[str] = field(default_factory=list)
    handles: list[str] = field(default_factory=lambda: ["0" * 12])
    keys: list[tuple[str, str]] = field(default_factory=lambda: [("otk_x", "x")])
    """Text and id."""
    calls: list[str] = field(default_factory=lambda: ["x"])
    grants: list[str] = field(default_factory=lambda: ["x"])
    invitations: list[str] = field(default_factory=lambda: ["x"])
    codes: list[str] = field(default_factory=lambda: ["otc_x"])
    client_grants: list[str] = field(default_factory=lambda: ["x"])

    @staticmethod
    def create(workspaces: int) -> "AnyIds":
        return AnyIds(
            [str(uuid7()) for _ in range(3 * workspaces)], [str(uuid7()) for _ in range(8 * workspaces)]
        )


def canary_of(workspace: UUID) -> str:
    """Return the id of a workspace as letters, which are one word of a search."""
    return "".join(chr(ord("g") + int(digit, 16)) for digit in workspace.hex)


def texts(value: object) -> str:
    """Return all texts in a value, also those that its repr hides."""
    match value:
        case Enum() | int() | float() | None:
            return str(value)
        case str():
            return value
        case bytes():
            return value.decode("utf-8", "replace")
        case dict():
            return "\n".join(map(texts, [*value.keys(), *value.values()]))
        case list() | tuple() | set() | frozenset():
            return "\n".join(map(texts, value))
        case Media():
            return texts(value.to_bytes()) + value.mime_type
    if is_dataclass(value):
        return "\n".join(texts(getattr(value, item.name)) for item in fields(value))
    return "\n".join(map(texts, vars(value).values())) if hasattr(value, "__dict__") else repr(value)


class WorkspaceCalls:
    """Calls methods of all stores of a workspace, and predicts what they do from its own earlier calls."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads, ids: AnyIds, seed: object) -> None:
        self.workspace, self.ids, self.rng = workspace, ids, random.Random(str(seed))
        self.canary = canary_of(workspace.workspace)
        sealer = Sealer(workspace, RING)
        self.stores = hosted_stores(workspace, threads, sealer, PackIndex(None))
        vars(self.stores.session_leases)["lease_s"] = 86_400.0  # no test lasts as long
        self.keys = PostgresApiKeys(workspace, threads)
        self.secrets, self.settings = (
            PostgresSecrets(workspace, threads, sealer),
            PostgresSettings(workspace, threads),
        )
        self.members = PostgresMembers(workspace, threads)
        self.own_secrets = PostgresOwnSecrets(workspace, threads, sealer)
        self.invitations = PostgresInvitations(workspace, threads)
        self.begun_logins = PostgresBegunLogins(workspace, threads, sealer)
        self.client_grants = PostgresClientGrants(workspace, threads, sealer)
        self._threads = threads
        self._seen: list[object] = []
        self._numbers = count()
        self.bundles: dict[str, Bundle] = {}
        self.tools: dict[ToolKey, ToolVersion] = {}
        self.has_totals = False
        self.words = set[str]()
        """Words of all tools so far: those of deleted tools stay."""
        self.toggles, self.manifests, self.secret_names = set[str](), set[str](), set[str]()
        self.tokens = set[tuple[str, str]]()
        self.begun: list[tuple[str, str]] = []
        self.handles, self.sessions = set[str](), dict[str, int]()
        self.leases, self.approvals = set[str](), set[str]()
        self.clients: dict[str, set[str]] = {}
        self.calls, self.bodies = 0, 0
        self.hours, self.savings, self.counters = set[str](), set[str](), set[str]()
        self.key_texts, self.valid_keys, self.versions = set[str](), set[str](), 0
        self.member_ids, self.grant_keys = set[str](), dict[tuple[str, str], str]()
        self.key_owners: dict[str, str] = {}
        self.own_names, self.invited = set[tuple[str, str]](), set[str]()
        self.client_ids = set[str]()
        self.changes = 1
        """How many entries the audit log has, with that of the creation."""

    @staticmethod
    def methods() -> dict[str, Callable[["WorkspaceCalls"], Any]]:
        """Return the calls by `store.method`."""
        named = vars(WorkspaceCalls).items()
        return {name.replace("__", "."): call for name, call in named if "__" in name.strip("_")} | CALLS

    async def call(self, name: str) -> str:
        """Call a method with random arguments. Return all texts that it returned or passed to callbacks."""
        self._seen = []
        value = await self.methods()[name](self)
        return texts([value, self._seen])

    def rows(self) -> dict[str, int]:
        """Return how many rows each table must have; those that are not here have none."""
        words = {
            lexeme
            for tool in self.tools.values()
            for lexeme in lexemes(ToolTerms.of(tool, self.bundles[tool.bundle_id]).all)
        }
        counts = {
            "workspace_state": 1,
            "data_keys": 1,
            "bundles": len(self.bundles),
            "tools": len(self.tools),
            "vocabulary": len(words),
            "words": len(self.words),
            "term_totals": int(self.has_totals),
            "toggles": len(self.toggles),
            "manifests": len(self.manifests),
            "credentials": len(self.tokens),
            "results": len(self.handles),
            "result_totals": min(1, len(self.handles)),
            "sessions": len(self.sessions),
            "session_records": sum(self.sessions.values()),
            "chat_leases": len(self.leases),
            "chat_approvals": len(self.approvals),
            "client_sessions": len(self.clients),
            "client_session_entries": sum(map(len, self.clients.values())),
            "calls": self.calls,
            "call_bodies": self.bodies,
            "call_hours": len(self.hours),
            "session_savings": len(self.savings),
            "tool_counters": len(self.counters),
            "api_keys": len(self.key_texts),
            "secrets": len(self.secret_names),
            "settings": self.versions,
            "members": len(self.member_ids),
            "grants": len(self.grant_keys),
            "own_secrets": len(self.own_names),
            "begun_logins": len(self.begun),
            "invitations": len(self.invited),
            "oauth_grants": len(self.client_ids),
            "oauth_tokens": len(self.client_ids),
            "audit": self.changes,
        }
        return {table: number for table, number in counts.items() if number}

    # Bundles

    async def bundles__change_bundle(self):
        bundle = self._new_bundle()

        def change(old):
            self._seen.append(old)
            assert (old is None) == (bundle.id not in self.bundles)
            return bundle

        changed = await self.stores.bundles.change_bundle(bundle.id, change)
        self.changes += 1
        self.bundles[bundle.id] = bundle
        return changed

    async def bundles__add_tool(self):
        tool = self._new_tool(self._any(self.ids.bundles))
        is_taken = tool.key in self.tools or tool.id in {own.id for own in self.tools.values()}
        try:
            stored = await self.stores.bundles.add_tool(tool, self._seen.append)
        except LookupError as error:
            assert tool.bundle_id not in self.bundles
            return str(error)
        except AlreadyExists as error:
            assert is_taken
            return str(error)
        assert not is_taken
        self.changes += 1
        self._store([tool])
        return stored

    async def bundles__import_bundle(self):
        bundle = self._new_bundle()
        found = [self._new_tool(bundle.id) for _ in range(4)]
        tools = list({tool.slug: tool for tool in {tool.id: tool for tool in found}.values()}.values())
        old, by_id = self.bundles.get(bundle.id), {own.id: own.key for own in self.tools.values()}
        is_taken = any(
            by_id.get(tool.id, tool.key) != tool.key or self.tools.get(tool.key, tool).id != tool.id
            for tool in tools
        )
        try:
            await self.stores.bundles.import_bundle(bundle, tools)
        except AlreadyExists as error:
            assert is_taken or (old is not None and not old.soft_deleted_at)
            return str(error)
        assert not is_taken
        assert old is None or old.soft_deleted_at
        self.changes += 1
        self.bundles[bundle.id] = bundle
        self._store(tools)
        return None

    async def bundles__change_tool(self):
        key = self._key()

        def change(bundle, tool):
            self._seen.append((bundle, tool))
            assert (bundle, tool) == (self.bundles.get(key[0]), self.tools.get(key))
            if tool is None:
                raise LookupError
            return replace(tool, is_enabled=not tool.is_enabled)

        try:
            stored = await self.stores.bundles.change_tool(key, change)
        except LookupError as error:
            assert key not in self.tools
            return str(error)
        self.changes += 1
        self._store([stored.tool])
        return stored

    async def bundles__delete_tool(self):
        key = self._key()
        assert await self.stores.bundles.delete_tool(key) == (key in self.tools)
        self.changes += key in self.tools
        self.tools.pop(key, None)

    async def bundles__reap(self):
        before = self.rng.choice(["", "9999"])
        full = {tool.bundle_id for tool in self.tools.values()}
        gone = {id for id, bundle in self.bundles.items() if bundle.soft_deleted_at and id not in full}
        assert set(await self.stores.bundles.reap(before)) == (gone if before else set())
        if before:
            self.bundles = {id: bundle for id, bundle in self.bundles.items() if id not in gone}

    async def bundles__bundle(self):
        id = self._any(self.ids.bundles)
        found = await self.stores.bundles.bundle(id)
        assert found == self.bundles.get(id)
        return found

    async def bundles__tool(self):
        key = self._key()
        found = await self.stores.bundles.tool(key)
        assert (found and found.tool) == self.tools.get(key)
        return found

    async def bundles__count(self):
        assert await self.stores.bundles.count() == len(self.tools)

    async def bundles__term_statistics(self):
        canary = self._any(self.ids.canaries)
        found = await self.stores.bundles.term_statistics([canary, self._name()])
        assert canary == self.canary or not found.counts.get(canary)

    async def bundles__candidates(self):
        terms, packs = [self._any(self.ids.canaries), self._name()], self.rng.choice([None, NAMES])
        return await self.stores.bundles.candidates(terms, packs, 50)

    async def bundles__search(self):
        query = SearchQuery.parse(self._any([*self.ids.canaries, *NAMES, "name", "nam0", "secret"]))
        after = SearchPosition(Tier(self.rng.randrange(3)), "9", self._any(self.ids.tools))
        return await self.stores.bundles.search(query, self._filter(), self.rng.choice([None, after]), 50)

    # Flags, servers and tokens

    async def toggles__read(self):
        return self._all(await self.stores.toggles.read(), self.toggles)

    async def toggles__set(self):
        name = f"{self._name()} {self.canary}"
        await self.stores.toggles.set(name, self.rng.random() < 0.5)
        self.changes += 1
        self.toggles.add(name)

    async def manifests__read(self):
        server = self._name()
        return self._if_known(await self.stores.manifests.read(server), server, self.manifests)

    async def manifests__change(self):
        server = self._name()
        definition = {"name": self._name(), "description": self.canary, "inputSchema": {}}

        def change(old):
            self._seen.append(old)
            assert (old is not None) == (server in self.manifests)
            return merge(old, [ServerTool(definition=definition)], NOW)

        found = await self.stores.manifests.change(server, change)
        self.manifests.add(server)
        return found

    async def begun_logins__put(self):
        state, principal = self._name(), self._name()
        if (state, principal) not in self.begun and state not in {each for each, _ in self.begun}:
            login = BegunServerLogin(self._name(), principal, f"begun {self.canary}")
            await self.begun_logins.put(state, principal, login)
            self.begun.append((state, principal))
            mine = [key for key in self.begun if key[1] == principal]
            for key in mine[:-MAX_BEGUN]:
                self.begun.remove(key)

    async def begun_logins__take(self):
        key = self._name(), self._name()
        found = self._if_known(await self.begun_logins.take(*key), key, self.begun)
        if found is not None:
            self.begun.remove(key)
        return found

    # Results

    async def results__put(self):
        stored = await self.stores.results.put(f"text {self.canary}", self._own_name(), owner="local")
        self._add_handle(stored.handle)
        return stored

    async def results__put_media(self):
        stored = await self.stores.results.put_media(
            Media(self.canary.encode(), "image/png"), self._own_name(), owner="local"
        )
        self._add_handle(stored.handle)
        return stored

    async def results__find(self):
        handle = self._any(self.ids.handles)
        return self._if_known(await self.stores.results.find(handle, reader="local"), handle, self.handles)

    # Sessions

    async def sessions__append(self):
        name, number = self._name(), self.rng.randrange(1, 4)
        message = {"type": "message", "role": "user", "text": f"text {self.canary}"}
        await self.stores.sessions.append(name, [message] * number)
        self.sessions[name] = self.sessions.get(name, 0) + number

    async def sessions__read(self):
        name = self._name()
        found = await self.stores.sessions.read(name)
        assert len(found) == self.sessions.get(name, 0)
        return found

    async def sessions__page(self):
        cursor = self.rng.choice([None, f"{ALWAYS!r}|{self._name()}"])
        page = await self.stores.sessions.page(cursor, 10)
        assert {summary.id: summary.messages for summary in page.items} == self.sessions
        return page

    async def sessions__delete(self):
        name = self._name()
        assert await self.stores.sessions.delete(name) == (name in self.sessions)
        self.sessions.pop(name, None)
        self.approvals.discard(name)

    async def sessions__reap(self):
        before, keep = self.rng.choice([NEVER, NEVER, ALWAYS]), self.rng.choice([None, *NAMES])
        gone = set(self.sessions) - {keep} if before else set()
        assert await self.stores.sessions.reap(before, keep) == len(gone)
        self.sessions = {name: number for name, number in self.sessions.items() if name not in gone}
        self.approvals -= gone

    async def session_leases__take(self):
        name = self._name()
        assert await self.stores.session_leases.take(name)
        self.leases.add(name)

    async def session_leases__renew(self):
        name = self._name()
        assert await self.stores.session_leases.renew(name) == (name in self.leases)

    async def session_leases__is_taken(self):
        name = self._name()
        assert await self.stores.session_leases.is_taken(name) == (name in self.leases)

    async def session_leases__release(self):
        name = self._name()
        await self.stores.session_leases.release(name)
        self.leases.discard(name)

    async def session_approvals__add(self):
        name = self._name()
        await self.stores.session_approvals.add(name, self.canary)
        if name in self.sessions:
            self.approvals.add(name)

    async def session_approvals__tools(self):
        name = self._name()
        found = await self.stores.session_approvals.tools(name)
        assert bool(found) == (name in self.approvals)
        return list(found)

    async def session_approvals__discard(self):
        name = self._name()
        await self.stores.session_approvals.discard(name)
        self.approvals.discard(name)

    async def client_sessions__read(self):
        session = self._any(SESSION_IDS)
        found = await self.stores.client_sessions.read(session)
        assert set(found) == self.clients.get(session, set())
        return found

    async def client_sessions__put(self):
        session, name = self._any(SESSION_IDS), self._any(["level", "roots"])
        await self.stores.client_sessions.put(session, name, f"text {self.canary}")
        self.clients.setdefault(session, set()).add(name)

    async def client_sessions__remove(self):
        session, name = self._any(SESSION_IDS), self._any(["level", "roots"])
        await self.stores.client_sessions.remove(session, name)
        self.clients.get(session, set()).discard(name)

    async def client_sessions__reap(self):
        before = self.rng.choice([NEVER, NEVER, ALWAYS])
        await self.stores.client_sessions.reap(before)
        self.clients = {} if before else self.clients

    # Activity

    async def activity__add(self):
        id, parent = f"{next(self._numbers)}-{self.workspace.workspace.hex[:8]}", self._any(self.ids.calls)
        tool, tool_id, has_body = self._own_name(), self._any(self.ids.tools), self.rng.random() < 0.5
        body = f"text {self.canary}" if has_body else ""
        calls = [record(tool, NOW, id=id, parent=parent, tool_id=tool_id, result=body)]
        derived = figures(calls)
        session = self._own_name()
        derived.add_session(session, SessionSaving(1, NOW))
        await self.stores.activity.add(calls, derived)
        self.ids.calls.append(id)
        self.calls, self.bodies = self.calls + 1, self.bodies + has_body
        self.hours.add(tool)
        self.savings.add(session)
        self.counters.add(tool_id)

    async def activity__page(self):
        filter = self.rng.choice(
            [
                ActivityFilter(),
                ActivityFilter(text=self._any(self.ids.canaries)),
                ActivityFilter(tool=f"{self._name()}*"),
                ActivityFilter(parent=self._any(self.ids.calls)),
            ]
        )
        return await self.stores.activity.page(filter, self.rng.choice([None, "5", "900"]), 20)

    async def activity__summarize(self):
        found = await self.stores.activity.summarize(self.rng.choice([None, NOW - 1, NOW + 1e6]))
        return [list(found.tools), list(found.sessions)]

    async def activity__counters(self):
        asked = [self._any(self.ids.tools) for _ in range(8)]
        assert set(await self.stores.activity.counters(asked)) == self.counters & set(asked)

    async def activity__delete_old(self):
        before = self.rng.choice([NEVER, NEVER, ALWAYS])
        await self.stores.activity.delete_old(before, 2**40)
        if before:
            self.calls = self.bodies = 0

    # Audit log

    async def audit__page(self):
        filters = [
            AuditFilter(),
            AuditFilter(action="bundle"),
            AuditFilter(target=self._any([*self.ids.bundles, *NAMES])),
            AuditFilter(actor="local", since=NOW - 1, until=ALWAYS),
        ]
        cursor = self.rng.choice([None, str(uuid7())])
        return await self.stores.audit.page(self.rng.choice(filters), cursor, 20)

    async def audit__export(self):
        found = [entry async for chunk in self.stores.audit.export(AuditFilter()) for entry in chunk]
        assert len(found) == self.changes
        return found

    # Keys, secrets and settings

    async def keys__create(self):
        creating = self.keys.create(owner := self._name(), self._own_name(), timedelta(days=1))
        if owner not in self.member_ids:
            with pytest.raises(MemberError):
                await creating
            return None
        created = await creating
        self.ids.keys.append((created.text, created.key.id))
        self.key_owners[created.key.id] = owner
        self.changes += 1
        self.key_texts.add(created.text)
        self.valid_keys.add(created.key.id)
        return created

    async def keys__find(self):
        text, _ = self._any(self.ids.keys)
        return self._if_known(await self.keys.find(text), text, self.key_texts)

    async def keys__is_valid(self):
        _, id = self._any(self.ids.keys)
        owner = self._name()
        is_valid = await self.keys.is_valid(id, owner)
        assert is_valid == (id in self.valid_keys and self.key_owners[id] == owner)
        return is_valid

    async def keys__list(self):
        found = await self.keys.list()
        assert len(found) == len(self.key_texts)
        return found

    async def keys__revoke(self):
        _, id = self._any(self.ids.keys)
        await self._remove(self.keys.revoke(id), id, self.valid_keys)

    async def secrets__read(self):
        return self._all(dict(await self._threads.run(self.secrets.read)), self.secret_names)

    async def secrets__hosts(self):
        return self._all(dict(await self.secrets.hosts()), self.secret_names)

    async def secrets__put(self):
        name = self._name()
        await self.secrets.put(name, f"value {self.canary}", self.rng.choice([None, [self.canary]]))
        self.changes += 1
        self.secret_names.add(name)

    async def secrets__delete(self):
        name = self._name()
        await self._remove(self.secrets.delete(name), name, self.secret_names)

    # Members and their secrets

    async def members__rights(self):
        return self._all(dict(await self.members.rights()), self.member_ids)

    async def members__list(self):
        found = await self.members.list()
        assert {member.id for member in found} == self.member_ids
        return found

    async def members__is_member(self):
        assert not await self.members.is_member(uuid4())

    async def members__put(self):
        id = self._name()
        await self.members.put(Member(MemberKind.SERVICE, id, Role.CALLER, (self.canary,), self._own_name()))
        self.member_ids.add(id)
        self.changes += 1

    async def members__remove(self):
        id = self._name()
        if await self._remove(self.members.remove(MemberKind.SERVICE, id), id, self.member_ids):
            self.own_names = {key for key in self.own_names if key[0] != id}
            self.begun = [key for key in self.begun if key[1] != id]
            self.tokens -= {key for key in self.tokens if key[0] == f"of {id}"}
        self.valid_keys -= {key for key, owner in self.key_owners.items() if owner == id}
        self.grant_keys = {key: grant for key, grant in self.grant_keys.items() if key[0] != id}

    async def members__grants(self):
        found = await self.members.grants()
        assert {grant.id for grant in found} == set(self.grant_keys.values())
        return found

    async def members__put_grant(self):
        id, pattern = self._name(), f"{self._name()}.{self.canary}"
        adding = self.members.put_grant(MemberKind.SERVICE, id, Effect.ASK, pattern, self._own_name())
        if id not in self.member_ids:
            with pytest.raises(MemberError):
                await adding
            return None
        grant = await adding
        self.grant_keys[id, pattern] = grant.id
        self.ids.grants.append(grant.id)
        self.changes += 1
        return grant

    async def members__remove_grant(self):
        id = self._any(self.ids.grants)
        own = {grant: key for key, grant in self.grant_keys.items()}
        assert await self.members.remove_grant(id) == (id in own)
        if id in own:
            del self.grant_keys[own[id]]
            self.changes += 1

    async def invitations__create(self):
        lifetime, by = timedelta(days=1), self._own_name()
        created = await self.invitations.create(Role.CALLER, [self.canary], self.canary, lifetime, by)
        self.ids.invitations.append(created.invitation.id)
        self.invited.add(created.invitation.id)
        self.changes += 1
        return created

    async def invitations__list(self):
        found = await self.invitations.list()
        assert {item.id for item in found} == self.invited
        return found

    async def invitations__revoke(self):
        id = self._any(self.ids.invitations)
        await self._remove(self.invitations.revoke(id), id, self.invited)

    async def invitations__find(self):
        assert await self.invitations.find(f"oti_{self._name()}") is None

    async def invitations__accept(self):
        assert await self.invitations.accept(f"oti_{self._name()}", str(uuid7())) is None

    # Clients. Their people are unknown here, so that no code is valid and each grant has one.

    async def client_grants__allow(self):
        id = uuid7()
        client = AllowedClient(id, PERSON, self.canary, self.canary, self.canary, "c")
        if len(self.client_ids) == MAX_PERSON_GRANTS:
            return None
        code = await self.client_grants.allow(client)
        self.ids.codes.append(code)
        self.ids.client_grants.append(str(id))
        self.client_ids.add(str(id))
        self.changes += 1
        return code

    async def client_grants__list(self):
        found = await self.client_grants.list(str(PERSON))
        assert {item.id for item in found} <= self.client_ids  # without those that have expired
        return found

    async def client_grants__revoke(self):
        id = self._any(self.ids.client_grants)
        await self._remove(self.client_grants.revoke(id, str(PERSON)), id, self.client_ids)

    async def client_grants__redeem(self):
        proof = CodeProof(self.canary, self.canary, "c")
        assert await self.client_grants.redeem(self._any(self.ids.codes), proof) is None

    async def client_grants__refresh(self):
        assert await self.client_grants.refresh(self._any(self.ids.codes), self.canary) is None

    async def client_grants__find(self):
        assert await self.client_grants.find(self._any(self.ids.codes)) is None

    async def own_secrets__of(self):
        owner = self._name()
        found = await self.own_secrets.of(owner)
        assert {(owner, name) for name in found} == {key for key in self.own_names if key[0] == owner}
        return dict(found)

    async def own_secrets__put(self):
        owner, name = self._name(), self._name()
        await self.own_secrets.put(owner, name, f"value {self.canary}", [self.canary])
        self.own_names.add((owner, name))
        self.changes += 1

    async def own_secrets__delete(self):
        key = self._name(), self._name()
        await self._remove(self.own_secrets.delete(*key), key, self.own_names)

    async def settings__read(self):
        found = await self._threads.run(self.settings.read)
        assert found.version == self.versions
        return found

    async def settings__put(self):
        version = self.rng.choice([self.versions, self.versions, 0])
        document = {"aliases": {self._name(): self.canary}}
        is_stored = await self.settings.put(SettingsVersion(version, document, {}), self._own_name())
        assert is_stored == (version == self.versions)
        self.versions += is_stored
        self.changes += is_stored

    # Expectations

    def _all(self, found, known):
        """Return all that a store has, which must be what is known."""
        assert set(found) == known
        return found

    def _if_known(self, found, key, known):
        """Return what a store has found, which must be known."""
        assert (found is not None) == (key in known)
        return found

    async def _remove(self, removing: Awaitable[bool], key: Any, known: set[Any]) -> bool:
        """Remove a thing, which must succeed and have an entry in the log if the thing is known."""
        is_known = key in known
        assert await removing == is_known
        self.changes += is_known
        known.discard(key)
        return is_known

    # Arguments

    def _any(self, values):
        return self.rng.choice(values)

    def _name(self) -> str:
        return self._any(NAMES)

    def _own_name(self) -> str:
        return f"{self._name()} {self.canary}"

    def _tool_name(self) -> str:
        return f"{self._name()}.{self._name()}"

    def _key(self) -> ToolKey:
        own = sorted(self.tools)
        if own and self.rng.random() < 0.5:
            return self._any(own)
        return self._any(self.ids.bundles), self._name(), "v1"

    def _cursor(self, ids: list[str]) -> str | None:
        return self._any([None, "", min(ids), self._any(ids)])

    def _filter(self) -> BundleFilter:
        chosen = frozenset(self._any(self.ids.bundles) for _ in range(6))
        return BundleFilter(
            bundle_ids=self.rng.choice([None, None, chosen]),
            tags=self.rng.choice([None, None, frozenset(self.ids.canaries)]),
            include_disabled=self.rng.random() < 0.7,
            name_contains=self.rng.choice(["", "", "name"]),
        )

    def _new_bundle(self) -> Bundle:
        at = rfc3339(time.time())
        return Bundle(
            id=self._any(self.ids.bundles),
            slug=self._name(),
            description=f"secret {self.canary}",
            is_enabled=self.rng.random() < 0.9,
            soft_deleted_at=at if self.rng.random() < 0.2 else None,
            created_at=at,
            modified_at=at,
        )

    def _new_tool(self, bundle_id: str) -> ToolVersion:
        at = rfc3339(time.time())
        return ToolVersion(
            id=self._any(self.ids.tools),
            bundle_id=bundle_id,
            slug=self._name(),
            version="v1",
            type="python",
            arg_schema={"type": "object"},
            description=f"secret {self.canary}",
            tags=(self.canary,),
            created_at=at,
            modified_at=at,
        )

    def _store(self, tools: list[ToolVersion]) -> None:
        self.tools |= {tool.key: tool for tool in tools}
        self.has_totals = self.has_totals or bool(tools)
        self.words |= {word for tool in tools for word in lexemes(searchable_words(tool))}

    def _add_handle(self, handle: str) -> None:
        self.handles.add(handle)
        self.ids.handles.append(handle)

    def _token_store(self, kind):
        if kind == "of":
            owner = self._name()
            return f"of {owner}", self.stores.member_tokens.of(owner)
        return kind, getattr(self.stores, kind)

    async def read_token(self, kind):
        name, (kind, store) = self._name(), self._token_store(kind)
        return self._if_known(await store.read(name), (kind, name), self.tokens)

    async def replace_token(self, kind):
        name, text = self._name(), self.rng.choice([None, f"token {self.canary} {next(self._numbers)}"])
        kind, store = self._token_store(kind)
        async with store.exclusive(name) as row:
            self._seen.append(row.text)
            assert (row.text is not None) == ((kind, name) in self.tokens)
            self.changes += text != row.text
            await row.replace(text)
        (self.tokens.discard if text is None else self.tokens.add)((kind, name))


CALLS: dict[str, Callable[[WorkspaceCalls], Any]] = {
    "bundles.bundles": lambda own: own.stores.bundles.bundles(own._filter(), own._cursor(own.ids.bundles), 3),
    "bundles.tools": lambda own: own.stores.bundles.tools(own._filter(), own._cursor(own.ids.tools), 3),
    "bundles.find": lambda own: own.stores.bundles.find(own._tool_name()),
    "bundles.packs": lambda own: own.stores.bundles.packs(),
    "bundles.pack": lambda own: own.stores.bundles.pack(own._name()),
    "bundles.named": lambda own: own.stores.bundles.named([own._tool_name() for _ in range(3)]),
    "bundles.pack_sizes": lambda own: own.stores.bundles.pack_sizes(),
    "bundles.similar_terms": lambda own: own.stores.bundles.similar_terms([own._any(own.ids.canaries)[:-1]]),
    "tokens.read": lambda own: own.read_token("tokens"),
    "http_tokens.read": lambda own: own.read_token("http_tokens"),
    "tokens.exclusive": lambda own: own.replace_token("tokens"),
    "http_tokens.exclusive": lambda own: own.replace_token("http_tokens"),
    "member_tokens.of": lambda own: own.replace_token("of"),
    "results.text": lambda own: own.stores.results.text(own._any(own.ids.handles), reader="local"),
    "results.media": lambda own: own.stores.results.media(own._any(own.ids.handles), reader="local"),
    "results.reap": lambda own: own.stores.results.reap(),
    "activity.get": lambda own: own.stores.activity.get(own._any(own.ids.calls)),
    "activity.tree": lambda own: own.stores.activity.tree(own._any(own.ids.calls)),
    "client_grants.revoke_token": lambda own: own.client_grants.revoke_token(
        own._any(own.ids.codes), own.canary
    ),
    "client_grants.reap": lambda own: own.client_grants.reap(),
}
"""Calls whose results only have to be free of what others store, and calls with tokens."""
