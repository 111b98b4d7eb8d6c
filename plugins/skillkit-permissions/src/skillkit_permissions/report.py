"""What counts, as rows for people and programs: shared by the command line and the slash command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.errors import UnknownName, UsageError
from skillkit_core.events.types import ToolCallEvent
from skillkit_core.tools import Tool

from .decide import decide_request
from .memory import Answer
from .policy import Policy, mode_of, policy_of, request_for, rules_of, set_mode
from .request import Decision, Mode
from .rules import EDITS, NAMES, READS, canonical

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["answer_row", "arguments_of", "check", "rule_rows"]


def rule_rows(policy: Policy) -> list[dict[str, Any]]:
    """Return the rules of the configuration, deny first."""
    return [
        {"kind": r.kind, "rule": r.text, "origin": r.origin}
        for r in (*policy.rules.deny, *policy.rules.ask, *policy.rules.allow)
    ]


def answer_row(answer: Answer) -> dict[str, Any]:
    """Return a remembered answer as JSON data."""
    return {
        "id": answer.id, "kind": answer.kind, "rule": answer.rule, "scope": answer.scope, "where": answer.where,
        "created": answer.created, "expires": answer.expires, "origin": answer.origin, "definition": answer.definition or None,
    }  # fmt: skip


def arguments_of(tool: str, text: str | None, annotations: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a tool: a JSON object, or the text of the one that matters (a command, a path, an address).

    Raises:
        UsageError: the text is neither.
    """
    if text is None:
        return {}
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except ValueError as error:
            raise UsageError(f"the arguments are no JSON object: {error}") from None
        return dict(found)
    name = canonical(tool)
    paths = annotations.get("paths", "path" if name in EDITS | READS else ())
    usual = {"Bash": "command", "WebFetch": "url"}.get(name)
    first = paths if isinstance(paths, str) else next(iter(paths), None)
    told = annotations.get("host")
    address = told if isinstance(told, str) and "://" not in told else None
    key = annotations.get("command") or address or usual or first
    if key is None:
        raise UsageError(f"the arguments of {tool} are not a text", hint="write them as a JSON object: '{\"name\": 1}'")
    return {str(key): text}


async def check(
    host: Host, tool: str, text: str | None, mode: Mode | None = None, *, skills: tuple[str, ...] = ()
) -> Decision:
    """Return what a call would get now, at the start of a session with these active skills.

    Raises:
        UsageError: there is no such tool, or the arguments are not those of the tool.
    """
    policy = policy_of(host)
    async with AgentRunner(AgentConfig(skills=skills), host=host) as agent:
        try:
            name, annotations = _found(agent, tool)
        except UnknownName:
            # with many skills there are only the actions of those that are active
            skill = tool.partition("__")[0]
            if skills or not host.skills.has(skill):
                raise
            return await check(host, tool, text, mode, skills=(skill,))
        rules = rules_of(agent, policy)
        if tool.startswith("mcp__"):
            # nobody asks the server now: what was allowed is taken to be what it is
            known = (r.definition for r in rules.allow if r.definition and r.names(tool))
            annotations = {"definition": next(known, ""), **annotations}
        args = arguments_of(tool, text, annotations)
        if mode is not None:
            set_mode(agent, mode)
        request = request_for(host, tool, args, annotations, mode_of(agent, policy), agent.cwd)
        found = decide_request(rules, request)
        other = await _other_guards(agent, name, args, annotations)
    return other if other is not None and (other.outcome == "deny" or found.outcome == "allow") else found


async def _other_guards(
    agent: AgentRunner, tool: str, args: Mapping[str, Any], annotations: Mapping[str, Any]
) -> Decision | None:
    """Return what the guards of other plugins say of a call that a model would make; ``None``: nothing."""
    await agent.open()
    asked: Any = await agent.events.emit(
        agent.events.make(
            ToolCallEvent, tool_name=tool, tool_call_id="check", args=args, raw_args=args, index=0, batch_size=1,
            annotations=annotations,
        )
    )  # fmt: skip
    if asked is None:
        return None
    if asked.block:
        blocks = [plugin for plugin, said in asked.guards.items() if said == "block"]
        return Decision("deny", f"{' and '.join(blocks)}: {asked.reason}") if blocks != ["permissions"] else None
    questions = [f"{q.plugin}: {q.text}" for q in asked.questions if q.plugin != "permissions"]
    return Decision("ask", "; ".join(questions)) if questions else None


def _found(agent: AgentRunner, tool: str) -> tuple[str, Mapping[str, Any]]:
    """Return the name of a tool, and what is known of the tool; nothing of one of an MCP server, which nobody asks now.

    Raises:
        UnknownName: there is no such tool.
    """
    registered = {t.name: t for t in agent.host.tools.items() if isinstance(t, Tool)}
    known = {**registered, **{t.name: t for t in agent.tools}}
    # a tool of Claude Code stands for the tool that does the same
    name = tool if tool in known else tool.lower()
    if name in known and canonical(name) == canonical(tool):
        return name, known[name].annotations
    if tool.startswith("mcp__") or tool in NAMES:
        return tool, {}
    raise UnknownName("tool", tool, known)
