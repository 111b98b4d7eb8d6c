"""The runtime contract: how a command is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ..abort import AbortSignal

__all__ = ["ExecutionResult", "OnOutput", "SkillRuntime"]

OnOutput: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """How a command ended.

    Attributes:
        stdout: decoded output; beyond the runtime's cap the middle is left out, and ``truncated`` is set.
        stderr: the same of the other stream.
        exit_code: exit status; negative: ended by that signal; ``None``: it never ran or was killed.
        timed_out: the command was killed because it took too long.
        aborted: the command was killed because the run was aborted.
        truncated: ``stdout`` or ``stderr`` is not everything.
        stdout_path: file with the whole output, where the runtime wrote one.
        stderr_path: the same of the other stream.
        stdout_bytes: how much the command wrote.
        stderr_bytes: the same of the other stream.
        duration: seconds.
    """

    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = 0
    timed_out: bool = False
    aborted: bool = False
    truncated: bool = False
    stdout_path: Path | None = None
    stderr_path: Path | None = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    duration: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with status 0."""
        return self.exit_code == 0 and not self.timed_out and not self.aborted


class SkillRuntime(ABC):
    """Runs commands. Brought in by ``register_runtimes``; the default one of the standard distribution is ``bash``."""

    @abstractmethod
    async def execute(
        self,
        command: str | Sequence[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: OnOutput | None = None,
        *,
        on_error_output: OnOutput | None = None,
        signal: AbortSignal | None = None,
        stdin: bytes | None = None,
        max_output: int = 256 * 1024,
    ) -> ExecutionResult:
        """Run ``command``, and wait for the command and every process that it started.

        Args:
            command: a string is given to the shell; a sequence is an argv that no shell ever sees.
            cwd: where it runs; default: the current directory.
            env: the complete environment; ``None``: the runtime's small allow-list, never the host's environment.
            timeout: seconds; then the whole process tree is ended.
            on_output: called with decoded stdout as it arrives.
            on_error_output: called with decoded stderr as it arrives; default: ``on_output``.
            signal: ends the process tree when it is set.
            stdin: what the command reads; default: nothing.
            max_output: characters of each stream that the result keeps.

        Raises:
            ToolError: the command cannot be started (not found, not executable, no such directory).
        """
