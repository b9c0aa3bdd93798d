"""The port of the sandbox for code that models write."""

from collections.abc import Mapping
from typing import Protocol

from onetool.domain.code.sandbox import SandboxJob, SandboxResult


class Sandbox(Protocol):
    """Runs untrusted code in isolation. The code has no access to the system; it can only call tools."""

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run the code and return its result; an error in the code is a result too.

        Cancelling this coroutine stops the code immediately.
        """
        ...

    async def restrictions(self) -> Mapping[str, bool]:
        """Return the restrictions of the worker processes, and whether this system supports each.

        Empty if workers are not restricted on this kind of system.
        """
        ...

    def close(self) -> None:
        """Stop all workers."""
        ...
