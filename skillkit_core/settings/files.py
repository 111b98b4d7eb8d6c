"""Writing a small file whole or not at all."""

from __future__ import annotations

import os
from os.path import dirname

__all__ = ["write_whole"]


def write_whole(path: str, text: str) -> None:
    """Put ``text`` into the file ``path``: a reader finds the old content or the new one, and nothing is left behind.

    Directories that are missing are made with mode 0700.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    os.makedirs(dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass  # it was never made
        raise
