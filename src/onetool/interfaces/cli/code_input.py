"""Code that commands read from an argument, a file or stdin."""

import sys
from pathlib import Path

import click


def read_code(code: str | None, file: str | None) -> str:
    """Return the code of an argument, of stdin if it is `-`, or of a file.

    Raises:
        click.ClickException: It is not UTF-8 text.
    """
    if file is None and code != "-":
        return str(code)
    try:
        return Path(file).read_text(encoding="utf-8") if file else sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        name = repr(file) if file else "stdin"
        raise click.ClickException(f"{name} is not UTF-8 text (byte {error.start}).") from None
