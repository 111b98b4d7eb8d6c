"""Rules that cover more than they seem, and what stands behind the rules: the sandbox of the kernel, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError

from .kernel import Held, held_for
from .policy import policy_of, rules_of
from .programs import known, plain_name
from .rules import EDITS, Rule, command_pattern

if TYPE_CHECKING:
    from skillkit_core import AgentRunner

__all__ = ["findings", "kernel_data", "kernel_lines"]


def findings(agent: AgentRunner) -> list[tuple[Rule, str]]:
    """Return the rules in force that cover more than they seem, or that nothing stands behind, each with the reason."""
    rules = rules_of(agent, policy_of(agent.host))
    found = [(rule, why) for rule in rules.allow if not rule.problem and (why := _covers_more(rule))]
    if rules.deny and _sandbox(agent)[0] is None:
        broad = [rule for rule in rules.allow if not rule.problem and rule.names("Bash") and _is_broad(rule)]
        found += [
            (rule, "nothing stands behind the deny rules beside it: a line that is misread runs") for rule in broad
        ]
    return found


def _covers_more(rule: Rule) -> str:
    """Return what an allow rule covers that its text does not show; empty: nothing."""
    if rule.tool == "Bash":
        return _commands(rule.spec)
    if rule.tool.startswith("mcp__"):
        server = rule.tool.split("__")[1]
        whole = rule.tool.count("__") == 1 or rule.tool.endswith("__*")
        return f"every tool of the server {server}, also those that it offers later" if whole else ""
    if rule.tool == "WebFetch":
        name = (rule.spec or "domain:*").removeprefix("domain:").strip()
        if name == "*":
            return "every host"
        return f"every host below {name[2:]}" if name.startswith("*.") and "." not in name[2:].strip(".") else ""
    if rule.tool in EDITS:
        return _edits(rule.spec)
    if rule.names("Read"):
        wide = (rule.spec or "//**").strip()
        return "files outside the project, keys in the home among them" if wide in ("//**", "~/**", "//", "~/") else ""
    return ""


def _commands(spec: str | None) -> str:
    if spec is None or not spec.strip(" :*"):
        return "every command"
    text = spec.strip()
    begin = text[:-2].rstrip() if text.endswith((":*", " *")) else text
    if "*" in begin.rstrip("*"):
        return "any words in the place of the star, options too"
    if "*" not in text:
        return ""
    if begin == text:
        last = text.rstrip("*").split()[-1]
        return f"every word that begins with {last!r}, {last}-anything too: write {text.rstrip('*')}:*"
    head = command_pattern(text).head
    program = known(plain_name(head[0].rpartition("/")[2]))
    if program.tags & {"shell", "interpreter", "loads", "loose"} and len(head) == 1:
        return f"whatever a script says that {head[0]} runs"
    if (program.wraps and len(head) == 1) or (len(head) == 2 and head[1] in program.launches):
        return f"any program that {' '.join(head)} starts and no other rule is about"
    if "carries" in program.tags and (head == ("ssh",) or (len(head) > 1 and head[1] in ("exec", "run"))):
        return f"any command that {' '.join(head)} carries elsewhere"
    if len(head) == 1 and (program.launches or "subcommands" in program.tags or head[0] == "git"):
        return f"every subcommand of {head[0]}, those that publish or remove too"
    return ""


def _edits(spec: str | None) -> str:
    wide = (spec or "//**").strip().removeprefix("./")
    if wide in ("//**", "~/**", "//", "~/"):
        return "files outside the project, start files of shells among them"
    return (
        "files that decide what runs: .git/hooks, .claude, .mcp.json and the like" if wide in ("**", "/**", "/") else ""
    )


def _is_broad(rule: Rule) -> bool:
    return rule.spec is None or "*" in rule.spec


# --- what stands behind the rules --------------------------------------------------------------------------------------


def _sandbox(agent: AgentRunner) -> tuple[Any, str]:
    """Return the sandbox in which the tool ``bash`` runs now, or ``None`` and why there is none."""
    host = agent.host
    if "sandboxes" not in host.kinds:
        return None, "the plugin sandbox is not there"
    try:
        box = host.registry("sandboxes").get("sandbox").bash(agent)
    except SkillKitError as error:
        return None, str(error)
    off = host.config.get("sandbox.bash") in (False, "off")
    return box, "sandbox.bash is off" if off else "no sandbox holds them here, as 'skillkit sandbox check' says"


def kernel_data(agent: AgentRunner) -> dict[str, Any]:
    """Return as JSON data what the kernel holds of the rules in force."""
    found = held_for(agent)
    box, why = _sandbox(agent) if found.some else (None, "")
    return {
        "sandbox": None if box is None else box.backend.name,
        "why_not": why if box is None else "",
        "holds": [rule.text for rule in found.rules] if box is not None else [],
        "hidden": list(found.hide),
        "read_only": list(found.protect) if found.writes else ["/"],
        "network": found.network,
        "unheld": [{"rule": rule.text, "reason": reason} for rule, reason in found.unheld],
    }


def kernel_lines(agent: AgentRunner) -> Iterator[str]:
    """Yield in words what the kernel holds of the rules in force."""
    found = held_for(agent)
    if found.some:
        box, why = _sandbox(agent)
        if box is None:
            yield f"Kernel: nothing stands behind the rules: {why}."
            return
        yield f"Kernel: bash runs in a sandbox of the rules ({box.backend.name}): {_said(found)}."
    for rule, reason in found.unheld:
        yield f"Kernel: nothing stands behind {rule}: {reason}."


def _said(found: Held) -> str:
    edits = f"{len(found.protect)} cannot be changed" if found.writes else "nothing can be changed"
    return f"{len(found.hide)} files or folders are hidden, {edits}, the network is {'on' if found.network else 'off'}"
