"""What the placeholders of one call stand for: arguments, secrets, and answers that came already."""

from collections.abc import Mapping, Sequence
from typing import Any

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.hosts import is_listed
from onetool.domain.placeholders import BadValue, Lookup
from onetool.domain.redaction import Redactor
from onetool.domain.templates import is_argument, is_step
from onetool.settings.secrets import Secret

MASKED = "_secret_"
"""Stands for a secret in the path that a message shows; it needs no encoding there."""


class Values:
    """Looks names up for one call, and knows afterwards what no message may repeat."""

    def __init__(
        self, args: Mapping[str, Any], arg_schema: Mapping[str, Any], secrets: Mapping[str, Secret]
    ) -> None:
        self._args, self._arg_schema, self._secrets = args, arg_schema, secrets
        self._hidden: set[str] = set()
        self.steps: list[Any] = []

    def at(self, host: str) -> Lookup:
        """Look names up for what is sent to this host.

        Raises ExecutionError for a secret that is missing or may not go there.
        """

        def lookup(name: str) -> Any:
            return self._plain(name) if self._is_plain(name) else self._secret(name, host)

        return lookup

    def masked(self, name: str) -> Any:
        """Look a name up for what a message shows."""
        return self._plain(name) if self._is_plain(name) else MASKED

    def is_secret(self, name: str) -> bool:
        """Whether a name stands for a secret."""
        return not self._is_plain(name)

    def hide(self, *values: str) -> None:
        """Keep these out of every message too: tokens, and what was made of secrets."""
        self._hidden.update(values)

    def redact(self, text: str) -> str:
        """Mask in a text all that this call has used of secrets."""
        return Redactor(self._hidden).redact(text)

    def refusal(self, error: BadValue) -> ExecutionError:
        """What a call is answered whose placeholders cannot be filled in."""
        if is_step(error.name):
            return ExecutionError(Reason.UPSTREAM, f"The answer ${{{error.name}}} cannot be used: {error}.")
        if self.is_secret(error.name):
            return ExecutionError(Reason.RAISED, f"Secret {error}. Correct it in secrets.yaml.")
        return ExecutionError(Reason.BAD_ARGS, f"Argument {error}. The request was not sent.")

    def _is_plain(self, name: str) -> bool:
        return is_step(name) or is_argument(name, self._arg_schema)

    def _plain(self, name: str) -> Any:
        if is_step(name):
            return self._step(name)
        if name in (self._arg_schema.get("properties") or {}):
            return self._args.get(name)
        return _dig(self._args, name.split("."))

    def _step(self, name: str) -> Any:
        found = _dig(self.steps, name.split(".")[1:])
        if found is None:
            raise ExecutionError(
                Reason.UPSTREAM, f"No answer holds ${{{name}}}, which the next request needs."
            )
        return found

    def _secret(self, name: str, host: str) -> str:
        secret = self._secrets.get(name)
        if secret is None:
            right = f"Add it to secrets.yaml as {name}: <value>, or declare the argument in argSchema."
            raise ExecutionError(Reason.RAISED, f"Secret {name!r} is missing. {right}")
        if secret.hosts is not None and not is_listed(host, secret.hosts):
            listed = ", ".join(secret.hosts) or "none"
            raise ExecutionError(
                Reason.HOST_NOT_ALLOWED,
                f"Secret {name!r} may not be sent to {host!r}. Its hosts in secrets.yaml: {listed}.",
            )
        self.hide(secret.value)
        return secret.value


def _dig(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
