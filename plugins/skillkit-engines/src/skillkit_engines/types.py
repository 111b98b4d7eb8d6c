"""What the family speaks about: requests, candidates, routes, tasks, engines, packs and fragments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from skillkit_core.errors import UsageError
from skillkit_core.frozen import EMPTY, freeze
from skillkit_core.models import TokenUsage
from skillkit_core.skills import Skill, SkillProblem

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, DrivenRun, Host
    from skillkit_core.messages import AssistantMessage, Block

__all__ = [
    "CHAT", "Caller", "EditorContext", "Engine", "Fragment", "Route", "RouteRequest", "SkillCandidate", "Status", "StepTargets",
    "Task", "TaskResult", "ToolPack",
]  # fmt: skip

CHAT = "chat"
"""The route of every request that no skill takes: the agent answers as it would without this plugin."""

Caller: TypeAlias = Literal["model", "user", "planner", "skill"]
Status: TypeAlias = Literal["completed", "rejected", "failed", "partial", "waiting"]


@dataclass(frozen=True, slots=True)
class EditorContext:
    """What is open in an editor.

    Attributes:
        type: kind of the document, for ``editor_types`` of skills: ``fiction``, ``outline``.
        file: the path of the file, relative to the workspace; empty: the document has no file yet.
        front_matter: the fields of the document's head.
        cursor: offset of the cursor in ``content``, in characters.
        selection: offsets of the first selected character and of the one behind the last; ``None``: nothing is selected.
        content: the whole text.
        revision: SHA-256 of the UTF-8 bytes of ``content``, in hexadecimal; made of ``content`` where it is empty.

    Raises:
        UsageError: a value is none of its field.
    """

    type: str
    file: str = ""
    front_matter: Mapping[str, Any] = EMPTY
    cursor: int = 0
    selection: tuple[int, int] | None = None
    content: str = ""
    revision: str = ""

    def __post_init__(self) -> None:
        if wrong := _wrong(self):
            raise UsageError(f"no document of an editor: {', '.join(wrong)} cannot be used", hint="see EditorContext")
        object.__setattr__(self, "front_matter", freeze(self.front_matter))
        if self.selection is not None:
            object.__setattr__(self, "selection", tuple(self.selection))
        if not self.revision:
            object.__setattr__(self, "revision", sha256(self.content.encode(errors="surrogatepass")).hexdigest())


def _wrong(given: Any) -> list[str]:
    """Return the names of the fields of an editor's document whose values are of another type."""
    wrong = [name for name in ("type", "file", "content", "revision") if not isinstance(getattr(given, name), str)]
    if not isinstance(given.front_matter, Mapping):
        wrong.append("front_matter")
    if not isinstance(given.cursor, int):
        wrong.append("cursor")
    span = given.selection
    if span is not None and not (isinstance(span, Sequence) and [type(place) for place in span] == [int, int]):
        wrong.append("selection")
    return wrong


class SkillCandidate(NamedTuple):
    """A skill that fits a request.

    Attributes:
        skill: the skill.
        score: a higher score fits better, comparable within one answer.
        reason: what speaks for it.
    """

    skill: Skill
    score: float = 0.0
    reason: str = ""


