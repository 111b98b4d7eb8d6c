"""Running the tests of a skill: actions for real, requests up to the call that they lead to."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_skills import ACTIVATE, ActionResult, run_action

from skillkit_core import AgentConfig, AgentRunner, Host, hookimpl
from skillkit_core.contracts.skill_loader import SkillSource
from skillkit_core.errors import AgentError, SkillKitError, UsageError
from skillkit_core.events.results import ToolCallEventResult
from skillkit_core.frozen import thaw

from .cases import ActionCase, Expected, SkillCases, TriggerCase

if TYPE_CHECKING:
    from skillkit_core.skills import Skill

__all__ = ["Outcome", "SkillTester"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case ended.

    Attributes:
        kind: ``action`` or ``trigger``.
        name: the case.
        failures: what was not as expected; empty: the case passed.
        ms: milliseconds.
    """

    kind: str
    name: str
    failures: tuple[str, ...] = ()
    ms: int = 0


@dataclass(frozen=True, slots=True)
class _Tested:
    """A plugin that brings the skill in a folder, before all others of its name."""

    folder: Path

    @hookimpl
    def register_skill_sources(self, register: Callable[[SkillSource], None]) -> None:
        """Register the folder."""
        register(SkillSource("tested", "project", self.folder))


class SkillTester:
    """The tests of the skill in one folder, among the skills that are installed. Each case has a workspace of its own.

    Args:
        skill: what is tested.
        config: says who is asked for requests; default: the offline stand-in.
        options: further arguments of the :class:`~skillkit_core.Host`.
    """

    def __init__(self, skill: Skill, config: AgentConfig | None = None, **options: Any) -> None:
        if skill.path is None:
            raise UsageError(f"skill {skill.name!r} has no folder")
        self.skill, self._folder = skill, skill.path.resolve()
        self._config = config or AgentConfig(provider="offline")
        self._options = options

    async def run(self, cases: SkillCases) -> AsyncIterator[Outcome]:
        """Run the cases one after the other, and yield how each ended."""
        every: list[ActionCase | TriggerCase] = [*cases.actions, *cases.triggers]
        for case in every:
            yield await self.run_one(case)

    async def run_one(self, case: ActionCase | TriggerCase) -> Outcome:
        """Run one case."""
        started = time.monotonic()
        kind = "action" if isinstance(case, ActionCase) else "trigger"
        try:
            async with self._workspace(case) as host:
                run = self._action(host, case) if isinstance(case, ActionCase) else self._trigger(host, case)
                failures = tuple(await run)
        except (SkillKitError, OSError) as error:
            failures = (str(error),)
        return Outcome(kind, case.title, failures, round((time.monotonic() - started) * 1000))

    @asynccontextmanager
    async def _workspace(self, case: ActionCase | TriggerCase) -> AsyncIterator[Host]:
        with tempfile.TemporaryDirectory(prefix="skillkit-test-") as name:
            workspace = Path(name).resolve()
            for path, text in case.files.items():
                _put(workspace, path, text.encode())
            for path in case.copied:
                source = (self._folder / path).resolve()
                if not source.is_relative_to(self._folder):
                    raise UsageError(f"copy: {path} is outside of the skill's folder")
                _put(workspace, path, source.read_bytes())
            host = Host(plugins=[("tested-skill", _Tested(self._folder))], cwd=workspace, **self._options)
            try:
                yield host
            finally:
                await host.aclose()

    def _here(self, host: Host) -> Skill:
        found = next((s for s in host.skills.items() if s.source == "tested"), None)
        if found is None:
            raise UsageError(f"there is no skill in {self._folder}", hint=f"skillkit skills check {self._folder}")
        return found

    # --- actions ----------------------------------------------------------------------------------------------

    async def _action(self, host: Host, case: ActionCase) -> list[str]:
        skill = self._here(host)
        action = skill.action(case.action)
        if action is None:
            known = ", ".join(a.name for a in skill.actions) or "none"
            raise UsageError(f"skill {skill.name!r} has no action {case.action!r}; its actions: {known}")
        try:
            result = await run_action(host, skill, action, case.args)
        except SkillKitError as error:
            if case.expect.error is not None and case.expect.error in str(error):
                return []
            raise
        return list(_compare(case.expect, result, host.cwd))

    # --- requests ---------------------------------------------------------------------------------------------

    async def _trigger(self, host: Host, case: TriggerCase) -> list[str]:
        skill = self._here(host)
        calls: list[tuple[str | None, str | None, Mapping[str, Any]]] = []

        def record(event: Any) -> ToolCallEventResult:
            named = event.args.get("name") if event.tool_name == ACTIVATE else event.annotations.get("skill")
            calls.append((named, event.annotations.get("action"), event.args))
            return ToolCallEventResult(block=True, reason="this is a test of the choice", terminate=True)

        agent = AgentRunner(self._config, host=host)
        said = ""
        try:
            agent.events.on("before_tool_call", record, phase="first")
            said = (await agent.chat(case.query)).content
        except AgentError as error:
            if not calls:
                raise
            said = str(error)
        finally:
            await agent.aclose()
        mine = [call for call in calls if call[0] == skill.name]
        if not case.should_trigger:
            return [f"chose {_call(mine[0])}"] if mine else []
        if not mine:
            instead = f"chose {_call(calls[0])}" if calls else " ".join(said.split())
            return [f"did not choose the skill: {instead}"]
        return list(_called(case, mine))


