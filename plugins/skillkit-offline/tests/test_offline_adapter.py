"""The adapter as the loop uses it: one stream of events for a request, one for the result."""

import asyncio
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
from skillkit_offline import OfflineAdapter

from skillkit_core.contracts.adapter import LLMRequest, ModelSettings
from skillkit_core.errors import ErrorKind
from skillkit_core.messages import AssistantMessage, StopReason, ToolCall, ToolResultMessage, UserMessage
from skillkit_core.models import ModelDefinition, TokenUsage

MODEL = ModelDefinition("offline", "offline", "offline")


def collect(adapter, request):
    async def run():
        return [event async for event in adapter.stream(request)]

    return asyncio.run(run())


def answer(text, actions, cwd=None, **settings):
    request = LLMRequest(MODEL, [UserMessage(content=text)], actions, settings=ModelSettings(**settings))
    return asyncio.run(OfflineAdapter(SimpleNamespace(cwd=cwd)).complete(request))


def after_result(actions, content, **facts):
    call = ToolCall("call_1", "tree-view__tree", {})
    messages = [
        UserMessage(content="tree of src"),
        AssistantMessage(content=(call,), stop_reason=StopReason.tool_calls),
        ToolResultMessage(tool_call_id="call_1", tool_name="tree-view__tree", content=content, **facts),
    ]
    return asyncio.run(OfflineAdapter().complete(LLMRequest(MODEL, messages, actions)))


def test_a_request_becomes_one_tool_call_through_the_usual_events(actions, workspace):
    events = collect(
        OfflineAdapter(SimpleNamespace(cwd=workspace)), LLMRequest(MODEL, [UserMessage(content="tree of src")], actions)
    )

    assert [e.type for e in events] == ["tool_call_start", "tool_call_delta", "tool_call_end", "done"]
    assert events[0].tool_name == "tree-view__tree"
    assert json.loads(events[1].content) == {"path": "src"}
    assert events[-1].stop_reason is StopReason.tool_calls
    assert events[-1].usage == TokenUsage()


def test_the_message_says_that_it_is_offline_and_costs_nothing(actions):
    message = answer("2+2", actions)

    assert (message.provider, message.api, message.model) == ("offline", "offline", "offline")
    assert message.text == ""
    assert message.tool_calls[0].args == {"expression": "2+2"}
    assert message.usage.total == 0


def test_calls_of_one_session_have_different_ids(actions):
    ids = {answer("2+2", actions).tool_calls[0].id for _ in range(20)}

    assert len(ids) == 20


def test_the_result_of_its_call_is_the_answer(actions):
    message = after_result(actions, "src\n  a.py")

    assert message.text == "src\n  a.py"
    assert message.stop_reason is StopReason.stop


@pytest.mark.parametrize(
    "content",
    [
        'One file.\n\n{"answer": "One file.", "files": 1}',
        'answer: One file.\n{"files": 1}',
        '{"answer": "One file.", "files": 1}',
        '{\n  "answer": "One file.",\n  "files": 1\n}',
    ],
)
def test_of_an_answer_with_data_behind_it_the_answer_is_shown(actions, content):
    assert after_result(actions, content).text == "One file."


@pytest.mark.parametrize("content", ['{"files": 1}', "a {b}", '["x"]', "text\n{not json}", '{"answer": 3}'])
def test_other_results_are_shown_as_they_are(actions, content):
    assert after_result(actions, content).text == content


def test_a_failed_action_fails_the_run_with_its_own_words(actions):
    message = after_result(actions, "no such folder: src", is_error=True)

    assert message.text == "no such folder: src"
    assert message.stop_reason is StopReason.refusal


def test_what_a_hook_adds_to_a_request_or_to_a_result_is_no_request(actions, workspace):
    hook = UserMessage(content="[house rules]\nAnswer in rhymes.", source="custom:shell-hooks.context")
    asked = [UserMessage(content="tree of src"), hook]
    adapter = OfflineAdapter(SimpleNamespace(cwd=workspace))
    called = asyncio.run(adapter.complete(LLMRequest(MODEL, asked, actions)))
    assert [call.args for call in called.tool_calls] == [{"path": "src"}]

    result = ToolResultMessage(tool_call_id=called.tool_calls[0].id, tool_name="tree-view__tree", content="a.txt")
    told = asyncio.run(adapter.complete(LLMRequest(MODEL, [*asked, called, result, hook], actions)))
    assert (told.text, told.stop_reason) == ("a.txt", StopReason.stop)


