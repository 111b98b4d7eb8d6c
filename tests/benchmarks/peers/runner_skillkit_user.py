"""SkillKit as somebody has it who installed it: the tools of its plugins are offered, and sessions stay in the user's folder.

The folder is that of the run, so that each turn begins beside the sessions of all turns before it.
"""

from pathlib import Path

from runner_skillkit import Peer as Default


class Peer(Default):
    NOTE = "default plugins and tools, all sessions of the run in one folder"

    def where(self):
        return Path.home() / ".skillkit-bench"

    def tools(self, given):
        return {"tools": given}
