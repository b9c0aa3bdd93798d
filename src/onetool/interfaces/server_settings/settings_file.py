"""Atomic edits of the user's settings and secrets, one process at a time."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.files.atomic import PRIVATE, make_private_dir, write_atomic
from onetool.files.lock import locked
from onetool.settings.configuration import load_user_settings
from onetool.settings.documents import (
    PROMPTS_FILE,
    SECRETS_FILE,
    SETTINGS_FILE,
    check_prompts,
    check_settings,
)
from onetool.settings.key_store import KeyStore
from onetool.settings.paths import Paths
from onetool.settings.secrets import check_name, check_variable
from onetool.settings.trust import load_trust, project_files, save_trust
from onetool.settings.yaml_editor import Kept, SecretHosts, remove_secret, set_secret

TIMEOUT_S = 10.0
"""Seconds to wait for another process."""
Secrets = Mapping[str, str | None]
Change = Callable[[Path, str], str]


class SecretsElsewhere(SettingsError):
    """OneTool reads secrets from a program, and does not store them."""


def edit_settings(
    paths: Paths, change: Change, secrets: Secrets | None = None, *, in_project: bool = False
) -> None:
    """Change the settings and set the secrets that they refer to.

    Writes nothing unless a start would accept the new settings. Signals running processes to reload. It
    blocks.

    in_project: whether to change the settings of the project, which then stay trusted.

    Raises:
        SettingsError: The change cannot be made, or the new settings are invalid.
        TimeoutError: Another process holds the lock.
    """
    file = _project_file(paths) if in_project else _resolve(paths, SETTINGS_FILE)
    with _exclusive(paths), _reporting_write(file):
        trusted = _trusted_files(paths, file) if in_project else []
        text = _read(file)
        new = change(file, text).encode()
        check_settings(paths, file, new)
        if secrets:
            _write_secrets(paths, secrets)
        mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else PRIVATE
        if not mode & stat.S_IWUSR:
            raise SettingsError(f"{file}: the file is read-only. To change it, run: chmod u+w {file}")
        if _read(file) != text:  # by an editor, which does not use the lock
            raise SettingsError(f"{file}: another program has changed the file just now. Try again.")
        if in_project and paths.project:
            save_trust(paths.state, paths.project, [*trusted, (file, new)])
        write_atomic(file, new, mode=mode)
    write_atomic(paths.reload_file, b"")


def edit_prompts(paths: Paths, change: Change) -> None:
    """Change the texts that models read. Writes nothing unless the new texts are valid. It blocks.

    Raises:
        SettingsError: The change cannot be made, or the new texts are invalid.
        TimeoutError: Another process holds the lock.
    """
    file = _resolve(paths, PROMPTS_FILE)
    with _exclusive(paths):
        new = change(file, _read(file))
        check_prompts(file, new.encode())
        write_atomic(file, new.encode(), mode=file.stat().st_mode & 0o777 if file.exists() else PRIVATE)
    write_atomic(paths.reload_file, b"")


def edit_secrets(paths: Paths, values: Secrets, hosts: SecretHosts = Kept.HOSTS) -> None:
    """Set secrets. The value None removes a secret. It blocks.

    hosts: the hosts that they may be sent to. An empty list: none.

    Raises:
        SettingsError: The file cannot be edited, or the key store cannot be used.
        TimeoutError: Another process holds the lock.
    """
    with _exclusive(paths), _reporting_write(paths.config / SECRETS_FILE):
        _write_secrets(paths, values, hosts)
    write_atomic(paths.reload_file, b"")


def secrets_place(paths: Paths, name: str) -> str:
    """Return where the values of secrets are stored.

    Raises:
        SecretsElsewhere: The user chose a command that prints them, so another tool stores them.
        SettingsError: The settings are invalid.
    """
    settings = load_user_settings(paths).secrets
    file = paths.config / SECRETS_FILE
    if settings.backend == "command":
        raise SecretsElsewhere(
            f"The values of secrets are in the tool that secrets.command runs ({settings.command[0]!r}). "
            f"Store the value there, and add the line `{name}:` to {file}."
        )
    return "the key store" if settings.backend == "keyring" else str(file)


def set_default_provider(paths: Paths, provider: str) -> None:
    """Set the default provider of chat models. It blocks."""
    write_atomic(paths.provider_file, provider.encode())
    write_atomic(paths.reload_file, b"")


def _write_secrets(paths: Paths, values: Secrets, hosts: SecretHosts = Kept.HOSTS) -> None:
    """Write values to the file, or to the key store if the settings say so: then the file has only names."""
    file = _resolve(paths, SECRETS_FILE)
    text = _read(file)
    settings = load_user_settings(paths).secrets
    store = KeyStore(settings.timeout_s) if settings.backend == "keyring" else None
    for name, value in values.items():
        if value is None:
            text = remove_secret(file, text, name)
            continue
        if store:
            check_name(name)
        else:
            check_variable(name, value, os.environ)
        text = set_secret(file, text, name, None if store else value, hosts)
    for name, value in values.items():  # before the file: a process that reads a name finds its value
        if store and value is not None:
            store.write(name, value)
    write_atomic(file, text.encode())
    for name, value in values.items():
        if store and value is None:
            store.delete(name)


def _project_file(paths: Paths) -> Path:
    if paths.project is None:
        raise SettingsError(f"{paths.cwd} is not in a project. Create one with: mkdir .onetool")
    file = paths.project / SETTINGS_FILE
    if file.is_symlink():
        raise SettingsError(f"{file}: a link, which may lead out of the project. Edit the file manually.")
    return file


def _trusted_files(paths: Paths, file: Path) -> list[tuple[Path, bytes]]:
    """Return the other trusted files of the project with their contents."""
    if paths.project is None:
        return []
    trust = load_trust(paths.state, paths.project)
    contents = [(path, trust.read(path)) for path in project_files(paths.project)]
    if file.exists() and not any(path == file and content is not None for path, content in contents):
        raise SettingsError(f"{file}: you do not trust this file. Review it first: onetool trust")
    return [(path, content) for path, content in contents if content is not None and path != file]


@contextmanager
def _reporting_write(file: Path) -> Iterator[None]:
    try:
        yield
    except StoreUnavailable:
        raise
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise
        raise SettingsError(f"{file}: cannot be written: {error.strerror or error}.") from None


def _resolve(paths: Paths, name: str) -> Path:
    return (paths.config / name).resolve()  # an atomic write would replace a symlink


def _read(file: Path) -> str:
    """Return the text of a file with its original line endings, or an empty text if there is none."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}:1: not UTF-8 text (byte {error.start}).") from None


@contextmanager
def _exclusive(paths: Paths) -> Iterator[None]:
    """Lock out other processes that edit the same files."""
    lock = paths.state / "settings.lock"
    make_private_dir(lock.parent)
    with ExitStack() as stack:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, PRIVATE)
        stack.callback(os.close, descriptor)
        try:
            stack.enter_context(locked(descriptor, TIMEOUT_S))
        except TimeoutError:
            raise TimeoutError(
                f"Another command has locked the settings for {TIMEOUT_S:g} s ({lock}). Try again later"
            ) from None
        yield
