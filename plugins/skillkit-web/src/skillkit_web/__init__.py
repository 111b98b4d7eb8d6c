"""SkillKit in a browser: one server on this machine, whose page any number of tabs open."""

__version__ = "0.2.0"
