"""What the site makes of the pages: those of the root join it, and marks of blocks become titles."""

import re
import shlex
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
JOINING = ("ARCHITECTURE", "SECURITY", "CONTRIBUTING", "CONVENTIONS", "CHANGELOG")
"""Pages that lie where people look for them in a repository."""
LINK = re.compile(rf"\]\((?P<up>(?:\.\./)*)(?P<name>{'|'.join(JOINING)})\.md")
FENCE = re.compile(r"^(?P<start> *```)(?P<language>\w+) (?P<marks>\S.*)$", re.M)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root."""
    for name in JOINING:
        place = f"{name.lower()}.md"
        files.append(File.generated(config, place, abs_src_path=str(ROOT / f"{name}.md")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write links as the site has them, and say above a block what its marks mean."""
    comes_from_root = page.file.generated_by is not None
    if comes_from_root:
        markdown = markdown.replace("](docs/", "](")
    up = 0 if comes_from_root else 1
    markdown = LINK.sub(lambda found: f"]({found['up'][3 * up :]}{found['name'].lower()}.md", markdown)
    return FENCE.sub(_titled, markdown)


def _titled(found: re.Match[str]) -> str:
    marks = dict(mark.partition("=")[::2] for mark in shlex.split(found["marks"]))
    if "norun" in marks:
        title = f"Not run by our tests: {marks['norun']}"
    else:
        title = marks.get("file", "").removeprefix("./") or ("Output" if "output" in marks else "")
    return f'{found["start"]}{found["language"]} title="{title}"' if title else found[0]
