"""``skillkit models``: what is known about models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, fields, json_option, print_json, style, table
from skillkit_core.errors import AmbiguousName, UnknownName, UsageError
from skillkit_core.frozen import thaw

if TYPE_CHECKING:
    from skillkit_core import Host, ModelDefinition

__all__ = ["models"]

_SHORT = {
    "image": "image",
    "pdf": "pdf",
    "audio": "audio",
    "reasoning": "thinking",
    "structured_output": "schema",
    "tool_use": "tools",
}


@click.group()
def models() -> None:
    """List models: windows, prices, capabilities."""


@models.command("list")
@click.argument("query", required=False)
@click.option("--provider", help="Only models of this provider.")
@click.option("--remote", is_flag=True, help="Ask the provider's endpoint what it offers.")
@click.option("--api", help="With --remote: which of the provider's wires to ask.")
@click.option("--base-url", help="With --remote: another endpoint.")
@json_option
@click.pass_context
def list_(
    ctx: click.Context,
    query: str | None,
    provider: str | None,
    remote: bool,
    api: str | None,
    base_url: str | None,
    as_json: bool,
) -> None:
    """Models that match QUERY, best first; without it all. A model need not be listed to be used.

    Prices are US dollars per million tokens; '-' is not known. Exit code 1 when nothing matches.
    """
    host = _host(ctx)
    if not remote and (api or base_url):
        raise UsageError("--api and --base-url say whom to ask", hint="add --remote")
    if remote:
        from .remote import offered

        found = offered(host, provider, api, base_url, query)
    else:
        found = _known(host, query, provider)
    if as_json:
        print_json({"models": [as_dict(m) for m in found]})
    elif found:
        print_models(found)
    else:
        echo(f"No model matches {query!r}." if query else "No models are known.")
    ctx.exit(0 if found else 1)


def _known(host: Host, query: str | None, provider: str | None) -> Sequence[ModelDefinition]:
    """The models of the registry that were asked for.

    Raises:
        UnknownName: nobody offers models of ``provider``.
    """
    found: Sequence[ModelDefinition] = matching(host, query) if query else host.models.items()
    if provider is not None:
        known = {m.provider for m in host.models.items()}
        if provider not in known:
            raise UnknownName("provider", provider, known, hint=None)
        found = [m for m in found if m.provider == provider]
    return found


@models.command()
@click.argument("name")
@json_option
@click.pass_context
def show(ctx: click.Context, name: str, as_json: bool) -> None:
    """Everything that is known about one model: NAME is provider/id, an id or an alias."""
    host = _host(ctx)
    model = host.models.get(name)
    if model is None:
        raise host.models.unknown(name)
    data = as_dict(model) | provenance(host, model)
    if as_json:
        print_json(data)
    else:
        print_model(model, data)


def _host(ctx: click.Context) -> Host:
    """The host, once the section ``catalog`` is known to be right: a mistake there is an error, not a shorter list.

    Raises:
        ConfigError: names file, line and path.
    """
    host: Host = ctx.obj.host
    host.config.section("catalog")
    return host


def matching(host: Host, query: str) -> Sequence[ModelDefinition]:
    """The models that contain every word of ``query``, best first; without any, those that are spelled alike."""
    found = host.models.find(query)
    words = query.casefold().replace("/", " ").split()

    def text(model: ModelDefinition) -> str:
        return " ".join((full_name(model), model.display_name, *model.aliases)).casefold()

    return [m for m in found if all(w in text(m) for w in words)] or found


def full_name(model: ModelDefinition) -> str:
    """The name that means exactly this model."""
    return f"{model.provider}/{model.id}" if model.provider else model.id


def as_dict(model: ModelDefinition) -> dict[str, Any]:
    """The model as JSON output shows it."""
    levels = {"thinking_levels": thaw(model.thinking_levels), "options": thaw(model.options)}
    return {"name": full_name(model), **model.to_dict(), **levels}


def provenance(host: Host, model: ModelDefinition) -> dict[str, Any]:
    """Who offers the model; for a built-in one, where the facts come from and how old they are."""
    from .catalog import builtin, providers

    try:
        plugin = host.models.entry(full_name(model)).source
    except (UnknownName, AmbiguousName):
        plugin = None
    if plugin != "catalog":
        return {"plugin": plugin, "source": None, "as_of": None}
    if model not in builtin():
        return {"plugin": plugin, "source": "your configuration", "as_of": None}
    facts = next(f for f in providers() if f.provider == model.provider)
    return {"plugin": plugin, "source": facts.source, "as_of": facts.as_of}


def _tokens(count: int) -> str:
    if not count:
        return "-"
    if count >= 1_000_000:
        return f"{count / 1_000_000:.3g}M"
    return f"{count / 1000:.0f}K" if count >= 1000 else str(count)


def _price(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def print_models(found: Sequence[ModelDefinition]) -> None:
    """Print a table, one model per line."""
    table(
        ["model", "window", "output", "$ in", "$ out", "can"],
        [
            [
                full_name(m),
                _tokens(m.context_window),
                _tokens(m.max_output_tokens),
                _price(m.cost.input if m.cost else None),
                _price(m.cost.output if m.cost else None),
                " ".join(short for name, short in _SHORT.items() if name in m.capabilities),
            ]
            for m in found
        ],
        right=(1, 2, 3, 4),
        styles=lambda i, cell: {"bold": True} if i == 0 else {},
    )


def print_model(model: ModelDefinition, data: dict[str, Any]) -> None:
    """Print one model, a fact per line; what is not known is left out."""
    cost = model.cost
    names = ("input", "output", "cache_read", "cache_write")
    prices = "unknown" if cost is None else ", ".join(f"{n.replace('_', ' ')} {getattr(cost, n):g}" for n in names)
    fields(
        [
            ("model", style(full_name(model), bold=True)),
            ("name", model.display_name if model.display_name != model.id else ""),
            ("api", model.api),
            ("window", f"{model.context_window:,} tokens" if model.context_window else "unknown"),
            ("output", f"{model.max_output_tokens:,} tokens" if model.max_output_tokens else "unknown"),
            ("price", prices if cost is None else f"{prices} (US dollars per million tokens)"),
            ("can", ", ".join(sorted(model.capabilities))),
            ("thinking", ", ".join(f"{k}: {'-' if v is None else v}" for k, v in model.thinking_levels.items())),
            ("aliases", ", ".join(model.aliases)),
            ("note", model.options.get("note")),
            ("options", ", ".join(f"{k}: {v}" for k, v in model.options.items() if k != "note")),
            ("plugin", data["plugin"]),
            ("source", f"{data['source']}, {data['as_of']}" if data["as_of"] else data["source"]),
        ]
    )
