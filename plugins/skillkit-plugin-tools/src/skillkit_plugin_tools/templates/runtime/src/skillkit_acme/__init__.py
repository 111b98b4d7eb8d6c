"""The runtime "acme": runs commands at low priority, through the runtime "bash"."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from skillkit_core import AbortSignal, ExecutionResult, Factory, Host, OnOutput, SkillRuntime, ToolError, hookimpl


@hookimpl
def register_runtimes(register: Callable[[Factory], None]) -> None:
    """Offer the runtime; the host makes it when it is first needed."""
    register(Factory("acme", "skillkit_acme:AcmeRuntime", "runs commands at low priority"))


class AcmeRuntime(SkillRuntime):
    """Runs ``nice -n 10 COMMAND``. Ends, limits and output are those of the runtime "bash"."""

    def __init__(self, host: Host) -> None:
        self._bash = host.runtimes.get("bash")

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
        """Run a command: a text is for the shell, a list of words is seen by none."""
        argv = ["bash", "-c", command] if isinstance(command, str) else list(command)
        path = env.get("PATH") if env is not None else None
        if "/" not in argv[0] and shutil.which(argv[0], path=path) is None:
            raise ToolError(f"{argv[0]!r} cannot be started: there is no such program")
        return await self._bash.execute(
            ["nice", "-n", "10", *argv],
            cwd,
            env,
            timeout,
            on_output,
            on_error_output=on_error_output,
            signal=signal,
            stdin=stdin,
            max_output=max_output,
        )
