"""SkillKit's core: an extension host for LLM agents and skills that knows no vendor.

Every public name is imported when it is first used (PEP 562), so that ``import skillkit_core`` costs next to nothing.
"""

# ruff: noqa: F403 - a module is imported whole where every name in its ``__all__`` is public

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
API_VERSION = 1

if TYPE_CHECKING:  # the same names as in the table below, for type checkers and editors; a test compares both
    from .abort import *
    from .agent.clock import Clock as Clock
    from .agent.context import prompt_parts as prompt_parts
    from .agent.conversation import Conversation as Conversation
    from .agent.input import Delivery as Delivery, QueueItem as QueueItem, Receipt as Receipt
    from .agent.nesting import Parent as Parent, current_parent as current_parent
    from .agent.repair import repair as repair
    from .agent.response import *
    from .agent.runner import *
    from .agent.session import ModelChoice as ModelChoice, Session as Session
    from .agent.suspension import (
        SuspendedCall as SuspendedCall,
        Suspension as Suspension,
        no_such_call as no_such_call,
        resumption as resumption,
    )
    from .agent.target import Target as Target, resolve_target as resolve_target
    from .agent.tool_call import IN_PROCESS as IN_PROCESS
    from .config import *
    from .contracts.adapter import *
    from .contracts.approver import *
    from .contracts.compactor import *
    from .contracts.driver import *
    from .contracts.runtime import *
    from .contracts.session_store import (
        SessionEntry as SessionEntry,
        SessionHandle as SessionHandle,
        SessionHeader as SessionHeader,
        SessionNote as SessionNote,
        SessionStore as SessionStore,
    )
    from .contracts.skill_loader import *
    from .contracts.tool_executor import *
    from .contracts.user_interface import *
    from .descriptors import *
    from .errors import *
    from .events.bus import EventBus as EventBus
    from .events.context import *
    from .events.results import *
    from .events.serialize import *
    from .events.subscriptions import PHASES as PHASES, HandlerRecord as HandlerRecord
    from .events.types import *
    from .frozen import *
    from .hookspecs.markers import Phase as Phase, deprecated as deprecated, hookimpl as hookimpl, hookspec as hookspec
    from .host.adapters import AdapterRegistry as AdapterRegistry
    from .host.manager import Host as Host
    from .host.memory import MemorySession as MemorySession, MemoryStore as MemoryStore
    from .host.plan import Selection as Selection
    from .host.plugins import check_required as check_required, project_content as project_content
    from .host.registry import *
    from .host.secrets import Secrets as Secrets, redact_headers as redact_headers
    from .host.skills import SkillRegistry as SkillRegistry
    from .messages import *
    from .models import *
    from .settings.config import Layer as Layer
    from .skills import *
    from .stream import *
    from .tools import *

