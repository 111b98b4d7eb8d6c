"""Tables of any size and any untidiness: figures agree with `statistics`, memory stays small, errors are one line."""

import csv
import io
import json
import math
import os
import random
import statistics
import subprocess
import sys
from bisect import bisect_left, bisect_right
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

SCRIPTS = Path(__file__).parents[1] / "skillkit_bundled" / "csv-stats" / "scripts"

SALES = """date,region,unit price,amount,note
2026-01-02,North,10.5,100,"hello, world"
2026-01-03,South,20,150,
2026-01-04,North,NA,90,"two
lines"
2026-01-05,East,5.25,1200,plain
2026-01-06,East,7,80,last
"""


@pytest.fixture
def sales(workspace):
    workspace.write("sales.csv", SALES)
    return workspace


def column(result, name):
    return next(record for record in result["columns"] if record["name"] == name)


def test_a_summary_knows_types_missing_values_and_figures(sales):
    result = sales.result("csv-stats", "summary", file="sales.csv")
    assert (result["rows"], len(result["columns"]), result["notes"]) == (5, 5, [])
    assert [record["type"] for record in result["columns"]] == ["date", "text", "number", "integer", "text"]
    price = column(result, "unit price")
    assert (price["missing"], price["min"], price["max"], price["median"]) == (1, 5.25, 20, 8.75)
    assert price["mean"] == statistics.fmean([10.5, 20, 5.25, 7])
    assert price["stdev"] == pytest.approx(statistics.stdev([10.5, 20, 5.25, 7]))
    assert column(result, "amount")["sum"] == 1620
    assert column(result, "region")["frequent"][0] == {"value": "North", "rows": 2}
    assert (column(result, "date")["min"], column(result, "date")["max"]) == ("2026-01-02", "2026-01-06")
    assert result["answer"].startswith("sales.csv: 5 rows, 5 columns\n\ncolumn ")


@pytest.mark.parametrize(
    ("given_", "answer"),
    [
        ({"figure": "mean", "column": "unit price"}, "average unit price: 10.6875 (4 of 5 rows)"),
        ({"figure": "sum", "request": "amount"}, "total amount: 1,620 (5 rows)"),
        (
            {"figure": "max", "request": "amount", "where": "region is east"},
            "highest amount: 1,200 (2 rows where region is east)",
        ),
        ({"figure": "median", "request": "the amount"}, "median amount: 100 (5 rows)"),
        ({"figure": "distinct", "request": "region values"}, "region has 3 different values in 5 rows"),
        ({"figure": "missing", "request": "unit_price"}, "unit price is missing in 1 of 5 rows"),
        ({"figure": "sum", "request": "amount; east"}, "total amount: 1,280 (2 rows where region = east)"),
    ],
)
def test_one_figure_is_the_whole_answer(sales, given_, answer):
    assert sales.result("csv-stats", "summary", file="sales.csv", **given_)["answer"] == answer


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("amount > 100", 2),
        ("amount >= 100", 3),
        ("amount is at most 90", 2),
        ("amount between", None),
        ("region == north", 2),
        ("region is not north", 3),
        ("region = 'North' and amount > 95", 1),
        ("region is east or region is south", 3),
        ("where note contains lines", 1),
        ("note starts with hello", 1),
        ("unit price is missing", 1),
        ("unit price is not missing", 4),
        ("date >= 2026-01-05", 2),
        ("note == 'hello, world'", 1),
    ],
)
def test_filters_are_read_in_symbols_and_in_words(sales, where, rows):
    if rows is None:
        assert "do not understand the filter" in sales.problem("csv-stats", "count", file="sales.csv", where=where)
    else:
        assert sales.result("csv-stats", "count", file="sales.csv", where=where)["matching"] == rows


@pytest.mark.parametrize(
    ("request_", "rows"),
    [
        ("rows; amount > 100", 2),
        ("rows; amount over 100", 2),
        ("sales", 5),
        ("rows; region East", 2),
        ("rows; no unit price", 1),
        ("people; in East", 2),
        ("East rows", 2),
    ],
)
def test_what_a_request_says_besides_is_applied(sales, request_, rows):
    assert sales.result("csv-stats", "count", file="sales.csv", request=request_)["matching"] == rows


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ("rows; live in East", '"live"'),
        ("rows; not East", '"not"'),
        ("rows; East and North", '"region"'),
        ("East", "where region = East"),
        ("regions", "region is a column"),
    ],
)
def test_what_is_not_understood_is_refused(sales, request_, words):
    assert words in sales.problem("csv-stats", "count", file="sales.csv", request=request_)


