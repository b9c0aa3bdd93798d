"""The report: whatever the figures, one file that can be read."""

import re
from html.parser import HTMLParser

import pytest

from onetool.domain.usage import CallEvent, Saving, Tally
from onetool.domain.usage_report import MARK, Report

NOW = 1_794_700_000.0
HOUR, DAY = 3600.0, 86400.0


def html(*events, since=None):
    tally = Tally().add(events)
    return Report(tally=tally, title="a title", since=since, now=NOW, round_trip_ms=1500).html()


def call(age=0.0, tool="x.y", ok=True, took=1.0):
    return CallEvent(tool=tool, at=NOW - age, ok=ok, duration_ms=took)


class Tags(HTMLParser):
    """Whether every tag that opens is closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "line", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("line", "rect"):
            assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("age", "label"),
    [
        (5 * HOUR, r"\d\d:00"),
        (10 * DAY, r"\d\d \w{3}"),
        (200 * DAY, r"\d\d \w{3}"),
        (900 * DAY, r"\w{3} \d{4}"),
    ],
)
def test_a_chart_fits_its_time(age, label):
    """Bars for hours, days, weeks or months: never more than can be seen."""
    page = html(call(), call(age, ok=False))
    bars = page.count("<g><title>")
    assert bars == 2
    assert page.count("<text") <= 20
    assert re.search(rf'text-anchor="middle">{label}</text>', page)


def test_what_is_empty_says_so():
    """No calls, no failures, no savings: words instead of an empty frame."""
    page = html(since=NOW - DAY)
    for words in ("No calls in this period.", "Nothing yet", "Nothing has failed."):
        assert words in page
    assert MARK in page[:100]


def test_every_figure_is_there():
    """Totals, times, failures, and tokens by where they were saved."""
    page = html(
        call(took=5_400_000),
        call(took=90_000, tool="a.b"),
        call(2 * DAY, tool="<b>", ok=False),
        Saving("definitions", NOW, "s", tokens=12_000_000),
        Saving("result", NOW, tool="run", tokens=2_500),
        Saving("calls", NOW, tool="run", round_trips=4),
        since=NOW - DAY,
    )
    for figure in (
        "1.5 h",
        "1.5 min",
        "12 M",
        "2.5 k",
        "6.0 s",
        "1 of 1",
        "&lt;b&gt;",
        "66.7 %",
        "1 session<",
    ):
        assert figure in page, figure
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
