"""The sessions of a server for single members: each has their own, opened with their own credentials."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import NamedTuple

from onetool.domain.calls.caller import Caller
from onetool.domain.errors import ExecutionError, Reason, StoreUnavailable
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
        self._members: OrderedDict[str, _OpenSessions] = OrderedDict()
        """By the id of the principal, the last one to call at the end."""
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def use(self, caller: Caller) -> AsyncIterator[ServerSessions | None]:
        """Find the sessions of a caller for the block; None if it has no credentials of its own."""
        access = await self._find_access(caller)
        member = self._current(caller.principal.id, access)
        if member is None:
            yield None
            return
        member.users += 1
        try:
            yield member.sessions
        finally:
            member.users -= 1
            member.used_at = self._clock()

    async def close(self) -> None:
        """Close all sessions, and wait until they are closed."""
        for member in self._members.values():
            self._close(member)
        self._members.clear()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _current(self, owner: str, access: MemberAccess | None) -> "_OpenSessions | None":
        member = self._members.pop(owner, None)
        if member is not None and (access is None or access.id != member.access.id):
            self._close(member)
            member = None
        if member is None and access is not None:
            member = _OpenSessions(access, self._open_sessions(access), self._clock())
        if member is not None:
            self._members[owner] = member
        self._close_unused()
        return member

    def _close_unused(self) -> None:
        """Close sessions that were not used for long, or that are too many."""
        oldest = self._clock() - IDLE_S
        for owner, member in list(self._members.items())[:-1]:
            is_needed = member.used_at >= oldest and len(self._members) <= MAX_MEMBERS
            if not member.users and not is_needed:
                self._close(self._members.pop(owner))

    def _close(self, member: "_OpenSessions") -> None:
        task = asyncio.create_task(member.sessions.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        task.add_done_callback(consume_exception)


class _OpenSessions:
    def __init__(self, access: MemberAccess, sessions: ServerSessions, now: float) -> None:
        self.access, self.sessions, self.used_at = access, sessions, now
        self.users = 0
        """Calls that use the sessions now."""


class KnownLogins:
    """Which members have a login, read again when one of them may have logged in or out."""

    def __init__(self, tokens: MemberTokens, read: Callable[[str], Awaitable[str]]) -> None:
        """read: returns what identifies the stored login of a member; empty if there is none."""
        self._tokens, self._read = tokens, read
        self._known: OrderedDict[str, tuple[Hashable, str]] = OrderedDict()

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
        return known[1]


def secrets_access(names: Sequence[str], caller: Caller) -> MemberAccess | None:
    """Return the caller's own secrets with these names; None if one is missing."""
    if not names or any(name not in caller.own_secrets for name in names):
        return None
    own = {name: caller.own_secrets[name] for name in names}
    texts = [text for secret in own.values() for text in (secret.name, secret.value, *(secret.hosts or ()))]
    return MemberAccess(sha256("\0".join(texts).encode()).hexdigest(), secrets=Secrets(own))
