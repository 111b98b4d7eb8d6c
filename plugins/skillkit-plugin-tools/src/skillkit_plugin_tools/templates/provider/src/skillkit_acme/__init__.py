"""The provider "acme": a server of models that answers in lines of JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skillkit_core import LLMRequest, ModelCost, ModelDefinition, Provider, StopReason, TokenUsage, hookimpl
from skillkit_transport import AnswerWriter, HTTPAdapter, value_at

URL = "https://models.acme.example"


@hookimpl
def register_adapters(register: Callable[[Provider], None]) -> None:
    """Offer the provider: where its server is, the variable with the key, and which adapter speaks its wire."""
    register(
        Provider(
            "acme",
            {"acme-lines": "skillkit_acme:AcmeAdapter"},
            base_url=URL,
            base_url_env="ACME_BASE_URL",
            api_key_env=("ACME_API_KEY",),
            default_model="acme-1",
            description="a server that answers in lines of JSON",
        )
    )


@hookimpl
def register_models(register: Callable[[ModelDefinition], None]) -> None:
    """Say what is known of its models: windows, prices, what they can."""
    register(
        ModelDefinition(
            "acme-1",
            "acme",
            "acme-lines",
            context_window=8_000,
            cost=ModelCost(1.0, 2.0),  # dollars per million tokens, read and written
            capabilities=frozenset({"text"}),
        )
    )


class AcmeAdapter(HTTPAdapter):
    """Speaks "acme-lines". Waits, failures, secrets and connections are the base's."""

    api = "acme-lines"
    path = "/say"
    framing = "lines"
    settings = {"max_tokens": "limit"}
    lacks = {"tools", "thinking", "usage", "overflow", "quota"}

    def body(self, request: LLMRequest) -> dict[str, Any]:
        """Return what is posted."""
        system = [{"who": "system", "said": request.system}] if request.system else []
        talk = [{"who": message.role, "said": message.text} for message in self.history(request)]
        return {"model": request.model.id, "talk": system + talk, "stream": request.stream}

    def read(self, event: dict[str, Any], out: AnswerWriter) -> None:
        """Say what one object of the answer means. A field that is missing is the server's fault."""
        out.text(value_at(event, str, "text", default=""))
        if end := value_at(event, str, "end", default=""):
            read, wrote = (value_at(event, int, name, default=0) for name in ("read", "wrote"))
            out.usage = TokenUsage(input=read, output=wrote)
            out.done(StopReason.length if end == "limit" else StopReason.stop, end)
