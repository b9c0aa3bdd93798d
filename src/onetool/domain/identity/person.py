"""A person: how a provider reports them at a login, and what a hosted OneTool knows of them."""

from typing import NamedTuple
from uuid import UUID


class Identity(NamedTuple):
    """Who has logged in, as their provider says. Issuer and subject name the person, nothing else does."""

    issuer: str
    subject: str
    email: str = ""
    name: str = ""
    groups: tuple[str, ...] | None = ()
    """None if the provider says nothing about them, although it should."""


class Person(NamedTuple):
    """A person who has logged in at least once."""

    id: UUID
    email: str
    name: str


class KnownPerson(NamedTuple):
    """A person, as the operator sees them."""

    person: Person
    identities: tuple[str, ...]
    """By which they are recognized: each is an issuer and a subject."""
    is_disabled: bool


class PersonWorkspace(NamedTuple):
    """A workspace of which a person is a member: in person, or through a group."""

    id: UUID
    slug: str
    name: str
    roles: tuple[str, ...]


class LoginAttempt(NamedTuple):
    """What the browser of a person keeps, sealed, while they log in at their provider."""

    state: str
    nonce: str
    verifier: str


class LoginStart(NamedTuple):
    """Where to send a browser so that a person logs in."""

    url: str
    attempt: LoginAttempt
