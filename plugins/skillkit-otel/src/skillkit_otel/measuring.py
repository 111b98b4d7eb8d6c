"""The metrics: how long operations take, and how many tokens they use. No attribute grows with the number of sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillkit_core.models import TokenUsage

from . import names as n

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Meter

__all__ = ["Measures"]


class Measures:
    """Records durations and tokens.

    Args:
        meter: makes the instruments.
        latest: the names of the GenAI repository, with counters of tokens, instead of the released ones.
    """

    def __init__(self, meter: Meter, latest: bool) -> None:
        def seconds(name: str, what: str) -> None:
            self._durations[what] = meter.create_histogram(
                name, "s", "Duration of an operation.", explicit_bucket_boundaries_advisory=n.SECONDS
            )

        self._durations: dict[str, object] = {}
        self._latest = latest
        self._counters: dict[str, Counter] = {}
        if not latest:
            seconds("gen_ai.client.operation.duration", "chat")
            self._durations["invoke_agent"] = self._durations["chat"]
            self._tokens = meter.create_histogram(
                "gen_ai.client.token.usage",
                "{token}",
                "Tokens of a request.",
                explicit_bucket_boundaries_advisory=n.TOKENS,
            )
            return
        seconds("gen_ai.client.inference.duration", "chat")
        seconds("gen_ai.invoke_agent.duration", "invoke_agent")
        seconds("gen_ai.execute_tool.duration", "execute_tool")
        for kind in (
            "input_tokens", "output_tokens", "cache_read.input_tokens", "cache_write.input_tokens", "reasoning.output_tokens",
        ):  # fmt: skip
            self._counters[kind] = meter.create_counter(
                f"gen_ai.client.inference.usage.{kind}", "{token}", "Tokens of requests."
            )

    def took(self, seconds: float, about: Mapping[str, str]) -> None:
        """Record the duration of an operation, which ``about`` names."""
        if (found := self._durations.get(about[n.OPERATION])) is not None:
            found.record(seconds, about)  # type: ignore[attr-defined]

    def used(self, usage: TokenUsage, about: Mapping[str, str]) -> None:
        """Record the tokens of a request, as its provider told them."""
        counts = {"input_tokens": usage.prompt, "output_tokens": usage.output + usage.reasoning}
        if not self._latest:
            for kind, count in counts.items():
                self._tokens.record(count, {**about, n.TOKEN_TYPE: kind.removesuffix("_tokens")})
            return
        counts["cache_read.input_tokens"] = usage.cache_read
        counts["cache_write.input_tokens"] = usage.cache_write
        counts["reasoning.output_tokens"] = usage.reasoning
        for kind, count in counts.items():
            if count or kind in ("input_tokens", "output_tokens"):
                self._counters[kind].add(count, about)
