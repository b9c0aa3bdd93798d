"""Login of people at an OpenID provider: authorization code flow with PKCE."""

import asyncio
import base64
import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

from onetool.domain.errors import SignInFailed, SignInUnavailable
from onetool.domain.identity.person import Identity, LoginAttempt, LoginStart

from .id_tokens import IdTokens
from .provider_documents import (
    JSON_TYPE,
    OK,
    ProviderDocuments,
    ProviderMetadata,
    fetch_json,
    parse_object,
    send_to_provider,
)

log = logging.getLogger(__name__)

MAX_EXCHANGES = 8
"""Logins that are finished at a time. Anyone can begin one, and each sends requests to the provider."""
EXCHANGE_WAIT_S = 10.0
MAX_GROUPS, MAX_GROUP_CHARS, MAX_SUBJECT_CHARS = 1_000, 255, 255
MAX_EMAIL_CHARS, MAX_NAME_CHARS = 320, 200
NAMES = ("name", "preferred_username")
UNSAFE = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """How this installation is registered at its provider."""

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    """Empty: a public client."""
    redirect_uri: str
    scopes: str = "openid profile email"
    groups_claim: str = ""
    """The claim with the names of the person's groups; empty: none."""


class OidcProvider:
    """Logs people in at one OpenID provider, which is first asked when someone logs in."""

    def __init__(self, settings: OidcSettings, documents: ProviderDocuments | None = None) -> None:
        self._settings = settings
        self._documents = documents or ProviderDocuments(settings.issuer)
        self._id_tokens = IdTokens(settings.issuer, settings.client_id, self._documents.keys)
        self._exchanges = asyncio.Semaphore(MAX_EXCHANGES)

    async def begin(self) -> LoginStart:
        """Return where to send a browser.

        Raises:
            SignInUnavailable: The provider is away, or its documents cannot be used.
        """
        url = (await self._documents.metadata()).authorization_url
        attempt = LoginAttempt(
            secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        )
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._settings.redirect_uri,
            "scope": self._settings.scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": challenge(attempt.verifier),
            "code_challenge_method": "S256",
        }
        separator = "&" if urlsplit(url).query else "?"
        return LoginStart(f"{url}{separator}{urlencode(query)}", attempt)

    async def finish(self, attempt: LoginAttempt, response: Mapping[str, str]) -> Identity:
        """Return who has logged in.

        response: the parameters with which the provider sent the browser back.

        Raises:
            SignInFailed: The response belongs to another login, reports an error, or names no one.
            SignInUnavailable: The provider is away, or refuses our requests.
        """
        if not _is_equal(response.get("state", ""), attempt.state):
            raise SignInFailed("The response of the provider belongs to another login. Log in again.")
        metadata = await self._documents.metadata()
        self._check_issuer(metadata, response)
        if "error" in response:
            raise SignInFailed(f"The provider has refused the login: {_error_text(response)}.")
        if not response.get("code"):
            raise SignInFailed("The response of the provider has no code. Log in again.")
        try:
            async with asyncio.timeout(EXCHANGE_WAIT_S):
                await self._exchanges.acquire()
        except TimeoutError:
            raise SignInUnavailable("Too many people log in at the moment. Try again.") from None
        try:
            return await self._identify(metadata, attempt, response["code"])
        finally:
            self._exchanges.release()

    def _check_issuer(self, metadata: ProviderMetadata, response: Mapping[str, str]) -> None:
        """Reject a response of another provider than the one that was asked (RFC 9207)."""
        named = response.get("iss")
        if named != self._settings.issuer and (named is not None or metadata.names_itself):
            raise SignInFailed("The response does not come from the provider that was asked. Log in again.")

    async def _identify(self, metadata: ProviderMetadata, attempt: LoginAttempt, code: str) -> Identity:
        tokens = await self._redeem(metadata, attempt, code)
        id_token, access_token = tokens.get("id_token"), tokens.get("access_token", "")
        if not isinstance(id_token, str) or not isinstance(access_token, str):
            raise SignInFailed("The provider has sent no ID token. Is 'openid' among the scopes?")
        claims = await self._id_tokens.validate(id_token, nonce=attempt.nonce, access_token=access_token)
        if metadata.userinfo_url and access_token and self._is_incomplete(claims):
            claims = await self._userinfo(metadata, claims["sub"], access_token) | claims
        return self._identity(claims)

    async def _redeem(self, metadata: ProviderMetadata, attempt: LoginAttempt, code: str) -> dict[str, Any]:
        """Exchange the code for tokens."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._settings.redirect_uri,
            "code_verifier": attempt.verifier,
            "client_id": self._settings.client_id,
        }
        headers, what = dict(JSON_TYPE), "The token response of the provider"
        headers |= self._authenticate(metadata, form)
        reply = await send_to_provider(metadata.token_url, what, headers=headers, form=form)
        if reply.status == OK:
            return parse_object(reply.content, what)
        failure = parse_object(reply.content, f"{what} with status {reply.status}")
        error = _printable(failure.get("error"))
        log.warning("the OpenID provider refused a code: status %d, %s", reply.status, error)
        if error == "invalid_grant":
            raise SignInFailed(
                "The provider does not accept the code: it was used, or is too old. Log in again."
            )
        raise SignInUnavailable(f"The provider does not accept this server: {error or reply.status}.")

    def _authenticate(self, metadata: ProviderMetadata, form: dict[str, str]) -> dict[str, str]:
        """Add the secret of the client to the form, or return a header with it."""
        id, secret = self._settings.client_id, self._settings.client_secret
        if not secret:
            return {}
        if "client_secret_basic" in metadata.token_auth_methods:
            pair = f"{quote_plus(id)}:{quote_plus(secret)}"
            return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        if "client_secret_post" in metadata.token_auth_methods:
            form["client_secret"] = secret
            return {}
        raise SignInUnavailable("The provider accepts neither client_secret_basic nor client_secret_post.")

    def _is_incomplete(self, claims: Mapping[str, Any]) -> bool:
        groups = self._settings.groups_claim
        return "email" not in claims or "name" not in claims or bool(groups and groups not in claims)

    async def _userinfo(self, metadata: ProviderMetadata, subject: str, access_token: str) -> dict[str, Any]:
        """Return claims that the ID token lacks."""
        headers = {**JSON_TYPE, "Authorization": f"Bearer {access_token}"}
        claims = await fetch_json(metadata.userinfo_url, "The userinfo of the provider", headers=headers)
        if claims.get("sub") != subject:
            raise SignInFailed("The userinfo of the provider is about another person.")
        return claims

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        subject = claims["sub"]
        if not subject or len(subject) > MAX_SUBJECT_CHARS or not subject.isprintable():
            raise SignInFailed(
                f"The provider's id of the person must have 1 to {MAX_SUBJECT_CHARS} characters."
            )
        name = next((text for key in NAMES if (text := _text(claims, key, MAX_NAME_CHARS))), "")
        return Identity(
            issuer=self._settings.issuer,
            subject=subject,
            email=_text(claims, "email", MAX_EMAIL_CHARS),
            name=name,
            groups=self._groups(claims),
        )

    def _groups(self, claims: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Return the groups of a person, sorted; None if the provider says nothing about them."""
        claim = self._settings.groups_claim
        if not claim:
            return ()
        if claim not in claims:
            return None
        value = claims[claim]
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(map(_is_group, names)):
            raise SignInFailed(
                f"Claim {claim!r} is not a list of names of up to {MAX_GROUP_CHARS} characters."
            )
        if len(names) > MAX_GROUPS:
            raise SignInFailed(f"Claim {claim!r} has {len(names)} groups. The maximum is {MAX_GROUPS}.")
        return tuple(sorted(set(names)))


def challenge(verifier: str) -> str:
    """Return the PKCE challenge of a verifier, with S256."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _is_group(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_GROUP_CHARS and value.isprintable()


def _text(claims: Mapping[str, Any], name: str, max_chars: int) -> str:
    """Return a claim for people to read; empty if it is missing or no text."""
    value = claims.get(name)
    if not isinstance(value, str):
        return ""
    return "".join(filter(str.isprintable, value))[:max_chars].strip()


def _error_text(response: Mapping[str, str]) -> str:
    """Return the error of the provider as plain text."""
    description = _printable(response.get("error_description"))
    return (
        f"{_printable(response['error'])} ({description})" if description else _printable(response["error"])
    )


def _printable(value: object) -> str:
    return UNSAFE.sub("?", value)[:200] if isinstance(value, str) else ""


def _is_equal(received: str, expected: str) -> bool:
    return hmac.compare_digest(received.encode("utf-8", "replace"), expected.encode())
