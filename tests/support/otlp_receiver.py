"""An OTLP endpoint on the loopback interface that decodes what it receives."""

from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from onetool.testing.http_stub import HttpStub, RecordedRequest, StubResponse


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as it was exported."""

    name: str
    scope: str
    trace_id: str
    id: str
    parent: str
    """The id of the parent; empty if there is none."""
    attributes: dict[str, Any]
    resource: dict[str, Any]
    is_error: bool
    text: str
    """Everything in the span."""


class OtlpReceiver(HttpStub):
    """Receives spans, metrics and logs."""

    def __init__(self) -> None:
        paths = ("/v1/traces", "/v1/metrics", "/v1/logs")
        super().__init__(dict.fromkeys(paths, StubResponse()))

    def spans(self) -> list[ReceivedSpan]:
        """Return all spans, in the order in which they ended."""
        return [span for request in self._bodies("/v1/traces") for span in _read_spans(request.body)]

    def spans_by_name(self) -> dict[str, ReceivedSpan]:
        """Return the last span of each name."""
        return {span.name: span for span in self.spans()}

    def points(self, metric: str) -> list[tuple[dict[str, Any], int, str]]:
        """Return the attributes, the count and the unit of each point in the last values of a histogram."""
        found = []
        for request in self._bodies("/v1/metrics"):
            message = ExportMetricsServiceRequest.FromString(request.body)
            metrics = [
                item
                for resource in message.resource_metrics
                for scope in resource.scope_metrics
                for item in scope.metrics
            ]
            for item in metrics:
                if item.name == metric:
                    points = item.histogram.data_points
                    found = [(_attributes(point.attributes), point.count, item.unit) for point in points]
        return found

    def logs(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the time in nanoseconds and the attributes of each log record."""
        return [
            (record.time_unix_nano, _attributes(record.attributes))
            for request in self._bodies("/v1/logs")
            for resource in ExportLogsServiceRequest.FromString(request.body).resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    def received(self) -> str:
        """Return everything that was received, as text."""
        return "".join(request.body.decode("latin-1") for request in self.requests)

    def _bodies(self, path: str) -> list[RecordedRequest]:
        return [request for request in self.requests if request.path == path]


def _read_spans(body: bytes) -> list[ReceivedSpan]:
    return [
        ReceivedSpan(
            span.name,
            scope.scope.name,
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex(),
            _attributes(span.attributes),
            _attributes(resource.resource.attributes),
            span.status.code == 2,
            str(span),
        )
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