@pytest.mark.parametrize(
    "given_", [{"by": "region", "column": "amount"}, {"by": "region", "figure": "sum", "request": "amount"}]
)
def test_figures_are_given_for_each_value_of_a_column(sales, given_):
    result = sales.result("csv-stats", "summary", file="sales.csv", **given_)
    assert [(group["value"], group["rows"], group["columns"]["amount"]["sum"]) for group in result["groups"]] == [
        ("East", 2, 1280), ("North", 2, 190), ("South", 1, 150),
    ]  # fmt: skip
    assert "sum amount" in result["answer"]
    counted = sales.result("csv-stats", "count", file="sales.csv", by="region", where="amount > 95")
    assert [(group["value"], group["rows"]) for group in counted["groups"]] == [("East", 1), ("North", 1), ("South", 1)]
    assert "not the median" in sales.problem(
        "csv-stats", "summary", file="sales.csv", by="region", figure="median", request="amount"
    )


def test_too_many_groups_are_refused(workspace):
    workspace.write("ids.csv", "id,x\n" + "".join(f"{n},1\n" for n in range(10_001)))
    assert "more than 10,000" in workspace.problem("csv-stats", "summary", file="ids.csv", by="id")


def test_a_longer_column_name_is_taken_before_a_shorter_one(workspace):
    workspace.write("p.csv", "price,unit_price\n1,10\n3,30\n")
    answer = workspace.result("csv-stats", "summary", file="p.csv", figure="mean", request="unit price")["answer"]
    assert answer == "average unit_price: 20 (2 rows)"


def test_rows_are_shown_first_or_by_size(sales):
    first = sales.result("csv-stats", "rows", file="sales.csv", limit=2, columns="region, amount")
    assert first["records"] == [{"region": "North", "amount": "100"}, {"region": "South", "amount": "150"}]
    assert first["rows"] == 5
    top = sales.result("csv-stats", "rows", file="sales.csv", sort="Unit Price", limit=5)
    assert [record["unit price"] for record in top["records"]] == ["20", "10.5", "7", "5.25", "NA"]
    low = sales.result("csv-stats", "rows", file="sales.csv", sort="unit price", ascending=True, limit=2)
    assert [record["unit price"] for record in low["records"]] == ["5.25", "7"]
    asked = sales.result("csv-stats", "rows", file="sales.csv", sort="amount", limit=2, where="region is not east")
    assert [record["amount"] for record in asked["records"]] == ["150", "100"]


@pytest.mark.parametrize(
    ("content", "delimiter", "rows", "sum_"),
    [
        ("a;b\n1,5;x\n\"1.000,25\";y\n", ";", 2, 1001.75),
        ("a\tb\n1.5\tx, y\n2\tz\n", "\t", 2, 3.5),
        ("a|b\n1|2\n3|4\n", "|", 2, 4),
        ("\ufeffa,b\n1,2\n", ",", 1, 1),
        ("sep=;\na;b\n1;2\n", ";", 1, 1),
        ("a\n1\n2\n", ",", 2, 3),
        ("a,b\r\n1,2\r\n\r\n3,4\r\n", ",", 2, 4),
        ("a,b\r1,2\r3,4", ",", 2, 4),
        ("a,b\n\"$1,234.50\",x\n(3),y\n", ",", 2, 1234.5),
        ("a,b\n1_000,x\n5,y\n7,z\n", ",", 3, 12),
    ],
    ids=["semicolon", "tab", "pipe", "bom", "excel-hint", "one-column", "crlf", "cr", "currency", "underscore-is-text"],
)  # fmt: skip
def test_dialects_are_found_out(workspace, content, delimiter, rows, sum_):
    workspace.write("t.csv", content)
    result = workspace.result("csv-stats", "summary", file="t.csv")
    assert (result["delimiter"], result["rows"]) == (delimiter, rows)
    assert column(result, "a")["sum"] == sum_


def test_utf_16_and_latin_1_are_read(workspace):
    workspace.write("wide.csv", "é,b\n1,2\n".encode("utf-16"))
    assert workspace.result("csv-stats", "count", file="wide.csv")["columns"] == ["é", "b"]
    workspace.write("old.csv", "é,b\n1,2\n".encode("latin-1"))
    result = workspace.result("csv-stats", "count", file="old.csv")
    assert result["columns"] == ["é", "b"]
    assert result["notes"] == ["1 place not in UTF-8, read as Latin-1"]


def test_ragged_rows_are_counted_and_said(workspace):
    workspace.write("r.csv", "a,b,c\n1,2,3\n4,5\n6,7,8,9\n")
    result = workspace.result("csv-stats", "summary", file="r.csv")
    assert result["rows"] == 3
    assert column(result, "c")["missing"] == 1
    assert result["notes"][0].startswith("2 rows have another number of fields than the header (first at line 3)")


