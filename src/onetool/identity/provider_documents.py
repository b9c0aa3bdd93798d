"""What an OpenID provider publishes: where its endpoints are, and the keys that sign its tokens."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

import orjson

from onetool.domain.errors import SignInUnavailable
from onetool.domain.http.urls import is_loopback
from onetool.network.limited_request import HttpReply, RequestFailed, send_limited

log = logging.getLogger(__name__)

DISCOVERY_PATH = "/.well-known/openid-configuration"
TIMEOUT_S = 10.0
"""Seconds for one request to the provider."""
MAX_BYTES = 256 * 2**10
"""Maximum size of a response of the provider."""
MAX_AGE_S = 3600.0
"""Seconds after which a document is fetched again. A key that the provider has withdrawn is then unknown."""
MIN_AGE_S = 30.0
"""Seconds after which keys are fetched again because one is unknown."""
RETRY_S = 5.0
"""Seconds after a failure in which the provider is not asked again."""
MAX_KEYS = 100
OK = 200
JSON_TYPE = {"Accept": "application/json"}
T = TypeVar("T")
Jwk = Mapping[str, Any]


class ProviderMetadata(NamedTuple):
    """Where the endpoints of a provider are, and what they support."""

    authorization_url: str
    token_url: str
    keys_url: str
    userinfo_url: str
    """Empty: there is none."""
    names_itself: bool
    """Whether its redirects name the issuer (RFC 9207)."""
    token_auth_methods: tuple[str, ...]


class CachedDocument(Generic[T]):
    """A document that is fetched when it is first needed. Concurrent requests wait for one fetch."""

    def __init__(self, fetch: Callable[[], Awaitable[T]], clock: Callable[[], float]) -> None:
        self._fetch, self._clock = fetch, clock
        self._lock = asyncio.Lock()
        self._value: T | None = None
        self._fetched_at = 0.0
        self._failure: tuple[float, str] | None = None

    async def get(self, max_age_s: float = MAX_AGE_S) -> T:
        """Return the document, fetched not more than some seconds ago.

        Raises:
            SignInUnavailable: It cannot be fetched, or could not a moment ago.
        """
        if (value := self._fresh(max_age_s)) is not None:
            return value
        async with self._lock:
            if (value := self._fresh(max_age_s)) is not None:
                return value
            if self._failure is not None and self._clock() - self._failure[0] < RETRY_S:
                raise SignInUnavailable(self._failure[1])
            return await self._load()

    def _fresh(self, max_age_s: float) -> T | None:
        return self._value if self._clock() - self._fetched_at < max_age_s else None

    async def _load(self) -> T:
        try:
            value = await self._fetch()
        except SignInUnavailable as error:
            log.warning("%s", error)
            self._failure = self._clock(), str(error)
            raise
        self._value, self._fetched_at, self._failure = value, self._clock(), None
        return value


class ProviderDocuments:
    """The documents of one issuer."""

    def __init__(self, issuer: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._metadata = CachedDocument(self._fetch_metadata, clock)
        self._keys = CachedDocument(self._fetch_keys, clock)

    async def metadata(self) -> ProviderMetadata:
        """Return where the endpoints are.

        Raises:
            SignInUnavailable: The provider is away, or it is not the configured issuer.
        """
        return await self._metadata.get()

    async def keys(self, *, again: bool = False) -> tuple[Jwk, ...]:
        """Return the keys that sign tokens; again: fetched just now, or a few seconds ago.

        Raises:
            SignInUnavailable: The provider is away, or its keys cannot be read.
        """
        return await self._keys.get(MIN_AGE_S if again else MAX_AGE_S)

    async def _fetch_metadata(self) -> ProviderMetadata:
        what = "The OpenID configuration"
        document = await fetch_json(self._issuer.removesuffix("/") + DISCOVERY_PATH, what)
        if document.get("issuer") != self._issuer:
            found = str(document.get("issuer"))[:200]
            raise SignInUnavailable(f"{what} of {self._issuer!r} is that of another issuer: {found!r}.")
        userinfo = document.get("userinfo_endpoint")
        methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return ProviderMetadata(
            authorization_url=_endpoint(document, "authorization_endpoint"),
            token_url=_endpoint(document, "token_endpoint"),
            keys_url=_endpoint(document, "jwks_uri"),
            userinfo_url=_endpoint(document, "userinfo_endpoint") if userinfo is not None else "",
            names_itself=document.get("authorization_response_iss_parameter_supported") is True,
            token_auth_methods=tuple(methods) if isinstance(methods, list) else (),
        )

    async def _fetch_keys(self) -> tuple[Jwk, ...]:
        what = "The key set of the OpenID provider"
        document = await fetch_json((await self.metadata()).keys_url, what)
        keys = document.get("keys")
        if not isinstance(keys, list) or len(keys) > MAX_KEYS:
            raise SignInUnavailable(f"{what} has no list 'keys' of at most {MAX_KEYS} keys.")
        return tuple(key for key in keys if isinstance(key, dict))


async def fetch_json(
    url: str,
    what: str,
    *,
    headers: Mapping[str, str] = JSON_TYPE,
) -> dict[str, Any]:
    """Return a JSON object of the provider.

    Raises:
        SignInUnavailable: There is no such response.
    """
    reply = await send_to_provider(url, what, headers=headers)
    if reply.status != OK:
        raise SignInUnavailable(f"{what} cannot be read: status {reply.status}.")
    return parse_object(reply.content, what)


async def send_to_provider(
    url: str, what: str, *, headers: Mapping[str, str], form: Mapping[str, str] | None = None
) -> HttpReply:
    """Send a request to the provider.

    Raises:
        SignInUnavailable: It does not respond.
    """
    try:
        return await send_limited(url, headers=headers, form=form, max_bytes=MAX_BYTES, timeout_s=TIMEOUT_S)
    except RequestFailed as error:
        raise SignInUnavailable(f"{what} cannot be read: {error}.") from None


def parse_object(content: bytes, what: str) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        SignInUnavailable: The content is something else. The error does not quote it.
    """
    try:
        value = orjson.loads(content)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise SignInUnavailable(f"{what} is not a JSON object.")
    return value


def is_protected(url: str) -> bool:
    """Return whether a URL is one of HTTPS, or of this machine, without a login and a fragment."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return False
    if not host or "@" in parts.netloc or parts.fragment or not url.isprintable() or "\\" in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))


def _endpoint(document: Mapping[str, Any], name: str) -> str:
    url = document.get(name)
    if not isinstance(url, str) or not is_protected(url):
        shown = str(url)[:200]
        raise SignInUnavailable(f"The OpenID configuration has {name} {shown!r}. It must be an https URL.")
    return url
