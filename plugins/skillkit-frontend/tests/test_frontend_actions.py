"""How the words after an action become the values that its schema wants."""

import pytest
from hypothesis import given, strategies as st
from skillkit_frontend import parse_action_args, usage_line

from skillkit_core import ActionArg, SkillAction, UsageError

ACTION = SkillAction(
    "convert",
    script="scripts/convert.py",
    args=(
        ActionArg("input", "file", required=True, position=1),
        ActionArg("output", "file", position=2),
        ActionArg("page_size", "integer"),
        ActionArg("ratio", "number"),
        ActionArg("dry_run", "boolean"),
        ActionArg("tags", "array"),
        ActionArg("data", "json"),
        ActionArg("level", "string", flag="-l"),
    ),
)


def parse(*words):
    return parse_action_args("pdf", ACTION, words)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["a.pdf"], {"input": "a.pdf"}),
        (["a.pdf", "b.pdf"], {"input": "a.pdf", "output": "b.pdf"}),
        (["--page-size", "3", "a.pdf"], {"input": "a.pdf", "page_size": 3}),
        (["--page_size=3", "a.pdf"], {"input": "a.pdf", "page_size": 3}),
        (["a.pdf", "--ratio", "-0.5"], {"input": "a.pdf", "ratio": -0.5}),
        (["a.pdf", "--dry-run"], {"input": "a.pdf", "dry_run": True}),
        (["--dry-run", "a.pdf"], {"input": "a.pdf", "dry_run": True}),
        (["--dry-run", "false", "a.pdf"], {"input": "a.pdf", "dry_run": False}),
        (["a.pdf", "--tags", "x", "--tags", "y z"], {"input": "a.pdf", "tags": ["x", "y z"]}),
        (["a.pdf", "--data", '{"a": [1]}'], {"input": "a.pdf", "data": {"a": [1]}}),
        (["--input", "a.pdf"], {"input": "a.pdf"}),
        (["--", "--odd name.pdf"], {"input": "--odd name.pdf"}),
        (["; rm -rf ~.pdf"], {"input": "; rm -rf ~.pdf"}),
    ],
)
def test_words_become_values(words, values):
    assert parse(*words) == values


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "'input' is missing"),
        (["a.pdf", "--page-size", "many"], "must be a whole number, not 'many'"),
        (["a.pdf", "--ratio", "nan"], "must be a finite number"),
        (["a.pdf", "--ratio", "x"], "must be a number"),
        (["a.pdf", "--data", "{"], "must be JSON"),
        (["a.pdf", "--pagesize", "1"], "did you mean --page-size?"),
        (["a.pdf", "--page-size"], "--page-size needs a value"),
        (["a.pdf", "b.pdf", "c.pdf"], "one argument too many: 'c.pdf'"),
        (["a.pdf", "--ratio", "1", "--ratio", "2"], "given twice"),
    ],
)
def test_a_wrong_word_is_an_error_that_says_how_to_call_the_action(words, message):
    with pytest.raises(UsageError) as caught:
        parse(*words)
    assert message in str(caught.value)
    assert caught.value.where == "action pdf convert"
    assert caught.value.exit_code == 2


def test_the_usage_line_names_every_argument():
    line = usage_line("pdf", ACTION)
    assert line.startswith("skillkit run --skill pdf convert <input> [<output>]")
    for arg in ("--page-size <integer>", "--dry-run", "--tags <array>"):
        assert f"[{arg}]" in line


@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_words_give_values_or_one_clear_error(words):
    try:
        values = parse(*words)
    except UsageError as error:
        assert "\n" not in str(error)
    else:
        assert set(values) <= {arg.name for arg in ACTION.args}
        assert "input" in values


@given(st.text(min_size=1), st.integers())
def test_a_value_after_an_equals_sign_arrives_as_it_is(text, number):
    values = parse(f"--input={text}", f"--page-size={number}")
    assert values == {"input": text, "page_size": number}


SECRET = SkillAction(
    "send",
    run=("./send",),
    args=(
        ActionArg("to", "string", required=True, position=2),
        ActionArg("api_token", "string", required=True, secret=True, position=1),
    ),
)


def test_a_required_secret_is_no_argument_of_a_command_line():
    assert parse_action_args("mail", SECRET, ["ana"]) == {"to": "ana"}
    assert usage_line("mail", SECRET) == "skillkit run --skill mail send <to>"
    for words in (["ana", "--api-token", "abc"], ["ana", "--api_token=abc"]):
        with pytest.raises(UsageError, match="is a secret") as failed:
            parse_action_args("mail", SECRET, words)
        assert "API_TOKEN" in str(failed.value.hint)
