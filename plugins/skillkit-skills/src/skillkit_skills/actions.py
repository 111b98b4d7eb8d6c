"""Running a deterministic action: an argv, a clean environment, a runtime, a result (ACT-1)."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillkit_core.errors import ToolError
from skillkit_core.frozen import EMPTY
from skillkit_core.skills import Skill, SkillAction
from skillkit_core.tools import ToolOutput

from .arguments import ArgumentError, BadValue, coerce, inside
from .skill_md.action_definition import INTERPRETERS, PLACEHOLDER, check_script, code_argument, code_refused

if TYPE_CHECKING:
    from skillkit_core import Host
    from skillkit_core.abort import AbortSignal
    from skillkit_core.contracts.runtime import ExecutionResult, OnOutput
    from skillkit_core.contracts.user_interface import UserInterface

    from .settings import SkillEntry

__all__ = [
    "OUTPUT_CAP",
    "ActionResult",
    "action_environment",
    "build_argv",
    "interpret",
    "remember_secrets",
    "run_action",
    "tool_output",
]

OUTPUT_CAP = 256 * 1024


@dataclass(frozen=True, slots=True)
class ActionResult:
    """How an action ended.

    Attributes:
        ok: exit status 0 and output of the declared kind.
        text: stdout, at most 256 KiB; with output ``json`` or ``file`` only when it is not what was declared.
        data: the parsed output of an action with output ``json``.
        file: the path that an action with output ``file`` printed, inside the workspace.
        error: ``exit-code:2``, ``signal:9``, ``timeout``, ``aborted``, ``needs-terminal``, ``output-not-json``,
            ``output-too-large``, ``output-file-outside``.
        stderr: at most 256 KiB.
        exit: exit status; ``None``: it was ended.
        ms: milliseconds.
        truncated: output was cut.
    """

    ok: bool
    text: str | None = None
    data: Any = None
    file: str | None = None
    error: str | None = None
    stderr: str = ""
    exit: int | None = 0
    ms: int = 0
    truncated: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The result as the ``--json`` output of a command."""
        kind = "data" if self.data is not None else "file" if self.file is not None else "text"
        out = {"ok": self.ok, kind: getattr(self, kind), "stderr": self.stderr, "exit": self.exit, "ms": self.ms}
        if self.error:
            out["error"] = self.error
        return out | {"truncated": True} if self.truncated else out


def build_argv(skill: Skill, action: SkillAction, args: Mapping[str, Any], program: Sequence[str] = ()) -> list[str]:
    """The command line of an action; no shell ever sees it.

    A script runs as ``[interpreter, script]``; Python scripts with this interpreter and without ``-I``: they may import
    the files beside them and what the host's environment has, and the clean environment holds no ``PYTHON*`` variable.
    Positional arguments come first, then the others in the order of declaration as ``--name value`` (``--name=value``
    when the value begins with a dash, so that it is never taken for an option); true gives ``--name``, false nothing,
    an array its items.

    Args:
        skill: whose ``path`` is the folder of the script.
        action: what to run.
        args: values as :func:`~skillkit_skills.arguments.coerce` gives them.
        program: what starts the script; default: ``[interpreter, script]``.

    Raises:
        ToolError: the interpreter is not installed, or an argument would become code for one.
    """
    declared = [a for a in action.args if not a.secret and args.get(a.name) is not None]
    filled: set[str] = set()
    given: set[int] = set()
    argv: list[str] = []
    if action.run is not None:
        for template in action.run:
            start, named = len(argv), _names(template)
            argv += _fill(template, args)
            given.update(range(start, len(argv)) if named else ())
            filled.update(named)
    else:
        script = _script(skill, action)
        argv = list(program) or [_interpreter(script.suffix), str(script)]
    own = len(argv)
    rest = [a for a in declared if a.name not in filled]
    for arg in sorted((a for a in rest if a.position is not None), key=lambda a: a.position or 0):
        argv += _words(args[arg.name])
    for arg in rest:
        if arg.position is not None:
            continue
        flag, value = arg.flag or f"--{arg.name}", args[arg.name]
        if isinstance(value, bool):
            argv += [flag] if value else []
            continue
        for word in _words(value):
            argv += [f"{flag}={word}"] if word.startswith("-") and flag.startswith("--") else [flag, word]
    traced = [(word, n in given or n >= own) for n, word in enumerate(argv)]
    if action.run is not None and (interpreter := code_argument(traced)):
        raise ToolError(f"action {action.name!r}: {code_refused(interpreter)}")
    return argv


