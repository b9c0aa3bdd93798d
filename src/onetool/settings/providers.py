"""Chat models as they are set up: which model answers, and where its key comes from."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from onetool.domain.providers import PROVIDERS, SCRIPTED, Known

from .configuration import Configuration

Place = Literal["secrets.yaml", "environment", "missing", "not needed"]


class SetUp(NamedTuple):
    """A provider as it is set up."""

    name: str
    model: str
    place: Place
    """Where its key is."""
    key: str
    """What the key is called there; nothing where there is none."""


def set_up(configuration: Configuration, env: Mapping[str, str]) -> list[SetUp]:
    """Describe the providers of the settings, those that OneTool knows, and the scripted one."""
    names = dict.fromkeys([*configuration.settings.providers, *PROVIDERS, SCRIPTED])
    return [_describe(configuration, env, name) for name in names]


def _describe(configuration: Configuration, env: Mapping[str, str], name: str) -> SetUp:
    written = configuration.settings.providers.get(name)
    known = PROVIDERS.get(name, Known(base_url="", model="a script" if name == SCRIPTED else ""))
    keys = (written.key,) if written and written.key else known.keys
    model = (written and written.model) or known.model
    for key in keys:
        if key in configuration.secrets:
            return SetUp(name, model, "secrets.yaml", key)
    for key in () if written and written.key else keys:  # what the settings name is a secret
        if env.get(key):
            return SetUp(name, model, "environment", key)
    return SetUp(name, model, "missing" if keys else "not needed", "")
