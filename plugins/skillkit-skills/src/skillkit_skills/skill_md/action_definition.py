"""Definitions of deterministic actions: from what a skill file says to a checked :class:`SkillAction` (ACT-1)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from skillkit_markdown import flag, natural

from skillkit_core.errors import ToolError
from skillkit_core.skills import ActionArg, Requirements, SkillAction

from ..arguments import BadValue, coerce_value
from .reader import text_list

__all__ = [
    "INTERPRETERS",
    "PLACEHOLDER",
    "ActionError",
    "check_script",
    "code_argument",
    "code_refused",
    "read_action",
    "read_actions",
    "read_args",
]

INTERPRETERS = {".py": "python", ".sh": "sh", ".js": "node", ".mjs": "node", ".rb": "ruby"}
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}")
MAX_TIMEOUT = 3600.0
TYPES = frozenset(("string", "integer", "number", "boolean", "file", "json", "array"))
_TYPE_WORDS = {"bool": "boolean", "int": "integer", "float": "number", "str": "string", "list": "array", "path": "file"}
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_ARG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_SHELLS = frozenset(("sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh"))
# Of each interpreter the short options that take code, and those that take another value. A shell takes both from further words.
_SHORT = dict.fromkeys(_SHELLS, ("c", "oO")) | {
    "bun": ("ep", "r"),
    "deno": ("", "c"),
    "env": ("S", "uC"),
    "julia": ("eE", "JLptC"),
    "lua": ("e", "l"),
    "node": ("ep", "rC"),
    "npx": ("c", "p"),
    "osascript": ("e", "ls"),
    "perl": ("eE", "I"),
    "php": ("rBRE", "cdfFStz"),
    "pwsh": ("", ""),
    "pypy": ("c", "WX"),
    "python": ("c", "WX"),
    "rscript": ("e", ""),
    "ruby": ("e", "CEIr"),
}
_LONG = ("call", "command", "eval", "print", "split-string")
_KEYS = frozenset(SkillAction.__dataclass_fields__) - {"extra"} | {"params"}
_ARG_KEYS = frozenset(ActionArg.__dataclass_fields__) - {"extra", "name"}
_CONFIRM = ("never", "first", "always")
_OUTPUT = ("text", "json", "file", "none")


class ActionError(ToolError):
    """An action that cannot be offered. ``code`` is ACT-1's name for what is wrong."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_actions(
    value: Any, skill_dir: Path | None, *, confirm: str | None = None
) -> Iterator[tuple[SkillAction | ActionError, list[str]]]:
    """Every action in ``value``, a list of mappings or the older mapping of names, with codes of what was noticed.

    An action that breaks a rule comes as its error instead. ``confirm`` is the skill's own word on all of them.
    """
    items: list[tuple[str | None, Any]]
    if isinstance(value, Mapping):
        items = [(str(name), raw) for name, raw in value.items()]
    else:
        items = [(None, raw) for raw in (value if isinstance(value, Sequence) else ())]
    seen: set[str] = set()
    for name, raw in items:
        notes: list[str] = []
        try:
            if not isinstance(raw, Mapping):
                raise ActionError("action-invalid", f"action {name or raw!r} is not a mapping")
            action = read_action({"name": name, **raw} if name else raw, skill_dir, notes, confirm=confirm)
            if action.name in seen:
                raise ActionError("action-duplicate", f"action {action.name!r} is defined twice")
            seen.add(action.name)
            yield action, notes
        except ActionError as e:
            yield e, notes


def read_action(
    raw: Mapping[str, Any], skill_dir: Path | None, notes: list[str], *, confirm: str | None = None
) -> SkillAction:
    """One action.

    Raises:
        ActionError: it breaks a rule of ACT-1.
    """
    name = _name(raw.get("name"))
    script, run = raw.get("script"), raw.get("run")
    if script and run:
        raise ActionError("action-script-and-run", f"action {name!r} has both script and run")
    if not script and not run:
        raise ActionError("action-needs-script-or-run", f"action {name!r} has neither script nor run")
    notes += (f"action-unknown-key:{key}" for key in raw if key not in _KEYS and not key.startswith("x-"))
    args = read_args(raw.get("args", raw.get("params")), name, notes)
    timeout = _timeout(raw.get("timeout"), name)
    argv = None
    if script:
        check_script(str(script), skill_dir, name)
    else:
        argv = _split_run(run, name)
        _check_template(argv, args, name)
    requires = raw.get("requires")
    return SkillAction(
        name=name,
        description=str(raw.get("description") or "").strip(),
        script=str(PurePosixPath(str(script))) if script else None,
        run=argv,
        args=args,
        timeout=timeout,
        output=_word(raw, "output", _OUTPUT, "text", name),
        output_schema=natural(raw["output_schema"]) if isinstance(raw.get("output_schema"), Mapping) else None,
        cwd=_word(raw, "cwd", ("workspace", "skill"), "workspace", name),
        env=tuple(text_list(raw.get("env"))),
        confirm=_word(raw, "confirm", _CONFIRM, confirm or "first", name),
        model_callable=flag(raw.get("model_callable"), True),
        user_callable=flag(raw.get("user_callable"), True),
        idempotent=flag(raw.get("idempotent"), False),
        requires=_requires(requires) if isinstance(requires, Mapping) else Requirements(),
        extra={k: v for k, v in raw.items() if k.startswith("x-")},
    )


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ActionError("action-name-missing", "an action has no name")
    name = value.strip()
    if len(name) > 64 or not _NAME.match(name):
        raise ActionError("action-name-invalid", f"action name {name!r} must be kebab-case, at most 64 characters")
    return name


