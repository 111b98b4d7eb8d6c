"""Packages of plugins: what manages this environment, and commands that install, upgrade, switch and remove plugins."""

__all__: list[str] = []
__version__ = "0.2.0"
