"""What a person agreed to install into a trusted project stays trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from skillkit_core.settings.trust import Trust

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["keeping_trust"]


def keeping_trust(host: Host, in_project: bool, change: Callable[[], None]) -> None:
    """Do what the person agreed to; what was trusted as it stood is trusted as it stands then.

    Args:
        in_project: the change is one of the workspace, not of the user's own folder.
    """
    cwd = host.cwd
    trust = Trust(host.data_dir)
    parts, unseen = (trust.parts(cwd), trust.changed(cwd)) if in_project else (None, None)
    change()
    if parts and str(cwd.resolve()) in trust.folders():
        trust.add(cwd, trust.look(cwd.resolve(), parts), unseen or ())
