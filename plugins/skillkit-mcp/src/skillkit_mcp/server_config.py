"""What is said of one server, in the configuration and in files. Pydantic is imported only where there are servers."""

from __future__ import annotations

from typing import Any, TypeAlias

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, model_validator

__all__ = ["ServerConfig", "ServerConfigs"]


class ServerConfig(BaseModel):
    """One server, in the shape of ``mcpServers`` that other programs use."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    command: str | None = Field(None, min_length=1, description="The program, for a server over stdio.")
    args: tuple[str, ...] = Field((), description="Its arguments.")
    env: dict[str, SecretStr] = Field({}, description="Variables beside those that every server gets.")
    cwd: str | None = Field(None, description="Its folder; default: the workspace.")
    url: str | None = Field(None, pattern=r"\Ahttps?://", description="The endpoint, for a server over HTTP.")
    headers: dict[str, str] = Field({}, description="Headers of every request.")
    disabled: bool = Field(False, description="Leave the server out.")
    enabled_tools: tuple[str, ...] | None = Field(
        None, alias="enabledTools", description="Patterns of the server's tools that are offered; default: all."
    )
    disabled_tools: tuple[str, ...] = Field((), alias="disabledTools", description="Patterns of tools left out.")
    always_allow: tuple[str, ...] = Field(
        (),
        validation_alias=AliasChoices("always_allow", "alwaysAllow", "autoApprove"),
        description="Patterns of tools that run without a question.",
    )
    trust_annotations: bool = Field(
        False, alias="trustAnnotations", description="Believe the server which of its tools change nothing."
    )
    ask_again: bool = Field(
        True, alias="askAgain", description="Make a call again whose question was answered after it had to end."
    )
    connect_timeout: float | None = Field(None, gt=0, le=3600, alias="connectTimeout", description="Seconds.")
    call_timeout: float | None = Field(None, gt=0, le=86400, alias="callTimeout", description="Seconds.")

    @model_validator(mode="before")
    @classmethod
    def _forget_type(cls, data: Any) -> Any:
        """Drop ``type``, which only repeats whether there is a command or an address."""
        if isinstance(data, dict) and data.get("type") in ("stdio", "http", "streamable-http", "streamableHttp"):
            return {key: value for key, value in data.items() if key != "type"}
        return data

    @model_validator(mode="after")
    def _one_way(self) -> ServerConfig:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server needs either a command or a url")
        return self


ServerConfigs: TypeAlias = dict[str, ServerConfig]
