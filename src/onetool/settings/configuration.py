"""The configuration: the user's files, merged with the trusted files of the project."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from onetool.domain.errors import SettingsError
from onetool.domain.identity.workspace_limits import WorkspaceLimits
from onetool.domain.secrets.detection import literal_credentials
from onetool.files.yaml_document import YamlDocument

from .documents import (
    PACKS_DIR,
    PROMPTS_FILE,
    SECRETS_FILE,
    Read,
    load_project_trust,
    merge_documents,
    read_documents,
    read_file,
    settings_documents,
)
from .paths import Paths
from .schema import PromptSettings, Settings
from .secrets import Secrets, load_secrets, read_entries
from .trust import Trust


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
        """Every value to redact: secrets, and credentials that the settings of servers and packs contain."""
        servers = self.settings.servers.values()
        literals = (
            literal_credentials({**server.env, **server.headers}, server.args, server.url or "")
            for server in servers
        )
        fixed = (
            literal_credentials(tool.fixed_texts) for server in servers for tool in server.tools.values()
        )
        command = literal_credentials({}, self.settings.secrets.command)
        packs = (literal_credentials({name: text}) for name, text in _texts(self.settings.packs))
        return (*self.secrets.redacted, *command, *chain.from_iterable([*literals, *fixed, *packs]))


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts of a value, with the nearest names above them."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, name)
    elif isinstance(value, str):
        yield name, value


def load_configuration(paths: Paths, env: Mapping[str, str]) -> Configuration:
    """Read the user's files and merge the project's over them: maps merge by key, lists replace.

    Raises:
        SettingsError: A file is invalid, or other users can change it. The message has one line per problem,
            with file, line and key.
    """
    trust = load_project_trust(paths)
    read_project = trust.read if trust else None
    documents = settings_documents(paths, read_project)
    settings = _run_in_project(merge_documents(Settings, documents), documents, paths)
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
        provider=(read_file(paths.provider_file) or b"").decode("utf-8", "replace").strip(),
        environment=env,
    )


def operator_packs(paths: Paths) -> tuple[PackDirectory, ...]:
    """Return the directory with the packs of the operator of a hosted OneTool, if it exists."""
    directory = paths.config / PACKS_DIR
    return (PackDirectory(directory, read_file),) if directory.is_dir() else ()


def load_configured_tools(paths: Paths) -> tuple[ConfiguredTool, ...]:
    """Read only the tool definitions. A tool and the pattern that denies it take effect together.

    Raises:
        SettingsError: A file is invalid.
    """
    trust = load_project_trust(paths)
    documents = settings_documents(paths, trust.read if trust else None)
    return _configured_tools(documents, merge_documents(Settings, documents).approval.deny)


def load_user_settings(paths: Paths) -> Settings:
    """Read only the user's settings, without secrets and without the project's.

    Raises:
        SettingsError: The file is invalid.
    """
    return merge_documents(Settings, settings_documents(paths, None))


def find_problem(paths: Paths) -> str:
    """Return why the files cannot be loaded now, or an empty text. It runs no command for secrets."""
    if not paths.config.is_dir():
        return ""
    try:
        trust = load_project_trust(paths)
        merge_settings(paths, trust.read if trust else None)
        read_entries(paths.config / SECRETS_FILE)
    except SettingsError as error:
        return str(error)
    return ""


def merge_settings(paths: Paths, read_project: Read | None) -> tuple[Settings, PromptSettings]:
    """Return the user's settings and prompts, merged with the project's files that `read_project` returns.

    Raises:
        SettingsError: A file is invalid.
    """
    settings = merge_documents(Settings, settings_documents(paths, read_project))
    return settings, _load_prompts(paths, read_project)


def _load_prompts(paths: Paths, read_project: Read | None) -> PromptSettings:
    return merge_documents(PromptSettings, read_documents(paths, read_project, PROMPTS_FILE, PromptSettings))


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
    dirs = [PackDirectory(path, read_file) for path in folders]
    if trust is not None:
        dirs.append(PackDirectory(trust.project / PACKS_DIR, trust.read))
    return tuple(dirs)


def _roots(settings: Settings, paths: Paths) -> tuple[Path, ...]:
    if settings.fs.roots is not None:
        return tuple(Path(root).resolve() for root in settings.fs.roots)
    cwd = paths.cwd.resolve()
    is_too_broad = cwd == Path(cwd.anchor) or cwd == Path.home().resolve()
    return () if is_too_broad else (cwd,)