def test_a_file_without_header_and_doubled_names_are_handled(workspace):
    workspace.write("n.csv", "1,2\n3,4\n")
    result = workspace.result("csv-stats", "summary", file="n.csv")
    assert (result["rows"], [record["name"] for record in result["columns"]]) == (2, ["column1", "column2"])
    assert "no header" in result["notes"][0]
    workspace.write("d.csv", "a,a,\nx,2,3\n")
    assert workspace.result("csv-stats", "count", file="d.csv")["columns"] == ["a", "a (2)", "column3"]


def test_a_mixed_column_says_how_much_is_no_number(workspace):
    workspace.write("m.csv", "a\n1\n2\nthree\n3\n")
    record = column(workspace.result("csv-stats", "summary", file="m.csv"), "a")
    assert (record["type"], record["not_numbers"], record["mean"]) == ("mixed", 1, 2)


def test_a_header_alone_is_no_error(workspace):
    workspace.write("h.csv", "a,b\n")
    assert workspace.result("csv-stats", "summary", file="h.csv")["answer"] == "h.csv: 0 rows, 2 columns"


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("empty.csv", b"", "empty.csv is empty"),
        ("blank.csv", b"\n\n\n", "blank.csv is empty"),
        ("photo.csv", b"\x89PNG\r\n\x1a\n\0\0\0", "binary file"),
        ("book.csv", b"PK\x03\x04abc", "spreadsheet"),
        ("late.csv", b"a,b\n" + b"1,2\n" * 20_000 + b"\0\n", "line 20002 holds a zero byte"),
        ("quote.csv", b'a,b\n1,2\n3,"open\n4,5\n', "line 3: a quote is opened here and never closed"),
        ("long.csv", b"a,b\n" + b"x" * 9_000_000, "line 2 has more than"),
    ],
)
def test_what_is_no_table_gets_one_clear_line(workspace, name, content, part):
    workspace.write(name, content)
    for action in ("summary", "count", "rows"):
        assert part in workspace.problem("csv-stats", action, file=name)


def test_wrong_arguments_get_one_clear_line(sales):
    assert "no 'nope.csv'" in sales.problem("csv-stats", "count", file="nope.csv")
    assert "is a folder" in sales.problem("csv-stats", "count", file=".")
    assert "its columns: date, region" in sales.problem("csv-stats", "summary", file="sales.csv", column="prize")
    assert "no column 'prize'" in sales.problem("csv-stats", "count", file="sales.csv", where="prize > 3")
    assert "at least 1" in sales.problem("csv-stats", "rows", file="sales.csv", limit=0)
    assert "no average" in sales.problem("csv-stats", "summary", file="sales.csv", figure="mean", column="region")


@pytest.mark.parametrize("name", ["-rf", "; rm -rf ~", "new\nline.csv", "--where", "$(id).csv", "a b.csv"])
def test_strange_file_names_are_only_names(workspace, name):
    workspace.write(name, "a,b\n1,2\n")
    assert workspace.result("csv-stats", "count", file=name)["rows"] == 1


def test_control_characters_of_a_file_do_not_reach_the_terminal(workspace):
    workspace.write("esc.csv", "a\x1b[31m,b\nx\x1b]0;t\x07,2\n")
    for action in ("summary", "rows"):
        assert "\x1b" not in workspace.result("csv-stats", action, file="esc.csv")["answer"]


def test_wide_rows_of_long_cells_stay_below_what_a_host_reads(workspace):
    header = ",".join(f"c{n}" for n in range(300))
    workspace.write("wide.csv", header + "\n" + (",".join(["é" * 90] * 300) + "\n") * 40)
    result = workspace.result("csv-stats", "rows", file="wide.csv", limit=1000)
    assert (result["matching"], result["truncated"]) == (40, True)
    assert "more columns" in result["answer"]
    workspace.result("csv-stats", "summary", file="wide.csv")


def test_a_pipe_is_refused_at_once(workspace):
    os.mkfifo(workspace.path / "pipe.csv")
    assert "not a regular file" in workspace.problem("csv-stats", "count", file="pipe.csv")


numbers = st.floats(-1e9, 1e9).map(lambda value: round(value, 4)) | st.integers(-(10**12), 10**12)


@given(st.lists(numbers, min_size=1, max_size=60))
def test_figures_agree_with_statistics(load, values):
    record = described(load, [str(value) for value in values])
    plain = [float(value) for value in values]
    assert record["values"] == len(values)
    assert (record["min"], record["max"]) == (min(plain), max(plain))
    assert record["median"] == pytest.approx(statistics.median(plain), rel=1e-12, abs=1e-9)
    assert record["mean"] == pytest.approx(statistics.fmean(plain), rel=1e-9, abs=1e-6)
    assert record["sum"] == pytest.approx(math.fsum(plain), rel=1e-12, abs=1e-9)
    if len(values) > 1:
        assert record["stdev"] == pytest.approx(statistics.stdev(plain), rel=1e-6, abs=1e-4)