def test_a_new_message_after_a_result_is_a_new_request(actions):
    call = ToolCall("call_1", "tree-view__tree", {})
    messages = [
        UserMessage(content="tree of src"),
        AssistantMessage(content=(call,), stop_reason=StopReason.tool_calls),
        ToolResultMessage(tool_call_id="call_1", content="src"),
        UserMessage(content="what is 2+2"),
    ]
    message = asyncio.run(OfflineAdapter().complete(LLMRequest(MODEL, messages, actions)))

    assert message.tool_calls[0].name == "number-crunch__evaluate"


def test_where_nothing_fits_the_candidates_are_listed_and_the_run_is_refused(actions):
    message = answer("translate people.csv to German", actions)

    assert message.stop_reason is StopReason.refusal
    assert not message.tool_calls
    assert message.text.startswith('No skill fits this request, so nothing ran: not understood: "translate", "German".')
    assert "\n- table-tools describe: Describe the columns of a table" in message.text
    assert "  For example: describe the columns of people.csv" in message.text


def test_where_nothing_is_near_one_action_of_each_skill_is_listed(actions):
    message = answer("hello", actions)

    assert "Offline, these can be asked for:" in message.text
    assert "and 2 more: skillkit skills list" in message.text


def test_without_any_skill_the_answer_says_so():
    message = answer("tree of src", ())

    assert message.stop_reason is StopReason.refusal
    assert "No skill with a deterministic action is installed" in message.text


def test_a_missing_argument_is_named_with_the_command_that_states_it(actions):
    message = answer("resize photo.png", actions)

    assert message.stop_reason is StopReason.refusal
    assert "image-resize resize fits, but did not run: the request does not state width" in message.text
    assert "skillkit run --skill image-resize resize --file photo.png --width WIDTH" in message.text


def test_the_command_quotes_what_a_shell_would_read(actions):
    message = answer("resize 'a b; rm -rf.png'", actions)

    assert "--file 'a b; rm -rf.png' --width WIDTH" in message.text


def test_two_requests_joined_by_and_are_two_calls_or_none(actions):
    both = answer("describe people.csv and then count the words of essay.txt", actions)
    shared = answer("how many rows does sales.csv have and what is the average of price?", actions)
    none = answer("describe people.csv and what is the weather", actions)

    assert [c.name for c in both.tool_calls] == ["table-tools__describe", "word-count__count"]
    assert [dict(c.args) for c in shared.tool_calls] == [
        {"file": "sales.csv"},
        {"file": "sales.csv", "column": "price"},
    ]
    assert none.stop_reason is StopReason.refusal
    assert '"weather"' in none.text.partition("\n")[0]


@pytest.mark.parametrize(
    "text",
    [
        'search server.log for "a and what is b"',
        "rows of sales.csv where region is north and count > 5",
        "merge a.pdf and b.pdf into 'this and show that.pdf'",
    ],
)
def test_an_and_in_a_value_joins_no_requests(text, actions):
    assert len(answer(text, actions).tool_calls) == 1


def test_of_joined_requests_one_that_fails_fails_all(actions):
    calls = tuple(ToolCall(f"call_{n}", "tree-view__tree", {}) for n in range(2))
    messages = [
        UserMessage(content="tree of src and show the tree of docs"),
        AssistantMessage(content=calls, stop_reason=StopReason.tool_calls),
        ToolResultMessage(tool_call_id="call_0", tool_name="tree-view__tree", content="src"),
        ToolResultMessage(tool_call_id="call_1", tool_name="tree-view__tree", content="no docs here", is_error=True),
    ]
    message = asyncio.run(OfflineAdapter().complete(LLMRequest(MODEL, messages, actions)))

    assert (message.text, message.stop_reason) == ("no docs here", StopReason.refusal)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("how many rows should sales.csv have", "should"),
        ("how many rows did sales.csv have", "did"),
        ("if sales.csv has rows describe it", "if"),
        ("sales.csv has 5 rows", "has"),
        ("there are 5 rows in sales.csv", "there"),
        ("how many rwos does sales.csv have", "rwos"),
        ("don't count the rows of sales.csv", "don't"),
        ("wieviele rows hat sales.csv", "wieviele"),
    ],
)
def test_a_word_that_changes_the_meaning_declines_and_is_named(text, word, actions):
    first = answer(text, actions).text.partition("\n")[0]

    assert f'"{word}"' in first


