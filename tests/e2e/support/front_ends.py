"""The same stage for every front end: an agent whose model answers by script, and a person at chat, at the UI, or behind rpc.

All run in this process: chat on a pipe of keys and an emulated screen, the UI under Textual's pilot, rpc through its client and
server with pipes between them.
"""

import asyncio
import contextlib
import io
import os
import time

import pyte
import skillkit_commands.plugin
import skillkit_planning.plugin
import skillkit_sessions.plugin
import skillkit_tui.plugin
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output
from skillkit_chat.conversation.chat import Chat
from skillkit_frontend import Choices
from skillkit_live import Connection, Lives, RpcClient, RpcError, Server
from skillkit_live.protocol import ApproveResult
from skillkit_testkit import screen_text
from skillkit_tui.app import TerminalUI

from skillkit_core import AgentConfig, AgentRunner, Host, Origin, RetryPolicy
from skillkit_core.testing import ScriptedModel

PATIENCE = 60.0
COLUMNS, ROWS = 100, 200
KEYS = {"yes": "y", "no": "n", "always": "a", "later": "l", "session": "s", "project": "p", "back": "b"}
PLUGINS = [
    ("commands", skillkit_commands.plugin), ("tui", skillkit_tui.plugin), ("sessions", skillkit_sessions.plugin),
    ("planning", skillkit_planning.plugin),
]  # fmt: skip


class Front:
    """A front end, and the person at it.

    Attributes:
        agent: the agent.
        model: its script.
    """

    def __init__(self, agent, turns):
        self.agent, self.model = agent, ScriptedModel(turns)
        agent.set_adapter(self.model)

    @property
    def seen(self):
        """What the person sees, in one text."""

    @property
    def line(self):
        """What came back to the person to be changed."""

    async def pause(self):
        await asyncio.sleep(0.005)

    async def sees(self, *texts):
        """Wait until the person sees all texts."""
        await self.until(lambda: all(text in self.seen for text in texts), texts)

    async def until(self, holds, what="it"):
        until = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < until, f"{what} was never seen:\n{self.seen}"
            await self.pause()

    async def idle(self):
        """Wait until nothing goes on."""
        await self.until(lambda: not self.busy, "the end of the run")

    def said(self):
        """What the model was told by people, and told them."""
        return [m.text for m in self.model.requests[-1].messages if m.role in ("user", "assistant")]


class ChatFront(Front):
    """``skillkit chat``."""

    name = "chat"

    def __init__(self, agent, turns, kept, keys, output):
        super().__init__(agent, turns)
        self._keys, self._output = keys, output
        self.chat = Chat(agent, kept, Choices(), output.vt100)

    @property
    def seen(self):
        return self._output.text

    @property
    def line(self):
        return self.chat.screen.line.buffer.text

    @property
    def busy(self):
        return self.chat.talk.busy

    async def say(self, text):
        self._keys.send_text(text + "\r")

    async def clear(self):
        self.chat.screen.line.buffer.reset()

    async def press(self, *words):
        for word in words:
            await self.until(lambda: self.chat.screen.asking and self.chat.screen.asked.armed, "a question")
            asked = self.chat.screen.asked.question
            self._keys.send_text(KEYS[word])
            await self.until(lambda asked=asked: asked.answer.done(), "an answer")

    async def answer(self, *texts):
        for text in texts:
            await self.until(lambda: self.chat.screen.asking and self.chat.screen.asked.armed, "a question")
            asked = self.chat.screen.asked.question
            self._keys.send_text("\x1b" if text is None else text + "\r" if len(text) > 1 else text)
            await self.until(lambda asked=asked: asked.answer.done(), "an answer")

    async def interrupt(self):
        self._keys.send_text("\x03")

    async def queue(self, text):
        await self.chat.talk.queue(text)

    async def unqueue(self):
        self._keys.send_text("\x1b\x1b[A")

    async def left(self):
        await self.until(lambda: self._held.done(), "the end")
        return self._held.result()

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, host, config, session, turns, kept, request):
        agent = AgentRunner(config, host=host, session=session)
        output = EmulatedOutput()
        try:
            if session is not None:
                await agent.open()
            with create_pipe_input() as keys, create_app_session(input=keys, output=output.vt100):
                front = cls(agent, turns, kept, keys, output)
                front._held = asyncio.create_task(front.chat.hold(request))
                await front.until(lambda: front.chat.screen.app.is_running, "the screen")
                yield front
                front.chat.leave()
                await front._held
        finally:
            await agent.aclose()


