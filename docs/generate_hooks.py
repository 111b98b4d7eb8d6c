"""Writes the reference pages of hooks and events from the code: ``python docs/generate_hooks.py [--check]``."""

# ruff: noqa: E501 - lines of prose that go to the pages

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FunctionType, ModuleType

from skillkit_core.events.results import EventResult
from skillkit_core.events.types import ALIASES, EVENTS, Event
from skillkit_core.hookspecs import host, lifecycle, registration, resolution
from skillkit_core.host.loading import must_be_plain

REFERENCE = Path(__file__).resolve().parent / "reference"
KINDS = (
    ("Host hooks", host),
    ("Registration hooks", registration),
    ("Resolution hooks", resolution),
    ("Lifecycle hooks", lifecycle),
)
SINCE: dict[str, str] = {}  # the version that brought a hook, where it is not the first
INTRODUCTION = """\
# Hooks

<!-- Written by docs/generate_hooks.py from the docstrings in skillkit_core/hookspecs and skillkit_core/events/types.py. Do not edit it here. -->

A plugin implements a hook with a function of the same name that is marked `@hookimpl` (`from skillkit_core import hookimpl`). It may leave
out parameters that it does not need. A plugin that implements a hook that nobody defined is refused; mark the function
`optionalhook=True` if the plugin that defines the hook may be absent. [Order of handlers](order.md) says who comes first.

`hookimpl(phase=, timeout=, tools=, while_=, tryfirst=, trylast=, optionalhook=, specname=)`: `phase`, `timeout`, `tools` and `while_` are for lifecycle hooks.

| kind | called | answers | async |
| --- | --- | --- | --- |
| [host](#host-hooks) | by the host, over its life | none | no, except `host_closing` |
| [registration](#registration-hooks) | once per plugin and kind, when the kind is first needed | none: items go to `register` | no |
| [resolution](#resolution-hooks) | when a name is looked up | the first that is not `None`, after awaiting | may be |
| [lifecycle](#lifecycle-hooks) | while agents run | combined as each hook says | may be; `wrap_*` must be |
"""


EVENTS_INTRODUCTION = """\
# Events

<!-- Written by docs/generate_hooks.py from skillkit_core/events/types.py. Do not edit it here. -->

An agent emits these events on `agent.events`. Each is also a [lifecycle hook](hooks.md#lifecycle-hooks) of the same name; plugins and
`agent.events.on(name, handler)` are called by the same dispatcher, in one [order](order.md).

```text
session_start
  input -> before_agent_start -> agent_start
    turn_start -> context_transform -> before_model_request -> before_provider_request -> after_provider_response
      message_start, message_update ..., message_end        the answer, kept before its tools run
      for each call: before_tool_call -> tool_execution_start
        tool_execution_update ... -> after_tool_result -> tool_execution_end     in order of completion
      for each result: message_start, message_end           in order of the calls
    turn_end -> the next turn_start
  before_agent_end -> agent_end -> agent_settled
session_shutdown
```

A *turn* is one round with the model: `turn_start` comes before the request, `turn_end` after the results of its calls. A run that ends in
the middle of a turn (aborted, failed, a limit, suspended) ends the turn first, with what there is of it. The run that resumes a suspended
one takes the calls that waited up between `agent_start` and its first `turn_start`: their `before_tool_call`, `tool_execution_*` and
`message_*` events belong to no turn, since no model was asked. Where another input denies them instead, these events come before its
`agent_start`.

Events are frozen dataclasses, and payloads are shared: a handler answers, it never edits. All of them have `session_id`, `run_id`, `agent_path`
(`("main",)` or deeper for a nested run), `seq` (grows by one with every event of an agent) and `ts` (seconds since the epoch).
`skillkit_core.event_to_dict(event)` gives JSON values with `***` for every secret; `skillkit run --json --events` prints those.
`event_to_dict(event, history=False)` leaves out the fields that hold messages of earlier turns (the `messages` of `turn_start`, `context_transform` and `before_agent_end`, the `payload`
of `before_provider_request`, the `preparation` of `before_compact`), so that what is sent grows with what is new; `blobs=` takes images and documents out: a function that keeps a
block and returns its name, which stands in `blob` in place of `data`. An event of a plugin marks such a field with `field(metadata={{"history": True}})`.

- *observe*: the answer is ignored; answering at all is an error.
- *intercept*: the answer changes what happens. A handler that fails is reported as `handler_error`, and its answer is discarded.
- *intercept, guard*: as intercept; a handler in phase `guard` that fails stops what it guards.
- *guard*: every handler that fails stops what it guards.

| event | class | kind | payload | answer |
| --- | --- | --- | --- | --- |
{rows}

`on()` also takes these names: {aliases}. `emit()` takes the names of the table.
Events that a plugin [defines](../how-to/define-hooks.md) are known to the agents of the hosts that have this plugin.

`agent.events.observe(handler)` sees every event of an agent after everybody else and has no say; a plugin that implements the hook
[`event`](hooks.md#event) sees those of all agents of the host. `on_tool_call`, `on_tool_result`, `on_streaming`,
`on_response` and `on_tool_output` are short for `on(...)`. A handler takes `(event)` or `(event, ctx)`, and may be sync or async. `ctx` is
the `HandlerContext`: `agent`, `signal`, `session`, `ui`, `steer()`, `follow_up()`, `abort()`, `when_idle()`.
"""


