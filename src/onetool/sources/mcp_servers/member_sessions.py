"""The sessions of a server for single members: each has their own, opened with their own credentials."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from math import inf
from typing import NamedTuple

from onetool.domain.calls.caller import Caller
from onetool.domain.errors import ExecutionError, Reason, StoreUnavailable
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.ports import MemberTokens
from onetool.settings.secrets import Secrets

from .errors import consume_exception
from .oauth.config import OAuthConfig
from .sessions import ServerSessions

MAX_MEMBERS = 100
"""Members whose sessions one process keeps open for a server, if none of them is in use."""
IDLE_S = 900.0
"""Seconds after which sessions that were not used are closed."""


class MemberAccess(NamedTuple):
    """What a member's sessions are opened with: their login, or their secrets for the headers."""

    id: str
    """Changes when the member logs in again, or replaces a secret."""
    credentials: CredentialSet
    """What is redacted in the member's calls and lists: what is redacted for all, and their own tokens."""
    oauth: OAuthConfig | None = None
    secrets: Secrets = Secrets()


FindAccess = Callable[[Caller], Awaitable[MemberAccess | None]]
"""Returns what the sessions of a caller are opened with; None if there is nothing."""


class MemberSessions:
    """Finds the sessions of a caller. They end when the member logs out or logs in again."""

    def __init__(
        self,
        find_access: FindAccess,
        open_sessions: Callable[[MemberAccess], ServerSessions],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._find_access, self._open_sessions, self._clock = find_access, open_sessions, clock
        self._members: OrderedDict[tuple[str, str], _OpenSessions] = OrderedDict()
        """By the ids of the principal and of what they are opened with, the last one to call at the end."""
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @asynccontextmanager
    async def use(self, caller: Caller) -> AsyncIterator[ServerSessions | None]:
        """Find the sessions of a caller for the block; None if it has no credentials of its own.

        Raises:
            ExecutionError: The credentials cannot be read, or the server was closed.
        """
        access = await self._find_access(caller)
        if self._is_closed:
            raise ExecutionError(Reason.UPSTREAM, "The settings of the server have changed. Call again.")
        member = self._current(caller.principal.id, access)
        if member is None:
            yield None
            return
        member.users += 1
        try:
            _hide(member.access, caller)
            yield member.sessions
        finally:
            _hide(member.access, caller)  # with tokens that were issued meanwhile
            member.users -= 1
            member.used_at = self._clock()

    async def close(self) -> None:
        """Close all sessions, and wait until they are closed."""
        self._is_closed = True
        for member in self._members.values():
            self._close(member)
        self._members.clear()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _current(self, owner: str, access: MemberAccess | None) -> "_OpenSessions | None":
        for key in [key for key in self._members if key[0] == owner]:
            # Calls in progress may still use secrets that were replaced, but no login that has ended.
            if access is None or (access.oauth is not None and key[1] != access.id):
                self._close(self._members.pop(key))
        member = None
        if access is not None:
            key = owner, access.id
            member = self._members.pop(key, None) or _OpenSessions(access, self._open_sessions(access))
            member.used_at = self._clock()
            self._members[key] = member
        self._close_unused()
        return member

    def _close_unused(self) -> None:
        """Close sessions that were not used for long, or that are too many."""
        oldest = self._clock() - IDLE_S
        for key, member in list(self._members.items())[:-1]:
            is_needed = member.used_at >= oldest and len(self._members) <= MAX_MEMBERS
            if not member.users and not is_needed:
                self._close(self._members.pop(key))

    def _close(self, member: "_OpenSessions") -> None:
        task = asyncio.create_task(member.sessions.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        task.add_done_callback(consume_exception)


class _OpenSessions:
    def __init__(self, access: MemberAccess, sessions: ServerSessions) -> None:
        self.access, self.sessions, self.used_at = access, sessions, 0.0
        self.users = 0
        """Calls that use the sessions now."""


def _hide(access: MemberAccess, caller: Caller) -> None:
    if caller.credentials is not None:
        caller.credentials.add(*access.credentials.values)


class StoredLogin(NamedTuple):
    """A login of a member as it is stored."""

    id: str
    """Empty: there is none."""
    until: float = inf
    """When it ends, in seconds since the epoch."""


NO_LOGIN = StoredLogin("")


class KnownLogins:
    """Which members have a login, read again when one of them may have logged in or out."""

    def __init__(self, tokens: MemberTokens, read: Callable[[str], Awaitable[StoredLogin]]) -> None:
        """read: returns the stored login of a member."""
        self._tokens, self._read = tokens, read
        self._known: OrderedDict[str, tuple[Hashable, StoredLogin]] = OrderedDict()

    async def of(self, owner: str) -> str:
        """Return what identifies the login of a member; empty if there is none.

        Raises:
            ExecutionError: It cannot be read.
        """
        generation = self._tokens.generation()
        known = self._known.get(owner)
        if known is None or known[0] != generation:
            try:
                known = self._known[owner] = generation, await self._read(owner)
            except StoreUnavailable as error:
                message = f"Your login cannot be read: {error} Try again later."
                raise ExecutionError(Reason.UNAVAILABLE, message) from error
            if len(self._known) > 10 * MAX_MEMBERS:
                self._known.popitem(last=False)
        login = known[1]
        return login.id if time.time() < login.until else ""


def secrets_access(names: Sequence[str], caller: Caller, credentials: CredentialSet) -> MemberAccess | None:
    """Return the caller's own secrets with these names; None if one is missing.

    credentials: where they are added, to be redacted.
    """
    if not names or any(name not in caller.own_secrets for name in names):
        return None
    own = {name: caller.own_secrets[name] for name in names}
    texts = [text for secret in own.values() for text in (secret.name, secret.value, *(secret.hosts or ()))]
    credentials.add(*(secret.value for secret in own.values()))
    return MemberAccess(sha256("\0".join(texts).encode()).hexdigest(), credentials, secrets=Secrets(own))
