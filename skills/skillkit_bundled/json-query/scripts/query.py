"""Action `query`: what a JMESPath expression, or a plain request naming a key, selects from a JSON file."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping

sys.dont_write_bytecode = True  # the skill's folder stays as it was installed

from command import Problem, Result, count, run, shown  # noqa: E402
from document import Json, bounded, described, load, readable, words_of  # noqa: E402

MOST_KEYS_VISITED = 200_000
MOST_WORDS = 60
# Words that ask for a key's value as it is; none of them says which items are meant.
PLAIN = words_of("""
    a about all an and any are as at can content contents could data display document each entries every field fields
    file find for from get give got has have how i in inside is it item items its json jsonl key keys list look many may me
    my need of on out please print query read return s say see select show some tell that the their them there these
    they this those to under us value values want was we were what whats where which who whose will with would you your
    named called property element elements record records object objects does do""")
QUOTED = re.compile(r"`([^`]+)`(?!\w)|\"([^\"]+)\"|(?<!\w)'([^']+)'(?!\w)")


def query(values: Mapping[str, str]) -> Result:
    """Apply the expression found in `query` to the document."""
    document = load(values["file"])
    expression = _expression(document, values["query"], values["file"])
    value = _search(expression, document)
    if value is None and re.fullmatch(r"[\w.-]+", expression) and (named := _named(document, expression)):
        expression, value = named, _search(named, document)
    kept, cut = bounded(value)
    found = value is not None and value != []
    size = len(value) if isinstance(value, list | dict) else int(found)
    if found:
        answer = readable(value)
        if isinstance(value, list):
            answer = f"{count(size, 'item')}:\n{answer}"
    else:
        answer = f"nothing in {shown(values['file'])} matches {shown(expression)}; the document is {_outline(document)}"
    return {
        "answer": answer,
        "file": values["file"],
        "expression": expression,
        "found": found,
        "type": described(value),
        "count": size,
        "value": kept,
        "truncated": cut,
    }


def _search(expression: str, document: Json) -> Json:
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.search(expression, document)
    except JMESPathError as error:
        reason = " ".join(str(error).split("\n")[0].split())
        raise Problem(f"the expression {expression!r} does not work: {reason}") from None


def _compiles(text: str) -> bool:
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        jmespath.compile(text)
    except JMESPathError:
        return False
    return True


def _expression(document: Json, asked: str, file: str) -> str:
    """Return the JMESPath in the request: all of it, a part behind a colon or in quotes, or a key that it names."""
    asked = asked.strip()
    if not asked:
        raise Problem("the query is empty; write a JMESPath expression such as orders[?status=='open'].id")
    if _compiles(asked):
        return asked
    candidates = [asked[found.end() :].strip() for found in re.finditer(r":\s+", asked)]
    candidates += _spans(asked)
    if not any(mark in asked for mark in ("[?", "[*", "==")):  # there the quotes are part of an expression
        candidates += [next(filter(None, found.groups())) for found in QUOTED.finditer(asked)]
    for candidate in candidates:
        if candidate and candidate != file and _compiles(candidate):
            return candidate
    if re.search(r"[\[\]|*@{}]", asked):
        _search(candidates[0] if candidates else asked, document)
    named = _named(document, asked.replace(file, " "))
    if named:
        _refuse_leftover(document, asked, file, named)
        return named
    raise Problem(f"no expression found in {asked!r}; write JMESPath, for example: orders[?status=='open'].id; "
                  f"the document is {_outline(document)}")  # fmt: skip


def _spans(asked: str) -> list[str]:
    """Return the longest expression with brackets that begins at each word of the request: "orders[0].id in x.json"."""
    words = list(re.finditer(r"\S+", asked))[:MOST_WORDS]
    spans = []
    for place, first in enumerate(words):
        if first[0][0] in "`'\"" or not re.search(r"[\[\]|]|\w\(", first[0]):
            continue
        for last in reversed(words[place:]):
            span = asked[first.start() : last.end()].strip(".,;?")
            if _compiles(span):
                spans.append(span)
                break
    return spans


def _refuse_leftover(document: Json, asked: str, file: str, path: str) -> None:
    """Raise `Problem` if the request says more than the key at `path`: which items, how many of them, another key."""
    text = re.sub(r"[\"'`]?" + re.escape(file) + r"[\"'`]?", " ", asked)
    keys = re.findall(r"\"([^\"]+)\"|(\w+)", path)
    parts = {part for key in keys for part in re.findall(r"\w+", (key[0] or key[1]).casefold())}
    known = PLAIN | {form for part in parts for form in (part, part + "s", part.removesuffix("s"))}
    words = [word for word in re.findall(r"[^\W_]\w*", text) if word.casefold() not in known]
    if words:
        raise Problem(f'I do not understand "{shown(" ".join(words[:6]))}" in this request, so nothing was selected; '
                      f"{_hint(document, path, words)}")  # fmt: skip


def _hint(document: Json, path: str, words: list[str]) -> str:
    """Return the expression that chooses the items with one of the words, where there are such items."""
    items = _search(path, document)
    wanted = {word.casefold() for word in words}
    for item in items[:1_000] if isinstance(items, list) else ():
        for key, value in item.items() if isinstance(item, dict) else ():
            if isinstance(value, str) and value.casefold() in wanted and re.fullmatch(r"[A-Za-z_]\w*", key):
                return f"to choose items, write for example: {path}[?{key}=='{shown(value)}']"
    return f"for all of {path} ask for {path} alone; to choose, write JMESPath such as: orders[?status=='open'].id"


def _named(document: Json, asked: str) -> str:
    """Return the path of the first key that the request names, dotted paths and keys near the top before others."""
    words = re.findall(r"[\w$-]+(?:\.[\w$-]+)*", asked)
    asked = asked.casefold()
    paths: dict[str, str] = {}
    for keys in _paths(document):
        dotted = ".".join(keys)
        path = ".".join(key if re.fullmatch(r"[A-Za-z_]\w*(\[\])?", key) else _quoted(key) for key in keys)
        paths.setdefault(dotted.replace("[]", "").casefold(), path)
        paths.setdefault(keys[-1].replace("[]", "").casefold(), path)
    words += [name for name in paths if " " in name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", asked)]
    dotted_first = sorted(words, key=lambda word: " " not in word and "." not in word)
    chosen = next((paths[word.casefold()] for word in dotted_first if word.casefold() in paths), "")
    if not chosen:  # "the names": the one key "name"
        ends = {word.casefold().removesuffix("s") for word in words}
        alike = {path for path in paths.values() if re.sub(r"\W", "", path.rpartition(".")[2]).casefold() in ends}
        chosen = alike.pop() if len(alike) == 1 else ""
    return chosen.removesuffix("[]")


def _quoted(key: str) -> str:
    name, brackets = (key[:-2], "[]") if key.endswith("[]") else (key, "")
    return brackets if not name else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' + brackets


def _paths(document: Json) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all keys, level by level; keys of the first items stand for a list's."""
    level: list[tuple[tuple[str, ...], Json]] = [((), document)]
    visited = 0
    while level and visited < MOST_KEYS_VISITED:
        below: list[tuple[tuple[str, ...], Json]] = []
        for keys, value in level:
            items = value[:100] if isinstance(value, list) else [value]
            before = (*keys[:-1], keys[-1] + "[]") if isinstance(value, list) and keys else keys
            for item in items:
                for key, child in item.items() if isinstance(item, dict) else ():
                    visited += 1
                    path = (*before, key) if before or not isinstance(value, list) else ("[]", key)
                    yield path
                    below.append((path, child))
        level = below


def _outline(document: Json) -> str:
    text = described(document)
    if isinstance(document, dict):
        text += ": " + ", ".join(shown(key) for key in list(document)[:15]) + (", ..." if len(document) > 15 else "")
    return text


if __name__ == "__main__":
    sys.exit(run(query, positional=["file", "query"]))
