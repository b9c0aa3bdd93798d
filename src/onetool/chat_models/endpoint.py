"""Where a chat model is served, and what goes wrong on the way there, in words that hold no key."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from onetool.domain.chat import ChatFailed, Failure
from onetool.domain.errors import SettingsError
from onetool.domain.hosts import BadUrl, parse_url
from onetool.domain.redaction import Redactor
from onetool.domain.texts import cut

from .retry_after import retry_after

LONGEST_QUOTE = 500
NO_KEY = "none"
"""Packages of providers send no empty key."""
REFUSALS: Mapping[int, Failure] = {401: "auth", 403: "auth", 429: "rate_limited"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A provider as the operator set it up."""

    name: str
    model: str
    base_url: str
    key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not self.model:
            raise SettingsError(f"The provider {self.name!r} has no model. Give the name of one.")
        if not (self.key.isascii() and self.key.isprintable() and self.key == self.key.strip()):
            raise SettingsError(
                f"The key of the provider {self.name!r} cannot be sent: it holds blanks at an end, "
                "line ends or other than ASCII characters."
            )
        try:
            parse_url(self.base_url)
        except BadUrl as error:
            raise SettingsError(
                f"The base_url of the provider {self.name!r} cannot be used: {error}"
            ) from None

    def sent_key(self, public: str) -> str:
        """Return what is sent as the key: a server of one's own may want none, the public one does.

        Raises ChatFailed.
        """
        if not self.key and self.base_url.rstrip("/") == public:
            raise ChatFailed(
                "auth",
                f"There is no key for {self.name!r}, and {public} answers nobody without. "
                f"Give it one: onetool auth login {self.name}",
            )
        return self.key or NO_KEY

    def clean(self, text: str) -> str:
        """A text of the provider, short and without the key."""
        return cut(Redactor([self.key]).redact(text).strip(), LONGEST_QUOTE)

    def refused(self, status: int, said: str, headers: Mapping[str, str]) -> ChatFailed:
        """An answer other than 200."""
        kind = REFUSALS.get(status, "unreachable" if status >= 500 else "rejected")
        wait = retry_after(headers)
        if kind == "auth":  # what a provider says here often holds a part of the key
            return ChatFailed(kind, f"{self.name} did not accept the key (HTTP {status}). Check the key.")
        if 300 <= status < 400:
            return ChatFailed(
                kind, f"{self.name} answered with a redirect (HTTP {status}). Set base_url to where it leads."
            )
        return ChatFailed(kind, f"{self.name}: HTTP {status}{_quoted(self.clean(said))}", retry_after=wait)

    def unsendable(self, why: str) -> ChatFailed:
        """A request that cannot be written as the provider wants it."""
        return ChatFailed("rejected", f"{self.name} cannot be told of these tools: {self.clean(why)}")

    def unreachable(self) -> ChatFailed:
        """No connection, or one that broke."""
        return ChatFailed(
            "unreachable", f"{self.name} at {self.base_url!r} cannot be reached, or hung up in the middle."
        )

    def stopped(self, kind: Failure, said: str) -> ChatFailed:
        """An error in the middle of an answer."""
        return ChatFailed(kind, f"{self.name} broke off its answer{_quoted(self.clean(said))}")

    def rubbish(self, what: str) -> ChatFailed:
        """An answer that does not follow the provider's own rules."""
        where = f"Check that base_url {self.base_url!r} is its API."
        return ChatFailed("rubbish", f"{self.name} sent what cannot be read: {what}. {where}")

    def late(self) -> ChatFailed:
        """No answer, or not all of it, when the time was over."""
        return ChatFailed("timeout", f"{self.name} did not finish its answer in time.")


def _quoted(said: str) -> str:
    return f": {said}" if said else "."
