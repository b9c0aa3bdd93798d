"""People who log in, their groups, and the sessions of their browsers. None of it belongs to a workspace."""

import logging
import re
import secrets
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from uuid import UUID

from psycopg.errors import DeadlockDetected
from uuid_utils.compat import uuid7

from onetool.domain.errors import PersonDisabled, WorkspaceUnavailable
from onetool.domain.identity.person import Identity, KnownPerson, Person, PersonWorkspace
from onetool.threads import Threads

from .clusters import HOME, Clusters
from .database import Cursor, Database, on_thread, store_errors
from .texts import is_storable, to_storable

log = logging.getLogger(__name__)

PREFIX = "ots_"
SECRET = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
MAX_EXPIRED = 100
"""Expired sessions that are deleted when a new one begins."""
MAX_ATTEMPTS = 3
PEOPLE = "people"
"""How the announcement of changed rights of people begins."""
RAISE_REVISION = "update home.people_revision set revision = revision + 1 returning revision"
MAX_GROUPS_AGE = timedelta(days=30)
"""Time after the last login for which the groups of a person give rights."""


class PostgresPeople:
    """All people of an installation."""

    def __init__(self, database: Database, threads: Threads, clusters: Clusters | None = None) -> None:
        """database: the home cluster. clusters: all of them; None: there is no other one."""
        self._database, self._threads = database, threads
        self._clusters = clusters or Clusters(database)

    @on_thread
    def sign_in(self, identity: Identity) -> UUID:
        """Return the person with an issuer and a subject, and note what the issuer says about them.

        At the first login, the person is created. All workspaces that the person has left or joined, because
        of other groups than before, are told.

        Raises:
            PersonDisabled: The operator has disabled the person.
        """
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                with self._database.transaction() as cursor:
                    return _sign_in(cursor, identity)
            except DeadlockDetected:  # two people have changed between the same workspaces
                if attempt == MAX_ATTEMPTS:
                    raise
                log.info("a login met another one, and begins again")
        raise AssertionError("The last attempt returns or raises.")

    @on_thread
    def begin_session(self, person: UUID, lifetime: timedelta) -> str:
        """Begin a session of a browser, and return its secret, which is not stored."""
        text = PREFIX + secrets.token_urlsafe(32)
        with self._database.transaction() as cursor:
            cursor.execute(
                "delete from home.browser_sessions where hash in ("
                " select hash from home.browser_sessions where expires_at <= now()"
                " order by expires_at limit %s for update skip locked)",
                (MAX_EXPIRED,),
            )
            cursor.execute(
                "insert into home.browser_sessions (hash, person_id, expires_at) values (%s, %s, now() + %s)",
                (_hash(text), person, lifetime),
            )
        return text

    @on_thread
    def find_session(self, text: str) -> Person | None:
        """Return whose session has a secret; None if it has expired, or if the person is disabled."""
        if SECRET.fullmatch(text) is None:
            return None
        with self._database.transaction() as cursor:
            cursor.execute(
                "select people.id, email, name from home.browser_sessions"
                " join home.people on people.id = person_id"
                " where hash = %s and expires_at > now() and disabled_at is null",
                (_hash(text),),
            )
            row = cursor.fetchone()
        return None if row is None else Person(*row)

    @on_thread
    def find_identity(self, issuer: str, subject: str) -> UUID | None:
        """Return the person with an identity; None if they never logged in, or are disabled."""
        if not (is_storable(issuer) and is_storable(subject)):
            return None
        with self._database.transaction() as cursor:
            row = cursor.execute(
                "select people.id from home.identities join home.people on people.id = person_id"
                " where issuer = %s and subject = %s and disabled_at is null",
                (issuer, subject),
            ).fetchone()
        return None if row is None else row[0]

    @on_thread
    def end_session(self, text: str) -> None:
        """End a session, if there is one."""
        with self._database.transaction() as cursor:
            cursor.execute("delete from home.browser_sessions where hash = %s", (_hash(text),))

    @on_thread
    def end_sessions(self, person: UUID) -> int:
        """End all sessions of a person. Return how many there were."""
        with self._database.transaction() as cursor:
            return _end_sessions(cursor, person)

    @on_thread
    def workspaces_of(self, person: UUID) -> Sequence[PersonWorkspace]:
        """Return the workspaces of which a person is a member, by slug.

        Those of another cluster are missing while it is away.
        """
        with self._database.transaction() as cursor:
            groups = read_groups(cursor, person)
        roles: dict[tuple[str, UUID], tuple[str, ...]] = {}
        for cluster in self._clusters:
            try:
                with store_errors(), self._clusters[cluster].transaction() as cursor:
                    cursor.execute("select * from onetool.memberships_of(%s, %s)", (person, groups))
                    roles.update({(cluster, id): tuple(names) for id, names in cursor})
            except WorkspaceUnavailable:
                if cluster == HOME:
                    raise
                log.warning("cluster %s is away: its workspaces are not listed", cluster)
        with self._database.transaction() as cursor:
            cursor.execute(
                "select id, slug, name, cluster from home.workspaces"
                " where id = any(%s) and deleted_at is null order by slug",
                ([id for _, id in roles],),
            )
            return [
                PersonWorkspace(id, slug, name, roles[cluster, id])
                for id, slug, name, cluster in cursor
                if (cluster, id) in roles
            ]

    @on_thread
    def list(self) -> Sequence[KnownPerson]:
        """Return all people, by name."""
        with self._database.transaction() as cursor:
            cursor.execute(
                "select people.id, email, name, disabled_at is not null,"
                " array_agg(issuer || ' ' || subject order by issuer, subject)"
                " from home.people join home.identities on person_id = people.id"
                " group by people.id order by name, people.id"
            )
            return [
                KnownPerson(Person(id, email, name), tuple(identities), is_disabled)
                for id, email, name, is_disabled, identities in cursor
            ]

    @on_thread
    def disable(self, person: UUID) -> bool:
        """Refuse a person from now on, and end their sessions. Return False if there is no such person."""
        with self._database.transaction() as cursor:
            cursor.execute(
                "update home.people set disabled_at = coalesce(disabled_at, now()) where id = %s", (person,)
            )
            is_known = cursor.rowcount > 0
            _end_sessions(cursor, person)
            _announce_everywhere(cursor, person)
        return is_known

    @on_thread
    def enable(self, person: UUID) -> bool:
        """Let a person log in again. Return False if there is no such person."""
        with self._database.transaction() as cursor:
            cursor.execute("update home.people set disabled_at = null where id = %s", (person,))
            is_known = cursor.rowcount > 0
            _announce_everywhere(cursor, person)
        return is_known


