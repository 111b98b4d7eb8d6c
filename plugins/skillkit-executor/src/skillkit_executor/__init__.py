"""Tools in a process of their own. What counts is chosen by the setting ``tools.executor``: ``local``, ``stdio`` or ``http``."""

__all__: list[str] = []
