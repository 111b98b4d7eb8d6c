"""``skillkit models``: what is known about models, what a request costs, and newer facts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from skillkit_core.cli.output import echo, fields, json_option, print_json, short_path, style, table
from skillkit_core.errors import AmbiguousName, SkillKitError, UnknownName, UsageError
from skillkit_core.frozen import thaw
from skillkit_core.program import as_typed

if TYPE_CHECKING:
    from skillkit_core import Host, ModelDefinition

    from .refresh import Found

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
    """List models, their windows and prices; what a request costs."""


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

    Prices are US dollars per million tokens; '-' is not known, '+' more for long prompts. 'ends' is the month and
    year in which the provider stops serving the model. Exit code 1 when nothing matches.
    """
    host = _host(ctx)
    if not remote and (api or base_url):
        raise UsageError("--api and --base-url say whom to ask", hint="add --remote")
    if remote:
        from .remote import offered

        found = offered(host, provider, api, base_url, query)
    else:
        found = _known(host, query, provider)
    aliases = _aliases(host, found)
    if as_json:
        print_json({"models": [as_dict(m) for m in found], "aliases": aliases})
    elif found:
        print_models(found)
        if aliases:
            echo()
            table(["alias", "model"], list(aliases.items()))
    else:
        echo(f"No model matches {query!r}." if query else "No models are known.")
    ctx.exit(0 if found else 1)


def _aliases(host: Host, found: Sequence[ModelDefinition]) -> dict[str, str]:
    """The user's aliases of the models that were found, with the full names of the models."""
    section = host.config.section("catalog")
    names = {alias: full_name(m) for m in found for alias in m.aliases}
    return {alias: names[alias] for alias in (section.aliases if section is not None else ()) if alias in names}


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
    """Show what is known about one model. NAME is provider/id, an id or an alias."""
    host = _host(ctx)
    model = _named(host, name)
    data = as_dict(model) | provenance(host, model)
    if as_json:
        print_json(data)
    else:
        print_model(model, data)


@models.command()
@click.argument("name", metavar="MODEL")
@click.option("--input", "input_", type=click.IntRange(0), default=0, help="Tokens of the prompt that are not cached.")
@click.option("--output", type=click.IntRange(0), default=0, help="Tokens of the answer.")
@click.option(
    "--cache-read", type=click.IntRange(0), default=0, help="Tokens of the prompt that are read from the cache."
)
@click.option("--cache-write", type=click.IntRange(0), default=0, help="Tokens of the prompt that go into the cache.")
@click.option("--reasoning", type=click.IntRange(0), default=0, help="Tokens of thinking, besides the answer's.")
@json_option
@click.pass_context
def cost(
    ctx: click.Context, name: str, input_: int, output: int, cache_read: int, cache_write: int, reasoning: int,
    as_json: bool,
) -> None:  # fmt: skip
    """What one request to MODEL costs, in US dollars.

    Exit code 1 when the price is not known.
    """
    from skillkit_core.models import BUCKETS, TokenUsage

    model = _named(_host(ctx), name)
    usage = TokenUsage(input_, output, cache_read, cache_write, reasoning)
    if not usage.total:
        raise UsageError("no tokens were given", hint="say how many, for example --input 10000 --output 500")
    if model.cost is None:
        if as_json:
            print_json({"model": full_name(model), "cost": None, "above": None, "parts": [], "usage": usage.to_dict()})
            ctx.exit(1)
        raise SkillKitError(
            f"the price of {full_name(model)} is not known",
            hint="set it in catalog.overrides, or in catalog.models for a model of your own",
        )
    prices = model.cost.at(usage.prompt)
    parts = []
    for bucket in BUCKETS:
        if tokens := getattr(usage, bucket):
            price = getattr(prices, "output" if bucket == "reasoning" else bucket)
            parts.append({"part": bucket, "tokens": tokens, "price": price, "cost": tokens * price / 1_000_000})
    total, above = model.cost_of(usage), prices.above or None
    if as_json:
        data = {"model": full_name(model), "cost": total, "above": above, "parts": parts, "usage": usage.to_dict()}
        print_json(data)
        return
    rows = [(p["part"].replace("_", " "), f"{p['tokens']:,}", f"{p['price']:g}", _dollars(p["cost"])) for p in parts]
    table(
        [full_name(model), "tokens", "$ per million", "$"],
        [*rows, ("sum", f"{usage.total:,}", "", _dollars(total or 0.0))],
        right=(1, 2, 3),
        styles=lambda i, cell: {"bold": True} if cell == "sum" else {},
    )
    if above is not None:
        echo(f"The prices are those of prompts above {above:,} tokens.")


