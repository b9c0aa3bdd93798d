"""How OneTool was installed, and the commands that upgrade it, remove it and add libraries to it."""

import json
import shlex
import sys
import tomllib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = "onetool-gateway"
UV_RECEIPT, PIPX_METADATA, VIRTUAL_ENVIRONMENT = "uv-receipt.toml", "pipx_metadata.json", "pyvenv.cfg"


class Installation(NamedTuple):
    """A way in which OneTool was installed. Commands are for a shell."""

    title: str
    """The tool that installed it, for messages."""
    upgrade: str
    remove: str
    add: str
    """The start of the command that adds libraries."""
    add_package: str
    """The command that installs OneTool again with extras, with `{}` in place of its name and extras."""
    extras: tuple[str, ...] = ()
    """Extras that are known to be installed, and would be lost if the command did not name them."""

    def install_command(self, *libraries: str) -> str:
        """Return the command that installs libraries where OneTool can import them."""
        separator = " --with " if self.add.startswith("uv tool ") else " "
        return separator.join([self.add, *map(shlex.quote, libraries)])

    def extra_command(self, extra: str) -> str:
        """Return the command that installs an extra of OneTool."""
        extras = ",".join(sorted({*self.extras, extra}))
        return self.add_package.format(shlex.quote(f"{PACKAGE}[{extras}]"))


def find_installation(prefix: Path | None = None, python: str | None = None) -> Installation:
    """Return how OneTool was installed.

    Args:
        prefix: The environment that contains OneTool; by default that of this process.
        python: The interpreter of that environment.
    """
    prefix, python = prefix or Path(sys.prefix), shlex.quote(python or sys.executable)
    if (prefix / UV_RECEIPT).is_file():
        return _uv_tool(prefix / UV_RECEIPT)
    if (prefix / PIPX_METADATA).is_file():
        return Installation(
            "pipx",
            f"pipx upgrade {PACKAGE}",
            f"pipx uninstall {PACKAGE}",
            f"pipx inject {PACKAGE}",
            f"pipx runpip {PACKAGE} install {{}}",
        )
    if _is_project(prefix):
        upgrade = f"uv lock --upgrade-package {PACKAGE} && uv sync"
        return Installation("uv, in a project", upgrade, f"uv remove {PACKAGE}", "uv add", "uv add {}")
    if _has_pip():
        pip = f"{python} -m pip"
        install = f"{pip} install"
        return Installation(
            "pip",
            f"{install} --upgrade {PACKAGE}",
            f"{pip} uninstall {PACKAGE}",
            install,
            _escape(install) + " {}",
        )
    target = f"--python {python}"
    return Installation(
        "uv pip",
        f"uv pip install {target} --upgrade {PACKAGE}",
        f"uv pip uninstall {target} {PACKAGE}",
        f"uv pip install {target}",
        f"uv pip install {_escape(target)} {{}}",
    )


def install_command(*libraries: str) -> str:
    """Return the command that installs libraries where this process can import them."""
    return find_installation().install_command(*libraries)


def extra_command(extra: str) -> str:
    """Return the command that installs an extra of OneTool where this process can import it."""
    return find_installation().extra_command(extra)


def is_editable() -> bool:
    """Whether OneTool runs from a directory with its source code."""
    try:
        text = distribution(PACKAGE).read_text("direct_url.json")
        return bool(text and json.loads(text).get("dir_info", {}).get("editable"))
    except (PackageNotFoundError, ValueError):
        return False


def _uv_tool(receipt: Path) -> Installation:
    """Return the commands of uv. Its install command replaces all requirements, so it repeats them."""
    entries = _uv_requirements(receipt)
    own: dict[str, Any] = next((entry for entry in entries if entry["name"] == PACKAGE), {"name": PACKAGE})
    others = "".join(f" --with {shlex.quote(_requirement(entry))}" for entry in entries if entry != own)
    return Installation(
        "uv tool",
        f"uv tool upgrade {PACKAGE}",
        f"uv tool uninstall {PACKAGE}",
        f"uv tool install {shlex.quote(_requirement(own))}{others}",
        f"uv tool install {{}}{_escape(others)}",
        tuple(own.get("extras", ())),
    )


def _uv_requirements(receipt: Path) -> Sequence[dict[str, Any]]:
    """Return the requirements in a receipt of uv."""
    try:
        entries: Any = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"]
        return entries if all(map(_requirement, entries)) else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _requirement(entry: dict[str, Any]) -> str:
    """Return a requirement with its extras and versions."""
    extras = f"[{','.join(entry['extras'])}]" if entry.get("extras") else ""
    return f"{entry['name']}{extras}{entry.get('specifier', '')}"


def _escape(command: str) -> str:
    """Return a command as part of a format."""
    return command.replace("{", "{{").replace("}", "}}")


def _is_project(prefix: Path) -> bool:
    """Whether an environment is the one of a project that uv manages."""
    is_environment = (prefix / VIRTUAL_ENVIRONMENT).is_file()
    return is_environment and (prefix.parent / "uv.lock").is_file()


def _has_pip() -> bool:
    return find_spec("pip") is not None
