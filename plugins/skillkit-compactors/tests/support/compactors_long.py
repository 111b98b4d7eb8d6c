"""A conversation without an end: a scripted model in a window of 8,000 tokens that refuses longer requests.

A turn is a question, a tool call or two, and an answer. Rules of the user, a pinned text and a changed file come up on the way,
and belong into what is left.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from contextlib import asynccontextmanager

import skillkit_compactors.plugin
import skillkit_sessions.plugin

from skillkit_core import AgentConfig, AgentRunner, Limits, LLMRequest, ModelDefinition, Tool, ToolOutput
from skillkit_core.errors import ErrorKind
from skillkit_core.estimates import estimate_message, estimate_tokens
from skillkit_core.testing import Call, Fail, Reply, ScriptedModel

WINDOW = 8_000
MODEL = ModelDefinition("small", "scripted", "scripted", context_window=WINDOW, max_output_tokens=1_000)
PINNED = "PINNED-77: the charter of this project, word for word."
RULES_AT = {3: "RULE-03", 8: "RULE-08", 15: "RULE-15", 60: "RULE-60", 900: "RULE-900"}
CHANGED_AT = 5
CHANGED = "src/parser/changed_file.py"
FACT = re.compile(r"RULE-\d+")


def plugins():
    """Compactors and a session store on the disk."""
    return ("compactors", skillkit_compactors.plugin), ("sessions", skillkit_sessions.plugin)


def filler(rng: random.Random, size: int) -> str:
    words = ("parser", "reads", "a", "token", "and", "fails", "on", "line", "seven")
    return " ".join(rng.choice(words) for _ in range(size // 5))[:size]


class LongModel(ScriptedModel):
    """Answers each turn by its number, summarises what it is shown, and counts the requests that do not fit."""

    def __init__(self) -> None:
        super().__init__([self.answer], repeat=True)
        self.turn = self.step = 0
        self.overflows = self.summaries = self.largest = 0
        self.last: LLMRequest | None = None
        self.each: Callable[[LLMRequest], None] | None = None

    def answer(self, request: LLMRequest) -> Reply | Fail:
        self.requests.clear()
        self.requests.append(request)  # the list is what the base class counts by; one is enough
        tokens = sum(map(estimate_message, request.messages)) + estimate_tokens(request.system)
        self.largest = max(self.largest, tokens)
        if tokens > WINDOW:
            self.overflows += 1
            return Fail(ErrorKind.overflow, f"{tokens} tokens are too many", status=400)
        if request.system == "You summarise conversations.":
            self.summaries += 1
            seen = sorted(set(FACT.findall(request.messages[-1].text)))
            return Reply("## Standing instructions\n" + "\n".join(seen) + "\n## Next step\nGo on.")
        self.last = request
        if self.each is not None:
            self.each(request)
        self.step += 1
        rng = random.Random(f"{self.turn}/{self.step}")
        if self.step == 1:
            return Reply(calls=self.calls(rng))
        if self.step == 2 and self.turn % 3 == 0:
            return Reply(
                "Once more.", [Call("read", {"path": f"docs/{self.turn}.md", "size": 200}), Call("read", {"size": 900})]
            )
        return Reply(f"Answer {self.turn}. " + filler(rng, rng.randrange(50, 500)))

    def calls(self, rng: random.Random) -> list[Call]:
        if self.turn == 2:
            return [Call("charter")]
        if self.turn == CHANGED_AT:
            return [Call("write", {"path": CHANGED, "content": "x = 1"})]
        size = 60_000 if self.turn % 50 == 7 else rng.choice((20, 300, 800, 2_500))
        return [Call("read", {"path": f"src/{self.turn}.py", "size": size})]

    def ask(self, turn: int) -> str:
        """The user's words of a turn."""
        self.turn, self.step = turn, 0
        rule = f" From now on {RULES_AT[turn]} holds." if turn in RULES_AT else ""
        return f"Question {turn}.{rule} " + filler(random.Random(turn), 60)


@asynccontextmanager
async def conversation(host, name: str):
    """An agent on a real session file, with the compactor ``name``, and its model."""
    host.configure({"compactor": name, "sessions.fsync": "never"})
    rng = random.Random(1)
    tools = (
        Tool("read", "Read.", lambda args, ctx: filler(rng, args["size"]), parameters={"type": "object"}),
        Tool("write", "Write.", lambda args, ctx: "done", parameters={"type": "object"}),
        Tool("charter", "The charter.", lambda args, ctx: ToolOutput(PINNED, pinned=True)),
    )
    config = AgentConfig(model=MODEL, tools=tools, reserve_tokens=1_000, limits=Limits())
    async with AgentRunner(config, host=host, session="new") as agent:
        model = LongModel()
        agent.set_adapter(model)
        yield agent, model
