"""The export of a setup: what a user configured, without secrets."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import yaml

from onetool.domain.bundles.bundle import BundleFilter
from onetool.domain.chat.providers import provider_defaults
from onetool.domain.http.templates import requests_of, secret_names
from onetool.domain.page import all_items
from onetool.domain.secrets.detection import is_probably_secret, literal_credentials, secret_name_in
from onetool.domain.secrets.redaction import Redactor
from onetool.domain.secrets.token_forms import known_tokens, random_strings
from onetool.files.safe_yaml import parse_yaml
from onetool.files.zip_files import read_zip
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import Configuration
from onetool.settings.documents import PACKS_DIR, PROMPTS_FILE, SECRETS_FILE, SETTINGS_FILE
from onetool.settings.paths import Paths
from onetool.settings.secrets import read_entries
from onetool.settings.trust import read_regular

from .contents import InvalidSetup, NeededSecret, SetupManifest
from .recognition import MANIFEST_FILE
from .settings_export import REFERENCE, CleanSettings, machine_paths

AUTHORIZATION = re.compile(r"\b(?:Bearer|Basic)\s+(?=\S*\d)[\w.~+/=-]{8,}")
"""The value of an authorization header that is written out."""
PAGE_SIZE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSetup:
    """The files of a setup by name, and what the user should know about them."""

    files: Mapping[str, bytes]
    manifest: SetupManifest
    warnings: list[str] = field(default_factory=list)


class _YamlWriter(yaml.SafeDumper):
    """Writes no aliases, which the reader of a setup counts as many times as they occur."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredParts:
    """What a runtime knows of a setup."""

    configuration: Configuration
    redactor: Redactor
    bundles: Mapping[str, bytes]
    """The ZIP archives of the stored bundles, by id."""
    disabled_packs: tuple[str, ...]
    disabled_tools: tuple[str, ...]


async def collect_stored(runtime: Runtime) -> StoredParts:
    """Read the stored bundles, and what the user disabled.

    Raises:
        BundleError: The bundles cannot be read.
    """
    state = runtime.state
    packs, tools = await state.bundles.disabled_names()
    all_bundles = BundleFilter(include_disabled=True)
    bundles = {
        bundle.id: await state.transfer.export(bundle.id)
        async for bundle in all_items(lambda after: state.bundles.list_bundles(all_bundles, after, PAGE_SIZE))
        if bundle.origin == "bundle"
    }
    return StoredParts(
        configuration=state.configuration,
        redactor=state.redactor,
        bundles=bundles,
        disabled_packs=tuple(packs),
        disabled_tools=tuple(tools),
    )


def export_setup(stored: StoredParts, *, has_values: bool = False) -> ExportedSetup:
    """Return the setup of the user. It blocks.

    has_values: include values of variables and headers that do not look like secrets.

    Raises:
        InvalidSetup: A file contains the value of a secret.
        SettingsError: A file is invalid.
    """
    paths = stored.configuration.paths
    taken = {entry.name for entry in read_entries(paths.config / SECRETS_FILE)}
    clean = CleanSettings(taken=taken, has_values=has_values)
    clean.add(_read_map(paths.config / SETTINGS_FILE))
    files = {SETTINGS_FILE: _to_yaml(clean.settings)}
    if prompts := _read_map(paths.config / PROMPTS_FILE):
        files[PROMPTS_FILE] = _to_yaml(prompts)
    files |= _pack_files(stored.configuration)
    left_out = _files_with_tokens(files)
    files = {name: content for name, content in files.items() if name not in left_out}
    warnings = [
        f"{name} is left out, because it contains a secret: {place}" for name, place in left_out.items()
    ]
    warnings += [f"This path may not exist elsewhere: {found}" for found in machine_paths(clean.settings)]
    used = set(clean.moved)
    for id, content in stored.bundles.items():
        parts = {f"bundles/{id}/{name}": file for name, file in read_zip(content, lambda name: None).items()}
        if found := [*_written_out(parts), *_files_with_tokens(parts, f"bundles/{id}/").values()]:
            slug = orjson.loads(parts[f"bundles/{id}/bundle.json"])["slug"]
            warnings.append(f"Bundle {slug} is left out, because it contains a secret: {', '.join(found)}")
            continue
        for tool in _tools(parts):
            warnings += _suspicious_texts(tool, str(tool["slug"]))
        used |= _bundle_secrets(parts)
        files |= parts
    used |= set(REFERENCE.findall(files[SETTINGS_FILE].decode())) | _provider_keys(clean.settings)
    warnings += _suspicious_code(files)
    for name in ("snippets", "tools"):
        warnings += _suspicious_texts(clean.settings.get(name), name)
    manifest = SetupManifest(
        secrets=_needed_secrets(paths, files, used),
        disabled_packs=stored.disabled_packs,
        disabled_tools=stored.disabled_tools,
        removed=tuple(clean.removed),
    )
    files = {MANIFEST_FILE: _to_yaml(manifest.to_json()), **dict(sorted(files.items()))}
    _check_no_secret(stored, files)
    return ExportedSetup(files=files, manifest=manifest, warnings=warnings)


