"""How an agent is set up: :class:`AgentConfig`, a value that applications write in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .fields import Fields, check_fields, is_bool, is_int, is_mapping, is_names, is_number, is_str, one_of
from .frozen import EMPTY

if TYPE_CHECKING:
    from .contracts.adapter import ModelSettings
    from .contracts.approver import Approver
    from .contracts.tool_executor import ToolExecutor
    from .models import ModelDefinition
    from .tools import Tool

__all__ = ["AgentConfig", "Limits", "RetryPolicy"]


_LIMITS: Fields = {
    **dict.fromkeys(("turns", "requests", "tool_calls", "tokens"), (None, is_int, "an int or None")),
    "cost": (None, is_number, "a number of US dollars or None"),
    "depth": (4, is_int, "an int"),
}
_RETRIES: Fields = {
    "attempts": (4, is_int, "an int"),
    **dict.fromkeys(("base_delay", "max_delay", "max_server_delay"), (..., is_number, "a number of seconds")),
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run; ``None``: no bound. Checked before each request; reaching one ends with outcome ``limit``.

    Attributes:
        turns, requests, tool_calls: counts. tokens: all buckets together. cost: US dollars. What nested runs (agents that a
            tool or a handler asks) use counts against ``tokens`` and ``cost`` of every run above them.
        depth: how deep runs may be nested below the outermost one, whose setting counts.

    Raises:
        UsageError: a value is of a wrong type.
    """

    turns: int | None = 200
    requests: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    depth: int = 4

    def __post_init__(self) -> None:
        check_fields(self, _LIMITS)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When the loop asks again after a failure that may pass.

    Attributes:
        attempts: how often one request is made at most.
        base_delay: seconds before the second attempt; doubled for each further one, up to ``max_delay``.
        max_server_delay: longest ``retry-after`` in seconds that is waited for; a longer one fails at once.

    Raises:
        UsageError: a value is of a wrong type.
    """

    attempts: int = 4
    base_delay: float = 0.5
    max_delay: float = 30.0
    max_server_delay: float = 60.0

    def __post_init__(self) -> None:
        check_fields(self, _RETRIES)


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """What an :class:`~skillkit_core.AgentRunner` needs to know.

    Attributes:
        model: name of a model (``provider/id``, id, alias, or any name the provider knows), or a definition.
        provider: name of a provider; default: the model's, else the host's choice.
        api: wire protocol, where the provider speaks several.
        base_url, api_key: endpoint and credential; default: the provider's.
        system_prompt: what the model is told first; context providers add to it.
        settings: how the model should answer.
        stream: ask the wire for streams; the same events come either way.
        tools: tools of this agent alone, besides those of the plugins.
        allow_tools: names of opt-in tools (such as ``bash``) that the model may have.
        only_tools: when given, nothing but these names is offered.
        limits: bounds of a run. retry: when to ask again.
        steer_policy: what a steering message does to calls that have not started.
        queue_mode: whether queued messages enter one at a time or all at once.
        abort_grace: seconds that tools get to end after an abort.
        parallel_tools: run the calls of one message at the same time.
        compaction: ``False``: never compact by itself. reserve_tokens: room kept for the answer.
        cwd: the workspace, a path; default: the current directory.
        skills: names of skills to activate from the start.
        approver: who answers when a guard asks; ``None``: whatever would be asked is denied.
        executor: where tools run; default: in this process.
        options: free settings for plugins.

    Raises:
        UsageError: a value is of a wrong type, or no word that the field has.
    """

    model: str | ModelDefinition | None = None
    provider: str | None = None
    api: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    system_prompt: str = ""
    settings: ModelSettings | None = None
    stream: bool = True
    tools: tuple[Tool, ...] = ()
    allow_tools: frozenset[str] | tuple[str, ...] = frozenset()
    only_tools: frozenset[str] | None = None
    limits: Limits = field(default_factory=Limits)
    retry: RetryPolicy = RetryPolicy()
    steer_policy: Literal["skip_remaining", "after_batch"] = "skip_remaining"
    queue_mode: Literal["one_at_a_time", "all"] = "one_at_a_time"
    abort_grace: float = 5.0
    parallel_tools: bool = True
    compaction: bool = True
    reserve_tokens: int = 16_384
    cwd: Path | None = None
    skills: tuple[str, ...] = ()
    approver: Approver | None = None
    executor: ToolExecutor | None = None
    options: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        cwd: Any = self.cwd
        if isinstance(cwd, str):
            object.__setattr__(self, "cwd", Path(cwd))
        check_fields(self, _AGENT)


def _is_model(value: Any) -> bool:
    from .models import ModelDefinition

    return isinstance(value, (str, ModelDefinition))


def _is_settings(value: Any) -> bool:
    from .contracts.adapter import ModelSettings

    return isinstance(value, ModelSettings)


def _are_tools(value: Any) -> bool:
    from .tools import Tool

    return isinstance(value, (tuple, list)) and all(isinstance(tool, Tool) for tool in value)


_AGENT: Fields = {
    "model": (None, _is_model, "a str or a ModelDefinition"),
    **dict.fromkeys(("provider", "api", "base_url", "api_key"), (None, is_str, "a str")),
    "system_prompt": ("", is_str, "a str"),
    "settings": (None, _is_settings, "a ModelSettings"),
    **dict.fromkeys(("stream", "parallel_tools", "compaction"), (True, is_bool, "a bool")),
    "tools": ((), _are_tools, "a tuple of Tool"),
    "allow_tools": (frozenset(), is_names, "a collection of names"),
    "only_tools": (None, is_names, "a collection of names"),
    "limits": (..., lambda v: isinstance(v, Limits), "a Limits"),
    "retry": (..., lambda v: isinstance(v, RetryPolicy), "a RetryPolicy"),
    "steer_policy": ("skip_remaining", one_of("skip_remaining", "after_batch"), "skip_remaining or after_batch"),
    "queue_mode": ("one_at_a_time", one_of("one_at_a_time", "all"), "one_at_a_time or all"),
    "abort_grace": (5.0, is_number, "a number of seconds"),
    "reserve_tokens": (16_384, is_int, "an int"),
    "cwd": (None, lambda v: isinstance(v, Path), "a Path"),
    "skills": ((), is_names, "a collection of names"),
    "options": (EMPTY, is_mapping, "a mapping"),
}
