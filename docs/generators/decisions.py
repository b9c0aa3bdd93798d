"""The list of decision records, from their titles."""

from pathlib import Path

from .markdown import page

PLACE = Path(__file__).parent.parent / "decisions"
ABOUT = """Why things are as they are: one page each, written when it was decided and changed only where it
has become untrue. `just docs` writes this list."""


def pages() -> dict[str, str]:
    """The list, by its place."""
    records = [
        f"- [{file.read_text(encoding='utf-8').partition(chr(10))[0].removeprefix('# ')}]({file.name})"
        for file in sorted(PLACE.glob("0*.md"))
    ]
    return {"decisions/index.md": page("Decisions", ABOUT, "\n".join(records))}