def _read_map(file: Path) -> dict[str, Any]:
    try:
        return parse_yaml(file, file.read_bytes()).value or {}
    except FileNotFoundError:
        return {}


def _to_yaml(value: Any) -> bytes:
    text: str = yaml.dump(value, Dumper=_YamlWriter, sort_keys=False, allow_unicode=True, width=1_000)
    return text.encode() if value else b""


def _pack_files(configuration: Configuration) -> dict[str, bytes]:
    """Return the user's pack files. Of two with the same name, the first."""
    directories = [configuration.paths.config / PACKS_DIR, *map(Path, configuration.settings.tools_dirs)]
    files: dict[str, bytes] = {}
    for directory in directories:
        for file in sorted(directory.glob("*.py")):
            content = read_regular(file)
            if content is not None and re.fullmatch(r"\w+\.py", file.name):
                files.setdefault(f"{PACKS_DIR}/{file.name}", content)
    return files


def _files_with_tokens(files: Mapping[str, bytes], folder: str = "") -> dict[str, str]:
    """Return the files with tokens of known services, and the line of the first one. Settings are clean."""
    found: dict[str, str] = {}
    for name, content in files.items():
        text = content.decode("utf-8", "replace")
        start = next((start for start, _ in known_tokens(text)), None)
        if start is not None and name != SETTINGS_FILE:
            line = text.count("\n", 0, start) + 1
            found[name] = f"a token in line {line} of {name.removeprefix(folder)}"
    return found


def _tools(files: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    for name, content in files.items():
        if "/tools/" in name:
            yield orjson.loads(content)


def _bundle_secrets(files: Mapping[str, bytes]) -> set[str]:
    return {
        name
        for tool in _tools(files)
        if tool.get("httpImpl")
        for name in secret_names(tool["httpImpl"], tool["argSchema"])
    }


def _written_out(files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield where tools of a bundle contain a secret instead of its name."""
    for tool in _tools(files):
        for request in requests_of(tool.get("httpImpl") or {}):
            for header, value in (request.get("headers") or {}).items():
                if "${" not in value and is_probably_secret(header, value):
                    yield f"header {header} of {tool['slug']}"
            if name := secret_name_in(REFERENCE.sub("", request["urlTemplate"])):
                yield f"{name} in the URL of {tool['slug']}"


def _provider_keys(settings: Mapping[str, Any]) -> set[str]:
    """Return the names of the keys of the configured providers."""
    providers = settings.get("providers") or {}
    return {
        key
        for name, provider in providers.items()
        for key in [provider.get("key_secret") or next(iter(provider_defaults(name).keys), "")]
        if key
    }


def _suspicious_code(files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a warning for each pack file and each text that may contain a secret."""
    for name, content in files.items():
        if not name.startswith((PACKS_DIR, PROMPTS_FILE)):
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            if any(random_strings(line)):
                yield f"{name}:{number} contains a string that may be a secret."
                continue
            match = re.match(r"""\s*(\w+)\s*[:=].*["']([^"']{8,})["']\s*,?$""", line)
            if match and re.search(r"\d", match[2]) and is_probably_secret(match[1], match[2]):
                yield f"{name}:{number}: {match[1]} may be a secret. Read it with get_secret instead."


def _suspicious_texts(value: Any, where: str) -> Iterator[str]:
    """Yield a warning for each text in a tool or a snippet that may contain a secret."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _suspicious_texts(item, f"{where}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _suspicious_texts(item, where)
    elif isinstance(value, str):
        text = REFERENCE.sub("", value)
        is_token = any(random_strings(text))
        if is_token or AUTHORIZATION.search(text) or any(literal_credentials({}, url=text)):
            yield f"{where} may contain a secret. Refer to it by its name instead."


def _needed_secrets(paths: Paths, files: Mapping[str, bytes], used: set[str]) -> tuple[NeededSecret, ...]:
    """Return the secrets that the files refer to, and the names of the files that contain them."""
    hosts = {entry.name: entry.hosts for entry in read_entries(paths.config / SECRETS_FILE)}
    found: list[NeededSecret] = []
    for name in sorted(used | hosts.keys()):
        pattern = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
        places = {
            _place(file)
            for file, content in files.items()
            if pattern.search(content.decode("utf-8", "replace"))
        }
        if places or name in used:
            found.append(NeededSecret(name=name, hosts=hosts.get(name), used_by=tuple(sorted(places))))
    return tuple(found)


def _place(file: str) -> str:
    """Return the file, or the directory of a bundle."""
    parts = file.split("/")
    return "/".join(parts[:2])


def _check_no_secret(stored: StoredParts, files: Mapping[str, bytes]) -> None:
    """Check that no value of a secret, and no token that was issued to OneTool, leaves this machine."""
    for name, content in files.items():
        text = content.decode("utf-8", "replace")
        if stored.redactor.contains_secret(text):
            secrets = stored.configuration.secrets.items()
            known = [key for key, secret in secrets if Redactor([secret.value]).contains_secret(text)]
            which = f"the secret {known[0]}" if known else "a secret"
            raise InvalidSetup(
                f"{name} contains the value of {which}, so nothing was exported. Refer to the secret by its "
                "name instead."
            )
