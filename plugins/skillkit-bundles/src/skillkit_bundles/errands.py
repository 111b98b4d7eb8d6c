"""Tool calls that the text of a command asks for: each passes every guard, and nobody is asked about one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    BeforeAgentStartResult,
    Tool,
    ToolCall,
    ToolCallEventResult,
    ToolResultMessage,
)
from skillkit_core.errors import SkillKitError, UsageError

if TYPE_CHECKING:
    from skillkit_core import DrivenRun
    from skillkit_core.events.types import BeforeAgentStartEvent, ToolCallEvent

__all__ = ["GRANTS", "granted", "read_files", "run_lines"]

GRANTS: WeakKeyDictionary[AgentRunner, Sequence[str]] = WeakKeyDictionary()
"""What runs without a question for an agent now, because the command that is being carried out says so."""


class _Nobody(Approver):
    """Denies what a guard asks about."""

    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        """Deny."""
        return ApprovalDecision("deny", "commands in the text of a bundle run without a question, or not at all")


class _Calls:
    """Makes calls one after the other until one fails."""

    def __init__(self, calls: Sequence[ToolCall], *, whole: bool) -> None:
        self._calls, self._whole = calls, whole
        self.results: list[ToolResultMessage] = []

    async def drive(self, run: DrivenRun) -> None:
        for call in self._calls:
            result = (await run.call(call))[0]
            self.results.append(result)
            if result.is_error and self._whole:
                return


async def _made(
    agent: AgentRunner, calls: Sequence[ToolCall], grants: Sequence[str], *, whole: bool
) -> list[ToolResultMessage]:
    """Return the results of calls of one tool, made by an agent of its own with the settings and guards of ``agent``."""
    tool = calls[0].name
    only = agent.config.only_tools
    config = AgentConfig(
        bare=True, only_tools=frozenset({tool}) if only is None else only & {tool}, approver=_Nobody(),
        cwd=agent.cwd, executor=agent.config.executor, tools=_opened(agent, tool),
    )  # fmt: skip
    work = _Calls(calls, whole=whole)

    def begin(event: BeforeAgentStartEvent) -> BeforeAgentStartResult:
        return BeforeAgentStartResult(driver=work)

    def unguarded(event: ToolCallEvent) -> ToolCallEventResult | None:
        return _unless_granted(below, event, grants)

    async with AgentRunner(config, host=agent.host, name="bundle-command") as below:
        GRANTS[below] = grants
        below.events.on("before_agent_start", begin, phase="first")
        if "permission_rules" not in agent.host.kinds:
            below.events.on("before_tool_call", unguarded, phase="guard")
        await below.chat("what the text of a command asks for")
    return work.results


def _opened(agent: AgentRunner, name: str) -> tuple[Tool, ...]:
    """Return the tool of that name, also where it is no tool for a model: what may be called, the guards decide."""
    known = agent.host.tools
    found = known.get(name) if name in known else None
    return (replace(found, opt_in=False),) if isinstance(found, Tool) else ()


def _unless_granted(below: AgentRunner, event: ToolCallEvent, grants: Sequence[str]) -> ToolCallEventResult | None:
    """Block a shell command that ``allowed-tools`` does not name, where no plugin decides permissions."""
    from skillkit_skills import in_our_words, pre_approved

    if event.tool_name != "bash" or pre_approved(in_our_words(grants), "bash", event.args):
        return None
    return ToolCallEventResult(block=True, reason="the command does not stand in allowed-tools")


async def run_lines(agent: AgentRunner, lines: Sequence[str], grants: Sequence[str], timeout: float) -> list[str]:
    """Return the output of shell lines, in order.

    Raises:
        UsageError: there is no shell, or one of them may not run or failed.
    """
    if not lines:
        return []
    about = "a command in the text may not run"
    if "bash" not in agent.host.tools:
        raise UsageError(f"{about}: there is no tool 'bash' here", hint="pip install skillkit-bash")
    calls = [ToolCall("", "bash", {"command": line, "timeout": timeout}) for line in lines]
    try:
        results = await _made(agent, calls, grants, whole=True)
    except SkillKitError as error:
        raise UsageError(f"{about}: {error}") from error
    for line, result in zip(lines, results, strict=False):
        if result.is_error:
            raise UsageError(f"`{line}` in the text of the command did not run to its end: {result.text[:500]}")
    if len(results) < len(lines):
        raise UsageError(f"{about}: {lines[len(results)]}")
    return [_output(result) for result in results]


def _output(result: ToolResultMessage) -> str:
    details: Any = result.details
    if isinstance(details, Mapping) and not details.get("stdout_bytes") and not details.get("stderr_bytes"):
        return ""
    return result.text.removeprefix("[stderr]\n")


async def read_files(agent: AgentRunner, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Return those of the files that may be read, each with its content."""
    if not paths:
        return []
    calls = [ToolCall("", "read", {"path": path}) for path in paths]
    try:
        results = await _made(agent, calls, (), whole=False)
    except SkillKitError:
        return []
    return [(path, one.text) for path, one in zip(paths, results, strict=False) if not one.is_error]


def granted(agent: AgentRunner) -> Sequence[tuple[str, Mapping[str, Sequence[str]]]]:
    """Return what runs without a question for an agent now, as rules of the plugin ``permissions``."""
    rules = GRANTS.get(agent)
    return [("allowed-tools of the bundle's command", {"allow": list(rules)})] if rules else []