@models.command()
@click.option("--provider", help="Ask this provider's endpoint, and not the installed genai-prices.")
@click.option("--api", help="With --provider: which of the provider's wires to ask.")
@click.option("--base-url", help="With --provider: another endpoint.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--undo", is_flag=True, help="Remove all that was refreshed, so that the built-in facts count again.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_context
def refresh(
    ctx: click.Context, provider: str | None, api: str | None, base_url: str | None, dry_run: bool, undo: bool,
    yes: bool, as_json: bool,
) -> None:  # fmt: skip
    """Take newer prices and windows. They come from the installed genai-prices, or from a provider's own list.

    What would change is shown, and kept in a file below the data folder when you agree. Your configuration still wins.
    """
    host = _host(ctx)
    if (api or base_url) and not provider:
        raise UsageError("--api and --base-url say whom to ask", hint="add --provider")
    if undo:
        if provider or dry_run:
            raise UsageError("--undo removes the whole file", hint="leave the other options out")
        _undo(host, yes, as_json)
        return
    found = _newer(host, provider, api, base_url)
    write = bool(found.models) and not dry_run
    if not as_json:
        print_found(found)
    if write and not yes:
        if as_json or not sys.stdin.isatty():
            raise UsageError("nobody can be asked here", hint="write with --yes, look with --dry-run")
        if not click.confirm(f"Keep {_count(len(found.models), 'newer definition')}?"):
            raise SkillKitError("nothing was changed")
    path = None
    if write:
        from .overlay import read_overlay, write_overlay

        path = str(write_overlay(host.data_dir, {**read_overlay(host.data_dir), **found.models}))
    if as_json:
        changes = [dict(zip(("model", "field", "old", "new"), row, strict=True)) for row in found.changes]
        print_json({"source": found.source, "looked_at": found.looked_at, "changes": changes, "path": path})
    elif path is not None:
        echo(as_typed(f"Kept in {short_path(path)}; 'skillkit models refresh --undo' removes it."))


def _newer(host: Host, provider: str | None, api: str | None, base_url: str | None) -> Found:
    """What would change.

    Raises:
        SkillKitError: the file of an earlier refresh cannot be read, or the source cannot be asked.
    """
    from .catalog import overlay_path, refreshed
    from .overlay import read_overlay
    from .refresh import from_genai_prices, from_list

    try:
        now = refreshed(read_overlay(host.data_dir))
    except ValueError as error:
        raise SkillKitError(
            f"the refreshed facts cannot be read: {error}",
            where=str(overlay_path(host.data_dir)),
            hint="remove them with 'skillkit models refresh --undo'",
        ) from None
    if provider is None:
        return from_genai_prices(now)
    from .remote import listed

    return from_list(provider, listed(host, provider, api, base_url), {full_name(m): m for m in now})


def _undo(host: Host, yes: bool, as_json: bool) -> None:
    from .catalog import overlay_path
    from .overlay import remove_overlay

    path = overlay_path(host.data_dir)
    if path.exists() and not yes:
        if as_json or not sys.stdin.isatty():
            raise UsageError("nobody can be asked here", hint="remove the refreshed facts with --yes")
        if not click.confirm(f"Remove {short_path(str(path))}?"):
            raise SkillKitError("nothing was changed")
    removed = remove_overlay(host.data_dir)
    if as_json:
        print_json({"removed": str(path) if removed else None})
    else:
        echo("The built-in facts count again." if removed else "Nothing was refreshed.")


def print_found(found: Found) -> None:
    """Print what would change, one fact per line; a price as input and output."""
    if not found.changes:
        echo(f"Nothing would change: {_count(found.looked_at, 'model')} compared with {found.source}.")
        return
    words = {"context_window": "window", "max_output_tokens": "output", "cost": "price"}
    rows = [(name, words.get(fact, fact), _fact(fact, old), _fact(fact, new)) for name, fact, old, new in found.changes]
    table(["model", "fact", "now", found.source], rows, styles=lambda i, cell: {"bold": True} if i == 0 else {})


def _fact(fact: str, value: Any) -> str:
    if value is None:
        return "-"
    if fact == "cost":
        return _prices(value) + "".join(f"; above {_tokens(t['above'])}: {_prices(t)}" for t in value.get("tiers", ()))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _prices(given: dict[str, Any]) -> str:
    """Input, output, cache read and cache write with strokes between them."""
    return "/".join(f"{given[name]:g}" for name in ("input", "output", "cache_read", "cache_write"))


def _dollars(value: float) -> str:
    """At least two decimals, and as many more as a small sum needs."""
    whole, _, rest = f"{value:,.6f}".partition(".")
    return f"{whole}.{rest.rstrip('0').ljust(2, '0')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _named(host: Host, name: str) -> ModelDefinition:
    """The model called ``name``.

    Raises:
        UnknownName: no model is called so.
    """
    model = host.models.get(name)
    if model is None:
        raise host.models.unknown(name)
    return model


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
    from .catalog import modalities

    options = thaw(model.options)
    ends = options.pop("deprecated", None)
    more = {"thinking_levels": thaw(model.thinking_levels), "options": options, "deprecated": ends}
    return {"name": full_name(model), **model.to_dict(), "modalities": modalities(model), **more}


def provenance(host: Host, model: ModelDefinition) -> dict[str, Any]:
    """Who offers the model; for a built-in one, where the facts come from and how old they are."""
    from .catalog import named, overlay_path, providers, refreshed
    from .overlay import read_overlay

    name = full_name(model)
    try:
        plugin = host.models.entry(name).source
    except (UnknownName, AmbiguousName):
        plugin = None
    if plugin != "catalog":
        return {"plugin": plugin, "source": None, "as_of": None}
    section = host.config.section("catalog")
    own = section is not None and any(f"{m.provider}/{m.id}" == name for m in section.models)
    if own or (section is not None and any(named([model], n) for n in section.overrides)):
        return {"plugin": plugin, "source": "your configuration", "as_of": None}
    try:
        newer = read_overlay(host.data_dir)
    except ValueError:
        newer = {}
    if name in newer and named(refreshed(newer), name) is not None:
        facts, path = newer[name], str(overlay_path(host.data_dir))
        return {"plugin": plugin, "source": facts.get("source"), "as_of": facts.get("as_of"), "refreshed": path}
    built = next(f for f in providers() if f.provider == model.provider)
    return {"plugin": plugin, "source": built.source, "as_of": built.as_of}


def _tokens(count: int) -> str:
    if not count:
        return "-"
    if count >= 1_000_000:
        return f"{count / 1_000_000:.3g}M"
    return f"{count / 1000:.0f}K" if count >= 1000 else str(count)


def _price(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def _month(model: ModelDefinition) -> str:
    """Month and year of the end, as ``05/26``, which stays whole in a narrow table."""
    retires = model.options["deprecated"].get("retires")
    return f"{retires[5:7]}/{retires[2:4]}" if retires else "soon"


def print_models(found: Sequence[ModelDefinition]) -> None:
    """Print a table, one model per line."""
    from .notices import has_ended

    ends = {full_name(m): _month(m) for m in found if m.options.get("deprecated")}
    gone = {_month(m) for m in found if has_ended(m)}

    def row(m: ModelDefinition) -> list[str]:
        more = "+" if m.cost and m.cost.tiers else ""
        return [
            full_name(m),
            _tokens(m.context_window),
            _tokens(m.max_output_tokens),
            _price(m.cost.input if m.cost else None) + more,
            _price(m.cost.output if m.cost else None) + more,
            *([ends.get(full_name(m), "")] if ends else []),
            " ".join(short for name, short in _SHORT.items() if name in m.capabilities),
        ]

    def styles(i: int, cell: str) -> dict[str, Any]:
        if i == 0:
            return {"bold": True}
        return {"fg": "red" if cell in gone else "yellow"} if i == 5 and cell in ends.values() else {}

    table(
        ["model", "window", "output", "$ in", "$ out", *(["ends"] if ends else []), "can"],
        [row(m) for m in found],
        right=(1, 2, 3, 4),
        styles=styles,
    )


def print_model(model: ModelDefinition, data: dict[str, Any]) -> None:
    """Print one model, a fact per line; what is not known is left out, except for the window and the price."""
    from .notices import end_of

    cost = model.cost
    names = ("input", "output", "cache_read", "cache_write")

    def prices(given: Any) -> str:
        return ", ".join(f"{n.replace('_', ' ')} {getattr(given, n):g}" for n in names)

    price = ["not known"]
    if cost is not None:
        price = [f"{prices(cost)} (US dollars per million tokens)"]
        price += [f"prompts above {tier.above:,} tokens: {prices(tier)}" for tier in cost.tiers]
    fields(
        [
            ("model", style(full_name(model), bold=True)),
            ("name", model.display_name if model.display_name != model.id else ""),
            ("api", model.api),
            ("window", f"{model.context_window:,} tokens" if model.context_window else "not known"),
            ("output", f"{model.max_output_tokens:,} tokens" if model.max_output_tokens else "not known"),
            ("price", price),
            ("ends", style(end_of(model) or "", fg="yellow") if end_of(model) else None),
            ("takes", ", ".join(data["modalities"]["input"])),
            ("gives", ", ".join(data["modalities"]["output"])),
            ("can", ", ".join(sorted(model.capabilities - {"text", "image", "pdf", "audio"}))),
            ("thinking", ", ".join(f"{k}: {'-' if v is None else v}" for k, v in model.thinking_levels.items())),
            ("aliases", ", ".join(model.aliases)),
            ("note", model.options.get("note")),
            ("options", ", ".join(f"{k}: {v}" for k, v in data["options"].items() if k != "note")),
            ("plugin", data["plugin"]),
            ("source", f"{data['source']}, {data['as_of']}" if data["as_of"] else data["source"]),
            ("file", short_path(data["refreshed"]) if data.get("refreshed") else None),
        ]
    )
