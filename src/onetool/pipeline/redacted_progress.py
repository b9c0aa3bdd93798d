"""Progress messages of a call, redacted before an interface shows them."""

from onetool.domain.calls.caller import ProgressHandler
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.streams import MessageRedactor


class RedactedProgress:
    """Forwards progress with secrets masked. A tool or a server may split a secret over several messages."""

    def __init__(self, forward: ProgressHandler, credentials: CredentialSet) -> None:
        self._forward, self._messages = forward, MessageRedactor(credentials)

    def __call__(self, done: float, total: float | None, message: str) -> None:
        """Forward progress."""
        self._forward(done, total, self._messages.redact(str(message)))