def specs(module: ModuleType) -> list[FunctionType]:
    """The hookspecs of a module, in the order in which they stand there, those of events in the order of the events."""
    found = [f for f in vars(module).values() if isinstance(f, FunctionType) and hasattr(f, "skillkit_spec")]
    places = {name: place for place, name in enumerate(EVENTS)}
    return sorted(found, key=lambda f: places.get(f.__name__, len(places))) if module is lifecycle else found


def about(function: FunctionType) -> str:
    """The docstring of a hook. That of an event that is only observed stands at the event's class."""
    documented = EVENTS[function.__name__] if function.__name__ in lifecycle.OBSERVED else function
    text = inspect.getdoc(documented) or ""
    head, mark, attributes = text.partition("\n\nAttributes:\n")
    items = re.sub(r"^    (\w+): ", r"- ``event.\1``: ", attributes, flags=re.M)
    return f"{head}\n\n{re.sub('^      +', '  ', items, flags=re.M)}" if mark else text


def signature(function: FunctionType) -> str:
    """The ``def`` line as it is written, on one line, without the names of the modules that types come from."""
    if function.__name__ in lifecycle.OBSERVED:
        event = EVENTS[function.__name__].__name__
        return f"{function.__name__}(event: {event}, ctx: HandlerContext) -> Awaitable[None] | None"
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    node = tree.body[0]
    assert isinstance(node, ast.FunctionDef)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    text = f"{node.name}({ast.unparse(node.args)}){returns}"
    text = re.sub(r"\b[er]\.(?=[A-Z])", "", text)
    text = re.sub(r"Answer\[(\w+)\]", r"\1 | Awaitable[\1 | None] | None", text)
    return text.replace("-> Observed", "-> Awaitable[None] | None")


