"""JSON is selected by expression or by key, its shape is shown, and broken files name their line."""

import json

import pytest

SHOP = {
    "name": "shop",
    "version": "1.2",
    "database": {"host": "db1", "port": 5432},
    "first name": "Ada",
    "orders": [
        {"id": 1, "status": "open", "total": 3.5, "customer": {"city": "Bern"}},
        {"id": 22, "status": "closed", "total": 120},
        {"id": 3, "status": "open", "total": 7, "tags": ["x"]},
    ],
}


@pytest.fixture
def shop(workspace):
    workspace.write("data.json", json.dumps(SHOP, indent=1))
    return workspace


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("orders[?status=='open'].id", [1, 3]),
        ("list the open orders in data.json: orders[?status=='open'].id", [1, 3]),
        ("show `length(orders)` of data.json", 3),
        ("sum(orders[].total)", 130.5),
        ("orders[?total > `5`].id | [0]", 22),
        ("what is the version in data.json?", "1.2"),
        ("get the value of database.port in data.json", 5432),
        ("which city is in data.json", ["Bern"]),
        ("port", 5432),
        ("the 'first name' in data.json", "Ada"),
        ('"first name"', "Ada"),
    ],
)
def test_values_are_selected(shop, query, value):
    result = shop.result("json-query", "query", file="data.json", query=query)
    assert result["value"] == value
    assert result["found"] == (value is not None)


def test_the_answer_is_lines_or_a_table(shop):
    assert shop.result("json-query", "query", file="data.json", query="orders[].id")["answer"] == "3 items:\n1\n22\n3"
    answer = shop.result("json-query", "query", file="data.json", query="orders[].{id: id, total: total}")["answer"]
    assert answer == "3 items:\nid  total\n 1    3.5\n22    120\n 3      7"


def test_nothing_found_names_the_keys_at_the_top(shop):
    result = shop.result("json-query", "query", file="data.json", query="nope")
    assert (result["found"], result["value"]) == (False, None)
    assert "object with 5 keys: name, version" in result["answer"]


def test_a_shape_shows_types_sizes_and_what_is_optional(shop):
    result = shop.result("json-query", "shape", file="data.json")
    assert result["keys"] == list(SHOP)
    assert "orders: list (3 items) of object\n  id: integer\n" in result["answer"]
    assert "  tags: list (1 item) of text  (in 1 of 3)" in result["answer"]
    assert "city" not in shop.result("json-query", "shape", file="data.json", depth=1)["answer"]


def test_json_lines_and_other_encodings_are_read(workspace):
    workspace.write("rows.jsonl", '{"a": 1, "t": "x\u2028y"}\n\n{"a": 2}\n')
    assert workspace.result("json-query", "query", file="rows.jsonl", query="[].a")["value"] == [1, 2]
    workspace.write("wide.json", json.dumps({"a": "é"}).encode("utf-16"))
    assert workspace.result("json-query", "query", file="wide.json", query="a")["value"] == "é"
    workspace.write("bom.json", b'\xef\xbb\xbf{"a": NaN}')
    assert workspace.result("json-query", "query", file="bom.json", query="[a]")["value"] == [None]


def test_a_large_result_is_cut_and_says_so(workspace):
    workspace.write("big.json", json.dumps([{"id": n, "text": "x" * 50} for n in range(20_000)]))
    result = workspace.result("json-query", "query", file="big.json", query="[]")
    assert (result["count"], result["truncated"]) == (20_000, True)
    assert 100 < len(result["value"]) < 20_000
    assert "more lines" in result["answer"]
    assert workspace.result("json-query", "shape", file="big.json")["answer"].startswith(
        "big.json: list of 20,000 (object)"
    )


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b'{"a": 1,\n "b": }', "line 2, column 7"),
        (b"{'a': 1}", "line 1, column 2"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "is not text"),
        (b"[" * 100_000, "nested"),
        (b"9" * 5000, "digits"),
    ],
)
def test_a_broken_file_names_the_place(workspace, content, part):
    workspace.write("bad.json", content)
    assert part in workspace.problem("json-query", "query", file="bad.json", query="a")
    assert "bad.json" in workspace.problem("json-query", "shape", file="bad.json")


@pytest.mark.parametrize(
    "query", ["orders[?status==", "", "tell me a story", "length(name, name)", "abs(name)", "nope(@)"]
)
def test_a_query_that_does_not_work_says_why(shop, query):
    shop.problem("json-query", "query", file="data.json", query=query)


ORDERS = {"orders": [{"id": 1, "status": "open"}, {"id": 2, "status": "closed"}, {"id": 3, "status": "open"}]}


@pytest.mark.parametrize(
    "request_",
    [
        "orders[?status=='open'].id in data.json",
        "orders[?status == 'open'].id in data.json",
        "show orders[?status == 'open'].id of data.json",
    ],
)
def test_an_expression_is_found_with_words_around_it(workspace, request_):
    workspace.write("data.json", json.dumps(ORDERS))
    assert workspace.result("json-query", "query", file="data.json", query=request_)["value"] == [1, 3]


@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        ("list the open orders in data.json", ['"open"', "orders[?status=='open']"]),
        ("which orders in data.json are open", ['"open"', "orders[?status=='open']"]),
        ("list the orders of data.json except closed ones", ['"except closed ones"', "orders[?status=='closed']"]),
        ("status of order 3 in data.json", ['"3"', "write JMESPath"]),
        ("the first orders in data.json", ['"first"', "write JMESPath"]),
    ],
)
def test_a_restriction_that_is_no_key_is_refused(workspace, request_, parts):
    workspace.write("data.json", json.dumps(ORDERS))
    problem = workspace.problem("json-query", "query", file="data.json", query=request_)
    for part in parts:
        assert part in problem


def test_all_items_are_listed_where_nothing_restricts_them(workspace):
    workspace.write("data.json", json.dumps(ORDERS))
    assert workspace.result("json-query", "query", file="data.json", query="list the orders in data.json")["count"] == 3
