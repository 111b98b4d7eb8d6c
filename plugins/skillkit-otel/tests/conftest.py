"""A collector on loopback, which reads what an SDK really sends, and agents that are traced to it."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from skillkit_testkit.loopback import Asked, Loopback
from skillkit_testkit.turns import Raw

from skillkit_core import AgentConfig, AgentRunner, RetryPolicy
from skillkit_core.testing import ScriptedModel

KINDS = ("unset", "INTERNAL", "SERVER", "CLIENT")


@dataclass(frozen=True)
class Span:
    """A span as it came over the wire; ``status`` 2 is an error. ``at`` are its attributes."""

    id: str
    parent: str
    trace: str
    name: str
    kind: str
    status: int
    at: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any]], ...]
    links: tuple[str, ...]
    times: tuple[int, int]
    scope: tuple[str, str, str]
    resource: Mapping[str, Any]


class Collector(Loopback):
    """Takes spans and metrics by OTLP over HTTP."""

    def __init__(self) -> None:
        super().__init__()
        self._came = threading.Condition()
        self._server.handle_error = lambda *about: None  # a client may be killed in the middle of its request

    def answer(self, asked: Asked, handler: Any) -> Raw:
        with self._came:
            self._came.notify_all()
        return Raw(b"", 200, "application/x-protobuf")

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until something is true that a request brings."""
        with self._came:
            assert self._came.wait_for(holds, timeout=60), self.tree()

    def bodies(self, path: str) -> list[bytes]:
        found = [a for a in self.asked if a.path == path]
        return [gzip.decompress(a.body) if a.headers.get("content-encoding") == "gzip" else a.body for a in found]

    @property
    def raw(self) -> bytes:
        return b"\n".join(self.bodies("/v1/traces") + self.bodies("/v1/metrics"))

    @property
    def spans(self) -> list[Span]:
        """The spans, by their beginning."""
        found = []
        for body in self.bodies("/v1/traces"):
            for rs in ExportTraceServiceRequest.FromString(body).resource_spans:
                for ss in rs.scope_spans:
                    scope = ss.scope.name, ss.scope.version, ss.schema_url
                    found += [_span(s, scope, _plain(rs.resource.attributes)) for s in ss.spans]
        return sorted(found, key=lambda span: span.times)

    @property
    def metrics(self) -> dict[str, tuple[str, list[tuple[dict[str, Any], float, int]]]]:
        """The unit of each metric, and its points as they came last: attributes, sum and count."""
        found = {}
        for body in self.bodies("/v1/metrics"):
            for rm in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for metric in (m for sm in rm.scope_metrics for m in sm.metrics):
                    points = getattr(metric, metric.WhichOneof("data")).data_points
                    if metric.WhichOneof("data") == "histogram":
                        told = [(_plain(p.attributes), p.sum, p.count) for p in points]
                    else:
                        told = [(_plain(p.attributes), p.as_int, 1) for p in points]
                    found[metric.name] = metric.unit, told
        return found

    def one(self, name: str) -> Span:
        (span,) = [span for span in self.spans if span.name == name]
        return span

    def tree(self) -> list[str]:
        """The spans as lines, each indented below its parent; spans of the same parent by name."""
        spans = self.spans
        known = {span.id for span in spans}

        def below(parent: str, depth: int) -> list[str]:
            lines = []
            for span in sorted((s for s in spans if s.parent == parent), key=lambda s: s.name):
                lines += ["  " * depth + span.name, *below(span.id, depth + 1)]
            return lines

        return [line for top in sorted({s.parent for s in spans} - known) for line in below(top, 0)]


def _plain(attributes: Any) -> dict[str, Any]:
    def value(given: Any) -> Any:
        kind = given.WhichOneof("value")
        return [value(v) for v in given.array_value.values] if kind == "array_value" else getattr(given, kind)

    return {a.key: value(a.value) for a in attributes}


def _span(s: Any, scope: tuple[str, str, str], resource: Mapping[str, Any]) -> Span:
    return Span(
        s.span_id.hex(), s.parent_span_id.hex(), s.trace_id.hex(), s.name, KINDS[s.kind], s.status.code, _plain(s.attributes),
        tuple((e.name, _plain(e.attributes)) for e in s.events), tuple(link.span_id.hex() for link in s.links),
        (s.start_time_unix_nano, s.end_time_unix_nano), scope, resource,
    )  # fmt: skip


@pytest.fixture
def collector(skillkit_home: Any) -> Iterator[Collector]:
    with Collector() as found:
        yield found
        found.check()


@pytest.fixture
def on(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Collector:
    """Switches traces on by the standard variable."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.base)
    return collector


@pytest.fixture
def traced(make_host: Callable[..., Any]) -> Callable[..., Any]:
    """An agent with the plugin: ``async with traced("an answer", tools=[...]) as agent``; what is left is sent at the end."""
    from skillkit_otel import plugin

    @asynccontextmanager
    async def make(*turns: Any, plugins: Any = (), settings: Any = None, session: Any = None, **config: Any) -> Any:
        host = make_host(("otel", plugin), *plugins, settings=settings or {})
        given = {"model": "any", "retry": RetryPolicy(attempts=3, base_delay=0), **config}
        try:
            async with AgentRunner(AgentConfig(**given), host=host, session=session) as agent:
                agent.set_adapter(ScriptedModel(turns))
                yield agent
        finally:
            await host.aclose()

    return make


@pytest.fixture
def say(traced: Callable[..., Any]) -> Callable[..., str]:
    """One chat with an agent that is traced: ``say("hello", "an answer", ...)`` returns what was answered."""

    def go(text: str, *turns: Any, **options: Any) -> str:
        async def main() -> str:
            async with traced(*turns, **options) as agent:
                return (await agent.chat(text)).content

        return asyncio.run(main())

    return go


@pytest.fixture
def engine_plugins() -> list[str]:
    return ["engine-automation"]


@pytest.fixture
def engine_name() -> str:
    return "automation"
