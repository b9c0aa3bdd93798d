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


def test_figure_shows_the_interval():
    from benchmarks.figures import Figure

    assert str(Figure(0.5, 0.75, "part", (0.7, 0.8))) == "1.50x (0.500 → 0.750, 0.700–0.800)"


def test_graded_queries_are_split_by_need():
    """Other words for the same need are never in both sets, and each query has a relevant tool."""
    from benchmarks.graded_queries import load_queries

    queries = load_queries()
    assert len({query.query for query in queries}) == len(queries) >= 300
    needs = {
        name: {query.need for query in queries if query.set == name} for name in ("development", "held-out")
    }
    assert all(needs.values())
    assert not needs["development"] & needs["held-out"]
    assert all(query.relevant and len(query.grades) <= query.judged for query in queries)


def test_agreement_is_one_for_equal_grades_and_zero_by_chance():
    from benchmarks.graded_queries import GradedQuery, agreement

    def graded(*grades, judged):
        tools = {str(n): pair for n, pair in enumerate(grades)}
        return GradedQuery(set="development", need=1, kind="need", query="q", judged=judged, grades=tools)

    assert agreement([graded((2, 2), (1, 1), judged=5)]) == 1
    assert agreement([graded((2, 2), (2, 0), (0, 2), judged=4)]) == 0


def test_mean_grade_of_one_is_relevant():
    from benchmarks.graded_queries import GradedQuery

    grades = {"both": (2, 1), "mean": (2, 0), "half": (1, 0)}
    query = GradedQuery(set="held-out", need=1, kind="need", query="q", judged=9, grades=grades)
    assert query.relevant == {"both": 1.5, "mean": 1.0}


def test_interval_contains_the_mean_and_shrinks_with_more_queries():
    from benchmarks.rankings import interval, mean

    few, many = [0.0, 1.0] * 10, [0.0, 1.0] * 1_000
    for values in (few, many):
        low, high = interval(values)
        assert low <= mean(values) <= high
    assert interval(many)[1] - interval(many)[0] < interval(few)[1] - interval(few)[0]
    assert interval([1.0] * 5) == (1.0, 1.0)
