"""Which rows of docs/spec.tsv have a passing test: marks are gathered here, `--spec` prints the table."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest

ROWS = Path(__file__).parent.parent / "docs" / "spec.tsv"
PROPERTY = "spec"


def read_rows() -> dict[str, dict[str, str]]:
    with ROWS.open(encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


class SpecRows:
    """Runs in the controlling process; workers send their marks along with each report."""

    def __init__(self, config: pytest.Config) -> None:
        self.rows = read_rows()
        self.outcomes: dict[str, list[bool]] = defaultdict(list)
        self.show = config.getoption("--spec")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            ids = [row for mark in item.iter_markers("spec") for row in mark.args]
            if unknown := set(ids) - set(self.rows):
                raise pytest.UsageError(f"{item.nodeid} names rows that do not exist: {sorted(unknown)}")
            item.user_properties.extend((PROPERTY, row) for row in ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            for name, row in report.user_properties:
                if name == PROPERTY:
                    self.outcomes[str(row)].append(report.passed)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.show:
            return
        terminalreporter.section("rows of the spec")
        passing = {row for row, passed in self.outcomes.items() if all(passed)}
        for row, entry in self.rows.items():
            tests = len(self.outcomes[row])
            state = "passing" if row in passing else "FAILING" if tests else "open"
            terminalreporter.line(f"{row:<7} {state:<8} {tests:>3} tests  {entry['statement'][:90]}")
        wanted = [row for row, entry in self.rows.items() if entry["status"] == "NOW"]
        done = sum(row in passing for row in wanted)
        terminalreporter.line(f"{done} of {len(wanted)} rows to build have a passing test")
