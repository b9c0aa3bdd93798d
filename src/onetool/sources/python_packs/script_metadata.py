"""Inline metadata of a pack file: the libraries and the Python that it needs (PEP 723)."""

import platform
import re
import tomllib
from dataclasses import dataclass
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from onetool.domain.errors import SettingsError
from onetool.domain.tools.script_block import script_blocks

from .library_hints import MARKER

USER_INFO = re.compile(r"//[^/\s]+@")
KNOWN_KEYS = frozenset({"dependencies", "requires-python", "tool"})


@dataclass(frozen=True, slots=True)
class ScriptMetadata:
    """The libraries that a pack file needs, and the versions of Python that it supports."""

    dependencies: tuple[str, ...]
    requires_python: str = ""

    @property
    def libraries(self) -> str:
        """The libraries as a text, without credentials in URLs."""
        return hide_user_info(", ".join(self.dependencies)) or "none"


def hide_user_info(text: str) -> str:
    """Return a text without the credentials in its URLs.

    >>> hide_user_info("a @ https://user:p@ss@host/a.whl")
    'a @ https://***@host/a.whl'
    """
    return USER_INFO.sub("//***@", text)


def read_metadata(content: bytes) -> ScriptMetadata | None:
    """Return the metadata of a pack file, or None if it has none.

    Raises:
        SettingsError: The metadata is invalid, or this Python cannot run the file.
    """
    blocks = script_blocks(content)
    if not blocks:
        return None
    if len(blocks) > 1:
        raise SettingsError(f"the file has {len(blocks)} blocks {MARKER!r}; use one")
    try:
        values = tomllib.loads(blocks[0])
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the block {MARKER!r} is not valid TOML: {error}") from None
    return _check(values)


def _check(values: dict[str, Any]) -> ScriptMetadata:
    if unknown := sorted(values.keys() - KNOWN_KEYS):
        raise SettingsError(f"unknown key {unknown[0]!r} in {MARKER!r}; use dependencies and requires-python")
    if "uv" in values.get("tool", {}):
        # ignoring an index that the file names would install libraries of the same name from another one
        raise SettingsError(
            "[tool.uv] in a pack file is not supported; use settings of uv, such as UV_INDEX_URL"
        )
    dependencies, python = values.get("dependencies", []), values.get("requires-python", "")
    if not isinstance(dependencies, list) or not all(isinstance(item, str) for item in dependencies):
        raise SettingsError(f'dependencies = {dependencies!r} is not a list of texts such as ["humanize>=4"]')
    for dependency in dependencies:
        _check_dependency(dependency)
    _check_python(python)
    return ScriptMetadata(tuple(dependencies), python)


def _check_dependency(text: str) -> None:
    try:
        Requirement(text)
    except InvalidRequirement as error:
        reason = str(error).partition("\n")[0]
        message = f'invalid dependency {text!r}: {reason}; use e.g. "humanize>=4"'
        raise SettingsError(hide_user_info(message)) from None


def _check_python(text: Any) -> None:
    try:
        supported = SpecifierSet(text)
    except (InvalidSpecifier, TypeError, AttributeError):
        raise SettingsError(f'invalid requires-python {text!r}; use e.g. ">=3.12"') from None
    if not supported.contains(platform.python_version(), prereleases=True):
        raise SettingsError(
            f"the file needs Python {text}, and OneTool runs with Python {platform.python_version()}; "
            "install OneTool with a Python that fits"
        )
