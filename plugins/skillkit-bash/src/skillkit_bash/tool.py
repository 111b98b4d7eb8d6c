"""The tool ``bash``: runs one command in the workspace and tells the model how it went."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core import ExecutionResult, SkillRuntime, ToolContext, ToolError, ToolOutput

from .config import BashConfig
from .runtime import BashRuntime, clean_environment, with_programs
from .terminal import NEEDS_TERMINAL

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["describe", "run_command"]

_HELD = (
    "[This ran in a sandbox of what the user's rules deny: some files are hidden or read-only, or the network is off. "
    "Do not go round it; the user sees with /permissions what holds, and can change the rules.]"
)
_REFUSED = re.compile(
    "Read-only file system|Permission denied|Operation not permitted|Device or resource busy|Network is unreachable|"
    "resolve host|name resolution"
)


async def run_command(host: Host, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
    """Run ``args["command"]`` with the host's runtime: ``runtime`` of the configuration, default ``bash``.

    The secrets that ``args["secrets"]`` names are in the environment of this command and of no other. The secrets that the user's
    configuration allows (``bash.secrets``) come from the host. A person is asked for the other ones.

    ``details``: ``exit_code, timed_out, aborted, needs_terminal, truncated, duration, stdout_bytes, stderr_bytes,
    stdout_path, stderr_path``.

    Raises:
        ToolError: a secret is not there, the directory is outside the workspace or missing, or the command cannot be started.
    """
    config: BashConfig = host.config.section("bash") or BashConfig()
    runtime, note = await _runtime(host, ctx)
    env = None
    names, brought = args.get("secrets"), _brought(host, ctx)
    if names or brought:
        secrets = await _secrets(host, names, args["command"], ctx) if names else {}
        env = with_programs(clean_environment(config.env_allow, path=config.path) | brought, host) | secrets
    timeout = min(float(args.get("timeout") or config.timeout), config.max_timeout)
    result = await runtime.execute(
        args["command"],
        cwd=_directory(ctx.cwd, args.get("cwd")),
        env=env,
        timeout=timeout,
        on_output=ctx.on_output,
        on_error_output=lambda text: ctx.on_output(text, "stderr"),
        signal=ctx.signal,
        max_output=config.max_output,
    )
    text = describe(result, timeout)
    if note and not result.ok and _REFUSED.search(text):
        text = f"{text}\n{note}"
    return ToolOutput(text, details=_details(result), is_error=not result.ok)


async def _runtime(host: Host, ctx: ToolContext) -> tuple[SkillRuntime, str]:
    """Return the host's runtime, in a sandbox of the rules of the moment where the plugin ``sandbox`` holds them.

    A command that fails there may fail for that: the text behind the runtime says so to the model.
    """
    runtime: SkillRuntime = await host.find_runtime()
    try:
        agent = ctx.agent
    except (AttributeError, ToolError):
        return runtime, ""  # the tool runs in a process for agents of another one, which is in a sandbox itself
    if "sandboxes" not in host.kinds:
        return runtime, ""
    box = await asyncio.to_thread(host.registry("sandboxes").get("sandbox").bash, agent)
    # a runtime that may run commands on another machine stays as it is
    holds = host.runtimes.get("sandbox") if isinstance(runtime, BashRuntime) else runtime
    inside = getattr(holds, "inside", None)
    return (runtime, "") if box is None or inside is None else (inside(box), _HELD)


def _brought(host: Host, ctx: ToolContext) -> dict[str, str]:
    """Return the variables that other plugins have for the commands of the agent."""
    known = host.registry("shell_variables") if "shell_variables" in host.kinds else None
    if known is None or not known.list():
        return {}
    try:
        agent = ctx.agent
    except (AttributeError, ToolError):
        return {}  # the tool runs in a process for agents of another one
    return {key: value for name in known.list() for key, value in known.get(name)(agent).items()}


async def _secrets(host: Host, names: Sequence[str], command: str, ctx: ToolContext) -> dict[str, str]:
    allowed = _allowed(host)
    found = {name: value for name in names if name in allowed and (value := await host.find_secret(name))}
    missing = [name for name in dict.fromkeys(names) if name not in found]
    if not missing:
        return found
    from skillkit_core import Survey, SurveyQuestion

    questions = tuple(SurveyQuestion(name, f"{name}, for this command only", "secret") for name in missing)
    answers = await ctx.ui.ask(Survey("A secret for one command", command, questions)) if ctx.ui is not None else None
    if answers is None:
        who = "the user did not give" if ctx.ui is not None else "nobody can be asked for"
        raise ToolError(
            f"{who} {', '.join(missing)}",
            hint=f"the user can set the variable and allow it: 'secrets: [{', '.join(missing)}]' in the section bash",
        )
    for name in missing:
        found[name] = str(answers[name])
        host.remember_secret(found[name])
    return found


def _allowed(host: Host) -> Collection[str]:
    """Return the names of ``bash.secrets``, as the user, the application or the distribution says: no project widens them."""
    for layer in reversed(host.config.layers):
        section = layer.data.get("bash")
        if layer.name != "project" and isinstance(section, Mapping) and "secrets" in section:
            return [str(name) for name in layer.list_of("bash", "secrets")]
    return ()


def _directory(workspace: Path, wanted: str | None) -> Path:
    root = workspace.resolve()
    path = (root / wanted).resolve() if wanted else root
    if not path.is_relative_to(root):
        raise ToolError(f"the directory {wanted!r} is outside the workspace", hint="name one below it")
    return path


def describe(result: ExecutionResult, timeout: float | None = None) -> str:
    """Return what the model reads: stdout, stderr under a heading, then what is worth knowing, each in brackets."""
    parts = [result.stdout.rstrip("\n")] if result.stdout.strip() else []
    if result.stderr.strip():
        parts.append("[stderr]\n" + result.stderr.rstrip("\n"))
    notes = [
        note
        for cut, name, path, size in (
            (result.truncated, "stdout", result.stdout_path, result.stdout_bytes),
            (result.truncated, "stderr", result.stderr_path, result.stderr_bytes),
        )
        if cut and (note := _file_note(name, path, size))
    ]
    if result.truncated and not notes:
        notes.append("[the output was cut, and the whole of it could not be kept]")
    if result.timed_out:
        after = f" after {timeout:g} s" if timeout is not None else ""
        notes.append(f"[timed out{after}: the command and everything it started was ended]")
    elif result.aborted:
        notes.append("[aborted: the command and everything it started was ended]")
    elif result.exit_code is not None and result.exit_code < 0:
        notes.append(f"[ended by signal {-result.exit_code}]")
    elif result.exit_code is not None and not parts:
        notes.append(f"[exit code {result.exit_code}, no output; stdin was empty]")
    elif result.exit_code:
        notes.append(f"[exit code {result.exit_code}]")
    if result.needs_terminal:
        notes.append(NEEDS_TERMINAL)
    return "\n".join([*parts, *notes])


def _file_note(name: str, path: Path | None, size: int) -> str | None:
    if path is None:
        return None
    try:
        kept = path.stat().st_size
    except OSError:
        return None
    whole = f"the whole {name}" if kept >= size else f"the first {kept:,} bytes of {name}"
    return f"[{whole} ({size:,} bytes) is in {path}]"


def _details(result: ExecutionResult) -> dict[str, Any]:
    return {
        "exit_code": result.exit_code,
        "timed_out": result.timed_out,
        "aborted": result.aborted,
        "needs_terminal": result.needs_terminal,
        "truncated": result.truncated,
        "duration": round(result.duration, 3),
        "stdout_bytes": result.stdout_bytes,
        "stderr_bytes": result.stderr_bytes,
        "stdout_path": str(result.stdout_path) if result.stdout_path else None,
        "stderr_path": str(result.stderr_path) if result.stderr_path else None,
    }
