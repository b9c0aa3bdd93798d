"""Progress and log messages of a call, redacted before an interface shows them."""

from onetool.domain.calls.caller import LogEntry, LogHandler, ProgressHandler
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.streams import MessageRedactor


class RedactedProgress:
    """Forwards progress with secrets masked. A tool or a server may split a secret over several messages."""

    def __init__(self, forward: ProgressHandler, credentials: CredentialSet) -> None:
        self._forward, self._messages = forward, MessageRedactor(credentials)

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Forward progress."""
        self._forward(done, total, self._messages.redact(str(message)))


class RedactedLog:
    """Forwards what a server logs with secrets masked."""

    def __init__(self, forward: LogHandler, credentials: CredentialSet) -> None:
        self._forward, self._credentials = forward, credentials

    def __call__(self, entry: LogEntry) -> None:
        """Forward a message."""
        data, logger = self._credentials.mask(entry.data), self._credentials.redact(entry.logger)
        self._forward(entry._replace(data=data, logger=logger))