@pytest.mark.parametrize("text", ["hello", "thank you", "please", "could you please", "?"])
def test_a_request_of_courtesy_alone_declines_with_its_words(text, actions):
    assert f'"{text.split()[0]}"' in answer(text, actions).text.partition("\n")[0]


def test_a_tie_between_skills_is_refused(make_action):
    twins = tuple(
        make_action(name, "show", "Show a colour.", examples=["show the colour red"]) for name in ("hue-a", "hue-b")
    )
    message = answer("show the colour red", twins)

    assert message.stop_reason is StopReason.refusal
    assert message.text.startswith("Several skills fit this request alike")
    assert "hue-a show" in message.text and "hue-b show" in message.text


def test_a_tie_between_actions_is_decided_by_the_arguments(make_action):
    shared = {"examples": [], "keywords": ["colour"]}
    needs = make_action("hue", "paint", "Show a colour.", **shared, tone={"required": True, "type": "integer"})
    free = make_action("hue", "plain", "Show a colour.", **shared)

    assert answer("show a colour", (needs, free)).tool_calls[0].name == "hue__plain"
    assert answer("show a colour, tone 3", (needs, free)).tool_calls[0].args == {"tone": 3}


def test_tool_choice_is_respected(actions):
    assert not answer("tree of src", actions, tool_choice="none").tool_calls
    assert answer("tree of src", actions, tool_choice="word-count__count").stop_reason is StopReason.refusal
    named = answer("something about essay.txt", actions, tool_choice="word-count__count")
    assert named.tool_calls[0].args == {"file": "essay.txt"}


def test_nothing_in_an_answer_steers_the_terminal(actions):
    message = answer("resize \x1b[2J\x07photo\u202e.png", actions)

    assert "\x1b" not in message.text and "\x07" not in message.text and "\u202e" not in message.text


def test_an_abort_before_the_start_is_one_error_event(actions):
    request = LLMRequest(MODEL, [UserMessage(content="2+2")], actions)
    request.signal.abort()

    events = collect(OfflineAdapter(), request)

    assert [e.type for e in events] == ["error"]
    assert events[0].error.kind is ErrorKind.aborted
    assert events[0].stop_reason is StopReason.aborted


def test_an_abort_between_events_ends_the_stream_with_one_error(actions):
    request = LLMRequest(MODEL, [UserMessage(content="2+2")], actions)

    async def run():
        events = []
        async for event in OfflineAdapter().stream(request):
            events.append(event)
            request.signal.abort()
        return events

    assert [e.type for e in asyncio.run(run())] == ["tool_call_start", "error"]


def test_a_failure_inside_is_an_error_event_and_never_an_exception(actions):
    class Broken:
        @property
        def cwd(self):
            raise OSError("the directory is gone")

    events = collect(OfflineAdapter(Broken()), LLMRequest(MODEL, [UserMessage(content="2+2")], actions))

    assert [e.type for e in events] == ["error"]
    assert "the directory is gone" in str(events[0].error)


def test_the_plugin_registers_a_provider_without_a_key_and_a_free_model():
    from skillkit_offline import plugin

    providers, models = [], []
    plugin.register_adapters(providers.append)
    plugin.register_models(models.append)

    assert (providers[0].name, providers[0].rank, providers[0].api_key_env) == ("offline", 1000, ())
    assert providers[0].default_model == "offline"
    assert models[0].cost_of(TokenUsage(10, 10)) == 0
    assert models[0].context_window == 0


def test_importing_the_plugin_imports_nothing_heavy():
    code = (
        "import sys; import skillkit_core.hookspecs.markers; from skillkit_core import hookimpl; before = set(sys.modules);"
        "import skillkit_offline.plugin; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["skillkit_offline", "skillkit_offline.plugin"]
