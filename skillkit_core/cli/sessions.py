"""The latest session, and the options as they were typed, for the commands about sessions."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path

import click

from ..contracts.session_store import SessionStore
from .output import warning

_LOOKED_AT = 20  # sessions at first: a listing of all takes longer


async def latest_session(store: SessionStore, folder: Path | None = None) -> str | None:
    """Return the id of the session that a person talked in last, in ``folder`` or anywhere.

    Broken ones are passed over, and named on stderr.
    """
    for known, limit in ((0, _LOOKED_AT), (_LOOKED_AT, None)):
        for row in (await store.list(limit=limit))[known:]:
            if row.get("error"):
                warning(f"session {row['id']} is not taken for the latest: {row['error']}")
            elif row.get("messages", 1) and not row.get("nested") and folder in (None, Path(row.get("cwd") or "")):
                return str(row["id"])
    return None


def typed_options(ctx: click.Context, without: Container[str] = ()) -> Iterator[str]:
    """Yield the words of the options of ``ctx`` that were typed, without the parameters named in ``without``."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not isinstance(parameter, click.Option) or name in without or not given:
            continue
        flag = max(parameter.opts, key=len)
        value = ctx.params.get(name)
        for one in value if parameter.multiple and isinstance(value, (tuple, list)) else (value,):
            yield flag
            if not parameter.is_flag:
                yield str(one)