def _timeout(value: Any, name: str) -> float:
    if value is None:
        return 60.0
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds <= MAX_TIMEOUT:
        raise ActionError(
            "action-timeout", f"action {name!r}: timeout {value!r} must be above 0 and at most 3600 seconds"
        )
    return seconds


def _word(raw: Mapping[str, Any], key: str, allowed: tuple[str, ...], default: str, name: str) -> Any:
    value = raw.get(key)
    if value is None:
        return default
    if value not in allowed:
        raise ActionError(f"action-{key}", f"action {name!r}: {key} {value!r} must be one of {', '.join(allowed)}")
    return value


def _requires(raw: Mapping[str, Any]) -> Requirements:
    names = [n for n in Requirements.__dataclass_fields__ if n != "host"]
    lists: dict[str, Any] = {n: tuple(text_list(raw[n])) for n in names if n in raw}
    return Requirements(**lists)


def check_script(script: str, skill_dir: Path | None, name: str) -> None:
    """That ``script`` is a file inside ``skill_dir``, links followed, with an interpreter for its kind.

    Raises:
        ActionError: it is not.
    """
    path = PurePosixPath(script)
    escape = ActionError("action-path-escape", f"action {name!r}: script {script!r} leaves the skill's folder")
    if path.is_absolute() or ".." in path.parts or "\\" in script or "\0" in script:
        raise escape
    if path.suffix not in INTERPRETERS:
        known = " ".join(INTERPRETERS)
        raise ActionError(
            "action-unknown-interpreter", f"action {name!r}: no interpreter for {script!r} (known: {known})"
        )
    if skill_dir is None:
        return
    root = skill_dir.resolve()
    real = (root / path).resolve()
    if not real.is_relative_to(root):
        raise escape
    if not real.is_file():
        raise ActionError("action-script-missing", f"action {name!r}: there is no file {script!r}")


def read_args(value: Any, action: str, notes: list[str]) -> tuple[ActionArg, ...]:
    """Arguments: a mapping of name to definition, where a definition may be just the name of a type.

    Raises:
        ActionError: a name or type that is not allowed, or two arguments at one position.
    """
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise ActionError("action-args", f"action {action!r}: args must be a mapping of name to definition")
    args = tuple(_arg(str(name), raw, action, notes) for name, raw in value.items())
    places = [a.position for a in args if a.position is not None]
    if len(set(places)) != len(places) or any(p < 1 for p in places):
        raise ActionError("action-arg-position", f"action {action!r}: positions must be different numbers from 1")
    return args


def _arg(name: str, raw: Any, action: str, notes: list[str]) -> ActionArg:
    where = f"action {action!r}, argument {name!r}"
    if not _ARG_NAME.match(name):
        raise ActionError("action-arg-name", f"{where}: the name must match [A-Za-z][A-Za-z0-9_-]*")
    spec = {"type": raw} if isinstance(raw, str) else raw if isinstance(raw, Mapping) else {}
    notes += (f"action-unknown-key:{key}" for key in spec if key not in _ARG_KEYS and not key.startswith("x-"))
    kind = str(spec.get("type") or "string")
    kind = _TYPE_WORDS.get(kind, kind)
    if kind not in TYPES:
        raise ActionError("action-arg-type", f"{where}: type {kind!r} must be one of {', '.join(sorted(TYPES))}")
    pattern = spec.get("pattern")
    if pattern is not None:
        try:
            with warnings.catch_warnings(action="ignore"):  # what a later Python may read otherwise is valid today
                re.compile(str(pattern))
        except re.error as e:
            raise ActionError("action-arg-pattern", f"{where}: pattern {pattern!r}: {e}") from None
    flag_word = spec.get("flag")
    if flag_word is not None and not str(flag_word).startswith("-"):
        raise ActionError("action-arg-flag", f"{where}: flag {flag_word!r} must start with '-'")
    enum = spec.get("enum")
    return ActionArg(
        name=name,
        type=kind,
        description=str(spec.get("description") or "").strip(),
        required=flag(spec.get("required"), False),
        default=None if spec.get("default") is None else _typed(spec["default"], kind, where),
        enum=tuple(_typed(v, kind, where) for v in enum) if isinstance(enum, (list, tuple)) else (),
        minimum=_number(spec.get("minimum"), where),
        maximum=_number(spec.get("maximum"), where),
        pattern=None if pattern is None else str(pattern),
        position=_position(spec.get("position"), where),
        flag=None if flag_word is None else str(flag_word),
        secret=flag(spec.get("secret"), False),
        extra={k: v for k, v in spec.items() if k.startswith("x-")},
    )


