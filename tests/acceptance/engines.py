"""What the checker of the data of engines asks for, through the plugins as they run: gates, routing, compounds, edits, plans,
protocols.

``python ../shared/engines/check.py KIND engines`` from this folder, with ``--strict``.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import skillkit_engines.plugin
import skillkit_routing.plugin
import skillkit_skills.plugin
from skillkit_collaboration import Rules, State, receive
from skillkit_engine_editor import edit as apply_operations
from skillkit_engines import (
    EditorContext,
    RouteRequest,
    choose,
    filter_eligible,
    gate_request,
)
from skillkit_planner import Executor, FragmentNeeds, Known, PlanStep, Stops, context_for, reasons
from skillkit_routing import is_greeting
from skillkit_skills import listing
from skillkit_text_tools import compare_texts, merge_texts, transform_format

from skillkit_core import AgentConfig, AgentRunner, AssistantMessage, ErrorKind, Host, ProviderError, Skill, hookimpl
from skillkit_core.descriptors import Factory
from skillkit_core.messages import TextBlock

ENGINES = ("automation", "editor", "research")


class _Engines:
    """A plugin with engines that do nothing: the cases are about the choice alone."""

    def __init__(self, names: Sequence[str], vetoes: Mapping[str, str]) -> None:
        self._names, self._vetoes = names, vetoes

    @hookimpl(optionalhook=True)
    def register_engines(self, register: Any) -> None:
        for name in self._names:
            register(Factory(name, lambda host, name=name: _Engine(name)))

    @hookimpl(optionalhook=True)
    def filter_skill(self, skill: Any, context: Any) -> str | None:
        return self._vetoes.get(skill.name)


class _Engine:
    fields = frozenset(("subgraphs",))

    def __init__(self, name: str) -> None:
        self.name = name

    def problems(self, skill: Any, host: Any) -> Sequence[Any]:
        return ()


@contextmanager
def _host(registry: Sequence[Mapping[str, Any]], case: Mapping[str, Any], **settings: Any) -> Iterator[Host]:
    context = case.get("context", case)
    engines = [name for name in context.get("engines", ENGINES) if name != "conversational"]
    plugins = [
        ("skills", skillkit_skills.plugin),
        ("engines", skillkit_engines.plugin),
        ("routing", skillkit_routing.plugin),
        ("cases", _Engines(engines, context.get("veto") or {})),
    ]
    with tempfile.TemporaryDirectory() as folder:
        environ = {"SKILLKIT_HOME": folder}
        host = Host(environ=environ, cwd=Path(folder), discover=False, plugins=plugins, settings=settings)
        try:
            for row in registry:
                host.skills.register(row["name"], Skill(**row), "cases")
            yield host
        finally:
            host.close()


def _request(context: Mapping[str, Any], query: str, ask: Any = None) -> RouteRequest:
    editor = EditorContext(context["editor"]) if context.get("editor") else None
    return RouteRequest(
        query, images=context.get("images") or 0, editor=editor, active=context.get("active_skill"), ask=ask
    )


def gates(registry: Sequence[Mapping[str, Any]], context: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the gates make of a request."""
    with _host(registry, context) as host:
        missing = set(context.get("missing_tools") or ())
        tools = {name for row in registry for name in row.get("tools", ())} - missing
        engines = context.get("engines")
        request = gate_request(host, _request(context, context["query"]))
        found = filter_eligible(host, listing(host), request, tools=tools, engines=engines)
        return {
            "instant_route": "chat" if is_greeting(context["query"]) else None,
            "eligible": [skill.name for skill in found.eligible],
            "dropped": {name: why.partition(":")[0] for name, why in found.dropped.items()},
        }


