"""The session store suite: everything that ``SessionStore`` promises (spec, section 12)."""

from __future__ import annotations

from .session_copies import CopyChecks
from .session_finding import FindingChecks
from .session_processes import ProcessChecks
from .session_writing import WritingChecks

__all__ = ["SessionStoreConformance"]


class SessionStoreConformance(WritingChecks, CopyChecks, FindingChecks, ProcessChecks):
    """Subclass it and give ``opener``, or override the fixture ``make_store``.

    Attributes:
        opener: import string of a callable that gives a store in the directory it is passed
            (``"skillkit_acme.store:AcmeStore"``); with it, checks with a second process run too.
        durable: whether a new store object at the same place finds what an earlier one wrote.
    """
