"""A person's own shell line, ``!git status``: it runs, is shown as it comes, and is read by the model with the next request.

The line passes the guards as a call of the tool ``bash`` does. A deny holds, because the model reads the output. What a guard
would ask is answered: the person who would be asked has typed the line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skillkit_core import AbortSignal, UsageError
from skillkit_core.events.types import ToolCallEvent
from skillkit_core.messages import CustomMessage, TextBlock

from .blocks import Block
from .pieces import Pieces

if TYPE_CHECKING:
    from skillkit_core import AgentRunner, ExecutionResult

__all__ = ["SHELL_LINE", "command_in", "run_line", "shown_line"]

SHELL_LINE = "shell_line"
"""The type of the message that the model reads."""
_KEPT = 32_000  # characters of each stream, where the section bash does not say


def command_in(text: str) -> str | None:
    """Return the command of a shell line, ``None`` for any other text."""
    return text[1:].strip() or None if text.startswith("!") else None


async def run_line(agent: AgentRunner, put: Callable[[Block], Block], command: str, signal: AbortSignal) -> None:
    """Run a command in the folder of the agent, show it with ``put``, and keep it with its output for the next request.

    Raises:
        SkillKitError: there is no runtime, a guard denies the command, or the command does not start.
    """
    host = agent.host
    runtime = await host.find_runtime()
    session = await agent.open()
    await _pass_guards(agent, command)
    most = getattr(host.config.section("bash", None), "max_output", _KEPT)
    block = put(Block("tool", head=host.redact(f"! {command}"), done=False))
    block.open = True
    pieces = Pieces(host.secrets)

    def heard(text: str, stream: str = "stdout") -> None:
        block.add(pieces.add(stream, text))
        if len(block.text) > 2 * most:
            block.text = block.text[-most:]
        put(block)

    try:
        result = await runtime.execute(
            command,
            cwd=agent.cwd,
            on_output=heard,
            on_error_output=lambda text: heard(text, "stderr"),
            signal=signal,
            max_output=most,
        )
    except BaseException:
        block.end(good=False, result="failed")
        raise
    told = _told(result)
    message = CustomMessage(
        custom_type=SHELL_LINE,
        content=(TextBlock(f"The user ran this command in the workspace:\n$ {command}\n{told}"),),
        in_context=True,
        details={"command": command, "exit_code": result.exit_code, "output": told},
    )
    await session.append_message(message)
    block.text = host.redact(told)
    block.end(good=result.ok, result="" if result.ok else _ended(result))
    put(block)


async def _pass_guards(agent: AgentRunner, command: str) -> None:
    args = {"command": command}
    annotations = {"command": "command", "mutates": "world"}
    said: Any = await agent.events.emit(
        agent.events.make(
            ToolCallEvent, tool_name="bash", tool_call_id="typed", args=args, raw_args=args, annotations=annotations
        )
    )
    if said is not None and said.block:
        raise UsageError(f"the command did not run: {said.reason}", hint="the model would read its output")


def shown_line(message: CustomMessage) -> Block | None:
    """Return the block of a shell line in a session, ``None`` for another message."""
    if message.custom_type != SHELL_LINE or not message.details:
        return None
    code = message.details.get("exit_code")
    block = Block("tool", message.details.get("output", ""), head=f"! {message.details.get('command', '')}")
    block.end(good=code == 0, result="" if code == 0 else "stopped" if code is None else f"exit code {code}")
    return block


def _told(result: ExecutionResult) -> str:
    """Return what the command wrote, and how it ended where that is worth a word."""
    parts = [text.rstrip("\n") for text in (result.stdout, result.stderr) if text.strip()]
    if result.truncated:
        path = result.stdout_path or result.stderr_path
        parts.append(f"[the output was cut; the whole is in {path}]" if path else "[the output was cut]")
    if not result.ok or not parts:
        parts.append(f"[{_ended(result)}]")
    return "\n".join(parts)


def _ended(result: ExecutionResult) -> str:
    if result.aborted:
        return "stopped by the user"
    if result.needs_terminal:
        return "failed: it needs a terminal"
    if result.timed_out:
        return "timed out"
    return f"exit code {result.exit_code}" if result.exit_code else "no output"
