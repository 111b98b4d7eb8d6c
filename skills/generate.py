"""Writes the copy of ``command.py`` that each skill carries: ``python skills/generate.py`` after a change of it.

A skill's folder stands alone, so that it works wherever somebody copies it: each holds what its scripts import.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
ORIGINAL = HERE / "command.py"
NOTE = "# Generated from skills/command.py by skills/generate.py: change that file, and run it again.\n"


def copies() -> dict[Path, str]:
    """Return the text of every copy by its path."""
    text = NOTE + ORIGINAL.read_text(encoding="utf-8")
    return {path.parent / "scripts" / "command.py": text for path in sorted(HERE.glob("skillkit_bundled/*/SKILL.md"))}


if __name__ == "__main__":
    for path, text in copies().items():
        path.write_text(text, encoding="utf-8")
