"""Plain requests over a table: what restricts the rows is applied or refused, and never left out."""

import pytest

SALES = "name,price,region\napples,10,east\npears,20,west\nplums,,east\nfigs,40,west\n"
PEOPLE = (
    "name,age,city,email,born\nAnn,30,Oslo,a@x,1996-01-02\nBob,41,Rome,,1985-02-03\n"
    "Cy,25,Oslo,c@x,2001-03-04\nDi,33,Bern,d@x,1993-04-05\n"
)


@pytest.fixture
def tables(skillkit_home):
    (skillkit_home.cwd / "sales.csv").write_text(SALES)
    (skillkit_home.cwd / "people.csv").write_text(PEOPLE)


@pytest.fixture
def ask(tables, skillkit_cli):
    """The data of the answer to a request."""
    return lambda request: skillkit_cli("run", "--json", request).ok().json["data"]


@pytest.mark.sample(3)
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
        ("how many people are from Oslo in people.csv", 2),
        ("how many people in people.csv are in Oslo", 2),
    ],
)
def test_rows_are_counted_as_restricted(ask, request_, rows):
    assert ask(request_)["matching"] == rows


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("request_", "parts"),
    [
        ("how many people in people.csv live in Oslo", ['"live"', "the columns are name, age"]),
        ("how many people in people.csv are older than 30", ['"older than 30"', "the columns are name, age"]),
        ("how many rows of people.csv are not from Oslo", ['"not"']),
        ("how many apples are in sales.csv", ['"apples"', "where name = apples"]),
        ("how many regions are in sales.csv", ["region is a column", "distinct region values"]),
        ("total price of apples and pears in sales.csv", ['"name"', "where region"]),
        ("average price of sales.csv excluding east", ['"excluding"']),
        ("total revenue in sales.csv", ['"revenue"', "the columns are name, price, region"]),
        ("the oldest person in people.csv", ['"oldest"']),
        ("rows of people.csv except Bob", ['"except"']),
        ("the two most expensive items in sales.csv", ['"two"', "the columns are name"]),
        ("rows of people.csv where age > 30 and a half", ["do not understand the filter"]),
        ("highest in sales.csv", ["by which column"]),
    ],
)
def test_what_is_not_understood_is_refused_with_how_to_state_it(tables, skillkit_cli, request_, parts):
    result = skillkit_cli("run", request_)
    assert (result.exit_code, result.stdout) == (1, "")
    assert not [part for part in parts if part not in result.stderr], result.stderr


@pytest.mark.sample(4)
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
        ("bottom 2 rows of sales.csv sorted by price", ["apples", "pears"]),
        ("who has the highest age in people.csv", ["Bob"]),
        ("west rows of sales.csv", ["pears", "figs"]),
        ("rows of people.csv without email", ["Bob"]),
    ],
)
def test_the_rows_asked_for_are_shown(ask, request_, names):
    assert [record["name"] for record in ask(request_)["records"]] == names


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("average price in sales.csv", "average price: 23.3333 (3 of 4 rows)"),
        ("average price in sales.csv where region is west", "average price: 30 (2 rows where region is west)"),
        ("average price in sales.csv with region east", "average price: 10 (1 of 2 rows where region = east)"),
        ("average age in people.csv", "average age: 32.25 (4 rows)"),
        ("earliest born in people.csv", "lowest born: 1985-02-03 (4 rows)"),
        ("highest price in the east in sales.csv", "highest price: 10 (1 of 2 rows where region = east)"),
    ],
)
def test_a_figure_says_over_which_rows_it_is(ask, request_, answer):
    assert ask(request_)["answer"] == answer
