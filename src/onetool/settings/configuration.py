"""The configuration: the user's files, merged with the trusted files of the project."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from onetool.domain.errors import SettingsError
from onetool.domain.identity.workspace_limits import WorkspaceLimits
from onetool.domain.secrets.detection import literal_credentials
from onetool.files.own_files import read_own_file
from onetool.files.yaml_document import KeyPath, YamlDocument
from onetool.version import __version__

from .paths import Paths
from .schema import PromptSettings, Settings
from .secrets import Secrets, load_secrets
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


@dataclass(frozen=True, slots=True)
class PackDirectory:
    """A directory of pack files."""

    path: Path
    read: Read
    """Reads a pack file. Returns None for a file that is missing or not trusted. Raises SettingsError for one
    that cannot be read or that other users can change."""


@dataclass(frozen=True, slots=True)
class ConfiguredTool:
    """A tool definition in a settings file, and its location there."""

    location: str
    value: Any
    deny: Sequence[str] = ()
    """The patterns of `approval.deny` in the same files, if they changed since the last reload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Everything that was read from the configuration files, at one point in time."""

    paths: Paths
    settings: Settings = field(default_factory=Settings)
    secrets: Secrets = field(default_factory=Secrets)
    prompts: PromptSettings = field(default_factory=PromptSettings)
    configured_tools: tuple[ConfiguredTool, ...] = ()
    pack_dirs: tuple[PackDirectory, ...] = ()
    roots: tuple[Path, ...] = ()
    untrusted_files: tuple[str, ...] = ()
    """Files of the project that are ignored until the user runs `onetool trust`."""
    provider: str = ""
    """The default provider that the user chose with `onetool auth use`, or an empty string."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    """The variables that may contain keys of chat model providers."""
    limits: WorkspaceLimits | None = None
    """What the operator of a hosted OneTool permits; None: there is none."""

    @property
    def shown_roots(self) -> tuple[Path, ...]:
        """The directories that servers are told if they ask: those in the settings, but not the default."""
        return () if self.settings.fs.roots is None else self.roots

    @property
    def credentials(self) -> tuple[str, ...]:
        """Every value to redact: secrets, and credentials that the settings of servers contain."""
        servers = self.settings.servers.values()
        literals = (
            literal_credentials({**server.env, **server.headers}, server.args, server.url or "")
            for server in servers
        )
        fixed = (
            literal_credentials(tool.fixed_texts) for server in servers for tool in server.tools.values()
        )
        command = literal_credentials({}, self.settings.secrets.command)
        return (*self.secrets.redacted, *command, *chain.from_iterable([*literals, *fixed]))


def load_configuration(paths: Paths, env: Mapping[str, str]) -> Configuration:
    """Read the user's files and merge the project's over them: maps merge by key, lists replace.

    Raises:
        SettingsError: A file is invalid, or other users can change it. The message has one line per problem,
            with file, line and key.
    """
    trust = _load_trust(paths)
    read_project = trust.read if trust else None
    documents = _settings_documents(paths, read_project)
    settings = _run_in_project(_merge_documents(Settings, documents), documents, paths)
    pack_dirs = _pack_dirs(paths, trust, documents)
    if trust is not None:
        for path in pack_dirs[-1].path.glob("*.py"):
            trust.read(path)
    return Configuration(
        paths=paths,
        settings=settings,
        secrets=load_secrets(paths.config / SECRETS_FILE, env, settings.secrets),
        prompts=_load_prompts(paths, read_project),
        configured_tools=_configured_tools(documents),
        pack_dirs=pack_dirs,
        roots=_roots(settings, paths),
        untrusted_files=tuple(trust.untrusted) if trust else (),
        provider=(_read_file(paths.provider_file) or b"").decode("utf-8", "replace").strip(),
        environment=env,
    )


def operator_packs(paths: Paths) -> tuple[PackDirectory, ...]:
    """Return the directory with the packs of the operator of a hosted OneTool, if it exists."""
    directory = paths.config / PACKS_DIR
    return (PackDirectory(directory, _read_file),) if directory.is_dir() else ()


def load_configured_tools(paths: Paths) -> tuple[ConfiguredTool, ...]:
    """Read only the tool definitions. A tool and the pattern that denies it take effect together.

    Raises:
        SettingsError: A file is invalid.
    """
    trust = _load_trust(paths)
    documents = _settings_documents(paths, trust.read if trust else None)
    return _configured_tools(documents, _merge_documents(Settings, documents).approval.deny)


def load_user_settings(paths: Paths) -> Settings:
    """Read only the user's settings, without secrets and without the project's.

    Raises:
        SettingsError: The file is invalid.
    """
    return _merge_documents(Settings, _settings_documents(paths, None))


def merge_settings(paths: Paths, read_project: Read | None) -> tuple[Settings, PromptSettings]:
    """Return the user's settings and prompts, merged with the project's files that `read_project` returns.

    Raises:
        SettingsError: A file is invalid.
    """
    settings = _merge_documents(Settings, _settings_documents(paths, read_project))
    return settings, _load_prompts(paths, read_project)


def parse_settings(kind: type[T], value: Mapping[str, Any], locate: Callable[[KeyPath], str]) -> T:
    """Build settings or prompts from a map. `locate` returns the location of a key for error messages.

    Raises:
        SettingsError: The map is invalid. The message has one line per problem.
    """
    settings, problems = validate(kind, value)
    if settings is None:
        raise SettingsError("\n".join(f"{locate(path)}: {message}" for path, message in problems))
    return settings


def settings_files(paths: Paths, name: str = SETTINGS_FILE) -> tuple[Path, ...]:
    """Return the paths of the user's and the project's file, in merge order."""
    folders = [paths.config, *([paths.project] if paths.project else [])]
    return tuple(folder / name for folder in folders)


def _load_trust(paths: Paths) -> Trust | None:
    return load_trust(paths.state, paths.project) if paths.project else None


def _load_prompts(paths: Paths, read_project: Read | None) -> PromptSettings:
    return _merge_documents(PromptSettings, _documents(paths, read_project, PROMPTS_FILE, PromptSettings))


def _settings_documents(paths: Paths, read_project: Read | None) -> list[YamlDocument]:
    documents = _documents(paths, read_project, SETTINGS_FILE, Settings)
    for document in documents:
        _resolve_paths(document, paths)
        _check_secrets(document, paths)
    _check_profiles(documents)
    return documents


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


def _documents(paths: Paths, read_project: Read | None, name: str, kind: type) -> list[YamlDocument]:
    readers: list[Read] = [_read_file, *([read_project] if read_project else [])]
    files = zip(settings_files(paths, name), readers, strict=False)  # without a reader, no project file
    contents = ((file, read(file)) for file, read in files)
    return [_load_document(file, content, kind) for file, content in contents if content is not None]


def _merge_documents(kind: type[T], documents: Sequence[YamlDocument]) -> T:
    merged: dict[str, Any] = {}
    for document in documents:
        merged = _merge(merged, document.value)
    return parse_settings(kind, merged, lambda path: documents[-1].location(path))


def _read_file(file: Path) -> bytes | None:
    try:
        return read_own_file(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from None


def check_settings(file: Path, content: bytes) -> None:
    """Check that the content is a valid settings file.

    Raises:
        SettingsError: It is invalid. The message names the lines.
    """
    _load_document(file, content, Settings)


def read_settings(file: Path) -> dict[str, Any]:
    """Return the settings in a file, which may have any name.

    Raises:
        SettingsError: They are invalid. The message names the lines.
    """
    settings: dict[str, Any] = _load_document(file, file.read_bytes(), Settings).value
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


def _run_in_project(settings: Settings, documents: Sequence[YamlDocument], paths: Paths) -> Settings:
    """Let the programs of servers that the project declares run in the project, unless they have a `cwd`."""
    project = paths.project
    declared = {
        name
        for document in documents
        if document.file.parent == project
        for name in document.value.get("servers", {})
    }
    servers = {
        name: replace(server, cwd=str(project.parent))
        if project and name in declared and server.command and server.cwd is None
        else server
        for name, server in settings.servers.items()
    }
    return replace(settings, servers=servers)


def _merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in override.items():
        both_maps = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both_maps else value
    return merged


def _configured_tools(
    documents: Sequence[YamlDocument], deny: Sequence[str] = ()
) -> tuple[ConfiguredTool, ...]:
    for document in reversed(documents):
        if "tools" in document.value:
            return tuple(
                ConfiguredTool(document.location(("tools", index)), value, deny)
                for index, value in enumerate(document.value["tools"])
            )
    return ()


def _pack_dirs(
    paths: Paths, trust: Trust | None, documents: Sequence[YamlDocument]
) -> tuple[PackDirectory, ...]:
    folders = [paths.config / PACKS_DIR]
    folders += [Path(path) for document in documents for path in document.value.get("tools_dirs", ())]
    dirs = [PackDirectory(path, _read_file) for path in folders]
    if trust is not None:
        dirs.append(PackDirectory(trust.project / PACKS_DIR, trust.read))
    return tuple(dirs)


def _roots(settings: Settings, paths: Paths) -> tuple[Path, ...]:
    if settings.fs.roots is not None:
        return tuple(Path(root).resolve() for root in settings.fs.roots)
    cwd = paths.cwd.resolve()
    is_too_broad = cwd == Path(cwd.anchor) or cwd == Path.home().resolve()
    return () if is_too_broad else (cwd,)