def _put(workspace: Path, path: str, content: bytes) -> None:
    target = (workspace / path).resolve()
    if not target.is_relative_to(workspace):
        raise UsageError(f"{path} is outside of the workspace of the case")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def _call(call: tuple[str | None, str | None, Mapping[str, Any]]) -> str:
    return " ".join(filter(None, (call[0] or "a tool of no skill", call[1])))


def _called(case: TriggerCase, calls: list[tuple[str | None, str | None, Mapping[str, Any]]]) -> list[str]:
    """What the calls of the skill lack."""
    if case.action is None and not case.args:
        return []
    call = next((c for c in calls if case.action in (None, c[1])), None)
    if call is None:
        return [f"called {_call(calls[0])}, not the action {case.action}"]
    got = thaw(call[2])
    return [f"{k} is {got.get(k)!r}, not {v!r}" for k, v in case.args.items() if got.get(k) != v]


def _compare(wanted: Expected, got: ActionResult, workspace: Path) -> list[str]:
    """What of ``got`` is not as ``wanted``."""
    ok = wanted.ok if wanted.ok is not None else wanted.error is None
    if got.ok != ok:
        return [
            f"worked, but should fail ({wanted.error or 'ok: false'})"
            if got.ok
            else f"failed: {got.error} {got.stderr.strip()}"
        ]
    wrong = []
    for name in ("error", "exit", "file"):
        want, have = getattr(wanted, name), getattr(got, name)
        if want is not None and want != have:
            wrong.append(f"{name} is {have!r}, not {want!r}")
    text = got.text if got.text is not None else ""
    if wanted.text is not None and text.strip() != wanted.text.strip():
        wrong.append(f"text is {text.strip()!r}, not {wanted.text.strip()!r}")
    output = f"{text if got.data is None else got.data}{got.stderr}"
    parts = [wanted.contains] if isinstance(wanted.contains, str) else wanted.contains
    wrong += [f"the output does not contain {part!r}: {output.strip()[:500]!r}" for part in parts if part not in output]
    if wanted.data is not None:
        wrong += _differs("data", wanted.data, got.data)
    for path, content in wanted.files.items():
        file = workspace / path
        if not file.is_file():
            wrong.append(f"the file {path} is not there")
        elif (found := file.read_text(encoding="utf-8", errors="replace")) != content:
            wrong.append(f"the file {path} holds {found[:500]!r}, not {content!r}")
    return wrong


def _differs(place: str, wanted: Any, got: Any) -> list[str]:
    """Where ``got`` is not as ``wanted``; of a mapping only the keys that are wanted count."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        return [line for k, v in wanted.items() for line in _differs(f"{place}.{k}", v, got.get(k))]
    return [] if wanted == got else [f"{place} is {got!r}, not {wanted!r}"]
