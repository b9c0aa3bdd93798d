"""Data that is not kept here: read from the directory that was given, or said to be absent."""

import json
from typing import Any

from benchmarks.figures import Table
from benchmarks.options import Options

SERVERS, TASKS = "livemcp/servers.json", "livemcp/tasks.json"


class Absent(Exception):
    """What cannot be measured here, and what would change that."""

    def table(self, title: str) -> Table:
        """A section that says so."""
        return Table(title, f"Left out: {self}", ())


def read(options: Options, *names: str) -> list[Any]:
    """The contents of these files.

    Raises Absent when there is no directory, or one of them is missing.
    """
    if options.data is None:
        raise Absent(f"give `--data DIR`, a directory with {', '.join(f'`{name}`' for name in names)}.")
    missing = [name for name in names if not (options.data / name).is_file()]
    if missing:
        raise Absent(f"the directory of `--data` has no `{missing[0]}`.")
    return [json.loads((options.data / name).read_text("utf-8")) for name in names]
