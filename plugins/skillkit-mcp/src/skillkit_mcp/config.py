"""The section ``mcp`` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skillkit_core.config import setting

__all__ = ["McpConfig"]


@dataclass(frozen=True, slots=True)
class McpConfig:
    """Which MCP servers there are, and their limits."""

    servers: dict[str, Any] = setting(dict, "Servers by name.", of="skillkit_mcp.server_config:ServerConfigs")
    project_file: bool = setting(True, "Whether .mcp.json of a trusted folder counts.")
    variables: tuple[str, ...] = setting((), "Variables that ${NAME} may stand for, beside harmless ones such as HOME.")
    wait: float = setting(30.0, "Seconds that a run waits for servers that start.", ge=0, le=600)
    connect_timeout: float = setting(30.0, "Seconds until a server must have answered.", gt=0, le=3600)
    call_timeout: float = setting(300.0, "Seconds for a call, questions not counted.", gt=0, le=86400)
    max_message: int = setting(16_000_000, "Bytes of one message of a server.", ge=10_000)
    max_tools: int = setting(200, "Tools that are offered of one server.", ge=1, le=1000)
