"""``skillkit attach``: see and steer, at a terminal or from a program, a session that another process has open."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click
from skillkit_frontend import more_follows
from skillkit_live import RpcClient, RpcError, protocol, relay

from skillkit_core import AgentBusy, Host, SessionError, SessionLocked
from skillkit_core.cli.output import echo, error_line, print_json, style
from skillkit_core.errors import UsageError

from .asking import request_text
from .options import Options

__all__ = ["answered_there", "attach", "attend", "endpoint_of"]

_SLOW = 1.0  # seconds after which a person is told what is waited for
_HOW = {
    "text": "", "confirm": "[y/n]", "choice": "(a number)", "choices": "(numbers, with commas between)",
    "secret": "(a secret: answer it where the session is)",
}  # fmt: skip
_HELP = (
    "Type to speak; y or n answers a question, /deny REASON says why not, /abort ends the run, /leave or Ctrl-D leaves."
)


@click.command()
@click.argument("session", metavar="ID")
@click.option("--lines", is_flag=True, help="Speak the protocol of 'skillkit rpc' on stdin and stdout.")
@click.pass_context
def attach(ctx: click.Context, /, session: str, lines: bool) -> None:
    """Attach to a session that another process has open: see what happens there, speak, and decide.

    ID is the session's id, or the start of it.
    """

    async def work() -> int:
        endpoint = await endpoint_of(ctx.obj.host, session)
        if lines:
            with os.fdopen(os.dup(1), "wb", buffering=0) as out:
                await relay(endpoint, sys.stdin.buffer, out)
            return 0
        return await attend(endpoint)

    ctx.exit(asyncio.run(work()))


async def endpoint_of(host: Host, session: str) -> str:
    """Return where the process that has a session takes clients.

    Raises:
        UsageError: no process has it open, or that process takes no clients.
    """
    store = host.session_store()
    found = await store.find(session)
    try:
        handle = await store.open(found)
    except SessionLocked as locked:
        if locked.owner is None or locked.owner.endpoint is None:
            raise
        return locked.owner.endpoint
    await handle.close()
    raise UsageError(f"no process has session {found} open", hint=f"skillkit chat --session {found}")


async def answered_there(host: Host, options: Options) -> int:
    """Say a request in a session that another process has open, print the answer, and return the exit code.

    Nothing of this process counts there but the words: settings, environment and secrets are those of the other one.
    """
    text, endpoint = request_text(options), await endpoint_of(host, str(options.session))
    try:
        async with RpcClient(endpoint=endpoint, name=f"run-{os.getpid()}") as client:
            result = await client.prompt(text)
    except RpcError as error:
        if error.code == protocol.BUSY:
            hint = f"wait for its end, or speak into it: skillkit attach {options.session}"
            raise AgentBusy("a run is active in that session", hint=hint) from None
        error_line(error.message)
        return 1
    except ConnectionError:
        hint = f"what it kept is in the session: skillkit chat --session {options.session}"
        raise SessionError("the process that had the session ended before it answered", hint=hint) from None
    code = 0 if result.outcome == "completed" else 1
    if options.as_json:
        print_json({"ok": not code, "answer": result.content, **result.model_dump(mode="json", exclude={"content"})})
    else:
        echo(result.content, err=code == 1)
    return code


async def attend(endpoint: str) -> int:
    """Show what happens in a session, and say there what is typed, until either side leaves; return the exit code."""
    name = f"attach-{os.getpid()}"
    screen = Screen(name)
    waits = f"Waiting for the process that has the session open, which does not answer yet ({endpoint}); Ctrl-C leaves."
    slow = asyncio.get_running_loop().call_later(_SLOW, partial(echo, style(waits, dim=True), err=True))
    async with RpcClient(endpoint=endpoint, name=name, on_message=screen.show) as client:
        slow.cancel()
        gone = asyncio.ensure_future(client.ended.wait())
        begun = asyncio.ensure_future(screen.begun.wait())  # what is typed before may answer a question
        await asyncio.wait({begun, gone}, return_when=asyncio.FIRST_COMPLETED)
        typed: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=_read, args=(loop, typed), name="typed", daemon=True).start()
        while True:
            line = asyncio.ensure_future(typed.get())
            await asyncio.wait({line, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not line.done():
                line.cancel()
                echo(style("The session was closed there.", dim=True))
                return 0
            text = line.result()
            if text is None or text == "/leave":
                gone.cancel()
                return 0
            try:
                await _do(client, screen, text)
            except RpcError as error:
                error_line(error.message)


def _read(loop: asyncio.AbstractEventLoop, typed: asyncio.Queue[str | None]) -> None:
    """Hand on the lines of stdin; in a thread, because a terminal can not always be waited for.

    Lines that come at once at a terminal were pasted, and are one text: none of them answers a question.
    """
    try:
        for line in iter(sys.stdin.readline, ""):
            text = line
            while sys.stdin.isatty() and more_follows():
                text += sys.stdin.readline()
            loop.call_soon_threadsafe(typed.put_nowait, text.strip())
        loop.call_soon_threadsafe(typed.put_nowait, None)
    except (RuntimeError, ValueError):
        pass  # the session has ended first


async def _do(client: RpcClient, screen: Screen, text: str) -> None:
    """Do what a typed line asks."""
    question = next(iter(screen.questions.values()), None)
    if not text:
        return
    if text == "/abort":
        await client.abort("the person ended it")
    elif question is not None and question["kind"] == "approval" and (decision := _decision(text)) is not None:
        answer = await client.answer(question["id"], **decision)
        if answer.outcome == "late":
            echo(style("Somebody was faster.", dim=True))
    elif question is not None and question["kind"] == "survey":
        screen.answer(question["survey"], text)
        if len(screen.answers) == len(question["survey"]["questions"]):
            await client.answer(question["id"], answers=screen.answers)
    elif text.lower() in ("y", "yes", "n", "no"):
        echo(style("No question waits: this was not said.", dim=True))
    elif text.startswith("/"):
        answered = await client.command(text)
        if answered.text:
            echo(answered.text)
    else:
        await client.say(text)


def _decision(text: str) -> dict[str, str] | None:
    """Return the answer to an approval that a line is: ``y``, ``n``, or ``/deny`` with a reason that the model reads."""
    word, _, reason = text.partition(" ")
    if text.lower() in ("y", "yes", "n", "no"):
        return {"decision": "allow" if text.lower().startswith("y") else "deny"}
    return {"decision": "deny", "reason": f"a person said no: {reason.strip()}"} if word == "/deny" else None


def _option(options: Sequence[Mapping[str, Any]], word: str) -> str | None:
    """Return the value of an option, by its number, its value or its label."""
    if word.isdigit() and 0 < int(word) <= len(options):
        return str(options[int(word) - 1]["value"])
    return next((str(one["value"]) for one in options if word in (one["value"], one["label"])), None)


class Screen:
    """Prints the messages of a session.

    Args:
        name: the client's own name: what it says stands on the screen already.

    Attributes:
        questions: what waits for an answer, by id, oldest first.
        answers: what was answered of the survey that is asked, by the id of its question.
        begun: set when the screen shows where the session stands.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.questions: dict[str, Mapping[str, Any]] = {}
        self.answers: dict[str, Any] = {}
        self.begun = asyncio.Event()
        self._arriving = False  # an answer that arrives is on the last line

    def show(self, message: Mapping[str, Any]) -> None:
        """Print what a message says."""
        match message["type"]:
            case "snapshot":
                self._begin(message)
            case "event":
                self._event(message["event"])
            case "question":
                self._ask(message["question"])
            case "question_answered":
                if self.questions.pop(message["question"], None) is not None:
                    by = message["by"].get("id") or message["by"]["kind"]
                    self._line(style(f"{message.get('decision', 'answered')}, by {by}", dim=True))
            case "question_withdrawn":
                if self.questions.pop(message["question"], None) is not None:
                    self._line(style("the question was withdrawn", dim=True))
            case "notice":
                self._line(message["text"])
            case _:
                pass

    def _begin(self, shot: Mapping[str, Any]) -> None:
        self._line(style(f"Session {shot['session']} in {shot['folder']}: {shot['state']}. {_HELP}", dim=True))
        for entry in shot["entries"]:
            if entry["type"] == "message":
                self._said(entry["data"]["message"])
        for event in shot["events"]:
            self._event(event)
        self.questions.clear()
        for question in shot["questions"]:
            self._ask(question)
        self.begun.set()

    def _event(self, event: Mapping[str, Any]) -> None:
        match event["type"]:
            case "message_update" if event["event"]["type"] == "text_delta":
                echo(event["event"]["content"], nl=False)
                self._arriving = True
            case "message_end":
                if self._arriving and event["message"]["role"] == "assistant":
                    self._line()
                else:
                    self._said(event["message"])
            case "input" if event.get("origin", {}).get("id") != self._name:
                self._line(f"> {event['text']}")
            case "tool_execution_start":
                self._line(style(f"{event['tool_name']} {json.dumps(event.get('args', {}))[:200]}", dim=True))
            case "agent_end" if event["outcome"] != "completed":
                self._line(style(f"The run ended: {event['outcome']} {event['reason']}".rstrip(), dim=True))
            case _:
                pass

    def _said(self, message: Mapping[str, Any]) -> None:
        text = "".join(block.get("text", "") for block in message["content"] if block["type"] == "text")
        if text and message["role"] in ("user", "assistant"):
            self._line(f"> {text}" if message["role"] == "user" else text)

    def _ask(self, question: Mapping[str, Any]) -> None:
        self.questions[question["id"]] = question
        if question["kind"] == "survey":
            self.answers = {}
            self._line(question["survey"]["title"])
            self._ask_next(question["survey"])
            return
        texts = " ".join(one["text"] for one in question["questions"])
        self._line(f"{question['tool']} {json.dumps(question['args'])}\n{texts} [y/n]")

    def _ask_next(self, survey: Mapping[str, Any]) -> None:
        """Print the first question of a survey that has no answer."""
        asked = next((one for one in survey["questions"] if one["id"] not in self.answers), None)
        if asked is not None:
            options = [f"  {n}. {one['label']}" for n, one in enumerate(asked["options"], 1)]
            self._line("\n".join([f"{asked['text']} {_HOW[asked['kind']]}".rstrip(), *options]))

    def answer(self, survey: Mapping[str, Any], text: str) -> None:
        """Take a line as the answer to the question of a survey that was printed last, or say what it must be."""
        asked = next(one for one in survey["questions"] if one["id"] not in self.answers)
        given: Any = None if asked["kind"] == "secret" else text
        if asked["kind"] == "confirm":
            given = {"y": True, "yes": True, "n": False, "no": False}.get(text.lower())
        elif asked["kind"] in ("choice", "choices"):
            chosen = [_option(asked["options"], word.strip()) for word in text.split(",")]
            one = asked["kind"] == "choice"
            given = None if None in chosen or (one and len(chosen) > 1) else chosen[0] if one else chosen
        if given is not None:
            self.answers[asked["id"]] = given
        self._ask_next(survey)

    def _line(self, text: str = "") -> None:
        if self._arriving:
            self._arriving = False
            echo("")
        if text:
            echo(text)
