"""The tests that prove what SECURITY.md claims, from their marks."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from .markdown import page

ROOT = Path(__file__).parents[2]
ABOUT = """Each claim of the [security model](../security.md) links to its tests here. `pytest` runs a name as
it is written. A test is listed for the claims of its mark `guards`; `just docs` generates this list."""
TYPESCRIPT_MARK = re.compile(r"^// guards: ([\w-]+)$", re.MULTILINE)


def proofs() -> dict[str, list[str]]:
    """Return the names of the tests of each claim."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if "mark.guards(" in text:
            for claim, test in _marked(ast.parse(text)):
                found[claim].append(f"{file.relative_to(ROOT).as_posix()}::{test}")
    for file in sorted((ROOT / "web" / "src" / "tests").glob("*.test.ts*")):
        for claim in TYPESCRIPT_MARK.findall(file.read_text(encoding="utf-8")):
            found[claim].append(file.relative_to(ROOT).as_posix())
    return dict(sorted(found.items()))


def _marked(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.guards":
                    yield from ((ast.literal_eval(claim), node.name) for claim in mark.args)


def pages() -> dict[str, str]:
    """Return the page by its path."""
    sections = [
        f"## {claim}\n\n" + "\n".join(f"- `{test}`" for test in tests) for claim, tests in proofs().items()
    ]
    return {"reference/security-tests.md": page("Tests of the security model", ABOUT, "\n\n".join(sections))}
