"""Plain requests over a table: what restricts the rows is applied or refused, and never left out."""

import pytest

SALES = "name,price,region\napples,10,east\npears,20,west\nplums,,east\nfigs,40,west\n"
PEOPLE = (
    "name,age,city,email,born\nAnn,30,Oslo,a@x,1996-01-02\nBob,41,Rome,,1985-02-03\n"
    "Cy,25,Oslo,c@x,2001-03-04\nDi,33,Bern,d@x,1993-04-05\n"
)


@pytest.fixture
def tables(workspace):
    workspace.write("sales.csv", SALES)
    workspace.write("people.csv", PEOPLE)
    return workspace


def ask(tables, action, request, run="result", **given):
    name = "people.csv" if "people.csv" in request else "sales.csv"
    return getattr(tables, run)("csv-stats", action, file=name, request=request, **given)


@pytest.mark.parametrize(
    ("request_", "rows"),
    [
        ("how many rows of people.csv have city Oslo", 2),
        ("count the rows of people.csv with city 'Oslo'", 2),
        ("how many rows of people.csv where city = Oslo", 2),
        ("how many people in people.csv have no email", 1),
        ("how many rows of people.csv where age > 26 and city is Oslo?", 1),
        ("how many rows of people.csv, age > 26", 3),
        ("how many people are in people.csv", 4),
    ],
)
def test_rows_are_counted_as_restricted(tables, request_, rows):
    assert ask(tables, "count", request_)["matching"] == rows


@pytest.mark.parametrize(
    ("action", "request_", "parts"),
    [
        ("count", "how many people are from Oslo in people.csv", ['"Oslo"', "where city = Oslo"]),
        ("count", "how many people in people.csv live in Oslo", ["live Oslo", "where city = Oslo"]),
        ("count", "how many people in people.csv are older than 30", ['"older than 30"', "where age > 30"]),
        ("count", "how many rows of people.csv are not from Oslo", ['"not Oslo"', "where city != Oslo"]),
        ("count", "how many apples are in sales.csv", ['"apples"', "where name = apples"]),
        ("count", "how many regions are in sales.csv", ["region is a column", "distinct region values"]),
        ("summary", "total price of apples and pears in sales.csv", ['"apples pears"', "where name = apples"]),
        ("summary", "average price of sales.csv excluding east", ['"excluding east"', "where region != east"]),
        ("summary", "highest price in the east in sales.csv", ['"east"', "where region = east"]),
        ("summary", "total revenue in sales.csv", ['"revenue"', "the columns are name, price, region"]),
        ("summary", "the oldest person in people.csv", ['"oldest" by which column', "highest age"]),
        ("summary", "oldest age in people.csv", ['"oldest" is understood of dates', "lowest or highest age"]),
        ("rows", "rows of people.csv without Bob", ['"without Bob"', "where name != Bob"]),
        ("rows", "the two most expensive items in sales.csv", ['"most expensive" by which column', "by price"]),
        ("rows", "west rows of sales.csv", ['"west"', "where region = west"]),
        ("rows", "rows of people.csv where age > 30 and a half", ["do not understand the filter"]),
    ],
)
def test_what_is_not_understood_is_refused_with_how_to_state_it(tables, action, request_, parts):
    problem = ask(tables, action, request_, "problem")
    for part in parts:
        assert part in problem


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        ("top 2 rows of sales.csv by price", ["figs", "pears"]),
        ("bottom 2 rows of sales.csv by price", ["apples", "pears"]),
        ("last 2 rows of sales.csv", ["plums", "figs"]),
        ("first row of sales.csv", ["apples"]),
        ("price > 15 in sales.csv", ["pears", "figs"]),
        ("show the rows of sales.csv with region west", ["pears", "figs"]),
        ("which rows of sales.csv have an empty price", ["plums"]),
        ("rows of people.csv where age > 26 sorted by age", ["Bob", "Di", "Ann"]),
    ],
)
def test_the_rows_asked_for_are_shown(tables, request_, names):
    given = {"sort": "age"} if "sorted by age" in request_ else {}
    assert [record["name"] for record in ask(tables, "rows", request_, **given)["records"]] == names


def test_the_smallest_come_first_where_the_column_is_an_argument_and_the_direction_is_not(tables):
    records = ask(tables, "rows", "bottom 2 rows of sales.csv sorted by price", sort="price", limit=2)["records"]
    assert [record["name"] for record in records] == ["apples", "pears"]


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("average price in sales.csv", "average price: 23.3333 (3 of 4 rows)"),
        ("average price in sales.csv where region is west", "average price: 30 (2 rows where region is west)"),
        ("average price in sales.csv with region east", "average price: 10 (1 of 2 rows where region = east)"),
        ("average age in people.csv", "average age: 32.25 (4 rows)"),
        ("oldest born in people.csv", "lowest born: 1985-02-03 (4 rows)"),
    ],
)
def test_a_figure_says_over_which_rows_it_is(tables, request_, answer):
    assert ask(tables, "summary", request_)["answer"] == answer


def test_a_bare_comparison_shows_rows_rather_than_describing_the_column(tables):
    result = ask(tables, "summary", "price > 15 in sales.csv")
    assert [record["name"] for record in result["records"]] == ["pears", "figs"]


def test_an_estimate_is_explained_only_where_one_is_shown(workspace):
    workspace.write("big.csv", "price\n" + "".join(f"{n}\n" for n in range(1_600_000)))
    average = workspace.result("csv-stats", "summary", file="big.csv", request="average price in big.csv")["answer"]
    assert average == "average price: 799,999.5 (1,600,000 rows)"
    median = workspace.result("csv-stats", "summary", file="big.csv", request="median price in big.csv")["answer"]
    assert "~" in median.split("\n")[0] and "is an estimate" in median
