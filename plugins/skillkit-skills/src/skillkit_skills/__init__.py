"""Skills for SkillKit: SKILL.md folders as values, as a catalogue for models, and as deterministic actions.

Public names are imported when they are first used (PEP 562), so importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .actions import ActionResult as ActionResult, run_action as run_action
    from .activation import skill_content as skill_content
    from .catalogue import render_catalogue as render_catalogue
    from .digest import files_digest as files_digest
    from .eligibility import reasons as reasons
    from .explaining import Explanation as Explanation, Near as Near
    from .gates import Request as Request, gate as gate
    from .index import Found as Found, SkillIndex as SkillIndex, index_of as index_of
    from .listing import listing as listing
    from .loader import SkillFolderLoader as SkillFolderLoader
    from .offers import skill_tools as skill_tools, skills_of as skills_of
    from .preapproval import pre_approved as pre_approved
    from .reader import parse as parse, read as read
    from .substitution import split_args as split_args, substitute as substitute
    from .words import WordIndex as WordIndex

_WHERE = {
    "ActionResult": "actions",
    "run_action": "actions",
    "skill_content": "activation",
    "render_catalogue": "catalogue",
    "files_digest": "digest",
    "reasons": "eligibility",
    "Explanation": "explaining",
    "Found": "index",
    "Near": "explaining",
    "SkillIndex": "index",
    "index_of": "index",
    "Request": "gates",
    "gate": "gates",
    "listing": "listing",
    "SkillFolderLoader": "loader",
    "skill_tools": "offers",
    "skills_of": "offers",
    "pre_approved": "preapproval",
    "parse": "reader",
    "read": "reader",
    "split_args": "substitution",
    "substitute": "substitution",
    "WordIndex": "words",
}
__all__ = [
    "ActionResult",
    "Explanation",
    "Found",
    "Near",
    "Request",
    "SkillFolderLoader",
    "SkillIndex",
    "WordIndex",
    "files_digest",
    "gate",
    "index_of",
    "listing",
    "parse",
    "pre_approved",
    "read",
    "reasons",
    "render_catalogue",
    "run_action",
    "skill_content",
    "skill_tools",
    "skills_of",
    "split_args",
    "substitute",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
