"""Write the usage report of an invented week, to look at: python docs/sample_report.py report.html."""

import random
import sys
from pathlib import Path

from onetool.domain.usage import PERIODS, CallEvent, Saving, Tally
from onetool.domain.usage_report import Report

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


def events() -> list[CallEvent | Saving]:
    """Calls of seven days, more by day than by night."""
    chance = random.Random(7)  # noqa: S311 - an invented week, the same every time
    made: list[CallEvent | Saving] = []
    for hour in range(7 * 24):
        busy = 14 if 8 <= hour % 24 <= 18 else 2
        for _ in range(chance.randint(0, busy)):
            tool = chance.choice(list(TOOLS))
            usual, failing = TOOLS[tool]
            at = NOW - hour * 3600 - chance.random() * 3600
            took = usual * chance.lognormvariate(0, 0.6)
            made.append(CallEvent(tool=tool, at=at, ok=chance.random() > failing, duration_ms=took))
        if hour % 6 == 0:
            made.append(Saving("definitions", NOW - hour * 3600, f"session {hour}", tokens=18_400))
            made.append(Saving("calls", NOW - hour * 3600, tool="run", round_trips=chance.randint(1, 9)))
            made.append(Saving("result", NOW - hour * 3600, tool="run", tokens=chance.randint(1_000, 30_000)))
    return made


if __name__ == "__main__":
    report = Report(
        tally=Tally().add(events()),
        title="last 7 days",
        since=NOW - (PERIODS["week"] or 0),
        now=NOW,
        round_trip_ms=1500,
    )
    Path(sys.argv[1]).write_text(report.html(), encoding="utf-8")
