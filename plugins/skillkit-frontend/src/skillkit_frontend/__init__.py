"""What front ends share: a conversation, blocks made of events, questions, the options of the command line.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .approvals import SCOPES, Remember, always_question, preview_of, rememberable, rules_kept
    from .blocks import Block, Kind, one_line, prose
    from .colours import THEME, WIDEST, markdown
    from .images import image_from_file
    from .mentions import TYPED, as_mention, images_in, pasted_file, paths_for
    from .opening import (
        TITLE,
        as_before,
        get_ready,
        keep_folders,
        keeps_sessions,
        last_answer,
        offer_what_asks,
        say_missing,
        session_for,
    )
    from .options import Approvals, Choices, choosing, config_for, configure, going_on, prepare
    from .pieces import EventLines, Pieces
    from .questions import (
        Fragments,
        KeyQuestion,
        ListQuestion,
        Look,
        Question,
        TextQuestion,
        question_for,
        shown_answer,
    )
    from .recorder import Log, Recorder, call_head, replay

__all__ = [
    "SCOPES", "THEME", "TITLE", "TYPED", "WIDEST", "Approvals", "Block", "Choices", "EventLines", "Fragments",
    "KeyQuestion", "Kind", "ListQuestion", "Log", "Look", "Pieces", "Question", "Recorder", "Remember",
    "TextQuestion", "always_question", "as_before", "as_mention", "call_head", "choosing", "config_for",
    "configure", "get_ready", "going_on", "image_from_file", "images_in", "keep_folders", "keeps_sessions",
    "last_answer", "markdown", "offer_what_asks", "one_line", "pasted_file", "paths_for", "prepare", "preview_of",
    "prose", "question_for", "rememberable", "replay", "rules_kept", "say_missing", "session_for", "shown_answer",
]  # fmt: skip

__version__ = "0.1.0"

_ROOMS = {
    "approvals": "SCOPES Remember always_question preview_of rememberable rules_kept",
    "blocks": "Block Kind one_line prose",
    "colours": "THEME WIDEST markdown",
    "images": "image_from_file",
    "mentions": "TYPED as_mention images_in pasted_file paths_for",
    "opening": "TITLE as_before get_ready keep_folders keeps_sessions last_answer offer_what_asks say_missing session_for",
    "options": "Approvals Choices choosing config_for configure going_on prepare",
    "pieces": "EventLines Pieces",
    "questions": "Fragments KeyQuestion ListQuestion Look Question TextQuestion question_for shown_answer",
    "recorder": "Log Recorder call_head replay",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for room, names in _ROOMS.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
