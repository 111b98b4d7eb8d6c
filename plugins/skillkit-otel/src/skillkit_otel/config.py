"""The section ``otel`` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["OtelConfig"]


class OtelConfig(BaseModel):
    """Where traces and metrics go, and what is in them. Of a project only ``enabled: false`` counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool | None = Field(
        None,
        description="Off, or on without an address, in a program with an SDK of its own; default: on with an address.",
    )
    endpoint: str | None = Field(
        None,
        pattern=r"^https?://\S+$",
        description="Address of an OTLP collector (http/protobuf), without /v1/traces; OTEL_EXPORTER_OTLP_ENDPOINT comes first.",
    )
    headers: Mapping[str, str] = Field({}, description="Headers of every request to the collector, such as a key.")
    content: Literal["off", "span"] = Field(
        "off", description="What was said, arguments and results in the spans, without known secrets; off: none of it."
    )
    sample: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Share of the traces that are kept, 0 to 1; default: OTEL_TRACES_SAMPLER, else all.",
    )
    metrics: bool = Field(True, description="Send metrics, too.")
    semconv: Literal["released", "latest"] = Field(
        "released",
        description="Conventions: those of schema 1.44, or of the GenAI repository, where names of metrics differ.",
    )
    timeout: float = Field(
        2, gt=0, le=4, description="Seconds for a request to the collector, and for the last ones at the end."
    )
