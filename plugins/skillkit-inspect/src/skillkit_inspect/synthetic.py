"""The synthetic run of ``skillkit inspect hooks``: it calls every hook, without a model or a file."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from skillkit_core import (
    AgentConfig,
    AgentRunner,
    Answers,
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    CompactionRequest,
    CompactionResult,
    Compactor,
    Factory,
    HandlerErrorEvent,
    LLMRequest,
    ModelDefinition,
    NoticeLevel,
    SkillKitError,
    StreamEvent,
    Survey,
    SurveyQuestion,
    Tool,
    ToolCallEventResult,
    UserInterface,
    hookimpl,
    project_content,
)
from skillkit_core.testing import Call, Fail, Reply, ScriptedModel, VirtualClock

from .report import empty_row, in_order, isolated_cost, summary
from .tracer import Tracer, hook_families, label_of

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["check_hooks"]

WITNESS = "skillkit-inspect"
SYNTHETIC = "synthetic"
TOOL = "synthetic_check"
UNSET_VARIABLE = "SKILLKIT_SYNTHETIC_CHECK"
ABOUT = "part of a check of the hooks"
RUN_SECONDS = 120.0
TOOL_HOOKS = frozenset(
    {
        "tool_execution_update",
        "after_tool_result",
        "wrap_tool_call",
        "approval_request",
        "approval_resolved",
        "question_asked",
        "question_answered",
        "queue_update",
    }
)
COMPACTION_HOOKS = frozenset({"select_compactor", "compaction_start", "compaction_end"})


async def check_hooks(host: Host, *, seconds: float = RUN_SECONDS) -> dict[str, Any]:
    """Load the plugins of ``host``, do everything that hooks are called for, and close the host.

    Args:
        host: A host that has not loaded its plugins yet.
        seconds: How long the run may take.

    Returns:
        ``run`` (``outcome``, ``error``), ``hooks`` (for each hook of the core and of the plugins: ``hook, family, fired,
        reason, plugins``), ``handlers`` (a row per implementation, see :func:`~.report.summary`), ``isolated`` and ``problems``.
    """
    tracer = Tracer(host)
    host.add_plugin(_witness(), name=WITNESS)
    work = _Work(host)
    try:
        await work.everything(seconds)
    finally:
        await work.agent.aclose()
        await host.aclose()
    calls = [call for call in tracer.calls if call.bypassed_by is None]
    fired = {call.hook for call in calls} | work.emitted
    return {
        "run": {"outcome": work.outcome, "error": work.error},
        "hooks": _hooks(host, fired, work),
        "handlers": _handlers(host, tracer, fired, work),
        "isolated": isolated_cost(host, tracer.calls),
        "problems": [problem.to_dict() for problem in host.problems if problem.plugin != SYNTHETIC],
    }


def _hooks(host: Host, fired: set[str], work: _Work) -> list[dict[str, Any]]:
    rows = []
    for hook, family in _known(host).items():
        plugins = list(dict.fromkeys(impl.plugin_name for impl in host.impls(hook) if impl.plugin_name != WITNESS))
        # of a kind that a plugin defines, all plugins were asked, also where none has the hook
        was = hook in fired or hook.removeprefix("register_") in host.kinds
        row = {"hook": hook, "family": family, "fired": was, "reason": None if was else work.why_not(hook, family)}
        rows.append({**row, "plugins": plugins})
    return rows


def _known(host: Host) -> dict[str, str]:
    """Return the hooks of the core, then those that plugins define, with their families."""
    own = sorted(hook for plugin in host.plugins.values() for hook in plugin.defines)
    return {**hook_families(), **dict.fromkeys(own, "own")}


def _handlers(host: Host, tracer: Tracer, fired: set[str], work: _Work) -> list[dict[str, Any]]:
    """Return a row for each implementation of a plugin, also for those that were not called."""
    rows = {(r["hook"], r["handler"]): r for r in summary(tracer.calls) if r["plugin"] != WITNESS}
    for hook, family in _known(host).items():
        for impl in host.impls(hook):
            key = hook, label_of(impl)
            if impl.plugin_name != WITNESS and key not in rows:
                why = "no event was for it" if hook in fired else work.why_not(hook, family)
                rows[key] = empty_row(hook, family, impl.plugin_name, key[1]) | {"reason": why}
    return in_order(rows.values())


# --- plugin, compactor, approver and model of the run --------------------------------------------------------------


def _witness() -> SimpleNamespace:
    """Return a plugin that implements every hook of the core, so that each call of a hook is recorded.

    The plugin comes last and changes nothing, but that the synthetic tool call needs an approval and that there is a compactor
    when no other plugin brings one.
    """

    def quiet() -> None:
        return None

    async def around(call_next: Callable[[], Any]) -> Any:
        return await call_next()

    def register_compactors(register: Callable[[Factory], None]) -> None:
        register(Factory(WITNESS, _KeepLast))

    def before_tool_call(event: Any) -> ToolCallEventResult | None:
        return ToolCallEventResult(ask=ABOUT) if event.tool_name == TOOL else None

    special: Mapping[str, Any] = {"register_compactors": register_compactors, "before_tool_call": before_tool_call}
    plugin = SimpleNamespace()
    for hook, family in hook_families().items():
        setattr(plugin, hook, hookimpl(special.get(hook, around if family == "around" else quiet)))
    return plugin


class _KeepLast(Compactor):
    """Keep the last message."""

    def __init__(self, host: Any = None) -> None:
        pass

    async def compact(self, request: CompactionRequest) -> CompactionResult:
        return CompactionResult(ABOUT, max(1, len(request.messages) - 1))


class _Agrees(Approver):
    async def approve(self, request: ApprovalRequest) -> ApprovalDecision:
        return ApprovalDecision("allow", ABOUT)


class _Declines(UserInterface):
    async def ask(self, survey: Survey) -> Answers | None:
        return None

    async def notify(self, text: str, level: NoticeLevel = "info") -> None:
        return None


class _Synthetic(ScriptedModel):
    """A scripted model that calls the hooks of a wire, too."""

    async def stream(self, request: LLMRequest) -> AsyncIterator[StreamEvent]:
        if request.on_request is not None:
            await request.on_request({"model": request.model.id}, {})
        if request.on_response is not None:
            await request.on_response(200, {})
        async for event in super().stream(request):
            yield event


# --- the work -----------------------------------------------------------------------------------------------------


class _Work:
    """Loads, registers, resolves, runs and compacts, and records how far that came.

    Attributes:
        outcome: The outcome of the run.
        error: Why the run failed.
        refused: Why the synthetic tool call did not run.
        emitted: The events that were emitted here and not by the run.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self.outcome = "not started"
        self.error: str | None = None
        self.refused: str | None = None
        self.emitted: set[str] = set()
        self.agent = self._agent()

    def _agent(self) -> AgentRunner:
        async def check(args: Any, ctx: Any) -> str:
            ctx.on_output("a line")
            await ctx.ask(Survey(ABOUT, questions=(SurveyQuestion("what", ABOUT),)))
            await ctx.agent.steer("and this?")
            return "ok"

        config = AgentConfig(
            model=ModelDefinition(SYNTHETIC, SYNTHETIC, "scripted"),
            tools=(Tool(TOOL, f"{ABOUT}; it does nothing", check),),
            approver=_Agrees(),
            ui=_Declines(),
        )
        return AgentRunner(config, host=self.host, clock=VirtualClock())

    async def everything(self, seconds: float) -> None:
        """Do everything that hooks are called for; a failure is a row of the report."""
        host, agent = self.host, self.agent
        host.collect_all()
        host.note(SYNTHETIC, ABOUT)  # ``plugin_problem``
        project_content(host, str(host.cwd))
        await self._resolve()
        agent.events.on("tool_execution_end", self._ended)
        turns = (Fail(), Reply("I will look.", calls=[Call(TOOL)]), "Done.", "Fine.")
        agent.set_adapter(_Synthetic(turns, repeat=True))
        try:
            async with asyncio.timeout(seconds):
                await self._talk()
                agent.set_adapter(_Synthetic(turns, repeat=True))  # another choice of who answers: ``model_select``
                for step in (agent.compact, agent.fork, self._back, self._elsewhere):
                    with contextlib.suppress(SkillKitError):  # a hook was against it
                        await step()
        except TimeoutError:
            self.error = f"it did not end within {seconds:g} s"
        if "handler_error" in agent.events.table:
            self.emitted.add("handler_error")
            about = {"event": "input", "source": WITNESS, "error": ABOUT}
            await agent.events.emit(agent.events.make(HandlerErrorEvent, plugin=None, traceback="", **about))

    async def _talk(self) -> None:
        try:
            self.outcome = (await self.agent.chat("This is a check of the hooks.")).outcome
        except SkillKitError as error:
            self.outcome, self.error = "failed", str(error)

    async def _back(self) -> None:
        await self.agent.move_to(None)

    async def _elsewhere(self) -> None:
        """Switch to a session that does not exist: nothing is read and nothing is made."""
        await self.agent.switch(WITNESS)

    async def _resolve(self) -> None:
        """Look up names that no plugin has; what is found is not used."""
        host = self.host
        config = AgentConfig(model=SYNTHETIC, provider=SYNTHETIC)
        asked: tuple[tuple[str, dict[str, Any]], ...] = (
            ("resolve_adapter", {"provider": SYNTHETIC, "api": None, "config": config}),
            ("resolve_model", {"name": SYNTHETIC, "provider": None}),
            ("resolve_runtime", {"name": None}),
            ("resolve_executor", {"name": None}),
            ("resolve_approver", {"config": config}),
            ("refresh_secret", {"name": UNSET_VARIABLE, "stale": ""}),
        )
        for hook, values in asked:
            try:
                async with asyncio.timeout(host.load().seconds):
                    await host.resolve(hook, **values)
            except TimeoutError:
                continue  # its row says that it was cancelled
        await host.find_secret(UNSET_VARIABLE)

    def _ended(self, event: Any) -> None:
        if event.tool_name == TOOL and event.outcome != "ok":
            self.refused = " ".join(getattr(block, "text", "") for block in event.content)

    def why_not(self, hook: str, family: str) -> str:
        """Return why a hook was not fired."""
        if family == "own":
            return "a plugin defines it and calls it itself"
        if hook == "plugin_registered":
            return "no other plugin is installed"
        if hook in TOOL_HOOKS and self.refused:
            return f"the synthetic call did not run: {self.refused}"
        if self.error is not None:
            return f"the run ended before it: {self.error}"
        if hook in COMPACTION_HOOKS:
            return "a handler of before_compact decided"
        return f"the run did not bring it about, outcome {self.outcome!r}"
