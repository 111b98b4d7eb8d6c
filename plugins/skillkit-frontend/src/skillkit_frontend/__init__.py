"""What front ends share: a conversation, blocks made of events, questions, the options of the command line.

Names are imported when they are first used (PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .actions import DirectCall, TypedByAPerson, action_named, parse_action_args, tool_of_action, usage_line
    from .answering import IDLE, PAUSE, WAITS, After, Answering, AnswerLine, after
    from .approvals import Defers, Remember, all_edits, decide, in_vain, preview_of, question_text
    from .blocks import About, Block, Kind, arguments_line, one_line, prose
    from .books import Books, short
    from .colours import THEME, WIDEST, markdown
    from .completion import propose
    from .conversation import Conversation
    from .editor import run_editor
    from .folder import ask_about_folder
    from .images import image_from_file
    from .life import ends_in_time, lived
    from .mentions import TYPED, as_mention, images_in, pasted_file, paths_for
    from .opening import (
        NOT_KEPT,
        TITLE,
        as_before,
        check_workspace,
        get_ready,
        host_in,
        keep_folders,
        keeps_sessions,
        last_answer,
        offer_what_asks,
        opened,
        say_missing,
        session_for,
        settle,
    )
    from .options import Approvals, Choices, check_plan, choosing, config_for, configure, going_on, prepare
    from .pastes import Pastes, is_long
    from .person import Person
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
    from .shell import command_in, run_line
    from .tasks import run_tasks
    from .terminal import answer_to, is_asked, more_follows
    from .view import View

__all__ = [
    "IDLE",
    "NOT_KEPT",
    "PAUSE",
    "THEME",
    "TITLE",
    "TYPED",
    "WAITS",
    "WIDEST",
    "About",
    "After",
    "AnswerLine",
    "Answering",
    "Approvals",
    "Block",
    "Books",
    "Choices",
    "Conversation",
    "Defers",
    "DirectCall",
    "EventLines",
    "Fragments",
    "KeyQuestion",
    "Kind",
    "ListQuestion",
    "Log",
    "Look",
    "Pastes",
    "Person",
    "Pieces",
    "Question",
    "Recorder",
    "Remember",
    "TextQuestion",
    "TypedByAPerson",
    "View",
    "action_named",
    "after",
    "all_edits",
    "answer_to",
    "arguments_line",
    "as_before",
    "as_mention",
    "ask_about_folder",
    "call_head",
    "check_plan",
    "check_workspace",
    "choosing",
    "command_in",
    "config_for",
    "configure",
    "decide",
    "ends_in_time",
    "get_ready",
    "going_on",
    "host_in",
    "image_from_file",
    "images_in",
    "in_vain",
    "is_asked",
    "is_long",
    "keep_folders",
    "keeps_sessions",
    "last_answer",
    "lived",
    "markdown",
    "more_follows",
    "offer_what_asks",
    "one_line",
    "opened",
    "parse_action_args",
    "pasted_file",
    "paths_for",
    "prepare",
    "preview_of",
    "propose",
    "prose",
    "question_for",
    "question_text",
    "replay",
    "run_editor",
    "run_line",
    "run_tasks",
    "say_missing",
    "session_for",
    "settle",
    "short",
    "shown_answer",
    "tool_of_action",
    "usage_line",
]  # fmt: skip

__version__ = "0.2.0"

_ROOMS = {
    "actions": "DirectCall TypedByAPerson action_named parse_action_args tool_of_action usage_line",
    "answering": "IDLE PAUSE WAITS After AnswerLine Answering after",
    "approvals": "Defers Remember all_edits decide in_vain preview_of question_text",
    "blocks": "arguments_line About Block Kind one_line prose",
    "books": "Books short",
    "colours": "THEME WIDEST markdown",
    "completion": "propose",
    "conversation": "Conversation",
    "editor": "run_editor",
    "folder": "ask_about_folder",
    "images": "image_from_file",
    "life": "ends_in_time lived",
    "mentions": "TYPED as_mention images_in pasted_file paths_for",
    "opening": "NOT_KEPT TITLE as_before check_workspace get_ready host_in "
    "keep_folders keeps_sessions last_answer offer_what_asks opened say_missing session_for settle",
    "options": "Approvals Choices check_plan choosing config_for configure going_on prepare",
    "pastes": "Pastes is_long",
    "person": "Person",
    "pieces": "EventLines Pieces",
    "questions": "Fragments KeyQuestion ListQuestion Look Question TextQuestion question_for shown_answer",
    "recorder": "Log Recorder call_head replay",
    "shell": "command_in run_line",
    "tasks": "run_tasks",
    "terminal": "answer_to is_asked more_follows",
    "view": "View",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for room, names in _ROOMS.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
