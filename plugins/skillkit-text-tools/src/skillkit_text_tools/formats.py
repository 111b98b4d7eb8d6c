"""A text in one format becomes one in another: Markdown as Org, bullets as prose, JSON as a table and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from skillkit_core import ToolError

__all__ = ["FORMATS", "transform_format"]


def transform_format(text: str, source: str, target: str) -> str:
    """Return a text in another format.

    Raises:
        ToolError: nobody knows the way, or the text is not in the format that is said.
    """
    known = FORMATS.get((source, target))
    if known is None:
        ways = ", ".join(f"{one} to {other}" for one, other in FORMATS)
        raise ToolError(f"no way leads from {source} to {target}; there are: {ways}")
    return known(text.replace("\r\n", "\n"))


# --- bullets ----------------------------------------------------------------------------------------------------

_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_ENDS = re.compile(r"""[.!?…:;。！？]["')\]”’»]*\Z""")


def bullets_to_prose(text: str) -> str:
    """Return the items of lists as sentences, a paragraph for each list; what is no list stays a paragraph."""
    blocks: list[tuple[bool, list[str]]] = []
    open_ = False  # whether a line may go on where the last one ended
    for line in text.split("\n"):
        if not line.strip():
            open_ = False
        elif (item := _BULLET.fullmatch(line)) is not None:
            if not (blocks and blocks[-1][0]):
                blocks.append((True, []))
            blocks[-1][1].append(item[1].strip())
            open_ = True
        elif open_ or (blocks and blocks[-1][0] and line[:1].isspace()):
            blocks[-1][1][-1] += f" {line.strip()}"
        else:
            blocks.append((False, [line.strip()]))
            open_ = True
    parts = [" ".join(_sentence(item) for item in items if item) if listed else items[0] for listed, items in blocks]
    return "\n\n".join(part for part in parts if part) + "\n" if any(parts) else ""


def _sentence(item: str) -> str:
    text = item[:1].upper() + item[1:]
    return text if _ENDS.search(text) else f"{text}."


# --- tables -----------------------------------------------------------------------------------------------------


def json_to_table(text: str) -> str:
    """Return a list of objects as a table, a column for each key in the order in which they come up.

    A text that would read as another value is quoted, so that :func:`table_to_json` gives the same list back.
    """
    try:
        rows = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"no JSON: {str(error)[:200]}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ToolError("a table is made of a list of objects")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        if rows:
            raise ToolError("objects without keys make no table")
        return ""
    lines = [_row([_name(name) for name in names]), _row(["---"] * len(names))]
    lines += [_row([_cell(row[name]) if name in row else "" for name in names]) for row in rows]
    return "\n".join(lines) + "\n"


def table_to_json(text: str) -> str:
    """Return a table as a list of objects; an empty cell is no key, and a cell that is JSON is its value."""
    lines = [line.strip(" \t") for line in text.split("\n") if line.strip(" \t")]
    if not lines:
        return "[]\n"
    if len(lines) < 2 or not all(re.fullmatch(r":?-+:?", cell) for cell in _cells(lines[1])):
        raise ToolError("no table: the second line must be | --- | --- |")
    names = [_read_name(cell) for cell in _cells(lines[0])]
    if len(set(names)) < len(names):
        raise ToolError("two columns of the table have the same name")
    rows = []
    for number, line in enumerate(lines[2:], 3):
        cells = _cells(line)
        if len(cells) > len(names):
            raise ToolError(f"line {number} of the table has {len(cells)} cells, and there are {len(names)} columns")
        rows.append({name: _read_cell(cell) for name, cell in zip(names, cells, strict=False) if cell})
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |"


