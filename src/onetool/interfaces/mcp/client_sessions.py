"""Sessions of MCP clients of the earlier protocol over HTTP, whose ids any process can read."""

import hmac
import json
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from secrets import token_hex
from typing import Any, NamedTuple

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState

LIFETIME_S = 7 * 86_400.0
"""Seconds after which a client must initialize again."""
MAX_AGREED_LENGTH = 2_048
"""Characters of what a client declares about itself. Its session id, which contains that, is a header."""
REQUEST_PREFIX = "onetool-"


class TooMuchDeclared(ValueError):
    """A client declares more about itself than a session id can contain."""


class Agreed(NamedTuple):
    """What a client and OneTool have agreed on with `initialize`."""

    version: str
    client: Mapping[str, Any]
    capabilities: Mapping[str, Any]


class RequestOfOurs(NamedTuple):
    """A request to a client: the job that asks, and the name of the request in it."""

    job: str
    name: str


class ClientSession(NamedTuple):
    """The session of a client. Every process has the same one."""

    id: str
    agreed: Agreed
    request_key: bytes
    """Signs the ids of requests to this client, so that the client of another session cannot answer them."""

    def request_id(self, request: RequestOfOurs) -> str:
        """Return the JSON-RPC id of a request to the client."""
        return f"{REQUEST_PREFIX}{request.job}-{request.name}-{self._sign(request)}"

    def request_of(self, id: str) -> RequestOfOurs | None:
        """Return the request with a JSON-RPC id, or None if it was not sent in this session."""
        parts = id.removeprefix(REQUEST_PREFIX).split("-")
        if len(parts) != 3 or not id.isascii():
            return None
        request = RequestOfOurs(parts[0], parts[1])
        return request if hmac.compare_digest(self._sign(request), parts[2]) else None

    def _sign(self, request: RequestOfOurs) -> str:
        text = f"{self.id} {request.job} {request.name}"
        return hmac.digest(self.request_key, text.encode(), "sha256").hex()[:32]


class SessionSeal:
    """Seals sessions into ids and opens them. An id is bound to an endpoint and to a credential."""

    def __init__(self, key: bytes, endpoint: str, now: Callable[[], float] = time.time) -> None:
        self._codec = AESGCMRequestStateCodec([hmac.digest(key, b"onetool client session", "sha256")])
        self._request_key = hmac.digest(key, b"onetool request to client", "sha256")
        self._endpoint, self._now = endpoint, now

    def create(self, agreed: Agreed, credential: str) -> tuple[str, ClientSession]:
        """Return the id of a new session, as the client sends it, and the session.

        Raises:
            TooMuchDeclared: The client declares too much about itself.
        """
        content = json.dumps(agreed)
        if len(content) > MAX_AGREED_LENGTH:
            message = f"The client declares more than {MAX_AGREED_LENGTH:,} characters about itself."
            raise TooMuchDeclared(message)
        session = ClientSession(token_hex(16), agreed, self._request_key)
        fields = [session.id, self._now(), self._endpoint, _digest(credential), agreed]
        return self._codec.seal(json.dumps(fields).encode()), session

    def open(self, sealed: str, credential: str) -> ClientSession | None:
        """Return the session of an id, or None if it is not valid here, with this credential and now."""
        try:
            id, created_at, endpoint, digest, agreed = json.loads(self._codec.unseal(sealed))
        except (InvalidRequestState, ValueError):
            return None
        if endpoint != self._endpoint or not hmac.compare_digest(digest, _digest(credential)):
            return None
        if self._now() - created_at > LIFETIME_S:
            return None
        return ClientSession(id, Agreed(*agreed), self._request_key)


def _digest(credential: str) -> str:
    return sha256(credential.encode("utf-8", "surrogateescape")).hexdigest()
