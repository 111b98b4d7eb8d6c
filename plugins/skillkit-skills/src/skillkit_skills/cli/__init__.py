"""The command ``skillkit skills``."""
