"""What one turn leaves behind: a small note in the session, and texts by their digest.

References are kept while the turn runs; all work waits for its end. What the session says anyway (messages, compactions,
usage, results) is not in the note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from skillkit_core.errors import in_words
from skillkit_core.estimates import estimator_for
from skillkit_core.frozen import EMPTY
from skillkit_core.tools import Tool

from . import Section
from .texts import Texts

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host
    from skillkit_core.events.types import (
        ApprovalResolvedEvent,
        BeforeModelRequestEvent,
        ToolExecutionEndEvent,
        TurnEndEvent,
    )

_Said: TypeAlias = tuple[tuple[str, Any], ...]

__all__ = ["NOTE", "Recorder", "texts_of"]

NOTE = "why.request"
MOST = 20  # rows of a list in a note
REASON = 400  # characters
SHARED = 4  # lists of each name
_Key: TypeAlias = tuple[Any, ...]
# the last lists of a host: all that one depends on, its digest, and the texts that it needs; most sessions have the same
_shared: WeakKeyDictionary[Host, dict[str, list[tuple[_Key, str, Mapping[str, str]]]]] = WeakKeyDictionary()


class Recorder:
    """Records the turns of one agent in one session.

    Attributes:
        sent: the last request of the turn; ``None``: no request yet.
        fallbacks: why other models answer in this run, in order.
        retries: the retries of the turn.
        ended: the end of a turn of which nothing is written yet: in a session that no file keeps, only who asks has it written.
    """

    def __init__(self, model: Any) -> None:
        self._given = model  # the model that the agent was configured with before anybody chose another one
        self._parts: Mapping[str, str] = EMPTY
        self.sent: Any = None
        self.fallbacks: list[str] = []
        self.retries: list[dict[str, Any]] = []
        self.ended: TurnEndEvent | None = None
        self._about: BeforeModelRequestEvent | None = None
        self._attempts = 0
        self._changed: dict[str, Any] | None = None
        self._decisions: dict[str, ApprovalResolvedEvent] = {}
        self._guards: list[dict[str, Any]] = []
        self._keys: dict[str, tuple[tuple[Any, ...], str]] = {}
        self._tokens: dict[str, tuple[Tool, int]] = {}
        self._asked_for: tuple[Any, ...] | None = None
        self._said: _Said = ()
        self._skills: tuple[Any, ...] = ()
        self._chosen: tuple[tuple[Any, ...], str] | None = None
        self.texts: Texts | None = None

    def begin(self, parts: Mapping[str, str]) -> None:
        """Begin a run, with the parts of its system prompt by name."""
        self._parts = parts
        self.fallbacks = []
        self._asked_for = self._chosen = None

    def asked(self, event: BeforeModelRequestEvent, agent: AgentRunner) -> None:
        """Keep a request that is about to be made."""
        self._begin_turn()
        self._about, self.sent = event, event.sent
        self._attempts += 1
        self._changed = None
        table = agent.events
        if table.has("context_transform") or table.has("turn_start"):
            own = agent.conversation.context.messages()
            if own != self.sent.messages:  # messages that are the same objects are equal at once
                self._changed = _difference(own, self.sent.messages, agent)

    def decided(self, event: ApprovalResolvedEvent) -> None:
        """Keep a decision until its call ends."""
        self._begin_turn()
        self._decisions[event.tool_call_id] = event

    def guarded(self, event: ToolExecutionEndEvent) -> None:
        """Keep what guards said of a call."""
        self._begin_turn()
        row: dict[str, Any] = {"tool": event.tool_name, "call": event.tool_call_id, "said": dict(event.guards)}
        decision = self._decisions.pop(event.tool_call_id, None)
        if decision is not None:
            row["decision"] = decision.decision
            row["reason"] = "; ".join(decision.questions)[:REASON]
            if decision.reason:
                row["answer"] = decision.reason[:REASON]
        if len(self._guards) < MOST:
            self._guards.append(row)

    async def end(self, event: TurnEndEvent, agent: AgentRunner) -> None:
        """Write the note of a turn, if it made a request, or if there is something to say of what code did."""
        self.ended = None
        if self.sent is not None:
            await self._write(event, agent)
        elif event.message is not None and not event.message.model:
            await self._write_driven(event, agent)

    async def _write(self, event: TurnEndEvent, agent: AgentRunner) -> None:
        about, request = self._about, self.sent
        assert about is not None
        session = agent.session
        if self.texts is None or (self.texts.folder is None) != (session.location is None):
            self.texts = texts_of(agent)
        answer = event.message
        tools = (request.tools, agent.host.tools.version)
        if self._asked_for != tools:  # once a run, and when the tools change: whoever explains looks at rules and files
            self._asked_for = tools
            self._said = _explained(agent, "explain_tools")
            self._skills = tuple(rows for _, rows in _explained(agent, "explain_skills"))
        said, skills = self._said, self._skills
        data: dict[str, Any] = {
            "request": about.request,
            "turn": event.turn_index,
            "model": f"{about.provider}/{about.model.id}",
            "api": agent.target.adapter.api if agent.target is not None else "",
            "by": self._chosen_by(agent, about),
            "tokens": about.tokens,
            "window": about.model.context_window,
            "messages": len(request.messages),
            "sections": self._kept(
                agent,
                "sections",
                (self._parts, request.system),
                lambda: self._sections_of(agent),
                lambda texts: self._sections(agent, texts),
            ),
            "tools": self._kept(
                agent,
                "tools",
                (*tools, *said),
                lambda: self._tools_of(agent, said),
                lambda texts: self._tools(agent, said),
            ),
            "skills": self._kept(
                agent, "skills", skills, lambda: skills, lambda texts: [dict(row) for rows in skills for row in rows]
            ),
        }
        optional = {
            "failed": answer is None or None,
            "attempts": self._attempts if self._attempts > 1 else None,
            "changed": self._changed,
            "fallbacks": self.fallbacks[-MOST:],
            "retries": self.retries[-MOST:],
            "guards": self._guards,
            "explained": self._explanation(agent),
        }
        data.update({name: value for name, value in optional.items() if value})
        self._forget_turn()
        await session.note(NOTE, data)

    async def _write_driven(self, event: TurnEndEvent, agent: AgentRunner) -> None:
        if self.texts is None or (self.texts.folder is None) != (agent.session.location is None):
            self.texts = texts_of(agent)
        said = {"guards": self._guards, "explained": self._explanation(agent)}
        self._forget_turn()
        if any(said.values()):
            told = {name: value for name, value in said.items() if value}
            await agent.session.note(NOTE, {"driven": True, "turn": event.turn_index, **told})

    def _explanation(self, agent: AgentRunner) -> str | None:
        """Return the digest of what plugins say of the turn; ``None``: nothing."""
        rows = [
            {
                "from": plugin,
                "title": section.title,
                "rows": [[agent.redact(str(c)) for c in row] for row in section.rows],
            }
            for plugin, sections in _explained(agent, "explain", _sections_of)
            for section in sections
        ]
        assert self.texts is not None
        return self.texts.keep_json(rows[:MOST]) if rows else None

    def _begin_turn(self) -> None:
        if self.ended is not None:
            self.ended = None
            self._forget_turn()

    def _forget_turn(self) -> None:
        self.sent = self._about = self._changed = None
        self._attempts, self.retries, self._guards = 0, [], []
        self._decisions.clear()

    def _kept(
        self, agent: AgentRunner, name: str, key: _Key, depends: Callable[[], _Key], make: Callable[[Texts], Any]
    ) -> str:
        """Return the digest of a list.

        It is looked for again only when ``key`` has changed, and made again only where no session of the host had one that
        ``depends`` on the same.
        """
        kept = self._keys.get(name)
        if kept is not None and (kept[0] is key or kept[0] == key):  # the same objects are equal at once
            return kept[1]
        assert self.texts is not None
        last, own = _shared.setdefault(agent.host, {}).setdefault(name, []), depends()
        found = next((one for one in last if one[0] == own), None)
        if found is None:
            texts = Texts(None)
            digest = texts.keep_json(make(texts))
            found = own, digest, texts.memory
            last[:] = [found, *last[: SHARED - 1]]
        self.texts.add(found[2])
        self._keys[name] = key, found[1]
        return found[1]

    def _chosen_by(self, agent: AgentRunner, about: BeforeModelRequestEvent) -> str:
        key = (about.model.id, about.provider, agent.config, len(self.fallbacks))
        if self._chosen is None or self._chosen[0] != key:
            self._chosen = key, self._choice(agent, about)
        return self._chosen[1]

    def _choice(self, agent: AgentRunner, about: BeforeModelRequestEvent) -> str:
        config, get = agent.config, agent.host.config
        own = agent.selection.target or agent.selection.inherited
        if self.fallbacks:
            return "fallback"
        if own is not None and (own.provider, own.model.id) != (about.provider, about.model.id):
            return "a handler of before_agent_start"
        if config.model is not None and config.model is not self._given:
            return "chosen in the session"
        if config.model is not None:
            return "the tool or handler that began this agent" if agent.parent is not None else "--model"
        if agent.parent is not None and agent.selection.target is None:
            return "the agent that began this one"
        if (origin := get.origin("model")) is not None:
            return f"model in {origin}"
        if config.provider is not None or config.base_url is not None:
            return "default of the provider that --provider or --base-url names"
        if (origin := get.origin("provider") or get.origin("base_url")) is not None:
            return f"default of the provider in {origin}"
        return "default of the first provider that can be asked"

    def _sections_of(self, agent: AgentRunner) -> _Key:
        """Return what :meth:`_sections` depends on."""
        system = self.sent.system
        return system, agent.redact(system), self._parts, agent.host.context_providers.version, *self._estimated(agent)

    def _estimated(self, agent: AgentRunner) -> _Key:
        assert self._about is not None
        return self._about.model, agent.host.token_estimators.version

    def _sections(self, agent: AgentRunner, texts: Texts) -> list[dict[str, Any]]:
        """Return the sections of the system prompt in order; texts of handlers are one section each."""
        assert self._about is not None
        estimate = estimator_for(agent.host, self._about.model).text
        rest = self.sent.system
        rows: list[dict[str, Any]] = []

        def row(name: str, source: str, text: str) -> None:
            text = agent.redact(text)
            rows.append({"name": name, "from": source, "tokens": estimate(text), "text": texts.keep(text)})

        for name, text in self._parts.items():
            before, found, after = rest.partition(text)
            if not found:
                rows.append({"name": name, "from": _source(agent, name), "tokens": 0, "left_out": "by a handler"})
                continue
            if before.strip():
                row("(added)", "a handler", before.strip())
            row(name, _source(agent, name), text)
            rest = after
        if rest.strip():
            row("(added)", "a handler", rest.strip())
        return rows

    def _tools_of(self, agent: AgentRunner, said: _Said) -> _Key:
        """Return what :meth:`_tools` depends on."""
        box = agent.toolbox
        return (
            tuple([(tool.name, tool.description, tool.parameters, box.source(tool.name)) for tool in self.sent.tools]),
            tuple([tool.name for tool in box.offered]),
            tuple([(tool.name, tool.opt_in) for tool in box.own]),
            tuple([(tool.name, tool.opt_in, source) for tool, source in box.of_plugins()]),
            agent.config.only_tools,
            agent.nesting.only_tools(),
            agent.host.config.get("tools.allow", ()),
            _listeners(agent, "turn_start"),
            said,
            *self._estimated(agent),
        )

    def _tools(self, agent: AgentRunner, said: _Said) -> dict[str, Any]:
        """Return the tools that were offered, with their size and what is said of them, and those that were withheld."""
        assert self._about is not None
        estimate = estimator_for(agent.host, self._about.model).text
        offered = []
        for tool in self.sent.tools:
            kept = self._tokens.get(tool.name)
            if kept is None or kept[0] is not tool:
                kept = self._tokens[tool.name] = tool, estimate(f"{tool.name}{tool.description}{dict(tool.parameters)}")
            row = {"name": tool.name, "from": agent.toolbox.source(tool.name) or "application", "tokens": kept[1]}
            if note := "; ".join(f"{plugin}: {by[tool.name]}" for plugin, by in said if tool.name in by):
                row["note"] = note[:REASON]
            offered.append(row)
        return {"offered": offered, "withheld": _withheld(agent, {tool.name for tool in self.sent.tools}, said)}


def texts_of(agent: AgentRunner) -> Texts:
    """Return where an agent's texts are kept: in the data folder if a file keeps the session, else in memory."""
    return Texts(agent.host.data_dir / "why" if agent.session.location is not None else None)