def markdown(text: str) -> str:
    """The reStructuredText of docstrings as Markdown."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`")


def example_and_text(docstring: str) -> tuple[str, str]:
    """The text of a docstring without its example, and the example, empty where there is none."""
    match = re.search(r"^Example::\n\n((?:    .*\n|\n)+)", docstring, re.M)
    if match is None:
        return docstring.strip(), ""
    rest = docstring[: match.start()] + docstring[match.end() :]
    return re.sub(r"\n{3,}", "\n\n", rest).strip(), textwrap.dedent(match[1]).strip()


def plain_example(function: FunctionType) -> str:
    """The example of a hook whose docstring has none: it prints what the event carries, or does nothing."""
    name = function.__name__
    if name not in EVENTS:
        return f"@hookimpl\ndef {name}({', '.join(inspect.signature(function).parameters)}):\n    ..."
    assert EVENTS[name].answer is None, f"no example: {name}"
    shown = ", ".join(f"event.{f}" for f in re.findall(r"`(\w+)`", own_fields(EVENTS[name]))[:3])
    return f"@hookimpl\ndef {name}(event):\n    print({shown or 'event.type'})"


def asynchronous(name: str) -> str:
    """Whether implementations may be coroutines."""
    if name.startswith("wrap_"):
        return "must be"
    return "no" if must_be_plain(name) else "may be"


def failing(module: ModuleType, name: str) -> str:
    """What an exception in an implementation means."""
    if module is registration:
        return "a diagnostic; what this plugin registered in this hook is taken back"
    if name == "register_hookspecs":
        return "a diagnostic; the plugin does not run"
    if module is host:
        return "a diagnostic; the other plugins are called"
    if module is resolution:
        return "a diagnostic; counts as `None`"
    if name.startswith("wrap_"):
        return "what it wraps fails"
    guard = EVENTS[name].guard if name in EVENTS else ""
    return {
        "always": "every implementation fails closed: the call is blocked",
        "phase": "in phase `guard` it fails closed; else it is reported as `handler_error` and the answer is discarded",
        "": "reported as `handler_error`; the answer is discarded",
    }[guard]


def merging(answer: type[EventResult]) -> list[str]:
    """A line for each field of a result type that says how several answers become one."""
    rows = []
    for kind in answer_types(answer):
        rows += [f"`{kind.__name__}.{f.name}` {f.metadata['merge']}" for f in fields(kind) if "merge" in f.metadata]
    return list(dict.fromkeys(rows))


def entry(module: ModuleType, function: FunctionType) -> str:
    """One hook."""
    name = function.__name__
    text, example = example_and_text(f"{about(function)}\n")
    if function.__annotations__["return"] == "Observed" and module is lifecycle:
        text += f"\n\nReturns: nothing; {'events are only observed here' if name == 'event' else 'the event is only observed'}."
    lines = [f"### `{name}`", "", "```py", signature(function), "```", "", markdown(text).strip(), ""]
    facts = [
        f"Async: {asynchronous(name)}",
        f"If it fails: {failing(module, name)}",
        f"Since {SINCE.get(name, '0.1')}",
    ]
    if module is lifecycle and name in EVENTS:
        answer = EVENTS[name].answer
        if answer is not None and (merge := merging(answer)):
            facts.insert(1, "How answers combine: " + ", ".join(merge))
        if alias := next((a for a, n in ALIASES.items() if n == name), None):
            facts.append(f"`on()` also takes the name `{alias}`")
    lines += [f"- {fact}." for fact in facts]
    lines += ["", "```py", example or plain_example(function), "```", ""]
    return "\n".join(lines)


def hooks_page() -> str:
    """``reference/hooks.md``."""
    parts = [INTRODUCTION]
    for title, module in KINDS:
        introduction = (inspect.getdoc(module) or "").partition(": ")[2]
        found = specs(module)
        parts.append(f"## {title}\n\n{markdown(introduction[:1].upper() + introduction[1:])}\n")
        parts.append("\n".join(f"- [`{f.__name__}`](#{f.__name__}): {summary(f)}" for f in found) + "\n")
        parts += [entry(module, f) for f in found]
    return "\n".join(parts).rstrip() + "\n"


def summary(function: FunctionType) -> str:
    """The first sentence of a hook's docstring."""
    text = markdown(about(function).split("\n\n")[0].replace("\n", " "))
    return text.split(". ")[0].rstrip(".")


def answer_types(result: type[EventResult]) -> list[type[EventResult]]:
    """The classes of what a handler may answer: ``result`` itself, or its subclasses where it is only their base.

    A class that has a subclass for another event stays the answer to its own.
    """
    if is_dataclass(result) and "__dataclass_fields__" in vars(result):
        return [result]
    return list({kind.__name__: kind for kind in result.__subclasses__()}.values())


def own_fields(event: type[Event]) -> str:
    """The payload of an event, without what every event has."""
    common = {f.name for f in fields(Event)}
    return ", ".join(f"`{f.name}`" for f in fields(event) if f.name not in common and not f.name.startswith("_")) or "-"


def events_page() -> str:
    """``reference/events.md``."""
    rows = []
    for name, event in EVENTS.items():
        kind = (
            {"always": "guard", "phase": "intercept, guard", "": "intercept"}[event.guard]
            if event.answer
            else "observe"
        )
        kinds = answer_types(event.answer) if event.answer is not None else ()
        answer = ", ".join(f"`{kind.__name__}`" for kind in kinds) or "-"
        cells = (f"[`{name}`](hooks.md#{name})", f"`{event.__name__}`", kind, own_fields(event), answer)
        rows.append(f"| {' | '.join(cells)} |")
    aliases = ", ".join(f"`{alias}` for `{name}`" for alias, name in ALIASES.items())
    return EVENTS_INTRODUCTION.format(rows="\n".join(rows), aliases=aliases)


def pages() -> dict[Path, str]:
    """What this script writes."""
    return {REFERENCE / "hooks.md": hooks_page(), REFERENCE / "events.md": events_page()}


def main(arguments: list[str]) -> int:
    """Write the pages; with ``--check`` only say whether they are up to date (exit status 1 if not)."""
    if "--check" in arguments:
        return int(
            any(not path.is_file() or path.read_text(encoding="utf-8") != text for path, text in pages().items())
        )
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
