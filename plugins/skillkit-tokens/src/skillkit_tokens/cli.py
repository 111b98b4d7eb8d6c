"""``skillkit tokens``: counts the tokens of a file for a model, and tells how far estimates are off."""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillkit_core import AgentConfig, LLMRequest, resolve_target
from skillkit_core.cli.output import echo, fields, json_option, print_json, table
from skillkit_core.errors import UsageError
from skillkit_core.estimates import estimator_for
from skillkit_core.messages import Block, DocumentBlock, ImageBlock, TextBlock, UserMessage
from skillkit_core.models import ModelDefinition

from . import families

if TYPE_CHECKING:
    from skillkit_core import Host

__all__ = ["tokens"]


@click.group()
def tokens() -> None:
    """Count tokens; tell how far estimates are off."""


@tokens.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--model", required=True, help="An id, an alias, or provider/id; it need not be known.")
@click.option("--provider", help="Whom to ask with --exact, and whose templates count.")
@click.option("--api", help="The wire, where the provider has several.")
@click.option("--base-url", help="With --exact: another endpoint.")
@click.option("--exact", is_flag=True, help="Ask the provider to count; the file is sent to it.")
@json_option
@click.pass_context
def count(
    ctx: click.Context,
    file: str,
    model: str,
    provider: str | None,
    api: str | None,
    base_url: str | None,
    exact: bool,
    as_json: bool,
) -> None:
    """Count the input tokens of a file. It is the only message of a request: a text, an image or a PDF; '-' is standard input."""
    host: Host = ctx.obj.host
    block = _block(file)
    config = AgentConfig(model=model, provider=provider, api=api, base_url=base_url)
    found = asyncio.run(_counted(host, config, block)) if exact else _estimated(host, config, block)
    if as_json:
        print_json(found)
        return
    margin = f" ({found['guess']})" if found["guess"] else f" (±{found['margin']:.0%} in half of the cases)"
    fields(
        [
            ("model", found["model"]),
            ("family", found["family"]),
            ("guess" if found["guess"] else "estimate", f"about {found['estimate']:,} tokens{margin}"),
            *([("exact", f"{found['exact']:,} tokens, counted by {found['provider']}")] if exact else []),
        ]
    )


def _block(file: str) -> Block:
    """Return the file as a block of a message.

    Raises:
        UsageError: there is no such file, or it is neither a text, an image nor a PDF.
    """
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}", hint="name a file, or '-' for standard input"
        ) from None
    kind = mimetypes.guess_type(file)[0] or "text/plain"
    if kind.startswith("image/"):
        return ImageBlock(base64.b64encode(data).decode(), kind)
    if kind == "application/pdf":
        return DocumentBlock(base64.b64encode(data).decode(), kind)
    try:
        return TextBlock(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise UsageError(f"{file} is no text in UTF-8, no image and no PDF", hint="convert it to text first") from None


def _estimated(host: Host, config: AgentConfig, block: Block) -> dict[str, Any]:
    name = str(config.model)
    known = host.models.get(f"{config.provider}/{name}" if config.provider else name)
    provider, slash, model_id = name.partition("/")
    if not slash or provider not in host.adapters:
        provider, model_id = config.provider or "", name
    model = known or ModelDefinition(model_id, provider)
    if config.api:
        model = ModelDefinition(model.id, model.provider, config.api)
    return _told(host, model, block)


def _told(host: Host, model: ModelDefinition, block: Block) -> dict[str, Any]:
    estimator = estimator_for(host, model)
    media = isinstance(block, ImageBlock | DocumentBlock)
    guess = "a guess: media are counted by their size alone" if media else None
    if estimator.margin is None:
        guess = "a guess: the tokenizer of this model is not known"
    return {
        "model": model.id,
        "provider": model.provider,
        "family": families.family_of(model.id, model.provider, model.api),
        "estimate": estimator.prompt("", ()) + estimator.message(UserMessage(content=(block,))),
        "margin": None if guess else estimator.margin,
        "guess": guess,
        "exact": None,
    }


async def _counted(host: Host, config: AgentConfig, block: Block) -> dict[str, Any]:
    """Return the estimate and the provider's count.

    Raises:
        UsageError: the provider does not count. ProviderError: it refused.
    """
    try:
        target = await resolve_target(host, config)
        exact = await target.adapter.count_tokens(LLMRequest(target.model, [UserMessage(content=(block,))]))
    finally:
        await host.adapters.close()
    if exact is None:
        raise UsageError(
            f"{target.provider} does not count tokens over the wire {target.adapter.api}",
            hint="leave --exact out for an estimate; Anthropic's API and OpenAI's openai-responses count",
        )
    return _told(host, target.model, block) | {"provider": target.provider, "exact": exact}


@tokens.command("error")
@json_option
def error_(as_json: bool) -> None:
    """Show how far estimates were off. The requests were recorded; a row is a kind of request or a tokenizer.

    Half of the errors are below the median, nine of ten below p90; a negative bias means that estimates are too small. They are
    measured on requests that the weights were not fitted to; the columns 'fitted' on those that they were fitted to.
    """
    found = families.table()
    if as_json:
        print_json({k: v for k, v in found.items() if k != "weights"})
        return
    rows = [_row(group, of) for group, of in found["error"].items()]
    headings = ["group", "rows", "median", "p90", "bias", "fitted median", "p90"]
    table(headings, rows, right=(1, 2, 3, 4, 5, 6))
    echo(
        f"\n{found['rows']} requests ({found['source']}), {found['date']}; errors on those of {found['least']} tokens or more."
    )


def _row(group: str, of: Mapping[str, Any]) -> list[str]:
    fitted = of["fitted"]
    figures = (of["median"], of["p90"], of["bias"], fitted["median"], fitted["p90"])
    return [group, str(of["rows"]), *(f"{figure:.1%}" for figure in figures)]
