"""Turns the events of an agent, and of those below it, into blocks: one log for each agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from skillkit_core import AssistantMessage, ToolResultMessage, UserMessage
from skillkit_core.messages import (
    CustomMessage,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    message_from_dict,
)

from .blocks import About, Block, arguments_line, one_line
from .pastes import is_long
from .pieces import Pieces
from .shell import shown_line

if TYPE_CHECKING:
    from skillkit_core import AgentMessage, AgentRunner, Session

__all__ = ["Log", "Recorder", "call_head", "replay"]

_ENDED = {"ok": "", "error": "failed"}


@dataclass(slots=True)
class Log:
    """What one agent did.

    Attributes:
        path: names of the agents from the outermost one on.
        blocks: what it did, in turn.
        state: whether it works, and how its last run ended.
        session_id: its session.
        task: what it was asked.
        tokens: tokens of its requests.
        doing: what it does now, in a few words.
        answered: the model said something since the run began.
    """

    path: tuple[str, ...]
    blocks: list[Block] = field(default_factory=list)
    state: Literal["running", "completed", "aborted", "failed", "limit", "suspended", ""] = ""
    session_id: str | None = None
    task: str = ""
    tokens: int = 0
    doing: str = ""
    answered: bool = False
    last: dict[str, Block] = field(default_factory=dict)  # text and thinking that arrive
    streamed: bool = False  # pieces of the message that goes on were shown
    calls: dict[str, Block] = field(default_factory=dict)

    def add(self, block: Block) -> Block:
        """Add a block."""
        self.blocks.append(block)
        return block

    def add_beside(self, block: Block) -> Block:
        """Add a block which is no part of the answer that arrives: that goes on below it."""
        place = len(self.blocks)
        while place and any(self.blocks[place - 1] is arriving for arriving in self.last.values()):
            place -= 1
        self.blocks.insert(place, block)
        return block


class Recorder:
    """Listens to an agent and all below it.

    Args:
        agent: the outermost one.
        changed: called with a log and the block of it that came, grew or ended; ``None``: something else about the agent, or
            what waits for it.

    Attributes:
        main: the log of the outermost agent.
        logs: all logs, by path, in the order in which the agents began.
        queued: texts that wait for the model to read them, by the id of the queue.
        asked: blocks in which a person was asked about a call of the outermost agent, by its id, until it begins or ends.
    """

    def __init__(self, agent: AgentRunner, changed: Callable[[Log, Block | None], None]) -> None:
        self._agent, self._changed = agent, changed
        self._pieces = Pieces(agent.host.secrets)
        self.main = Log(agent.events.agent_path)
        self.logs: dict[tuple[str, ...], Log] = {self.main.path: self.main}
        self.queued: dict[str, str] = {}
        self.asked: dict[str, Block] = {}
        self._waiting: set[str] = set()
        self._waited: set[str] = set()
        self._known: dict[str, Callable[[Any, Log], Block | None]] = {
            name.removeprefix("_on_"): getattr(self, name) for name in dir(self) if name.startswith("_on_")
        }
        agent.events.observe(self._event)

    # --- what the front end adds ------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Add what a person said."""
        self._finish(self.main)
        self._changed(self.main, self.main.add(_said(self._agent.host.redact(text))))

    def note(self, text: str, about: About = "", *, error: bool = False) -> None:
        """Add a line about what happens."""
        self.put(Block("error" if error else "note", text, about=about))

    def put(self, block: Block) -> Block:
        """Add a block of the front end, or show it again."""
        if block not in self.main.blocks:
            self.main.add_beside(block)
        self._changed(self.main, block)
        return block

    def end(self, block: Block, *, good: bool | None, result: str) -> None:
        """Close a block of the front end."""
        block.end(good=good, result=result)
        block.open = False
        self._changed(self.main, block)

    def begin_run(self) -> None:
        """Note that a run begins, which has not said anything yet."""
        self.main.answered, self.main.doing = False, "thinking"
        self._changed(self.main, None)

    def finish(self) -> None:
        """End what is left open: the run is over. Agents in the background go on."""
        for log in [log for log in self.logs.values() if log is self.main or log.state != "running"]:
            self._finish(log)
            for block in log.calls.values():
                block.end(good=False, result="no result")
                self._changed(log, block)
            log.calls.clear()
        self.main.doing = ""
        self._changed(self.main, None)

    def begin(self, session: Session) -> None:
        """Show a session from its beginning."""
        self.clear()
        self.main.blocks.extend(replay(session, self._agent.host.redact))
        for path in [path for path in self.logs if len(path) > 1]:
            del self.logs[path]
        self._changed(self.main, None)

    def clear(self) -> None:
        """Forget what is shown of the outermost agent."""
        self.main.blocks = []
        self.main.last.clear()
        self.asked.clear()
        self._changed(self.main, None)

    def wait(self, item: str, text: str) -> None:
        """Show a text that waits until the model reads it."""
        if item in self._waiting or item not in self._waited:
            self.queued[item] = text
        else:
            self.say(text)
        self._changed(self.main, None)

    def take_back(self) -> dict[str, str]:
        """Return the texts that wait, which nobody reads any more."""
        queued, self.queued = self.queued, {}
        return queued

    # --- events: each handler returns the block that changed --------------------------------------------------

    def _event(self, event: Any) -> None:
        handler = self._known.get(event.type)
        if handler is None:
            return
        log = self.logs.get(event.agent_path)
        if log is None:
            log = self.logs[event.agent_path] = Log(event.agent_path)
        if event.session_id is not None:
            log.session_id = event.session_id
        self._changed(log, handler(event, log))

    def _on_agent_start(self, event: Any, log: Log) -> None:
        log.state, log.doing = "running", "thinking"

    def _on_agent_end(self, event: Any, log: Log) -> Block | None:
        self._finish(log)
        log.state, log.doing = event.outcome, ""
        return log.add(Block("error", str(event.error))) if len(log.path) > 1 and event.error is not None else None

    def _on_input(self, event: Any, log: Log) -> Block | None:
        if len(log.path) == 1 and (event.origin is None or event.delivery != "prompt"):
            return None  # the front end says it itself
        text = self._agent.host.redact(event.text)
        log.task = log.task or one_line(text, 60)
        return log.add(Block("user", text))

    def _on_message_start(self, event: Any, log: Log) -> None:
        log.streamed = False

    def _on_message_update(self, event: Any, log: Log) -> Block | None:
        update = event.event
        if update.type == "text_delta":
            return self._grow(log, "text", update.content)
        if update.type == "thinking_delta":
            return self._grow(log, "thinking", update.content)
        if update.type == "tool_call_start":
            log.doing = f"preparing {update.tool_name}"
        return None

    def _on_message_end(self, event: Any, log: Log) -> None:
        for block in self._ended(event.message, log):
            log.answered = log.answered or block.kind == "text"
            self._changed(log, log.add(block))

    def _ended(self, message: Any, log: Log) -> Iterable[Block]:
        """Return the blocks of a message that were not shown while it arrived."""
        if isinstance(message, AssistantMessage):
            self._finish(log)
            whole = () if log.streamed else _answer(message, self._agent.host.redact)
            return [block for block in whole if block.kind in ("text", "thinking")]
        return _custom(message) if isinstance(message, CustomMessage) and message.display else ()

    def _on_tool_execution_start(self, event: Any, log: Log) -> Block:
        self._finish(log)
        log.doing = f"running {event.tool_name}"
        log.calls[event.tool_call_id] = block = self._called(event, log)
        return block

    def _on_tool_execution_update(self, event: Any, log: Log) -> Block | None:
        if (block := log.calls.get(event.tool_call_id)) is not None:
            block.add(self._pieces.add((log.path, event.tool_call_id, event.stream), event.output))
        return block

    def _on_tool_execution_end(self, event: Any, log: Log) -> Block:
        for stream in ("stdout", "stderr"):
            self._pieces.rest((log.path, event.tool_call_id, stream))  # the whole output follows
        block = log.calls.pop(event.tool_call_id, None)
        if block is None:
            block = self._called(event, log)
        text = "\n".join(b.text for b in event.content if isinstance(b, TextBlock))
        block.text = self._agent.host.redact(text)
        _end(block, event.outcome.value, event.duration)
        log.doing = "thinking"
        return block

    def _on_retry_scheduled(self, event: Any, log: Log) -> Block:
        self._finish(log)
        log.doing = "waiting to try again"
        return log.add(Block("note", f"{event.error}; trying again in {event.delay:.1f} s", about="retry"))

    def _on_retry_start(self, event: Any, log: Log) -> None:
        log.doing = f"trying again ({event.attempt})"

    def _on_model_select(self, event: Any, log: Log) -> Block | None:
        if log.state != "running" or event.model is None:
            return None
        because = f"{event.reason}; " if event.reason else ""
        return log.add(Block("note", f"{because}now answering: {event.provider}/{event.model.id}", about="model"))

    def _on_compaction_start(self, event: Any, log: Log) -> None:
        log.doing = "shortening the conversation"

    def _on_compaction_end(self, event: Any, log: Log) -> Block | None:
        log.doing = "thinking" if log.state == "running" else ""
        if event.reason == "manual" and event.outcome in ("completed", "no_progress"):
            return None  # the command that asked for it says so
        said = f"shortened from about {event.before_tokens:,} to {event.after_tokens:,} tokens"
        if event.outcome != "completed":
            said = f"not shortened: {event.outcome.replace('_', ' ')}"
        return log.add(Block("note", f"the conversation was {said}", about="compaction"))

    def _on_usage(self, event: Any, log: Log) -> None:
        log.tokens += event.usage.total

    def _on_queue_update(self, event: Any, log: Log) -> None:
        if len(log.path) > 1:
            return
        self._waiting = {*event.steering, *event.follow_up, *event.next_run}
        self._waited |= self._waiting
        for name in [name for name in self.queued if name not in self._waiting]:
            self.say(self.queued.pop(name))

    def _on_handler_error(self, event: Any, log: Log) -> Block:
        owner = f"plugin {event.plugin!r}" if event.plugin else event.source
        text = " ".join(f"{owner} failed on {event.event}: {event.error}".split())
        return log.add_beside(Block("note", text, about="plugin"))

    # --- parts ------------------------------------------------------------------------------------------------

    def _called(self, event: Any, log: Log) -> Block:
        """Return the block of a call: the one in which a person was asked about it, else a new one."""
        args = self._agent.host.redact(event.args)
        head = call_head(self._agent, event.tool_name, args)
        block = self.asked.pop(event.tool_call_id, None) if log is self.main else None
        if block is None:
            return log.add(Block("tool", head=head, args=args, done=False))
        if not block.good or block.result == "allowed":  # a no is part of the outcome, and a plain yes is no news
            block.result = ""
        block.kind, block.head, block.done, block.good = "tool", head, False, None
        block.version += 1
        return block

    def _grow(self, log: Log, kind: Literal["text", "thinking"], piece: str) -> Block | None:
        block = log.last.get(kind)
        if block is None:
            if not piece:
                return None
            self._finish(log)
            block = log.last[kind] = log.add(Block(kind, done=False))
            log.streamed = True
        log.answered = log.answered or kind == "text"
        block.add(self._pieces.add((log.path, kind), piece))
        return block

    def _finish(self, log: Log) -> None:
        """End the text and the thinking that arrive."""
        arrived = dict(log.last)
        log.last.clear()
        for kind, block in arrived.items():
            block.add(self._pieces.rest((log.path, kind)))
            block.end()
            if not block.text.strip():  # only white space came
                log.blocks.remove(block)
            self._changed(log, block)


