"""Export of audit entries as logs, with OTLP over HTTP. Needs the extra `otel`."""

import os
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

import httpx2
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import SEVERITY_NUMBER_INFO, LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.sdk.resources import OTELResourceDetector

from onetool.domain.audit.entry import AuditEntry
from onetool.domain.text.json_text import encode
from onetool.version import __version__

ENDPOINT, LOGS_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS")
TIMEOUT_S = 10.0
NANOSECONDS_PER_MILLISECOND = 1_000_000


class AuditLogExport:
    """Sends entries of a workspace to the endpoint that the environment variables name. Blocks."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._url = os.environ.get(LOGS_ENDPOINT) or f"{os.environ[ENDPOINT].rstrip('/')}/v1/logs"
        self._client = httpx2.Client(headers=_headers(), timeout=TIMEOUT_S)
        detected = {name: str(value) for name, value in OTELResourceDetector().detect().attributes.items()}
        self._resource = Resource(attributes=_attributes({"service.name": "onetool"} | detected))

    def send(self, entries: Sequence[AuditEntry]) -> str:
        """Send entries, and return what went wrong; empty if they have arrived."""
        logs = ScopeLogs(
            scope=InstrumentationScope(name="onetool.audit", version=__version__),
            log_records=[self._record(entry) for entry in entries],
        )
        request = ExportLogsServiceRequest(
            resource_logs=[ResourceLogs(resource=self._resource, scope_logs=[logs])]
        )
        headers = {"Content-Type": "application/x-protobuf"}
        try:
            response = self._client.post(self._url, content=request.SerializeToString(), headers=headers)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return type(error).__name__
        return "" if response.is_success else f"HTTP status {response.status_code}"

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _record(self, entry: AuditEntry) -> LogRecord:
        fields = {
            "onetool.audit.id": entry.id,
            "onetool.workspace": self._workspace,
            "onetool.audit.actor": entry.actor,
            "onetool.audit.interface": entry.interface,
            "onetool.audit.action": entry.action,
            "onetool.audit.target": entry.target,
            "onetool.audit.detail": encode(entry.detail).decode(),
        }
        return LogRecord(
            time_unix_nano=round(1_000 * entry.at) * NANOSECONDS_PER_MILLISECOND,
            severity_number=SEVERITY_NUMBER_INFO,
            severity_text="INFO",
            body=AnyValue(string_value=f"{entry.actor} {entry.action} {entry.target}"),
            attributes=_attributes(fields),
        )


def _attributes(values: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=name, value=AnyValue(string_value=value)) for name, value in values.items()]


def _headers() -> dict[str, str]:
    """Return the headers that the environment names, as `name=value` separated by commas."""
    pairs = [pair.partition("=") for name in HEADERS for pair in os.environ.get(name, "").split(",")]
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs if name.strip()}
