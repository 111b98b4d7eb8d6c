"""Authors' tools for skills: check, fix, test, and hot reload in conversations and while one is written.

Public names are imported when they are first used (PEP 562), so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from .case_runs import Outcome as Outcome, SkillTester as SkillTester
    from .cases import SkillCases as SkillCases, read_cases as read_cases
    from .folder_watch import FolderWatch as FolderWatch
    from .new import make_skill as make_skill
    from .no_effect import without_effect as without_effect
    from .reload import Reload as Reload, reload_skills as reload_skills
    from .repairs import Repair as Repair, repair_of as repair_of

_WHERE = {
    "FolderWatch": "folder_watch",
    "Outcome": "case_runs",
    "Reload": "reload",
    "Repair": "repairs",
    "SkillCases": "cases",
    "SkillTester": "case_runs",
    "make_skill": "new",
    "read_cases": "cases",
    "reload_skills": "reload",
    "repair_of": "repairs",
    "without_effect": "no_effect",
}
__all__ = [
    "FolderWatch",
    "Outcome",
    "Reload",
    "Repair",
    "SkillCases",
    "SkillTester",
    "make_skill",
    "read_cases",
    "reload_skills",
    "repair_of",
    "without_effect",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
