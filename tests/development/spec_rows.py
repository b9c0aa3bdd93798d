"""A pytest plugin that reports which rows of docs/spec.tsv have a passing test (`pytest --spec`)."""

import csv
from collections import defaultdict

import pytest

from support.paths import PROJECT

ROWS = PROJECT / "docs" / "spec.tsv"
PROPERTY = "spec"


def read_rows() -> dict[str, dict[str, str]]:
    """Return the rows of the specification by id."""
    with ROWS.open(encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


class SpecRows:
    """Collects outcomes in the controlling process; workers attach their marks to each report."""

    def __init__(self, config: pytest.Config) -> None:
        self.rows = read_rows()
        self.outcomes: dict[str, list[bool]] = defaultdict(list)
        self.show = config.getoption("--spec")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            ids = [row for mark in item.iter_markers("spec") for row in mark.args]
            if unknown := set(ids) - set(self.rows):
                raise pytest.UsageError(f"{item.nodeid} marks unknown specification rows: {sorted(unknown)}")
            item.user_properties.extend((PROPERTY, row) for row in ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            for name, row in report.user_properties:
                if name == PROPERTY:
                    self.outcomes[str(row)].append(report.passed)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.show:
            return
        terminalreporter.section("specification rows")
        passing = {row for row, passed in self.outcomes.items() if all(passed)}
        for row, entry in self.rows.items():
            tests = len(self.outcomes[row])
            state = "passing" if row in passing else "FAILING" if tests else "open"
            terminalreporter.line(f"{row:<7} {state:<8} {tests:>3} tests  {entry['statement'][:90]}")
        required = [row for row, entry in self.rows.items() if entry["status"] == "NOW"]
        done = sum(row in passing for row in required)
        terminalreporter.line(f"{done} of {len(required)} required rows have a passing test")
