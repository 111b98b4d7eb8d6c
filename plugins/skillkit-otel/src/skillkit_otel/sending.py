"""Where spans and metrics go: to the SDK of the application, if it has one, else to a collector with an SDK of our own.

The SDK is no dependency. Its providers are not made the global ones, because a process may have several hosts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace

from skillkit_core.errors import UsageError

from .switch import Settings

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = ["Sender", "sender_of"]

log = logging.getLogger("skillkit.otel")
_exporting = threading.local()


class Sender:
    """Makes tracers and meters, and sends what they made.

    Attributes:
        tracers, meters: the providers; no meters: no metrics are made.
    """

    def __init__(
        self,
        tracers: TracerProvider,
        meters: MeterProvider | None,
        ends: tuple[Callable[[], object], ...],
        timeout: float,
    ) -> None:
        self.tracers, self.meters = tracers, meters
        self._ends, self._timeout = ends, timeout

    def close(self) -> None:
        """Send what is left, all at once, within the timeout; what takes longer is dropped."""
        ends, self._ends = self._ends, ()
        threads = [threading.Thread(target=end, daemon=True) for end in ends]
        for thread in threads:
            thread.start()
        until = time.monotonic() + self._timeout
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))


def sender_of(settings: Settings) -> Sender:
    """Return the application's providers if it has set any, else providers that send to the collector.

    Raises:
        UsageError: there is neither.
    """
    tracers = trace.get_tracer_provider()
    if not isinstance(tracers, trace.ProxyTracerProvider):
        return Sender(tracers, metrics.get_meter_provider() if settings.measures else None, (), settings.timeout)
    try:
        return _own(settings)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("opentelemetry"):
            raise
        raise UsageError(
            "OpenTelemetry's SDK is not installed", hint="pip install 'skillkit-otel[sdk]', or unset the address"
        ) from None


def _own(settings: Settings) -> Sender:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "skillkit"}))
    about: dict[str, Any] = {"headers": dict(settings.headers) or None, "timeout": settings.timeout}
    told = _Told()
    sampler = None if settings.sample is None else ParentBased(TraceIdRatioBased(settings.sample))
    tracers = TracerProvider(sampler=sampler, resource=resource, shutdown_on_exit=False)
    ends: list[Callable[[], object]] = [tracers.shutdown]
    if settings.traces:
        exporter = OTLPSpanExporter(endpoint=settings.traces, **about)
        told.of(exporter, settings.traces)
        tracers.add_span_processor(BatchSpanProcessor(exporter))
    meters = None
    if settings.measures and settings.metrics:
        sending = OTLPMetricExporter(endpoint=settings.metrics, **about)
        told.of(sending, settings.metrics)
        meters = MeterProvider([PeriodicExportingMetricReader(sending)], resource=resource, shutdown_on_exit=False)
        ends.append(meters.shutdown)
    return Sender(tracers, meters, tuple(ends), settings.timeout)


class _Told:
    """Says once that a collector does not take what is sent. The SDK would say it with each batch, and each attempt."""

    def __init__(self) -> None:
        self._said = False

    def of(self, exporter: Any, address: str) -> None:
        """Hear the exporter: what it logs while it exports is told here, once."""
        inner = exporter.export
        logger = logging.getLogger(type(exporter).__module__)
        if not any(getattr(one, "__func__", one) is _not_ours for one in logger.filters):
            logger.addFilter(_not_ours)

        def export(*args: Any, **kwargs: Any) -> Any:
            _exporting.on = True
            try:
                result = inner(*args, **kwargs)
            finally:
                _exporting.on = False
            if result is not None and result.name == "FAILURE" and not self._said:
                self._said = True
                log.warning("the collector at %s takes no traces or metrics; they are dropped", _shown(address))
            return result

        exporter.export = export


def _not_ours(record: logging.LogRecord) -> bool:
    return not getattr(_exporting, "on", False)


def _shown(address: str) -> str:
    """Return an address without user, password and query."""
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
