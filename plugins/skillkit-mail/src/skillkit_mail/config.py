"""The section ``mail`` of the configuration."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class SMTPConfig(BaseModel):
    """The server that takes mail."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field(min_length=1, description="The server.")
    port: int = Field(587, gt=0, lt=65536)
    security: Literal["starttls", "tls", "none"] = Field("starttls", description="none: only to this machine.")
    user: str | None = Field(None, description="Who logs in; default: nobody does.")
    password: str = Field("SMTP_PASSWORD", description="The name of the secret with the password.")
    timeout: float = Field(30, gt=0, description="Seconds.")

    @model_validator(mode="after")
    def _encrypted(self) -> SMTPConfig:
        if self.security == "none" and self.host not in LOOPBACK:
            raise ValueError("security none is for a server on this machine alone; use starttls or tls")
        return self


class MailConfig(BaseModel):
    """Where mail lies, and how it is sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    maildir: str | None = Field(None, description="The maildir to read.")
    sender: str | None = Field(None, description="Who mail is from: Ida <ida@example.org>.")
    sent: str = Field(
        "Sent", description="The folder of the maildir for copies of what was sent; empty: none are kept."
    )
    smtp: SMTPConfig | None = Field(None, description="The server that takes mail.")
