"""Atomic edits of the user's settings and secrets, one process at a time."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from onetool.domain.errors import SettingsError
from onetool.files.atomic import PRIVATE, make_private_dir, write_atomic
from onetool.files.lock import locked
from onetool.settings.configuration import SECRETS_FILE, SETTINGS_FILE, check_settings, load_user_settings
from onetool.settings.key_store import KeyStore
from onetool.settings.paths import Paths
from onetool.settings.secrets import check_name
from onetool.settings.yaml_editor import remove_secret, set_secret

TIMEOUT_S = 10.0
"""Seconds to wait for another process."""
Secrets = Mapping[str, str | None]
Change = Callable[[Path, str], str]


def edit_settings(paths: Paths, change: Change, secrets: Secrets | None = None) -> None:
    """Change the settings and set the secrets that they refer to.

    Writes nothing unless the new settings are valid. Signals running processes to reload. It blocks.

    Raises:
        SettingsError: The change cannot be made, or the new settings are invalid.
        TimeoutError: Another process holds the lock.
    """
    file = _resolve(paths, SETTINGS_FILE)
    with _exclusive(paths):
        new = change(file, _read(file))
        check_settings(file, new.encode())
        if secrets:
            _write_secrets(paths, secrets)
        write_atomic(file, new.encode(), mode=file.stat().st_mode & 0o777 if file.exists() else PRIVATE)
    write_atomic(paths.reload_file, b"")


def edit_secrets(paths: Paths, values: Secrets, hosts: Sequence[str] = ()) -> None:
    """Set secrets. The value None removes a secret. It blocks.

    hosts: the hosts that they may be sent to. If there are none, those in the file stay.

    Raises:
        SettingsError: The file cannot be edited, or the key store cannot be used.
        TimeoutError: Another process holds the lock.
    """
    with _exclusive(paths):
        _write_secrets(paths, values, hosts)
    write_atomic(paths.reload_file, b"")


def _write_secrets(paths: Paths, values: Secrets, hosts: Sequence[str] = ()) -> None:
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
        text = set_secret(file, text, name, None if store else value, hosts)
    for name, value in values.items():  # before the file: a process that reads a name finds its value
        if store and value is not None:
            store.write(name, value)
    write_atomic(file, text.encode())
    for name, value in values.items():
        if store and value is None:
            store.delete(name)


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
