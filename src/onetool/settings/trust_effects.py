"""What the files of a project would do: the settings that they change, and the packs that they contain."""

import ast
import io
import re
import shlex
import tokenize
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from onetool.domain.text.json_text import jsonable
from onetool.domain.text.yaml_text import to_flow
from onetool.domain.tools.script_block import script_blocks

from .profile_schema import ProfileSettings
from .schema import PromptSettings, ProviderSettings, Settings
from .secrets import NAME
from .server_schema import ServerSettings

PROGRAMS = "Programs that would start"
HOSTS = "Hosts that would open"
DIRECTORIES = "Directories and files that would open"
PACKS = "Packs that would load"
APPROVAL = "Approval that would change"
INSTRUCTIONS = "Instructions that models would read"
OTHER = "Other settings that would change"
GROUPS = (PROGRAMS, HOSTS, DIRECTORIES, PACKS, APPROVAL, INSTRUCTIONS, OTHER)
SECRET = re.compile(rf"\$\{{({NAME.pattern})\}}")
ENTRY_DEFAULTS: Mapping[str, Any] = {
    "servers": jsonable(ServerSettings()),
    "providers": jsonable(ProviderSettings()),
    "profiles": jsonable(ProfileSettings()),
}
"""Defaults that a new entry of a map is compared with."""
REMOVED: Any = object()
"""The new value of what is removed."""
LISTED_PATHS = frozenset({("allowedHosts",), ("fs", "roots"), ("topics",), ("search", "model_dir")})
LISTED_ENTRY_KEYS: Mapping[str, frozenset[str]] = {
    "servers": frozenset({"command", "args", "env", "url", "headers"}),
    "providers": frozenset({"base_url", "key_secret"}),
}
"""Settings, and keys of servers and providers, that a group other than OTHER describes."""


class TrustEffect(NamedTuple):
    """One thing that the files would do. The text may contain any character."""

    group: str
    text: str


def settings_effects(own: Settings, merged: Settings) -> Iterator[TrustEffect]:
    """Yield the differences between the user's settings and the settings merged with the project's."""
    yield from _server_effects(own, merged)
    yield from _host_effects(own, merged)
    yield from _directory_effects(own, merged)
    yield from _other_effects(own, merged)


def prompt_effects(own: PromptSettings, merged: PromptSettings) -> Iterator[TrustEffect]:
    """Yield the texts for models that a project adds."""
    if merged.instructions != own.instructions:
        yield TrustEffect(INSTRUCTIONS, merged.instructions)
    for pack, text in merged.packs.items():
        if text != own.packs.get(pack):
            yield TrustEffect(INSTRUCTIONS, f"{pack}: {text}")


def pack_effect(name: str, content: bytes) -> TrustEffect:
    """Return the name and the functions of a pack file, without running it."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file may contain invalid escapes
            body = ast.parse(content).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return TrustEffect(PACKS, f"{name}: not valid Python; a start would skip it")
    pack = next((value for node in body if (value := _pack_name(node))), name.rpartition("/")[2][:-3])
    functions = [
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    note = (
        ""
        if encoding.startswith("utf-8")
        else f"; decoded as {encoding!r}, so the code differs from the text"
    )
    note += f"; installs {libraries}" if (libraries := _libraries(content)) else ""
    return TrustEffect(PACKS, f"{pack} ({name}): {', '.join(functions) or 'no functions'}{note}")


def _libraries(content: bytes) -> str:
    """Return the metadata of a pack file, which lists the libraries to install, on one line."""
    return " ".join(" ".join(block.split()) for block in script_blocks(content))


def _pack_name(node: ast.stmt) -> str:
    """Return the value of `pack = "name"`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        is_pack = any(isinstance(target, ast.Name) and target.id == "pack" for target in node.targets)
        return str(node.value.value) if is_pack else ""
    return ""


def _server_effects(own: Settings, merged: Settings) -> Iterator[TrustEffect]:
    for name, server in merged.servers.items():
        before = own.servers.get(name, ServerSettings())
        if server == before:
            continue
        group = PROGRAMS if server.command else HOSTS
        target = shlex.join([server.command, *server.args]) if server.command else server.url
        yield TrustEffect(group, f"{name}: {target}" + ("" if server.enabled else " (disabled)"))
        for kind, ours, theirs in (
            ("variable", before.env, server.env),
            ("header", before.headers, server.headers),
        ):
            for key, value in theirs.items():
                text = "unchanged, from your settings" if ours.get(key) == value else value
                yield TrustEffect(group, f"{name}: {kind} {key} = {text}{_secrets_in(value)}")
            yield from (
                TrustEffect(group, f"{name}: {kind} {key} removed") for key in ours if key not in theirs
            )


def _secrets_in(value: str) -> str:
    names = SECRET.findall(value)
    return f" (inserts your secret {', '.join(names)})" if names else ""


def _host_effects(own: Settings, merged: Settings) -> Iterator[TrustEffect]:
    for host in merged.allowedHosts:
        if host not in own.allowedHosts:
            yield TrustEffect(HOSTS, f"{host} (stored HTTP tools)")
    for name, provider in merged.providers.items():
        before = own.providers.get(name, ProviderSettings())
        if (provider.base_url, provider.key_secret) != (before.base_url, before.key_secret):
            key = f"your secret {provider.key_secret}" if provider.key_secret else "its API key"
            url = provider.base_url or "its usual URL"
            yield TrustEffect(HOSTS, f"{url} (chat model provider {name}; receives {key})")


def _directory_effects(own: Settings, merged: Settings) -> Iterator[TrustEffect]:
    if merged.fs.roots != own.fs.roots:
        for root in merged.fs.roots or ():
            yield TrustEffect(DIRECTORIES, f"{root} (file tools)")
        if not merged.fs.roots:
            yield TrustEffect(DIRECTORIES, "none for file tools")
    for topic in merged.topics:
        if topic not in own.topics:
            yield TrustEffect(DIRECTORIES, f"{topic.file} (appends notifications of {topic.pattern})")
    if merged.search.model_dir != own.search.model_dir:
        yield TrustEffect(DIRECTORIES, f"{merged.search.model_dir} (embedding model)")


def _other_effects(own: Settings, merged: Settings) -> Iterator[TrustEffect]:
    for path, value in _changes((), jsonable(own), jsonable(merged)):
        is_entry_key = len(path) > 2 and path[2] in LISTED_ENTRY_KEYS.get(path[0], ())
        if path not in LISTED_PATHS and not is_entry_key:
            group = APPROVAL if path[0] in ("approval", "profiles") else OTHER
            text = "removed" if value is REMOVED else to_flow(value)
            yield TrustEffect(group, f"{'.'.join(path)} = {text}{_secrets_in(text)}")


def _changes(path: tuple[str, ...], before: Any, after: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and the new value of everything that differs: `REMOVED` if it is not there any more."""
    if isinstance(before, dict) and isinstance(after, dict):
        default = ENTRY_DEFAULTS.get(path[0]) if len(path) == 1 else None
        for key, value in after.items():
            yield from _changes((*path, key), before.get(key, default), value)
        yield from (((*path, key), REMOVED) for key in before if key not in after)
    elif before != after:
        yield path, after
