"""Statistics as one HTML file that needs nothing else: figures, charts as SVG, dark and light."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from .usage import HOUR, Tally, ToolTally

MARK = "<!-- OneTool usage report -->"
"""By which a report is known: only such a file is ever replaced."""
SHOWN = 8
WIDTH, HEIGHT, LEFT, BOTTOM = 960, 220, 44, 24
BUCKETS = ((48, 1), (62 * 24, 24), (366 * 24, 7 * 24))
"""Hours that a chart spans, and the hours that one bar of it covers."""
WIDEST_BUCKET = 30 * 24
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
class Report:
    """What a report is about."""

    tally: Tally
    title: str
    """The period in words, such as `last 24 hours`."""
    since: float | None
    now: float
    round_trip_ms: float

    def html(self) -> str:
        """Write the whole file."""
        total = self.tally.total()
        body = [
            self._header(),
            self._figures(total),
            _section("Calls over time", self._over_time(total)),
            '<div class="two">',
            _section("Slowest tools", self._slowest()),
            _section("Most failing tools", self._failing()),
            "</div>",
            _section("Tokens saved", self._saved()),
            _section("All tools", self._table()),
            f'<footer class="soft">Tokens are estimated as bytes / 4. Time saved counts '
            f"{self.round_trip_ms:g} ms for each round trip that a run made unnecessary.</footer>",
        ]
        return (
            f'<!doctype html>\n{MARK}\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>OneTool usage, {escape(self.title)}</title>\n<style>{STYLE}</style>\n</head>\n"
            f"<body>\n<main>\n{chr(10).join(body)}\n</main>\n</body>\n</html>\n"
        )

    def _header(self) -> str:
        written = datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%d %H:%M UTC")
        about = f'<div class="soft">{escape(self.title)}, written {written}</div>'
        return f"<header><h1>OneTool usage</h1>{about}</header>"

    def _figures(self, total: ToolTally) -> str:
        used = sum(tally.calls > 0 for tally in self.tally.tools.values())
        figures = [
            (f"{total.calls:,}", "calls"),
            (f"{total.success_rate:g} %" if total.calls else "-", "successful"),
            (f"{used:,}", "tools used"),
            (_short(total.saved_tokens), "tokens saved"),
            (_duration(total.round_trips * self.round_trip_ms), "time saved"),
        ]
        cards = (
            f'<div class="figure"><b>{value}</b><span class="soft">{name}</span></div>'
            for value, name in figures
        )
        return f'<div class="figures">{"".join(cards)}</div>'

    def _over_time(self, total: ToolTally) -> str:
        if not total.hours:
            return _nothing("No calls in this period.")
        first = int(self.since // HOUR) + 1 if self.since is not None else min(total.hours)
        return _chart(total, first, int(self.now // HOUR))

    def _slowest(self) -> str:
        called = [(name, tally) for name, tally in self.tally.tools.items() if tally.calls]
        slow = sorted(called, key=lambda entry: -entry[1].mean_ms)[:SHOWN]
        return _ranking([(name, tally.mean_ms, _duration(tally.mean_ms)) for name, tally in slow], "bar")

    def _failing(self) -> str:
        failing = [(name, tally) for name, tally in self.tally.tools.items() if tally.failed]
        worst = sorted(failing, key=lambda entry: -entry[1].failed)[:SHOWN]
        rows = [(name, tally.failed, f"{tally.failed:,} of {tally.calls:,}") for name, tally in worst]
        return _ranking(rows, "bad") if rows else _nothing("Nothing has failed.")

    def _saved(self) -> str:
        results = sum(tally.saved_tokens for tally in self.tally.tools.values())
        definitions = sum(self.tally.sessions.values())
        if not results and not definitions:
            return _nothing("Nothing yet: tokens are saved when code calls tools through run.")
        sessions = len(self.tally.sessions)
        rows = [
            (
                f"definitions, {sessions:,} session{'' if sessions == 1 else 's'}",
                definitions,
                _short(definitions),
            ),
            ("large results kept aside", results, _short(results)),
        ]
        return _ranking(rows, "bar")

    def _table(self) -> str:
        called = sorted(self.tally.tools.items(), key=lambda entry: (-entry[1].calls, entry[0]))
        rows = "".join(_row(name, tally) for name, tally in called if tally.calls)
        if not rows:
            return _nothing("No calls in this period.")
        heads = ("Tool", "Calls", "Failed", "Success", "Mean", "Slowest", "Last call")
        return f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{rows}</table>"


def _row(name: str, tally: ToolTally) -> str:
    last = datetime.fromtimestamp(tally.last_at, UTC).strftime("%Y-%m-%d %H:%M")
    cells = [
        f"{tally.calls:,}",
        f"{tally.failed:,}",
        f"{tally.success_rate:g} %",
        _duration(tally.mean_ms),
        _duration(tally.max_ms),
        last,
    ]
    return f"<tr><td>{escape(name)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _chart(total: ToolTally, first: int, last: int) -> str:
    """Bars of calls, the failed part on top of each in another colour."""
    wide = next((hours for span, hours in BUCKETS if last - first < span), WIDEST_BUCKET)
    counts = [(0, 0)] * ((last - first) // wide + 1)
    for hour, (calls, failed) in total.hours.items():
        if first <= hour <= last:
            before = counts[(hour - first) // wide]
            counts[(hour - first) // wide] = before[0] + calls, before[1] + failed
    top = max((calls for calls, _ in counts), default=0) or 1
    step = (WIDTH - LEFT) / len(counts)
    bars = "".join(
        _bar(LEFT + index * step, step, both, top, _when((first + index * wide) * HOUR, wide))
        for index, both in enumerate(counts)
    )
    labels = "".join(
        f'<text x="{LEFT + (index + 0.5) * step:.1f}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{_when((first + index * wide) * HOUR, wide)}</text>"
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
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_short(value)}</text>'
        )
    return "".join(lines)


def _bar(x: float, step: float, counts: tuple[int, int], top: int, when: str) -> str:
    calls, failed = counts
    if not calls:
        return ""
    width = min(max(step * 0.72, 1), 40)
    x += (step - width) / 2
    whole, good = _y(calls, top), _y(calls - failed, top)
    split = (
        f'<rect class="bad" x="{x:.1f}" y="{whole:.1f}" width="{width:.1f}" height="{good - whole:.1f}"/>'
        f'<rect class="ok" x="{x:.1f}" y="{good:.1f}" width="{width:.1f}" height="{_y(0, top) - good:.1f}"/>'
    )
    return f"<g><title>{when}: {calls:,} calls, {failed:,} failed</title>{split}</g>"


def _y(value: int, top: int) -> float:
    return 10 + (HEIGHT - BOTTOM - 16) * (1 - value / top)


def _ranking(rows: Sequence[tuple[str, float, str]], colour: str) -> str:
    if not rows:
        return _nothing("No calls in this period.")
    longest = max(value for _, value, _ in rows) or 1
    cells: Iterable[str] = (
        f'<span class="name" title="{escape(name)}">{escape(name)}</span>'
        f'<div class="track"><i class="{colour}" style="width:{100 * value / longest:.1f}%"></i></div>'
        f'<span class="soft">{shown}</span>'
        for name, value, shown in rows
    )
    return f'<div class="rank">{"".join(cells)}</div>'


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _nothing(text: str) -> str:
    return f'<div class="soft">{text}</div>'


def _when(at: float, hours: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime(
        "%H:%M" if hours == 1 else "%d %b" if hours < WIDEST_BUCKET else "%b %Y"
    )


def _short(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.1f} {unit}".replace(".0 ", " ")
    return f"{value:g}"


def _duration(ms: float) -> str:
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= size:
            return f"{ms / size:.1f} {unit}"
    return f"{ms:.1f} ms".replace(".0 ", " ")
