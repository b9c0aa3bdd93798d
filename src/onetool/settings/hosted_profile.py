"""What the workspaces of a hosted OneTool cannot do: use the server's own files, programs and keys."""

from collections.abc import Iterator

from onetool.domain.chat.providers import SCRIPTED
from onetool.domain.errors import SettingsError

from .schema import SecretsSettings, Settings

OMITTED_PACKS = frozenset({"db", "file", "fs", "ripgrep", "shell"})
"""Shipped packs that use files, programs or databases of the server."""


def check_hosted(settings: Settings) -> None:
    """Check that settings of a workspace use nothing of the server.

    Raises:
        SettingsError: They do. The message has one line for each setting.
    """
    if problems := list(_problems(settings)):
        raise SettingsError("\n".join(problems))


def _problems(settings: Settings) -> Iterator[str]:
    for name, server in settings.servers.items():
        if server.command:
            yield f"servers.{name}.command: programs do not run here. Use the `url` of a server."
    for name in ("tools_dirs", "topics"):
        if getattr(settings, name):
            yield f"{name}: files of the server cannot be used here."
    if settings.fs.roots is not None:
        yield "fs.roots: files of the server cannot be used here."
    if SCRIPTED in settings.providers and settings.providers[SCRIPTED].model:
        yield f"providers.{SCRIPTED}.model: files of the server cannot be used here."
    if settings.search.model_dir:
        yield "search.model_dir: files of the server cannot be used here."
    yield from _secrets_problems(settings.secrets)


def _secrets_problems(secrets: SecretsSettings) -> Iterator[str]:
    if secrets.backend != "file":
        yield "secrets.backend: secrets of a workspace are stored sealed here. Remove the setting."
    if secrets.command:
        yield "secrets.command: programs do not run here. Remove the setting."