class EmulatedOutput(io.StringIO):
    """Paper with a screen that is emulated."""

    encoding = "utf-8"

    def __init__(self):
        super().__init__()
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)
        self.vt100 = Vt100_Output(self, lambda: Size(rows=ROWS, columns=COLUMNS), enable_cpr=False)

    def write(self, text):
        self._stream.feed(text)
        return len(text)

    @property
    def text(self):
        return screen_text(self._screen)


class TuiFront(Front):
    """``skillkit tui``."""

    name = "tui"

    def __init__(self, agent, turns, kept, request):
        super().__init__(agent, turns)
        self.ui = TerminalUI(agent, kept=kept, theme="dark", options=Choices(words=(request,)))

    @property
    def seen(self):
        shown = [block for log in (self.ui.record.main,) for block in log.blocks]
        texts = [f"{b.head}\n{b.diff}\n{b.args or ''}\n{b.text}\n{b.result}" for b in shown]
        texts += [f"queued: {text}" for text in self.ui.record.queued.values()]
        texts += ["".join(text for _, text in self.ui.box.question.lines(COLUMNS))] if self.ui.box.question else []
        return "\n".join([*texts, self.ui._hint, str(self.ui._rule.render()), str(self.ui._bar.render())])

    @property
    def line(self):
        return self.ui.line.text

    @property
    def busy(self):
        return self.ui.talk.busy

    async def pause(self):
        await self.pilot.pause(0.005)

    async def say(self, text):
        self.ui.line.put(text)
        await self.pilot.press("enter")

    async def clear(self):
        self.ui.line.put("")

    async def press(self, *words):
        for word in words:
            await self.answer(KEYS[word])

    async def answer(self, *texts):
        for text in texts:
            await self.until(lambda: self.ui.asked is not None and self.ui.asked.armed, "a question")
            asked = self.ui.asked.question
            keys = ["escape"] if text is None else [*text, "enter"] if len(text) > 1 else [text]
            await self.pilot.press(*keys)
            await self.until(lambda asked=asked: asked.answer.done(), "an answer")

    async def interrupt(self):
        await self.pilot.press("ctrl+c")

    async def queue(self, text):
        await self.ui.talk.queue(text)

    async def unqueue(self):
        await self.pilot.press("alt+up")

    async def left(self):
        await self.until(lambda: self.ui.return_code is not None, "the end")
        return self.ui.return_code

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, host, config, session, turns, kept, request):
        agent = AgentRunner(config, host=host, session=session)
        try:
            await agent.open()
            front = cls(agent, turns, kept, request)
            async with front.ui.run_test(size=(COLUMNS, 40)) as front.pilot:
                yield front
                if front.ui.is_running:
                    await front.ui.talk.close()
        finally:
            await agent.aclose()


