"""File tools for agents: read, write, edit, patch, search, list, and take changes back."""

__version__ = "0.2.0"
