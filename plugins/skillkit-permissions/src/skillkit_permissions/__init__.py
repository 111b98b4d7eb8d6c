"""Permissions: which tool calls run, which ones ask, which ones are refused."""

__version__ = "0.2.0"
