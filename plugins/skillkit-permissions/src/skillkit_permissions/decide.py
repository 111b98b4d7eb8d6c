"""Decides what a tool call gets: rules deny > ask > allow, then the mode. Pure but for the links of the file system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .paths import Place
from .request import Decision, Request
from .rules import Rule, Rules

__all__ = ["decide", "decide_request", "on_disk"]

_RANK = {"allow": 0, "ask": 1, "deny": 2}


def decide(rules: Mapping[str, Sequence[str]], request: Mapping[str, Any]) -> dict[str, str]:
    """Decide a request that is plain data; see :func:`decide_request`.

    Args:
        rules: ``allow``, ``ask``, ``deny``: the texts of rules.
        request: ``tool``, ``args``, ``cwd``, ``root``, ``home``, ``mode``, and where there are some ``extra_roots`` and
            ``annotations``.

    Returns:
        ``decision``, ``reason`` and ``rule``.
    """
    place = Place.of(request["cwd"], request["root"], request["home"], request.get("extra_roots", ()))
    asked = Request(request["tool"], request["args"], place, request["mode"], request.get("annotations", {}))
    found = decide_request(Rules.of(rules.get("deny", ()), rules.get("ask", ()), rules.get("allow", ())), asked)
    return {"decision": found.outcome, "reason": found.reason, "rule": found.rule}


def decide_request(rules: Rules, request: Request) -> Decision:
    """Decide a request: the strictest rule that is about it counts, and without one the mode."""
    bare = _bare(rules.deny, request) if rules.deny else None
    if bare is not None:
        return Decision("deny", "a rule forbids it", bare.text, bare.origin)
    others = [r for r in rules.allow if r.definition not in ("", request.definition)]
    changed = next((r for r in others if r.names(request.tool)), None) if others else None
    if changed is not None:
        rules = replace(rules, allow=tuple(r for r in rules.allow if r.definition in ("", request.definition)))
    if request.line is not None:
        found = _decide_line(rules, request)
    elif request.edits or request.reads:
        found = _decide_files(rules, request)
    elif request.urls:
        found = max((_decide_host(rules, request, url) for url in request.urls), key=lambda d: _RANK[d.outcome])
    else:
        found = _decide_name(rules, request)
    if request.names_files:
        found = max([found, *_named_files(rules, request)], key=lambda d: _RANK[d.outcome])
    if changed is not None and found.outcome == "ask" and not found.rule:
        reason = f"its server describes {request.tool} differently than when it was allowed"
        return replace(found, reason=reason, origin=changed.origin)
    asked = _bare(rules.ask, request) if rules.ask else None
    if asked is not None and found.outcome == "allow":
        return Decision("ask", "a rule asks", asked.text, asked.origin)
    return found


def on_disk(rules: Rules, request: Request) -> bool:
    """Return whether the decision looks at the disk, where links are followed, or reads a shell line."""
    if request.line is not None and not _lifts(rules, request):
        return True
    return request.edits or request.reads or request.names_files


def _lifts(rules: Rules, request: Request) -> bool:
    """Return whether the mode answers every question about a shell line, because nothing can be hidden from a rule."""
    return request.mode == "bypass" and not (rules.deny or rules.ask)


def _decide_line(rules: Rules, request: Request) -> Decision:
    if _lifts(rules, request):
        return Decision("allow", "the mode is bypass")
    # most runs ask about no shell line, and need not import what reads one
    from .commandline import decide_line

    return decide_line(rules, request)


def _bare(rules: Sequence[Rule], request: Request) -> Rule | None:
    """Return the first rule about every call of the tool. A rule that cannot be read asks, and never denies."""
    for rule in rules:
        if rule.problem:
            if rule.kind == "ask" and rule.names(request.name):
                return rule
            continue
        if rule.spec is None and any(rule.names(name) for name in _names(request)):
            return rule
    return None


def _names(request: Request) -> tuple[str, ...]:
    """Return the names that rules have for a tool: its own, and that of the tool of Claude Code that does the same."""
    kind = (
        "Edit"
        if request.edits
        else "Read"
        if request.reads
        else "Bash"
        if request.line is not None
        else "WebFetch"
        if request.urls
        else ""
    )
    return (request.name, request.tool, kind) if kind else (request.name, request.tool)


def _decide_files(rules: Rules, request: Request) -> Decision:
    paths = request.paths
    if not paths:
        if request.mode == "read-only" and request.edits:
            return Decision("deny", "the mode is read-only")
        return Decision("ask", "no path is named")
    from .files import decide_file

    found = [decide_file(rules, p, request.place, request.mode, writes=request.edits, tool=request.name) for p in paths]
    return max(found, key=lambda d: _RANK[d.outcome])


def _named_files(rules: Rules, request: Request) -> Iterator[Decision]:
    """Yield what rules say of the files that a tool of any kind is given. Nobody knows whether the tool changes them."""
    from .files import decide_file

    reading = Rules(rules.deny, rules.ask)
    # a rule about every edit is about tools that change files and do nothing else
    editing = Rules(*(tuple(r for r in kind if r.spec is not None) for kind in (rules.deny, rules.ask)))
    for path in request.paths:
        # as for a program of a shell line: what is below a folder counts
        yield decide_file(reading, path, request.place, "bypass", writes=False, deep=True)
        found = decide_file(editing, path, request.place, "bypass", writes=True, deep=True)
        if found.outcome == "deny":
            found = replace(found, outcome="ask", reason=f"{request.tool} may change {path}, which a rule forbids")
        yield found


def _decide_host(rules: Rules, request: Request, url: str) -> Decision:
    from .hosts import Unclear as UnclearHost, host_of, is_private, names_host

    about = [r for r in (*rules.deny, *rules.ask, *rules.allow) if any(r.names(n) for n in _names(request))]
    try:
        host = host_of(url)
    except UnclearHost as error:
        return Decision("ask", str(error))
    named = False
    for rule in about:
        if rule.kind == "allow":
            continue
        if rule.problem and rule.kind == "deny":
            return Decision("ask", f"a rule cannot be read: {rule.problem}", rule.text, rule.origin)
        if rule.spec is not None and names_host(rule.spec, host, approves=False):
            return Decision(rule.kind, f"a rule names {host}", rule.text, rule.origin)
    for rule in about:
        if rule.kind != "allow" or rule.problem:
            continue
        named = rule.spec is not None and "*" not in rule.spec
        if (rule.spec is None or names_host(rule.spec, host, approves=True)) and (named or not is_private(host)):
            return Decision("allow", "a rule allows it", rule.text, rule.origin)
    if request.mode == "bypass":
        return Decision("allow", "the mode is bypass")
    offer = (f"WebFetch(domain:{host})",)
    return Decision("ask", f"{host} is private" if is_private(host) else f"no rule names {host}", offer=offer)


def _decide_name(rules: Rules, request: Request) -> Decision:
    names = _names(request)
    for rule in (*rules.deny, *rules.ask):
        if rule.problem and rule.kind == "deny" and any(rule.names(n) for n in names):
            return Decision("ask", f"a rule cannot be read: {rule.problem}", rule.text, rule.origin)
    bare = [r for r in rules.allow if not r.problem and r.spec is None]
    allowed = next((r for r in bare if any(r.names(n) for n in names)), None) if bare else None
    if request.harmless:
        return Decision("allow", "the tool changes nothing")
    if request.mode == "read-only":
        if allowed is not None and request.installed:
            return Decision("allow", "a rule allows it", allowed.text, allowed.origin)
        return Decision("deny" if allowed is None else "ask", "the mode is read-only")
    if allowed is not None:
        return Decision("allow", "a rule allows it", allowed.text, allowed.origin)
    if request.installed:
        return Decision("allow", "it was installed to run")
    if request.mode == "bypass":
        return Decision("allow", "the mode is bypass")
    return Decision("ask", "no rule names it", offer=(request.tool,))