class RpcFront(Front):
    """``skillkit rpc``: a program in place of the person, which writes down what it is told."""

    name = "rpc"

    def __init__(self, agent, turns):
        super().__init__(agent, turns)
        self.client = PipeClient(on_event=self._event, on_approve=self._approve, on_ask=self._ask,
                                 on_notify=lambda text, level: self._tell(text))  # fmt: skip
        self._told, self._waiting, self._back = "", asyncio.Queue(), []
        self._tasks = set()

    @property
    def seen(self):
        return self._told

    @property
    def line(self):
        return "\n".join(self._back)

    @property
    def busy(self):
        return self.agent.running or any(not task.done() for task in self._tasks)

    def _tell(self, text):
        self._told += f"{text}\n"

    def _event(self, event):
        match event["type"]:
            case "message_update" if event["event"]["type"].endswith("_delta"):
                self._told += event["event"].get("content", "") or ""
            case "message_end" | "tool_execution_start" | "tool_execution_end":
                body = event.get("message") or event
                texts = [part.get("text", "") for part in body.get("content") or () if isinstance(part, dict)]
                self._tell("\n".join([str(event.get("tool_name", "")), str(event.get("args", "")), *texts]))
                self._tell(str(event.get("outcome", "")))
            case "tool_execution_update":
                self._tell(event["output"])
            case "retry_scheduled":
                self._tell(f"{event['error']}; trying again")
            case "agent_end":
                self._tell(
                    f"{'interrupted' if event['outcome'] == 'aborted' else event['outcome']} {event.get('error')}"
                )
            case "queue_update" | "compaction_end" | "model_select" | "handler_error":
                self._tell(str(event))
            case _:
                pass

    async def _approve(self, request):
        self._tell(f"Run {request.tool}? {request.args} {[q.text for q in request.questions]}")
        answer = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait(answer)
        word = await answer
        decision = {"no": "deny", "later": "defer"}.get(word, "allow")
        return ApproveResult(
            decision=decision, reason="a person said no" if word == "no" else "", remember=word == "always"
        )

    async def _ask(self, survey):
        self._tell(f"{survey['title']} {survey['text']}")
        given = {}
        for question in survey["questions"]:
            self._tell(question["text"])
            answer = asyncio.get_running_loop().create_future()
            self._waiting.put_nowait(answer)
            text = await answer
            if text is None:
                self._tell(f"{survey['title']}: declined")
                return None
            options = [option["value"] for option in question.get("options") or ()]
            if question["kind"] == "confirm":
                text = text == "y"
            elif options:
                text = options[int(text) - 1]
            given[question["id"]] = text
        return given

    async def say(self, text):
        self._do(self._say(text))

    def _do(self, work):
        self._tasks.add(asyncio.create_task(work))

    async def _say(self, text):
        try:
            if text.startswith("/") and " is " not in text:
                answer = await self.client.command(text)
                self._tell(answer.text or "")
            elif (at := text.find("@")) >= 0:
                await self.client.prompt(text, images=[{"path": text[at + 1 :].split()[0]}])
            else:
                item = await self.client.say(text)
                self._tell(f"queued: {text}" if item else f"› {text}")
        except RpcError as error:
            self._tell(f"Error: {error.message}")
            self._back.append(text)

    async def clear(self):
        self._back.clear()

    async def press(self, *words):
        for word in words:
            if word != "session":  # a client says it with the answer
                (await self._waiting.get()).set_result(word)

    async def answer(self, *texts):
        for text in texts:
            (await self._waiting.get()).set_result(text)

    async def interrupt(self):
        unsaid = await self.client.abort()
        self._back += [item.text for item in unsaid]

    async def queue(self, text):
        self._item = await self.client.follow_up(text)
        self._tell(f"queued: {text}")
        self._queued = text

    async def unqueue(self):
        assert await self.client.cancel(self._item) == "cancelled"
        self._back.append(self._queued)

    async def left(self):
        await self.client.close()
        return 0

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, host, config, session, turns, kept, request):
        async with Lives(host) as lives:
            live = await lives.open(session, origin=Origin("rpc"), config=config)
            front = cls(live.agent, turns)

            async def leave():
                await server.live.abort("the client shut the server down", Origin("rpc"))

            server = Server(lives, live, "rpc", leave)
            front.client.serve(server)
            async with front.client:
                if live.agent.suspension is not None:
                    front._do(front._decide())
                if request:
                    await front.say(request)
                yield front
            server.close()

    async def _decide(self):
        self._tell("the session waits for a decision")
        call = self.agent.suspension.calls[0]
        self._tell(f"Run {call.name}?")
        answer = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait(answer)
        await self.client.resume({call.id: "allow" if await answer == "yes" else "deny"})


class PipeClient(RpcClient):
    """The client, with its server in the same process at the other ends of two pipes."""

    def serve(self, server):
        (there, out), (here, back) = os.pipe(), os.pipe()
        self._files = [os.fdopen(there, "rb"), os.fdopen(out, "wb", buffering=0),
                       os.fdopen(here, "rb"), os.fdopen(back, "wb", buffering=0)]  # fmt: skip
        server.connection = Connection(self._files[0], self._files[3], server.handle)
        self._connection = Connection(self._files[2], self._files[1], self._handle)
        self._server = server.connection

    async def __aenter__(self):
        await self._connection.ask("initialize", {"version": 2, "approvals": True, "questions": True})
        await self.attach()
        return self

    async def close(self):
        if not self._files[1].closed:
            with contextlib.suppress(RpcError, ConnectionError):
                await self._connection.ask("shutdown", {})
            self._files[1].close()
            await self._server.ended.wait()
            await self._server.drain()
            self._files[3].close()
            await self._connection.ended.wait()
            self._connection.close()
            for file in self._files:
                file.close()


FRONTS = {front.name: front for front in (ChatFront, TuiFront, RpcFront)}


@contextlib.asynccontextmanager
async def open_front(name, home, turns, *, tools=(), plugins=(), kept=False, session=None, request="", limits=None):
    """Open a front end; ``kept``: in a session on the disk, which ``session`` names."""
    host = Host(plugins=[*PLUGINS, *plugins], discover=False, cwd=home.cwd)
    how = {"limits": limits} if limits is not None else {}
    config = AgentConfig(model="any", tools=tuple(tools), retry=RetryPolicy(base_delay=0.001), **how)
    try:
        kind = FRONTS[name]
        if kept and session is None:
            session = "new"
        async with kind.open(host, config, session, turns, kept, request) as front:
            yield front
    finally:
        await host.aclose()
