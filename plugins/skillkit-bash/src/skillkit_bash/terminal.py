"""Commands that want a terminal or somebody who types: how one is known by its last words, and what the model is told."""

from __future__ import annotations

import re

__all__ = ["NEEDS_TERMINAL", "misses_terminal"]

NEEDS_TERMINAL = (
    "[this needs a terminal or somebody who types, and there is neither: use options that ask nothing (--yes, --batch, -m TEXT), "
    "pipe the answers in, or ask the user to run it in a terminal]"
)
# What the kernel says of a terminal that is not there (ENXIO, ENOTTY), and what programs say that looked for one themselves.
_NO_TERMINAL = (  # compiled when a command failed
    r"/dev/tty|inappropriate ioctl for device|could not read (?:username|password)|EOF when reading a line|"
    r"(?<!because stdin is )\bnot (?:from |to )?an? (?:tty|terminal)\b|\bno tty\b|\b(?:failed|non) tty\b|"
    r"\bterminal is (?:required|dumb|not fully functional)\b|error opening terminal|needs? (?:a|an interactive) terminal|"
    r"must be run (?:from|in) an? (?:interactive )?terminal|raw mode is not supported"
)
_HARMLESS = r"^.*(?:no job control in this shell|cannot set terminal process group).*$"


def misses_terminal(text: str) -> bool:
    """Return whether the last words of a command that failed say that it wanted a terminal, or somebody who types."""
    return re.search(_NO_TERMINAL, re.sub(_HARMLESS, "", text[-4000:], flags=re.M), re.I) is not None
