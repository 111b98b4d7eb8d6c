"""Requests that restrict what is asked, through the command line: answered as restricted, or refused; never about everything."""

import pytest


@pytest.fixture
def files(skillkit_home):
    folder = skillkit_home.cwd
    (folder / "sales.csv").write_text("name,price,region\napples,10,east\npears,20,west\nplums,,east\nfigs,40,west\n")
    (folder / "people.csv").write_text("name,age,city\nAnn,30,Oslo\nBob,41,Rome\nCy,25,Oslo\nDi,33,Bern\n")
    orders = '{"id":1,"status":"open"},{"id":2,"status":"closed"},{"id":3,"status":"open"}'
    (folder / "data.json").write_text(f'{{"orders":[{orders}]}}')
    (folder / "notes.txt").write_text("the word is here.\nThe cat sat. word\n")
    for name, text in (("repo", "hello"), ("ff", "hellohello")):
        (folder / name).mkdir()
        (folder / name / "a.txt").write_text(text)
    return folder


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "shown", "hidden"),
    [
        ("how many rows of people.csv have city Oslo", ["2 rows of 4"], []),
        ("how many rows of people.csv where city = Oslo", ["2 rows of 4"], []),
        ("top 2 rows of sales.csv by price", ["figs", "pears"], ["apples"]),
        ("price > 15 in sales.csv", ["pears", "figs"], ["apples"]),
        ("orders[?status=='open'].id in data.json", ["1\n3"], ["2\n3"]),
        ("average price in sales.csv", ["23.3333 (3 of 4 rows)"], ["~"]),
        ("how big is repo", ["repo: 5 bytes"], ["notes.txt"]),
        ("how big is ff", ["ff: 10 bytes"], ["notes.txt"]),
        ("how much space does ff take", ["ff: 10 bytes"], ["notes.txt"]),
        ("how often does word occur in notes.txt", ["'word' occurs 2 times"], []),
        ("how many times does the word the occur in notes.txt", ["'the' occurs 2 times"], []),
    ],
)
def test_a_restricted_request_is_answered_as_it_is_restricted(files, skillkit_cli, text, shown, hidden):
    answer = skillkit_cli("run", text).ok().stdout
    assert not [words for words in shown if words not in answer]
    assert not [words for words in hidden if words in answer]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("how many people are not from Oslo in people.csv", ['"not"']),
        ("list the open orders in data.json", ['"open"', "orders[?status=='open']"]),
        ("which orders in data.json are open", ['"open"', "orders[?status=='open']"]),
        ("total price of apples and pears in sales.csv", ['"name"', "the columns are name, price, region"]),
        ("average price of sales.csv excluding east", ['"excluding"', "the columns are name, price, region"]),
        ("the oldest person in people.csv", ['"oldest"', "the columns are name, age, city"]),
        ("how many words are in notes.txt excluding cat", ['"excluding", "cat"', "not understood"]),
        ("how often does the word occur in notes.txt", ["does not state word"]),
        ("how big is nowhere", ["nowhere"]),
    ],
)
def test_a_restriction_that_is_not_understood_is_refused(files, skillkit_cli, text, parts):
    result = skillkit_cli("run", text)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert not [words for words in parts if words not in result.stderr]
