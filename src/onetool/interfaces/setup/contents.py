"""The content of a setup: its files, read from an untrusted archive or directory, and its manifest."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from onetool.domain.errors import SettingsError
from onetool.domain.text.strings import truncate_middle
from onetool.files.safe_yaml import parse_yaml
from onetool.files.zip_files import MAX_ENTRIES, MAX_ENTRY, MAX_TOTAL, InvalidArchive, read_zip, write_zip
from onetool.settings.documents import PROMPTS_FILE, SETTINGS_FILE, check_prompts, check_settings_document
from onetool.settings.secrets import check_name
from onetool.settings.trust import MAX_BYTES

from .given import GivenSource
from .recognition import BUNDLE_FILE, MANIFEST_FILE

FORMAT = 1
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
PACK_FILE = re.compile(r"tools/(\w{1,100}\.py)")
BUNDLE_PART = re.compile(rf"bundles/({UUID})/(bundle\.json|tools/{UUID}\.json)")
DIRECTORY = re.compile(rf"(tools|bundles(/{UUID}(/tools)?)?)/")
PATTERNS = ("*.yaml", "tools/*.py", "bundles/*/bundle.json", "bundles/*/tools/*.json")
"""Where the files of a directory are."""
SETUP_KEYS = frozenset(
    (
        *("aliases", "snippets", "servers", "packs", "providers", "profiles", "tools", "allowedHosts"),
        *("approval", "stats", "activity", "output", "execution", "ask", "registry", "sessions", "expose"),
        "docs_base_url",
    )
)
"""Settings that a setup may have. The others name files and programs of one machine."""
MANIFEST_KEYS = frozenset(("format", "secrets", "disabled", "removed"))


class InvalidSetup(Exception):
    """A setup cannot be used. The message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededSecret:
    """A secret that something in a setup refers to, without its value."""

    name: str
    hosts: tuple[str, ...] | None = None
    """The hosts that it may be sent to; None: any."""
    used_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupManifest:
    """What a setup says about itself."""

    secrets: tuple[NeededSecret, ...] = ()
    disabled_packs: tuple[str, ...] = ()
    disabled_tools: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Values that were removed because they look like secrets."""

    def to_json(self) -> dict[str, Any]:
        """Return the content of `setup.yaml`."""
        secrets = [
            {"name": secret.name}
            | ({} if secret.hosts is None else {"hosts": list(secret.hosts)})
            | {"used_by": list(secret.used_by)}
            for secret in self.secrets
        ]
        disabled = {"packs": list(self.disabled_packs), "tools": list(self.disabled_tools)}
        return {"format": FORMAT, "secrets": secrets, "disabled": disabled, "removed": list(self.removed)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The content of a setup. Settings and prompts are valid; bundles are not checked yet."""

    manifest: SetupManifest = field(default_factory=SetupManifest)
    settings: Mapping[str, Any] = field(default_factory=dict)
    prompts: Mapping[str, Any] = field(default_factory=dict)
    packs: Mapping[str, bytes] = field(default_factory=dict)
    """The pack files by name, such as `notes.py`."""
    bundles: Mapping[str, bytes] = field(default_factory=dict)
    """A ZIP archive for each bundle, by id."""
    enabled_bundles: frozenset[str] = frozenset()
    """The bundles that were enabled when they were exported."""


def read_setup(source: GivenSource) -> Setup:
    """Read an archive or a directory. It blocks.

    Raises:
        InvalidSetup: It is damaged, malicious, or for a newer OneTool.
    """
    try:
        if source.directory is not None:
            files = _read_directory(source.directory)
        else:
            files = read_zip(source.content, _check_name)
        return _parse_files(files)
    except (InvalidArchive, SettingsError) as error:
        raise InvalidSetup(str(error)) from None


def _check_name(name: str) -> None:
    """Check the name of an entry. No other name is allowed, so no path leads out of the directories."""
    is_known = name in (MANIFEST_FILE, SETTINGS_FILE, PROMPTS_FILE)
    if not (is_known or any(pattern.fullmatch(name) for pattern in (PACK_FILE, BUNDLE_PART, DIRECTORY))):
        raise InvalidSetup(f"A setup cannot contain {truncate_middle(name, 80)!r}.")


def setup_files(directory: Path) -> Iterator[str]:
    """Yield the names of the files of a setup in a directory, which may contain others. It blocks."""
    for pattern in PATTERNS:
        for path in sorted(directory.glob(pattern)):
            name = path.relative_to(directory).as_posix()
            with suppress(InvalidSetup):
                _check_name(name)
                yield name


