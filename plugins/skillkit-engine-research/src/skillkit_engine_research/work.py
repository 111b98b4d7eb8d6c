"""One task: its rounds of search, its answer, and what became of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from skillkit_engines import (
    Engine,
    Notebook,
    Task,
    TaskResult,
    compose,
    context_part,
    converse,
    load_context,
    messages_of,
    node,
    settings_of,
    task_tools,
)

from skillkit_core.messages import AgentMessage, AssistantMessage, ToolCall, ToolResultMessage, UserMessage, blocks_of

from .answers import SCHEMAS, Draft, Dropped, draft_of, first_object, problems_of, settled
from .budget import Budget, BudgetSpent
from .evidence import Evidence
from .gathering import LOCAL, WEB, Gatherer, addresses_in
from .passages import pieces_of, words_of
from .prompts import ASSESS, ASSESSED, COLLECT, PLAN, PLANNED, RELATE, RELATED, VERIFIED, VERIFY, filled
from .report import Report

if TYPE_CHECKING:
    from skillkit_core import DrivenRun
    from skillkit_core.tools import Tool

    from .modes import Mode

__all__ = ["END", "Work"]

END = "engine-research.end"  # type of the note


class Work:
    """The work on one task. Use :meth:`begin`.

    Attributes:
        offered: the tools of the task, by name.
        evidence: what was found.
    """

    def __init__(self, engine: Engine, task: Task, run: DrivenRun, mode: Mode, budget: Budget) -> None:
        self._engine, self._task, self._run, self._mode, self._budget = engine, task, run, mode, budget
        self._book = Notebook(run, task.id)
        self.offered: Mapping[str, Tool] = task_tools(engine, task)
        self.evidence = Evidence(run.agent, task.id, mode.budget.sources)
        section = run.agent.host.config.section("research", None)
        hosts = (mode.hosts, section.hosts if section is not None else ())
        self._gatherer = Gatherer(run, mode, self.evidence, budget, hosts, self._steer)
        self._conversation: list[AgentMessage] = []
        self._words: list[str] = words_of(task.query)
        self._draft = Draft(mode.output_format)
        self._report = Report(task, mode)

    @classmethod
    async def begin(cls, engine: Engine, task: Task, run: DrivenRun, name: str, mode: Mode) -> Work:
        """Return the work on a task, whose begin a note tells."""
        work = cls(engine, task, run, mode, await Budget.begin(run, task.id, name, mode.budget))
        work._report.mode_name = name
        work._conversation = [*messages_of(task, run, await load_context(task)), *_steered(run)]
        return work

    # --- the search -----------------------------------------------------------------------------------------------

    async def search(self) -> str | None:
        """Look for sources, in rounds; return why the request is none of the skill's, if a model says so."""
        await self._tell_missing("The files were", LOCAL if self._mode.local else ())
        await self._tell_missing("The web was", WEB if self._mode.web != "none" else ())
        try:
            return await self._rounds()
        except BudgetSpent as spent:
            self._report.stopped = str(spent)
        return None

    async def _rounds(self) -> str | None:
        queries: Sequence[str] = [self._task.query]
        if self._mode.plan and not self._budget.spent(requests=1):
            async with node(self._task, "plan"):
                planned = await self._plan()
            if isinstance(planned, str):
                return planned
            queries = planned or queries
        most = self._mode.max_rounds if self._mode.assess else 0
        for number in range(most + 1):
            self._report.rounds = number + 1
            await self._round(queries, first=number == 0)
            if not self._mode.assess:
                return None
            async with node(self._task, "assess"):
                sufficient, gaps, wanted = await self._assess()
            self._report.open_gaps = [] if sufficient else gaps or ["the sources are not enough to answer the request"]
            if sufficient or number == most:
                return None
            async with node(self._task, "gap_analysis"):
                queries = self._fresh(wanted) or self._fresh(gaps)
            if not queries:
                return None
            self._steer()
        return None

    def _steer(self) -> None:
        """Take what a person has said meanwhile into the conversation."""
        self._conversation += (UserMessage(content=blocks_of(i.text), source="steer") for i in self._run.checkpoint())

    async def _plan(self) -> list[str] | str:
        """Return the queries of the first round, or why the request is none of the skill's."""
        system = filled(PLAN, most=self._mode.queries, focus=self._mode.focus)
        found = await self._object(self._conversation, system=system, schema=PLANNED, purpose="engine-research.plan")
        if found.get("rejected") is True:
            return str(found.get("reason") or "no reason given")
        return self._fresh(_texts(found.get("queries")))

    async def _round(self, queries: Sequence[str], *, first: bool) -> None:
        """Search everything that the mode has for queries."""
        mode, gatherer, task = self._mode, self._gatherer, self._task
        gatherer.searched.update(dict.fromkeys(queries))
        self._words += (word for query in queries for word in words_of(query))
        if mode.local and all(name in self.offered for name in LOCAL):
            async with node(task, "search_local"):
                if first:
                    await gatherer.named_files(task.query)
                await gatherer.search_files(queries)
        if mode.crawl and first:
            async with node(task, "crawl"):
                await gatherer.crawl(addresses_in(task.query))
        if mode.web != "none" and all(name in self.offered for name in WEB):
            async with node(task, "search_web"):
                if first:
                    await gatherer.named_pages(task.query)
                await gatherer.search_web(queries)
        if tools := {name: tool for name, tool in self.offered.items() if name not in LOCAL + WEB}:
            async with node(task, "consult"):
                await self._consult(tools)

    async def _consult(self, tools: Mapping[str, Tool]) -> None:
        """Let a model call the other tools of the skill and of its packs; their results are sources."""
        watched = _Watched(self._run, self._gatherer, self.evidence)
        self._budget.require(requests=1)
        answered = await converse(
            cast("DrivenRun", watched), cast("Notebook", _Counted(self._book, self._budget)), self._conversation,
            system=compose(COLLECT, self._task), tools=tools, purpose="engine-research.consult",
            max_rounds=settings_of(self._run.agent.host).max_tool_rounds, role=self._task.role,
        )  # fmt: skip
        if answered.stopped:
            self._gatherer.notices.setdefault(f"the tools of the skill were stopped: {answered.stopped}")

    async def _assess(self) -> tuple[bool, list[str], list[str]]:
        """Return whether the sources are enough, what is missing, and queries for it."""
        searched = "; ".join(self._gatherer.searched)
        shown = self.evidence.shown(self._words, self._mode.chars) or "Nothing was found."
        asked = [*self._conversation, _said(f"Searched for: {searched}\n\nSources:\n\n{shown}")]
        system = filled(ASSESS, most=self._mode.queries, focus=self._mode.focus)
        found = await self._object(asked, system=system, schema=ASSESSED, purpose="engine-research.assess")
        return found.get("sufficient") is True, _texts(found.get("gaps")), _texts(found.get("queries"))

    def _fresh(self, queries: Sequence[str]) -> list[str]:
        """Return queries that were not searched for yet, as many as a round has."""
        known = {query.casefold() for query in self._gatherer.searched}
        return [query for query in queries if query.casefold() not in known][: self._mode.queries]

    # --- the answer -----------------------------------------------------------------------------------------------

    async def answer(self) -> str | None:
        """Ask for the answer, and again where it cannot be used; return why a model rejects the request, if it does."""
        self._steer()
        mode, known = self._mode, self.evidence.sources
        shown = self.evidence.shown(self._words, mode.chars)
        messages = [*self._conversation, _said(f"Sources ({', '.join(known)}):\n\n{shown}")]
        draft: Draft | str = ""
        async with node(self._task, "synthesize"):
            for attempt in range(mode.repairs + 1):
                answer = await self._ask(
                    messages, system=self._engine.prompt(self._task), schema=SCHEMAS[mode.output_format],
                    purpose="engine-research.answer",
                )  # fmt: skip
                draft = draft_of(answer.text, mode.output_format)
                wrong = [draft] if isinstance(draft, str) else problems_of(draft, known)
                if not wrong or attempt == mode.repairs or self._budget.spent():
                    break
                again = f"{' '.join(wrong)} The sources are {', '.join(known)}. Answer again, in full."
                messages += (answer, _said(again))
        if isinstance(draft, str):
            self._report.unreadable = draft
            return None
        if draft.rejected is not None:
            return draft.rejected
        async with node(self._task, "check_sources"):
            self._draft, dropped = settled(draft, known)
            self._report.dropped += dropped
        return None

    async def verify(self) -> None:
        """Hold each claim against the sources that it names; leave out what they do not bear."""
        claims = self._draft.claims
        if not claims:
            return
        if why := self._budget.spent():
            self._report.unchecked = why
            return
        listed = "\n".join(f"{n}. {c.text} (sources: {', '.join(c.sources)})" for n, c in enumerate(claims, 1))
        named = [one for claim in claims for one in claim.sources]
        words = words_of(listed)
        async with node(self._task, "verify"):
            shown = self.evidence.shown(words, self._mode.chars, named)
            asked = [_said(f"Sources:\n\n{shown}\n\nClaims:\n\n{context_part('claims', listed)}")]
            found = await self._object(
                asked, system=filled(VERIFY), schema=VERIFIED, purpose="engine-research.verify", required=False
            )
        rows = _objects(found.get("verdicts"))
        verdicts = {one["claim"]: one for one in rows if isinstance(one.get("claim"), int)}
        kept = []
        for number, claim in enumerate(claims, 1):
            verdict = verdicts.get(number)
            if verdict is None or not isinstance(verdict.get("supported"), bool):
                self._report.unchecked = "not every claim got a verdict"
            elif verdict["supported"] is False:
                why = f"is not borne out by its sources: {_line(verdict.get('reason')) or 'no reason given'}"
                self._report.dropped.append(Dropped(claim.text, why))
                continue
            kept.append(claim)
        self._draft = replace(self._draft, claims=tuple(kept))

    async def relate(self) -> None:
        """Name the relations of what the answer is about; those without a source that exists are left out."""
        if not self._draft.claims:
            return
        if why := self._budget.spent():
            self._gatherer.notices.setdefault(f"relations: the budget is spent ({why})")
            return
        claims = "\n".join(f"- {claim.text} [{', '.join(claim.sources)}]" for claim in self._draft.claims)
        async with node(self._task, "relate"):
            found = await self._object(
                [_said(context_part("answer", claims))], system=filled(RELATE), schema=RELATED, purpose="engine-research.relate",
                required=False,
            )  # fmt: skip
        known = self.evidence.sources
        for one in _objects(found.get("relations"))[:30]:
            row = {name: _line(one.get(name)) for name in ("subject", "relation", "object")}
            sources = [name for name in _texts(one.get("sources")) if name in known]
            if all(row.values()) and sources:
                self._report.relations.append({**row, "sources": sources})
            elif all(row.values()):
                self._report.dropped.append(Dropped(" ".join(row.values()), "names no source"))

    # --- how it ends ----------------------------------------------------------------------------------------------

    async def result(self) -> TaskResult:
        """Return the result: the answer, its sources, what is missing, and what it took; a note says the same in short."""
        result = self._report.result(self._draft, self.evidence, self._gatherer, self._budget, self._words)
        kept = {name: result.data[name] for name in ("mode", "rounds", "stopped", "gaps", "dropped", "notices", "used")}
        cited = {one for claim in self._draft.claims for one in claim.sources}
        about = {
            "task": self._task.id,
            "status": result.status,
            "sources": len(self.evidence.sources),
            "cited": len(cited),
        }
        await self._run.agent.session.note(END, _short({**kept, **about}))
        return result

    def sources_so_far(self) -> str:
        """Return the sources as a list, where nobody can be asked for an answer any more; empty: there are none."""
        return self._report.found_only(self.evidence, self._words)

    # --- models ---------------------------------------------------------------------------------------------------

    async def _ask(self, messages: Sequence[AgentMessage], **asked: Any) -> AssistantMessage:
        answer = await self._book.ask(messages, role=self._task.role or None, **asked)
        self._budget.asked(answer)
        return answer

    async def _object(
        self, messages: Sequence[AgentMessage], *, required: bool = True, **asked: Any
    ) -> Mapping[str, Any]:
        """Return the object that a model answers; empty: it answers something else.

        Raises:
            BudgetSpent: the budget has no room for the request, and ``required`` is true.
        """
        if required:
            self._budget.require(requests=1)
        return first_object((await self._ask(messages, **asked)).text) or {}

    async def _tell_missing(self, what: str, needed: Sequence[str]) -> None:
        """Say that something is not searched, where a tool that it needs is not there."""
        missing = [name for name in needed if name not in self.offered]
        if not missing:
            return
        text = f"{what} not searched: there is no tool {', '.join(missing)} here."
        self._gatherer.notices.setdefault(text)
        if self._run.agent.ui is not None:
            await self._run.agent.ui.notify(text, "warning")


