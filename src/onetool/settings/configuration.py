"""Read what the operator wrote: the user's files, and the project's as far as it is trusted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetool.domain.errors import SettingsError

from .check import check
from .document import Document, KeyPath
from .places import Places
from .schema import Settings
from .secrets import Secrets, load_secrets
from .trust import Trust, load_trust

SETTINGS_FILE = "onetool.yaml"
SECRETS_FILE = "secrets.yaml"
PACKS_DIR = "tools"
READABLE = "Settings are a map: execution:, aliases:, tools: and so on."

Read = Callable[[Path], bytes | None]


@dataclass(frozen=True, slots=True)
class PackDir:
    """A directory of pack files, and how their content is read: trust may hold one back."""

    path: Path
    read: Read


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as written in a settings file, and where it stands."""

    place: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Everything read from disk, at one moment."""

    places: Places
    settings: Settings = field(default_factory=Settings)
    secrets: Secrets = field(default_factory=Secrets)
    definitions: tuple[Definition, ...] = ()
    pack_dirs: tuple[PackDir, ...] = ()
    roots: tuple[Path, ...] = ()
    held_back: tuple[str, ...] = ()
    """Files of the project that wait for `onetool trust`."""


def load_configuration(places: Places, env: Mapping[str, str]) -> Configuration:
    """Read all files, the project's over the user's: maps merge by key, lists replace.

    Raises SettingsError that names file, line, key and what would be right.
    """
    trust = _trust(places)
    documents = _documents(places, trust)
    merged: dict[str, Any] = {}
    for document in documents:
        merged = _merge(merged, document.value)
    settings = checked(merged, lambda path: documents[-1].place(path) if documents else "settings")
    pack_dirs = _pack_dirs(places, trust, documents)
    if trust is not None:
        for path in pack_dirs[-1].path.glob("*.py"):
            trust.read(path)
    return Configuration(
        places=places,
        settings=settings,
        secrets=load_secrets(places.config / SECRETS_FILE, env),
        definitions=_definitions(documents),
        pack_dirs=pack_dirs,
        roots=_roots(settings, places),
        held_back=tuple(trust.held_back) if trust else (),
    )


def load_definitions(places: Places) -> tuple[Definition, ...]:
    """Read only the tool definitions again.

    Raises SettingsError as `load_configuration` does.
    """
    return _definitions(_documents(places, _trust(places)))


def checked(value: Mapping[str, Any], place: Callable[[KeyPath], str]) -> Settings:
    """Return the settings that a map says; `place` tells where a key stands.

    Raises SettingsError with one line for each mistake.
    """
    settings, problems = check(Settings, value)
    if settings is None:
        raise SettingsError("\n".join(f"{place(path)}: {message}" for path, message in problems))
    return settings


def settings_files(places: Places) -> tuple[Path, ...]:
    """The settings files in the order in which they are merged."""
    folders = [places.config, *([places.project] if places.project else [])]
    return tuple(folder / SETTINGS_FILE for folder in folders)


def _trust(places: Places) -> Trust | None:
    return load_trust(places.state, places.project) if places.project else None


def _documents(places: Places, trust: Trust | None) -> list[Document]:
    readers: list[Read] = [_read_own, *([trust.read] if trust else [])]
    contents = ((file, read(file)) for file, read in zip(settings_files(places), readers, strict=True))
    return [_check(file, content, places) for file, content in contents if content is not None]


def _read_own(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from None


def _check(file: Path, content: bytes, places: Places) -> Document:
    """Parse and validate one file by itself, so that an error names its line."""
    from .yaml_file import parse_yaml

    document = parse_yaml(file, content)
    if document.value is None:
        return Document(file, {}, {})
    if not isinstance(document.value, dict):
        raise SettingsError(f"{file}:1: holds {type(document.value).__name__}, not settings. {READABLE}")
    checked(document.value, document.place)
    _anchor_paths(document, places)
    return document


def _anchor_paths(document: Document, places: Places) -> None:
    """Make relative paths absolute: they start where the file's own directory, or project, lies."""
    is_project = document.file.parent == places.project
    base = document.file.parent.parent if is_project else document.file.parent

    def absolute(key: KeyPath, paths: Sequence[str]) -> list[str]:
        try:
            return [str((base / Path(path).expanduser()).resolve()) for path in paths]
        except (OSError, RuntimeError, ValueError) as error:
            raise SettingsError(f"{document.place(key)}: {'.'.join(key)}: not a path: {error}") from None

    value = document.value
    if value.get("fs", {}).get("roots") is not None:
        value["fs"]["roots"] = absolute(("fs", "roots"), value["fs"]["roots"])
    if value.get("tools_dirs"):
        value["tools_dirs"] = absolute(("tools_dirs",), value["tools_dirs"])
        if is_project:
            raise SettingsError(
                f"{document.place(('tools_dirs',))}: tools_dirs cannot be set by a project. "
                f"Put its pack files in {document.file.parent / PACKS_DIR}, where trust covers them."
            )


def _merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged


def _definitions(documents: Sequence[Document]) -> tuple[Definition, ...]:
    for document in reversed(documents):
        if "tools" in document.value:
            listed = enumerate(document.value["tools"])
            return tuple(Definition(document.place(("tools", index)), value) for index, value in listed)
    return ()


def _pack_dirs(places: Places, trust: Trust | None, documents: Sequence[Document]) -> tuple[PackDir, ...]:
    own = [places.config / PACKS_DIR]
    own += [Path(path) for document in documents for path in document.value.get("tools_dirs", ())]
    dirs = [PackDir(path, _read_own) for path in own]
    if trust is not None:
        dirs.append(PackDir(trust.project / PACKS_DIR, trust.read))
    return tuple(dirs)


def _roots(settings: Settings, places: Places) -> tuple[Path, ...]:
    if settings.fs.roots is not None:
        return tuple(Path(root).resolve() for root in settings.fs.roots)
    cwd = places.cwd.resolve()
    too_wide = cwd == Path(cwd.anchor) or cwd == Path.home().resolve()
    return () if too_wide else (cwd,)