def _read_directory(directory: Path) -> dict[str, bytes]:
    root, files = directory.resolve(), dict[str, bytes]()
    for name in setup_files(directory):
        path = directory / name
        if path.resolve() != root / name or not path.is_file():
            raise InvalidSetup(f"{name!r} is a link, or not a file.")
        with path.open("rb") as file:
            files[name] = file.read(MAX_ENTRY + 1)
        if len(files[name]) > MAX_ENTRY or len(files) > MAX_ENTRIES:
            raise InvalidSetup(f"{directory} has more than {MAX_ENTRIES} files, or {name!r} is too large.")
        if sum(map(len, files.values())) > MAX_TOTAL:
            raise InvalidSetup(f"{directory} is larger than {MAX_TOTAL:,} bytes.")
    return files


def _parse_files(files: Mapping[str, bytes]) -> Setup:
    packs: dict[str, bytes] = {}
    parts: dict[str, dict[str, bytes]] = {}
    for name, content in files.items():
        if match := PACK_FILE.fullmatch(name):
            packs[match[1]] = content
            if len(content) > MAX_BYTES:
                raise InvalidSetup(f"{name} is larger than {MAX_BYTES:,} bytes.")
        elif match := BUNDLE_PART.fullmatch(name):
            parts.setdefault(match[1], {})[match[2]] = content
    folded = [name.casefold() for name in packs]
    if len(set(folded)) < len(folded):  # they would be one file on some systems
        raise InvalidSetup("Two pack files have names that differ only in case.")
    settings = _read_map(files, SETTINGS_FILE)
    settings.pop("format", None)
    if other := sorted(settings.keys() - SETUP_KEYS):
        raise InvalidSetup(f"{SETTINGS_FILE} has {other[0]!r}, which belongs to one machine, not to a setup.")
    check_settings_document(Path(SETTINGS_FILE), files.get(SETTINGS_FILE, b""))
    check_prompts(Path(PROMPTS_FILE), files.get(PROMPTS_FILE, b""))
    return Setup(
        manifest=_parse_manifest(_read_map(files, MANIFEST_FILE)),
        settings=settings,
        prompts=_read_map(files, PROMPTS_FILE),
        packs=packs,
        bundles={id: write_zip(dict(sorted(content.items()))) for id, content in sorted(parts.items())},
        enabled_bundles=frozenset(id for id, content in parts.items() if _is_enabled(content)),
    )


def _is_enabled(files: Mapping[str, bytes]) -> bool:
    try:
        bundle = orjson.loads(files.get(BUNDLE_FILE, b""))
    except ValueError:
        return False
    return isinstance(bundle, dict) and bundle.get("isEnabled") is True


def _read_map(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    value = parse_yaml(Path(name), files.get(name, b"")).value
    if not isinstance(value, dict | None):
        raise InvalidSetup(f"{name} is not a map.")
    return value or {}


def _parse_manifest(value: Mapping[str, Any]) -> SetupManifest:
    number = value.get("format", FORMAT)
    if type(number) is not int or number < 1 or number > FORMAT:
        raise InvalidSetup(
            f"{MANIFEST_FILE} has format {number!r}; this OneTool reads format {FORMAT}. "
            "Install a newer version of OneTool."
        )
    _check_keys(value, MANIFEST_KEYS, MANIFEST_FILE)
    disabled = value.get("disabled") or {}
    _check_keys(disabled, frozenset(("packs", "tools")), "disabled")
    entries = value.get("secrets") or []
    if not isinstance(entries, list):
        raise InvalidSetup(f"{MANIFEST_FILE}: secrets is not a list.")
    return SetupManifest(
        secrets=tuple(map(_parse_secret, entries)),
        disabled_packs=_texts(disabled.get("packs"), "disabled.packs"),
        disabled_tools=_texts(disabled.get("tools"), "disabled.tools"),
        removed=_texts(value.get("removed"), "removed"),
    )


def _parse_secret(value: Any) -> NeededSecret:
    _check_keys(value, frozenset(("name", "hosts", "used_by")), "secrets")
    name = value.get("name")
    if not isinstance(name, str):
        raise InvalidSetup(f"{MANIFEST_FILE}: a secret has no name.")
    check_name(name, f"{MANIFEST_FILE}: ")
    hosts = value.get("hosts")
    return NeededSecret(
        name=name,
        hosts=None if hosts is None else _texts(hosts, "secrets.hosts"),
        used_by=_texts(value.get("used_by"), "secrets.used_by"),
    )


def _check_keys(value: Any, known: frozenset[str], where: str) -> None:
    if not isinstance(value, dict):
        raise InvalidSetup(f"{MANIFEST_FILE}: {where} is not a map.")
    if unknown := [key for key in value if key not in known]:
        raise InvalidSetup(f"{MANIFEST_FILE}: {where} has the unknown key {str(unknown[0])[:80]!r}.")


def _texts(value: Any, where: str) -> tuple[str, ...]:
    items: Sequence[Any] = value if isinstance(value, list) else [] if value is None else [None]
    if not all(isinstance(item, str) for item in items):
        raise InvalidSetup(f"{MANIFEST_FILE}: {where} is not a list of texts.")
    return tuple(items)
