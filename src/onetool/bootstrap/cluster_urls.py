"""The addresses of the clusters of a hosted OneTool, from the environment."""

import re
from collections.abc import Mapping

from onetool.domain.errors import SettingsError
from onetool.storage.postgres.clusters import HOME

NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
VARIABLE = re.compile(r"ONETOOL_CLUSTER_([A-Z][A-Z0-9_]*)_URL")


def cluster_urls(environment: Mapping[str, str], *, is_owner: bool = False) -> dict[str, str]:
    """Return the URLs of the clusters other than `home`, by name.

    is_owner: use the URL of the role that owns the tables, where there is one.

    Raises:
        SettingsError: A name is invalid.
    """
    urls = {}
    for variable, value in environment.items():
        match = VARIABLE.fullmatch(variable)
        if match is None or not value.strip():
            continue
        name = match[1].lower()
        if name.endswith("_owner"):  # the owner's URL of another one
            continue
        if name == HOME or NAME.fullmatch(name) is None:
            raise SettingsError(f"{variable}: {name!r} is no name of a cluster. Use letters and digits.")
        owner = environment.get(f"ONETOOL_CLUSTER_{match[1]}_OWNER_URL", "").strip()
        urls[name] = (owner if is_owner else "") or value.strip()
    return urls
