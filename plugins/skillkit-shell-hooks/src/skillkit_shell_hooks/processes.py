"""Command handlers: a process with JSON on stdin, few variables, no terminal, bounded output, and an end that leaves nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import SkillKitError

from .answers import Ended
from .definitions import Hook

if TYPE_CHECKING:
    from .surroundings import Surroundings

__all__ = ["filled", "run_command", "variables"]

MOST = 1 << 20
"""Characters of stdout or stderr that are read; an answer that is longer is none."""
_VARIABLE = re.compile(r"\$\{(CLAUDE_PROJECT_DIR|(?:CLAUDE_)?PLUGIN_(?:ROOT|DATA)|user_config\.[\w-]+)\}")
_HARMLESS = re.compile(r"[A-Za-z0-9_@%+=:,./-]*\Z")
_PATH = "/usr/local/bin:/usr/bin:/bin"


def variables(hook: Hook, around: Surroundings) -> dict[str, str]:
    """Return the variables that a hook gets besides the harmless ones of this process."""
    found = {"CLAUDE_PROJECT_DIR": str(around.project)}
    if around.env_file is not None:
        found["CLAUDE_ENV_FILE"] = str(around.env_file)
    plugin = hook.plugin
    if plugin is None:
        return found
    for name, key in (("ROOT", "root"), ("DATA", "data")):
        if plugin.get(key):
            found[f"CLAUDE_PLUGIN_{name}"] = found[f"PLUGIN_{name}"] = str(plugin[key])
    for name, value in (plugin.get("options") or {}).items():
        found[f"CLAUDE_PLUGIN_OPTION_{re.sub(r'[^A-Za-z0-9]', '_', str(name)).upper()}"] = str(value)
    return {**found, **{str(k): str(v) for k, v in (plugin.get("env") or {}).items()}}


def filled(text: str, hook: Hook, values: Mapping[str, str], *, quoted: bool = True) -> str:
    """Return a text with the folders and options in place of their names.

    In a shell line only values are put in that no shell reads anything into; the shell finds the others in its environment.
    """
    options = (hook.plugin or {}).get("options") or {}

    def value(match: re.Match[str]) -> str:
        name = match[1]
        found = options.get(name[12:]) if name.startswith("user_config.") else values.get(name)
        if found is None or (not quoted and not _HARMLESS.match(str(found))):
            return match[0]
        return str(found)

    return _VARIABLE.sub(value, text)


def command_line(hook: Hook, values: Mapping[str, str]) -> list[str]:
    """Return the program and its arguments: a shell with the line, or the command itself where there are ``args``."""
    command, args = str(hook.handler["command"]), hook.handler.get("args")
    if args is not None:
        return [filled(one, hook, values) for one in (command, *args)]
    line = filled(command, hook, values, quoted=False)
    shell = hook.handler.get("shell") or ("bash" if hook.dialect == "copilot" else "sh")
    if shell == "powershell":
        return ["pwsh", "-NoProfile", "-NonInteractive", "-Command", line]
    # a leading blank means nothing to a shell, but keeps a line that starts with '-' from being an option
    return ["bash" if shell == "bash" else "sh", "-c", f" {line}" if line.startswith(("-", "+")) else line]


async def run_command(hook: Hook, payload: Mapping[str, Any], around: Surroundings) -> Ended:
    """Run a command, and wait for its end or its time."""
    from skillkit_process import Capture, environment, run

    values = variables(hook, around)
    env = {**environment(around.names, around.environ), **values, "TERM": "dumb"}
    folders = [str(one) for one in (hook.plugin or {}).get("bin") or ()]
    env["PATH"] = os.pathsep.join([env.get("PATH") or _PATH, *folders])
    out, err = Capture(MOST), Capture(MOST)
    try:
        if data := values.get("CLAUDE_PLUGIN_DATA"):
            Path(data).mkdir(parents=True, exist_ok=True)
        argv = command_line(hook, values)
        if around.box is not None:
            argv = around.box().command(argv, env)
        text = json.dumps(payload, ensure_ascii=False, default=str).encode("utf-8", "replace")
        how, code = await run(
            argv, out, err, env=env, cwd=around.cwd, stdin=text, timeout=hook.seconds, signal=around.signal, grace=0.5
        )
    except (SkillKitError, OSError) as error:
        return Ended(None, problem=f"it cannot start: {error}")
    stdout, cut, _ = out.finish()
    stderr, _, _ = err.finish()
    if how != "exited":
        why = {"timeout": f"it took longer than {hook.seconds:g} s", "aborted": "the run was aborted"}
        return Ended(None, problem=why.get(how, "it waits for a terminal, and there is none"))
    if cut and code != 2:
        return Ended(code, problem=f"it wrote more than {MOST:,} characters")
    return Ended(code, "" if cut else stdout, stderr)