def _script(skill: Skill, action: SkillAction) -> Path:
    return (skill.path or Path()) / str(action.script)


def _names(template: str) -> list[str]:
    return [m[1] for m in PLACEHOLDER.finditer(template) if m[1]]


def _fill(template: str, args: Mapping[str, Any]) -> list[str]:
    """The words of one word of ``run``: one, none for an absent argument alone, several for an array alone."""
    names = _names(template)
    if len(names) == 1 and template == f"{{{names[0]}}}":
        value = args.get(names[0])
        return [] if value is None else _words(value)

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        value = args.get(match[1])
        return "" if value is None else json.dumps(value) if isinstance(value, (list, dict)) else _words(value)[0]

    return [PLACEHOLDER.sub(one, template)]


def _words(value: Any) -> list[str]:
    if isinstance(value, (list, tuple)):
        return [w for v in value for w in _words(v)] if all(isinstance(v, str) for v in value) else [_compact(value)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [_compact(value)] if isinstance(value, Mapping) or value is None else [str(value)]


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _interpreter(suffix: str) -> str:
    name = INTERPRETERS[suffix]
    if name == "python":
        return sys.executable
    import shutil

    found = shutil.which(name)
    if found is None:
        raise ToolError(f"{name} is needed to run a {suffix} script and is not on PATH", hint=f"install {name}")
    return found


def action_environment(
    host: Host, skill: Skill, action: SkillAction, entry: SkillEntry | None = None
) -> dict[str, str]:
    """The complete environment of an action: PATH HOME LANG SKILL_DIR SKILLKIT_ACTION, and what was declared.

    Declared are the action's ``env``, the ``requires.env`` of action and skill, the skill's ``primary_env``, the variables
    that the configuration sets for the skill, and secret arguments under their upper-case names. Values come from the
    configuration of the skill, then from the environment and the credential sources of the host.
    """
    own = _own(skill, entry)
    env = {k: v for k in ("PATH", "HOME") if (v := host.environ.get(k))}
    env["LANG"] = host.environ.get("LANG") or "C.UTF-8"
    for name in _declared(skill, action):
        if value := own.get(name) or host.secret(name):
            env[name] = value
    env.update(own)
    env["SKILL_DIR"] = str(skill.path or "")
    env["SKILLKIT_ACTION"] = action.name
    return env


def _own(skill: Skill, entry: SkillEntry | None) -> dict[str, str]:
    """The variables that the configuration sets for a skill."""
    if entry is None:
        return {}
    key = {skill.primary_env: entry.api_key} if entry.api_key and skill.primary_env else {}
    return {**key, **entry.env}


async def _secrets(
    host: Host,
    skill: Skill,
    action: SkillAction,
    entry: SkillEntry | None,
    given: Mapping[str, str],
    ui: UserInterface | None,
) -> dict[str, str]:
    """``given``, and the required secret arguments that nothing holds, as a person gives them for one call."""
    for name in _declared(skill, action):
        await host.find_secret(name)  # an async plugin may have it
    own = _own(skill, entry)
    names = [a.name.upper() for a in action.args if a.secret and a.required]
    missing = [name for name in names if not (given.get(name) or own.get(name) or host.secret(name))]
    if not missing:
        return dict(given)
    from skillkit_core import Survey, SurveyQuestion

    questions = tuple(SurveyQuestion(name, f"{name}, for this call only", "secret") for name in missing)
    survey = Survey(f"A secret for action {action.name} of skill {skill.name}", "", questions)
    answers = await ui.ask(survey) if ui is not None else None
    if answers is None:
        raise ArgumentError(
            f"missing-argument:{missing[0].lower()}",
            f"action {action.name!r} needs {', '.join(missing)}: set the variable, or 'skills.entries.{skill.name}.env'",
        )
    return {**given, **{name: str(answers[name]) for name in missing}}


def remember_secrets(host: Host) -> None:
    """Have the values of what skills declare replaced wherever text leaves, also before an action gets them."""
    from .settings import entry_of, settings_of

    version, settings = host.skills.version, settings_of(host)
    state = host.state("skills")
    kept: tuple[int, Any, Sequence[str]] | None = state.get("variables")  # that hold keys of skills
    if kept is None or kept[0] != version or kept[1] is not settings:
        names: dict[str, None] = {}
        for skill in host.skills.items():
            entry = entry_of(host, skill)
            own = entry.env if entry is not None else {}
            if entry is not None and entry.api_key:
                host.remember_secret(entry.api_key)
            for name in (name for action in skill.actions for name in _declared(skill, action)):
                if name in own:
                    host.remember_secret(own[name] or "")
                else:
                    names[name] = None
        kept = state["variables"] = version, settings, tuple(names)
    for name in kept[2]:
        host.remember_secret(host.environ.get(name) or "")


def _declared(skill: Skill, action: SkillAction) -> list[str]:
    """The variables that an action and its skill declare."""
    names = [*action.env, *action.requires.env, *skill.requires.env, *(a.name.upper() for a in action.args if a.secret)]
    return [*names, *([skill.primary_env] if skill.primary_env else ())]


def _cut(text: str) -> tuple[str, bool]:
    data = text.encode("utf-8", "replace")
    return (text, False) if len(data) <= OUTPUT_CAP else (data[:OUTPUT_CAP].decode("utf-8", "ignore"), True)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def interpret(
    action: SkillAction, done: ExecutionResult, workspace: Path, started_in: Path | None = None
) -> ActionResult:
    """What the end of a process means for an action; ``started_in`` is its directory, default: the workspace."""
    text, cut_out = _cut(done.stdout)
    stderr, cut_err = _cut(done.stderr)
    truncated = done.truncated or cut_out or cut_err
    common: dict[str, Any] = {
        "stderr": stderr,
        "exit": done.exit_code,
        "ms": round(done.duration * 1000),
        "truncated": truncated,
    }
    if error := _failure(done):
        return ActionResult(False, text=text, error=error, **common)
    if action.output == "none":
        return ActionResult(True, **common)
    if action.output == "json":
        if done.truncated or cut_out:
            return ActionResult(False, text=text, error="output-too-large", **common)
        try:
            return ActionResult(True, data=json.loads(text, parse_constant=_no_constant), **common)
        except (ValueError, RecursionError):
            return ActionResult(False, text=text, error="output-not-json", **common)
    if action.output == "file":
        name = next((line for raw in reversed(text.splitlines()) if (line := raw.strip())), "")
        try:
            real = inside(name, workspace, started_in)
        except BadValue:
            return ActionResult(False, text=text, error="output-file-outside", **common)
        return ActionResult(True, file=name if started_in in (None, workspace) else str(real), **common)
    return ActionResult(True, text=text, **common)


def _failure(done: ExecutionResult) -> str | None:
    if done.timed_out:
        return "timeout"
    if done.aborted:
        return "aborted"
    if done.needs_terminal:
        return "needs-terminal"
    if done.exit_code is None:
        return "not-run"
    if done.exit_code < 0:
        return f"signal:{-done.exit_code}"
    return f"exit-code:{done.exit_code}" if done.exit_code else None


async def run_action(
    host: Host,
    skill: Skill,
    action: SkillAction,
    args: Mapping[str, Any],
    *,
    cwd: Path | None = None,
    signal: AbortSignal | None = None,
    on_output: OnOutput | None = None,
    on_error_output: OnOutput | None = None,
    secrets: Mapping[str, str] = EMPTY,
    ui: UserInterface | None = None,
) -> ActionResult:
    """Run an action and wait for it.

    Args:
        host: gives the runtime, the configuration and secrets.
        skill, action: what to run.
        args: what a model, a person or a program wants; checked and coerced here.
        cwd: the workspace; default: the host's.
        signal: ends it and everything it started.
        on_output, on_error_output: called with decoded output as it arrives.
        secrets: variables for this call alone. Their values are redacted wherever text leaves the host.
        ui: asks a person for the required secret arguments that nothing holds.

    Raises:
        ArgumentError: the arguments do not fit.
        ToolError: the skill cannot run here, its script needs what is not installed, or the program cannot be started.
        ActionError: the script is gone, or leads out of the skill's folder.
    """
    from .eligibility import check, surroundings_of
    from .settings import entry_of, settings_of

    workspace = (cwd or host.cwd).resolve()
    values = coerce(action.args, args, workspace)
    entry = entry_of(host, skill)
    if missing := check(action.requires, surroundings_of(host), entry, primary_env=skill.primary_env):
        raise ToolError(f"action {action.name!r} of skill {skill.name!r} cannot run here: {', '.join(missing)}")
    if action.cwd == "skill" and skill.path is not None:
        values = {k: _absolute(action, k, v, workspace) for k, v in values.items()}
    if action.script is not None and skill.path is not None:
        check_script(action.script, skill.path, action.name)  # the folder may have changed since it was read
    directory = skill.path if action.cwd == "skill" and skill.path is not None else workspace
    runtime = await host.find_runtime(settings_of(host).runtime)
    secrets = await _secrets(host, skill, action, entry, secrets, ui)
    for value in secrets.values():
        host.remember_secret(value)
    program: Sequence[str] = ()
    if action.script is not None and action.script.endswith(".py") and _has_header(_script(skill, action)):
        from .dependencies import python_argv

        program = python_argv(host, skill, _script(skill, action))
    done = await runtime.execute(
        build_argv(skill, action, values, program),
        cwd=directory,
        env=action_environment(host, skill, action, entry) | secrets,
        timeout=action.timeout,
        on_output=on_output,
        on_error_output=on_error_output,
        signal=signal,
        max_output=OUTPUT_CAP,
    )
    return interpret(action, done, workspace, directory)


def _has_header(script: Path) -> bool:
    return b"# /// script" in script.read_bytes()


def _absolute(action: SkillAction, name: str, value: Any, workspace: Path) -> Any:
    """File arguments as absolute paths, for a program that does not start in the workspace."""
    kind = next(a.type for a in action.args if a.name == name)
    return str(workspace / value) if kind == "file" else value


STDERR_CHARS = 4000


def tool_output(action: SkillAction, result: ActionResult) -> ToolOutput:
    """What the model reads, and the whole result beside it.

    JSON with an ``answer``: that text, then the other data in compact form; ``details`` are all data. A failure says how
    it ended and what was printed, the end of stderr last.
    """
    if not result.ok:
        return ToolOutput(_failure_told(action, result), result.to_dict(), is_error=True)
    if result.data is not None:
        return ToolOutput(_told(result.data), result.data)
    if result.file is not None:
        return ToolOutput(f"Wrote {result.file}", result.to_dict())
    text = (result.text or "").rstrip("\n")
    return ToolOutput(text or "Done, without output.", result.to_dict())


def _failure_told(action: SkillAction, result: ActionResult) -> str:
    said = result.stderr.strip()
    if said and "\n" not in said and (result.error or "").startswith("exit-code") and not (result.text or "").strip():
        return said[-STDERR_CHARS:]  # the action's own one line says it best
    how = {
        "timeout": f"did not finish within {action.timeout:g} seconds",
        "aborted": "was ended",
        "needs-terminal": "needs a terminal or somebody who types, and there is neither",
        "output-not-json": "printed something that is not JSON",
        "output-too-large": "printed more than 256 KiB",
        "output-file-outside": "named a file outside the workspace",
    }.get(result.error or "", f"failed ({result.error})")
    parts = [f"Action {action.name} {how}."]
    parts += [p for p in ((result.text or "").strip(), result.stderr.strip()[-STDERR_CHARS:]) if p]
    return "\n".join(parts)


def _told(data: Any) -> str:
    answer = data.get("answer") if isinstance(data, dict) else None
    if not isinstance(answer, str) or not answer:
        return _compact(data)
    rest = {k: v for k, v in data.items() if k != "answer"}
    return f"{answer}\n{_compact(rest)}" if rest else answer
