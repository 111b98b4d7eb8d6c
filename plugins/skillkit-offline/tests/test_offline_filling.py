"""What ``fill`` reads out of a request, and what it refuses to guess."""

import pytest
from skillkit_offline import fill


@pytest.fixture
def tool(make_action):
    return lambda **args: make_action("some-skill", "act", "Acts.", **args)


STATED = [
    # request, arguments of the action, what is filled
    ("look at 'a b.txt'", {"file": {"type": "file"}}, {"file": "a b.txt"}),
    ("look at “quoted name.md”", {"file": {"type": "file"}}, {"file": "quoted name.md"}),
    ("look at ../other/data.json.", {"file": {"type": "file"}}, {"file": "../other/data.json"}),
    ("look at ~/notes/x.md, please", {"file": {"type": "file"}}, {"file": "~/notes/x.md"}),
    ("look at (data.json)", {"file": {"type": "file"}}, {"file": "data.json"}),
    ("look at .gitignore", {"file": {"type": "file"}}, {"file": ".gitignore"}),
    ("list *.py in src/", {"path": {"type": "file"}, "pattern": {}}, {"path": "src/", "pattern": "*.py"}),
    (
        "compare a.txt with b.txt",
        {"left": {"type": "file"}, "right": {"type": "file"}},
        {"left": "a.txt", "right": "b.txt"},
    ),
    ("e.g. 3.5 km/h and/or 24/7, i.e. U.S. units", {"file": {"type": "file"}}, {}),
    ("--depth 3", {"depth": {"type": "integer"}}, {"depth": 3}),
    ("--depth=3", {"depth": {"type": "integer"}}, {"depth": 3}),
    ("depth=3", {"depth": {"type": "integer"}}, {"depth": 3}),
    ("depth of 3", {"depth": {"type": "integer"}}, {"depth": 3}),
    ("three levels deep", {"depth": {"type": "integer"}}, {"depth": 3}),
    (
        "--title 'two words' --verbose",
        {"title": {}, "verbose": {"type": "boolean"}},
        {"title": "two words", "verbose": True},
    ),
    ("--no-color", {"color": {"type": "boolean", "default": True}}, {"color": False}),
    ("without color", {"color": {"type": "boolean", "default": True}}, {"color": False}),
    ("recursively", {"recursive": {"type": "boolean"}}, {"recursive": True}),
    ("not sorted, recursive", {"recursive": {"type": "boolean"}, "sorted": {"type": "boolean"}}, {"recursive": True}),
    ("top 5", {"limit": {"type": "integer"}}, {"limit": 5}),
    ("the 20 largest ones", {"top": {"type": "integer"}}, {"top": 20}),
    ("over 10 MB", {"min-size": {"type": "string"}}, {"min-size": "10 MB"}),
    ("more than 1,500 bytes", {"minimum": {"type": "integer"}}, {"minimum": 1500}),
    ("ratio 0.75", {"ratio": {"type": "number"}}, {"ratio": 0.75}),
    ("as JSON", {"format": {"enum": ["json", "csv"]}}, {"format": "json"}),
    ("json or csv", {"format": {"enum": ["json", "csv"]}}, {}),
    ("--format csv, not json", {"format": {"enum": ["json", "csv"]}}, {"format": "csv"}),
    ("since last week", {"since": {}}, {"since": "last week"}),
    ("since 2026-01-01", {"since": {}}, {"since": "2026-01-01"}),
    ("since v1.2", {"since": {}}, {"since": "v1.2"}),
    ("in the past two months", {"since": {}}, {"since": "past two months"}),
    ("3 days ago", {"since": {}}, {"since": "3 days ago"}),
    (
        "between 2026-01-01 and 2026-02-01",
        {"since": {}, "until": {}},
        {"since": "2026-01-01", "until": "2026-02-01"},
    ),
    ("where price > 10 and region is north", {"where": {}}, {"where": "price > 10 and region is north"}),
    ("where price > 10, then sort by region", {"where": {}, "sort": {}}, {"where": "price > 10", "sort": "region"}),
    ("columns x, y and z", {"columns": {"type": "array"}}, {"columns": ["x", "y", "z"]}),
    (
        "the mean of unit_price by region",
        {"column": {"x-words": ["of"]}, "by": {"x-words": ["by"]}},
        {"column": "unit_price", "by": "region"},
    ),
    ("the number of rows", {"column": {}}, {}),
    ('say "hello there"', {"text": {"required": True}}, {"text": "hello there"}),
    ("make a slug of this: Hello World", {"text": {"required": True}}, {"text": "Hello World"}),
    ('post {"a": [1, 2]}', {"body": {"type": "json", "required": True}}, {"body": {"a": [1, 2]}}),
    (
        "add 3 and 4.5",
        {"a": {"type": "number", "required": True}, "b": {"type": "number", "required": True}},
        {"a": 3, "b": 4.5},
    ),
    ("what is this?", {"request": {"x-fill": "request"}}, {"request": "what is this?"}),
    ("a\x1b[31mb\x00c", {"request": {"x-fill": "request"}}, {"request": "a [31mb c"}),
]


