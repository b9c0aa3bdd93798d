"""ot: how often tools were called, how well that went, and what it has saved."""

import time
from typing import Any

from onetool.domain.usage import PERIODS, Tally, sum_up
from onetool.domain.usage_report import MARK, Report
from onetool.sdk import ErrorText, YamlMap, get_config, usage, write_allowed

pack = "ot"

DISABLED = "Error: Statistics are disabled. Set stats.enabled: true in onetool.yaml, then ot.reload()."
TITLES = {"day": "last 24 hours", "week": "last 7 days", "month": "last 30 days", "all": "all time"}


def stats(period: str = "all", tool: str | None = None, output: str | None = None) -> Any:
    """Show the statistics of calls: how many, how well, what was saved.

    Args:
        period: `day`, `week`, `month` (the last 24 hours, 7 days, 30 days) or `all`.
        tool: Only this tool.
        output: Write an HTML report to this path too; it ends in .html.

    Returns:
        total_calls, success_rate (0 to 100), context_saved (tokens), time_saved_ms, tools; html_report.

    Example:
        ot.stats(period="day")
    """
    if not get_config("stats.enabled"):
        return ErrorText(DISABLED)
    if period not in PERIODS:
        valid = ", ".join(PERIODS)
        return ErrorText(f"Error: Invalid period '{period}'. Valid: {valid}. Example: ot.stats(period='day')")
    tally = usage(PERIODS[period])
    tally = tally if tool is None else tally.only(tool)
    figures = YamlMap(sum_up(tally, get_config("stats.round_trip_ms")))
    if output is None:
        return figures
    try:
        figures["html_report"] = _write(output, tally, period, tool)
    except OSError as error:
        return ErrorText(f"Error: Cannot write to '{output}': {error.strerror or error}")
    return figures


def _write(output: str, tally: Tally, period: str, tool: str | None) -> str:
    if not output.lower().endswith(".html"):
        raise PermissionError("the name of a report ends in .html")
    now, length = time.time(), PERIODS[period]
    report = Report(
        tally=tally,
        title=f"{TITLES[period]}, {tool}" if tool else TITLES[period],
        since=None if length is None else now - length,
        now=now,
        round_trip_ms=get_config("stats.round_trip_ms"),
    )
    content = report.html().encode("utf-8", "replace")
    return str(write_allowed(output, content, may_replace=lambda head: MARK.encode() in head))