_PUBLIC = """
abort: AbortSignal
agent.clock: Clock
agent.context: prompt_parts
agent.conversation: Conversation
agent.input: Delivery QueueItem Receipt
agent.nesting: Parent current_parent
agent.repair: repair
agent.response: AgentResponse RunOutcome
agent.runner: AgentRunner
agent.session: ModelChoice Session
agent.suspension: SuspendedCall Suspension no_such_call resumption
agent.target: Target resolve_target
agent.tool_call: IN_PROCESS
config: AgentConfig Limits RetryPolicy
contracts.adapter: LLMAdapter LLMRequest ModelSettings OnRequest OnResponse ThinkingLevel
contracts.approver: ApprovalDecision ApprovalRequest Approver Question
contracts.compactor: CompactionRequest CompactionResult Compactor
contracts.driver: DrivenRun Driver
contracts.runtime: ExecutionResult OnOutput SkillRuntime
contracts.session_store: SessionEntry SessionHandle SessionHeader SessionNote SessionStore
contracts.skill_loader: LoadedSkills SkillLoader SkillSource
contracts.tool_executor: ToolExecutor
contracts.user_interface: AnswerValue Answers Deferred NoticeLevel QuestionKind Survey SurveyOption SurveyQuestion
    UserInterface
descriptors: Command ConfigSection ContextProvider Factory Provider TokenEstimator
errors: AgentBusy AgentError AmbiguousName AsyncHandlerError ConfigError Diagnostic ErrorKind EventRecursionError
    HandlerTimeout LimitReached NoActiveRun Owner PluginError ProviderError ReentrancyError RunAborted SessionCorrupt
    SessionError SessionLocked SessionTaken SkillKitError Suspended ToolError UnknownName UnknownSession UsageError
events.bus: EventBus
events.context: HandlerContext
events.results: UNSET BeforeAgentEndResult BeforeAgentStartResult BeforeCompactResult ContextTransformResult Continue
    EventResult Handled InputResult MessageEndResult ModelRequestResult ProviderRequestResult ReplaceArgs
    SessionBeforeResult SessionBeforeTreeResult SessionStartResult ToolCallEventResult ToolResultEventResult Transform
    TurnEndResult TurnStartResult Unset
events.serialize: event_to_dict
events.subscriptions: PHASES HandlerRecord
events.types: AfterProviderResponseEvent AgentEndEvent AgentSettledEvent AgentStartEvent ApprovalRequestEvent
    ApprovalResolvedEvent BeforeAgentEndEvent BeforeAgentStartEvent BeforeCompactEvent BeforeModelRequestEvent
    BeforeProviderRequestEvent CompactionEndEvent CompactionStartEvent ContextTransformEvent Event HandlerErrorEvent
    InputEvent MessageEndEvent MessageStartEvent MessageUpdateEvent ModelSelectEvent QuestionAnsweredEvent
    QuestionAskedEvent QueueUpdateEvent RetryEndEvent
    RetryScheduledEvent RetryStartEvent SessionBeforeForkEvent SessionBeforeSwitchEvent SessionBeforeTreeEvent
    SessionShutdownEvent SessionStartEvent SessionTreeEvent ToolCallEvent ToolExecutionEndEvent
    ToolExecutionStartEvent ToolExecutionUpdateEvent ToolResultEvent TurnEndEvent TurnStartEvent UsageEvent
frozen: FrozenDict FrozenList freeze thaw
hookspecs.markers: Phase deprecated hookimpl hookspec
host.adapters: AdapterRegistry
host.manager: Host
host.memory: MemorySession MemoryStore
host.plan: Selection
host.plugins: check_required project_content
host.registry: Entry ModelRegistry Registry
host.secrets: Secrets redact_headers
host.skills: SkillRegistry
messages: AgentMessage AssistantMessage Block ContextTransformer CustomMessage DocumentBlock ImageBlock LLMMessage
    Origin Outcome ProviderBlock RefusalBlock StopReason TextBlock ThinkingBlock ToolCall ToolResultMessage UserMessage
    blocks_of message_from_dict message_to_dict text_of
models: ModelCost ModelDefinition TokenUsage
settings.config: Layer
skills: ActionArg EngineType Requirements Skill SkillAction SkillProblem
stream: MessageBuilder StreamEvent StreamTable StreamType parse_tool_args
tools: NO_PARAMETERS Tool ToolContext ToolFunction ToolOutput ToolSet
"""


def _modules() -> dict[str, str]:
    """Return the module of each public name."""
    found: dict[str, str] = {}
    module = ""
    for word in _PUBLIC.split():
        if word.endswith(":"):
            module = word[:-1]
        else:
            found[word] = module
    return found


PUBLIC_MODULES = (
    "abort", "config", "descriptors", "errors", "estimates", "fields", "frozen", "messages", "models", "skills", "stream",
    "tools", "contracts.adapter", "contracts.approver", "contracts.compactor", "contracts.driver", "contracts.runtime",
    "contracts.session_store", "contracts.skill_loader", "contracts.tool_executor", "contracts.user_interface",
    "hookspecs.host", "hookspecs.lifecycle", "hookspecs.markers", "hookspecs.registration", "hookspecs.resolution",
    "events.context", "events.results", "events.serialize", "events.types",
    "host.discovery", "host.json_schema", "host.loading", "host.lock", "host.manifest", "host.probe", "host.skills", "program",
    "cli", "cli.output", "cli.sessions", "cli.trusting", "settings.documents", "settings.trust", "testing",
)  # fmt: skip
"""The modules that plugins import; of every other module the names in ``__all__`` above it. A test reads every import."""

_MODULE_OF = _modules()
__all__ = ["API_VERSION", "PUBLIC_MODULES", "__version__", *_MODULE_OF]


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
