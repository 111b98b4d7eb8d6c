"""MCP servers as tools, slash commands and resources of an agent, and SkillKit's tools as an MCP server."""

__version__ = "0.1.0"
