"""The keys of the SkillKit format (spec 4.2), each with what makes its value of what a file says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from skillkit_markdown import flag, natural

from skillkit_core.skills import ActionArg

from .reader import text_list, tokens

__all__ = ["KEYS", "clean_installers"]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value.strip()


def _hint(value: Any) -> str:
    """An argument hint: ``[file]`` without quotes is a YAML list and means the text."""
    return f"[{', '.join(text_list(value))}]" if isinstance(value, list) else _text(value)


def _list(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (str, list, tuple)):
        raise ValueError(value)
    return tuple(dict.fromkeys(text_list(value)))


def _tokens(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (str, list, tuple)):
        raise ValueError(value)
    return tuple(tokens(value))


def _bool(value: Any) -> bool:
    if flag(value, False) != flag(value, True):
        raise ValueError(value)
    return flag(value, False)


def _int(low: int, high: int) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        number = int(value)
        if not low <= number <= high:
            raise ValueError(value)
        return number

    return convert


def _word(*allowed: str) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if value not in allowed:
            raise ValueError(value)
        return str(value)

    return convert


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(value)
    found: Mapping[str, Any] = natural(value)
    return found


def _arguments(value: Any) -> tuple[ActionArg, ...]:
    """Names in order (a list, or one text with blanks), or full definitions."""
    if isinstance(value, Mapping):
        from .action_definition import read_args

        return read_args(value, "arguments", [])
    names = value.replace(",", " ").split() if isinstance(value, str) else text_list(value)
    return tuple(ActionArg(name, position=i) for i, name in enumerate(names, 1))


_TEXTS = (
    *("version", "display_name", "short_description", "when_to_use", "engine", "context_loader", "model", "agent"),
    *("primary_env", "skill_key"),
)
_LISTS = (
    *("examples", "tags", "domains", "intents", "keywords", "editor_types", "tools", "tool_packs", "subgraphs"),
    *("confirm", "paths", "not_for", "optional_tools"),
)
_BOOLEANS = (
    *("requires_explicit_keywords", "override_continuity", "requires_editor", "requires_image_context"),
    *("internal_only", "tools_only", "supports_hitl", "user_invocable", "disable_model_invocation", "always"),
)
KEYS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_LISTS, _list),
    **dict.fromkeys(_BOOLEANS, _bool),
    "system_prompt": lambda v: v if isinstance(v, str) else _text(v),
    "argument_hint": _hint,
    "allowed_tools": _tokens,
    "disallowed_tools": _tokens,
    "priority": _int(0, 100),
    "argument_base": _int(0, 1),
    "editor_preference": _word("none", "prefer", "require"),
    "effort": _word("low", "medium", "high", "xhigh", "max"),
    "context": _word("inline", "fork"),
    "shell_injection": _word("deny", "ask", "allow"),
    "limits": _mapping,
    "outputs": _mapping,
    "permissions": _mapping,
    "arguments": _arguments,
}

# --- installers (OpenClaw's ``install``): cleaned, shown to people, never run by themselves -----------------------------

_INSTALLERS = {"brew": "formula", "node": "package", "go": "module", "uv": "package", "download": "url"}
_WORD = r"[A-Za-z0-9@._/+~:\[\]=<>,-]+\Z"
_URL = r"https://(?!\[)(?!\d+\.\d+\.\d+\.\d+[/:])([A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?::\d+)?/\S*\Z"


def clean_installers(items: Iterable[Any], codes: list[str]) -> tuple[Mapping[str, Any], ...]:
    """The installers that may be shown: a known kind, its target a plain word or an https address with a host name.

    Everything else is refused with ``install-refused:<kind>`` in ``codes``. ``auto_run`` is always false.
    """
    found = []
    for item in items:
        if not isinstance(item, Mapping):
            continue
        kind = str(item.get("kind") or "")
        target = item.get(_INSTALLERS.get(kind, ""))
        ok = isinstance(target, str) and not target.startswith("-")
        if ok and isinstance(target, str):
            ok = bool(re.match(_URL if kind == "download" else _WORD, target))
        if ok:
            found.append({**item, "auto_run": False})
        else:
            codes.append(f"install-refused:{kind or '?'}")
    return tuple(found)
