"""Proves who asks: adds to a request what its definition says under `auth`."""

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote_plus, urlencode

import orjson

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.placeholders import (
    BadValue,
    Placeholder,
    as_text,
    fill_header,
    fill_text,
    parse,
    unsendable,
)
from onetool.domain.texts import cut

from .bodies import Answer
from .outgoing import FORM, Outgoing, build
from .tokens import Token, Tokens
from .values import Values

Deliver = Callable[[Outgoing], Awaitable[Answer]]
SECONDS = 300.0
"""How long a token is kept whose endpoint does not say."""
SHOWN = 500
SIGNED = "${method}\n${path}\n${query}\n${timestamp}\n${body}"


class Credentials:
    """Signs the requests of one step."""

    def __init__(
        self,
        auth: Mapping[str, Any] | None,
        values: Values,
        tokens: Tokens,
        deliver: Deliver,
        wall: Callable[[], float],
    ) -> None:
        self._auth, self._values, self._tokens = auth or {}, values, tokens
        self._deliver, self._wall = deliver, wall
        self._token, self._is_kept, self._stale = "", False, ""

    async def sign(self, outgoing: Outgoing) -> Outgoing:
        """Add what proves who asks.

        Raises BadValue and ExecutionError.
        """
        kind = self._auth.get("type")
        host = outgoing.url.host
        if kind == "bearer":
            return outgoing.with_headers({"Authorization": f"Bearer {self._line('token', host)}"})
        if kind == "basic":
            return self._basic(outgoing)
        if kind == "apiKey":
            return self._key(outgoing)
        if kind == "hmac":
            return self._signature(outgoing)
        if kind == "oauth2":
            return outgoing.with_headers({"Authorization": f"Bearer {await self._access_token()}"})
        return outgoing

    def forget_kept_token(self) -> bool:
        """Whether the last request carried a token of an earlier call; the next will carry a new one."""
        is_kept, self._is_kept = self._is_kept, False
        self._stale = self._token if is_kept else self._stale
        return is_kept

    def _text(self, field: str, host: str) -> str:
        return fill_text(self._auth.get(field, ""), self._values.at(host))

    def _line(self, field: str, host: str) -> str:
        """A text that stands in a header."""
        filled = fill_header(self._auth.get(field, ""), self._values.at(host))
        return self._text(field, host) if filled is None else filled

    def _basic(self, outgoing: Outgoing) -> Outgoing:
        host = outgoing.url.host
        header = _basic_header(self._text("username", host), self._text("password", host))
        self._values.hide(header.partition(" ")[2])
        return outgoing.with_headers({"Authorization": header})

    def _key(self, outgoing: Outgoing) -> Outgoing:
        name, host = self._auth["name"], outgoing.url.host
        if self._auth.get("in") == "query":
            return outgoing.with_query(name, self._text("value", host))
        return outgoing.with_headers({name: self._line("value", host)})

    def _signature(self, outgoing: Outgoing) -> Outgoing:
        auth, host = self._auth, outgoing.url.host
        moment = str(int(self._wall()))
        own: dict[str, str | bytes] = {
            "method": outgoing.method,
            "path": outgoing.url.path,
            "query": outgoing.url.query or "",
            "timestamp": moment,
            "body": outgoing.body,
        }
        signed = b"".join(self._signed(part, own, host) for part in parse(auth.get("payload", SIGNED)))
        key = self._text("secret", host).encode()
        digest = hmac.new(key, signed, getattr(hashlib, auth.get("algorithm", "sha256"))).digest()
        text = digest.hex() if auth.get("encoding", "hex") == "hex" else base64.b64encode(digest).decode()
        headers = {auth.get("header", "X-Signature"): self._line("prefix", host) + text}
        stamp = auth.get("timestampHeader")
        return outgoing.with_headers(headers | ({stamp: moment} if stamp else {}))

    def _signed(self, part: str | Placeholder, own: Mapping[str, str | bytes], host: str) -> bytes:
        if isinstance(part, str):
            return part.encode()
        value = own[part.name] if part.name in own else self._values.at(host)(part.name)
        if value is None:
            raise BadValue(part.name, "has no value")
        return value if isinstance(value, bytes) else as_text(value).encode()

    async def _access_token(self) -> str:
        form = build({"method": "POST", "urlTemplate": self._auth["tokenUrl"]}, self._values)
        fields = ("clientId", "clientSecret", "refreshToken", "scope")
        known = {field: self._text(field, form.url.host) for field in fields}
        grant = self._auth.get("grant", "client_credentials")
        secret = hashlib.sha256(f"{known['clientSecret']}\0{known['refreshToken']}".encode()).digest()
        key = (str(form.url), known["clientId"], known["scope"], grant, secret)

        async def fetch(refresh: str) -> Token:
            return await self._fetch(form, grant, known | ({"refreshToken": refresh} if refresh else {}))

        self._token, self._is_kept = await self._tokens.get(key, fetch, stale=self._stale)
        self._values.hide(self._token)
        return self._token

    async def _fetch(self, form: Outgoing, grant: str, known: Mapping[str, str]) -> Token:
        said = {"grant_type": grant, "scope": known["scope"]}
        headers = {"Content-Type": FORM, "Accept": "application/json"}
        if known["clientSecret"]:
            header = _basic_header(quote_plus(known["clientId"]), quote_plus(known["clientSecret"]))
            self._values.hide(header.partition(" ")[2])
            headers["Authorization"] = header
        else:
            said["client_id"] = known["clientId"]
        if grant == "refresh_token":
            self._values.hide(known["refreshToken"])
            said["refresh_token"] = known["refreshToken"]
        body = urlencode({name: value for name, value in said.items() if value}).encode()
        filled = Outgoing(
            method="POST", url=form.url, headers=headers, body=body, shown=form.shown, private=form.private
        )
        return self._taken(filled, await self._deliver(filled))

    def _taken(self, form: Outgoing, answer: Answer) -> Token:
        said: Any = None
        with suppress(ValueError):
            said = orjson.loads(answer.content)
        value, refresh = (
            (said.get("access_token"), said.get("refresh_token")) if isinstance(said, dict) else (None, None)
        )
        if not 200 <= answer.status < 300:
            shown = cut(self._values.redact(answer.text()), SHOWN)
            problem = f"POST {form.shown} gave no access token, status {answer.status}: {shown}"
            raise ExecutionError(Reason.UPSTREAM, problem)
        if not isinstance(value, str) or unsendable(
            value
        ):  # what came instead may hold one, and is not shown
            problem = f"POST {form.shown} answered without an access_token that is a text of one line."
            raise ExecutionError(Reason.UPSTREAM, problem)
        return Token(value=value, seconds=_seconds(said), refresh=refresh if isinstance(refresh, str) else "")


def _seconds(said: Mapping[str, Any]) -> float:
    try:
        return float(said.get("expires_in") or SECONDS)
    except (TypeError, ValueError):
        return SECONDS


def _basic_header(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
