"""The endpoint of a chat model, and its errors. No error message contains the API key."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from onetool.domain.chat.messages import ChatModelError, Failure
from onetool.domain.errors import SettingsError
from onetool.domain.http.urls import InvalidUrl, parse_url
from onetool.domain.secrets.redaction import Redactor
from onetool.domain.text.strings import truncate_middle
from onetool.network.backoff import retry_after

MAX_QUOTE_LENGTH = 500
BASE64 = re.compile(r"([A-Za-z0-9+/_-]{30})[A-Za-z0-9+/_-]{100,}=*")
NO_KEY = "none"
"""Sent instead of an empty key, which the SDKs reject."""
KIND_BY_STATUS: Mapping[int, Failure] = {401: "auth", 403: "auth", 429: "rate_limited"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The URL, the model and the API key of a provider."""

    name: str
    model: str
    base_url: str
    key: str = field(default="", repr=False)
    images: bool = False
    """Whether the model accepts images."""

    def __post_init__(self) -> None:
        if not self.model:
            raise SettingsError(f"The provider {self.name!r} has no model. Set providers.{self.name}.model.")
        if not (self.key.isascii() and self.key.isprintable() and self.key == self.key.strip()):
            raise SettingsError(
                f"The key of the provider {self.name!r} is invalid: it has leading or trailing whitespace, "
                "control characters or non-ASCII characters."
            )
        try:
            parse_url(self.base_url)
        except InvalidUrl as error:
            raise SettingsError(f"The base_url of the provider {self.name!r} is invalid: {error}") from None

    def key_to_send(self, public_url: str) -> str:
        """Return the key to send. Only the public API requires one.

        Raises:
            ChatModelError: There is no key for the public API.
        """
        if not self.key and self.base_url.rstrip("/") == public_url:
            raise ChatModelError(
                "auth",
                f"There is no key for {self.name!r}, and {public_url} requires one. "
                f"Run: onetool auth login {self.name}",
            )
        return self.key or NO_KEY

    def clean(self, text: str) -> str:
        """Shorten a text of the provider and base64 in it, which it may quote, and redact the key."""
        text = BASE64.sub(r"\1...", Redactor([self.key]).redact(text))
        return truncate_middle(text.strip(), MAX_QUOTE_LENGTH)

    def rejected(self, status: int, message: str, headers: Mapping[str, str]) -> ChatModelError:
        """Return the error for a status other than 200."""
        kind = KIND_BY_STATUS.get(status, "unreachable" if status >= 500 else "rejected")
        if kind == "auth":  # the provider's message often contains a part of the key
            return ChatModelError(kind, f"{self.name} rejected the API key (HTTP {status}). Check the key.")
        if 300 <= status < 400:
            return ChatModelError(
                kind, f"{self.name} returned a redirect (HTTP {status}). Set base_url to its target."
            )
        return ChatModelError(
            kind,
            f"{self.name}: HTTP {status}{_suffix(self.clean(message))}",
            retry_after=retry_after(headers, time.time()),
        )

    def unsendable(self, reason: str) -> ChatModelError:
        """Return the error for a request that the SDK rejects."""
        return ChatModelError("rejected", f"{self.name} does not accept these tools: {self.clean(reason)}")

    def unreachable(self) -> ChatModelError:
        """Return the error for a connection that failed or was closed."""
        return ChatModelError(
            "unreachable", f"Cannot reach {self.name} at {self.base_url!r}, or it closed the connection."
        )

    def interrupted(self, kind: Failure, message: str) -> ChatModelError:
        """Return the error for a response that ended with an error."""
        return ChatModelError(kind, f"{self.name} interrupted its response{_suffix(self.clean(message))}")

    def malformed(self, what: str) -> ChatModelError:
        """Return the error for a response that does not follow the API."""
        hint = f"Check that base_url {self.base_url!r} is its API."
        return ChatModelError("malformed", f"{self.name} sent an invalid response: {what}. {hint}")

    def timed_out(self) -> ChatModelError:
        """Return the error for a response that was not complete at the deadline."""
        return ChatModelError("timeout", f"{self.name} did not respond in time.")


def _suffix(message: str) -> str:
    return f": {message}" if message else "."
