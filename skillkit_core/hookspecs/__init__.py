"""Every hook of the core. ``host`` and ``registration`` are called by the host, ``resolution`` when a name is looked up,
``lifecycle`` while agents run.
"""
