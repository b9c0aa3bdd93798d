"""Benchmark data that is not part of the repository."""

import json
from typing import Any

from benchmarks.figures import Table
from benchmarks.options import Options

SERVERS, TASKS = "livemcp/servers.json", "livemcp/tasks.json"


class MissingData(Exception):
    """A section cannot run because its data is missing."""

    def table(self, title: str) -> Table:
        """Return an empty table that states the reason."""
        return Table(title, f"Skipped: {self}", ())


def read(options: Options, *names: str) -> list[Any]:
    """Return the contents of data files.

    Raises:
        MissingData: There is no data directory, or a file is missing.
    """
    if options.data is None:
        raise MissingData(f"pass `--data DIR`, a directory with {', '.join(f'`{name}`' for name in names)}.")
    missing = [name for name in names if not (options.data / name).is_file()]
    if missing:
        raise MissingData(f"the `--data` directory does not contain `{missing[0]}`.")
    return [json.loads((options.data / name).read_text("utf-8")) for name in names]
