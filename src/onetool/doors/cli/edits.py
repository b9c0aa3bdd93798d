"""Changes that commands make to the user's own files: whole or not at all, one command at a time."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from onetool.files.atomic import PRIVATE, write_atomic
from onetool.files.lock import locked
from onetool.settings.configuration import SECRETS_FILE, SETTINGS_FILE, check_settings
from onetool.settings.editing import set_secret

from .session import find, settings_errors


def edit_settings(change: Callable[[Path, str], str]) -> None:
    """Change the settings, if what comes out of it can be used; running processes follow."""
    places = find()
    file = (places.config / SETTINGS_FILE).resolve()  # a link to it stays one
    with settings_errors(), _alone():
        new = change(file, _text(file))
        check_settings(file, new.encode())
        write_atomic(file, new.encode(), mode=file.stat().st_mode & 0o777 if file.exists() else PRIVATE)
    write_atomic(places.reload_file, b"")


def edit_secrets(values: Mapping[str, str | None]) -> None:
    """Set secrets, or remove those whose value is None."""
    if not values:
        return
    places = find()
    file = (places.config / SECRETS_FILE).resolve()
    with settings_errors(), _alone():
        text = _text(file)
        for name, value in values.items():
            text = set_secret(file, text, name, value)
        write_atomic(file, text.encode())
    write_atomic(places.reload_file, b"")


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


@contextmanager
def _alone() -> Iterator[None]:
    """Hold off other commands that edit the same files."""
    lock = find().state / "settings.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, PRIVATE)
    try:
        with locked(descriptor):
            yield
    finally:
        os.close(descriptor)
