"""``skillkit run --explain``: which skill a request leads to, and why, without running anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from skillkit_frontend import arguments_line, config_for

from skillkit_core import AgentError, AgentRunner, Limits
from skillkit_core.cli.output import echo, print_json, style, table
from skillkit_core.events.results import ToolCallEventResult
from skillkit_core.frozen import thaw

if TYPE_CHECKING:
    from skillkit_core import Host

    from .options import Options

__all__ = ["explain"]


async def explain(host: Host, options: Options, request: str) -> int:
    """Ask who would answer, look at the calls and deny them, and show what the plugins say of the choice; gives the exit code."""
    calls: list[dict[str, Any]] = []

    def look(event: Any) -> ToolCallEventResult:
        of = {key: event.annotations.get(key) for key in ("skill", "action")}
        calls.append({"tool": event.tool_name, **of, "arguments": thaw(event.args)})
        return ToolCallEventResult(block=True, reason="only an explanation was asked for", terminate=True)

    agent = AgentRunner(replace(config_for(host, options), limits=Limits(turns=1)), host=host)
    try:
        agent.events.on("before_tool_call", look, phase="first")
        try:
            said = (await agent.chat(request)).content
        except AgentError as error:
            if not calls and error.response is None:
                raise
            said = str(error)
        names = host.registry("explanations").list() if "explanations" in host.kinds else ()
        ways = [host.registry("explanations").get(name) for name in names]
        found = [answer for way in ways if (answer := way.explain(agent, request)) is not None]
        asked = agent.target.provider if agent.target is not None else ""
        found.sort(key=lambda one: one.by != asked)  # who answered comes first
    finally:
        await agent.aclose()
        await host.aclose()
    if options.as_json:
        print_json(
            host.redact({"asked": asked, "calls": calls, "answer": said, "explanations": [a.to_dict() for a in found]})
        )
    else:
        _show(host, asked, calls, said, found)
    return 0 if calls else 1


def _show(host: Host, asked: str, calls: list[dict[str, Any]], said: str, found: list[Any]) -> None:
    for call in calls:
        values = arguments_line(call["arguments"])
        echo(host.redact(f"{asked} calls {style(call['tool'], bold=True)}({values})"))
    if not calls:
        echo(f"{asked} calls nothing: {host.redact(said).partition(chr(10))[0]}")
    for one in found:
        echo(f"\n{style(one.by, bold=True)}: {one.chosen or ('nothing' if one.by == asked else 'ranks only')}")
        for line in one.why:
            echo(f"  {host.redact(line)}")
        if one.near:
            table(["near", "score", ""], [[n.name, f"{n.score:g}", host.redact(n.why)] for n in one.near])
