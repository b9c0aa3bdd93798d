"""The format of the user's directories: which version of OneTool wrote them, and the migration of older ones.

data/format.json, state/format.json     {"format": 1, "writtenBy": "0.1.0"}

A directory without this file has format 0. Each migration can be repeated, and the file is written after the
last one, so a process that dies in between leaves a directory that the next one migrates.
"""

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

import orjson

from onetool.domain.errors import StoreUnavailable
from onetool.files.atomic import PRIVATE, make_private_dir, write_atomic
from onetool.files.lock import locked
from onetool.version import __version__

log = logging.getLogger(__name__)
FILE = "format.json"


def prepare_directories(data: Path, state: Path) -> None:
    """Migrate the directories of the user to the current format, or create them.

    Raises:
        StoreUnavailable: A newer version of OneTool wrote a directory, or it cannot be migrated.
    """
    for folder, migrations in ((data, DATA_MIGRATIONS), (state, STATE_MIGRATIONS)):
        number, writer = _read_format(folder)
        if number > CURRENT:
            raise StoreUnavailable(
                f"{folder} has format {number}, written by OneTool {writer}. This is OneTool {__version__}, "
                f"which reads formats up to {CURRENT}. Install OneTool {writer} or newer."
            )
        if number < CURRENT:
            _migrate(folder, migrations)


def _migrate(folder: Path, migrations: Sequence[Callable[[Path], None]]) -> None:
    try:
        make_private_dir(folder)
        descriptor = os.open(folder / ".format.lock", os.O_RDWR | os.O_CREAT, PRIVATE)
    except OSError as error:
        log.warning("cannot write to %s: %s", folder, error)
        if folder.is_dir():
            _run(folder, migrations)  # fails if there is something to migrate and it cannot be written
        return
    try:
        with locked(descriptor):
            number, _ = _read_format(folder)  # another process may have migrated it meanwhile
            _run(folder, migrations[number:])
            _write_format(folder)
    finally:
        os.close(descriptor)


def _write_format(folder: Path) -> None:
    content = {"format": CURRENT, "writtenBy": __version__}
    try:
        write_atomic(folder / FILE, orjson.dumps(content, option=orjson.OPT_INDENT_2))
    except OSError as error:  # a full disk: the next start repeats the migrations
        log.warning("cannot write to %s: %s", folder, error)


def _run(folder: Path, migrations: Sequence[Callable[[Path], None]]) -> None:
    try:
        for migrate in migrations:
            migrate(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreUnavailable(f"Cannot migrate {folder} to format {CURRENT}: {error}") from error


def _read_format(folder: Path) -> tuple[int, str]:
    """Return the format of a directory and the version that wrote it."""
    file = folder / FILE
    try:
        content = orjson.loads(file.read_bytes())
        return int(content["format"]), str(content["writtenBy"])
    except (FileNotFoundError, NotADirectoryError):
        return 0, ""
    except (ValueError, TypeError, KeyError) as error:
        message = f"{file} is corrupt ({error}). If OneTool {__version__} wrote it, delete the file."
        raise StoreUnavailable(message) from None


def _rename_files_of_bundles(data: Path) -> None:
    """Rename the files that had other names before format 1. The index is built again from the bundles."""
    bundles = data / "bundles"
    _convert_switches(bundles / "switches.json", bundles / "toggles.json")
    _rename(bundles / ".unfinished", bundles / ".pending")
    for claims in bundles.glob("*/.pairs"):
        _rename(claims, claims.with_name(".claims"))
    for name in (".moves", "index.sqlite3", "index.sqlite3-wal", "index.sqlite3-shm"):
        (bundles / name).unlink(missing_ok=True)


def _convert_switches(old: Path, new: Path) -> None:
    with suppress(FileNotFoundError):
        if not new.exists():
            toggles = orjson.loads(old.read_bytes())["switches"]
            write_atomic(
                new, orjson.dumps({"schemaVersion": 1, "toggles": toggles}, option=orjson.OPT_INDENT_2)
            )
        old.unlink()


def _rename_key_of_manifests(state: Path) -> None:
    """Rename `replaced` to `previous`. A manifest that cannot be read would lose its pins."""
    for file in (state / "servers").glob("*.json"):
        with suppress(ValueError):  # a corrupt file is moved when it is read
            manifest = orjson.loads(file.read_bytes())
            if isinstance(manifest, dict) and "replaced" in manifest:
                manifest["previous"] = manifest.pop("replaced")
                write_atomic(file, orjson.dumps(manifest))


def _rename(old: Path, new: Path) -> None:
    if new.exists():
        rmtree(old, ignore_errors=True)
        return
    with suppress(FileNotFoundError):
        old.rename(new)


DATA_MIGRATIONS: Sequence[Callable[[Path], None]] = (_rename_files_of_bundles,)
STATE_MIGRATIONS: Sequence[Callable[[Path], None]] = (_rename_key_of_manifests,)
"""The migration to format n + 1 is at index n. Both directories have the same format."""
CURRENT = len(DATA_MIGRATIONS)
