"""The plugin in a host: which compactor works, its sizes, and what each one writes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import replace

import pytest
import skillkit_compactors.plugin
from skillkit_compactors import PruneCompactor, SlidingWindowCompactor, SummaryCompactor, TokenBudgetCompactor

from skillkit_core import (
    AbortSignal,
    AgentConfig,
    AgentRunner,
    AssistantMessage,
    CompactionRequest,
    ConfigError,
    CustomMessage,
    ErrorKind,
    ImageBlock,
    ModelDefinition,
    ProviderError,
    StopReason,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from skillkit_core.estimates import estimate_message
from skillkit_core.testing import Fail, Reply, ScriptedModel

PREFIX = "Summary of the conversation so far:\n\n"
PLUGIN = ("compactors", skillkit_compactors.plugin)
MODEL = ModelDefinition("small", "scripted", "scripted", context_window=4_000)
LONG = "A parser reads tokens. " * 40  # 230 tokens


def estimate(messages):
    return sum(map(estimate_message, messages))


def talk(turns, of=LONG):
    """Questions and answers."""
    out = []
    for n in range(turns):
        out += [UserMessage(content=f"Question {n}."), AssistantMessage(content=f"Answer {n}. {of}")]
    return out


def step(n, name, result="fine", **args):
    """A call and its result."""
    call = ToolCall(f"c{n}", name, args)
    failed = {"is_error": True, "outcome": "error"} if result == "failed" else {}
    content = (TextBlock(result),) if isinstance(result, str) else result
    return [
        AssistantMessage(content=(call,)),
        ToolResultMessage(tool_call_id=call.id, tool_name=name, content=content, **failed),
    ]


def compact(
    compactor,
    messages,
    *,
    reason="threshold",
    window=4_000,
    tokens=None,
    answer="A summary.",
    asked=None,
    estimate=estimate,
):
    """The result of one compaction; the prompts are appended to ``asked``."""
    asked = [] if asked is None else asked

    async def complete(prompt, shown):
        asked.append(prompt)
        assert not shown, "the conversation is shown as text"
        said = answer(prompt) if callable(answer) else answer
        if isinstance(said, Exception):
            raise said
        return said

    size = estimate(messages) if tokens is None else tokens
    request = CompactionRequest(
        tuple(messages), MODEL, reason, size, window, (window or size) // 2, AbortSignal(), estimate, complete
    )
    return asyncio.run(compactor.compact(request))


def earlier(result):
    """The message that the core makes of a summary."""
    return CustomMessage(custom_type="compaction_summary", content=PREFIX + result.summary, in_context=True)


# --- in a host --------------------------------------------------------------------------------------------------


def test_the_plugin_imports_nothing_heavy():
    code = "import sys, skillkit_compactors.plugin; print([m for m in sys.modules if 'pydantic' in m or 'compactors' in m])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "['skillkit_compactors', 'skillkit_compactors.plugin']"


@pytest.mark.smoke
def test_the_first_compactor_summarises_and_the_setting_chooses_another(make_host):
    host = make_host(PLUGIN)
    assert host.compactors.list() == ["summary", "prune", "sliding-window", "token-budget"]
    kinds = [SummaryCompactor, PruneCompactor, SlidingWindowCompactor, TokenBudgetCompactor]
    assert [type(host.compactors.get(name)) for name in host.compactors.list()] == kinds


@pytest.mark.parametrize(("name", "asks"), [(None, 1), ("sliding-window", 0), ("token-budget", 0), ("prune", 1)])
async def test_a_conversation_is_compacted_by_the_chosen_one(make_host, name, asks):
    host = make_host(PLUGIN)
    host.configure({"compactor": name} if name else {})
    model = ScriptedModel([lambda r: "Summed up." if r.system == "You summarise conversations." else LONG], repeat=True)
    async with AgentRunner(AgentConfig(model=MODEL), host=host) as agent:
        agent.set_adapter(model)
        ends = []
        agent.events.on("compaction_end", lambda e: ends.append(e.outcome))
        for n in range(20):
            await agent.chat(f"Question {n}.")
        assert ends == ["completed"] * len(ends) and ends
        summaries = [r for r in model.requests if r.system == "You summarise conversations."]
        assert bool(summaries) == bool(asks)
        assert agent.messages[-2].text == "Question 19."
        purposes = [e.data["purpose"] for e in agent.session.entries if e.type == "usage"]
        assert purposes.count("compaction") == len(summaries), "the summary's request is in the ledger"


async def test_moving_the_leaf_back_undoes_pruning(make_host):
    host = make_host(PLUGIN)
    host.configure({"compactor": "prune", "compactors": {"then": None, "keep_results": 0}})
    async with AgentRunner(AgentConfig(model=MODEL), host=host) as agent:
        agent.set_adapter(ScriptedModel(["never"]))
        await agent.open()
        for message in [UserMessage(content="Read it."), *step(1, "read", "line " * 2_000, path="a.txt")]:
            await agent.session.append_message(message)
        before, leaf = agent.messages, agent.session.leaf_id
        assert await agent.compact()
        assert len(agent.messages) == 3 and "characters left out" in agent.messages[-1].text
        entry = agent.session.entries[-1]
        assert entry.type == "compaction" and entry.data["details"] == {"pruned_results": 1}
        await agent.session.move_to(leaf)
        assert agent.messages == before


async def test_an_overflow_leads_to_one_compaction_and_one_more_try(make_host):
    unknown = ModelDefinition("unknown", "scripted", "scripted")
    once = [Fail(ErrorKind.overflow, "too long", status=400)]

    def answer(request):
        if request.system == "You summarise conversations.":
            return "Summed up."
        return once.pop() if request.messages[-1].text == "And now?" and once else LONG

    async with AgentRunner(AgentConfig(model=unknown), host=make_host(PLUGIN)) as agent:
        agent.set_adapter(ScriptedModel([answer], repeat=True))
        for n in range(8):
            await agent.chat(f"Question {n}.")
        assert (await agent.chat("And now?")).content == LONG
        assert not once
        assert "Summed up." in agent.messages[0].text


async def test_a_summary_that_fails_leaves_the_conversation(make_host):
    host = make_host(PLUGIN)
    async with AgentRunner(AgentConfig(model=MODEL), host=host) as agent:
        agent.set_adapter(ScriptedModel([*[LONG] * 8, Fail(ErrorKind.auth, "no key", status=401)]))
        for n in range(8):
            await agent.chat(f"Question {n}.")
        before = agent.messages
        assert not await agent.compact()
        assert agent.messages == before


async def test_a_model_that_refuses_to_summarise_leaves_what_the_user_said(make_host):
    async with AgentRunner(AgentConfig(model=MODEL), host=make_host(PLUGIN)) as agent:
        agent.set_adapter(
            ScriptedModel([*[LONG] * 8, Reply("I would rather not.", stop=StopReason.refusal)], repeat=True)
        )
        for n in range(8):
            await agent.chat(f"Question {n}.")
        assert await agent.compact()
        assert "- Question 0." in agent.messages[0].text and "rather not" not in agent.messages[0].text


@pytest.mark.parametrize(
    ("section", "path"),
    [({"turn": 3}, "compactors.turn"), ({"turns": 0}, "compactors.turns"), ({"then": "prune"}, "then")],
)
def test_a_wrong_setting_names_its_path(make_host, section, path):
    host = make_host(PLUGIN)
    host.configure({"compactors": section})
    with pytest.raises(ConfigError, match=path):
        host.compactors.get("summary")


def test_sizes_come_from_the_section_or_from_the_caller(make_host):
    host = make_host(PLUGIN)
    host.configure({"compactors": {"turns": 2, "budget": 700, "then": "token-budget"}})
    assert host.compactors.get("sliding-window").turns == 2
    assert SlidingWindowCompactor(turns=5).turns == 5
    assert type(host.compactors.get("prune").then) is TokenBudgetCompactor
    result = compact(host.compactors.get("token-budget"), talk(12))
    assert estimate(talk(12)[result.keep_from :]) < 700


# --- what each keeps --------------------------------------------------------------------------------------------


def test_the_window_keeps_the_newest_turns_and_a_line_of_each_older_question():
    result = compact(SlidingWindowCompactor(turns=2), talk(12))
    assert result.keep_from == 20
    assert result.summary.splitlines()[1:] == [f"- Question {n}." for n in range(10)]
    again = [earlier(result), *talk(12)[20:], *talk(12)]
    result = compact(SlidingWindowCompactor(turns=2), again)
    lines = result.summary.splitlines()
    assert lines[1:3] == ["- Question 0.", "- Question 1."] and lines[-1] == "- Question 9.", "the lines are carried on"
    assert len(lines) == 1 + 12 + 10


def test_the_budget_keeps_as_many_messages_as_fit():
    result = compact(TokenBudgetCompactor(), talk(20))
    kept = estimate(talk(20)[result.keep_from :])
    assert 1_000 < kept <= 2_000
    assert "left out" in result.summary


def test_pruning_cuts_old_results_first_and_leaves_the_newest():
    messages = [UserMessage(content="Look.")]
    for n in range(8):
        messages += step(n, "read", f"{n} " + "line " * 400, path=f"{n}.txt")
    result = compact(PruneCompactor(then=None), messages)
    assert result.keep_from == 0 and result.summary == ""
    assert sorted(result.replacements) == [2, 4, 6, 8][: len(result.replacements)]
    assert all(len(m.text) < 500 for m in result.replacements.values())


def test_an_image_in_an_old_result_goes_and_is_said():
    messages = [UserMessage(content="Look.")]
    for n in range(6):
        messages += step(n, "shot", (TextBlock("seen"), ImageBlock(data="iVBORw0KGgo=")))
    result = compact(PruneCompactor(then=None), messages)
    assert result.replacements[2].text == "seen\n[1 image or documents left out]"


def test_where_pruning_is_too_little_the_next_compactor_works():
    assert compact(PruneCompactor(then=None), talk(20)) is None
    assert compact(PruneCompactor(), talk(20)).summary == "A summary."
    assert "left out" in compact(PruneCompactor(then="token-budget"), talk(20)).summary


def test_the_summary_is_carried_on_from_the_one_before():
    asked = []
    first = compact(SummaryCompactor(), talk(20), answer="Goal: parse. RULE-1 holds.")
    compact(SummaryCompactor(), [earlier(first), *talk(20)], asked=asked)
    assert all("RULE-1 holds." in prompt.split("<conversation>")[0] for prompt in asked[:1])
    assert PREFIX.strip() not in asked[0]


def test_the_conversation_is_summed_up_in_parts_that_fit_the_window():
    asked = []
    messages = talk(60)
    compact(SummaryCompactor(), messages, asked=asked, answer=lambda prompt: f"So far {len(asked)}.")
    assert len(asked) > 3
    assert all(estimate([UserMessage(content=prompt)]) < 4_000 for prompt in asked)
    assert [f"So far {n}." in asked[n] for n in range(1, len(asked))] == [True] * (len(asked) - 1)
    shown = "".join(asked)
    assert all(f"Question {n}." in shown for n in range(50))


def test_a_model_that_says_nothing_loses_no_earlier_summary():
    earlier_one = earlier(compact(SummaryCompactor(), talk(20), answer="RULE-1 holds."))
    answers = iter(["", "RULE-2 holds, too.", *[""] * 99])
    result = compact(SummaryCompactor(), [earlier_one, *talk(40)], answer=lambda prompt: next(answers))
    assert result.summary == "RULE-2 holds, too."
    result = compact(SummaryCompactor(), [earlier_one, *talk(40)], answer="")
    assert result.summary.startswith("RULE-1 holds.\n") and "- Question 20." in result.summary


def test_a_summary_that_is_the_same_again_stays():
    once = compact(SummaryCompactor(), talk(20), answer="RULE-1 holds.")
    assert compact(SummaryCompactor(), [earlier(once), *talk(20)], answer="RULE-1 holds.").summary == "RULE-1 holds."


def test_a_request_that_is_too_long_after_all_is_halved():
    asked = []

    def answer(prompt):
        return ProviderError("too long", kind=ErrorKind.overflow) if len(prompt) > 6_000 else f"Part {len(asked)}."

    result = compact(SummaryCompactor(), talk(30), answer=answer, asked=asked)
    assert result.summary == f"Part {len(asked)}."
    seen = "".join(prompt for prompt in asked if len(prompt) <= 6_000)
    assert all(f"Question {n}." in seen for n in range(result.keep_from // 2))
    with pytest.raises(ProviderError):
        compact(SummaryCompactor(), talk(30), answer=lambda prompt: ProviderError("never", kind=ErrorKind.overflow))


def test_the_files_that_were_changed_are_carried_on_over_compactions():
    messages = [UserMessage(content="Build it.")]
    messages += step(1, "write", path="src/new.py", content="x")
    messages += step(2, "edit", "failed", path="src/other.py", old="a", new="b")
    messages += step(3, "mcp__fs__read_file", path="docs/read.md")
    messages += step(4, "read", path="src/new.py")
    messages += step(5, "apply_patch", patch="*** Begin Patch")
    messages[-1] = replace(messages[-1], details={"files": [{"path": "src/patched.py"}]})
    for round_ in range(3):
        result = compact(SummaryCompactor(), [*messages, *talk(20)], answer="All went well.")
        assert result.details == {"changed_files": ["src/new.py", "src/patched.py"], "read_files": ["docs/read.md"]}
        assert "<changed-files>\nsrc/new.py\nsrc/patched.py\n</changed-files>" in result.summary, round_
        messages = [earlier(result)]
    assert json.dumps(result.details)


@pytest.mark.parametrize("make", [SummaryCompactor, TokenBudgetCompactor, SlidingWindowCompactor])
def test_a_turn_that_is_split_keeps_what_was_asked(make):
    messages = [*talk(3), UserMessage(content="Rename every FOO to BAR, but not in docs.")]
    for n in range(40):
        messages += step(n, "bash", LONG, command="grep")
    messages.insert(21, UserMessage(content="And be quick.", source="steer"))
    result = compact(make(), messages)
    assert result.keep_from > 10
    asked = "<request-under-way>\nRename every FOO to BAR, but not in docs.\nAnd be quick.\n</request-under-way>"
    assert asked in result.summary
    summary = earlier(result)
    more = [m for n in range(50, 90) for m in step(n, "bash", LONG, command="sed")]
    assert asked in compact(make(), [summary, *messages[result.keep_from :], *more]).summary, "and the next time"
    assert "request-under-way" not in compact(make(), [summary, *more, *talk(12)]).summary, "until the next turn"


@pytest.mark.parametrize("make", [SummaryCompactor, TokenBudgetCompactor, SlidingWindowCompactor, PruneCompactor])
def test_a_newest_result_that_is_larger_than_the_window_is_cut_and_its_question_stays(make):
    messages = [
        *talk(3),
        UserMessage(content="Read it."),
        *step(1, "read", "begin " + "x" * 100_000 + " end", path="a"),
    ]
    result = compact(make(), messages)
    assert result.keep_from == 6
    (cut,) = result.replacements.values()
    assert cut.text.startswith("begin ") and cut.text.endswith(" end") and "characters left out" in cut.text
    assert estimate([*messages[6:8], cut]) < 2_000


def test_pinned_messages_are_paid_for_and_not_told_again():
    pinned = CustomMessage(custom_type="skill", content="Always X. " * 300, in_context=True, pinned=True)
    asked = []
    result = compact(SummaryCompactor(), [pinned, *talk(20)], asked=asked)
    assert estimate([pinned, UserMessage(content=result.summary), *talk(20)[result.keep_from - 1 :]]) <= 2_000
    assert "Always X." not in asked[0]


def test_system_prompt_and_tools_take_their_part_of_the_window():
    messages = talk(14)
    result = compact(TokenBudgetCompactor(), messages, tokens=estimate(messages) + 1_600)
    assert estimate(messages[result.keep_from :]) + 1_600 <= 3_000


def test_nothing_is_done_where_nothing_is_gained():
    for make in (SummaryCompactor, TokenBudgetCompactor, SlidingWindowCompactor, PruneCompactor):
        assert compact(make(), talk(3)) is None
        assert compact(make(), talk(1), reason="manual") is None
        assert compact(make(), [], reason="manual") is None


def test_an_estimator_of_another_scale_is_all_that_counts():
    def coarse(messages):
        return sum(2 + len(m.text.encode()) for m in messages)  # a token a byte

    messages = talk(20, of="日本語のテキスト。" * 20)
    result = compact(SummaryCompactor(), messages, window=16_000, estimate=coarse, answer="要約。" * 4_000)
    after = [UserMessage(content=result.summary), *messages[result.keep_from :]]
    assert coarse(after) <= 8_000