def call_head(agent: AgentRunner, name: str, args: Mapping[str, Any]) -> str:
    """Return the name of a tool, and what it is called with, on one line."""
    tool = agent.offered(name)
    about = tool.annotations if tool is not None else {}
    command = args.get(str(about["command"])) if "command" in about else None
    paths = [args[path] for path in about.get("paths", ()) if isinstance(args.get(path), str)]
    if isinstance(command, str):
        shown = command
    elif paths and "preview" in about and about.get("mutates") != "none":
        shown = " ".join(paths)
    else:
        shown = arguments_line(args)
    return f"{one_line(agent.host.redact(name), 80)} {one_line(shown, 300)}".rstrip()


def replay(session: Session, redact: Callable[[Any], Any] = lambda value: value) -> list[Block]:
    """Return the blocks of a session's current branch, what was compacted included."""
    blocks: list[Block] = []
    calls: dict[str, Block] = {}
    for entry in session.path():
        if entry.type == "compaction":
            blocks.append(Block("note", "the conversation before this line was shortened for the model"))
        elif entry.type in ("message", "custom_message") and "message" in entry.data:
            blocks += _of_message(message_from_dict(entry.data["message"], entry.ts), calls, redact)
    return blocks


def _of_message(message: AgentMessage, calls: dict[str, Block], redact: Callable[[Any], Any]) -> Iterable[Block]:
    if isinstance(message, UserMessage):
        yield _said(redact(message.text) or "(an attachment)")
    elif isinstance(message, AssistantMessage):
        made = _answer(message, redact)
        for block, call in zip([b for b in made if b.kind == "tool"], message.tool_calls, strict=True):
            calls[call.id] = block
        yield from made
    elif isinstance(message, ToolResultMessage):
        if message.tool_call_id in calls:
            called = calls.pop(message.tool_call_id)
            called.text = redact(message.text)
            _end(called, message.outcome.value, 0.0)
    elif isinstance(message, CustomMessage) and message.display:
        yield from _custom(message)


