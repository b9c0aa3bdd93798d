"""Access to secrets."""

from collections.abc import Mapping

from onetool.domain.secrets.secret import Secret
from onetool.runtime.active_call import current_call, current_runtime, is_in_call

from .forwarding import in_runtime


@in_runtime
def get_secret(name: str) -> str | None:
    """Return the value of a secret, or None if it is not set. Do not log or return the value.

    In a hosted workspace, a caller's own secret is used in place of the workspace's.
    """
    secrets = current_runtime().state.configuration.secrets
    secret = _own_secrets().get(name) or secrets.get(name)
    if secret is None and is_in_call():
        missing = current_call().invocation.missing_secrets
        if missing is not None:
            missing[name] = secrets.how_to_add(name)
    return secret.value if secret else None


def api_headers(
    secret_name: str, header_name: str = "Authorization", prefix: str = "Bearer"
) -> dict[str, str]:
    """Return a header that authenticates with a secret; an empty dict if it is not set, or empty."""
    value = get_secret(secret_name)
    if not value:
        return {}
    return {header_name: f"{prefix} {value}" if prefix else value}


@in_runtime
def secret_owner() -> str:
    """Return the principal of the call in progress, if it has secrets of its own; otherwise an empty text."""
    return current_call().invocation.caller.principal.id if _own_secrets() else ""


def _own_secrets() -> Mapping[str, Secret]:
    return current_call().invocation.caller.own_secrets if is_in_call() else {}
