"""The attacks of the sandbox suite by name: a module for each class of them.

They run inside, in any Python, so that they import the standard library alone. Every attack runs in a child of its own. What it
changes outside is judged outside, by names: it writes its own name, or into files that are called after it. It returns a claim
only for what cannot be seen from outside. A refusal raises, or returns nothing.
"""

from __future__ import annotations

from . import files, git, kernel, network, processes, reading, resources  # noqa: F401 - they enter their attacks
from .attack import ATTACKS, Attack

__all__ = ["ATTACKS", "Attack"]
