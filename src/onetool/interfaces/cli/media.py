"""Media in the results of commands: one line each, and `--save` for their bytes."""

import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import click

from onetool.domain.content.file_types import file_name
from onetool.domain.content.media import Media
from onetool.domain.content.parts import Part
from onetool.files.atomic import write_new
from onetool.runtime.runtime import Runtime

UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
MAX_TOOL_LENGTH = 60
"""Characters of a tool's name in the name of a file."""
HANDLE_LENGTH = 8
"""Characters of a handle in the name of a file."""

save_option = click.option(
    "--save",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the images, sounds and files in the result to DIR.",
)


async def content_json(runtime: Runtime, parts: Sequence[Part], tool: str) -> dict[str, Any]:
    """Return the field `content` as REST returns it, if there are parts."""
    return {"content": await runtime.state.model_output.render_parts(parts, tool)} if parts else {}


def save_media(media: Sequence[Media], tool: str, directory: Path | None) -> None:
    """Write each of the media to a new file and name the files on stderr. Without a directory, do nothing."""
    for item in media if directory else ():
        path = _write(directory or Path(), item, tool)
        click.echo(f"Saved {str(path)!r} ({item.mime_type}, {item.size} bytes)", err=True)


def _write(directory: Path, media: Media, tool: str) -> Path:
    """Write media to a file that does not exist yet. Its name contains nothing that a server chose freely."""
    stem = UNSAFE.sub("_", tool)[:MAX_TOOL_LENGTH].strip(".-") or "result"
    stem, data = f"{stem}-{media.handle[:HANDLE_LENGTH]}", media.to_bytes()
    stems = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    paths = (directory / file_name(stem, media.mime_type) for stem in stems)
    return next(path for path in paths if write_new(path, data))
