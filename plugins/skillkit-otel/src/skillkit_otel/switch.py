"""Whether it is on, and how it is set, without OpenTelemetry.

What a project says never switches it on and never changes where the data go: a folder must not read along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ConfigError

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Settings", "may_be_on", "settings_of"]

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SIGNALS = {"traces": "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "metrics": "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"}
HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS")
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@dataclass(frozen=True, slots=True)
class Settings:
    """How traces and metrics are made.

    Attributes:
        traces: address for spans; empty: those of an SDK that the application has.
        metrics: address for metrics; empty: as for spans, or none (``measures``).
        headers: headers of each request, besides those of the variables.
        content: what was said is in the spans.
        sample: share of the traces; ``None``: the SDK's own choice.
        measures: metrics are made.
        latest: the conventions of the GenAI repository instead of the released ones.
        timeout: seconds.
    """

    traces: str
    metrics: str
    headers: Mapping[str, str]
    content: bool
    sample: float | None
    measures: bool
    latest: bool
    timeout: float


def may_be_on(host: Host) -> bool:
    """Return whether a variable or a setting speaks of it at all: cheap, for each session of each host."""
    return "otel" in host.config.data or any(host.environ.get(name) for name in (ENDPOINT, *SIGNALS.values()))


def settings_of(host: Host) -> Settings | None:
    """Return the settings; ``None``: it is off.

    Raises:
        ConfigError: a setting is wrong.
    """
    from .config import OtelConfig

    host.config.section("otel")  # says what is wrong, and where
    given: dict[str, Any] = {}
    for layer in host.config.layers:
        section = layer.data.get("otel")
        if not isinstance(section, Mapping):
            continue
        if layer.name != "project":
            given.update(section)
        elif OtelConfig.model_validate({"enabled": section.get("enabled")}).enabled is False:
            return None
    own, environ = OtelConfig.model_validate(given), host.environ
    if own.enabled is False or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    addresses = {signal: _address(signal, own.endpoint, environ) for signal in SIGNALS}
    if not any(addresses.values()) and not own.enabled:
        return None
    if any(addresses.values()) and (said := _protocol(environ)):
        hint = "leave the variable out; collectors take http/protobuf at port 4318"
        raise ConfigError(f"it speaks http/protobuf alone, not {said}", where="OTEL_EXPORTER_OTLP_PROTOCOL", hint=hint)
    return Settings(
        addresses["traces"],
        addresses["metrics"],
        dict(own.headers),
        own.content == "span" or environ.get(CONTENT, "").strip().lower() in ("true", "span_only", "span_and_event"),
        own.sample,
        own.metrics and environ.get("OTEL_METRICS_EXPORTER", "").strip().lower() != "none",
        own.semconv == "latest",
        own.timeout,
    )


def _address(signal: str, endpoint: str | None, environ: Mapping[str, str]) -> str:
    """Return where spans or metrics go: the variable of the signal, else that of all, else the setting."""
    if environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip().lower() == "none":
        return ""
    if own := environ.get(SIGNALS[signal], "").strip():
        return own
    base = environ.get(ENDPOINT, "").strip() or endpoint or ""
    return f"{base.rstrip('/')}/v1/{signal}" if base else ""


def _protocol(environ: Mapping[str, str]) -> str:
    """Return the protocol that a variable asks for and that is not spoken here."""
    said = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or ""
    return "" if said in ("", "http/protobuf") else said
