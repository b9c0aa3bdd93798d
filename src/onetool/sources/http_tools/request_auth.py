"""Authentication of requests, as defined under `auth`: bearer, basic, API key, HMAC and OAuth 2."""

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote_plus, urlencode

import orjson

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.http.placeholders import (
    InvalidValue,
    Placeholder,
    fill_header,
    fill_text,
    find_invalid_header_char,
    parse_template,
    to_text,
)
from onetool.domain.text.strings import truncate_middle

from .placeholder_values import PlaceholderValues
from .request import FORM_TYPE, OutgoingRequest, build
from .response_body import ResponseBody
from .token_cache import AccessToken, TokenCache, TokenKey

SendTokenRequest = Callable[[OutgoingRequest], Awaitable[ResponseBody]]
DEFAULT_LIFETIME_S = 300.0
"""Lifetime of a token whose endpoint returns no `expires_in`, in seconds."""
MAX_ERROR_BODY_LENGTH = 500
CREDENTIAL_FIELDS = frozenset({"token", "password", "value", "secret", "clientSecret", "refreshToken"})
TOKEN_FIELDS = ("clientId", "clientSecret", "refreshToken", "scope")
REFRESH_GRANT = "refresh_token"
DEFAULT_PAYLOAD = "${method}\n${path}\n${query}\n${timestamp}\n${body}"


