"""Values of the placeholders of one call: arguments, secrets and earlier responses."""

from collections.abc import Mapping, Sequence
from typing import Any

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.http.placeholders import InvalidValue, Lookup, placeholder_names
from onetool.domain.http.templates import is_argument, is_step
from onetool.domain.http.urls import Url, is_listed, is_loopback
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.secret import Secret
from onetool.settings.secrets import Secrets

MASKED = "_secret_"
"""Replaces secrets in the paths of messages. It needs no percent-encoding."""


class PlaceholderValues:
    """Resolves the placeholders of one call and collects the credentials that it uses."""

    def __init__(
        self,
        args: Mapping[str, Any],
        arg_schema: Mapping[str, Any],
        secrets: Secrets,
        credentials: CredentialSet,
        own_secrets: Mapping[str, Secret] | None = None,
    ) -> None:
        """own_secrets: those of the caller, used in place of others with the same names."""
        self._args, self._arg_schema, self._secrets = args, arg_schema, secrets
        self._own_secrets = own_secrets or {}
        self._unencrypted = set[str]()
        """Hosts to which requests are sent by HTTP without encryption."""
        self._credentials = credentials
        self.steps: list[Any] = []
        """The values of the responses so far."""

    def note_destination(self, url: Url) -> None:
        """Note where values will be sent: not without encryption if they are secrets of the caller."""
        if url.scheme == "http" and not is_loopback(url.host):
            self._unencrypted.add(url.host)

    def lookup_for(self, host: str) -> Lookup:
        """Return a lookup for values that are sent to this host.

        It raises ExecutionError for a secret that is missing or not allowed for the host.
        """

        def lookup(name: str) -> Any:
            return self._lookup_plain(name) if self._is_plain(name) else self._lookup_secret(name, host)

        return lookup

    def check_own(self, templates: Sequence[str], host: str) -> None:
        """Check that what is made from templates may be sent to a host, as far as the caller's secrets go.

        Raises:
            ExecutionError: A secret of the caller is not for this host.
        """
        for name in placeholder_names(list(templates)):
            if name in self._own_secrets and self.is_secret(name):
                self._lookup_secret(name, host)

    def lookup_masked(self, name: str) -> Any:
        """Look up a name for a message: secrets are masked."""
        return self._lookup_plain(name) if self._is_plain(name) else MASKED

    def is_secret(self, name: str) -> bool:
        """Return whether a name refers to a secret."""
        return not self._is_plain(name)

    def hide(self, *values: str) -> None:
        """Add values to redact: tokens and values derived from secrets."""
        self._credentials.add(*values)

    def hide_made(self, value: str, templates: Sequence[str], host: str) -> None:
        """Add a value to redact that was made from templates for a host, as a token or a signature is.

        If they contain secrets, it may be sent to the hosts of those, and to this one.
        """
        self.hide(value)
        for name in placeholder_names(list(templates)):
            secret = self._secret(name) if self.is_secret(name) else None
            if secret is not None and secret.hosts is not None:
                self._credentials.bind(Secret(name=name, value=value, hosts=(*secret.hosts, host)))

    def redact(self, text: str) -> str:
        """Mask all secrets that this call used."""
        return self._credentials.redact(text)

    def to_execution_error(self, error: InvalidValue) -> ExecutionError:
        """Return the error of a call with a placeholder that cannot be filled."""
        if is_step(error.name):
            return ExecutionError(Reason.UPSTREAM, f"Cannot use a value from an earlier response: {error}.")
        if self.is_secret(error.name):
            return ExecutionError(Reason.RAISED, f"Secret {error}. Fix it in {self._secrets.place}.")
        return ExecutionError(Reason.BAD_ARGS, f"Argument {error}. The request was not sent.")

    def _is_plain(self, name: str) -> bool:
        return is_step(name) or is_argument(name, self._arg_schema)

    def _lookup_plain(self, name: str) -> Any:
        if is_step(name):
            return self._lookup_step(name)
        if name in (self._arg_schema.get("properties") or {}):
            return self._args.get(name)
        return _get_path(self._args, name.split("."))

    def _lookup_step(self, name: str) -> Any:
        value = _get_path(self.steps, name.split(".")[1:])
        if value is None:
            message = f"No earlier response contains ${{{name}}}, which the next request needs."
            raise ExecutionError(Reason.UPSTREAM, message)
        return value

    def _lookup_secret(self, name: str, host: str) -> str:
        secret = self._secret(name)
        if secret is None and (reason := self._secrets.unavailable.get(name)):
            raise ExecutionError(Reason.RAISED, f"Secret {name!r} is unavailable: {reason}.")
        if secret is None:
            hint = f"Add it {self._secrets.how_to_add(name)}. If it is an argument, declare it in argSchema."
            raise ExecutionError(Reason.RAISED, f"Secret {name!r} is missing. {hint}")
        if secret.hosts is not None and not is_listed(host, secret.hosts):
            hosts = ", ".join(secret.hosts) or "none"
            raise ExecutionError(
                Reason.HOST_NOT_ALLOWED,
                f"Secret {name!r} may not be sent to {host!r}. Its hosts in {self._secrets.place}: {hosts}.",
            )
        if name in self._own_secrets and host in self._unencrypted:
            message = f"Your secret {name!r} is not sent to {host!r} over http. The tool must use https."
            raise ExecutionError(Reason.HOST_NOT_ALLOWED, message)
        self.hide(secret.value)
        return secret.value

    def _secret(self, name: str) -> Secret | None:
        return self._own_secrets.get(name) or self._secrets.get(name)


def _get_path(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
