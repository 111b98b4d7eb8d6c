"""What counts for an agent now: the rules of every layer, of skills and of remembered answers, and the mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.tools import Tool

from .memory import REMEMBER_DAYS, Memory
from .paths import NOWHERE, Place
from .request import MODES, Mode, Request
from .rules import Rules, canonical, parse_rule

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host, Layer

__all__ = [
    "Policy",
    "SkillRules",
    "mode_of",
    "offered_tools",
    "place_of",
    "policy_of",
    "request_for",
    "rules_of",
    "said_of",
    "set_mode",
]

# what another plugin says of an agent now: where it stands, the texts of rules by kind, and a mode
Said = Sequence[tuple[str, Mapping[str, Any]]]
SkillRules = Callable[[Any], Said]
_STRICTNESS: Mapping[str, int] = {"read-only": 0, "ask": 1, "accept-edits": 2, "bypass": 3}


@dataclass(slots=True)
class Policy:
    """What the configuration of a host says.

    Attributes:
        config: the configuration it was made of.
        rules: the rules of all its layers.
        mode: the mode.
        mode_origin: where the mode stands.
        roots: folders beside the project.
        days: how long answers are remembered.
        memory: the remembered answers.
        ignored: settings that do not count, and why.
        sources: what other plugins say, each with its topics, and the version of their registry.
        kept: what the rules mean for the tools of an agent that has no other rules.
    """

    config: Any
    rules: Rules
    mode: Mode
    mode_origin: str
    roots: tuple[str, ...]
    days: float
    memory: Memory
    ignored: tuple[str, ...] = ()
    sources: tuple[int, Sequence[tuple[SkillRules, frozenset[str]]]] = (-1, ())
    kept: dict[str, Any] = field(default_factory=dict)


def policy_of(host: Host) -> Policy:
    """Return the policy of a host, as its configuration is now.

    Raises:
        ConfigError: a setting is wrong.
    """
    state = host.state("permissions")
    found: Policy | None = state.get("policy")
    if found is None or found.config is not host.config:
        found = state["policy"] = _read(host, found.memory if found is not None else Memory(host.data_dir))
    return found


def _read(host: Host, memory: Memory) -> Policy:
    config = host.config
    section = config.section("permissions", None)
    days = REMEMBER_DAYS if section is None else section.remember_days
    rules, mode, origin = Rules(), "ask", "default"
    roots: list[str] = []
    ignored: list[str] = []
    for layer in config.layers:
        given = layer.data.get("permissions")
        if not isinstance(given, Mapping):
            continue
        for kind in ("deny", "ask", "allow"):
            for at, text in enumerate(_texts(layer, kind)):
                key = (
                    f"permissions.{kind}.{at}" if layer.name not in ("environment", "flags") else f"permissions.{kind}"
                )
                where = str(layer.where(key)).removesuffix(f": {key}")
                rules += Rules(**{kind: (parse_rule(text, kind, where),)})
        roots += _texts(layer, "roots")
        wanted = given.get("mode")
        if wanted in MODES:
            where = str(layer.where("permissions.mode")).removesuffix(": permissions.mode")
            if layer.name == "project" and _STRICTNESS[wanted] > _STRICTNESS[mode]:
                ignored.append(f"{where}: a project cannot loosen the mode to {wanted}")
            elif layer.name == "distribution" and wanted == "bypass":
                ignored.append(f"{where}: only a person turns bypass on")
            else:
                mode, origin = str(wanted), where
    return Policy(config, rules, mode, origin, tuple(roots), days, memory, tuple(ignored))  # type: ignore[arg-type]


def _texts(layer: Layer, key: str) -> list[str]:
    return [text for text in layer.list_of("permissions", key) if isinstance(text, str)]


def _folder_of(agent: AgentRunner) -> str:
    """Return the folder of an agent without links. It is looked up once for each folder that the agent works in."""
    state, cwd = agent.state("permissions"), agent.cwd
    if state.get("cwd") != cwd:
        state["cwd"], state["folder"] = cwd, str(Path(cwd).resolve())
    folder: str = state["folder"]
    return folder


def rules_of(agent: AgentRunner, policy: Policy, said: Said | None = None) -> Rules:
    """Return the rules that count for an agent now; ``said``: what :func:`said_of` has returned."""
    found = _remembered(agent, policy)
    for origin, texts in said_of(agent, policy) if said is None else said:
        found += Rules.of(texts.get("deny", ()), texts.get("ask", ()), texts.get("allow", ()), origin)
    return found


def _remembered(agent: AgentRunner, policy: Policy) -> Rules:
    """Return the rules of the layers and of the answers that hold for an agent."""
    memory = policy.memory
    return policy.rules + memory.rules(_folder_of(agent), agent.session_id) if memory.all() else policy.rules


def said_of(agent: AgentRunner, policy: Policy) -> Said:
    """Return what other plugins say of an agent now. Who waits for a topic is asked where it, or an agent above, has armed it."""
    registry = agent.host.registry("permission_rules")
    if policy.sources[0] != registry.version:
        sources = [registry.get(name) for name in registry.list()]
        policy.sources = registry.version, [(one, frozenset(getattr(one, "while_", ()))) for one in sources]
    found: list[tuple[str, Mapping[str, Any]]] = []
    armed, parent = agent.events.armed, agent.parent
    while parent is not None:
        armed, parent = armed | parent.events.armed, parent.parent
    for source, topics in policy.sources[1]:
        if not topics or topics & armed or "*" in armed:
            found += source(agent)
    return found


def mode_of(agent: AgentRunner, policy: Policy, wanted: Mode | None = None, said: Said | None = None) -> Mode:
    """Return the mode of an agent: ``wanted``, else what a person chose for it, else the configured one.

    It is never looser than what plugins say and than its parents'. ``said`` as in :func:`rules_of`.
    """
    mode: Mode = wanted or agent.state("permissions").get("mode", policy.mode)
    stricter = [texts["mode"] for _, texts in (said_of(agent, policy) if said is None else said) if "mode" in texts]
    parent = agent.parent
    if parent is not None:
        stricter.append(mode_of(parent, policy))
    return min([mode, *[one for one in stricter if one in MODES]], key=_STRICTNESS.__getitem__) if stricter else mode


def next_mode(agent: AgentRunner, policy: Policy) -> Mode:
    """Return the mode that follows the agent's: none that the policy forbids, and bypass only where it is configured."""
    chosen = agent.state("permissions").get("mode", policy.mode)
    order: list[Mode] = ["ask", "accept-edits", "read-only"]
    if policy.mode not in order:
        order.append(policy.mode)
    loosest = mode_of(agent, policy, "bypass")
    allowed = [mode for mode in order if _STRICTNESS[mode] <= _STRICTNESS[loosest]]
    place = allowed.index(chosen) if chosen in allowed else -1
    return allowed[(place + 1) % len(allowed)]