def _typed(value: Any, kind: str, where: str) -> Any:
    """A default or an enum value in the type of its argument."""
    try:
        return natural(value) if kind == "json" else coerce_value(kind, value)
    except BadValue as e:
        raise ActionError("action-arg-default", f"{where}: {e}") from None


def _number(value: Any, where: str) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ActionError("action-arg-limit", f"{where}: {value!r} is not a number") from None
    return int(number) if number.is_integer() else number


def _position(value: Any, where: str) -> int | None:
    if value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ActionError("action-arg-position", f"{where}: position {value!r} is not a number") from None


def _split_run(run: Any, action: str) -> tuple[str, ...]:
    """``run`` as an argv: a list as it is, a text split like a shell would, without anything a shell would do."""
    if isinstance(run, (list, tuple)):
        if not all(isinstance(w, str) and "\0" not in w for w in run):
            raise ActionError("action-run", f"action {action!r}: run must be a text or a list of texts")
        return tuple(run)
    words: list[str] = []
    word: str | None = None
    quote = ""
    chars = iter(str(run))
    for c in chars:
        if quote == "'":
            quote, word = ("", word) if c == "'" else (quote, (word or "") + c)
        elif c == "\\":
            word = (word or "") + next(chars, "\\")
        elif c == quote:
            quote = ""
        elif c in "`\n\0" or c == "$" or (not quote and c in ";&|<>()"):
            raise ActionError(
                "action-shell-operator", f"action {action!r}: run is no shell, it cannot use {c!r}; quote it"
            )
        elif quote:
            word = (word or "") + c
        elif c in "'\"":
            quote, word = c, word or ""
        elif c.isspace():
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + c
    if quote:
        raise ActionError("action-run", f"action {action!r}: a quote in run is not closed")
    return (*words, word) if word is not None else tuple(words)


def _check_template(argv: tuple[str, ...], args: tuple[ActionArg, ...], action: str) -> None:
    known, used = {a.name for a in args}, set()
    words: list[tuple[str, bool]] = []
    for i, word in enumerate(argv):
        names = [m[1] for m in PLACEHOLDER.finditer(word) if m[1]]
        words.append((word, bool(names)))
        used.update(names)
        if unknown := [n for n in names if n not in known]:
            raise ActionError("action-unknown-placeholder", f"action {action!r}: run names {unknown[0]!r}, no argument")
        if i == 0 and names:
            raise ActionError("action-run-program", f"action {action!r}: the program of run cannot be an argument")
    rest = [a for a in args if a.name not in used and not a.secret]
    words += [(a.name, True) for a in rest if a.position is not None]
    for arg in rest:
        words += [(arg.flag or f"--{arg.name}", False), (arg.name, True)] if arg.position is None else []
    if program := code_argument(words):
        raise ActionError("action-code-argument", f"action {action!r}: {code_refused(program)}")


def code_refused(program: str) -> str:
    """Why an action is refused whose argument is code for ``program``, and what to do."""
    return (
        f"an argument cannot be part of the code that {program} runs; write the code to a file of the skill, "
        "or give it the argument as a word of its own"
    )


def code_argument(words: Sequence[tuple[str, bool]]) -> str | None:
    """The interpreter that a command line gives code from an argument: ``sh -c``, ``python -c``, ``node -e`` and such.

    The interpreter may stand anywhere, for it may be started by another program (``env``, ``nice``, ``xargs``, ``uv run``).

    Args:
        words: each word, and whether an argument is part of it.
    """
    for i, (word, _) in enumerate(words):
        name = PurePosixPath(word.lower()).name.removesuffix(".exe").rstrip("0123456789.-")
        if name in _SHORT and _takes_code(name, words[i + 1 :]):
            return name
    return None


def _takes_code(name: str, words: Sequence[tuple[str, bool]]) -> bool:
    """Whether an argument is part of the code among ``words``, which follow the interpreter ``name``."""
    code_letters, value_letters = _SHORT[name]
    code, values, perhaps = False, 0, False  # the next word: code; values of options; the value of a long option, maybe
    for word, argument in words:
        option = len(word) > 1 and word[0] in "-+"
        if values:
            values -= 1
        elif code and argument:
            return True
        elif code and not (option and name in (*_SHELLS, "deno")):
            code = name == "pwsh"  # which takes all further words
        elif not option:
            code = name == "deno" and word == "eval"
            if not code and not perhaps:
                return False  # a script: all that follows is its own
            perhaps = False
        elif word == "--" and not code:
            return False
        elif word.startswith("--") or name == "pwsh":
            head, given, _ = word.lstrip("-").lower().partition("=")
            takes = head in _LONG or (name == "pwsh" and any(n.startswith(head) for n in ("command", "encodedcommand")))
            if takes and given and argument:
                return True
            code = code or (takes and not given)
            perhaps = not takes and not given
        else:
            for at, letter in enumerate(word[1:], 2):
                attached = "" if name in _SHELLS else word[at:].lstrip(code_letters)
                if letter in code_letters:
                    if attached and argument:
                        return True
                    code = not attached
                elif letter in value_letters and not attached:
                    values += 1
                if attached and letter in code_letters + value_letters:
                    break
    return False
