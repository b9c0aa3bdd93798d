"""The settings and prompts files of the user and of the project: each is parsed and checked, then merged."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from onetool.domain.errors import SettingsError
from onetool.files.own_files import read_own_file
from onetool.files.yaml_document import KeyPath, YamlDocument
from onetool.version import __version__

from .paths import Paths
from .schema import PromptSettings, Settings
from .trust import Trust, load_trust
from .validation import validate

SETTINGS_FILE = "onetool.yaml"
FORMAT = 1
"""The format of settings and prompts: the optional key `format` of a file."""
SECRETS_FILE = "secrets.yaml"
PROMPTS_FILE = "prompts.yaml"
PACKS_DIR = "tools"
FORMATS = {
    SETTINGS_FILE: "Settings are a map with keys such as execution, aliases and tools.",
    PROMPTS_FILE: "Prompts are a map with the keys instructions and packs.",
}

Read = Callable[[Path], bytes | None]
T = TypeVar("T")


def settings_files(paths: Paths, name: str = SETTINGS_FILE) -> tuple[Path, ...]:
    """Return the paths of the user's and the project's file, in merge order."""
    folders = [paths.config, *([paths.project] if paths.project else [])]
    return tuple(folder / name for folder in folders)


def read_settings(file: Path) -> dict[str, Any]:
    """Return the settings in a file, which may have any name.

    Raises:
        SettingsError: They are invalid. The message names the lines.
    """
    settings: dict[str, Any] = _load_document(file, file.read_bytes(), Settings).value
    return settings


def read_stored_settings(paths: Paths) -> list[tuple[Path, Any]]:
    """Return the files that are used, in merge order, with the maps that they contain, as written there.

    Raises:
        SettingsError: A file is invalid.
    """
    trust = load_project_trust(paths)
    documents = read_documents(paths, trust.read if trust else None, SETTINGS_FILE, Settings)
    return [(document.file, document.value) for document in documents]


def check_settings(paths: Paths, file: Path, content: bytes) -> None:
    """Check that a start would accept the user's or the project's settings file with this content.

    Raises:
        SettingsError: It is invalid, alone or with the other file. The message names the lines.
    """
    trust = load_project_trust(paths)

    def read_user(path: Path) -> bytes | None:
        return content if path.resolve() == file else read_file(path)

    def read_project(path: Path) -> bytes | None:
        return content if path.resolve() == file else trust.read(path) if trust else None

    documents = settings_documents(paths, read_project if trust else None, read_user)
    merge_documents(Settings, documents)


def check_settings_document(file: Path, content: bytes) -> None:
    """Check that the content is a valid settings file by itself.

    Raises:
        SettingsError: It is invalid. The message names the lines.
    """
    _load_document(file, content, Settings)


def check_prompts(file: Path, content: bytes) -> None:
    """Check that the content is a valid prompts file.

    Raises:
        SettingsError: It is invalid. The message names the lines.
    """
    _load_document(file, content, PromptSettings)


def settings_documents(
    paths: Paths, read_project: Read | None, read_user: Read | None = None
) -> list[YamlDocument]:
    """Return the settings files that exist, in merge order, with absolute paths.

    Raises:
        SettingsError: A file is invalid.
    """
    documents = read_documents(paths, read_project, SETTINGS_FILE, Settings, read_user)
    for document in documents:
        _resolve_paths(document, paths)
        _check_secrets(document, paths)
    _check_profiles(documents)
    return documents


def read_documents(
    paths: Paths, read_project: Read | None, name: str, kind: type, read_user: Read | None = None
) -> list[YamlDocument]:
    """Return the files of one name that exist, in merge order, as they are written.

    Raises:
        SettingsError: A file is invalid.
    """
    readers: list[Read] = [read_user or read_file, *([read_project] if read_project else [])]
    files = zip(settings_files(paths, name), readers, strict=False)  # without a reader, no project file
    contents = ((file, read(file)) for file, read in files)
    return [_load_document(file, content, kind) for file, content in contents if content is not None]


def merge_documents(kind: type[T], documents: Sequence[YamlDocument]) -> T:
    """Return the settings of several files: maps merge by key, lists replace.

    Raises:
        SettingsError: The result is invalid.
    """
    merged: dict[str, Any] = {}
    for document in documents:
        merged = _merge(merged, document.value)
    return parse_settings(kind, merged, lambda path: documents[-1].location(path))


def load_project_trust(paths: Paths) -> Trust | None:
    """Return what the user trusts of the project, or None if there is no project."""
    return load_trust(paths.state, paths.project) if paths.project else None


def read_file(file: Path) -> bytes | None:
    """Return the content of a file of the user, or None if there is none.

    Raises:
        SettingsError: It cannot be read, or other users can change it.
    """
    try:
        return read_own_file(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from None


def parse_settings(kind: type[T], value: Mapping[str, Any], locate: Callable[[KeyPath], str]) -> T:
    """Build settings or prompts from a map. `locate` returns the location of a key for error messages.

    Raises:
        SettingsError: The map is invalid. The message has one line per problem.
    """
    settings, problems = validate(kind, value)
    if settings is None:
        raise SettingsError("\n".join(f"{locate(path)}: {message}" for path, message in problems))
    return settings


def _load_document(file: Path, content: bytes, kind: type) -> YamlDocument:
    """Parse and validate a file on its own, so that errors name its lines."""
    from onetool.files.safe_yaml import parse_yaml

    document = parse_yaml(file, content)
    if document.value is None:
        return YamlDocument(file, {}, {})
    if not isinstance(document.value, dict):
        actual = type(document.value).__name__
        format = FORMATS.get(file.name, FORMATS[SETTINGS_FILE])
        raise SettingsError(f"{file}:1: should be a map, not {actual}. {format}")
    _check_format(document)
    parse_settings(kind, document.value, document.location)
    return document


def _check_format(document: YamlDocument) -> None:
    """Check and remove the optional key `format`, so that a file for a newer OneTool is refused as such."""
    number = document.value.pop("format", FORMAT)
    if type(number) is not int or number < 1:
        raise SettingsError(f"{document.location(('format',))}: format: should be {FORMAT}, not {number!r}.")
    if number > FORMAT:
        raise SettingsError(
            f"{document.location(('format',))}: the file has format {number}, which OneTool {__version__} "
            f"does not know; it reads format {FORMAT}. Install a newer version of OneTool."
        )


def _check_secrets(document: YamlDocument, paths: Paths) -> None:
    """Check that a project does not choose a program that OneTool runs, or where secrets are read."""
    if document.file.parent == paths.project and "secrets" in document.value:
        raise SettingsError(
            f"{document.location(('secrets',))}: secrets cannot be set by a project. "
            f"Set it in {paths.config / SETTINGS_FILE}."
        )


def _check_profiles(documents: Sequence[YamlDocument]) -> None:
    """Check that a project does not change a profile of the user, which a client may depend on."""
    own: set[str] = set()
    for document in documents:
        names = document.value.get("profiles", {}).keys()
        for name in names & own:
            location = document.location(("profiles", name))
            raise SettingsError(f"{location}: profiles.{name}: your settings have a profile with this name.")
        own |= names


def _resolve_paths(document: YamlDocument, paths: Paths) -> None:
    """Make paths absolute: relative to the project, or to the directory of the user's file."""
    is_project = document.file.parent == paths.project
    base = document.file.parent.parent if is_project else document.file.parent

    def absolute(key: KeyPath, values: Sequence[str]) -> list[str]:
        try:
            return [str((base / Path(value).expanduser()).resolve()) for value in values]
        except (OSError, RuntimeError, ValueError) as error:
            raise SettingsError(f"{document.location(key)}: {'.'.join(key)}: not a path: {error}") from None

    value = document.value
    if value.get("fs", {}).get("roots") is not None:
        value["fs"]["roots"] = absolute(("fs", "roots"), value["fs"]["roots"])
    for index, topic in enumerate(value.get("topics", ())):
        topic["file"] = absolute(("topics", index, "file"), [topic["file"]])[0]
    _resolve_servers(value.get("servers", {}), absolute)
    _resolve_profiles(value.get("profiles", {}), absolute)
    if value.get("tools_dirs"):
        value["tools_dirs"] = absolute(("tools_dirs",), value["tools_dirs"])
        if is_project:
            raise SettingsError(
                f"{document.location(('tools_dirs',))}: tools_dirs cannot be set by a project. "
                f"Put its pack files into {document.file.parent / PACKS_DIR}, which `onetool trust` covers."
            )


def _resolve_servers(
    servers: Mapping[str, Any], absolute: Callable[[KeyPath, Sequence[str]], list[str]]
) -> None:
    for name, server in servers.items():
        if server.get("cwd") is not None:
            server["cwd"] = absolute(("servers", name, "cwd"), [server["cwd"]])[0]
        for index, grant in enumerate(server.get("paths") or ()):
            grant["path"] = absolute(("servers", name, "paths", index, "path"), [grant["path"]])[0]


def _resolve_profiles(
    profiles: Mapping[str, Any], absolute: Callable[[KeyPath, Sequence[str]], list[str]]
) -> None:
    for name, profile in profiles.items():
        if profile.get("roots") is not None:
            profile["roots"] = absolute(("profiles", name, "roots"), profile["roots"])


def _merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in override.items():
        both_maps = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both_maps else value
    return merged
