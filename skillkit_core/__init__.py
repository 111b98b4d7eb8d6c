"""SkillKit's core: an extension host for LLM agents and skills that knows no vendor.

Every public name is here and imported when it is first used (PEP 562), so ``import skillkit_core`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
API_VERSION = 1

if TYPE_CHECKING:
    from .abort import AbortSignal as AbortSignal
    from .agent.directives import Directive as Directive
    from .agent.input import Receipt as Receipt
    from .agent.response import AgentResponse as AgentResponse
    from .agent.runner import AgentRunner as AgentRunner
    from .agent.suspension import SuspendedCall as SuspendedCall
    from .agent.suspension import Suspension as Suspension
    from .config import AgentConfig as AgentConfig
    from .config import Limits as Limits
    from .config import RetryPolicy as RetryPolicy
    from .context import ContextTransformer as ContextTransformer
    from .contracts.adapter import LLMAdapter as LLMAdapter
    from .contracts.adapter import LLMRequest as LLMRequest
    from .contracts.adapter import ModelSettings as ModelSettings
    from .contracts.approver import (
        ApprovalDecision as ApprovalDecision,
    )
    from .contracts.approver import (
        ApprovalRequest as ApprovalRequest,
    )
    from .contracts.approver import (
        Approver as Approver,
    )
    from .contracts.approver import (
        Question as Question,
    )
    from .contracts.compactor import (
        CompactionRequest as CompactionRequest,
    )
    from .contracts.compactor import (
        CompactionResult as CompactionResult,
    )
    from .contracts.compactor import (
        Compactor as Compactor,
    )
    from .contracts.runtime import ExecutionResult as ExecutionResult
    from .contracts.runtime import SkillRuntime as SkillRuntime
    from .contracts.session_store import (
        SessionEntry as SessionEntry,
    )
    from .contracts.session_store import (
        SessionHandle as SessionHandle,
    )
    from .contracts.session_store import (
        SessionHeader as SessionHeader,
    )
    from .contracts.session_store import (
        SessionStore as SessionStore,
    )
    from .contracts.skill_loader import (
        LoadedSkills as LoadedSkills,
    )
    from .contracts.skill_loader import (
        SkillLoader as SkillLoader,
    )
    from .contracts.skill_loader import (
        SkillSource as SkillSource,
    )
    from .contracts.tool_executor import ToolExecutor as ToolExecutor
    from .descriptors import (
        Command as Command,
    )
    from .descriptors import (
        ConfigSection as ConfigSection,
    )
    from .descriptors import (
        ContextProvider as ContextProvider,
    )
    from .descriptors import (
        Factory as Factory,
    )
    from .descriptors import (
        Provider as Provider,
    )
    from .descriptors import (
        TokenEstimator as TokenEstimator,
    )
    from .errors import (
        AgentBusy as AgentBusy,
    )
    from .errors import (
        AgentError as AgentError,
    )
    from .errors import (
        AmbiguousName as AmbiguousName,
    )
    from .errors import (
        AsyncHandlerError as AsyncHandlerError,
    )
    from .errors import (
        ConfigError as ConfigError,
    )
    from .errors import (
        ErrorKind as ErrorKind,
    )
    from .errors import (
        NoActiveRun as NoActiveRun,
    )
    from .errors import (
        PluginError as PluginError,
    )
    from .errors import (
        ProviderError as ProviderError,
    )
    from .errors import (
        ReentrancyError as ReentrancyError,
    )
    from .errors import (
        RunAborted as RunAborted,
    )
    from .errors import (
        SessionCorrupt as SessionCorrupt,
    )
    from .errors import (
        SessionError as SessionError,
    )
    from .errors import (
        SessionLocked as SessionLocked,
    )
    from .errors import (
        SkillKitError as SkillKitError,
    )
    from .errors import (
        ToolError as ToolError,
    )
    from .errors import (
        UnknownName as UnknownName,
    )
    from .errors import (
        UnknownSession as UnknownSession,
    )
    from .errors import (
        UsageError as UsageError,
    )
    from .events.bus import EventBus as EventBus
    from .events.context import HandlerContext as HandlerContext
    from .events.results import (
        UNSET as UNSET,
    )
    from .events.results import (
        BeforeAgentEndResult as BeforeAgentEndResult,
    )
    from .events.results import (
        BeforeAgentStartResult as BeforeAgentStartResult,
    )
    from .events.results import (
        BeforeCompactResult as BeforeCompactResult,
    )
    from .events.results import (
        ContextTransformResult as ContextTransformResult,
    )
    from .events.results import (
        Continue as Continue,
    )
    from .events.results import (
        EventResult as EventResult,
    )
    from .events.results import (
        Handled as Handled,
    )
    from .events.results import (
        MessageEndResult as MessageEndResult,
    )
    from .events.results import (
        ProviderRequestResult as ProviderRequestResult,
    )
    from .events.results import (
        ReplaceArgs as ReplaceArgs,
    )
    from .events.results import (
        SessionBeforeResult as SessionBeforeResult,
    )
    from .events.results import (
        SessionBeforeTreeResult as SessionBeforeTreeResult,
    )
    from .events.results import (
        SessionStartResult as SessionStartResult,
    )
    from .events.results import (
        ToolCallEventResult as ToolCallEventResult,
    )
    from .events.results import (
        ToolResultEventResult as ToolResultEventResult,
    )
    from .events.results import (
        Transform as Transform,
    )
    from .events.results import (
        TurnEndResult as TurnEndResult,
    )
    from .events.results import (
        TurnStartResult as TurnStartResult,
    )
    from .events.serialize import event_to_dict as event_to_dict
    from .events.types import (
        AfterProviderResponseEvent as AfterProviderResponseEvent,
    )
    from .events.types import (
        AgentEndEvent as AgentEndEvent,
    )
    from .events.types import (
        AgentSettledEvent as AgentSettledEvent,
    )
    from .events.types import (
        AgentStartEvent as AgentStartEvent,
    )
    from .events.types import (
        ApprovalRequestEvent as ApprovalRequestEvent,
    )
    from .events.types import (
        ApprovalResolvedEvent as ApprovalResolvedEvent,
    )
    from .events.types import (
        BeforeAgentEndEvent as BeforeAgentEndEvent,
    )
    from .events.types import (
        BeforeAgentStartEvent as BeforeAgentStartEvent,
    )
    from .events.types import (
        BeforeCompactEvent as BeforeCompactEvent,
    )
    from .events.types import (
        BeforeProviderRequestEvent as BeforeProviderRequestEvent,
    )
    from .events.types import (
        CompactionEndEvent as CompactionEndEvent,
    )
    from .events.types import (
        CompactionStartEvent as CompactionStartEvent,
    )
    from .events.types import (
        ContextTransformEvent as ContextTransformEvent,
    )
    from .events.types import (
        Event as Event,
    )
    from .events.types import (
        HandlerErrorEvent as HandlerErrorEvent,
    )
    from .events.types import (
        InputEvent as InputEvent,
    )
    from .events.types import (
        MessageEndEvent as MessageEndEvent,
    )
    from .events.types import (
        MessageStartEvent as MessageStartEvent,
    )
    from .events.types import (
        MessageUpdateEvent as MessageUpdateEvent,
    )
    from .events.types import (
        ModelSelectEvent as ModelSelectEvent,
    )
    from .events.types import (
        QueueUpdateEvent as QueueUpdateEvent,
    )
    from .events.types import (
        RetryEndEvent as RetryEndEvent,
    )
    from .events.types import (
        RetryScheduledEvent as RetryScheduledEvent,
    )
    from .events.types import (
        RetryStartEvent as RetryStartEvent,
    )
    from .events.types import (
        SessionBeforeForkEvent as SessionBeforeForkEvent,
    )
    from .events.types import (
        SessionBeforeSwitchEvent as SessionBeforeSwitchEvent,
    )
    from .events.types import (
        SessionBeforeTreeEvent as SessionBeforeTreeEvent,
    )
    from .events.types import (
        SessionShutdownEvent as SessionShutdownEvent,
    )
    from .events.types import (
        SessionStartEvent as SessionStartEvent,
    )
    from .events.types import (
        ToolCallEvent as ToolCallEvent,
    )
    from .events.types import (
        ToolExecutionEndEvent as ToolExecutionEndEvent,
    )
    from .events.types import (
        ToolExecutionStartEvent as ToolExecutionStartEvent,
    )
    from .events.types import (
        ToolExecutionUpdateEvent as ToolExecutionUpdateEvent,
    )
    from .events.types import (
        ToolResultEvent as ToolResultEvent,
    )
    from .events.types import (
        TurnEndEvent as TurnEndEvent,
    )
    from .events.types import (
        TurnStartEvent as TurnStartEvent,
    )
    from .events.types import (
        UsageEvent as UsageEvent,
    )
    from .frozen import FrozenDict as FrozenDict
    from .frozen import FrozenList as FrozenList
    from .frozen import freeze as freeze
    from .frozen import thaw as thaw
    from .hookspecs.markers import hookimpl as hookimpl
    from .hookspecs.markers import hookspec as hookspec
    from .host.adapters import AdapterRegistry as AdapterRegistry
    from .host.manager import Host as Host
    from .messages import (
        AgentMessage as AgentMessage,
    )
    from .messages import (
        AssistantMessage as AssistantMessage,
    )
    from .messages import (
        Block as Block,
    )
    from .messages import (
        CustomMessage as CustomMessage,
    )
    from .messages import (
        DocumentBlock as DocumentBlock,
    )
    from .messages import (
        ImageBlock as ImageBlock,
    )
    from .messages import (
        LLMMessage as LLMMessage,
    )
    from .messages import (
        Outcome as Outcome,
    )
    from .messages import (
        ProviderBlock as ProviderBlock,
    )
    from .messages import (
        RefusalBlock as RefusalBlock,
    )
    from .messages import (
        StopReason as StopReason,
    )
    from .messages import (
        TextBlock as TextBlock,
    )
    from .messages import (
        ThinkingBlock as ThinkingBlock,
    )
    from .messages import (
        ToolCall as ToolCall,
    )
    from .messages import (
        ToolResultMessage as ToolResultMessage,
    )
    from .messages import (
        UserMessage as UserMessage,
    )
    from .messages import (
        message_from_dict as message_from_dict,
    )
    from .messages import (
        message_to_dict as message_to_dict,
    )
    from .models import (
        ModelCost as ModelCost,
    )
    from .models import (
        ModelDefinition as ModelDefinition,
    )
    from .models import (
        ModelRegistry as ModelRegistry,
    )
    from .models import (
        TokenUsage as TokenUsage,
    )
    from .registry import Registry as Registry
    from .skills import (
        ActionArg as ActionArg,
    )
    from .skills import (
        EngineType as EngineType,
    )
    from .skills import (
        Requirements as Requirements,
    )
    from .skills import (
        Skill as Skill,
    )
    from .skills import (
        SkillAction as SkillAction,
    )
    from .skills import (
        SkillProblem as SkillProblem,
    )
    from .skills import (
        SkillRegistry as SkillRegistry,
    )
    from .stream import (
        MessageBuilder as MessageBuilder,
    )
    from .stream import (
        StreamEvent as StreamEvent,
    )
    from .stream import (
        StreamTable as StreamTable,
    )
    from .stream import (
        parse_tool_args as parse_tool_args,
    )
    from .tools import Tool as Tool
    from .tools import ToolContext as ToolContext
    from .tools import ToolOutput as ToolOutput
    from .tools import ToolSet as ToolSet

_PUBLIC = {
    "abort": ["AbortSignal"],
    "agent.directives": ["Directive"],
    "agent.input": ["Receipt"],
    "agent.response": ["AgentResponse"],
    "agent.suspension": ["SuspendedCall", "Suspension"],
    "agent.runner": ["AgentRunner"],
    "config": ["AgentConfig", "Limits", "RetryPolicy"],
    "context": ["ContextTransformer"],
    "contracts.adapter": ["LLMAdapter", "LLMRequest", "ModelSettings"],
    "contracts.approver": ["ApprovalDecision", "ApprovalRequest", "Approver", "Question"],
    "contracts.compactor": ["CompactionRequest", "CompactionResult", "Compactor"],
    "contracts.runtime": ["ExecutionResult", "SkillRuntime"],
    "contracts.session_store": ["SessionEntry", "SessionHandle", "SessionHeader", "SessionStore"],
    "contracts.skill_loader": ["LoadedSkills", "SkillLoader", "SkillSource"],
    "contracts.tool_executor": ["ToolExecutor"],
    "descriptors": ["Command", "ConfigSection", "ContextProvider", "Factory", "Provider", "TokenEstimator"],
    "errors": [
        "AgentBusy",
        "AgentError",
        "AmbiguousName",
        "AsyncHandlerError",
        "ConfigError",
        "ErrorKind",
        "NoActiveRun",
        "PluginError",
        "ProviderError",
        "ReentrancyError",
        "RunAborted",
        "SessionCorrupt",
        "SessionError",
        "SessionLocked",
        "SkillKitError",
        "ToolError",
        "UnknownName",
        "UnknownSession",
        "UsageError",
    ],
    "events.bus": ["EventBus"],
    "events.context": ["HandlerContext"],
    "events.serialize": ["event_to_dict"],
    "events.results": [
        "UNSET",
        "BeforeAgentEndResult",
        "BeforeAgentStartResult",
        "BeforeCompactResult",
        "ContextTransformResult",
        "Continue",
        "EventResult",
        "Handled",
        "MessageEndResult",
        "ProviderRequestResult",
        "ReplaceArgs",
        "SessionBeforeResult",
        "SessionBeforeTreeResult",
        "SessionStartResult",
        "ToolCallEventResult",
        "ToolResultEventResult",
        "Transform",
        "TurnEndResult",
        "TurnStartResult",
    ],
    "events.types": [
        "AfterProviderResponseEvent",
        "AgentEndEvent",
        "AgentSettledEvent",
        "AgentStartEvent",
        "ApprovalRequestEvent",
        "ApprovalResolvedEvent",
        "BeforeAgentEndEvent",
        "BeforeAgentStartEvent",
        "BeforeCompactEvent",
        "BeforeProviderRequestEvent",
        "CompactionEndEvent",
        "CompactionStartEvent",
        "ContextTransformEvent",
        "Event",
        "HandlerErrorEvent",
        "InputEvent",
        "MessageEndEvent",
        "MessageStartEvent",
        "MessageUpdateEvent",
        "ModelSelectEvent",
        "QueueUpdateEvent",
        "RetryEndEvent",
        "RetryScheduledEvent",
        "RetryStartEvent",
        "SessionShutdownEvent",
        "SessionBeforeForkEvent",
        "SessionBeforeSwitchEvent",
        "SessionBeforeTreeEvent",
        "SessionStartEvent",
        "ToolCallEvent",
        "ToolExecutionEndEvent",
        "ToolExecutionStartEvent",
        "ToolExecutionUpdateEvent",
        "ToolResultEvent",
        "TurnEndEvent",
        "TurnStartEvent",
        "UsageEvent",
    ],
    "frozen": ["FrozenDict", "FrozenList", "freeze", "thaw"],
    "hookspecs.markers": ["hookimpl", "hookspec"],
    "host.adapters": ["AdapterRegistry"],
    "host.manager": ["Host"],
    "messages": [
        "AgentMessage",
        "AssistantMessage",
        "Block",
        "CustomMessage",
        "DocumentBlock",
        "ImageBlock",
        "LLMMessage",
        "Outcome",
        "ProviderBlock",
        "RefusalBlock",
        "StopReason",
        "TextBlock",
        "ThinkingBlock",
        "ToolCall",
        "ToolResultMessage",
        "UserMessage",
        "message_from_dict",
        "message_to_dict",
    ],
    "models": ["ModelCost", "ModelDefinition", "ModelRegistry", "TokenUsage"],
    "registry": ["Registry"],
    "skills": ["ActionArg", "EngineType", "Requirements", "Skill", "SkillAction", "SkillProblem", "SkillRegistry"],
    "stream": ["MessageBuilder", "StreamEvent", "StreamTable", "parse_tool_args"],
    "tools": ["Tool", "ToolContext", "ToolOutput", "ToolSet"],
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = ["API_VERSION", "__version__", *_MODULE_OF]


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
