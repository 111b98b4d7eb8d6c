"""Decides about one file: reading inside the project is open, changing asks."""

from __future__ import annotations

from collections.abc import Collection

from .paths import Place, Unclear, below, decides_what_runs, inside, matches, places
from .request import Decision, Mode
from .rules import EDITS, READS, Rule, Rules

__all__ = ["decide_file", "forbids"]


def decide_file(
    rules: Rules,
    path: str,
    place: Place,
    mode: Mode,
    *,
    writes: bool,
    tool: str = "",
    cwd: str | None = None,
    deep: bool = False,
) -> Decision:
    """Decide whether a file may be read or changed.

    Args:
        path: as it was given.
        place: where the request stands.
        writes: the file is changed.
        tool: the canonical name of the tool; empty: a shell command.
        cwd: where a relative path starts; ``None``: the working folder.
        deep: what is below a folder counts too.
    """
    kind = "Edit" if writes else "Read"
    # a tool that says that it edits or reads is one of those that a rule for these names
    names = (tool,) if tool in EDITS | READS else (kind, tool)
    deny = [r for r in rules.deny if _about(r, names)]
    try:
        found = places(path, place, cwd)
    except Unclear as error:
        bare = next((r for r in deny if r.spec is None), None)
        if bare is not None:
            return Decision("deny", "a rule forbids it", bare.text, bare.origin)
        return Decision("ask", str(error))
    for rule in deny:
        if rule.problem:
            return Decision("ask", f"a rule cannot be read: {rule.problem}", rule.text, rule.origin)
        if forbids(rule, found, place):
            return Decision("deny", f"a rule forbids {path}", rule.text, rule.origin)
        # the tools for searching leave out what may not be read; programs do not
        if deep and _holds_below(rule, found, place):
            return Decision("ask", f"a rule forbids something below {path}", rule.text, rule.origin)
    if mode == "read-only" and writes:
        return Decision("deny", "the mode is read-only")
    for rule in rules.ask:
        if _about(rule, names) and (
            rule.problem or forbids(rule, found, place) or (deep and _holds_below(rule, found, place))
        ):
            return Decision("ask", f"a rule asks about {path}", rule.text, rule.origin)
    allowed = _allowed(rules, found, place, names)
    if allowed is not None:
        return Decision("allow", "a rule allows it", allowed.text, allowed.origin)
    if mode == "bypass":
        return Decision("allow", "the mode is bypass")
    if not all(inside(p, place.roots) for p in found):
        return Decision("ask", f"{path} is outside the project", offer=_offer(found, place, writes))
    if not writes:
        return Decision("allow", "it is inside the project")
    if any(decides_what_runs(p, place) for p in found):
        return Decision("ask", f"{path} decides what programs run later")
    if mode == "accept-edits":
        return Decision("allow", "the mode accepts edits in the project")
    return Decision("ask", f"no rule covers changing {path}", offer=_offer(found, place, writes))


def forbids(rule: Rule, found: Collection[str], place: Place) -> bool:
    """Return whether a rule that denies or asks covers one of the paths that a path may mean."""
    return rule.spec is None or any(matches(rule.spec, p, place, approves=False) for p in found)


def _holds_below(rule: Rule, found: Collection[str], place: Place) -> bool:
    return rule.spec is not None and any(below(rule.spec, p, place) for p in found)


def _about(rule: Rule, names: Collection[str]) -> bool:
    return any(rule.names(name) for name in names)


def _allowed(rules: Rules, found: Collection[str], place: Place, names: Collection[str]) -> Rule | None:
    """Return an allow rule. Rules together may cover the link and its target."""
    about = [r for r in rules.allow if not r.problem and _about(r, names)]
    covering: Rule | None = None
    for path in found:
        covering = next((r for r in about if r.spec is None or matches(r.spec, path, place, approves=True)), None)
        if covering is None:
            return None
    return covering


def _offer(found: Collection[str], place: Place, writes: bool) -> tuple[str, ...]:
    """Return the rule that would allow the file."""
    path = min(found, key=len)
    if inside(path, (place.root,)):
        spec = path[len(place.root) :]
    elif inside(path, (place.home,)):
        spec = "~" + path[len(place.home) :]
    else:
        spec = "/" + path
    return (f"{'Edit' if writes else 'Read'}({spec})",) if spec and not set("*?[") & set(spec) else ()
