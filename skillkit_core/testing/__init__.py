"""What tests of the core need: a scripted model, a scripted person, a clock that only moves when told.

Plugin authors find more in ``skillkit-testkit``.
"""

from __future__ import annotations

from .clock import VirtualClock
from .scripted import Call, Fail, Hang, Raw, Reply, ScriptedModel
from .user import ScriptedUser

__all__ = ["Call", "Fail", "Hang", "Raw", "Reply", "ScriptedModel", "ScriptedUser", "VirtualClock"]
