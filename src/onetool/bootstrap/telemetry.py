"""Telemetry of a process: turned on by the standard environment variables, flushed at the end."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from onetool.files.installation import extra_command
from onetool.telemetry import spans
from onetool.threads import Threads

if TYPE_CHECKING:
    from onetool.telemetry.export import Export

log = logging.getLogger(__name__)

ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
FLUSH_TIMEOUT_S = 1.0
"""Seconds that the end of a process waits for the endpoint."""
NO_EXTRA = "%s is set, but nothing is exported: run %s"
_export: "Export | None" = None
"""The export of this process. The providers of a process can be set once."""


@asynccontextmanager
async def open_telemetry(threads: Threads, *, owns_process: bool) -> AsyncIterator[None]:
    """Record spans and metrics if the environment says so, or if the embedding program has set up tracing.

    owns_process: whether OneTool may set up the export; otherwise, that is up to the embedding program.
    """
    is_disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    endpoint = next((name for name in ENDPOINTS if os.environ.get(name)), None)
    export = None
    if owns_process and endpoint and not is_disabled:
        export = await threads.run(_start_export, endpoint)
    if not spans.has_provider():
        yield
        return
    spans.turn_on()
    try:
        yield
    finally:
        if export is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_TIMEOUT_S):
                    await threads.run(export.flush)


def _start_export(endpoint: str) -> "Export | None":
    global _export
    if _export is None:
        try:
            from onetool.telemetry.export import Export
        except ModuleNotFoundError:
            log.warning(NO_EXTRA, endpoint, extra_command("otel"))
            return None
        try:
            _export = Export()
        except Exception as error:  # noqa: BLE001 - a wrong variable must not stop OneTool
            log.warning("nothing is exported: %s: %s", type(error).__name__, error)
    return _export
