"""SkillKit without a session file: how much of a turn is durability."""

from runner_skillkit import Peer as Default


class Peer(Default):
    NOTE = "session in memory"
    SESSION = None
