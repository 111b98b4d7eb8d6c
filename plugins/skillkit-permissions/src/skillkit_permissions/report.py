"""What counts, as rows for people and programs: shared by the command line and the slash command."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import UsageError
from skillkit_core.tools import Tool

from .decide import decide_request
from .memory import Answer
from .policy import Policy, policy_of, request_for
from .request import Decision, Mode
from .rules import EDITS, READS, Rules, canonical

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["answer_row", "arguments_of", "check", "expiry", "rule_rows"]


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
        "created": answer.created, "expires": answer.expires, "origin": answer.origin,
    }  # fmt: skip


def expiry(answer: Answer) -> str:
    """Return when an answer is forgotten, in words."""
    return "never" if answer.expires is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(answer.expires))


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
    key = annotations.get("command") or annotations.get("host") or usual or first
    if key is None:
        raise UsageError(f"the arguments of {tool} are not a text", hint="write them as a JSON object: '{\"name\": 1}'")
    return {str(key): text}


def check(host: Host, tool: str, text: str | None, mode: Mode | None = None) -> Decision:
    """Return what a call would get now, outside of any session."""
    policy = policy_of(host)
    known = host.tools.get(tool) if tool in host.tools else None
    annotations = known.annotations if isinstance(known, Tool) else {}
    request = request_for(host, tool, arguments_of(tool, text, annotations), annotations, mode or policy.mode, host.cwd)
    remembered: Rules = policy.memory.rules(str(host.cwd.resolve()), None)
    return decide_request(policy.rules + remembered, request)
