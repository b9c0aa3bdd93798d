"""MkDocs hooks: add pages from the repository root, and convert block marks to titles."""

import re
import shlex
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
ROOT_PAGES = ("ARCHITECTURE", "SECURITY", "CONTRIBUTING", "CONVENTIONS", "CHANGELOG", "CODE_OF_CONDUCT")
"""Pages in the repository root that are part of the site."""
LINK = re.compile(rf"\]\((?P<up>(?:\.\./)*)(?P<name>{'|'.join(ROOT_PAGES)})\.md")
FENCE = re.compile(r"^(?P<start> *```)(?P<language>\w+) (?P<marks>\S.*)$", re.M)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the repository root."""
    for name in ROOT_PAGES:
        path = f"{name.lower()}.md"
        files.append(File.generated(config, path, abs_src_path=str(ROOT / f"{name}.md")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Adjust links to root pages, and convert block marks to titles."""
    is_root_page = page.file.generated_by is not None
    if is_root_page:
        markdown = markdown.replace("](docs/", "](")
    levels = 0 if is_root_page else 1
    markdown = LINK.sub(lambda match: f"]({match['up'][3 * levels :]}{match['name'].lower()}.md", markdown)
    return FENCE.sub(_add_title, markdown)


def _add_title(match: re.Match[str]) -> str:
    marks = dict(mark.partition("=")[::2] for mark in shlex.split(match["marks"]))
    title = marks.get("file", "").removeprefix("./") or ("Output" if "output" in marks else "")
    return f"{match['start']}{match['language']}" + (f' title="{title}"' if title else "")
