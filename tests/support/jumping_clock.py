"""A wall clock of a process that a file sets ahead or back."""

import os
from pathlib import Path

HOUR_S = 3600
SITE_MODULE = """import os, time

def jump(clock, scale):
    def read():
        with open(os.environ["CLOCK_OFFSET"]) as file:
            return clock() + int(file.read()) * scale
    return read

time.time, time.time_ns = jump(time.time, 1), jump(time.time_ns, 10**9)
"""


class JumpingClock:
    """The wall clock of the processes that are started with `env`."""

    def __init__(self, root: Path) -> None:
        self._offset, modules = root / "offset", root / "modules"
        modules.mkdir(parents=True)
        (modules / "sitecustomize.py").write_text(SITE_MODULE)
        self.set(0)
        path = os.pathsep.join(filter(None, [str(modules), os.environ.get("PYTHONPATH")]))
        self.env = {"PYTHONPATH": path, "CLOCK_OFFSET": str(self._offset)}

    def set(self, hours: int) -> None:
        """Set the clock ahead of the real one by a number of hours, or behind."""
        temporary = self._offset.with_suffix(".new")
        temporary.write_text(str(hours * HOUR_S))
        temporary.replace(self._offset)
