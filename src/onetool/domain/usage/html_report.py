"""Usage statistics as a self-contained HTML file with SVG charts and a dark theme."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from .summary import HOUR, ToolUsage, UsageSummary

REPORT_MARKER = "<!-- OneTool usage report -->"
"""Identifies a report; only files that contain it are overwritten."""
MAX_RANKED = 8
"""Tools in a ranking."""
WIDTH, HEIGHT, LEFT, BOTTOM = 960, 220, 44, 24
BUCKETS = ((48, 1), (62 * 24, 24), (366 * 24, 7 * 24))
"""Maximum hours that a chart spans, and the hours of one of its bars."""
MAX_BUCKET = 30 * 24
STYLE = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1c2330; --soft: #5a6577;
  --line: #e2e6ec; --ok: #2f7d6b; --bad: #c2483d; --bar: #4667b8; }
@media (prefers-color-scheme: dark) { :root { --page: #12151b; --card: #1b2029; --ink: #e8ecf3;
  --soft: #9aa6b8; --line: #2b323e; --ok: #4fb39c; --bad: #e5766b; --bar: #7d9bea; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 32px 20px 48px; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 16px; margin: 0 0 12px; }
.soft { color: var(--soft); } header { margin-bottom: 24px; }
section, .figure { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
section { padding: 20px; margin-top: 16px; overflow-x: auto; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; }
.figure { padding: 16px; } .figure b { display: block; font-size: 26px; line-height: 1.2; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 0 16px; }
svg { display: block; width: 100%; min-width: 560px; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
.ok { fill: var(--ok); } .bad { fill: var(--bad); } .grid { stroke: var(--line); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 12px 6px 0; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { color: var(--soft); font-weight: 500; } th:first-child, td:first-child { text-align: left; }
.rank { display: grid; grid-template-columns: minmax(90px, 34%) 1fr max-content; gap: 6px 10px;
  align-items: center; }
.rank .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.rank .soft { text-align: right; }
.track { height: 10px; background: var(--line); border-radius: 5px; }
.track i { display: block; height: 10px; border-radius: 5px; background: var(--bar); }
.track i.bad { background: var(--bad); }
.key i { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin: 0 4px 0 12px; }
footer { margin-top: 24px; }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlReport:
    """The content of a report."""

    summary: UsageSummary
    title: str
    """The period, such as `last 24 hours`."""
    since: float | None
    now: float
    round_trip_ms: float

    def html(self) -> str:
        """Return the whole file."""
        total = self.summary.total()
        body = [
            self._header(),
            self._key_figures(total),
            _section("Calls over time", self._over_time(total)),
            '<div class="two">',
            _section("Slowest tools", self._slowest()),
            _section("Most failures", self._failing()),
            "</div>",
            _section("Tokens saved", self._saved()),
            _section("All tools", self._table()),
            f'<footer class="soft">Tokens are estimated as bytes / 4. Time saved assumes '
            f"{self.round_trip_ms:g} ms for each round trip that a run avoided.</footer>",
        ]
        return (
            f'<!doctype html>\n{REPORT_MARKER}\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>OneTool usage, {escape(self.title)}</title>\n<style>{STYLE}</style>\n</head>\n"
            f"<body>\n<main>\n{chr(10).join(body)}\n</main>\n</body>\n</html>\n"
        )

    def _header(self) -> str:
        created = datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%d %H:%M UTC")
        subtitle = f'<div class="soft">{escape(self.title)}, generated {created}</div>'
        return f"<header><h1>OneTool usage</h1>{subtitle}</header>"

    def _key_figures(self, total: ToolUsage) -> str:
        used_tools = sum(usage.calls > 0 for usage in self.summary.tools.values())
        figures = [
            (f"{total.calls:,}", "calls"),
            (f"{total.success_rate:g} %" if total.calls else "-", "successful"),
            (f"{used_tools:,}", "tools used"),
            (_abbreviate(total.saved_tokens), "tokens saved"),
            (_duration(total.round_trips * self.round_trip_ms), "time saved"),
        ]
        cards = (
            f'<div class="figure"><b>{value}</b><span class="soft">{name}</span></div>'
            for value, name in figures
        )
        return f'<div class="figures">{"".join(cards)}</div>'

    def _over_time(self, total: ToolUsage) -> str:
        if not total.hours:
            return _notice("No calls in this period.")
        first = int(self.since // HOUR) + 1 if self.since is not None else min(total.hours)
        return _chart(total, first, int(self.now // HOUR))

    def _slowest(self) -> str:
        called = [(name, usage) for name, usage in self.summary.tools.items() if usage.calls]
        slow = sorted(called, key=lambda entry: -entry[1].mean_ms)[:MAX_RANKED]
        return _ranking([(name, usage.mean_ms, _duration(usage.mean_ms)) for name, usage in slow], "bar")

    def _failing(self) -> str:
        failing = [(name, usage) for name, usage in self.summary.tools.items() if usage.failed]
        worst = sorted(failing, key=lambda entry: -entry[1].failed)[:MAX_RANKED]
        rows = [(name, usage.failed, f"{usage.failed:,} of {usage.calls:,}") for name, usage in worst]
        return _ranking(rows, "bad") if rows else _notice("No failures.")

    def _saved(self) -> str:
        results = sum(usage.saved_tokens for usage in self.summary.tools.values())
        definitions = sum(self.summary.sessions.values())
        if not results and not definitions:
            return _notice("None yet. Tokens are saved when code calls tools through run.")
        sessions = len(self.summary.sessions)
        rows = [
            (
                f"definitions, {sessions:,} session{'' if sessions == 1 else 's'}",
                definitions,
                _abbreviate(definitions),
            ),
            ("large results stored", results, _abbreviate(results)),
        ]
        return _ranking(rows, "bar")

    def _table(self) -> str:
        called = sorted(self.summary.tools.items(), key=lambda entry: (-entry[1].calls, entry[0]))
        rows = "".join(_row(name, usage) for name, usage in called if usage.calls)
        if not rows:
            return _notice("No calls in this period.")
        headings = ("Tool", "Calls", "Failed", "Success", "Mean", "Slowest", "Last call")
        return f"<table><tr>{''.join(f'<th>{heading}</th>' for heading in headings)}</tr>{rows}</table>"


def _row(name: str, usage: ToolUsage) -> str:
    last = datetime.fromtimestamp(usage.last_at, UTC).strftime("%Y-%m-%d %H:%M")
    cells = [
        f"{usage.calls:,}",
        f"{usage.failed:,}",
        f"{usage.success_rate:g} %",
        _duration(usage.mean_ms),
        _duration(usage.max_ms),
        last,
    ]
    return f"<tr><td>{escape(name)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _chart(total: ToolUsage, first: int, last: int) -> str:
    """Draw a bar chart of calls, with the failed part on top of each bar."""
    bucket = next((hours for span, hours in BUCKETS if last - first < span), MAX_BUCKET)
    counts = [(0, 0)] * ((last - first) // bucket + 1)
    for hour, (calls, failed) in total.hours.items():
        if first <= hour <= last:
            old_calls, old_failed = counts[(hour - first) // bucket]
            counts[(hour - first) // bucket] = old_calls + calls, old_failed + failed
    top = max((calls for calls, _ in counts), default=0) or 1
    step = (WIDTH - LEFT) / len(counts)
    bars = "".join(
        _bar(LEFT + index * step, step, count, top, _time_label((first + index * bucket) * HOUR, bucket))
        for index, count in enumerate(counts)
    )
    labels = "".join(
        f'<text x="{LEFT + (index + 0.5) * step:.1f}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{_time_label((first + index * bucket) * HOUR, bucket)}</text>"
        for index in range(0, len(counts), max(len(counts) // 8, 1))
    )
    frame = (
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{total.calls} calls, {total.failed} failed"'
    )
    return (
        f"<svg {frame}>{_grid(top)}{bars}{labels}</svg>"
        '<div class="soft key"><i style="background:var(--ok)"></i>successful'
        '<i style="background:var(--bad)"></i>failed</div>'
    )


def _grid(top: int) -> str:
    lines = []
    for value in sorted({0, top // 2, top}):
        y = _y(value, top)
        lines.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_abbreviate(value)}</text>'
        )
    return "".join(lines)


def _bar(x: float, step: float, counts: tuple[int, int], top: int, label: str) -> str:
    calls, failed = counts
    if not calls:
        return ""
    width = min(max(step * 0.72, 1), 40)
    x += (step - width) / 2
    calls_y, successes_y = _y(calls, top), _y(calls - failed, top)
    rects = (
        f'<rect class="bad" x="{x:.1f}" y="{calls_y:.1f}" width="{width:.1f}" '
        f'height="{successes_y - calls_y:.1f}"/>'
        f'<rect class="ok" x="{x:.1f}" y="{successes_y:.1f}" width="{width:.1f}" '
        f'height="{_y(0, top) - successes_y:.1f}"/>'
    )
    return f"<g><title>{label}: {calls:,} calls, {failed:,} failed</title>{rects}</g>"


def _y(value: int, top: int) -> float:
    return 10 + (HEIGHT - BOTTOM - 16) * (1 - value / top)


def _ranking(rows: Sequence[tuple[str, float, str]], color: str) -> str:
    if not rows:
        return _notice("No calls in this period.")
    largest = max(value for _, value, _ in rows) or 1
    cells: Iterable[str] = (
        f'<span class="name" title="{escape(name)}">{escape(name)}</span>'
        f'<div class="track"><i class="{color}" style="width:{100 * value / largest:.1f}%"></i></div>'
        f'<span class="soft">{label}</span>'
        for name, value, label in rows
    )
    return f'<div class="rank">{"".join(cells)}</div>'


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _notice(text: str) -> str:
    return f'<div class="soft">{text}</div>'


def _time_label(timestamp: float, hours: int) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime(
        "%H:%M" if hours == 1 else "%d %b" if hours < MAX_BUCKET else "%b %Y"
    )


def _abbreviate(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.1f} {unit}".replace(".0 ", " ")
    return f"{value:g}"


def _duration(ms: float) -> str:
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= size:
            return f"{ms / size:.1f} {unit}"
    return f"{ms:.1f} ms".replace(".0 ", " ")
