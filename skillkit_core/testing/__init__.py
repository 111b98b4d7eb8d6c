"""What tests of the core need: a scripted model, a clock that only moves when told, a gate before every effect.

Plugin authors find more in ``skillkit-testkit``.
"""

from __future__ import annotations

from .clock import VirtualClock
from .gate import Gate, Stop
from .scripted import Call, Fail, Hang, Raw, Reply, ScriptedModel

__all__ = ["Call", "Fail", "Gate", "Hang", "Raw", "Reply", "ScriptedModel", "Stop", "VirtualClock"]
