"""Search of what is about to be sent for secrets that its receiver may not have."""

from collections.abc import Iterable

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.occurrence import SearchedText
from onetool.domain.secrets.secret import Secret

from .urls import Url, is_listed, is_loopback


class OutgoingCheck:
    """Refuses to send a secret, or what was made from one, to a host that may not have it.

    Not only secrets that a request names are searched for, but all that the call could use: an earlier
    response, an argument or a redirect may contain one.
    """

    def __init__(
        self, shared: Iterable[Secret], own: Iterable[Secret], credentials: CredentialSet, place: str
    ) -> None:
        """Create a check for one call.

        shared: the secrets of all callers.
        own: those of the caller, which are also not sent unencrypted.
        credentials: has what the call made from secrets, such as tokens.
        place: where the hosts of secrets are written, for messages.
        """
        self._own = tuple(own)
        self._configured, self._credentials, self._place = (*shared, *self._own), credentials, place

    def is_needed(self, url: Url) -> bool:
        """Whether there are secrets that may not be sent to a URL."""
        return bool(self._forbidden(url))

    def check(self, url: Url, text: str, subject: str) -> None:
        """Check what is sent to a URL.

        text: all that is sent.
        subject: what is sent, for the message.

        Raises:
            ExecutionError: It contains a secret that the host may not have.
        """
        searched = SearchedText(text)
        for secret in self._forbidden(url):
            if searched.contains(secret.value):
                raise ExecutionError(Reason.HOST_NOT_ALLOWED, self._message(secret, url, subject))

    def _forbidden(self, url: Url) -> list[Secret]:
        """Return what may not be sent to a URL, unless a secret that may be sent there contains it."""
        forbidden = [secret for secret in self._configured if not self._may_send(secret, url)]
        made = [secret for secret in self._credentials.bound if not _may_have(url.host, secret)]
        if not forbidden and not made:
            return []
        allowed = [secret.value for secret in self._configured if self._may_send(secret, url)]
        return [
            secret for secret in (*forbidden, *made) if not any(secret.value in value for value in allowed)
        ]

    def _may_send(self, secret: Secret, url: Url) -> bool:
        is_readable = url.scheme == "http" and not is_loopback(url.host)
        return _may_have(url.host, secret) and not (is_readable and secret in self._own)

    def _message(self, secret: Secret, url: Url, subject: str) -> str:
        contains = f"{subject} was not sent: it contains secret {secret.name!r}, or what was made from it"
        host = "that host" if SearchedText(url.host).contains(secret.value) else repr(url.host)
        if _may_have(url.host, secret):
            return f"{contains}, which is not sent to {host} over http. The tool must use https."
        hosts = ", ".join(secret.hosts or ()) or "none"
        return (
            f"{contains}, which may not be sent to {host}. Its hosts in {self._place}: {hosts}. "
            "Leave it out of this request."
        )


def _may_have(host: str, secret: Secret) -> bool:
    return secret.hosts is None or is_listed(host, secret.hosts)
