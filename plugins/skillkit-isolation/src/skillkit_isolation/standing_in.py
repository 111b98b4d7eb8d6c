"""What stands in the worker for the agent, the session and the call of a tool, which are in the other process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol

from skillkit_core import AbortSignal, Answers, PluginError, SessionNote, Survey
from skillkit_core.frozen import thaw

if TYPE_CHECKING:
    from concurrent.futures import Future

    from skillkit_core import Host

__all__ = ["Asking", "Context", "ToolCall"]


class OtherSide(Protocol):
    """The wire to the process of the host."""

    def ask(self, request: int, what: str, body: Any) -> Future[Any]:
        """Ask in the name of a request, and return the answer to come."""

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""


class Asking:
    """Asks the other side, in the name of one request."""

    def __init__(self, other: OtherSide, request: int) -> None:
        self._other = other
        self._request = request

    def now(self, what: str, body: Any) -> Any:
        """Return an answer without a loop; the loop of the worker waits meanwhile."""
        return self._other.ask(self._request, what, body).result()

    async def wait(self, what: str, body: Any) -> Any:
        """Return an answer, from the loop of any thread."""
        return await asyncio.wrap_future(self._other.ask(self._request, what, body))

    def tell(self, item: Any) -> None:
        """Tell a piece of the answer, from any thread."""
        self._other.send({"id": self._request, "item": item})


class _Narrow:
    """Refuses in words what an isolated plugin does not have."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = "run the plugin without isolation, if you trust it"
        what = f"{type(self).__name__.lower()}.{name} is not there for an isolated plugin: it has notes and state"
        raise PluginError(what, hint=hint)


class Session(_Narrow):
    """The notes of a session that are the plugin's own."""

    def __init__(self, asking: Asking, session_id: str | None) -> None:
        self._asking = asking
        self.id = session_id

    async def note(self, kind: str, data: Mapping[str, Any], *, sync: bool = False) -> str:
        """Write a note of the plugin; see :meth:`skillkit_core.Session.note`."""
        return str(await self._asking.wait("note", [kind, thaw(data), sync]))

    def notes(self, kind: str | None = None) -> list[SessionNote]:
        """Return the notes of the plugin, newest last; see :meth:`skillkit_core.Session.notes`."""
        return [SessionNote(*told) for told in self._asking.now("notes", kind)]


class Agent(_Narrow):
    """The agent: the plugin's state, which lives as long as this process, and the session's notes."""

    def __init__(self, session: Session, host: Host, state: dict[str, dict[str, Any]]) -> None:
        self.session = session
        self.host = host
        self.cwd = host.cwd
        self._state = state

    def state(self, plugin: str) -> dict[str, Any]:
        """Return the state of the plugin for this agent."""
        return self._state.setdefault(plugin, {})


class Context(_Narrow):
    """The context of a handler (:class:`~skillkit_core.HandlerContext`), as far as it is there."""

    def __init__(self, asking: Asking, host: Host, about: Mapping[str, Any], state: dict[str, dict[str, Any]]) -> None:
        self.session = Session(asking, about.get("session"))
        self.agent = Agent(self.session, host, state)
        self.agent_path: tuple[str, ...] = tuple(about.get("agent_path") or ("main",))
        self.signal = AbortSignal()
        self.ui = None


class ToolCall(SimpleNamespace):
    """The context of a tool (:class:`~skillkit_core.ToolContext`), as far as it is there."""

    def __init__(self, asking: Asking, ctx: Context, call: Mapping[str, Any]) -> None:
        super().__init__(**{**call, "cwd": Path(call["cwd"]), "agent_path": tuple(call["agent_path"])})
        self.agent = ctx.agent
        self.signal = AbortSignal()
        self.below: tuple[str, ...] = ()
        self.ui = None
        self._asking = asking

    def on_output(self, output: str, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Show output while the tool runs."""
        if output:
            self._asking.tell([output, stream])

    async def ask(self, survey: Survey, *, wait: bool = True) -> Answers | None:
        """Ask a person, on the other side."""
        given = await self._asking.wait("survey", [survey.to_dict(), wait])
        return survey.answer(given) if given is not None else None

    async def complete(self, messages: Any, **asked: Any) -> NoReturn:
        """Refuse: the models and the books are in the other process."""
        raise PluginError("an isolated plugin asks no model beside the conversation")
