"""Export of spans and metrics with OTLP over HTTP. Needs the extra `otel`."""

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Status

from onetool.version import __version__

from . import names
from .spans import TOOLS_CALL

log = logging.getLogger(__name__)

MCP_ATTRIBUTES = frozenset(
    {
        names.METHOD,
        names.PROTOCOL_VERSION,
        names.REQUEST_ID,
        names.OPERATION,
        names.TOOL,
        names.ERROR,
        names.STATUS_CODE,
    }
)
"""What is exported of the spans of the MCP SDK."""


class Export:
    """Sends what the process records to the endpoint that the environment variables name."""

    def __init__(self) -> None:
        self.failed: set[str] = set()
        """What could not be sent last time: spans, metrics."""
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it logs every failed attempt
        detected = OTELResourceDetector().detect().attributes
        resource = Resource.create({"service.name": "onetool", "service.version": __version__, **detected})
        self._tracing = TracerProvider(
            resource=resource,
            span_limits=SpanLimits(max_span_attribute_length=names.MAX_LENGTH),
            shutdown_on_exit=False,
        )
        readers = []
        if _is_wanted("TRACES"):
            self._tracing.add_span_processor(BatchSpanProcessor(_SpanExporter(self)))
        if _is_wanted("METRICS"):
            readers.append(PeriodicExportingMetricReader(_MetricExporter(self)))
        self._metering = MeterProvider(readers, resource, shutdown_on_exit=False)
        trace.set_tracer_provider(self._tracing)
        metrics.set_meter_provider(self._metering)

    def flush(self) -> None:
        """Send what has not been sent yet. Blocks for as long as the endpoint does."""
        self._tracing.force_flush()
        self._metering.force_flush()

    def report(self, what: str, *, is_sent: bool) -> None:
        """Log that sending fails, or works again; each once."""
        if not is_sent and what not in self.failed:
            self.failed.add(what)
            log.warning("cannot send %s to the OTLP endpoint; calls are not affected", what)
        elif is_sent and what in self.failed:
            self.failed.discard(what)
            log.warning("%s are sent to the OTLP endpoint again", what)


class _SpanExporter(OTLPSpanExporter):
    def __init__(self, owner: Export) -> None:
        super().__init__()
        self._owner = owner

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export([_without_texts(span) for span in spans])
        self._owner.report("spans", is_sent=result is SpanExportResult.SUCCESS)
        return result


class _MetricExporter(OTLPMetricExporter):
    def __init__(self, owner: Export) -> None:
        super().__init__()
        self._owner = owner

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **options: Any
    ) -> MetricExportResult:
        result = super().export(_own_metrics(metrics_data), timeout_millis, **options)
        self._owner.report("metrics", is_sent=result is MetricExportResult.SUCCESS)
        return result


def _without_texts(span: ReadableSpan) -> ReadableSpan:
    """Return a span without what others may have recorded: texts of tools, models and clients.

    Spans of libraries and packs keep their place in the trace, under the name of the library.
    """
    scope = span.instrumentation_scope.name if span.instrumentation_scope else names.UNKNOWN
    if scope == names.SCOPE:
        return span
    is_mcp = scope == names.MCP_SDK_SCOPE
    recorded = span.attributes or {}
    attributes = {key: value for key, value in recorded.items() if is_mcp and key in MCP_ATTRIBUTES}
    method = attributes.get(names.METHOD)
    name = span.name if method == TOOLS_CALL else str(method or scope)
    return ReadableSpan(
        name=name[: names.MAX_LENGTH],
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _own_metrics(data: MetricsData) -> MetricsData:
    """Return the metrics without those of libraries and packs."""
    return MetricsData(
        [
            replace(part, scope_metrics=[own for own in part.scope_metrics if own.scope.name == names.SCOPE])
            for part in data.resource_metrics
        ]
    )


def _is_wanted(signal: str) -> bool:
    """Return whether an endpoint is set for a signal, TRACES or METRICS, and its exporter is not `none`."""
    endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    is_off = os.environ.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() == "none"
    return not is_off and any(os.environ.get(name) for name in endpoints)
