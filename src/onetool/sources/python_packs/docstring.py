"""A parser for Google-style docstrings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import cleandoc

SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):\s*$")
ARGUMENT = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
SYNONYMS = {"Arguments": "Args", "Parameters": "Args", "Return": "Returns", "Examples": "Example"}


@dataclass(frozen=True, slots=True)
class Docstring:
    """The parts of a docstring. Missing parts are empty."""

    description: str = ""
    args: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    example: str = ""


def parse_docstring(text: str | None) -> Docstring:
    """Split a docstring into its parts. The text before the first section is the description."""
    sections = {"": ""}
    for title, body in _split_sections(cleandoc(text or "")):
        sections[title] = body
    return Docstring(
        description=sections[""],
        args=dict(_parse_args(sections.get("Args", ""))),
        returns=" ".join(sections.get("Returns", "").split()),
        example=sections.get("Example", ""),
    )


def _split_sections(text: str) -> Iterator[tuple[str, str]]:
    title, lines = "", list[str]()
    for line in text.splitlines():
        if match := SECTION.match(line):
            yield title, cleandoc("\n".join(lines)).strip()
            title, lines = SYNONYMS.get(match[1], match[1]), []
        else:
            lines.append(line)
    yield title, cleandoc("\n".join(lines)).strip()


def _parse_args(body: str) -> Iterator[tuple[str, str]]:
    name, words = "", list[str]()
    for line in body.splitlines():
        match = None if line.startswith(" ") else ARGUMENT.match(line)
        if match:
            yield name, " ".join(words)
            name, words = match[1].lstrip("*"), [match[2]]
        else:
            words.append(line.strip())
    yield name, " ".join(words).strip()
