"""Documents that MCP clients publish about themselves: their URL is the id of the client.

As the OAuth draft "Client ID Metadata Document" describes them.
"""

import asyncio
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import orjson

from onetool.domain.identity.oauth_client import MAX_ID_CHARS, InvalidClient, OAuthClient, parse_client
from onetool.network.limited_request import HttpReply, RequestFailed, send_limited

from .provider_documents import is_protected

log = logging.getLogger(__name__)

CLIENT_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?/[!$-;=?-Z_a-z~]+"
)
"""With a path, and without a user, a fragment, quotes, or anything else to which two readers could differ."""
DOT_SEGMENTS = re.compile(r"/\.{1,2}(/|\?|$)|%2e", re.IGNORECASE)
TIMEOUT_S, MAX_BYTES = 5.0, 16 * 2**10
MAX_AGE_S, FAILURE_AGE_S = 300.0, 30.0
"""Seconds for which a document, or that it cannot be used, stays in memory."""
MAX_DOCUMENTS = 1_000
MAX_FETCHES, FETCH_WAIT_S = 4, 10.0
"""Documents that are fetched at a time, and seconds to wait until one may be."""
OK = 200
UNUSABLE = (
    "The document of the client cannot be used. Its URL must lead to JSON with the same client_id, without a "
    "redirect and without a login. The operator finds the reason in the log."
)
"""For all problems of URLs: the differences would say which internal names and ports exist."""
JSON_TYPE = re.compile(r"application/(?:json|[a-z0-9.-]+\+json)(?:;.*)?", re.IGNORECASE)


class _UnusableClientDocument(Exception):
    """There is no document of the client at a URL. The message is for the operator."""


class _KnownDocument(NamedTuple):
    """What a URL has led to."""

    outcome: OAuthClient | str
    """The client, or why it cannot be used."""
    until: float


class ClientDocuments:
    """Reads the documents of clients. They stay in memory for some minutes."""

    def __init__(
        self, private_hosts: Sequence[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """private_hosts: hosts that may have private addresses, and loopback ones without TLS."""
        self._private_hosts, self._clock = private_hosts, clock
        self._known: OrderedDict[str, _KnownDocument] = OrderedDict()
        self._fetches = asyncio.Semaphore(MAX_FETCHES)

    async def find(self, id: str) -> OAuthClient:
        """Return the client whose document is at a URL.

        Raises:
            InvalidClient: There is no such document, or it is not about this client.
        """
        host = self._check(id)
        known = self._fresh(id) or await self._wait_and_read(id, host)
        if isinstance(known.outcome, str):
            raise InvalidClient(known.outcome)
        return known.outcome

    def _fresh(self, id: str) -> _KnownDocument | None:
        known = self._known.get(id)
        return known if known is not None and self._clock() < known.until else None

    async def _wait_and_read(self, id: str, host: str) -> _KnownDocument:
        try:
            async with asyncio.timeout(FETCH_WAIT_S):
                await self._fetches.acquire()
        except TimeoutError:
            raise InvalidClient("Too many documents of clients are being fetched. Try again.") from None
        try:
            return self._fresh(id) or await self._read(id, host)
        finally:
            self._fetches.release()

    def _check(self, id: str) -> str:
        """Return the host of a URL that can be the id of a client."""
        match = CLIENT_URL.fullmatch(id) if len(id) <= MAX_ID_CHARS else None
        if match is None or DOT_SEGMENTS.search(id):
            raise InvalidClient(f"The client id {id[:200]!r} is not an https URL with a path.")
        is_listed = match["host"] in self._private_hosts
        if not is_protected(id) or (match["scheme"] != "https" and not is_listed):
            raise InvalidClient(f"The client id {id[:200]!r} must be an https URL.")
        return match["host"]

    async def _read(self, id: str, host: str) -> _KnownDocument:
        outcome: OAuthClient | str
        try:
            outcome, age_s = await self._fetch(id, host), MAX_AGE_S
        except _UnusableClientDocument as error:
            log.info("the document of client %s cannot be used: %s", id, error)
            outcome, age_s = UNUSABLE, FAILURE_AGE_S
        except InvalidClient as error:
            log.info("client %s cannot be used: %s", id, error)
            outcome, age_s = str(error), FAILURE_AGE_S
        known = self._known[id] = _KnownDocument(outcome, self._clock() + age_s)
        self._known.move_to_end(id)
        if len(self._known) > MAX_DOCUMENTS:
            self._known.popitem(last=False)
        return known

    async def _fetch(self, id: str, host: str) -> OAuthClient:
        try:
            reply = await send_limited(
                id,
                headers={"Accept": "application/json"},
                max_bytes=MAX_BYTES,
                timeout_s=TIMEOUT_S,
                private_hosts=self._private_hosts,
            )
        except RequestFailed as error:
            raise _UnusableClientDocument(f"it cannot be read: {error}") from None
        return _parse(id, host, reply)


def _parse(id: str, host: str, reply: HttpReply) -> OAuthClient:
    if reply.status != OK:
        raise _UnusableClientDocument(f"status {reply.status}")
    if JSON_TYPE.fullmatch(reply.content_type) is None:
        raise _UnusableClientDocument("its Content-Type is not JSON")
    try:
        document = orjson.loads(reply.content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise _UnusableClientDocument("not a JSON object")
    if document.get("client_id") != id:
        raise _UnusableClientDocument("its client_id differs, so it is about another client")
    return parse_client(id, document, host)
