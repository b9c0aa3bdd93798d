"""The blocks of inline metadata in the source of a pack file (PEP 723)."""

import re
from collections.abc import Sequence
from itertools import groupby

OPENING = re.compile(r"# /// (?P<type>[a-zA-Z0-9-]+)[ \t]*")
CLOSING = re.compile(r"# ///[ \t]*")


def script_blocks(content: bytes) -> list[str]:
    """Return the TOML text of each block `script`. A valid file has at most one.

    Takes time in proportion to the length, unlike the regular expression of the specification.

    >>> script_blocks(b"# /// script\\n# dependencies = []\\n# ///\\n")
    ['dependencies = []']
    """
    lines = [line.removesuffix("\r") for line in content.decode("utf-8", "replace").split("\n")]
    groups = [list(comments) for is_comment, comments in groupby(lines, _is_comment) if is_comment]
    blocks = [block for comments in groups if (block := _block(comments)) is not None]
    return [
        "\n".join(line[2:] for line in block[1:-1]) for block in blocks if block[0].split()[2] == "script"
    ]


def _is_comment(line: str) -> bool:
    return line == "#" or line.startswith("# ")


def _block(comments: Sequence[str]) -> Sequence[str] | None:
    """Return the block in successive comment lines: from the first opening line to the last closing line."""
    start = next((index for index, line in enumerate(comments) if OPENING.fullmatch(line)), len(comments))
    lines = range(len(comments) - 1, start + 1, -1)
    end = next((index for index in lines if CLOSING.fullmatch(comments[index])), None)
    return None if end is None else comments[start : end + 1]
