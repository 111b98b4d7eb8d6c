"""What a bundle is, whichever host it was written for: one model behind four dialects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

__all__ = ["DIALECTS", "Bundle", "Component", "Dialect", "Hook", "Part", "Problem", "Reading", "Server"]

Dialect: TypeAlias = Literal["agent-plugins", "claude", "codex", "copilot"]
DIALECTS: tuple[Dialect, ...] = ("agent-plugins", "claude", "codex", "copilot")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, or has no effect.

    Attributes:
        code: one word for programs, such as ``unknown-event``.
        where: the file in the bundle, as the bundle writes it.
        what: one sentence for people.
        fatal: the bundle does not load.
    """

    code: str
    where: str
    what: str
    fatal: bool = False

    def __str__(self) -> str:
        return f"{self.where}: {self.what} ({self.code})"


@dataclass(frozen=True, slots=True)
class Component:
    """A skill, a command or an agent.

    Attributes:
        name: the full name, ``bundle:name``; in Agent Plugins skills have no prefix.
        path: the file, absolute.
        file: the same, from the root of the bundle.
        text: the text of one that has no file of its own.
    """

    name: str
    path: Path
    file: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Hook:
    """One handler of a hook.

    Attributes:
        event: the event in Claude Code's spelling.
        matcher: which tools or causes it is for; empty: all.
        handler: the handler as it is written, in Claude Code's form.
        file: the file that says it, from the root of the bundle.
        dialect: whose rules of input, output and exit codes hold.
        written: the event as the file spells it.
    """

    event: str
    matcher: str
    handler: Mapping[str, Any]
    file: str
    dialect: Dialect = "claude"
    written: str = ""

    @property
    def type(self) -> str:
        """The kind of handler: ``command``, ``http``, ``prompt``, ``agent`` or ``mcp_tool``."""
        return str(self.handler.get("type", "command"))

    @property
    def shown(self) -> str:
        """What would run, on one line."""
        own = self.handler
        text = own.get("command") or own.get("url") or own.get("prompt") or own.get("tool") or ""
        words = [str(text), *map(str, own.get("args") or ())]
        return " ".join(" ".join(words).split())


@dataclass(frozen=True, slots=True)
class Server:
    """An MCP server, as the bundle writes it: no variable is filled in.

    Attributes:
        name: its name in the bundle.
        config: what is said of it.
        file: the file that says it.
    """

    name: str
    config: Mapping[str, Any]
    file: str

    @property
    def shown(self) -> str:
        """What would be started or asked, on one line."""
        if url := self.config.get("url"):
            return str(url)
        return " ".join([str(self.config.get("command") or ""), *map(str, self.config.get("args") or ())])


@dataclass(frozen=True, slots=True)
class Part:
    """Something of a kind that is neither skill, command, agent, hook nor server.

    Attributes:
        kind: ``lsp``, ``monitors``, ``output styles``, ``bin`` ...
        file: where it is.
        supported: whether it has an effect here.
    """

    kind: str
    file: str
    supported: bool = False


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read. Nothing of it has run, and nothing of it counts by being read.

    Attributes:
        name: the prefix of everything in it.
        root: its folder, a real path.
        dialect: the format it was read as.
        manifest: its manifest, from the root; ``None``: it has none.
        options: the questions that it asks when it is enabled, by key, as it writes them.
        dependencies: names of other bundles that it needs.
        default_enabled: whether it counts once it is installed.
    """

    name: str
    root: Path
    dialect: Dialect
    manifest: str | None = None
    version: str | None = None
    description: str = ""
    skills: tuple[Component, ...] = ()
    commands: tuple[Component, ...] = ()
    agents: tuple[Component, ...] = ()
    hooks: tuple[Hook, ...] = ()
    servers: tuple[Server, ...] = ()
    parts: tuple[Part, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    default_enabled: bool = True
    problems: tuple[Problem, ...] = ()

    @property
    def programs(self) -> Path | None:
        """The folder whose programs are on the path of commands."""
        folder = self.root / "bin"
        return folder if any(part.kind == "bin" for part in self.parts) else None


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of reading a folder.

    Attributes:
        bundle: ``None``: it does not load.
        problems: everything that was noticed.
    """

    bundle: Bundle | None
    problems: tuple[Problem, ...]
