"""Skills for SkillKit: SKILL.md folders as values, as a catalogue for models, and as deterministic actions.

Public names are imported when they are first used (PEP 562), so importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from .actions import ActionResult as ActionResult, remember_secrets as remember_secrets, run_action as run_action
    from .activation import (
        commands_in as commands_in,
        dynamic_policy as dynamic_policy,
        overrides_of as overrides_of,
        unknown_agent_of as unknown_agent_of,
    )
    from .agent_skills import ACTIVATE as ACTIVATE, skills_of as skills_of
    from .arguments import pattern_problem as pattern_problem
    from .catalogue import render_catalogue as render_catalogue
    from .cli.data import problem_data as problem_data
    from .cli.printing import print_problems as print_problems
    from .content import skill_content as skill_content, split_args as split_args, substitute as substitute
    from .eligibility import answers as answers, reasons as reasons
    from .explaining import Explanation as Explanation, Near as Near
    from .gates import Request as Request, closed as closed, filters as filters, gate as gate, gated as gated
    from .index import Found as Found, SkillIndex as SkillIndex, index_of as index_of
    from .listed import Listed as Listed, Verdict as Verdict, explain as explain, listing as listing
    from .loader import KEPT as KEPT, SkillFolderLoader as SkillFolderLoader
    from .preapproval import (
        disallowed as disallowed,
        in_our_words as in_our_words,
        pre_approved as pre_approved,
    )
    from .scanner import FILE as FILE, scan as scan, skill_file as skill_file
    from .skill_hooks import hook_lines as hook_lines
    from .skill_md.line_numbers import located as located
    from .skill_md.reader import read as read
    from .skill_md.spec import parse as parse
    from .sources import places as places
    from .tools import skill_tools as skill_tools
    from .word_index import WordIndex as WordIndex

_WHERE = {
    "ACTIVATE": "agent_skills",
    "ActionResult": "actions",
    "Explanation": "explaining",
    "FILE": "scanner",
    "Found": "index",
    "KEPT": "loader",
    "Listed": "listed",
    "Near": "explaining",
    "Request": "gates",
    "SkillFolderLoader": "loader",
    "SkillIndex": "index",
    "Verdict": "listed",
    "WordIndex": "word_index",
    "answers": "eligibility",
    "closed": "gates",
    "commands_in": "activation",
    "disallowed": "preapproval",
    "dynamic_policy": "activation",
    "explain": "listed",
    "filters": "gates",
    "gate": "gates",
    "gated": "gates",
    "hook_lines": "skill_hooks",
    "in_our_words": "preapproval",
    "index_of": "index",
    "listing": "listed",
    "located": "skill_md.line_numbers",
    "overrides_of": "activation",
    "parse": "skill_md.spec",
    "pattern_problem": "arguments",
    "places": "sources",
    "pre_approved": "preapproval",
    "print_problems": "cli.printing",
    "problem_data": "cli.data",
    "read": "skill_md.reader",
    "reasons": "eligibility",
    "remember_secrets": "actions",
    "render_catalogue": "catalogue",
    "run_action": "actions",
    "scan": "scanner",
    "skill_content": "content",
    "skill_file": "scanner",
    "skill_tools": "tools",
    "skills_of": "agent_skills",
    "split_args": "content",
    "substitute": "content",
    "unknown_agent_of": "activation",
}
__all__ = [
    "ACTIVATE",
    "FILE",
    "KEPT",
    "ActionResult",
    "Explanation",
    "Found",
    "Listed",
    "Near",
    "Request",
    "SkillFolderLoader",
    "SkillIndex",
    "Verdict",
    "WordIndex",
    "answers",
    "closed",
    "commands_in",
    "disallowed",
    "dynamic_policy",
    "explain",
    "filters",
    "gate",
    "gated",
    "hook_lines",
    "in_our_words",
    "index_of",
    "listing",
    "located",
    "overrides_of",
    "parse",
    "pattern_problem",
    "places",
    "pre_approved",
    "print_problems",
    "problem_data",
    "read",
    "reasons",
    "remember_secrets",
    "render_catalogue",
    "run_action",
    "scan",
    "skill_content",
    "skill_file",
    "skill_tools",
    "skills_of",
    "split_args",
    "substitute",
    "unknown_agent_of",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found
