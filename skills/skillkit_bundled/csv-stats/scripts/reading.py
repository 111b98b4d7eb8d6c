"""Reading a table of any size: encoding, delimiter, header, ragged rows and broken quotes, in bounded memory."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

from command import Problem, count, regular_file, shown

HEAD_ROWS = 200
SAMPLE = 65_536  # bytes looked at before reading starts
LONGEST_LINE = 8_000_000  # characters; a longer line is not a table
LONGEST_FIELD = 4_000_000
MOST_COLUMNS = 5_000
BATCH_ROWS = 2_000
BATCH_CHARACTERS = 2_000_000
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?"})
MAGIC = {
    b"PK\x03\x04": "a zip or spreadsheet file (export it as CSV first)",
    b"\xd0\xcf\x11\xe0": "an old Excel file (export it as CSV first)",
    b"\x1f\x8b": "gzip data (unpack it first)",
    b"%PDF": "a PDF",
    b"PAR1": "a Parquet file",
    b"SQLite format 3": "an SQLite database",
}

END = "\0end"  # no line of a file holds a zero byte

Row = list[str]


def words_of(text: str) -> frozenset[str]:
    """Return the words of a list written as one text."""
    return frozenset(text.split())


def is_missing(text: str) -> bool:
    """Say whether a cell holds no value: empty, or one of the usual words such as NA, null or "-"."""
    return len(text) < 8 and text.strip().lower() in MISSING


@dataclass(slots=True)
class Table:
    """An open table: its header, how it is written, and what was odd about it so far."""

    name: str
    header: list[str]
    delimiter: str
    decimal_comma: bool
    _rows: Iterator[Row]
    head: list[Row] = field(default_factory=list)  # its first rows, which tell what the columns hold
    notes: list[str] = field(default_factory=list)
    ragged: int = 0
    first_ragged: int = 0
    undecodable: int = 0
    characters: int = 0
    cells: dict[str, set[int]] = field(default_factory=dict)  # the columns that hold a text, once they were asked for

    def batches(self) -> Iterator[list[Row]]:
        """Yield rows of equal width, some thousand at a time, so that memory does not grow with the file."""
        width = len(self.header)
        batch: list[Row] = []
        full = self.characters + BATCH_CHARACTERS
        for row in self._rows:
            if len(row) != width:
                row = row[:width] + [""] * (width - len(row))
            batch.append(row)
            if len(batch) >= BATCH_ROWS or self.characters > full:
                yield batch
                batch, full = [], self.characters + BATCH_CHARACTERS
        if batch:
            yield batch

    def remarks(self) -> list[str]:
        """Return what a person should know about the file, one sentence each; complete once all rows are read."""
        remarks = list(self.notes)
        if self.ragged:
            rows = count(self.ragged, "row has", "rows have")
            remarks.append(
                f"{rows} another number of fields than the header (first at line {self.first_ragged}): "
                "absent fields count as missing, extra fields are ignored"
            )
        if self.undecodable:
            remarks.append(f"{count(self.undecodable, 'place')} not in UTF-8, read as Latin-1")
        return remarks


def open_table(name: str, delimiter: str = "auto") -> Table:
    """Open a CSV file and read its header; raises `Problem` when it is empty, binary or no table."""
    path = regular_file(name)
    with path.open("rb") as binary:
        sample = binary.read(SAMPLE)
    encoding = _encoding(name, sample)
    text = sample.decode(encoding, "ignore")
    mark = DELIMITERS.get(delimiter) or _delimiter(text)
    table = Table(name, [], mark, decimal_comma=mark != "," and _writes_decimal_commas(text), _rows=iter(()))
    rows = _records(table, path, encoding)
    first = next(rows, None)
    if first in (["sep=", ""], [f"sep={mark}"]):  # a hint that Excel reads and writes
        first = next(rows, None)
    if first is None:
        raise Problem(f"{name} is empty: it has no header and no rows")
    if len(first) > MOST_COLUMNS:
        raise Problem(f"{name} has {len(first):,} columns; at most {MOST_COLUMNS:,} are read")
    table.header, headless = _header(first)
    if headless:
        table.notes.append(
            "the first line holds numbers, so the file has no header; columns are named column1, column2, ..."
        )
    rows = chain([first], rows) if headless else rows
    table.head = list(islice(rows, HEAD_ROWS))
    table._rows = chain(table.head, rows)
    return table


def _encoding(name: str, sample: bytes) -> str:
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for magic, kind in MAGIC.items():
        if sample.startswith(magic):
            raise Problem(f"{name} is {kind}, not a CSV file")
    if b"\0" in sample:
        raise Problem(f"{name} is a binary file, not a CSV file")
    return "utf-8-sig"


def _delimiter(text: str) -> str:
    """Return the delimiter that splits the first records most evenly into more than one field."""
    found = re.match(r"\ufeff?sep=([,;|\t])\r?\n", text)
    if found:
        return found[1]
    best, best_score = ",", 0.0
    for mark in DELIMITERS.values():
        try:
            widths = [len(row) for row in csv.reader(text.splitlines(keepends=True)[:60], delimiter=mark) if row][:50]
        except csv.Error:
            continue
        if not widths:
            continue
        usual = max(set(widths), key=widths.count)
        score = widths.count(usual) / len(widths) * (1 + min(usual, 50) / 100) if usual > 1 else 0.0
        if score > best_score:
            best, best_score = mark, score
    return best


def _writes_decimal_commas(text: str) -> bool:
    """Say whether the sample of a file that is not split by commas writes "12,5" rather than "12.5"."""
    commas = len(re.findall(r"(?<![\d,])-?\d{1,3}(?:\.\d{3})*,\d+(?![\d,])", text))
    points = len(re.findall(r"(?<![\d.,])-?\d+\.\d+(?![\d.,])", text))
    return commas > points


def _header(first: Row) -> tuple[list[str], bool]:
    cells = [cell.strip() for cell in first]
    if cells and all(re.fullmatch(r"[-+]?[\d.,]*\d", cell) for cell in cells):
        return [f"column{n}" for n in range(1, len(cells) + 1)], True
    names: list[str] = []
    for number, cell in enumerate(cells, 1):
        name = wanted = cell or f"column{number}"
        copies = 1
        while name in names:
            copies += 1
            name = f"{wanted} ({copies})"
        names.append(name)
    return names, False


def _records(table: Table, path: Path, encoding: str) -> Iterator[Row]:
    """Yield the records of the file; blank lines are skipped, ragged rows are counted."""

    def replaced(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        table.undecodable += 1
        return error.object[error.start : error.end].decode("latin-1"), error.end

    codecs.register_error("read-as-latin-1", replaced)
    csv.field_size_limit(LONGEST_FIELD)
    with path.open(encoding=encoding, errors="read-as-latin-1", newline="") as stream:
        reader = csv.reader(_lines(stream, table), delimiter=table.delimiter)
        before = 0
        try:
            for row in reader:
                if not row:
                    continue
                if row == [END]:
                    return
                if row[-1].endswith(END):
                    raise Problem(f"{table.name}, line {before + 1}: a quote is opened here and never closed")
                before = reader.line_num
                if len(row) != len(table.header) and table.header:
                    table.ragged += 1
                    table.first_ragged = table.first_ragged or before
                yield row
        except csv.Error as error:
            raise Problem(
                f"{table.name}, line {before + 1}: {error}; is a quote opened here and never closed?"
            ) from None
        except UnicodeError as error:
            raise Problem(f"{table.name} is not readable as {encoding}: {error}") from None


def _lines(stream: TextIO, table: Table) -> Iterator[str]:
    """Yield the lines and then END: when that is swallowed by a field, a quote was never closed."""
    number = 0
    while line := stream.readline(LONGEST_LINE):
        number += 1
        table.characters += len(line)
        if len(line) >= LONGEST_LINE:
            longest = f"{LONGEST_LINE:,} characters"
            raise Problem(f"{table.name}, line {number} has more than {longest}; is it really a CSV file?")
        if "\0" in line:
            raise Problem(f"{table.name}, line {number} holds a zero byte: a binary file, not a CSV file")
        yield line
    yield END


def _folded(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name.casefold()).strip()


def column_named(table: Table, text: str) -> int:
    """Return the position of a column; capitals, underscores and a plural do not matter."""
    wanted = text.strip()
    if wanted in table.header:
        return table.header.index(wanted)
    folded = [_folded(name) for name in table.header]
    for form in (_folded(wanted), _folded(wanted).removesuffix("s")):
        if form in folded:
            return folded.index(form)
    names = ", ".join(shown(name) for name in table.header[:20])
    more = ", ..." if len(table.header) > 20 else ""
    raise Problem(f"{table.name} has no column {wanted!r}; its columns: {names}{more}")
