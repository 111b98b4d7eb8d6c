"""The images API of OpenAI, which other servers speak, too. Source: platform.openai.com/docs/api-reference/images/create."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillkit_web_tools import client_of

from skillkit_core import ToolError

from .provider import ImageProvider, MadeImage

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["OpenAIImages"]

# ruff: noqa: D102 - the contract says what the methods do


class OpenAIImages(ImageProvider):
    """A server with ``POST /images/generations`` that answers with ``b64_json``."""

    name = "openai-images"

    def __init__(self, host: Host) -> None:
        self._host, self._config = host, host.config.section("images")
        self._url = self._config.base_url.rstrip("/")
        self.addresses = (self._url,)

    async def usable(self) -> str | None:
        return None if await self._host.find_secret(self._config.key) else f"needs the key {self._config.key}"

    async def make(self, prompt: str, size: str) -> MadeImage:
        key = await self._host.find_secret(self._config.key)
        answer = await client_of(self._host).json(
            "POST", f"{self._url}/images/generations", headers={"Authorization": f"Bearer {key}"},
            body={"model": self._config.model, "prompt": prompt, "size": size, "n": 1},
        )  # fmt: skip
        rows = answer.get("data") if isinstance(answer, Mapping) else None
        row = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], Mapping) else {}
        data = row.get("b64_json")
        if not isinstance(data, str):
            raise ToolError("openai-images answered without an image in b64_json")
        try:
            return MadeImage(base64.b64decode(data, validate=True), str(row.get("revised_prompt") or ""))
        except (binascii.Error, ValueError):
            raise ToolError("openai-images answered with an image that cannot be decoded") from None
