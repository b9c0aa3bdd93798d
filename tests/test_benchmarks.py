"""The benchmarks: published figures match the last run, and regressions are detected."""

import json

import pytest

from support.paths import PROJECT as ROOT


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the benchmarks importable from the repository."""
    monkeypatch.syspath_prepend(str(ROOT))


def test_benchmark_page_contains_the_latest_results():
    """docs/benchmarks.md contains benchmarks/results/latest.md verbatim."""
    from benchmarks.report import LATEST, PAGE, with_figures

    page = PAGE.read_text(encoding="utf-8")
    assert with_figures(page, LATEST.read_text(encoding="utf-8")) == page


def test_ratio_over_one_and_a_half_times_the_committed_one_is_reported():
    """Smaller differences count as noise."""
    from benchmarks.smoke import worse

    assert worse({"call": 14.9, "run": 3.1, "REST": 0.5}, {"call": 10.0, "run": 2.0, "REST": 1.0}) == ["run"]


def test_smoke_benchmark_measures_exactly_the_committed_ratios(tmp_path):
    from benchmarks.smoke import COMMITTED, measures

    assert list(json.loads(COMMITTED.read_text())) == list(measures(tmp_path))


def test_figure_shows_the_ratio_and_both_amounts_in_suitable_units():
    from benchmarks.figures import Figure, Table

    texts = [
        str(Figure(1e-3, 2.5e-3)),
        str(Figure(85_000, 143, "tokens")),
        str(Figure(2**20, 2**21, "bytes")),
    ]
    assert texts == ["2.50x (1.0 ms → 2.5 ms)", "1/594 (85,000 → 143)", "2.00x (1 MB → 2 MB)"]
    table = Table("Calls", "How.", ("what", "time"), [("one", Figure(1e-6, 3e-6))])
    assert "| one  | 3.00x (1.0 µs → 3.0 µs) |" in table.markdown()
