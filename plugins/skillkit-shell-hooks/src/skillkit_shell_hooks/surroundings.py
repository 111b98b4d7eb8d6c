"""Where hooks run, and who runs what is no process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .answers import Answer, Ended
from .definitions import Hook

if TYPE_CHECKING:
    from skillkit_core import AbortSignal

__all__ = ["Judge", "Runner", "Surroundings"]

Judge: TypeAlias = Callable[[str, Mapping[str, Any]], bool]
"""Says whether a rule of permissions is about a call: ``(rule, input) -> bool``."""
Runner: TypeAlias = Callable[[Hook, Mapping[str, Any], "Surroundings"], Awaitable[Ended]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where hooks run.

    Attributes:
        cwd: their folder.
        project: the folder of the project.
        environ: variables of the host, of which a hook sees the harmless ones and ``names``.
        names: further variables that hooks see.
        env_file: the file in which hooks set variables for the commands of the session; ``None``: they set none.
        box: opens the sandbox that commands run in, or raises; ``None``: they run without one.
        signal: ends them.
        closed: a guard that fails denies.
        judge: judges ``if``; ``None``: nobody can, so that a hook with ``if`` always runs.
        names_of: further names of a tool, which matchers know too.
        ask: runs handlers of the kinds ``prompt``, ``agent`` and ``mcp_tool``; ``None``: they cannot run here.
        later: takes the work of a hook that nobody waits for (``async``), with what it says.
    """

    cwd: Path
    project: Path
    environ: Mapping[str, str]
    names: Sequence[str] = ()
    env_file: Path | None = None
    box: Callable[[], Any] | None = None
    signal: AbortSignal | None = None
    closed: bool = True
    judge: Judge | None = None
    names_of: Callable[[str], Iterable[str]] = lambda name: (name,)
    ask: Runner | None = None
    later: Callable[[Awaitable[Answer]], None] | None = None
