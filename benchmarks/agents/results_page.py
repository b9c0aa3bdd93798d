"""The table of all results: one row per provider and mode."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.agents.transcript import RESULTS

COLUMNS = (
    "provider and mode", "tasks", "success", "first program right", "round trips", "failed calls",
    "definitions per turn", "results", "tokens",
)  # fmt: skip
NOTE = """\
# Results

Written by `python -m benchmarks.agents` and `python -m benchmarks.agents.session`; see docs/benchmarks.md.
Round trips, failed calls and tokens are means per task. Unit: {}.
Each directory has the transcripts of its row.
"""


def write_page(folder: Path = RESULTS) -> None:
    """Write README.md with one row for each directory of transcripts."""
    rows, units = list[Sequence[str]](), set[str]()
    for directory in sorted(path for path in folder.iterdir() if path.is_dir()):
        transcripts = [_read(file) for file in sorted(directory.glob("*.json"))]
        if not transcripts:
            continue
        units |= {start["unit"] for start, _ in transcripts}
        rows.append(_row(directory.name, [figures for _, figures in transcripts]))
    table = [_line(COLUMNS), _line(["---"] * len(COLUMNS)), *map(_line, rows)]
    page = NOTE.format(" or ".join(sorted(units))) + "\n" + "\n".join(table) + "\n"
    (folder / "README.md").write_text(page, encoding="utf-8")


def _read(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the first and the last record of a transcript."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return json.loads(lines[0]), json.loads(lines[-1])


def _row(name: str, tasks: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    def mean(key: str, digits: int = 0) -> str:
        return f"{fmean(task[key] for task in tasks):,.{digits}f}"

    def share(key: str) -> str:
        return f"{sum(task[key] for task in tasks)} of {len(tasks)}"

    return (
        name, str(len(tasks)), share("success"), share("first_right"), mean("round_trips", 1),
        mean("failed_calls", 1), mean("definitions"), mean("results"), mean("tokens"),
    )  # fmt: skip


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
