"""Select the test modules nearest to a change: `just test-changed`, or `just test-changed REVISION`.

The change is what differs from REVISION (by default HEAD), with files that git does not know yet. It selects

1. the test modules that changed, and those that import a helper of the tests that changed;
2. the test modules that import a changed module of OneTool, or have its name;
3. if these are few, the test modules that import a module which imports a changed one.

Tests that reach the change only through more modules, such as those of every interface, are left to
`just check`, because they are most of the suite for almost any change.
"""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp

PROJECT = Path(__file__).parents[2]
TESTS, SOURCE = PROJECT / "tests", PROJECT / "src"
FEW = 6
"""With fewer nearest test modules, those one import further away are added."""
MOST = 40
"""More test modules run longer than a person waits."""


def changed_files(revision: str) -> set[Path]:
    """Return the files that differ from a revision, and new ones."""
    commands = (
        ["git", "diff", "--name-only", revision],
        ["git", "ls-files", "--others", "--exclude-standard"],
    )
    names = [subprocess.check_output(command, cwd=PROJECT, text=True).split("\n") for command in commands]
    return {PROJECT / name for name in names[0] + names[1] if name}


def imports(file: Path) -> Iterator[str]:
    """Return the modules that a file may import, also those in functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_name(file: Path, root: Path) -> str:
    """Return the dotted name of a file below a directory that modules are imported from."""
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def words(stem: str) -> frozenset[str]:
    """Return the words of a file name without plural endings, so that `jobs` is like `test_job`."""
    return frozenset(word.removesuffix("s") for word in stem.removeprefix("test_").split("_"))


class TestModules:
    """All files of the tests, and what they import."""

    __test__ = False

    def __init__(self) -> None:
        files = [file for file in TESTS.rglob("*.py") if "node_modules" not in file.parts]
        self._imports = {file: set(imports(file)) for file in files}

    def importing(self, names: Iterable[str]) -> set[Path]:
        """Return the test modules that import one of these modules, also through helpers of the tests."""
        wanted, found = set(names), set[Path]()
        while True:
            new = {file for file, names in self._imports.items() if names & wanted} - found
            if not new:
                return {file for file in found if _is_test(file)}
            found |= new
            wanted = {module_name(file, TESTS) for file in new}

    def directly_importing(self, names: Iterable[str]) -> set[Path]:
        """Return the test modules that import one of these modules themselves."""
        wanted = set(names)
        return {file for file, names in self._imports.items() if names & wanted and _is_test(file)}

    def named_like(self, modules: Iterable[str]) -> set[Path]:
        """Return the test modules that have the name of one of these modules."""
        stems = {words(module.rpartition(".")[2]) for module in modules}
        return {file for file in self._imports if _is_test(file) and words(file.stem) in stems}


def _is_test(file: Path) -> bool:
    return file.name.startswith("test_")


def select(files: Iterable[Path]) -> list[Path]:
    """Return the test modules to run, nearest first."""
    tests, python = TestModules(), [file for file in files if file.suffix == ".py"]
    changed = {file for file in python if file.is_relative_to(TESTS) and _is_test(file) and file.exists()}
    helpers = {module_name(file, TESTS) for file in python if file.is_relative_to(TESTS)}
    modules = {module_name(file, SOURCE) for file in python if file.is_relative_to(SOURCE)}
    near = tests.directly_importing(modules) | tests.named_like(modules) | tests.importing(helpers)
    nearest = [*sorted(changed), *sorted(near - changed)]
    if len(nearest) < FEW and modules:
        graph = grimp.build_graph("onetool")
        known = modules & graph.modules
        users = set[str]().union(*(graph.find_modules_that_directly_import(module) for module in known))
        further = tests.directly_importing(users) | tests.named_like(users)
        nearest += sorted(further - set(nearest))
    return nearest


def main(revision: str = "HEAD", *options: str) -> int:
    """Run the tests nearest to a change; print which are left to the whole suite."""
    found = select(changed_files(revision))
    if not found:
        print(f"No test is near to what differs from {revision}. Run all of them: just test")
        return 0
    names = [str(file.relative_to(PROJECT)) for file in found]
    print(f"{len(names)} test modules: {' '.join(names[:MOST])}", flush=True)
    if len(names) > MOST:
        print(f"Not run, {len(names) - MOST} more: {' '.join(names[MOST:])}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", *options, *names[:MOST]]
    return subprocess.call(command, cwd=PROJECT)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
