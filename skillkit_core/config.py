"""The setup of an agent: :class:`AgentConfig`, a value that applications write in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from .fields import Seconds, check_fields
from .frozen import EMPTY

if TYPE_CHECKING:
    from .contracts.adapter import ModelSettings
    from .contracts.approver import Approver
    from .contracts.tool_executor import ToolExecutor
    from .contracts.user_interface import UserInterface
    from .models import ModelDefinition
    from .tools import Tool

__all__ = ["AgentConfig", "Limits", "RetryPolicy"]


_Count: TypeAlias = Annotated[int | None, "an int or None"]
_Dollars: TypeAlias = Annotated[float | None, "a number of US dollars or None"]
_Answer: TypeAlias = Annotated[bool | None, "a bool or None"]


def setting(default: Any, description: str, **more: Any) -> Any:
    """Return a field that is also a setting: the configuration shows ``description``, and refuses values out of bounds.

    Programs may go below them, because a computed budget may be used up. A file that allows nothing is a mistake.

    Args:
        default: its value where nothing is set; ``list`` or ``dict``: an empty one.
        more: the bounds ``ge``, ``gt``, ``le``, ``lt`` and ``min_length``; ``repr=False`` for a secret; and ``check``, which
            returns a value of the field's type as it counts, or raises :class:`ValueError` with what is wrong; ``of``, the
            import string of the type by which pydantic judges what is not plain, where the field's type says less than that.
    """
    made: Any = {"default_factory": default} if default in (list, dict) else {"default": default}
    return field(**made, repr=more.get("repr", True), metadata={"description": description, **more})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run, checked before each request; ``None``: no limit. A run that reaches one ends with outcome ``limit``.

    What nested runs (agents that a tool or a handler asks) use counts against ``requests``, ``tokens`` and ``cost`` of all their
    ancestors. The ``depth`` of the outermost run counts for all nested runs. Under a limit of ``cost`` a model without a known
    price is not asked, unless ``unpriced`` is true; then only what is known counts.

    Raises:
        UsageError: a value is of a wrong type.
    """

    turns: _Count = setting(200, "most rounds with the model", ge=1)
    requests: _Count = setting(None, "most requests, retries and those of nested agents included", ge=1)
    tool_calls: _Count = setting(None, "most tool calls", ge=0)
    tokens: _Count = setting(None, "most tokens, all buckets together, those of nested agents included", ge=1)
    cost: _Dollars = setting(None, "most US dollars, those of nested agents included", ge=0)
    unpriced: _Answer = setting(None, "under a limit of cost, also ask models whose price is not known")
    depth: int = setting(4, "how deep agents may be nested", ge=0)

    def __post_init__(self) -> None:
        check_fields(self)

    def lowered(self, by: Limits) -> Limits:
        """Return the lower one of each limit, where ``None``, no limit, is higher than any."""
        pairs = {f.name: (getattr(self, f.name), getattr(by, f.name)) for f in fields(self)}
        lower: dict[str, Any] = {n: min((v for v in pair if v is not None), default=None) for n, pair in pairs.items()}
        return Limits(**lower)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The rules by which the loop repeats a request after a failure that may pass.

    Raises:
        UsageError: a value is of a wrong type.
    """

    attempts: int = setting(4, "how often one request is made at most", ge=1)
    base_delay: Seconds = setting(0.5, "seconds before the second attempt; doubled for each more", ge=0)
    max_delay: Seconds = setting(30.0, "most seconds between two attempts", ge=0)
    max_server_delay: Seconds = setting(60.0, "most seconds that a server may ask to wait; more fails at once", ge=0)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """The configuration of an :class:`~skillkit_core.AgentRunner`.

    Attributes:
        model: name of a model (``provider/id``, id, alias, or any name the provider knows), or a definition; default: the
            configuration's, else the provider's. Of a list the first one answers, and the others are ``fallbacks``.
        fallbacks: models that answer in turn for the rest of a run, when the one before is overloaded or gone.
        provider: name of a provider; default: the model's, else the host's choice.
        api: wire protocol, where the provider speaks several.
        base_url: endpoint; default: the provider's.
        api_key: credential; default: the provider's.
        system_prompt: first part of the system prompt, to which context providers add.
        bare: no context provider adds to the system prompt, and no handler of ``session_start`` or ``before_agent_start`` adds
            a message: an agent inside a run that works on its instructions alone.
        settings: settings of the model's answers.
        stream: ask the wire for streams. The events are the same either way.
        tools: tools of this agent alone, besides those of the plugins.
        only_tools: names of the only tools that the model may have; ``None``: all that are allowed.
        limits: limits of a run, besides those of the host's configuration. Of a limit that both set the lower value counts, so
            that a cap is never lost; ``None``: those of the configuration, else ``Limits()``.
        retry: policy of retries, which counts as a whole; ``None``: that of the configuration, else ``RetryPolicy()``.
        steer_policy: effect of a steering message on calls that have not started.
        queue_mode: whether queued messages enter one at a time or all at once.
        abort_grace: seconds for tools to end after an abort.
        parallel_tools: run the calls of one message at the same time.
        compaction: shorten a long conversation automatically.
        reserve_tokens: tokens of the model's window that are kept for the answer.
        cwd: path of the workspace; default: the current directory.
        skills: names of skills to activate from the start.
        approver: approver of calls that guards ask about; ``None``: such calls are denied.
        ui: user interface that reaches a person; ``None``: nobody can be asked.
        executor: executor of tools; default: tools run in this process.
        options: free settings for plugins.

    Raises:
        UsageError: a value is of a wrong type, or is none of the words that the field takes.
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
    only_tools: frozenset[str] | None = None
    limits: Limits | None = None
    retry: RetryPolicy | None = None
    steer_policy: Literal["skip_remaining", "after_batch"] = "skip_remaining"
    queue_mode: Literal["one_at_a_time", "all"] = "one_at_a_time"
    abort_grace: Seconds = 5.0
    parallel_tools: bool = True
    compaction: bool = True
    reserve_tokens: int = 16_384
    cwd: Path | None = None
    skills: tuple[str, ...] = ()
    approver: Approver | None = None
    ui: UserInterface | None = None
    executor: ToolExecutor | None = None
    options: Mapping[str, Any] = EMPTY
    bare: bool = False
    fallbacks: Annotated[tuple[Any, ...], "a tuple of models"] = ()

    def __post_init__(self) -> None:
        models: Any = self.model
        if isinstance(models, (list, tuple)):
            first, *others = models or (None,)
            object.__setattr__(self, "model", first)
            object.__setattr__(self, "fallbacks", tuple(others))
        cwd: Any = self.cwd
        if isinstance(cwd, str):
            object.__setattr__(self, "cwd", Path(cwd))
        check_fields(self)
