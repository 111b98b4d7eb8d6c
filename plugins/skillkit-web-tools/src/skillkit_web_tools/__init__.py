"""Web tools for agents: ``web_fetch`` and ``web_search``."""

__version__ = "0.2.0"
