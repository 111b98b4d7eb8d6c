"""Writes the matrix of bundles: ``python docs/generate_bundles.py`` makes ``docs/reference/bundles.md``."""

from __future__ import annotations

from pathlib import Path

from skillkit_bundles.matrix import page

PAGE = Path(__file__).resolve().parent / "reference" / "bundles.md"

if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
