"""What hooks of ``SessionStart`` set for the commands of a session: the file ``CLAUDE_ENV_FILE``, which a shell reads once."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, Host

    from .surroundings import Surroundings

__all__ = ["carrying", "variables_of"]

_SECONDS = 10.0
_MOST = 1 << 20
_OF_THE_SHELL = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
_READ = 'set -a; . "$1" >/dev/null 2>&1; command env -0'


@asynccontextmanager
async def carrying(agent: AgentRunner, around: Surroundings) -> AsyncIterator[Surroundings]:
    """Give hooks a file for ``export NAME=value``; in the end keep what it sets for the commands of the agent.

    A sandbox may hide the file from its hooks, so that hooks in a sandbox get none.

    Raises:
        SkillKitError: a shell cannot read the file.
    """
    if around.box is not None:
        yield around
        return
    with tempfile.TemporaryDirectory(prefix="skillkit-hooks-") as folder:
        file = Path(folder, "variables.sh")
        file.touch(0o600)
        yield replace(around, env_file=file)
        if file.stat().st_size:
            agent.state("shell-hooks").setdefault("variables", {}).update(await _set_by(file, around))


async def _set_by(file: Path, around: Surroundings) -> dict[str, str]:
    """Return what a file sets or changes, as a shell reads it with the variables that hooks see."""
    from skillkit_process import Capture, environment, run

    before = environment(around.names, around.environ)
    before.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    out, err = Capture(_MOST), Capture(_MOST)
    argv = ["bash", "-c", _READ, "bash", str(file)]
    try:
        how, _ = await run(
            argv, out, err, env=before, cwd=around.cwd, stdin=b"", timeout=_SECONDS, signal=around.signal, grace=0.5
        )
    except OSError as error:
        raise SkillKitError(f"no shell can read CLAUDE_ENV_FILE: {error.strerror}") from error
    text, cut, _ = out.finish()
    err.finish()
    if how != "exited" or cut:
        raise SkillKitError("what the hooks wrote to CLAUDE_ENV_FILE takes too long to read, or sets too much")
    pairs = (line.partition("=") for line in text.split("\0") if "=" in line)
    return {name: value for name, _, value in pairs if name not in _OF_THE_SHELL and before.get(name) != value}


def variables_of(host: Host) -> Callable[[AgentRunner], Mapping[str, str]]:
    """Return what says which variables the commands of an agent get; an agent has those of the agent above it, too."""

    def found(agent: AgentRunner) -> dict[str, str]:
        above = found(agent.parent) if agent.parent is not None else {}
        mine: Mapping[str, Any] = agent.state("shell-hooks").get("variables", {})
        return {**above, **mine}

    return found
