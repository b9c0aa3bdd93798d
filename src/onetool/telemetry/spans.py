"""Spans and durations of operations. Until `turn_on` is called, nothing is recorded or imported."""

import asyncio
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from . import names

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span, Tracer

TOOLS_CALL = "tools/call"
Attributes = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class _Instruments:
    """What records spans and durations."""

    tracer: "Tracer"
    calls: "Histogram"
    operations: "Histogram"


_instruments: _Instruments | None = None


class NoSpan:
    """A span while telemetry is off."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        """Do nothing."""

    def describe(self, target: str, attributes: Attributes, error: str | None = None) -> None:
        """Say what the operation was about, and why it failed if it did. Pass no texts of users or tools."""


NO_SPAN = NoSpan()


class RecordedSpan(NoSpan):
    """A span that is the current one while it is entered. What is raised in it is not recorded."""

    __slots__ = ("_current", "_error", "_instruments", "_operation", "_span", "_start", "_target")

    def __init__(self, instruments: _Instruments, operation: str) -> None:
        self._instruments, self._operation = instruments, operation
        self._target, self._error = names.UNKNOWN, ""

    def __enter__(self) -> Self:
        self._start = time.perf_counter()
        self._current = self._instruments.tracer.start_as_current_span(
            self._operation,
            attributes={names.OPERATION: self._operation},
            record_exception=False,
            set_status_on_exception=False,
        )
        self._span: Span = self._current.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        """End the span, and count its duration if it is that of a call."""
        if error[0] is not None and not self._error:
            is_cancelled = issubclass(error[0], asyncio.CancelledError)
            self._set_error("cancelled" if is_cancelled else error[0].__name__)
        if self._operation == names.EXECUTE_TOOL:
            failure = {names.ERROR: self._error} if self._error else {}
            seconds = time.perf_counter() - self._start
            self._instruments.calls.record(seconds, {names.TOOL: self._target, **failure})
        self._current.__exit__(None, None, None)

    def describe(self, target: str, attributes: Attributes, error: str | None = None) -> None:
        """Name the span and set its attributes."""
        self._target = _shorten(target)
        self._span.update_name(f"{self._operation} {self._target}")
        self._span.set_attributes({name: _shorten(value) for name, value in attributes.items()})
        if error:
            self._set_error(error)

    def _set_error(self, error: str) -> None:
        self._error = error
        _mark_failed(self._span, error)


class ServerOperation:
    """A request of an MCP client, whose span the MCP SDK has made. Hides names that clients made up."""

    def __init__(self, instruments: _Instruments, method: str) -> None:
        self._instruments, self._method = instruments, method
        self._tool = names.UNKNOWN
        self._error = ""

    def __enter__(self) -> Self:
        self._start = time.perf_counter()
        self._token = _operation.set(self)
        span = _current_span()
        span.set_attribute(names.METHOD, self._method)
        span.update_name(self._method)
        if self._method == TOOLS_CALL:
            self.name_tool(names.UNKNOWN)
        return self

    def __exit__(self, *error: Any) -> None:
        """Count the duration."""
        _operation.reset(self._token)
        failure = self._error or (error[0].__name__ if error[0] is not None else "")
        attributes = {names.METHOD: self._method}
        attributes |= {names.TOOL: self._tool} if self._method == TOOLS_CALL else {}
        attributes |= {names.ERROR: failure} if failure else {}
        self._instruments.operations.record(time.perf_counter() - self._start, attributes)

    def name_tool(self, tool: str) -> None:
        """Set the name of the tool, which is one that the client was told."""
        self._tool = _shorten(tool)
        span = _current_span()
        span.update_name(f"{self._method} {self._tool}")
        span.set_attribute(names.TOOL, self._tool)

    def fail(self, error: str) -> None:
        """Count the request as failed."""
        self._error = error


_operation: ContextVar[ServerOperation | None] = ContextVar("server_operation", default=None)


def turn_on() -> None:
    """Record spans and durations from now on, with the providers that are set for the process."""
    global _instruments
    from opentelemetry import metrics, trace

    meter = metrics.get_meter(names.SCOPE)

    def durations(name: str, description: str) -> "Histogram":
        return meter.create_histogram(
            name, "s", description, explicit_bucket_boundaries_advisory=names.BUCKETS_S
        )

    _instruments = _Instruments(
        trace.get_tracer(names.SCOPE),
        durations(names.CALL_DURATION, "Duration of tool calls, by tool and reason of failure."),
        durations(names.OPERATION_DURATION, "Duration of requests of MCP clients."),
    )


def has_provider() -> bool:
    """Return whether the program that OneTool is embedded in, or the exporter, has set up tracing."""
    trace = sys.modules.get("opentelemetry.trace")
    return trace is not None and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def start_span(operation: str) -> NoSpan:
    """Return the span of an operation, to be entered."""
    return NO_SPAN if _instruments is None else RecordedSpan(_instruments, operation)


def start_operation(method: str, *, is_known: bool) -> ServerOperation | None:
    """Return the measurement of a request of an MCP client, to be entered, or None while telemetry is off."""
    if _instruments is None:
        return None
    return ServerOperation(_instruments, method if is_known else names.UNKNOWN)


def name_requested_tool(tool: str) -> None:
    """Name the tool that the current MCP request calls. Only for names that the client was told."""
    if (operation := _operation.get()) is not None:
        operation.name_tool(tool)


def trace_headers() -> dict[str, str]:
    """Return the header that continues the current trace in another service, if there is one."""
    if _instruments is None:
        return {}
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return {name: value for name, value in carrier.items() if name == "traceparent"}


def continue_trace(headers: Mapping[str, str]) -> AbstractContextManager[Any]:
    """Return a context manager in which spans continue the trace of a request. Baggage is ignored."""
    if _instruments is None or not (parent := headers.get("traceparent")):
        return nullcontext()
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = TraceContextTextMapPropagator().extract({"traceparent": parent})
    return trace.use_span(trace.get_current_span(context), record_exception=False)


def _current_span() -> "Span":
    from opentelemetry import trace

    return trace.get_current_span()


def _mark_failed(span: "Span", error: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute(names.ERROR, error)
    span.set_status(StatusCode.ERROR)


def _shorten(value: Any) -> Any:
    return value[: names.MAX_LENGTH] if isinstance(value, str) else value
