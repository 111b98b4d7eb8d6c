"""The section ``org`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from .writing import FOLDER, INBOX, TODO


class OrgConfig(BaseModel):
    """Where org files lie."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inbox: str = Field(INBOX, description="The file that is captured into, relative to the workspace.")
    folder: str = Field(FOLDER, description="The folder whose org files are read.")
    todo: tuple[str, ...] = Field(TODO, description="Words of tasks that are open.")
    done: tuple[str, ...] = Field(("DONE", "CANCELLED"), description="Words of tasks that are done.")