def _answer(message: AssistantMessage, redact: Callable[[Any], Any]) -> Sequence[Block]:
    blocks: list[Block] = []
    for part in message.content:
        if isinstance(part, (TextBlock, RefusalBlock)) and part.text.strip():
            blocks.append(Block("text", redact(part.text)))
        elif isinstance(part, ThinkingBlock) and part.thinking.strip():
            blocks.append(Block("thinking", redact(part.thinking)))
        elif isinstance(part, ToolCall):
            args = redact(part.args or {"arguments": part.raw_args})
            head = f"{one_line(part.name, 80)} {one_line(arguments_line(args), 300)}".rstrip()
            blocks.append(Block("tool", head=head, args=args))
    if message.error:
        blocks.append(Block("error", redact(message.error)))
    return blocks


def _said(text: str) -> Block:
    """Return the block of what a person said; a long one is a line that opens."""
    block = Block("user", text)
    block.open = not is_long(text)
    return block


def _custom(message: CustomMessage) -> Iterable[Block]:
    if (line := shown_line(message)) is not None:
        yield line
    elif message.text.strip():
        yield Block("note", message.text, about="message")


def _end(block: Block, outcome: str, seconds: float) -> None:
    """Say how a call ended."""
    told = _ENDED.get(outcome, outcome)
    if seconds >= 0.1:
        told = f"{told} {seconds:.1f} s".strip()
    block.end(good=outcome == "ok", result=", ".join(filter(None, (block.result, told))))
