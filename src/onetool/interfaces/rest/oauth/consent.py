"""The question whether a client may act for a person, and what a browser keeps until it is answered."""

import base64
import binascii
import time
from collections.abc import Callable
from hashlib import sha256
from html import escape
from typing import NamedTuple
from uuid import UUID, uuid4

import orjson
from starlette.responses import Response

from onetool.domain.errors import StoreUnavailable
from onetool.domain.identity.oauth_client import OAuthClient, is_loopback, redirect_origin
from onetool.domain.identity.person import Person, PersonWorkspace
from onetool.interfaces.rest.auth.login_cookies import AttemptSeal
from onetool.interfaces.rest.pages import page
from onetool.interfaces.rest.problems import ProblemError

CONSENT_S = 600
"""Seconds in which a person must answer."""
PLACE = "consent"


class AuthorizationRequest(NamedTuple):
    """What a client asks for. Its redirect URI is one of the client's."""

    client_id: str
    client_name: str
    redirect_uri: str
    state: str
    challenge: str


class Consent(NamedTuple):
    """A question that a person was asked."""

    id: UUID
    """Of the grant that an answer creates. One question has one answer."""
    request: AuthorizationRequest


class Consents:
    """Seals questions for the session that was asked. No one else, and no other page, can answer them."""

    def __init__(self, seal: AttemptSeal, clock: Callable[[], float] = time.time) -> None:
        self._seal, self._clock = seal, clock

    def ask(self, slug: str, session: str, request: AuthorizationRequest) -> str:
        """Return a question that only this session can answer, once."""
        plain = orjson.dumps([str(uuid4()), self._clock() + CONSENT_S, *request])
        return base64.urlsafe_b64encode(self._seal.seal(plain, PLACE, slug, _digest(session))).decode()

    def open(self, slug: str, session: str, text: str) -> Consent:
        """Return the question that a session was asked.

        Raises:
            ProblemError: The session was asked something else, or too long ago.
        """
        try:
            sealed = base64.urlsafe_b64decode(text.encode())
            id, expires, *request = orjson.loads(self._seal.open(sealed, PLACE, slug, _digest(session)))
        except (StoreUnavailable, binascii.Error, ValueError):
            raise ProblemError(
                403, "You were not asked this in this session. Let the client ask again."
            ) from None
        if expires < self._clock():
            raise ProblemError(403, "The question is too old. Let the client ask again.")
        return Consent(UUID(id), AuthorizationRequest(*request))


def consent_page(
    question: str,
    client: OAuthClient,
    request: AuthorizationRequest,
    person: Person,
    workspace: PersonWorkspace,
) -> Response:
    """Return the page that asks a person."""
    origin = redirect_origin(request.redirect_uri)
    if is_loopback(request.redirect_uri):
        receiver = f"A program on your computer ({origin}). Go on only if you have just started it."
    else:
        receiver = origin
    rows = {
        "Client": client.name or "(without a name)",
        "Published by": client.host or "Unknown: the client has registered itself, under any name it liked.",
        "Access is given to": receiver,
        "Workspace": f"{workspace.name} ({workspace.slug})" if workspace.name else workspace.slug,
        "You are": " ".join(filter(None, (person.name, person.email))) or str(person.id),
        "Your role": ", ".join(workspace.roles),
    }
    table = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in rows.items())
    content = (
        f"<dl>{table}</dl><p>The client will see and call all tools that you may call in this workspace, in"
        " your name, until you take this back or stop using it for 30 days. It cannot change tools, settings"
        ' or members.</p><form method="post"><input type="hidden" name="consent"'
        f' value="{escape(question)}"><button name="decision" value="deny">Deny</button>'
        ' <button name="decision" value="allow">Allow</button></form>'
    )
    return page(200, "Allow access?", content)


def form_target(uri: str) -> str:
    """Return the source of a content security policy to which a form may lead in the end."""
    scheme, _, rest = redirect_origin(uri).partition("://")
    is_named = scheme in ("http", "https") and not rest.startswith("[")  # other hosts cannot be written
    return f"{scheme}://{rest}" if is_named else f"{scheme}:"


def _digest(session: str) -> str:
    return sha256(session.encode("utf-8", "replace")).hexdigest()