def _json(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return shown if _plain(shown) else json.dumps(value)


def _plain(text: str) -> bool:
    """Whether a text stands as it is in one line of a file."""
    return not any(c < " " or c in "\x7f\x85\u2028\u2029" or "\ud800" <= c <= "\udfff" for c in text)


def _cell(value: Any) -> str:
    if not isinstance(value, str):
        return _json(value)
    bare = value and value == value.strip() and _plain(value) and _read_cell(value) is value
    return value if bare else _json(value)


def _name(name: str) -> str:
    bare = name and name == name.strip() and _plain(name) and _read_name(name) == name
    return name if bare else _json(name)


def _read_cell(cell: str) -> Any:
    try:
        return json.loads(cell, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return cell


def _read_name(cell: str) -> str:
    found = _read_cell(cell) if cell.startswith('"') else cell
    return found if isinstance(found, str) else cell


def _cells(line: str) -> list[str]:
    """Return the cells of a line between its pipes; a backslash stands before a pipe or a backslash that is text."""
    inner = line.removeprefix("|")
    cells, cell, at, closed = [], "", 0, False
    while at < len(inner):
        closed = False
        if inner[at] == "\\" and inner[at + 1 : at + 2] in ("\\", "|"):
            cell += inner[at + 1]
            at += 1
        elif inner[at] == "|":
            cells.append(cell)
            cell, closed = "", True
        else:
            cell += inner[at]
        at += 1
    return [one.strip() for one in (cells if closed else [*cells, cell])]


# --- Org --------------------------------------------------------------------------------------------------------


def markdown_to_org(text: str) -> str:
    """Return a Markdown text as one of Org mode, line for line."""
    from markdown_it import MarkdownIt

    text = text.replace("\r", "\n")
    lines = text.split("\n")
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    changed: dict[int, tuple[int, list[str]]] = {}  # line: (line behind the piece, what takes its place)
    done = 0  # lines before this one are taken care of
    for at, token in enumerate(tokens):
        if token.map is None or token.map[0] < done:
            continue
        first, last = token.map
        if token.type == "blockquote_open" and token.level == 0:
            inner = "\n".join(re.sub(r"\A {0,3}> ?", "", line) for line in lines[first:last])
            changed[first] = last, ["#+begin_quote", *markdown_to_org(inner).split("\n"), "#+end_quote"]
            done = last
        elif token.type == "code_block":
            kept = token.content.removesuffix("\n").split("\n")
            changed[first] = first + len(kept), _block("example", kept, "")
        elif token.type == "heading_open":
            changed[first] = last, [f"{'*' * int(token.tag[1:])} {_inline(tokens[at + 1].children or ())}"]
        elif token.type == "fence":
            changed[first] = last, _source(token.info.split()[:1], token.content, _indent(lines[first]))
        elif token.type == "hr":
            changed[first] = last, [f"{_marker(lines[first], lines[first].lstrip())}-----"]
        elif token.type == "table_open":
            changed[first] = last, list(_org_table(tokens[at:], lines[first:last]))
        elif token.type == "inline" and tokens[at - 1].type == "paragraph_open":
            shown = _inline(token.children or ()).split("\n")
            said = token.content.split("\n")
            if len(shown) == len(said) == last - first:
                changed[first] = (
                    last,
                    [
                        _no_heading(_marker(line, old) + new)
                        for line, old, new in zip(lines[first:last], said, shown, strict=True)
                    ],
                )
    return "\n".join(_applied(lines, changed))


def _applied(lines: Sequence[str], changed: Mapping[int, tuple[int, list[str]]]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        kept = _bullets(lines[at]) if re.fullmatch(r"[\s*+-]*", lines[at]) else lines[at]  # of an item without content
        behind, new = changed.get(at, (at + 1, [kept]))
        yield from new
        at = behind


def _marker(line: str, content: str) -> str:
    """Return what stands before the content of a line: a star as a bullet would be a heading in Org."""
    return _bullets(line[: line.find(content)] if content else "")


def _no_heading(line: str) -> str:
    """Return a line of a paragraph; one that begins with a star and a blank would be a heading in Org."""
    return re.sub(r"\A\*(?=\**\s)", r"\\ast{}", line)


def _bullets(text: str) -> str:
    return re.sub(r"(\A|(?<=\s))[*+](?=\s|\Z)", "-", text)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _source(language: Sequence[str], content: str, indent: str) -> list[str]:
    inner = content.split("\n")[:-1] if content.endswith("\n") else content.split("\n") if content else []
    return _block(" ".join(["src", *language]), inner, indent)


def _block(kind: str, lines: Sequence[str], indent: str) -> list[str]:
    """Return a block of text that is kept as it is; lines that Org would read get a comma."""
    kept = [indent + re.sub(r"\A(\s*)(,*)(\*|#\+)", r"\1,\2\3", line) for line in lines]
    return [f"{indent}#+begin_{kind}", *kept, f"{indent}#+end_{kind.partition(' ')[0]}"]


def _org_table(tokens: Sequence[Any], lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table."""
    rows: list[list[str]] = []
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append(_inline(tokens[at + 1].children or ()).replace("|", "\\vert{}"))
        elif token.type == "table_close":
            break
    indent = _indent(lines[0])
    for number, row in enumerate(rows):
        yield f"{indent}| {' | '.join(row)} |"
        if number == 0:
            yield f"{indent}|{'+'.join(['---'] * len(row))}|"


_MARKS = {"strong": "*", "em": "/", "s": "+"}


def _inline(tokens: Sequence[Any]) -> str:
    """Return the pieces of a line or paragraph as Org writes them."""
    out: list[str] = []
    links: list[tuple[str, int]] = []
    inside = _inside_words(tokens)
    for at, token in enumerate(tokens):
        kind = token.type.rpartition("_")[0]
        if kind in _MARKS:
            out.append(token.markup if at in inside else _MARKS[kind])
        elif token.type == "link_open":
            links.append((str(token.attrs.get("href", "")), len(out)))
        elif token.type == "link_close":
            href, start = links.pop()
            words = "".join(out[start:])
            out[start:] = [f"[[{href}]]" if words == href else f"[[{href}][{words}]]"]
        elif token.type == "image":
            out.append(f"[[{token.attrs.get('src', '')}]]")
        elif token.type == "code_inline":
            out.append(f"={token.content}=" if "~" in token.content else f"~{token.content}~")
        elif token.type == "softbreak":
            out.append("\n")
        elif token.type == "hardbreak":
            out.append(" \\\\\n")
        else:
            out.append(token.content)
    return re.sub(r"\A\[x\](?=\s)", "[X]", "".join(out))


def _inside_words(tokens: Sequence[Any]) -> set[int]:
    """Return where marks stand that touch a letter or digit outside: they mean nothing in Org, and stay as they are."""
    found: set[int] = set()
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.type.rpartition("_")[0] not in _MARKS:
            continue
        if token.nesting > 0:
            opened.append(at)
            continue
        start = opened.pop()
        before = tokens[start - 1].content[-1:] if start else ""
        behind = tokens[at + 1].content[:1] if at + 1 < len(tokens) else ""
        if before.isalnum() or behind.isalnum():
            found |= {start, at}
    return found


FORMATS: Mapping[tuple[str, str], Callable[[str], str]] = {
    ("markdown", "org"): markdown_to_org,
    ("bullets", "prose"): bullets_to_prose,
    ("json", "table"): json_to_table,
    ("table", "json"): table_to_json,
}
"""The ways from a format to another."""
