"""`onetool worker` as a process."""

from pathlib import Path

import pytest

from support.hosted_process import Installation
from support.rest_process import RestProcess
from support.waiting import HANG_S

READY = "OneTool runs queued jobs.\n"


class WorkerProcess(RestProcess):
    """A worker of an installation, with the packs of the tests."""

    command = ("worker",)

    def __init__(self, root: Path, installation: Installation, *options: str) -> None:
        variables = {"ONETOOL_DATABASE_URL": installation.url, "ONETOOL_KEYS": installation.keys}
        super().__init__(root, *options, **variables)

    def write_settings(self, text: str) -> None:
        """Do nothing: settings are those of the workspaces."""

    def write_secrets(self) -> None:
        """Do nothing: secrets are those of the workspaces."""

    def start(self) -> "WorkerProcess":
        """Start the process and wait until it works."""
        super().start()
        if (line := self.read_line()) != READY:
            self.stop()
            pytest.fail(f"the worker did not start: {line!r} {self.errors.read_text()[-2000:]}")
        return self

    def kill(self) -> None:
        """End the process without giving it time."""
        self.process.kill()
        self.process.wait(HANG_S)

    def __enter__(self) -> "WorkerProcess":
        return self.start()
