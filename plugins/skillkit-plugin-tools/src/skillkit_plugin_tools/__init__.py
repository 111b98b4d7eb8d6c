"""Authors' tools for plugins: new packages, a report card, and a host that reloads what is saved."""

__version__ = "0.2.0"
__all__: list[str] = []
