"""Export of audit entries as logs, with OTLP over HTTP. Needs the extra `otel`."""

from collections.abc import Sequence

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from onetool.domain.audit.entry import AuditEntry
from onetool.domain.text.json_text import encode
from onetool.version import __version__

SCOPE = InstrumentationScope("onetool.audit", __version__)
NANOSECONDS_PER_MILLISECOND = 1_000_000


class AuditLogExport:
    """Sends entries of a workspace to the endpoint that the environment variables name. Blocks."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        detected = OTELResourceDetector().detect().attributes
        self._resource = Resource.create({"service.name": "onetool", **detected})
        self._exporter = OTLPLogExporter()

    def send(self, entries: Sequence[AuditEntry]) -> bool:
        """Send entries, and return whether they have arrived."""
        records = [ReadableLogRecord(self._record(entry), self._resource, SCOPE) for entry in entries]
        return self._exporter.export(records) is LogRecordExportResult.SUCCESS

    def close(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _record(self, entry: AuditEntry) -> LogRecord:
        return LogRecord(
            timestamp=round(1_000 * entry.at) * NANOSECONDS_PER_MILLISECOND,
            severity_number=SeverityNumber.INFO,
            severity_text="INFO",
            body=f"{entry.actor} {entry.action} {entry.target}",
            event_name="onetool.audit",
            attributes={
                "onetool.audit.id": entry.id,
                "onetool.workspace": self._workspace,
                "onetool.audit.actor": entry.actor,
                "onetool.audit.interface": entry.interface,
                "onetool.audit.action": entry.action,
                "onetool.audit.target": entry.target,
                "onetool.audit.detail": encode(entry.detail).decode(),
            },
        )
