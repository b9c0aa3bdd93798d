"""The benchmarks: what is written down is what was measured, and a ratio that got worse is found."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """They lie beside the package, and are imported from the repository."""
    monkeypatch.syspath_prepend(str(ROOT))


def test_the_page_shows_the_figures_that_the_last_run_wrote():
    """docs/benchmarks.md holds benchmarks/results/latest.md, word for word."""
    from benchmarks.report import LATEST, PAGE, with_figures

    shown = PAGE.read_text(encoding="utf-8")
    assert with_figures(shown, LATEST.read_text(encoding="utf-8")) == shown


def test_a_ratio_that_is_half_as_large_again_is_found():
    """A little noise passes; what is over one and a half times the written ratio is named."""
    from benchmarks.smoke import worse

    assert worse({"call": 14.9, "run": 3.1, "REST": 0.5}, {"call": 10.0, "run": 2.0, "REST": 1.0}) == ["run"]


def test_every_ratio_of_the_smoke_is_written_down(tmp_path):
    """None is measured without one to compare it with, and none is there that nobody measures."""
    from benchmarks.smoke import COMMITTED, measures

    assert list(json.loads(COMMITTED.read_text())) == list(measures(tmp_path))


def test_a_figure_is_a_ratio_with_both_amounts():
    """Readers see how much, beside what, in units that suit the size."""
    from benchmarks.figures import Figure, Table

    shown = [
        str(Figure(1e-3, 2.5e-3)),
        str(Figure(85_000, 143, "tokens")),
        str(Figure(2**20, 2**21, "bytes")),
    ]
    assert shown == ["2.50x (1.0 ms → 2.5 ms)", "1/594 (85,000 → 143)", "2.00x (1 MB → 2 MB)"]
    table = Table("Calls", "How.", ("what", "time"), [("one", Figure(1e-6, 3e-6))])
    assert "| one  | 3.00x (1.0 µs → 3.0 µs) |" in table.markdown()
