"""Read what the operator wrote: the user's files, and the project's as far as it is trusted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from onetool.domain.errors import SettingsError

from .check import check
from .document import Document, KeyPath
from .places import Places
from .schema import Prompts, Settings
from .secrets import Secrets, load_secrets
from .trust import Trust, load_trust

SETTINGS_FILE = "onetool.yaml"
SECRETS_FILE = "secrets.yaml"
PROMPTS_FILE = "prompts.yaml"
PACKS_DIR = "tools"
READABLE = {
    SETTINGS_FILE: "Settings are a map: execution:, aliases:, tools: and so on.",
    PROMPTS_FILE: "Prompts are a map: instructions: and packs:.",
}

Read = Callable[[Path], bytes | None]
T = TypeVar("T")


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
    prompts: Prompts = field(default_factory=Prompts)
    definitions: tuple[Definition, ...] = ()
    pack_dirs: tuple[PackDir, ...] = ()
    roots: tuple[Path, ...] = ()
    held_back: tuple[str, ...] = ()
    """Files of the project that wait for `onetool trust`."""
    provider: str = ""
    """The chat model that the user has chosen with `onetool auth use`."""


def load_configuration(places: Places, env: Mapping[str, str]) -> Configuration:
    """Read all files, the project's over the user's: maps merge by key, lists replace.

    Raises SettingsError that names file, line, key and what would be right.
    """
    trust = _trust(places)
    documents = _settings_documents(places, trust)
    settings = _merged(Settings, documents)
    pack_dirs = _pack_dirs(places, trust, documents)
    if trust is not None:
        for path in pack_dirs[-1].path.glob("*.py"):
            trust.read(path)
    return Configuration(
        places=places,
        settings=settings,
        secrets=load_secrets(places.config / SECRETS_FILE, env),
        prompts=_merged(Prompts, _documents(places, trust, PROMPTS_FILE, Prompts)),
        definitions=_definitions(documents),
        pack_dirs=pack_dirs,
        roots=_roots(settings, places),
        held_back=tuple(trust.held_back) if trust else (),
        provider=(_read_own(places.provider_file) or b"").decode("utf-8", "replace").strip(),
    )


def load_definitions(places: Places) -> tuple[Definition, ...]:
    """Read only the tool definitions again.

    Raises SettingsError as `load_configuration` does.
    """
    return _definitions(_settings_documents(places, _trust(places)))


def checked(kind: type[T], value: Mapping[str, Any], place: Callable[[KeyPath], str]) -> T:
    """Return the settings, or prompts, that a map says; `place` tells where a key stands.

    Raises SettingsError with one line for each mistake.
    """
    found, problems = check(kind, value)
    if found is None:
        raise SettingsError("\n".join(f"{place(path)}: {message}" for path, message in problems))
    return found


def settings_files(places: Places, name: str = SETTINGS_FILE) -> tuple[Path, ...]:
    """The user's file of this name and the project's, in the order in which they are merged."""
    folders = [places.config, *([places.project] if places.project else [])]
    return tuple(folder / name for folder in folders)


def _trust(places: Places) -> Trust | None:
    return load_trust(places.state, places.project) if places.project else None


def _settings_documents(places: Places, trust: Trust | None) -> list[Document]:
    documents = _documents(places, trust, SETTINGS_FILE, Settings)
    for document in documents:
        _anchor_paths(document, places)
    return documents


def _documents(places: Places, trust: Trust | None, name: str, kind: type) -> list[Document]:
    readers: list[Read] = [_read_own, *([trust.read] if trust else [])]
    files = zip(settings_files(places, name), readers, strict=True)
    contents = ((file, read(file)) for file, read in files)
    return [_check(file, content, kind) for file, content in contents if content is not None]


def _merged(kind: type[T], documents: Sequence[Document]) -> T:
    merged: dict[str, Any] = {}
    for document in documents:
        merged = _merge(merged, document.value)
    return checked(kind, merged, lambda path: documents[-1].place(path))


def _read_own(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from None


def check_settings(file: Path, content: bytes) -> None:
    """Make sure that this can be used as the user's settings.

    Raises SettingsError that names the line.
    """
    _check(file, content, Settings)


def _check(file: Path, content: bytes, kind: type) -> Document:
    """Parse and validate one file by itself, so that an error names its line."""
    from .yaml_file import parse_yaml

    document = parse_yaml(file, content)
    if document.value is None:
        return Document(file, {}, {})
    if not isinstance(document.value, dict):
        holds = type(document.value).__name__
        raise SettingsError(f"{file}:1: holds {holds}, not a map. {READABLE[file.name]}")
    checked(kind, document.value, document.place)
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
    for index, topic in enumerate(value.get("topics", ())):
        topic["file"] = absolute(("topics", index, "file"), [topic["file"]])[0]
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
