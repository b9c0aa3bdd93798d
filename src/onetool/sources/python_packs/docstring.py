"""Read a Google-style docstring: what the tool does, its arguments, what it returns, an example."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from inspect import cleandoc

SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):\s*$")
ARGUMENT = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
ALSO = {"Arguments": "Args", "Parameters": "Args", "Return": "Returns", "Examples": "Example"}


@dataclass(frozen=True, slots=True)
class Docstring:
    """The parts of a docstring; those it lacks are empty."""

    description: str = ""
    args: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    example: str = ""


def parse_docstring(text: str | None) -> Docstring:
    """Take a docstring apart; whatever stands before the first section describes the tool."""
    sections = {"": ""}
    for title, body in _sections(cleandoc(text or "")):
        sections[title] = body
    return Docstring(
        description=sections[""],
        args=dict(_arguments(sections.get("Args", ""))),
        returns=" ".join(sections.get("Returns", "").split()),
        example=sections.get("Example", ""),
    )


def _sections(text: str) -> Iterator[tuple[str, str]]:
    title, lines = "", list[str]()
    for line in text.splitlines():
        if match := SECTION.match(line):
            yield title, cleandoc("\n".join(lines)).strip()
            title, lines = ALSO.get(match[1], match[1]), []
        else:
            lines.append(line)
    yield title, cleandoc("\n".join(lines)).strip()


def _arguments(body: str) -> Iterator[tuple[str, str]]:
    name, words = "", list[str]()
    for line in body.splitlines():
        match = None if line.startswith(" ") else ARGUMENT.match(line)
        if match:
            yield name, " ".join(words)
            name, words = match[1].lstrip("*"), [match[2]]
        else:
            words.append(line.strip())
    yield name, " ".join(words).strip()
