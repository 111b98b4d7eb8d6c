"""The runtime contract: a runtime runs commands."""

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
    """The result of a command.

    Attributes:
        stdout: decoded output. Beyond the runtime's cap the middle is left out, and ``truncated`` is set.
        stderr: the same of the other stream.
        exit_code: exit status; negative: a signal ended the command; ``None``: the command never ran or was killed.
        timed_out: the command was killed because it took too long.
        aborted: the command was killed because the run was aborted.
        needs_terminal: the command failed, or was killed, because it needs a terminal.
        truncated: ``stdout`` or ``stderr`` is not everything.
        stdout_path: file with the whole output, where the runtime wrote one.
        stderr_path: the same of the other stream.
        stdout_bytes: bytes that the command wrote.
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
    needs_terminal: bool = False

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with status 0."""
        return self.exit_code == 0 and not self.timed_out and not self.aborted


class SkillRuntime(ABC):
    """Runs commands. Registered by ``register_runtimes``. The standard distribution's default runtime is ``bash``."""

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
            command: a string for a POSIX shell, or an argv that no shell ever sees. A runtime without a shell refuses strings.
            cwd: directory of the command; default: the current directory.
            env: the complete environment; ``None``: the runtime's small allow-list, never the host's environment.
            timeout: seconds after which the whole process tree is ended.
            on_output: called with decoded stdout as it arrives.
            on_error_output: called with decoded stderr as it arrives; default: ``on_output``.
            signal: signal that ends the process tree.
            stdin: input of the command; default: nothing.
            max_output: characters of each stream that the result keeps.

        Raises:
            ToolError: the command cannot be started (not found, not executable, no such directory, no shell for a string).
        """
