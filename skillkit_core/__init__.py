"""SkillKit's core: an extension host for LLM agents and skills that knows no vendor.

Every public name is here and imported when it is first used (PEP 562), so ``import skillkit_core`` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
API_VERSION = 1

if TYPE_CHECKING:
    from .abort import AbortSignal as AbortSignal
    from .agent.input import Receipt as Receipt
    from .agent.response import AgentResponse as AgentResponse
    from .agent.runner import AgentRunner as AgentRunner
    from .agent.suspension import SuspendedCall as SuspendedCall, Suspension as Suspension
    from .config import AgentConfig as AgentConfig, Limits as Limits, RetryPolicy as RetryPolicy
    from .contracts.adapter import LLMAdapter as LLMAdapter, LLMRequest as LLMRequest, ModelSettings as ModelSettings
    from .contracts.approver import (
        ApprovalDecision as ApprovalDecision,
        ApprovalRequest as ApprovalRequest,
        Approver as Approver,
        Question as Question,
    )
    from .contracts.compactor import (
        CompactionRequest as CompactionRequest,
        CompactionResult as CompactionResult,
        Compactor as Compactor,
    )
    from .contracts.runtime import ExecutionResult as ExecutionResult, SkillRuntime as SkillRuntime
    from .contracts.session_store import (
        SessionEntry as SessionEntry,
        SessionHandle as SessionHandle,
        SessionHeader as SessionHeader,
        SessionStore as SessionStore,
    )
    from .contracts.skill_loader import (
        LoadedSkills as LoadedSkills,
        SkillLoader as SkillLoader,
        SkillSource as SkillSource,
    )
    from .contracts.tool_executor import ToolExecutor as ToolExecutor
    from .descriptors import (
        Command as Command,
        ConfigSection as ConfigSection,
        ContextProvider as ContextProvider,
        Factory as Factory,
        Provider as Provider,
        TokenEstimator as TokenEstimator,
    )
    from .errors import (
        AgentBusy as AgentBusy,
        AgentError as AgentError,
        AmbiguousName as AmbiguousName,
        AsyncHandlerError as AsyncHandlerError,
        ConfigError as ConfigError,
        ErrorKind as ErrorKind,
        NoActiveRun as NoActiveRun,
        PluginError as PluginError,
        ProviderError as ProviderError,
        ReentrancyError as ReentrancyError,
        RunAborted as RunAborted,
        SessionCorrupt as SessionCorrupt,
        SessionError as SessionError,
        SessionLocked as SessionLocked,
        SkillKitError as SkillKitError,
        ToolError as ToolError,
        UnknownName as UnknownName,
        UnknownSession as UnknownSession,
        UsageError as UsageError,
    )
    from .events.bus import EventBus as EventBus
    from .events.context import HandlerContext as HandlerContext
    from .events.results import (
        UNSET as UNSET,
        BeforeAgentEndResult as BeforeAgentEndResult,
        BeforeAgentStartResult as BeforeAgentStartResult,
        BeforeCompactResult as BeforeCompactResult,
        ContextTransformResult as ContextTransformResult,
        Continue as Continue,
        EventResult as EventResult,
        Handled as Handled,
        MessageEndResult as MessageEndResult,
        ProviderRequestResult as ProviderRequestResult,
        ReplaceArgs as ReplaceArgs,
        SessionBeforeResult as SessionBeforeResult,
        SessionBeforeTreeResult as SessionBeforeTreeResult,
        SessionStartResult as SessionStartResult,
        ToolCallEventResult as ToolCallEventResult,
        ToolResultEventResult as ToolResultEventResult,
        Transform as Transform,
        TurnEndResult as TurnEndResult,
        TurnStartResult as TurnStartResult,
    )
    from .events.serialize import event_to_dict as event_to_dict
    from .events.types import (
        AfterProviderResponseEvent as AfterProviderResponseEvent,
        AgentEndEvent as AgentEndEvent,
        AgentSettledEvent as AgentSettledEvent,
        AgentStartEvent as AgentStartEvent,
        ApprovalRequestEvent as ApprovalRequestEvent,
        ApprovalResolvedEvent as ApprovalResolvedEvent,
        BeforeAgentEndEvent as BeforeAgentEndEvent,
        BeforeAgentStartEvent as BeforeAgentStartEvent,
        BeforeCompactEvent as BeforeCompactEvent,
        BeforeProviderRequestEvent as BeforeProviderRequestEvent,
        CompactionEndEvent as CompactionEndEvent,
        CompactionStartEvent as CompactionStartEvent,
        ContextTransformEvent as ContextTransformEvent,
        Event as Event,
        HandlerErrorEvent as HandlerErrorEvent,
        InputEvent as InputEvent,
        MessageEndEvent as MessageEndEvent,
        MessageStartEvent as MessageStartEvent,
        MessageUpdateEvent as MessageUpdateEvent,
        ModelSelectEvent as ModelSelectEvent,
        QueueUpdateEvent as QueueUpdateEvent,
        RetryEndEvent as RetryEndEvent,
        RetryScheduledEvent as RetryScheduledEvent,
        RetryStartEvent as RetryStartEvent,
        SessionBeforeForkEvent as SessionBeforeForkEvent,
        SessionBeforeSwitchEvent as SessionBeforeSwitchEvent,
        SessionBeforeTreeEvent as SessionBeforeTreeEvent,
        SessionShutdownEvent as SessionShutdownEvent,
        SessionStartEvent as SessionStartEvent,
        ToolCallEvent as ToolCallEvent,
        ToolExecutionEndEvent as ToolExecutionEndEvent,
        ToolExecutionStartEvent as ToolExecutionStartEvent,
        ToolExecutionUpdateEvent as ToolExecutionUpdateEvent,
        ToolResultEvent as ToolResultEvent,
        TurnEndEvent as TurnEndEvent,
        TurnStartEvent as TurnStartEvent,
        UsageEvent as UsageEvent,
    )
    from .frozen import FrozenDict as FrozenDict, FrozenList as FrozenList, freeze as freeze, thaw as thaw
    from .hookspecs.markers import hookimpl as hookimpl, hookspec as hookspec
    from .host.adapters import AdapterRegistry as AdapterRegistry
    from .host.manager import Host as Host
    from .messages import (
        AgentMessage as AgentMessage,
        AssistantMessage as AssistantMessage,
        Block as Block,
        ContextTransformer as ContextTransformer,
        CustomMessage as CustomMessage,
        DocumentBlock as DocumentBlock,
        ImageBlock as ImageBlock,
        LLMMessage as LLMMessage,
        Outcome as Outcome,
        ProviderBlock as ProviderBlock,
        RefusalBlock as RefusalBlock,
        StopReason as StopReason,
        TextBlock as TextBlock,
        ThinkingBlock as ThinkingBlock,
        ToolCall as ToolCall,
        ToolResultMessage as ToolResultMessage,
        UserMessage as UserMessage,
        message_from_dict as message_from_dict,
        message_to_dict as message_to_dict,
    )
    from .models import (
        ModelCost as ModelCost,
        ModelDefinition as ModelDefinition,
        ModelRegistry as ModelRegistry,
        TokenUsage as TokenUsage,
    )
    from .registry import Registry as Registry
    from .skills import (
        ActionArg as ActionArg,
        EngineType as EngineType,
        Requirements as Requirements,
        Skill as Skill,
        SkillAction as SkillAction,
        SkillProblem as SkillProblem,
        SkillRegistry as SkillRegistry,
    )
    from .stream import (
        MessageBuilder as MessageBuilder,
        StreamEvent as StreamEvent,
        StreamTable as StreamTable,
        parse_tool_args as parse_tool_args,
    )
    from .tools import Tool as Tool, ToolContext as ToolContext, ToolOutput as ToolOutput, ToolSet as ToolSet

_PUBLIC = {
    "abort": ["AbortSignal"],
    "agent.input": ["Receipt"],
    "agent.response": ["AgentResponse"],
    "agent.suspension": ["SuspendedCall", "Suspension"],
    "agent.runner": ["AgentRunner"],
    "config": ["AgentConfig", "Limits", "RetryPolicy"],
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
        "ContextTransformer",
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
