"""Packages of skills: what ``skillkit skills install``, ``update``, ``remove``, ``verify`` and ``outdated`` do."""
