"""Fills in the secrets that a server was given by name, and no others."""

from collections.abc import Mapping

from onetool.domain.hosts import is_listed
from onetool.domain.placeholders import BadValue, Malformed, fill_header, fill_text, names_in
from onetool.settings.secrets import Secrets

from .failure import Down


def fill_environment(values: Mapping[str, str], secrets: Secrets) -> dict[str, str]:
    """Return variables with every `${NAME}` filled in.

    Raises Down naming a secret that is missing.
    """
    _check(values, secrets)
    return {key: fill_text(value, lambda name: secrets[name].value) for key, value in values.items()}


def fill_headers(values: Mapping[str, str], secrets: Secrets, host: str) -> dict[str, str]:
    """Return headers with every `${NAME}` filled in.

    Raises Down naming a secret that is missing, or that may not be sent to this host.
    """
    for name in _check(values, secrets):
        hosts = secrets[name].hosts
        if hosts is not None and not is_listed(host, hosts):
            raise Down(f"the secret {name!r} may not be sent to {host!r}. Add it to the secret's hosts.")
    try:
        filled = {key: fill_header(value, lambda name: secrets[name].value) for key, value in values.items()}
    except BadValue as error:
        raise Down(f"a header cannot be sent: {error}") from None
    return {key: value or "" for key, value in filled.items()}


def _check(values: Mapping[str, str], secrets: Secrets) -> list[str]:
    try:
        names = list(names_in(list(values.values())))
    except Malformed as error:
        raise Down(f"{error}. Write ${{NAME}} for a secret.") from None
    missing = [name for name in names if name not in secrets]
    if missing:
        raise Down(f"there is no secret {missing[0]!r}. Add it to secrets.yaml.")
    return names