@pytest.mark.parametrize(("request_text", "args", "expected"), STATED, ids=[f"{r[0]!r}" for r in STATED])
def test_what_a_request_states_becomes_an_argument(request_text, args, expected, tool):
    filled = fill(request_text, tool(**args))

    assert filled.args == expected
    assert not filled.problems


PROBLEMS = [
    ("--depth deep", {"depth": {"type": "integer"}}, "depth must be a whole number, not 'deep'"),
    ("top 0", {"top": {"type": "integer", "minimum": 1}}, "top must be at least 1, not 0"),
    ("--format xml", {"format": {"enum": ["json", "csv"]}}, "format must be one of json, csv, not 'xml'"),
    ("--color=maybe", {"color": {"type": "boolean"}}, "color must be true or false, not 'maybe'"),
    ("--body {", {"body": {"type": "json"}}, "body must be JSON, not '{'"),
    ("--wrong 3", {"depth": {"type": "integer"}}, "there is no argument --wrong; there are: --depth"),
    ("--depth", {"depth": {"type": "integer"}}, "--depth needs a value"),
    ("--depth 1 --depth 2", {"depth": {"type": "integer"}}, "depth is given twice"),
]


@pytest.mark.parametrize(("request_text", "args", "problem"), PROBLEMS, ids=[p[0] for p in PROBLEMS])
def test_a_stated_value_that_cannot_be_used_is_a_problem_and_not_dropped(request_text, args, problem, tool):
    filled = fill(request_text, tool(**args))

    assert filled.problems == (problem,)
    assert not filled.complete


def test_a_required_argument_that_is_not_stated_is_missing_and_one_with_a_default_is_not(tool):
    filled = fill(
        "do it",
        tool(file={"type": "file", "required": True}, depth={"type": "integer", "required": True, "default": 3}),
    )

    assert filled.missing == ("file",)
    assert not filled.complete


def test_what_the_action_has_no_use_for_is_said(tool):
    assert fill("look at a.txt and b.txt", tool(file={"type": "file"})).unused == ("look", "b.txt")
    assert fill("act on a.txt, but never on mondays", tool(file={"type": "file"})).unused == ("but", "never", "mondays")


def test_a_file_that_is_not_there_is_passed_on(workspace, tool):
    assert fill("look at gone.md", tool(file={"type": "file"}), workspace).args == {"file": "gone.md"}


def test_a_file_that_is_nearly_there_is_a_problem_that_names_it(workspace, tool):
    filled = fill("look at salse.csv", tool(file={"type": "file"}), workspace)

    assert filled.problems == ("there is no file 'salse.csv'; did you mean 'sales.csv'?",)


def test_an_output_need_not_be_there(workspace, tool):
    assert fill("save to sale.csv", tool(output={"type": "file"}), workspace).args == {"output": "sale.csv"}


def test_a_name_with_spaces_is_quoted_and_without_quotes_it_is_a_problem_that_names_it(workspace, tool):
    one_file = tool(file={"type": "file"})

    assert fill("look at 'my report.csv'", one_file, workspace).args == {"file": "my report.csv"}
    problem = "there is no file 'report.csv'; did you mean 'my report.csv'?"
    assert fill("look at my report.csv", one_file, workspace).problems == (problem,)


def test_a_bare_word_is_a_file_only_where_it_is_there(workspace, tool):
    one_file = tool(file={"type": "file"})

    assert fill("what is in photos", one_file, workspace).args == {"file": "photos"}
    assert fill("holidays are nice", one_file, workspace).args == {}


def test_a_place_that_is_not_there_is_not_replaced_by_the_whole_workspace(workspace, tool):
    filled = fill("what is in holidays", tool(path={"type": "file", "default": "."}), workspace)

    assert (filled.args, filled.unused) == ({}, ("holidays",))


def test_a_file_name_that_looks_like_a_command_is_a_file_name(workspace, tool):
    (workspace / "rm -rf .csv").write_text("x\n")

    assert fill("look at 'rm -rf .csv'", tool(file={"type": "file"}), workspace).args == {"file": "rm -rf .csv"}
    assert fill("look at $(reboot).csv", tool(file={"type": "file", "required": True}), workspace).missing == ("file",)


def test_secret_arguments_are_never_filled(tool):
    secret = tool(token={"type": "string", "secret": True})

    assert fill("token abc123 --token abc123", secret).args == {}


def test_a_tool_without_annotated_arguments_is_filled_from_its_schema():
    from skillkit_core.tools import Tool

    schema = {"type": "object", "properties": {"depth": {"type": "integer"}}, "required": ["depth"]}
    plain = Tool("x", "X.", "nowhere:nothing", schema, annotations={"skill": "x", "action": "x"})

    assert fill("depth 3", plain).args == {"depth": 3}
    assert fill("go", plain).missing == ("depth",)