class RequestAuth:
    """Authenticates the requests of one step."""

    def __init__(
        self,
        auth: Mapping[str, Any] | None,
        values: PlaceholderValues,
        tokens: TokenCache,
        send_token_request: SendTokenRequest,
        wall_clock: Callable[[], float],
    ) -> None:
        self._auth, self._values, self._tokens = auth or {}, values, tokens
        self._send_token_request, self._wall_clock = send_token_request, wall_clock
        self._token, self._is_cached, self._stale_token = "", False, ""

    async def sign(self, outgoing: OutgoingRequest) -> OutgoingRequest:
        """Return the request with its credentials.

        Raises:
            InvalidValue: A placeholder of the credentials has no value or an invalid one.
            ExecutionError: A secret cannot be used, or no access token can be fetched.
        """
        kind = self._auth.get("type")
        host = outgoing.url.host
        if kind == "bearer":
            return outgoing.with_headers({"Authorization": f"Bearer {self._fill_header('token', host)}"})
        if kind == "basic":
            return self._sign_basic(outgoing)
        if kind == "apiKey":
            return self._sign_api_key(outgoing)
        if kind == "hmac":
            return self._sign_hmac(outgoing)
        if kind == "oauth2":
            # The token stands for the secrets with which it is fetched.
            self._values.check_own(self._templates(*TOKEN_FIELDS), host)
            token = await self._get_access_token()
            self._values.hide_made(token, self._templates(*TOKEN_FIELDS), host)
            return outgoing.with_headers({"Authorization": f"Bearer {token}"})
        return outgoing

    def invalidate_token(self) -> bool:
        """Return whether the last request used a cached token. If so, the next one uses a new token."""
        is_cached, self._is_cached = self._is_cached, False
        self._stale_token = self._token if is_cached else self._stale_token
        return is_cached

    def _templates(self, *fields: str) -> list[str]:
        return [self._auth.get(field, "") for field in fields]

    def _fill(self, field: str, host: str) -> str:
        filled = fill_text(self._auth.get(field, ""), self._values.lookup_for(host))
        self._hide(field, filled)
        return filled

    def _fill_header(self, field: str, host: str) -> str:
        filled = fill_header(self._auth.get(field, ""), self._values.lookup_for(host))
        if filled is None:
            return self._fill(field, host)
        self._hide(field, filled)
        return filled

    def _hide(self, field: str, value: str) -> None:
        """Redact a credential, also one that is written out or that an earlier response contained."""
        if field in CREDENTIAL_FIELDS:
            self._values.hide(value)

    def _sign_basic(self, outgoing: OutgoingRequest) -> OutgoingRequest:
        host = outgoing.url.host
        header = _basic_header(self._fill("username", host), self._fill("password", host))
        self._values.hide_made(header.partition(" ")[2], self._templates("username", "password"), host)
        return outgoing.with_headers({"Authorization": header})

    def _sign_api_key(self, outgoing: OutgoingRequest) -> OutgoingRequest:
        name, host = self._auth["name"], outgoing.url.host
        if self._auth.get("in") == "query":
            return outgoing.with_query(name, self._fill("value", host))
        return outgoing.with_headers({name: self._fill_header("value", host)})

    def _sign_hmac(self, outgoing: OutgoingRequest) -> OutgoingRequest:
        auth, host = self._auth, outgoing.url.host
        timestamp = str(int(self._wall_clock()))
        fields: dict[str, str | bytes] = {
            "method": outgoing.method,
            "path": outgoing.url.path,
            "query": outgoing.url.query or "",
            "timestamp": timestamp,
            "body": outgoing.body,
        }
        template = parse_template(auth.get("payload", DEFAULT_PAYLOAD))
        payload = b"".join(self._payload_part(part, fields, host) for part in template)
        key = self._fill("secret", host).encode()
        digest = hmac.new(key, payload, getattr(hashlib, auth.get("algorithm", "sha256"))).digest()
        signature = (
            digest.hex() if auth.get("encoding", "hex") == "hex" else base64.b64encode(digest).decode()
        )
        self._values.hide_made(signature, self._templates("secret"), host)
        headers = {auth.get("header", "X-Signature"): self._fill_header("prefix", host) + signature}
        timestamp_header = auth.get("timestampHeader")
        return outgoing.with_headers(headers | ({timestamp_header: timestamp} if timestamp_header else {}))

    def _payload_part(self, part: str | Placeholder, fields: Mapping[str, str | bytes], host: str) -> bytes:
        if isinstance(part, str):
            return part.encode()
        value = fields[part.name] if part.name in fields else self._values.lookup_for(host)(part.name)
        if value is None:
            raise InvalidValue(part.name, "has no value")
        return value if isinstance(value, bytes) else to_text(value).encode()

    async def _get_access_token(self) -> str:
        request = build({"method": "POST", "urlTemplate": self._auth["tokenUrl"]}, self._values)
        credentials = {field: self._fill(field, request.url.host) for field in TOKEN_FIELDS}
        grant = self._auth.get("grant", "client_credentials")
        key = _token_key(str(request.url), grant, credentials)

        async def fetch(refresh_token: str) -> AccessToken:
            replaced = {"refreshToken": refresh_token} if refresh_token else {}
            return await self._fetch_token(request, grant, credentials | replaced)

        self._token, self._is_cached = await self._tokens.get(key, fetch, stale=self._stale_token)
        return self._token

    async def _fetch_token(
        self, request: OutgoingRequest, grant: str, credentials: Mapping[str, str]
    ) -> AccessToken:
        form = {"grant_type": grant, "scope": credentials["scope"]}
        headers = {"Content-Type": FORM_TYPE, "Accept": "application/json"}
        if credentials["clientSecret"]:
            header = _basic_header(
                quote_plus(credentials["clientId"]), quote_plus(credentials["clientSecret"])
            )
            templates = self._templates("clientId", "clientSecret")
            self._values.hide_made(header.partition(" ")[2], templates, request.url.host)
            headers["Authorization"] = header
        else:
            form["client_id"] = credentials["clientId"]
        if grant == REFRESH_GRANT:
            self._values.hide(credentials["refreshToken"])
            form["refresh_token"] = credentials["refreshToken"]
        body = urlencode({name: value for name, value in form.items() if value}).encode()
        outgoing = replace(request, headers=headers, body=body)
        return self._parse_token(outgoing, await self._send_token_request(outgoing))

    def _parse_token(self, outgoing: OutgoingRequest, response: ResponseBody) -> AccessToken:
        data: Any = None
        with suppress(ValueError):
            data = orjson.loads(response.content)
        value, refresh_token = (
            (data.get("access_token"), data.get("refresh_token")) if isinstance(data, dict) else (None, None)
        )
        if not 200 <= response.status < 300:
            body = truncate_middle(self._values.redact(response.text()), MAX_ERROR_BODY_LENGTH)
            message = f"POST {outgoing.label} returned {response.status} instead of an access token: {body}"
            raise ExecutionError(Reason.UPSTREAM, message)
        # The body may contain a token, so the message does not quote it.
        if not isinstance(value, str) or find_invalid_header_char(value):
            message = f"POST {outgoing.label} returned no valid access_token."
            raise ExecutionError(Reason.UPSTREAM, message)
        return AccessToken(
            value=value,
            lifetime_s=_lifetime_s(data),
            refresh_token=refresh_token if isinstance(refresh_token, str) else "",
        )


def _token_key(url: str, grant: str, credentials: Mapping[str, str]) -> TokenKey:
    client_id, refresh_token = credentials["clientId"], credentials["refreshToken"]
    secret = _digest(grant, credentials["clientSecret"], refresh_token)
    chain = _digest(url, client_id, refresh_token) if grant == REFRESH_GRANT else ""
    return TokenKey(url, client_id, credentials["scope"], secret, chain)


def _digest(*values: str) -> str:
    return hashlib.sha256("\0".join(values).encode()).hexdigest()


def _lifetime_s(data: Mapping[str, Any]) -> float:
    try:
        return float(data.get("expires_in") or DEFAULT_LIFETIME_S)
    except (TypeError, ValueError):
        return DEFAULT_LIFETIME_S


def _basic_header(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
