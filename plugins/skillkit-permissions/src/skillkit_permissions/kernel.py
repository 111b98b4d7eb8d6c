"""What the kernel holds of the rules in force: the data of a sandbox policy, where the plugin ``sandbox`` is there.

A rule is found in a command by its words, and a word can be misread. The kernel sees the file. So what rules deny is taken
away from the processes of tools: files that may not be read are hidden, files that may not be edited are read-only, and where
no page may be fetched there is no network. Nothing else is: a command that runs was allowed, by a rule or by a person.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os.path import exists
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files_found import Files, TooMany
from .paths import Place
from .policy import mode_of, place_of, policy_of, rules_of
from .request import Mode
from .rules import Rule, Rules

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

__all__ = ["Held", "held_for", "sandbox_rules"]

_MOST = 300
# folders of / that a sandbox has of its own
_BARE = ("dev", "proc", "sys")


@dataclass(frozen=True, slots=True)
class Held:
    """What of the rules a sandbox can hold.

    Attributes:
        hide: files and folders that may not be read.
        protect: files and folders that may not be edited.
        writes: whether anything may be edited.
        network: whether anything may be fetched.
        rules: the rules that this holds.
        unheld: rules that deny and that no sandbox holds, each with the reason.
    """

    hide: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    writes: bool = True
    network: bool = True
    rules: tuple[Rule, ...] = ()
    unheld: tuple[tuple[Rule, str], ...] = ()

    @property
    def some(self) -> bool:
        """Whether there is anything to hold now."""
        return not (self.writes and self.network) or bool(self.hide or self.protect)

    def data(self, own: Sequence[str]) -> dict[str, Any] | None:
        """Return the data of the policy; ``None``: there is nothing to hold.

        Args:
            own: what commands never change while there is something to hold: the rules themselves.
        """
        if not self.some:
            return None
        with os.scandir("/") as found:
            folders = sorted(e.path for e in found if e.is_dir(follow_symlinks=False) and e.name not in _BARE)
        return {
            "write": folders if self.writes else [],
            "protect": [*self.protect, *(path for path in own if exists(path))],
            "hide": list(self.hide),
            "network": "on" if self.network else "off",
            "unix_sockets": True,
            "env": ["*"],
        }


def sandbox_rules(host: Host) -> Callable[[AgentRunner], dict[str, Any] | None]:
    """Make the function that says what the processes of an agent's tools may do now."""
    # whoever changes these changes what is allowed
    own = [str(host.config_dir), str(Path(policy_of(host).memory.path).parent)]
    return lambda agent: held_for(agent).data(own)


def held_for(agent: AgentRunner) -> Held:
    """Return what a sandbox can hold of the rules that count for an agent now."""
    policy = policy_of(agent.host)
    rules = rules_of(agent, policy)
    mode = mode_of(agent, policy)
    if not rules.deny and mode != "read-only":
        return Held()
    return _held(rules, mode, place_of(agent.host, agent.cwd), policy.kept.setdefault("files", {}))


def _held(rules: Rules, mode: Mode, place: Place, kept: dict[str, Any]) -> Held:
    hide: dict[str, None] = {}
    protect: dict[str, None] = {}
    writes = network = mode != "read-only"
    by: list[Rule] = []
    unheld: list[tuple[Rule, str]] = []
    about = [r for r in rules.deny if not r.problem and r.spec is not None and (r.names("Read") or r.names("Edit"))]
    files = Files([str(rule.spec) for rule in about], place, kept)
    for rule in rules.deny:
        if rule.problem:
            unheld.append((rule, "it cannot be read"))
        elif rule in about:
            into = hide if rule.names("Read") else protect
            try:
                into.update(dict.fromkeys(_holdable(files.matching(str(rule.spec)))))
                by.append(rule)
            except TooMany as error:
                unheld.append((rule, str(error)))
        elif rule.names("Edit") and not rule.names("Read"):
            writes = False
            by.append(rule)
        elif rule.names("WebFetch") and rule.spec in (None, "domain:*"):
            network = False
            by.append(rule)
        elif why := _why_not(rule):
            unheld.append((rule, why))
    return Held(tuple(hide), tuple(protect), writes, network, tuple(by), tuple(unheld))


def _holdable(paths: Iterator[str]) -> list[str]:
    """Return the files that paths lead to.

    Raises:
        TooMany: each of them costs a mount at every command.
    """
    found: dict[str, None] = {}
    for path in paths:
        found[os.path.realpath(path)] = None
        if len(found) > _MOST:
            raise TooMany(f"more than {_MOST} files match")
    if "/" in found:
        raise TooMany("it is about everything")
    return list(found)


def _why_not(rule: Rule) -> str:
    """Return why no sandbox holds a rule; empty for a rule that is about no program."""
    if rule.names("Bash"):
        return "the kernel knows files and the network, and no words of a command"
    if rule.names("Read"):
        return "without reading no program starts"
    return "a sandbox knows no single host" if rule.names("WebFetch") else ""