class StepTargets(NamedTuple):
    """What may do a step of a compound request beside a skill, for a router that asks a model.

    Attributes:
        schema: JSON Schema of a step, as the model writes it.
        text: what the model is told, with the names that it may use.
    """

    schema: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """A request for which a skill is chosen.

    Attributes:
        query: the words of the person.
        images: number of attached images.
        editor: what is open in the editor; ``None``: no editor.
        active: the skill of the route before, on this branch; ``None``: none, or the agent itself answered.
        history: the last words of the person before, newest last.
        caller: who wants a skill.
        ask: asks a model once, with the arguments of :meth:`HandlerContext.complete`; ``None``: no model can be asked.
    """

    query: str
    images: int = 0
    editor: EditorContext | None = None
    active: str | None = None
    history: Sequence[str] = ()
    caller: Caller = "model"
    ask: Callable[..., Awaitable[AssistantMessage]] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Route:
    """What was chosen for a request.

    Attributes:
        skill: the name of the skill, or :data:`CHAT`.
        confidence: from 0 to 1.
        reason: what the chooser says of it.
        by: who chose: the name of a plugin, ``person`` (a name or a pin) or ``engines``.
        why: how it came about, in one word: ``selected``, ``pinned``, ``greeting``, ``low_confidence``, ...
        plan: the steps of a compound request, as the chooser named them; empty: a single skill answers.
        candidates: the best candidates, best first.
        dropped: why other skills were not candidates: ``code``, or ``code:more``, by name.
        calls: how many model calls it took.
        replaced: skills that were chosen before, and rejected the request.
        cost: US dollars of these calls; ``None``: not known.
        answer: what the model said, shortened.
    """

    skill: str
    confidence: float = 1.0
    reason: str = ""
    by: str = ""
    why: str = ""
    plan: tuple[Mapping[str, Any], ...] = ()
    candidates: tuple[SkillCandidate, ...] = ()
    dropped: Mapping[str, str] = EMPTY
    calls: int = 0
    replaced: tuple[str, ...] = ()
    cost: float | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work for an engine: a turn, a step of a plan, the turn of a participant.

    Attributes:
        id: unique in the session.
        agent: the agent for which the work is done.
        skill: the skill.
        query: what is to be done.
        context: what other steps found, as :func:`context_part` marks it; untrusted text.
        packs: names of packs of tools, beside those of the skill.
        editor: what is open in the editor.
        rules: what of the system prompt holds in every skill (``engines.keep_parts``).
        tools: the only tools that the task may use; ``None``: those of its skill and its packs.
        name: name of the agent of a task that has one of its own.
        role: the part that the skill plays in a conversation of several (``critic``).
        images: what was attached, for a task that has an agent of its own; a turn has them in its input.
        session: the session of the agent that a task has of its own, as for :class:`~skillkit_core.AgentRunner`.
        resumed: that agent goes on in its session, where a call waited for a decision, or where a crash has left it.
        model: name of the model of that agent; empty: the caller's.
        grace: seconds that tools of that agent have to end once it is stopped; ``None``: as long as the caller's.
        run: the run in which the work is done, once it has begun: fragments ask a model and call tools through it.
    """

    id: str
    agent: AgentRunner
    skill: Skill
    query: str
    context: str = ""
    packs: tuple[str, ...] = ()
    editor: EditorContext | None = None
    rules: str = ""
    tools: frozenset[str] | None = None
    name: str = ""
    role: str = ""
    images: tuple[Block, ...] = ()
    session: str | None = None
    resumed: bool = False
    model: str = ""
    grace: float | None = None
    run: DrivenRun | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of a task.

    Attributes:
        status: ``rejected``: the skill does not do that; ``partial``: not all of it was done.
        text: what is said to the person.
        data: values by name, for later steps.
        reason: why it is not ``completed``, beginning with a word: ``rejected``, ``denied``, ``loop``, ``tool_rounds``, ...
        denied: names of tools whose calls were refused.
        session: the session of the agent that did the work, where it had one of its own.
        usage: what the work used, where it had an agent of its own.
    """

    status: Status
    text: str = ""
    data: Mapping[str, Any] = EMPTY
    reason: str = ""
    denied: tuple[str, ...] = ()
    session: str | None = None
    usage: TokenUsage = TokenUsage()


@runtime_checkable
class Engine(Protocol):
    """Does the work of the skills that name it by ``engine``.

    Attributes:
        name: the name.
        fields: fields of :class:`~skillkit_core.Skill` that have an effect because the engine is there.
    """

    name: str
    fields: frozenset[str]

    def problems(self, skill: Skill, host: Host) -> Sequence[SkillProblem]:
        """Return what is wrong with a skill. A skill with a problem of severity ``error`` is not used."""

    def tools(self, task: Task) -> Sequence[str]:
        """Return the names of the tools that a model may call for the task."""

    def prompt(self, task: Task) -> str:
        """Return the system prompt of the task."""

    async def run(self, task: Task, run: DrivenRun | None) -> TaskResult:
        """Do the task; the caller says the text of the result.

        Args:
            run: the run in which the work is done; ``None``: the engine makes an agent of its own (:func:`run_below`).
        """


@dataclass(frozen=True, slots=True)
class ToolPack:
    """Tools under one name, which a skill (``tool_packs``) or a step of a plan adds.

    Attributes:
        name: the name.
        description: one line for people and planners.
        tools: names of tools.
        optional: those of ``tools`` without which the pack is useful.
        waits: where a model can ask for packs (``request_tools``), no request carries the tools until it does, or a skill, a step
            or a person names them.
    """

    name: str
    description: str
    tools: tuple[str, ...]
    optional: tuple[str, ...] = ()
    waits: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(self.tools))
        object.__setattr__(self, "optional", tuple(self.optional))


@dataclass(frozen=True, slots=True)
class Fragment:
    """A function with named inputs and outputs, which skills name in ``subgraphs`` and planners call as a step.

    Attributes:
        name: the name.
        description: one line for people and planners.
        run: ``async (values, task) -> Mapping``, or its import string ``"module:function"``.
        inputs: JSON Schema of the values that it reads, an object schema; ``required`` names those that it cannot do without.
        outputs: JSON Schema of the values that it adds, an object schema.
        input_mapping: inputs of a step of a plan by their source; of two sources of one input the last that has a value counts.
            ``sub_query``: the words of the step; ``prior_response``: the responses of the steps that it depends on;
            ``step_KEY``: their value KEY. A step may name others.
        output_mapping: names of values for later steps by outputs; ``response_text`` is what a step says.
        tools: names of the tools that it may call.
    """

    ANY: ClassVar[Mapping[str, Any]] = freeze({"type": "object"})

    name: str
    description: str
    run: Callable[[Mapping[str, Any], Task], Awaitable[Mapping[str, Any]]] | str
    inputs: Mapping[str, Any] = ANY
    outputs: Mapping[str, Any] = ANY
    input_mapping: Mapping[str, str] = EMPTY
    output_mapping: Mapping[str, str] = EMPTY
    tools: tuple[str, ...] = ()


Engines: TypeAlias = Collection[str]
