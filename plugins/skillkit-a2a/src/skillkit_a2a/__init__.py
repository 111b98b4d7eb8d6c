"""A2A 1.0: skills of this host for other hosts, and agents of other hosts for this one."""

__version__ = "0.2.0"
