"""The packages and URLs of a registry entry, validated: which command each of them becomes."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .registry_entry import REMOTE, RegistryEntry
from .registry_inputs import (
    InputTemplate,
    UnsupportedEntry,
    mapping_field,
    object_list,
    parse_template,
    shown_text,
    text_field,
)
from .registry_launch import LaunchArgument, LaunchKind, ServerLaunch, check_url, check_variable

KINDS: Mapping[str, LaunchKind] = {"npm": "npm", "pypi": "pypi", "oci": "oci"}
RUNTIMES: Mapping[str, str] = {"npm": "npx", "pypi": "uvx", "oci": "docker"}
INDEXES: Mapping[str, tuple[str, ...]] = {
    "npm": ("https://registry.npmjs.org",),
    "pypi": ("https://pypi.org",),
    "oci": ("https://docker.io", "https://index.docker.io", "https://registry-1.docker.io"),
}
"""The package indexes that the runtimes use. A package of another index would be another package."""
IDENTIFIERS: Mapping[str, re.Pattern[str]] = {
    "npm": re.compile(r"(?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~_][a-z0-9._~-]*"),
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
    "oci": re.compile(
        r"(?:[a-z0-9][a-z0-9.-]*(?::[0-9]{1,5})?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*"
        r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@sha256:(?P<digest>[0-9a-f]{64}))?"
    ),
}
EXACT_VERSIONS: Mapping[str, re.Pattern[str]] = {
    "npm": re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?"),
    "pypi": re.compile(r"[0-9][A-Za-z0-9.+!-]*"),
    "oci": re.compile(r"(?!latest$)[A-Za-z0-9_][A-Za-z0-9_.-]*"),
}
"""Versions that a runtime does not read as a range or a tag."""
MAX_IDENTIFIER, MAX_VERSION = 214, 128
SHA256 = re.compile(r"[0-9a-f]{64}")
HEADER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,127}")
FLAG = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
DROPPED_RUNTIME_ARGS: Mapping[str, frozenset[str]] = {
    "npm": frozenset({"-y", "--yes"}),
    "pypi": frozenset(),
    "oci": frozenset({"run", "-i", "--interactive", "--rm"}),
}
"""Arguments of the runtime that the command has anyway."""
ENV_FLAGS, MOUNT_FLAGS = ("-e", "--env"), ("-v", "--volume", "--mount")
ENV_ARGUMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
MOUNT = re.compile(
    r"(?:type=bind,)?(?:src|source)=\{([\w.-]+)\},(?:dst|target|destination)=[^,]+(?:,readonly|,ro)?"
    r"|\{([\w.-]+)\}:[^:]+(?::ro|:rw)?"
)
"""A mount whose directory on this machine is chosen by the user."""


def find_launch(entry: RegistryEntry, kind: str | None = None) -> ServerLaunch:
    """Return the first package of an entry that can run, or else its URL.

    Raises:
        UnsupportedEntry: There is none. The message has the reason for each.
    """
    problems = []
    for candidate, raw in _candidates(entry):
        if kind is not None and kind != candidate:
            continue
        try:
            return _check_secrets(
                _parse_remote(raw) if candidate == REMOTE else _parse_package(raw, candidate)
            )
        except UnsupportedEntry as error:
            problems.append(f"{candidate}: {error}")
    wanted = f"{kind} package" if kind not in (None, REMOTE) else "URL" if kind else "package and no URL"
    raise UnsupportedEntry("; ".join(problems) or f"it has no {wanted}")


def _candidates(entry: RegistryEntry) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for package in entry.packages:
        yield shown_text(package.get("registryType")), package
    for remote in entry.remotes:
        yield REMOTE, remote


def _check_secrets(launch: ServerLaunch) -> ServerLaunch:
    """Reject a secret on the command line or in the URL, where other programs and logs show it."""
    for found in launch.inputs:
        if found.is_secret and found.is_required and found.name not in launch.accepts_secrets:
            raise UnsupportedEntry(f"its secret {found.name!r} would be readable in the settings")
    return launch


def _parse_package(raw: Mapping[str, Any], name: str) -> ServerLaunch:
    kind = KINDS.get(name)
    if kind is None:
        raise UnsupportedEntry(f"packages of this kind cannot run. Supported: {', '.join(KINDS)}, remote")
    _check_runtime(raw, kind)
    identifier, version = _identifier(raw, kind)
    sha256 = text_field(raw, "fileSha256")
    if sha256 and not SHA256.fullmatch(sha256):
        raise UnsupportedEntry(f"its fileSha256 {sha256!r} is not a SHA-256 hash")
    variables = [
        _named(item, check_variable, "variable") for item in object_list(raw, "environmentVariables")
    ]
    before, more_variables = _runtime_arguments(raw, kind)
    env = tuple(dict([*variables, *more_variables]).items())
    after = [_argument(item) for item in object_list(raw, "packageArguments")]
    *command, package = _command(kind, identifier, version, [name for name, _ in env])
    words: tuple[str | LaunchArgument, ...] = (*command, *before, package, *after)
    return ServerLaunch(
        kind=kind, identifier=identifier, version=version, sha256=sha256, words=words, env=env
    )


def _command(kind: LaunchKind, identifier: str, version: str, variables: list[str]) -> tuple[str, ...]:
    """Return the command that runs exactly this version. The last word is the package."""
    if kind == "npm":
        return "npx", "-y", f"{identifier}@{version}"
    if kind == "pypi":
        return "uvx", f"{identifier}=={version}"
    passed = (word for name in variables for word in ("-e", name))
    return "docker", "run", *passed, "-i", "--rm", identifier


def _check_runtime(raw: Mapping[str, Any], kind: str) -> None:
    hint, transport = text_field(raw, "runtimeHint"), mapping_field(raw, "transport").get("type", "stdio")
    if hint not in ("", RUNTIMES[kind]):
        raise UnsupportedEntry(f"its runtimeHint {hint!r} is not supported. Valid: {RUNTIMES[kind]}")
    if transport != "stdio":
        raise UnsupportedEntry(f"its transport {shown_text(transport)!r} is not supported. Valid: stdio")
    index = text_field(raw, "registryBaseUrl").rstrip("/")
    if index and index not in INDEXES[kind]:
        raise UnsupportedEntry(f"its package index {index!r} is not the one that {RUNTIMES[kind]} uses")


def _identifier(raw: Mapping[str, Any], kind: str) -> tuple[str, str]:
    identifier = text_field(raw, "identifier", max_length=MAX_IDENTIFIER)
    match = IDENTIFIERS[kind].fullmatch(identifier)
    if match is None:
        raise UnsupportedEntry(f"its identifier {identifier!r} is not the name of a package")
    version = text_field(raw, "version", max_length=MAX_VERSION)
    if kind == "oci":
        tag, digest = match["tag"], match["digest"]
        version = tag or version
        if version and tag is None and digest is None:
            identifier = f"{identifier}:{version}"
        if digest is not None and not version:
            return identifier, f"sha256:{digest}"
    if not EXACT_VERSIONS[kind].fullmatch(version):
        raise UnsupportedEntry(f"its package version {version!r} is not an exact version, such as '1.2.3'")
    return identifier, version


def _runtime_arguments(
    raw: Mapping[str, Any], kind: str
) -> tuple[list[LaunchArgument], list[tuple[str, InputTemplate]]]:
    """Return the arguments before the package, and the variables that they set."""
    words: list[LaunchArgument] = []
    variables: list[tuple[str, InputTemplate]] = []
    for item in object_list(raw, "runtimeArguments"):
        is_named = item.get("type") == "named"
        flag = text_field(item, "name" if is_named else "value")
        value = text_field(item, "value") if is_named else ""
        if flag in DROPPED_RUNTIME_ARGS[kind] and value in ("", "true"):
            continue
        setting = ENV_ARGUMENT.fullmatch(value) if kind == "oci" and flag in ENV_FLAGS else None
        if setting is not None:
            template = parse_template({**item, "value": setting[2]}, setting[1], kind="variable")
            variables.append((check_variable(setting[1]), template))
        elif kind == "oci" and flag in MOUNT_FLAGS:
            words.append(_mount(item, flag, value))
        else:
            raise UnsupportedEntry(
                f"its argument {f'{flag} {value}'.strip()!r} for {RUNTIMES[kind]} is not allowed"
            )
    return words, variables


def _mount(item: Mapping[str, Any], flag: str, value: str) -> LaunchArgument:
    match = MOUNT.fullmatch(value)
    variables = dict(mapping_field(item, "variables"))
    source = (match[1] or match[2]) if match else ""
    if not isinstance(variables.get(source), Mapping):
        raise UnsupportedEntry(f"its mount {value!r} is not a directory that you choose")
    variables[source] = {**variables[source], "format": "filepath", "value": None}
    template = parse_template({**item, "variables": variables}, source)
    return LaunchArgument(flag=flag, template=template, is_repeated=item.get("isRepeated") is True)


def _argument(item: Mapping[str, Any]) -> LaunchArgument:
    is_repeated = item.get("isRepeated") is True
    if item.get("type") == "named":
        flag = text_field(item, "name")
        if not FLAG.fullmatch(flag):
            raise UnsupportedEntry(f"its argument {flag!r} is not the name of an option")
        template = parse_template(item, flag.lstrip("-"))
        return LaunchArgument(flag=flag, template=template, is_repeated=is_repeated)
    template = parse_template(item, text_field(item, "valueHint", "value"))
    return LaunchArgument(template=template, is_repeated=is_repeated)


def _named(item: Mapping[str, Any], check: Callable[[str], str], kind: str) -> tuple[str, InputTemplate]:
    name = check(text_field(item, "name"))
    return name, parse_template(item, name, kind=kind)


def _check_header(name: str) -> str:
    if not HEADER.fullmatch(name):
        raise UnsupportedEntry(f"its header {name!r} has an invalid name")
    return name


def _parse_remote(raw: Mapping[str, Any]) -> ServerLaunch:
    transport = text_field(raw, "type")
    if transport != "streamable-http":
        raise UnsupportedEntry(f"its transport {transport!r} is not supported. Valid: streamable-http")
    url = text_field(raw, "url")
    template = parse_template({"value": url, "variables": mapping_field(raw, "variables")}, "url", kind="url")
    if not template.inputs:
        check_url(url)
    headers = tuple(_named(item, _check_header, "header") for item in object_list(raw, "headers"))
    return ServerLaunch(kind="remote", identifier=url, url=template, headers=headers)
