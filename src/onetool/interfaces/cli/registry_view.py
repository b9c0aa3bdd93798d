"""What a person reviews before a server of the registry is added or updated."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from onetool.domain.servers.registry_inputs import RegistryInput
from onetool.domain.text.strings import escape_invisible, pluralize
from onetool.interfaces.server_settings.installation import ServerPackage, format_command

from .command import mask

WIDTH = 12
AGES = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def show_entry(package: ServerPackage, base_url: str) -> None:
    """Show who publishes a server, what it is and what it wants."""
    entry, launch = package.entry, package.launch
    _line("Server", f"{entry.name} {entry.version}")
    _line("Publisher", entry.publisher)
    _line("Description", entry.description)
    _line("Repository", entry.repository or "not given")
    if entry.status != "active":
        _line("Status", f"{entry.status} {entry.status_message}".strip())
    _line("Registry", base_url)
    if launch.kind == "remote":
        _line("URL", launch.identifier)
    else:
        _line("Package", f"{launch.kind} {launch.identifier} {launch.version}")
        problem = f"not available: {package.digest_problem}"
        _line("Digest", problem if package.digest_problem else ", ".join(package.digests.values()))
    for label, text in zip(("Wants", *[""] * len(launch.inputs)), _wishes(launch.inputs), strict=False):
        _line(label, text)


def show_settings(server: Mapping[str, Any]) -> None:
    """Show exactly what would be written: the command or URL, variables and headers."""
    if "url" in server:
        _line("Connect to", server["url"])
    else:
        _line("Command", format_command(server))
    for label, key in (("Variable", "env"), ("Header", "headers")):
        for name, value in server.get(key, {}).items():
            _line(label, f"{name}={value}")


def format_age(seconds: float) -> str:
    """Return an age in its largest unit.

    >>> format_age(7_300)
    '2 hours'
    """
    size, unit = next((age for age in AGES if seconds >= age[0]), AGES[-1])
    return pluralize(int(seconds // size), unit)


def _wishes(inputs: tuple[RegistryInput, ...]) -> Iterator[str]:
    for found in inputs:
        kind = "secret" if found.is_secret else "path" if found.is_path else "value"
        marks = [kind, *(["required"] if found.is_required else [])]
        marks += [f"default {found.default}"] if found.default else []
        marks += [f"one of {' | '.join(found.choices)}"] if found.choices else []
        yield f"{found.name} ({', '.join(marks)})" + (f": {found.description}" if found.description else "")


def _line(label: str, text: str) -> None:
    click.echo(mask(f"{label:<{WIDTH}} {escape_invisible(text)}"), err=True)