class _Watched:
    """A run whose calls are counted, and become sources."""

    def __init__(self, run: DrivenRun, gatherer: Gatherer, evidence: Evidence) -> None:
        self._run, self._gatherer, self._evidence = run, gatherer, evidence

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)

    async def call(self, *calls: ToolCall) -> tuple[ToolResultMessage, ...]:
        results = await self._gatherer.call(*calls)
        for call, result in zip(calls, results, strict=True):
            if not result.is_error:
                pieces = pieces_of((0, line) for line in result.text.splitlines())
                given = _line(", ".join(f"{name}={value}" for name, value in (call.args or {}).items()))[:200]
                await self._evidence.add("tool", f"{call.name}({given})", pieces)
        return results


class _Counted:
    """A notebook whose answers are counted."""

    def __init__(self, book: Notebook, budget: Budget) -> None:
        self._book, self._budget = book, budget

    def __getattr__(self, name: str) -> Any:
        return getattr(self._book, name)

    async def ask(self, messages: Sequence[AgentMessage], **asked: Any) -> AssistantMessage:
        self._budget.require(requests=1)
        answer = await self._book.ask(messages, **asked)
        self._budget.asked(answer)
        return answer


def _short(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a note, with at most 20 items of each list, and texts cut."""

    def cut(value: Any) -> Any:
        if isinstance(value, str):
            return value[:500]
        if isinstance(value, Mapping):
            return {name: cut(one) for name, one in value.items()}
        return [cut(one) for one in value[:20]] if isinstance(value, list) else value

    return {name: cut(value) for name, value in values.items()}


def _steered(run: DrivenRun) -> list[AgentMessage]:
    """Return the steering messages that an earlier run of the task took."""
    found: list[AgentMessage] = []
    for message in reversed(run.messages if run.resumed else ()):
        if isinstance(message, UserMessage) and message.source != "steer":
            break
        if isinstance(message, UserMessage):
            found.insert(0, message)
    return found


def _said(text: str) -> UserMessage:
    return UserMessage(content=blocks_of(text))


def _texts(value: Any) -> list[str]:
    """Return the texts of a list that a model wrote, each on one line."""
    items = value if isinstance(value, list) else ()
    return [_line(item) for item in items if isinstance(item, str) and item.strip()]


def _line(value: Any) -> str:
    return " ".join(str(value or "").split())


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
