"""The files of the editor: what it has open and not saved, for the file tools."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from acp import RequestError

from skillkit_core import ToolError

if TYPE_CHECKING:
    from acp import schema as s
    from acp.interfaces import Client

__all__ = ["EditorFiles"]


class EditorFiles:
    """What the file tools ask of an editor (the option ``files.editor`` of skillkit-files).

    Args:
        client: the editor.
        can: what it offers; nothing else is asked for.

    Attributes:
        session: the session for which it is asked.
    """

    OPTION: ClassVar[str] = "files.editor"

    def __init__(self, client: Client, can: s.FileSystemCapabilities | None) -> None:
        self._client = client
        self._reads = can is not None and bool(can.read_text_file)
        self._writes = can is not None and bool(can.write_text_file)
        self.session = ""

    @property
    def offered(self) -> bool:
        """Whether the editor offers any of its files."""
        return self._reads or self._writes

    async def read(self, path: str) -> str | None:
        """Return the text of a file as the editor has it; ``None``: it has none."""
        if self._reads:
            with suppress(RequestError, ConnectionError):
                return (await self._client.read_text_file(session_id=self.session, path=path)).content
        return None

    async def write(self, path: str, text: str) -> None:
        """Give the editor a text that was written.

        Raises:
            ToolError: it does not take it.
        """
        if self._writes:
            try:
                await self._client.write_text_file(session_id=self.session, path=path, content=text)
            except (RequestError, ConnectionError) as error:
                raise ToolError(str(error)) from None
