"""Changes a list of names in the text of a YAML file, and no other character: comments, order and spaces are a person's own."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import yaml


def changed(text: str, section: str, key: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> str:
    """Return ``text`` with names added to the list ``section.key``, or removed from it.

    Raises:
        yaml.YAMLError: the text is not YAML.
        ValueError: the text has another shape there, or one that is not changed without changing more.
    """
    wanted = yaml.safe_load(text)
    wanted = {} if wanted is None else deepcopy(wanted)
    inside = wanted.get(section) if isinstance(wanted, dict) else None
    listed = inside.get(key) if isinstance(inside, dict) else None
    if not isinstance(wanted, dict) or not isinstance(inside, dict | None) or not isinstance(listed, list | None):
        raise ValueError(f"{section}.{key} is no list")
    names = [name for name in listed or () if name not in remove]
    new = [name for name in dict.fromkeys(add) if name not in names]
    if [*names, *new] == (listed or []):
        return text
    for name in [name for name in listed or () if name in remove]:
        text = _without(text, section, key, name)
    for name in new:
        text = _with(text, section, key, name)
    wanted[section] = {**(inside or {}), key: [*names, *new]}
    if yaml.safe_load(text) != wanted:
        raise ValueError(f"{section}.{key} is written so that it cannot be changed alone")
    return text


def _entry(node: Any, name: str) -> tuple[Any, Any]:
    """Return the nodes of a key and its value; ``None`` twice where it is not there."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next(((key, value) for key, value in pairs if key.value == name), (None, None))


def _without(text: str, section: str, key: str, name: str) -> str:
    _, inside = _entry(yaml.compose(text), section)
    list_key, listed = _entry(inside, key)
    item = next(item for item in listed.value if item.value == name)
    left = [text[i.start_mark.index : i.end_mark.index] for i in listed.value if i is not item]
    if listed.flow_style:
        return f"{text[: listed.start_mark.index]}[{', '.join(left)}]{text[listed.end_mark.index :]}"
    start, end = _line(text, item.start_mark.index)
    text = text[:start] + text[end:]
    colon = text.index(":", list_key.end_mark.index) + 1
    return text if left else f"{text[:colon]} []{text[colon:]}"


def _with(text: str, section: str, key: str, name: str) -> str:
    said = yaml.safe_dump([name], default_flow_style=True).strip()
    section_key, inside = _entry(yaml.compose(text), section)
    list_key, listed = _entry(inside, key)
    if section_key is None:
        return f"{_ended(text)}{section}:\n  {key}: {said}\n"
    colon = text.index(":", (list_key or section_key).end_mark.index) + 1
    if list_key is None and isinstance(inside, yaml.MappingNode) and inside.flow_style:
        start = inside.start_mark.index + 1
        return f"{text[:start]}{key}: {said}{', ' if inside.value else ''}{text[start:]}"
    if list_key is None:
        if not inside.value or not isinstance(inside, yaml.MappingNode):  # null
            text = text[:colon] + text[max(colon, inside.end_mark.index) :]
        indent = inside.value[0][0].start_mark.column if isinstance(inside, yaml.MappingNode) else 2
        _, end = _line(text, colon)
        return f"{_ended(text[:end])}{' ' * indent}{key}: {said}\n{text[end:]}"
    if not listed.value or not isinstance(listed, yaml.SequenceNode):  # [] or null
        return f"{text[:colon]} {said}{text[max(colon, listed.end_mark.index) :]}"
    last = listed.value[-1]
    if listed.flow_style:
        return f"{text[: last.end_mark.index]}, {said[1:-1]}{text[last.end_mark.index :]}"
    start, end = _line(text, last.start_mark.index)
    return f"{_ended(text[:end])}{text[start : last.start_mark.index]}{said[1:-1]}\n{text[end:]}"


def _line(text: str, index: int) -> tuple[int, int]:
    """Return where the line at ``index`` begins, and where the next one does."""
    end = text.find("\n", index)
    return text.rfind("\n", 0, index) + 1, len(text) if end < 0 else end + 1


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