class _Model:
    """Answers as a case says, and counts how often it is asked."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        self._model = model
        self.asked = 0

    async def __call__(self, messages: Any, **options: Any) -> AssistantMessage:
        self.asked += 1
        kind = self._model["kind"]
        if kind == "timeout":
            raise TimeoutError
        if kind == "error":
            raise ProviderError("it failed", kind=ErrorKind.server, status=self._model.get("status"))
        return AssistantMessage(content=(TextBlock(self._model["text"]),))


def route(registry: Sequence[Mapping[str, Any]], case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a request is routed to, and how often a model was asked."""
    settings = {f"routing.{name}": case[name] for name in ("threshold", "pin_single") if name in case}
    with _host(registry, case, **settings) as host:
        model = _Model(case["model"])
        ask = None if case["model"]["kind"] == "no_key" else model
        request = _request(case.get("context") or {}, case["query"], ask)

        async def chosen() -> Any:
            gated = filter_eligible(host, listing(host), gate_request(host, request))
            async with AgentRunner(AgentConfig(), host=host) as agent:
                return await choose(host, request, gated, agent)

        found = asyncio.run(chosen())
        told = {"model_calls": found.calls, "why": found.why}
        assert found.calls == model.asked, (found, model.asked)
        if found.plan:
            return {"route": "compound", "skills": [step["skill_name"] for step in found.plan], **told}
        return {"route": found.skill, **told}


def edit(document: str, operations: Sequence[Mapping[str, Any]], pre_hash: str | None) -> dict[str, Any]:
    """Return what operations make of a document."""
    done = apply_operations(document, operations, pre_hash)
    return {"status": done.status, "document": done.document, "operations": done.operations, "undo": done.undo}


def tool(name: str, args: Mapping[str, Any]) -> Any:
    """Return what a text tool makes of its arguments."""
    functions = {
        "merge_texts": merge_texts, "compare_texts": compare_texts, "transform_format": transform_format,
    }  # fmt: skip
    return functions[name](**args)


# --- plans ----------------------------------------------------------------------------------------------------------


def validate(plan: Mapping[str, Any], registry: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """Return the codes of what is wrong with a plan."""
    needs = {name: FragmentNeeds(one["inputs"], one["from_query"]) for name, one in registry["fragments"].items()}
    known = Known(
        registry["skills"], dict.fromkeys(registry["ineligible"], "x"), needs, registry["packs"], registry["outputs"]
    )
    given = {"max_steps": config["max_steps"]} if "max_steps" in config else {}
    return [reason.code for reason in reasons(plan, known, **given)]


class _Journal:
    """The journal of a case, for the executor."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal

    def records(self) -> Any:
        return self._journal.records()

    async def append(self, record: Mapping[str, Any]) -> None:
        self._journal.append(dict(record))


async def run(
    plan: Mapping[str, Any], *, run_step: Any, journal: Any, config: Mapping[str, Any], ask: Any, cancel: Any
) -> dict[str, Any]:
    """Carry out a plan whose steps are played."""
    rows = {row["step_id"]: row for row in plan["steps"]}
    cost = {number: row.get("cost_calls", 1) for number, row in rows.items()}
    spent = sum(cost[record["step_id"]] for record in journal.records() if record["state"] == "running")

    def take(step: PlanStep) -> str | None:
        nonlocal spent
        most = config.get("budget_calls")
        if most is not None and spent + cost[step.step_id] > most:
            return "no calls are left"
        spent += cost[step.step_id]
        return None

    async def do(step: PlanStep, results: Any, attempt: int) -> Any:
        return await run_step(rows[step.step_id], context_for(step, results), attempt)

    done = await Executor(
        [_step(row) for row in plan["steps"]],
        run_step=do,
        journal=_Journal(journal),
        ask=lambda step: ask(step.step_id),
        stops=Stops(cancel),
        max_parallel=config.get("max_parallel", 4),
        take=take,
    ).execute()
    return {"status": done.status, "states": done.states}


def _step(row: Mapping[str, Any]) -> PlanStep:
    known = {name: value for name, value in row.items() if name in PlanStep.model_fields}
    return PlanStep(**known, timeout_s=row["timeout_ms"] / 1000 if row.get("timeout_ms") else None)


def verdicts(case: Mapping[str, Any]) -> list[list[str]]:
    """Return the verdict on each message of a session, and the state behind it."""
    rules = Rules(case["participants"], case["roles"], case.get("max_revisions", 3))
    state, found = State(), []
    for message in case["messages"]:
        state, violation = receive(rules, state, message)
        found.append([violation.rule if violation is not None else "ok", state.status])
    return found
