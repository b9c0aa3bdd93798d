"""Change the code at random, run the tests that cover the change, and report what no test noticed.

`just mutants --count 100 --seed 1` draws 100 mutations of src/onetool. `--changed main` draws them from the
lines that differ from that commit. Each mutation is tried in a copy of the project. A test must fail twice.
"""

import argparse
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from development.mutations import Mutation, find_mutations
from support.paths import PROJECT

SOURCE = PROJECT / "src" / "onetool"
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv*", "node_modules", ".mypy_cache", "site", ".mutants", "__pycache__"
)
DURATION = re.compile(r"^\s*([\d.]+)s call\s+(\S.*?)\s*$", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", re.MULTILINE)
TEST_DURATION_S = 1.0
"""Assumed for a test whose duration was not measured."""
MAX_SECONDS = 240.0
"""Time for the tests of one mutation."""
SLACK_S, SLOWDOWN = 60.0, 5.0
"""A run that takes SLOWDOWN times as long as measured, and SLACK_S more, counts as a hang: a test noticed."""


class TestMap:
    """Which tests execute a line, and how long each takes."""

    def __init__(self, lines: dict[str, dict[str, list[str]]], durations: dict[str, float]) -> None:
        self._lines, self._durations = lines, durations

    def tests_of(self, mutation: Mutation) -> list[str]:
        """Return the tests that execute the line, the fastest first, as many as fit into MAX_SECONDS.

        A line that runs only when its module is imported is tested by all tests of the module, and a module
        that runs only in child processes by all tests of its directory.
        """
        name = mutation.path.relative_to(PROJECT).as_posix()
        line_tests = self._lines.get(name, {}).get(str(mutation.line))
        module_tests = line_tests or self._all_tests(lambda module: module == name)
        folder = name.rpartition("/")[0]
        tests = module_tests or self._all_tests(lambda module: module.rpartition("/")[0] == folder)
        fastest = sorted(tests, key=lambda test: (self._durations.get(test, TEST_DURATION_S), test))
        totals = accumulate(fastest, lambda total, test: total + self.seconds([test]), initial=0.0)
        return [test for test, before in zip(fastest, totals, strict=False) if before < MAX_SECONDS]

    def _all_tests(self, is_selected: Callable[[str], bool]) -> set[str]:
        modules = [lines for module, lines in self._lines.items() if is_selected(module)]
        return {test for lines in modules for tests in lines.values() for test in tests}

    def seconds(self, tests: Sequence[str]) -> float:
        """Return how long these tests take one after another."""
        return sum(self._durations.get(test, TEST_DURATION_S) for test in tests)


def measure(folder: Path, file: Path) -> None:
    """Run the whole suite once and write which test executes which line."""
    print("running the whole suite once to see which test executes which line", flush=True)
    data = folder / "coverage"
    command = ["-m", "pytest", "-q", "--cov", "--cov-report=", "--cov-context=test", "--durations=0", "-vv"]
    environment = os.environ | {"COVERAGE_FILE": str(data), "ONETOOL_TEST_CONTEXTS": "1"}
    run = subprocess.run(
        [sys.executable, *command], cwd=PROJECT, env=environment, capture_output=True, text=True
    )
    durations = {name: float(seconds) for seconds, name in DURATION.findall(run.stdout)}
    file.write_text(json.dumps({"lines": _lines(data), "durations": durations}), encoding="utf-8")


def _lines(data_file: Path) -> dict[str, dict[str, list[str]]]:
    from coverage import CoverageData

    data = CoverageData(str(data_file))
    data.read()
    found: dict[str, dict[str, list[str]]] = {}
    for name in data.measured_files():
        path = Path(name)
        if path.is_relative_to(SOURCE):
            contexts = data.contexts_by_lineno(name)
            found[path.relative_to(PROJECT).as_posix()] = {
                str(line): sorted({context.rpartition("|")[0] for context in named if context})
                for line, named in contexts.items()
            }
    return found


def draw(count: int, seed: int, changed: str | None, paths: Sequence[Path]) -> list[Mutation]:
    """Draw mutations, each equally likely."""
    lines = _changed_lines(changed) if changed else None
    found = [
        mutation
        for path in paths
        for mutation in find_mutations(path)
        if lines is None or (path, mutation.line) in lines
    ]
    return random.Random(seed).sample(found, min(count, len(found)))


def _changed_lines(base: str) -> set[tuple[Path, int]]:
    diff = subprocess.run(
        ["git", "diff", "--unified=0", base, "--", "src/onetool"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines: set[tuple[Path, int]] = set()
    path = PROJECT
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = PROJECT / line[6:]
        elif line.startswith("@@"):
            start, _, length = line.split("+")[1].split(" ")[0].partition(",")
            lines |= {(path, int(start) + n) for n in range(int(length or 1))}
    return lines


class Worker(threading.Thread):
    """Tries mutations in its own copy of the project, which has its own environment."""

    def __init__(
        self, folder: Path, waiting: "queue.Queue[Mutation]", tests: TestMap, report: "Report"
    ) -> None:
        super().__init__()
        self._copy, self._waiting, self._tests, self._report = folder, waiting, tests, report

    def run(self) -> None:
        shutil.copytree(PROJECT, self._copy, ignore=NOT_COPIED, symlinks=True)
        self._environment = os.environ | {"UV_PROJECT_ENVIRONMENT": str(self._copy / ".venv")}
        subprocess.run(
            ["uv", "sync", "--locked", "--quiet"], cwd=self._copy, env=self._environment, check=True
        )
        while True:
            try:
                mutation = self._waiting.get_nowait()
            except queue.Empty:
                return
            self._report.add(mutation, self._try(mutation))

    def _try(self, mutation: Mutation) -> str:
        tests = self._tests.tests_of(mutation)
        if not tests:
            return "not covered"
        file = self._copy / mutation.path.relative_to(PROJECT)
        original = file.read_text(encoding="utf-8")
        file.write_text(mutation.source, encoding="utf-8")
        try:
            while tests:
                first = self._first_failure(tests)
                if not first or first == "hang" or self._first_failure([first]):
                    return first
                tests = [test for test in tests if test != first]  # fails only sometimes
            return ""
        finally:
            file.write_text(original, encoding="utf-8")

    def _first_failure(self, tests: Sequence[str]) -> str:
        """Return the first test that fails, "hang", or an empty string if all pass."""
        names = self._copy / "tests.txt"
        names.write_text("\n".join(tests), encoding="utf-8")
        command = [str(self._copy / ".venv" / "bin" / "python"), "-m", "pytest", "-x", "-q", "-n0", "--tb=no"]
        with subprocess.Popen(
            [*command, "-p", "no:cacheprovider", f"@{names}"],
            cwd=self._copy,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as run:
            try:
                output, _ = run.communicate(timeout=self._tests.seconds(tests) * SLOWDOWN + SLACK_S)
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                return "hang"
        if run.returncode not in (0, 1, 2):  # 2: a module cannot be imported
            raise RuntimeError(f"pytest could not run the tests: {output[-500:]}")
        failed = FAILED.search(output)
        return "" if run.returncode == 0 else failed[1] if failed else tests[0]


class Report:
    """Counts what was caught, and prints each result as it arrives."""

    def __init__(self, total: int) -> None:
        self._total, self._lock = total, threading.Lock()
        self.caught: list[tuple[Mutation, str]] = []
        self.survived: list[tuple[Mutation, str]] = []

    def add(self, mutation: Mutation, outcome: str) -> None:
        is_caught = outcome not in ("", "not covered")
        with self._lock:
            (self.caught if is_caught else self.survived).append((mutation, outcome))
            done = len(self.caught) + len(self.survived)
            what = f"caught by {outcome}" if is_caught else f"SURVIVED {outcome}".rstrip()
            print(f"{done}/{self._total} {_shown(mutation)}  {what}", flush=True)

    def print_summary(self) -> None:
        for mutation, outcome in self.survived:
            print(f"survived{f' ({outcome})' if outcome else ''}: {_shown(mutation)}")
        total = len(self.caught) + len(self.survived)
        percent = 100 * len(self.caught) / max(total, 1)
        print(f"{len(self.caught)} of {total} mutations were caught ({percent:.0f} %)")


def _shown(mutation: Mutation) -> str:
    return str(mutation._replace(path=mutation.path.relative_to(PROJECT)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, help="source files; by default all of src/onetool")
    parser.add_argument("--count", type=int, default=20, help="how many mutations to try (default 20)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of the draw")
    parser.add_argument("--changed", metavar="COMMIT", help="only lines that differ from this commit")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 2, help="copies of the project to work in"
    )
    parser.add_argument(
        "--map", type=Path, help="file with the lines that each test executes; written if missing"
    )
    options = parser.parse_args()
    files = [path.resolve() for path in options.paths] or sorted(SOURCE.rglob("*.py"))
    mutations = draw(options.count, options.seed, options.changed, files)
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        folder = Path(temporary)
        map_file: Path = options.map or folder / "map.json"
        if not map_file.exists():
            measure(folder, map_file)
        tests = TestMap(**json.loads(map_file.read_text(encoding="utf-8")))
        print(f"{len(mutations)} mutations, seed {options.seed}", flush=True)
        report, waiting = Report(len(mutations)), queue.Queue[Mutation]()
        for mutation in mutations:
            waiting.put(mutation)
        workers = [Worker(folder / f"copy-{n}", waiting, tests, report) for n in range(options.jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    report.print_summary()
    return 0


if __name__ == "__main__":
    sys.exit(main())
