"""The index of decision records."""

from pathlib import Path

from .markdown import page

DIRECTORY = Path(__file__).parent.parent / "decisions"
ABOUT = """Each record describes one decision and its reasons. Records are written when a decision is made and
updated when they become outdated. `just docs` generates this list."""


def pages() -> dict[str, str]:
    """Return the index by its path."""
    records = [
        f"- [{file.read_text(encoding='utf-8').partition(chr(10))[0].removeprefix('# ')}]({file.name})"
        for file in sorted(DIRECTORY.glob("0*.md"))
    ]
    return {"decisions/index.md": page("Decisions", ABOUT, "\n".join(records))}
