"""The HTML report of usage statistics."""

import re
from html.parser import HTMLParser

import pytest

from onetool.domain.activity.record import CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.errors import Reason
from onetool.domain.usage.html_report import REPORT_MARKER, HtmlReport
from onetool.domain.usage.summary import TokenSaving
from support.activity import record

NOW = 1_794_700_000.0
HOUR, DAY = 3600.0, 86400.0


def html(*events, since=None):
    figures = RollUp().add_usage(item for item in events if isinstance(item, CallRecord))
    figures.add_savings(item for item in events if isinstance(item, TokenSaving))
    summary = figures.summarize(None, RollUp())
    return HtmlReport(summary=summary, title="a title", since=since, now=NOW, round_trip_ms=1500).html()


def call(age=0.0, tool="x.y", ok=True, duration_ms=1.0):
    return record(tool, NOW - age, reason=None if ok else Reason.RAISED, duration_ms=duration_ms)


class TagChecker(HTMLParser):
    """Checks that every opened tag is closed."""

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
def test_chart_bars_cover_hours_days_weeks_or_months(age, label):
    page = html(call(), call(age, ok=False))
    bars = page.count("<g><title>")
    assert bars == 2
    assert page.count("<text") <= 20
    assert re.search(rf'text-anchor="middle">{label}</text>', page)


def test_empty_sections_have_a_notice():
    page = html(since=NOW - DAY)
    for notice in ("No calls in this period.", "None yet.", "No failures."):
        assert notice in page
    assert REPORT_MARKER in page[:100]


def test_report_contains_totals_durations_failures_and_savings():
    page = html(
        call(duration_ms=5_400_000),
        call(duration_ms=90_000, tool="a.b"),
        call(2 * DAY, tool="<b>", ok=False),
        TokenSaving(NOW, 12_000_000, session="s"),
        TokenSaving(NOW, 2_500),
        TokenSaving(NOW, round_trips=4),
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
    checker = TagChecker()
    checker.feed(page)
    assert checker.open == []


def test_bars_are_as_high_as_their_counts():
    """The bar of an hour stands on the axis. Its failed calls stand on its successful ones."""
    page = html(call(), call(ok=False), call(ok=False), call(5 * HOUR))
    *_, (top, failed_height), (successes_y, height) = re.findall(
        r'<rect class="(?:bad|ok)"[^/]* y="([\d.]+)" [^/]*height="([\d.]+)"', page
    )
    assert float(top) + float(failed_height) == pytest.approx(float(successes_y), abs=0.11)
    assert float(failed_height) == pytest.approx(2 * float(height), abs=0.2)
    (first_x, first_width), *_, (last_x, _) = re.findall(
        r'<rect class="ok" x="([\d.]+)"[^/]* width="([\d.]+)"', page
    )
    assert float(first_x) + float(first_width) < float(last_x)
    assert 1 <= float(first_width) <= 40


@pytest.mark.parametrize(
    ("tokens", "text"), [(999, "999<"), (1000, "1 k<"), (1_000_000, "1 M<"), (1_000_000_000, "1 G<")]
)
def test_large_figures_are_abbreviated(tokens, text):
    assert f">{text}" in html(TokenSaving(NOW, tokens))
