"""Secrets in the environment, the headers and the fixed arguments of a server."""

from collections.abc import Iterable, Mapping
from typing import Any

from onetool.domain.http.placeholders import (
    InvalidValue,
    MalformedTemplate,
    fill_header,
    fill_text,
    fill_value,
    placeholder_names,
)
from onetool.domain.http.urls import is_listed
from onetool.settings.secrets import Secrets
from onetool.sources.mcp_servers.errors import ServerUnavailable, as_fragment


def resolve_env(values: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """Return environment variables with every `${NAME}` replaced by the secret.

    Raises:
        ServerUnavailable: A secret is missing or a placeholder is malformed.
    """
    _secret_names(values, secrets)
    return {key: fill_text(value, lambda name: secrets[name].value) for key, value in values.items()}


def resolve_headers(values: Mapping[str, str], secrets: Secrets, host: str) -> dict[str, str]:
    """Return headers with every `${NAME}` replaced by the secret.

    Raises:
        ServerUnavailable: A secret is missing, not allowed for the host, or not valid in a header.
    """
    _check_hosts(_secret_names(values, secrets), secrets, host)
    try:
        filled = {key: fill_header(value, lambda name: secrets[name].value) for key, value in values.items()}
    except InvalidValue as error:
        raise ServerUnavailable(f"invalid header: {error}") from None
    return {key: value or "" for key, value in filled.items()}


def resolve_fixed(values: Mapping[str, Any], secrets: Secrets, host: str | None) -> dict[str, Any]:
    """Return fixed arguments with every `${NAME}` replaced by the secret. `host`: of a server with a URL.

    Raises:
        ServerUnavailable: A secret is missing or not allowed for the host, or a placeholder is malformed.
    """
    names = _secret_names(values, secrets)
    if host is not None:
        _check_hosts(names, secrets, host)
    return {key: fill_value(value, lambda name: secrets[name].value) for key, value in values.items()}


def _check_hosts(names: Iterable[str], secrets: Secrets, host: str) -> None:
    for name in names:
        hosts = secrets[name].hosts
        if hosts is not None and not is_listed(host, hosts):
            hint = "add the host to the secret's hosts"
            raise ServerUnavailable(f"secret {name!r} may not be sent to {host!r}; {hint}")


def _secret_names(values: Mapping[str, Any], secrets: Secrets) -> list[str]:
    try:
        names = list(placeholder_names(list(values.values())))
    except MalformedTemplate as error:
        raise ServerUnavailable(f"invalid placeholder: {as_fragment(error)}") from None
    missing = [name for name in names if name not in secrets]
    if missing and missing[0] in secrets.unavailable:
        reason = secrets.unavailable[missing[0]]
        raise ServerUnavailable(f"secret {missing[0]!r} is unavailable: {reason}")
    if missing:
        raise ServerUnavailable(f"secret {missing[0]!r} is missing; add it {secrets.how_to_add(missing[0])}")
    return names
