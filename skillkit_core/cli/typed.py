"""Options as they were typed, for commands that are proposed."""

from __future__ import annotations

from collections.abc import Container, Iterator

import click

__all__ = ["typed_options"]


def typed_options(ctx: click.Context, without: Container[str] = ()) -> Iterator[str]:
    """The words of the options of ``ctx`` that were typed, except those whose parameter is in ``without``."""
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
