"""ot: usage statistics."""

import time
from typing import Any

from onetool.domain.usage.html_report import REPORT_MARKER, HtmlReport
from onetool.domain.usage.summary import PERIODS, UsageSummary, summarize
from onetool.sdk import ErrorText, YamlMap, get_config, usage, write_report

pack = "ot"

DISABLED = "Error: Statistics are disabled. Set stats.enabled: true in onetool.yaml, then ot.reload()."
TITLES = {"day": "last 24 hours", "week": "last 7 days", "month": "last 30 days", "all": "all time"}


def stats(period: str = "all", tool: str | None = None, output: str | None = None) -> Any:
    """Show call statistics: number of calls, success rate, tokens and time saved.

    Args:
        period: `day`, `week`, `month` (the last 24 hours, 7 days, 30 days) or `all`.
        tool: Include only this tool.
        output: Path of an HTML report to write; must end in .html.

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
    summary = usage(PERIODS[period])
    summary = summary if tool is None else summary.for_tool(tool)
    figures = YamlMap(summarize(summary, get_config("stats.round_trip_ms")))
    if output is None:
        return figures
    try:
        figures["html_report"] = _write_report(output, summary, period, tool)
    except OSError as error:
        return ErrorText(f"Error: Cannot write to '{output}': {error.strerror or error}")
    return figures


def _write_report(output: str, summary: UsageSummary, period: str, tool: str | None) -> str:
    if not output.lower().endswith(".html"):
        raise PermissionError("the file name must end in .html")
    now, period_s = time.time(), PERIODS[period]
    report = HtmlReport(
        summary=summary,
        title=f"{TITLES[period]}, {tool}" if tool else TITLES[period],
        since=None if period_s is None else now - period_s,
        now=now,
        round_trip_ms=get_config("stats.round_trip_ms"),
    )
    content = report.html().encode("utf-8", "replace")
    return str(write_report(output, content, may_replace=lambda head: REPORT_MARKER.encode() in head))
