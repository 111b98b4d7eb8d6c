"""Every hook of the core. The host calls ``host`` and ``registration`` hooks, a lookup ``resolution`` hooks, a run the rest."""
