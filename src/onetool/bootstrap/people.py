"""People of a hosted OneTool: the provider where they log in, and the sessions of their browsers."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import timedelta
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from onetool.domain.errors import SignInFailed, SignInUnavailable, StoreUnavailable
from onetool.domain.identity.person import Identity, Person, PersonWorkspace
from onetool.domain.identity.principal import Principal
from onetool.domain.policy.invitation import Invitation
from onetool.identity.access_tokens import AccessTokens
from onetool.identity.oidc import OidcProvider
from onetool.storage.postgres.invitations import PostgresInvitations
from onetool.storage.postgres.key_ring import KeyRing
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.people import PostgresPeople
from onetool.storage.postgres.workspace_database import WorkspaceDatabase

from .api_keys import MAX_VERIFIED
from .hosted import HostedParts
from .login_settings import LoginSettings
from .lookup_slots import LookupSlots

log = logging.getLogger(__name__)
TOKEN_CACHE_S = 60.0
"""Seconds for which an access token is not verified again."""
SESSION_CACHE_S = 30.0
"""Seconds for which a session is not looked up again. Another server may have ended it meanwhile."""


class PeopleParts(NamedTuple):
    """What logs people in."""

    provider: OidcProvider
    sessions: "BrowserSessions"
    authenticator: "PersonAuthenticator"
    tokens: "TokenAuthenticator | None"
    """None if access tokens of no issuer are accepted."""
    invitations: "InvitationAcceptor"
    seal: KeyRing
    """Seals what a browser keeps during a login."""


def people_parts(parts: HostedParts, settings: LoginSettings) -> PeopleParts:
    """Return what logs people in. The provider is first asked when someone logs in."""
    people = PostgresPeople(parts.database, parts.threads, parts.clusters)
    sessions = BrowserSessions(people, parts.status, parts.lookups)
    members = PersonAuthenticator(parts, sessions)
    issuers, public_url = settings.token_issuers, settings.public_url
    return PeopleParts(
        provider=OidcProvider(settings.provider),
        sessions=sessions,
        authenticator=members,
        tokens=TokenAuthenticator(
            AccessTokens(issuers),
            people,
            members,
            public_url=public_url,
            status=parts.status,
            lookups=parts.lookups,
        )
        if issuers
        else None,
        invitations=InvitationAcceptor(parts),
        seal=parts.ring.derived("login of people"),
    )


class _Found(NamedTuple):
    """A session that was found."""

    person: Person
    at: float


class BrowserSessions:
    """Finds who has logged in. Sessions stay in memory for some seconds."""

    def __init__(
        self,
        people: PostgresPeople,
        status: Callable[[], str],
        lookups: LookupSlots,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """status: "unavailable" if the database has been away for too long."""
        self._people, self._status, self._lookups, self._clock = people, status, lookups, clock
        self._found: OrderedDict[bytes, _Found] = OrderedDict()
        self._ended = 0

    async def begin(self, identity: Identity, lifetime_s: float) -> tuple[UUID, str]:
        """Return the person with an identity, and the secret of a new session.

        Raises:
            PersonDisabled: The operator has disabled the person.
            StoreUnavailable: The database cannot be reached.
        """
        person = await self._people.sign_in(identity)
        return person, await self._people.begin_session(person, timedelta(seconds=lifetime_s))

    async def find(self, secret: str) -> Person | None:
        """Return whose session has a secret; None if there is none.

        Raises:
            StoreUnavailable: The database cannot be reached: now, or for so long that it may be over.
        """
        if self._status() == "unavailable":
            raise StoreUnavailable("The database is away. Whether sessions were ended is not known.")
        place = _digest(secret)
        found = self._found.get(place)
        if found is not None and self._clock() - found.at < SESSION_CACHE_S:
            return found.person
        self._found.pop(place, None)
        at, ended = self._clock(), self._ended
        person = await self._look_up(secret)
        if person is not None and ended == self._ended:  # else it may be the one that was ended
            self._found[place] = _Found(person, at)
            if len(self._found) > MAX_VERIFIED:
                self._found.popitem(last=False)
        return person

    async def end(self, secret: str) -> None:
        """End a session, if there is one: here at once, at other servers after some seconds."""
        await self._people.end_session(secret)
        self._ended += 1
        self._found.pop(_digest(secret), None)

    async def workspaces_of(self, person: UUID) -> Sequence[PersonWorkspace]:
        """Return the workspaces of a person."""
        return await self._people.workspaces_of(person)

    async def _look_up(self, secret: str) -> Person | None:
        async with self._lookups.slot(""):
            return await self._people.find_session(secret)


class PersonAuthenticator:
    """Finds the principal of a session in a workspace. Only its members have one."""

    def __init__(self, parts: HostedParts, sessions: BrowserSessions) -> None:
        self._parts, self._sessions = parts, sessions
        self._members: OrderedDict[tuple[UUID, str], _KnownMember] = OrderedDict()

    async def authenticate(self, slug: str, secret: str) -> Principal | None:
        """Return the principal; None if there is no such session or workspace, or if they are not a member.

        Raises:
            StoreUnavailable: The database cannot be reached: now, or for so long that rights may be lost.
        """
        person = await self._sessions.find(secret)
        return (
            None if person is None or not await self.is_member(person.id, slug) else Principal(str(person.id))
        )

    async def is_member(self, person: UUID, slug: str) -> bool:
        """Return whether someone is a member, in person or by a group, since the last change of members."""
        place = person, slug
        member = self._members.get(place)
        if member is not None and member.is_current:
            self._parts.check_known(member.workspace)
            return True
        self._members.pop(place, None)
        async with self._parts.lookups.slot(slug):
            found = await self._parts.threads.run(self._parts.directory.find, slug)
            if found is None:
                return False
            workspace = self._parts.notices.workspace(found)
            changes = workspace.keys_changes
            if not await PostgresMembers(workspace, self._parts.threads).is_member(person):
                return False
        self._members[place] = _KnownMember(workspace, changes)
        if len(self._members) > MAX_VERIFIED:
            self._members.popitem(last=False)
        return True


class TokenAuthenticator:
    """Finds the principal of an access token of another issuer, made for one workspace."""

    def __init__(
        self,
        tokens: AccessTokens,
        people: PostgresPeople,
        members: PersonAuthenticator,
        *,
        public_url: str,
        status: Callable[[], str],
        lookups: LookupSlots,
    ) -> None:
        """status: "unavailable" if the database has been away for too long."""
        self._tokens, self._people, self._members = tokens, people, members
        self._public_url, self._status, self._lookups = public_url, status, lookups
        self._verified: OrderedDict[tuple[str, bytes], _VerifiedToken] = OrderedDict()

    async def authenticate(self, slug: str, token: str) -> Principal | None:
        """Return the principal; None if the token is not valid here, or if the person is no member.

        Raises:
            StoreUnavailable: The database cannot be reached: now, or for so long that rights may be lost.
        """
        if self._status() == "unavailable":
            raise StoreUnavailable("The database is away. Whether the person is still a member is not known.")
        place, now = (slug, _digest(token)), time.time()
        verified = self._verified.get(place)
        if verified is None or now >= verified.until:
            self._verified.pop(place, None)
            verified = await self._verify(slug, token, now)
            if verified is None:
                return None
            self._verified[place] = verified
            if len(self._verified) > MAX_VERIFIED:
                self._verified.popitem(last=False)
        is_member = await self._members.is_member(verified.person, slug)
        return Principal(str(verified.person)) if is_member else None

    async def _verify(self, slug: str, token: str, now: float) -> "_VerifiedToken | None":
        try:
            found = await self._tokens.validate(token, f"{self._public_url}/w/{slug}/mcp")
        except SignInFailed as error:
            log.info("%s", error)
            return None
        except SignInUnavailable as error:
            raise StoreUnavailable(str(error)) from error
        if found is None or found.expires_at <= now:
            return None
        async with self._lookups.slot(slug):
            person = await self._people.find_identity(found.issuer, found.subject)
        until = min(found.expires_at, now + TOKEN_CACHE_S)
        return None if person is None else _VerifiedToken(person, until)


class _VerifiedToken(NamedTuple):
    """Whom an access token stands for."""

    person: UUID
    until: float
    """When it is verified again."""


class InvitationAcceptor:
    """Makes people members of workspaces by invitations."""

    def __init__(self, parts: HostedParts) -> None:
        self._parts = parts

    async def find(self, slug: str, secret: str) -> Invitation | None:
        """Return an invitation, also one that was accepted or has expired; None if there is none.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        async with self._parts.lookups.slot(slug):
            invitations = await self._invitations(slug)
            return None if invitations is None else await invitations.find(secret)

    async def accept(self, slug: str, secret: str, person: Person) -> str | None:
        """Return the role; None if there is no such invitation or workspace.

        Raises:
            MemberError: The person is a member already.
            StoreUnavailable: The database cannot be reached.
        """
        async with self._parts.lookups.slot(slug):
            invitations = await self._invitations(slug)
            return None if invitations is None else await invitations.accept(secret, str(person.id))

    async def _invitations(self, slug: str) -> PostgresInvitations | None:
        found = await self._parts.threads.run(self._parts.directory.find, slug)
        if found is None:
            return None
        return PostgresInvitations(self._parts.notices.workspace(found), self._parts.threads)


class _KnownMember(NamedTuple):
    """A workspace of which a person was a member."""

    workspace: WorkspaceDatabase
    changes: int
    """`keys_changes` of the workspace, from before the members were read."""

    @property
    def is_current(self) -> bool:
        return self.workspace.keys_changes == self.changes


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "replace")).digest()
