"""Write a usage report with sample data: python docs/sample_report.py report.html."""

import random
import sys
from pathlib import Path

from onetool.domain.activity.record import CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.errors import Reason
from onetool.domain.usage.html_report import HtmlReport
from onetool.domain.usage.summary import PERIODS, TokenSaving

NOW = 1_794_700_800.0
TOOLS = {
    "fs.read_file": (4, 0.02),
    "web.fetch": (640, 0.09),
    "ripgrep.search": (38, 0.01),
    "github.search": (410, 0.05),
    "db.query": (95, 0.03),
    "brave.search": (820, 0.12),
    "ot.help": (3, 0.0),
    "package.latest": (260, 0.04),
}


def figures() -> RollUp:
    """Return the usage of seven days, with more calls during the day than at night."""
    rng = random.Random(7)  # noqa: S311 - reproducible sample data
    records, savings = list[CallRecord](), list[TokenSaving]()
    for hour in range(7 * 24):
        max_calls = 14 if 8 <= hour % 24 <= 18 else 2
        for _ in range(rng.randint(0, max_calls)):
            tool = rng.choice(list(TOOLS))
            typical_ms, failure_rate = TOOLS[tool]
            at = NOW - hour * 3600 - rng.random() * 3600
            duration_ms = typical_ms * rng.lognormvariate(0, 0.6)
            reason = None if rng.random() > failure_rate else Reason.RAISED
            records.append(CallRecord("", tool, at, at, reason=reason, duration_ms=duration_ms))
        if hour % 6 == 0:
            at = NOW - hour * 3600
            savings.append(TokenSaving(at, 18_400, session=f"session {hour}"))
            savings.append(TokenSaving(at, round_trips=rng.randint(1, 9)))
            savings.append(TokenSaving(at, rng.randint(1_000, 30_000)))
    return RollUp().add_usage(records).add_savings(savings)


if __name__ == "__main__":
    report = HtmlReport(
        summary=figures().summarize(None, RollUp()),
        title="last 7 days",
        since=NOW - (PERIODS["week"] or 0),
        now=NOW,
        round_trip_ms=1500,
    )
    Path(sys.argv[1]).write_text(report.html(), encoding="utf-8")
