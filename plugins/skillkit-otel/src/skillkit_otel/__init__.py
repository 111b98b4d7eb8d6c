"""Traces and metrics of runs for OpenTelemetry, by the GenAI conventions.

The package has no functions to call: settings and the standard variables ``OTEL_*`` switch it on.
"""

__all__: list[str] = []

__version__ = "0.2.0"
