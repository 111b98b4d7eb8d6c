"""Objects for tests of the core: a scripted model, a scripted person, a clock that moves only on demand.

Plugin authors find more in ``skillkit-testkit``.
"""

from __future__ import annotations

from .clock import VirtualClock
from .scripted import Call, Fail, Hang, Raw, Reply, ScriptedModel
from .user import ScriptedUser

__all__ = ["Call", "Fail", "Hang", "Raw", "Reply", "ScriptedModel", "ScriptedUser", "VirtualClock"]
