"""Slash commands."""
COMMANDS = ()
