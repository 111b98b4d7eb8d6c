"""The runtime ``sandbox``: another runtime runs the command, inside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.contracts.runtime import ExecutionResult, SkillRuntime
from skillkit_core.errors import ToolError, UsageError

from .box import Sandbox, Sandboxes

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["SandboxRuntime", "sandboxed"]


def sandboxed(host: Host, name: str | None) -> SkillRuntime:
    """Return the runtime that runs commands of the runtime ``name`` inside, one for each host and name."""
    found: dict[str, SandboxRuntime] = host.state("sandbox").setdefault("runtimes", {})
    name = _inner(host, name)
    if name not in found:
        found[name] = SandboxRuntime(host, name)
    return found[name]


def _inner(host: Host, name: str | None) -> str:
    """Return the name of the runtime that starts the processes."""
    names = [n for n in host.runtimes.list() if n != "sandbox"]
    wanted = name or host.config.get("runtime") or ("bash" if "bash" in names else next(iter(names), None))
    if wanted == "sandbox":
        wanted = "bash" if "bash" in names else next(iter(names), None)
    if wanted is None:
        raise UsageError("no runtime is installed that the sandbox could use", hint="install skillkit-bash")
    return str(wanted)


class SandboxRuntime(SkillRuntime):
    """Runs commands of another runtime in the policy that ``sandbox.commands`` names; ``project`` where it names none.

    Where the policy does not hold, nothing runs, and :class:`~skillkit_sandbox.box.SandboxError` says why. What the inner runtime
    promises (live output, timeouts, abort) stays as it is, but a signal N that ends a command is an exit code of 128 + N. An
    environment that the caller gives is passed on as it is; without one the policy filters the inner runtime's.

    Args:
        host: gives the policies and the inner runtime.
        inner: name of the inner runtime; default: ``bash``, else the first.
        box: the sandbox that is used instead of that of the policy.
    """

    def __init__(self, host: Host, inner: str | None = None, box: Sandbox | None = None) -> None:
        self._host = host
        self._inner = _inner(host, inner)
        self._runtime: SkillRuntime = host.runtimes.get(self._inner)
        self._box = box
        self._boxes: dict[str, Sandbox] = {}

    def inside(self, box: Sandbox) -> SandboxRuntime:
        """Return the runtime that runs the commands of this one in another sandbox."""
        return SandboxRuntime(self._host, self._inner, box)

    def sandbox(self, workspace: Path) -> Sandbox:
        """Return the sandbox of a workspace.

        Raises:
            SandboxError: the policy does not hold here.
        """
        key = str(workspace)
        if key not in self._boxes:
            maker = Sandboxes(self._host)
            self._boxes[key] = maker.open(maker.commands(workspace) or "project", workspace)
        return self._boxes[key]

    async def execute(
        self,
        command: str | Sequence[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        *args: Any,
        **options: Any,
    ) -> ExecutionResult:
        """Run ``command`` inside; see :meth:`skillkit_core.SkillRuntime.execute`."""
        box = self._box or self.sandbox(self._host.cwd)
        argv = [_shell(), "-c", _no_option(command)] if isinstance(command, str) else list(command)
        path = (env or {}).get("PATH") or os.environ.get("PATH") or os.defpath
        if not argv or ("/" not in argv[0] and shutil.which(argv[0], path=path) is None):
            raise ToolError(f"command not found: {argv[0]}" if argv else "there is no command to run")
        return await self._runtime.execute(box.command(argv, env or ()), cwd, env, *args, **options)


def _no_option(command: str) -> str:
    """Return a command that no shell takes for an option: a blank in front means nothing to it."""
    return f" {command}" if command.startswith(("-", "+")) else command


def _shell() -> str:
    return shutil.which("bash") or shutil.which("sh") or "/bin/sh"