def described(load, cells, batch=7):
    columns = load("csv-stats", "columns")
    one = columns.Column("x")
    for start in range(0, len(cells), batch):
        one.add(cells[start : start + batch])
    return one.as_json()


@given(st.lists(numbers, min_size=1, max_size=60))
def test_figures_of_a_group_agree_with_statistics(load, values):
    figures = load("csv-stats", "groups").Figures()
    plain = [float(value) for value in values]
    for value in plain:
        figures.add(value)
    record = figures.as_json()
    assert record["sum"] == pytest.approx(math.fsum(plain), rel=1e-12, abs=1e-9)
    assert (record["numbers"], record["min"], record["max"]) == (len(plain), min(plain), max(plain))


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), min_size=1, max_size=20),
    st.data(),
)
def test_what_the_csv_module_writes_is_read_back(load, tmp_path_factory, cells, data):
    reading = load("csv-stats", "reading")
    width = data.draw(st.integers(1, 4))
    rows = [[f"c{n}" for n in range(width)], *([cell] * width for cell in cells)]
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(written.getvalue().encode())
    table = reading.open_table(str(path), "comma")
    assert table.header == rows[0]
    assert [row for batch in table.batches() for row in batch] == rows[1:]


@pytest.mark.parametrize("shape", ["sorted", "reversed", "shuffled", "skewed"])
def test_the_estimated_median_keeps_its_promise(load, shape):
    quantiles = load("csv-stats", "columns").Quantiles()
    chance = random.Random(shape)
    values = (
        [chance.lognormvariate(0, 3) for _ in range(300_000)]
        if shape == "skewed"
        else [float(n) for n in range(300_000)]
    )
    if shape == "reversed":
        values.reverse()
    if shape == "shuffled":
        chance.shuffle(values)
    for start in range(0, len(values), 2_000):
        quantiles.add(values[start : start + 2_000])
        if start == 20_000:
            quantiles.shrink()
    assert not quantiles.exact
    ordered = sorted(values)
    for share in (0.01, 0.25, 0.5, 0.9):
        found = quantiles.quantile(share)
        low, high = bisect_left(ordered, found), bisect_right(ordered, found)
        assert low / len(ordered) - 0.002 <= share <= high / len(ordered) + 0.002


def write_big(path, megabytes):
    chance = random.Random(1)
    prices = []
    with path.open("w", newline="") as stream:
        stream.write("id,price,region,customer,comment\n")
        while stream.tell() < megabytes * 1_000_000:
            for _ in range(1_000):
                prices.append(round(chance.expovariate(0.01), 2))
                number = len(prices)
                stream.write(
                    f'{number},{prices[-1]},{"NSEW"[number % 4]},customer {number},"some, quoted\ntext {number}"\n'
                )
    return prices


def measured(*words, cwd):
    """Run a script and return its JSON and its largest resident size in megabytes.

    A small process stands in between, since the size of the one that starts a process counts as the started one's.
    """
    between = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, *sys.argv[1:]], check=True)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", between, *words], cwd=cwd, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), int(done.stderr) / (1024 if sys.platform != "darwin" else 1024 * 1024)


@pytest.mark.parametrize("megabytes", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_file(tmp_path, megabytes):
    prices = write_big(tmp_path / "big.csv", megabytes)
    result, memory = measured(SCRIPTS / "summary.py", "big.csv", cwd=tmp_path)
    assert memory < 100
    price = column(result, "price")
    assert (result["rows"], price["min"], price["max"]) == (len(prices), min(prices), max(prices))
    assert price["mean"] == pytest.approx(statistics.fmean(prices))
    assert price["median"] == pytest.approx(statistics.median(prices), rel=0.02 if megabytes > 5 else 1e-12)
    expected = sum(value > 100 and n % 4 == 0 for n, value in enumerate(prices, 1))
    counted, memory = measured(SCRIPTS / "count.py", "big.csv", "--where", "price > 100 and region is N", cwd=tmp_path)
    assert (counted["matching"], memory < 60) == (expected, True)
    top, memory = measured(SCRIPTS / "rows.py", "big.csv", "--sort", "price", "--limit", "3", cwd=tmp_path)
    assert ([float(row["price"]) for row in top["records"]], memory < 60) == (sorted(prices)[:-4:-1], True)


@pytest.mark.slow
def test_an_estimate_is_explained_only_where_one_is_shown(workspace):
    workspace.write("big.csv", "price\n" + "".join(f"{n}\n" for n in range(1_600_000)))
    average = workspace.result("csv-stats", "summary", file="big.csv", figure="mean", column="price")["answer"]
    assert average == "average price: 799,999.5 (1,600,000 rows)"
    median = workspace.result("csv-stats", "summary", file="big.csv", figure="median", column="price")["answer"]
    assert "~" in median.split("\n")[0] and "is an estimate" in median
