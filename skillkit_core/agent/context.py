"""The context of a request: the system prompt, the messages for the model, and an estimate of the tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..descriptors import load_object
from ..estimates import Estimator, estimator_for
from ..messages import AssistantMessage, Block, LLMMessage, ToolCall
from ..models import ModelDefinition
from ..tools import Tool
from .repair import Repairer, repair

if TYPE_CHECKING:
    from ..host.manager import Host
    from ..host.registry import Registry
    from .runner import AgentRunner
    from .session import Session

__all__ = ["ContextView", "joined", "prompt_parts"]


def prompt_parts(agent: AgentRunner, providers: Registry[Any]) -> Mapping[str, str]:
    """Return the configured prompt (``system_prompt``) and the texts of the context providers, by name, secrets redacted."""
    parts = {"system_prompt": agent.config.system_prompt or agent.host.config.get("system_prompt", "")}
    for entry in () if agent.config.bare else sorted(providers.entries(), key=lambda e: e.item.order):
        try:
            name = entry.name if entry.name not in parts else entry.address
            parts[name] = load_object(entry.item.provide)(agent)
        except Exception as error:  # noqa: BLE001 - a provider that fails adds no part and is reported
            agent.host.note(entry.source or "application", f"context provider {entry.name!r} failed: {error}")
    return {name: agent.redact(part) for name, part in parts.items() if part}


def joined(parts: Mapping[str, str]) -> str:
    """Return the parts as one text."""
    return "\n\n".join(parts.values())


class ContextView:
    """Keeps the model's view of a session, and processes each message once, not once a turn.

    Attributes:
        providers: the context providers, which add to the system prompt.
        scratch: what adapters keep about the messages that they have sent.
        may_compact: automatic compaction may run; false after one that freed too little, until the next input.
    """

    def __init__(self, host: Host, session: Session) -> None:
        self._host = host
        self._session = session
        self.providers = host.context_providers
        self.scratch: dict[str, Any] = {}
        self.may_compact = True
        self._repairer = Repairer()
        self._viewed = 0
        self._generation = -1
        self._tokens = self._counted = 0
        self._counted_for: tuple[object, ...] = ()
        self._estimator = Estimator()
        self._prompt: tuple[str, Sequence[Tool], int] = ("", (), 0)
        self._known = 0  # what the provider counted beyond the estimate of the same request
        self._ratio = 1.0  # what the provider counted for each estimated token

    def allow_compaction(self, allowed: bool = True) -> None:
        """Set whether automatic compaction may run before the next input."""
        self.may_compact = allowed

    def messages(self) -> Sequence[LLMMessage]:
        """Return the context as a legal history."""
        session = self._session
        if self._generation != session.generation:
            self._repairer, self._viewed = Repairer(), 0
            self._generation = session.generation
        if len(session.context) > self._viewed:
            new = session.context[self._viewed :]
            self._repairer.extend(new)
            self._viewed += len(new)
        if self._repairer.settled:
            return tuple(self._repairer.out)
        waiting = session.suspension()
        return repair(tuple(session.context), waiting.open_calls if waiting is not None else frozenset())

    def tokens(self, model: ModelDefinition | None, system_prompt: str, tools: Sequence[Tool]) -> int:
        """Return the tokens of a request to ``model``: what its provider counted for the last one, and an estimate of the change.

        Where no provider has counted a request of this history, all is estimated: messages, system prompt and tools.
        """
        session = self._session
        counted = (model, self._host.token_estimators.version)
        if counted != self._counted_for[1:]:
            self._estimator, self._ratio, self._prompt = estimator_for(self._host, model), 1.0, ("", (), 0)
        if (session.generation, *counted) != self._counted_for:
            self._counted_for, self._counted, self._tokens, self._known = (session.generation, *counted), 0, 0, 0
        if len(session.context) > self._counted:
            live = self._counted > 0  # usage from before a compaction or another model says nothing about this history
            for message in session.context[self._counted :]:
                if live and isinstance(message, AssistantMessage):
                    self._learn(message)
                self._tokens += self._estimator.message(message)
            self._counted = len(session.context)
        if self._prompt[0] != system_prompt or self._prompt[1] is not tools:
            self._prompt = (system_prompt, tools, self._estimator.prompt(system_prompt, tools))
        estimate = self._tokens + self._prompt[2]
        return estimate + self._known if self._known else round(estimate * self._ratio)

    def _learn(self, answer: AssistantMessage) -> None:
        """Compare what a provider counted for a request with its estimate; a count that is far off belongs to something else."""
        usage, estimate = answer.usage, self._tokens + self._prompt[2]
        counted = usage.input + usage.cache_read + usage.cache_write
        if estimate and 0.5 <= counted / estimate <= 3.0:
            self._known, self._ratio = counted - estimate, counted / estimate

    def unique_calls(self, message: AssistantMessage) -> AssistantMessage:
        """Return ``message`` with tool-call ids that are new in the session (spec, section 9.18)."""
        if not message.tool_calls:
            return message
        known = self._session.call_ids()  # of all branches, so that a reopened session renames as one that stayed open
        own: set[str] = set()
        blocks: list[Block] = []
        for block in message.content:
            if isinstance(block, ToolCall):
                new, n = block.id or "call", 2
                while new in known or new in own:
                    new, n = f"{block.id or 'call'}_{n}", n + 1
                own.add(new)
                if new != block.id:
                    block = replace(block, id=new)
            blocks.append(block)
        known |= own
        content = tuple(blocks)
        return message if content == message.content else replace(message, content=content)
