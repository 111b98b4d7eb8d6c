"""The screens that a person sees most, small and large, light and dark: what stands where, and that it can be read."""

import re

import pytest
from skillkit_frontend import Block, Log, short
from skillkit_tui.status import counted

from skillkit_core import Survey, SurveyOption, SurveyQuestion, TokenUsage, Tool, ToolCallEventResult, hookimpl
from skillkit_core.models import ModelCost, ModelDefinition
from skillkit_core.testing import Call, Hang, Reply

MODEL = ModelDefinition(
    "vendors/anthropic/claude-large-4-20260101", context_window=200_000, cost=ModelCost(input=3, output=15)
)
FIRST = TokenUsage(input=9_000, cache_read=7_300, cache_write=146, output=1_893)
CACHED = TokenUsage(input=400, cache_read=800, cache_write=34, output=500, reasoning=67)
ANSWER = """`average()` divides by the **number of rows**.

- no rows: it fails
- one row: it works

```python
return None
```"""
PLAN = """# Plan

1. Read `sales.py`
2. Return `None` where there are no rows
3. Run the *tests*

| file | why |
|---|---|
| sales.py | the fault |"""
BEFORE, AFTER = "    return sum(rows) / len(rows)", "    return sum(rows) / len(rows) if rows else None"


class Guard:
    """Asks about each call of ``edit``."""

    @hookimpl
    def before_tool_call(self, event):
        if event.tool_name == "edit":
            return ToolCallEventResult(ask="no rule covers changing sales.py.", ask_key="edit")
        return None


async def preview(agent, tool, args):
    return f"--- sales.py\n+++ sales.py\n@@ -4,3 +4,3 @@\n def average(rows):\n-{BEFORE}\n+{AFTER}"


async def edit(args, ctx):
    return "edited sales.py"


async def ask(args, ctx):
    options = (SurveyOption("None", "as the callers expect"), SurveyOption("0.0"), SurveyOption("an error"))
    question = SurveyQuestion("q", "What should average() return for no rows?", "choice", options)
    answers = await ctx.agent.ui.ask(Survey("Question", question.text, (question,)))
    return repr(answers and dict(answers.given))


TOOLS = (
    Tool("edit", "Edit.", edit, {"type": "object"}, annotations={"paths": ["path"], "preview": preview}),
    Tool("ask_user", "Ask.", ask, {"type": "object"}),
)


async def screens(on):
    """Yield the name of each screen, in turn."""
    put = on.ui.record.put
    await on.type("why does average() fail?\n")
    await on.idle()
    await on.type("mend it, please\n")
    await on.until("Run edit?  [y]es")
    yield "an approval"
    await on.press("y")
    await on.until("What should average() return for no rows?")
    yield "a question"
    await on.press("enter")
    await on.until("Now I run")
    read = Block("tool", "def average(rows):\n" + BEFORE, head="read sales.py", args={"path": "sales.py"})
    read.end(good=True)
    failed = Block("tool", "E   ZeroDivisionError\n1 failed", head="bash pytest -q", args={"command": "pytest -q"})
    failed.end(good=False, result="failed")
    failed.open = True
    for block in (read, failed, Block("thinking", "An empty list divides by zero.\nSo I return None.")):
        put(block)
    on.ui.record.note("the provider is overloaded (529); try again later", error=True)
    put(Block("tool", "12 of 40 tests\n", head="bash make test", args={"command": "make test"}, done=False))
    on.ui.tell("the command goes on in the background")
    await on.until("Now I run")
    yield "a run"
    await on.press("escape", *["left_square_bracket"] * 3)
    await on.pilot.pause(0.1)
    yield "a block that has the focus"
    await on.press("escape", "i", "ctrl+c")
    await on.idle()
    on.ui.record.clear()
    put(Block("text", PLAN))
    await on.press("escape", "space")
    await on.until("needs skillkit-sandbox")
    yield "a plan, and the leader key"
    await on.press("escape")
    for name, task, state, doing, tokens in (
        ("scout", "look for callers of average()", "running", "running grep", 4_321),
        ("tests", "run the tests", "completed", "", 12_000),
    ):
        on.ui.record.logs["main", name] = Log(("main", name), task=task, state=state, doing=doing, tokens=tokens)
    await on.press("space", "a")
    await on.until("scout")
    yield "the agents"
    await on.press("escape", "space", "question_mark")
    await on.until("Keys")
    yield "the help"
    await on.press("G", "i")
    await on.type("/")
    await on.until("/help")
    yield "completions"


TURNS = [
    Reply(ANSWER, thinking="I look first.\nThen I answer.", usage=FIRST),
    Reply("I mend it.", calls=[Call("edit", {"path": "sales.py"})], usage=CACHED),
    Reply(calls=[Call("ask_user")]),
    Hang("Now I run the tests, to see whether"),
]


@pytest.mark.parametrize(
    "size", [(80, 24), pytest.param((200, 60), marks=pytest.mark.slow)], ids="{0[0]}x{0[1]}".format
)
def test_screens_look_as_they_were_looked_at_and_can_be_read_light_and_dark(stage, play, snapshot, picture, size):
    async def story(theme):
        told, faint = [], {}
        async with stage(TURNS, [("guard", Guard())], size, tools=TOOLS, theme=theme, model=MODEL) as on:
            async for name in screens(on):
                await on.pilot.pause(0.1)
                picture(on.ui, f"{size[0]}-{theme}-{name}")
                told.append(f"=== {name}\n{re.sub(r'[0-9.]+ s,', '0.6 s,', on.screen)}\n")
                faint |= {(name, theme, text): said for text, said in on.faint.items()}
        return "".join(told), faint

    (light, faint), (dark, pale) = play(story("light")), play(story("dark"))
    assert light == dark
    assert faint | pale == {}, "hard to read"
    snapshot(f"screens-{size[0]}x{size[1]}.txt", dark)


def test_the_status_line_leaves_out_the_least_important_first(stage, play):
    async def story():
        async with stage(TURNS, size=(80, 24), model=MODEL) as on:
            await on.type("why does average() fail?\n")
            await on.idle()
            rule, line = (part.plain for part in on.ui.status.draw("INSERT", "working", 60))
            assert rule == "─ working ─── claude-large-4-20260… · $0.0554 · 9% of 200k ─"
            assert line == "[INSERT] [EXECUTE] [i:16.4k(c:7.3k) o:1.9k] [NET on]", line
            rule, line = (part.plain for part in on.ui.status.draw("INSERT", "", 30))
            assert rule.endswith(" claude-large… · $0.0554 ─") and line == "[INSERT] [EXECUTE] [NET on]"
            rule, line = (part.plain for part in on.ui.status.draw("INSERT", "", 200))
            assert (
                rule == "─" * 200 and "o:1893] [NET on]  vendors/anthropic/claude-large-4-20260101 · $0.0554 · " in line
            )

    play(story())


def test_counts_of_tokens_are_short_where_there_is_no_room():
    numbers = [0, 999, 1_000, 1_234, 10_412, 99_949, 99_950, 999_499, 999_500, 45_600_000, 812_000_000]
    assert [short(number) for number in numbers] == [
        "0", "999", "1.0k", "1.2k", "10.4k", "99.9k", "100k", "999k", "1.0M", "45.6M", "812M",
    ]  # fmt: skip
    assert counted(CACHED, short) == "i:1.2k(c:800) o:567"
