"""The environment of commands: a short list of harmless variables, so that no key of the host leaks into a shell."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

__all__ = ["ALLOWED", "clean_environment"]

ALLOWED = frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"})
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def clean_environment(
    allow: Iterable[str] = (), *, path: str | None = None, host: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables of ``host`` that a command may see: :data:`ALLOWED`, ``LC_*``, and the names in ``allow``.

    ``TERM`` is always ``dumb``: nothing that runs here has a terminal.

    Args:
        allow: further names.
        path: ``PATH``; default: the host's, else a common one.
        host: default: ``os.environ``.
    """
    source = os.environ if host is None else host
    names = ALLOWED | set(allow)
    env = {k: v for k, v in source.items() if k in names or k.startswith("LC_")}
    env["PATH"] = path or env.get("PATH") or _DEFAULT_PATH
    env["TERM"] = "dumb"
    return env