def _sign_in(cursor: Cursor, identity: Identity) -> UUID:
    email, name = to_storable(identity.email), to_storable(identity.name)
    person = _find(cursor, identity)
    if person is None:
        person = uuid7()
        cursor.execute("insert into home.people (id) values (%s)", (person,))
        cursor.execute(
            "insert into home.identities (issuer, subject, person_id) values (%s, %s, %s)",
            (identity.issuer, identity.subject, person),
        )
    cursor.execute(
        "update home.people set email = %s, name = %s where id = %s and (email, name) <> (%s, %s)",
        (email, name, person, email, name),
    )
    if identity.groups is None:
        _doubt_groups(cursor, person, identity.issuer)
    else:
        _replace_groups(cursor, person, identity.issuer, sorted(set(identity.groups)))
    return person


def _find(cursor: Cursor, identity: Identity) -> UUID | None:
    """Return the person with an identity. Other logins with it wait until the transaction ends.

    Raises:
        PersonDisabled: The operator has disabled the person.
    """
    place = f"{identity.issuer}\n{identity.subject}"
    cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (place,))
    cursor.execute(
        "select people.id, disabled_at is not null from home.identities"
        " join home.people on people.id = person_id where issuer = %s and subject = %s",
        (identity.issuer, identity.subject),
    )
    row = cursor.fetchone()
    if row is None:
        return None
    person, is_disabled = row
    if is_disabled:
        raise PersonDisabled("You cannot log in here any more. Ask the operator of this server.")
    return UUID(str(person))


def _doubt_groups(cursor: Cursor, person: UUID, issuer: str) -> None:
    """Note that the issuer does not say any more in which groups a person is.

    The groups then give no rights, but what they are denied stays denied.
    """
    cursor.execute(
        "update home.group_people set seen_at = '-infinity' from home.groups"
        " where groups.id = group_id and person_id = %s and issuer = %s and seen_at > '-infinity'",
        (person, issuer),
    )
    if cursor.rowcount:
        _announce_everywhere(cursor, person)


def _replace_groups(cursor: Cursor, person: UUID, issuer: str, names: Sequence[str]) -> None:
    """Make a person a member of exactly these groups of the issuer."""
    cursor.execute(
        "select name, seen_at > now() - %s from home.group_people join home.groups on groups.id = group_id"
        " where person_id = %s and issuer = %s order by name",
        (MAX_GROUPS_AGE, person, issuer),
    )
    known = cursor.fetchall()
    cursor.execute(
        "update home.group_people set seen_at = now() from home.groups"
        " where groups.id = group_id and person_id = %s and issuer = %s and name = any(%s)",
        (person, issuer, names),
    )
    if known == [(name, True) for name in names]:
        return
    _announce(cursor, person)
    cursor.execute(
        "delete from home.group_people using home.groups"
        " where groups.id = group_id and person_id = %s and issuer = %s and name <> all(%s)",
        (person, issuer, names),
    )
    cursor.execute(
        "insert into home.groups (id, issuer, name)"
        " select gen_random_uuid(), %s, name from unnest(%s::text[]) as name order by name"
        " on conflict do nothing",
        (issuer, names),
    )
    cursor.execute(
        "insert into home.group_people (group_id, person_id)"
        " select id, %s from home.groups where issuer = %s and name = any(%s) on conflict do nothing",
        (person, issuer, names),
    )
    _announce_everywhere(cursor, person)


def read_groups(cursor: Cursor, person: UUID) -> list[str]:
    """Return the ids of the groups of a person, in a transaction in the home cluster."""
    rows = cursor.execute("select group_id::text from home.group_people where person_id = %s", (person,))
    return [id for (id,) in rows.fetchall()]


def _announce(cursor: Cursor, person: UUID) -> None:
    """Tell the workspaces of a person in the home cluster that their rights may have changed."""
    cursor.execute("select onetool.announce_person(%s)", (person,))


def _announce_everywhere(cursor: Cursor, person: UUID) -> None:
    """Tell all workspaces of a person, at the end of a transaction: others wait for its last statement."""
    _announce(cursor, person)
    ((revision,),) = cursor.execute(RAISE_REVISION).fetchall()
    cursor.execute("select pg_notify('onetool', %s)", (f"{PEOPLE} {revision}",))


def _end_sessions(cursor: Cursor, person: UUID) -> int:
    cursor.execute("delete from home.browser_sessions where person_id = %s", (person,))
    return cursor.rowcount


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()