def _source(agent: AgentRunner, section: str) -> str:
    if section == "system_prompt":
        return "settings"
    providers = agent.host.context_providers
    found = providers.entry(section).source if section in providers else None
    return found or "application"


def _sections_of(answer: Any) -> tuple[Section, ...]:
    """Return the sections of an answer with their rows as tuples, or raise ``TypeError``."""
    found = tuple(answer)
    for section in found:
        if not isinstance(section, Section):
            raise TypeError(f"it answered {type(section).__name__} instead of skillkit_why.Section")
    return tuple(Section(str(one.title), tuple(tuple(row) for row in one.rows)) for one in found)


def _explained(agent: AgentRunner, hook: str, read: Callable[[Any], Any] = lambda answer: answer) -> _Said:
    """Return what each plugin answers, by its name; one that fails is reported and has nothing to say."""
    found = []
    for impl in agent.host.impls(hook):
        try:
            answer = impl.function(agent)
            answer = read(answer) if answer else None
        except Exception as error:  # noqa: BLE001 - an explanation that fails must not disturb the run
            agent.host.note(impl.plugin_name, f"{hook} failed: {in_words(error)}")
            continue
        if answer:
            found.append((impl.plugin_name, answer))
    return tuple(found)


def _withheld(agent: AgentRunner, offered: set[str], said: _Said) -> list[dict[str, str]]:
    """Return the tools that plugins and the application have and the model was not offered: by whom, and why."""
    found: dict[str, dict[str, str]] = {}
    own = {tool.name for tool in agent.toolbox.own}
    allowed = agent.host.config.get("tools.allow", ())
    named = {tool.name for tool in agent.toolbox.offered}
    for tool, plugin in (*((tool, None) for tool in agent.toolbox.own), *agent.toolbox.of_plugins()):
        if tool.name in offered or tool.name in found:
            continue
        by, reason = "settings", "opt-in: neither tools.allow nor a rule allows it"
        if tool.name in named:
            by, reason = "turn_start", "left out for this turn by " + (_listeners(agent, "turn_start") or "a handler")
        elif not agent.toolbox.permits(tool.name):
            inherited = agent.config.only_tools is None or tool.name in agent.config.only_tools
            by, reason = "only_tools", "only_tools of an outer agent" if inherited else "only_tools of the agent"
        elif not tool.opt_in or tool.name in allowed or tool.name in own:
            by, reason = "unknown", "its plugin does not offer it now"
        for teller, reasons in said:
            if tool.name in reasons:
                by, reason = teller, reasons[tool.name]
                break
        found[tool.name] = {"name": tool.name, "from": plugin or "application", "by": by, "reason": reason}
    return [found[name] for name in sorted(found)]


def _listeners(agent: AgentRunner, event: str) -> str:
    return ", ".join(dict.fromkeys(impl.plugin_name for impl in agent.host.impls(event)))


def _difference(own: Sequence[Any], sent: Sequence[Any], agent: AgentRunner) -> dict[str, Any]:
    """Return how the messages of a request differ from those of the session: ranges of entries, and who may have done it."""
    there = {id(message) for message in sent}
    known = {id(message) for message in own}
    ids = agent.session.context_ids
    aligned = len(ids) == len(own)
    ranges: list[list[Any]] = []
    last = -2
    for i, message in enumerate(own):
        if id(message) in there:
            continue
        name = ids[i] if aligned else str(i)
        if last == i - 1:
            ranges[-1][1:] = [name, ranges[-1][2] + 1]
        else:
            ranges.append([name, name, 1])
        last = i
    by = [f"{name} ({who})" for name in ("context_transform", "turn_start") if (who := _listeners(agent, name))]
    return {
        "left_out": ranges[:MOST],
        "new": sum(id(message) not in known for message in sent),
        "by": ", ".join(by) or "a handler of the application",
    }
