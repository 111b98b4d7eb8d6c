"""The section ``dictionary`` of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class DictionaryConfig(BaseModel):
    """Which dictionary answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: str | None = Field(None, description="Which dictionary answers: wordnet, or one of another plugin.")
    wordnet_lexicon: str | None = Field(
        None, description="The wordnet to use, as wn names it; default: all that are there."
    )
    wordnet_data: str | None = Field(None, description="The folder of wn's data; default: that of wn, ~/.wn_data.")