def set_mode(agent: AgentRunner, mode: Mode) -> None:
    """Choose the mode of an agent for its session."""
    agent.state("permissions")["mode"] = mode


def request_for(
    host: Host, tool: str, args: Mapping[str, Any], annotations: Mapping[str, Any], mode: Mode, cwd: Path
) -> Request:
    """Return the request of a tool call; the folders are looked up where files or a shell line are in question."""
    request = Request(tool, args, NOWHERE, mode, annotations)
    return replace(request, place=place_of(host, cwd)) if request.on_disk else request


def place_of(host: Host, cwd: Path) -> Place:
    """Return where requests stand in a folder."""
    home = str(Path(host.environ.get("HOME") or Path.home()))
    roots = [str((Path(home) / r[2:]) if r.startswith("~/") else cwd / r) for r in policy_of(host).roots]
    return Place.of(str(cwd), str(cwd), home, roots)


def offered_tools(agent: AgentRunner) -> tuple[Tool, ...]:
    """Return the opt-in tools that a rule allows or asks about. While nothing changes, that is the same tuple."""
    policy = policy_of(agent.host)
    rules = _remembered(agent, policy)
    state = policy.kept if rules is policy.rules else agent.state("permissions")
    registry = agent.host.tools
    key = (registry.version, rules)
    kept = state.get("offered")
    if kept is None or kept[0] != key:  # set at once: agents of several threads share it
        found = tuple(_opened(tool) for tool in registry.items() if isinstance(tool, Tool) and _named(tool, rules))
        kept = state["offered"] = (key, found)
    offered: tuple[Tool, ...] = kept[1]
    return offered


def denied_tools(agent: AgentRunner) -> Mapping[str, str]:
    """Return which rules keep a tool, or some of its calls, from a model, by the name of the tool."""
    policy = policy_of(agent.host)
    rules = rules_of(agent, policy)
    state = policy.kept if rules is policy.rules else agent.state("permissions")
    key = (agent.toolbox.offered, agent.host.tools.version, rules.deny)
    if not rules.deny:
        return {}
    kept = state.get("denied")
    if kept is None or kept[0] != key:
        names = {
            tool.name
            for tool in (*agent.toolbox.offered, *(t for t in agent.host.tools.items() if isinstance(t, Tool)))
        }
        found = {
            name: "; ".join(
                f"denied by {r.text} ({r.origin or 'a rule'})" for r in rules.deny if r.names(canonical(name))
            )
            for name in sorted(names)
        }
        kept = state["denied"] = (key, {name: reason for name, reason in found.items() if reason})
    denied: Mapping[str, str] = kept[1]
    return denied


def _named(tool: Tool, rules: Rules) -> bool:
    name = canonical(tool.name)
    return tool.opt_in and any(not rule.problem and rule.names(name) for rule in (*rules.allow, *rules.ask))


def _opened(tool: Tool) -> Tool:
    return replace(tool, opt_in=False)
