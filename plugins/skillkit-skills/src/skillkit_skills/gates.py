"""The hard gates of skills-architecture (GATE-1): which skills may even be considered for a request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

from skillkit_core.skills import Skill

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["Request", "closed", "editor_type", "filters", "gate", "gated", "matches"]


@dataclass(frozen=True, slots=True)
class Request:
    """What is known of a request.

    Attributes:
        query: the words of the person.
        editor: type of the document in the editor; ``None``: no editor.
        images: number of attached images.
        files: paths that the request is about, relative to the workspace.
        caller: who wants the skill. The last three stand for code of the host, which may use skills that are ``internal_only``.
        host, session: where the request is made, for filters of plugins; ``None``: not known.
    """

    query: str = ""
    editor: str | None = None
    images: int = 0
    files: Sequence[str] = ()
    caller: Literal["model", "user", "engine", "planner", "skill"] = "model"
    host: Host | None = None
    session: Any = None


def editor_type(given: Any) -> str | None:
    """Return the type of the document in ``AgentConfig.options["editor"]``, a mapping or an object with ``type``."""
    if given is None:
        return None
    return str(given["type"] if isinstance(given, Mapping) else given.type)


def gate(skill: Skill, request: Request) -> str | None:
    """The first rule that keeps ``skill`` from ``request``, ``None`` when it may be used."""
    by_model, by_user = request.caller == "model", request.caller == "user"
    kinds = [k.casefold() for k in skill.editor_types]
    rules = (
        ("internal_only", (by_model or by_user) and skill.internal_only),
        ("disable_model_invocation", by_model and skill.disable_model_invocation),
        ("user_invocable", by_user and not skill.user_invocable),
        ("requires_editor", request.editor is None and _needs_editor(skill)),
        ("editor_types", request.editor is not None and bool(kinds) and request.editor.casefold() not in kinds),
        ("requires_image_context", skill.requires_image_context and request.images < 1),
        ("paths", by_model and bool(skill.paths) and not _on_path(skill, request)),
        ("requires_explicit_keywords", by_model and skill.requires_explicit_keywords and not _named(skill, request)),
    )
    return next((name for name, fails in rules if fails), None)


def gated(skill: Skill) -> bool:
    """Whether :func:`gate` could ever keep a model from ``skill``."""
    return bool(
        skill.internal_only
        or skill.disable_model_invocation
        or _needs_editor(skill)
        or skill.editor_types
        or skill.requires_image_context
        or skill.paths
        or skill.requires_explicit_keywords
    )


def filters(host: Host) -> bool:
    """Whether a plugin filters skills (``filter_skill``)."""
    return bool(host.impls("filter_skill"))


def closed(host: Host, skills: Iterable[Skill], request: Request) -> dict[int, str]:
    """Why skills may not be used for ``request``, by the identity of each: the first gate, else what a plugin's filter says.

    A filter that fails closes the gate of every skill that it was asked about.
    """
    asked = list(skills)
    found = {id(skill): reason for skill in asked if (reason := gate(skill, request)) is not None}
    for impl in host.impls("filter_skill"):
        from skillkit_core.host.loading import Failure, isolated, refuse_awaitable
        from skillkit_core.host.probe import called

        name = impl.plugin_name
        try:
            with isolated(name, "filter_skill", seconds=host.load().seconds, **host.load().owner(name)):
                for skill in asked:
                    if id(skill) not in found:
                        given = {"skill": skill, "context": request}
                        asked_for = (given[argument] for argument in impl.argnames)
                        reason = called(host, "filter_skill", impl, partial(impl.function, *asked_for))
                        refuse_awaitable("filter_skill", reason)
                        if reason is not None:
                            found[id(skill)] = f"{reason} (plugin {name})"
        except Failure as failure:
            host.report(failure.diagnostic)
            found = {id(skill): f"filter-failed:{name}" for skill in asked} | found
    return found


def _needs_editor(skill: Skill) -> bool:
    return skill.requires_editor or skill.editor_preference == "require"


def _on_path(skill: Skill, request: Request) -> bool:
    if not skill.paths:
        return False
    return any(matches(pattern, file) for pattern in skill.paths for file in request.files)


def _named(skill: Skill, request: Request) -> bool:
    query = request.query.casefold()
    return any(re.search(rf"(?<!\w){re.escape(k.casefold())}(?!\w)", query) for k in skill.keywords)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    out, i = "", 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out, i = out + "(?:[^/]+/)*", i + 3
        elif pattern.startswith("**", i):
            out, i = out + ".*", i + 2
        else:
            out += {"*": "[^/]*", "?": "[^/]"}.get(pattern[i], re.escape(pattern[i]))
            i += 1
    return re.compile(out + r"\Z", re.S)


def matches(pattern: str, path: str) -> bool:
    """Whether ``path``, with forward slashes, matches all of ``pattern``.

    ``**`` is any number of folders, ``*`` and ``?`` stay inside one name.
    """
    return _compiled(pattern).match(path) is not None
