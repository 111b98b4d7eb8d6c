"""YAML in which every scalar is text: PyYAML's composers, and what their nodes mean."""

from __future__ import annotations

import re
from typing import Any

from yaml import YAMLError
from yaml.nodes import ScalarNode, SequenceNode

from skillkit_core.settings.documents import nested_too_deeply

from .yaml_values import Parsed, TextYAMLError

CParser: type[Any] | None = None
try:
    from yaml import _yaml

    CParser = _yaml.CParser
except ImportError:  # PyYAML without libyaml
    pass

__all__ = ["compose", "convert", "parse_text"]

_TEXT, _NULL = "text", "null"
_NULL_TAGS = (_NULL, "tag:yaml.org,2002:null")
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_STANDARD = ("null", "str", "int", "float", "bool", "timestamp", "binary", "seq", "map", "set")
_TAGS = frozenset((_TEXT, _NULL, *(f"tag:yaml.org,2002:{name}" for name in _STANDARD)))


class _Resolve:
    """What the composers of PyYAML ask for: the tag of a node without an explicit one."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        if kind is ScalarNode and implicit[0] and value in _NULLS:
            return _NULL
        return _TEXT

    def descend_resolver(self, parent: Any, index: Any) -> None:
        """Nothing depends on where a node is."""

    def ascend_resolver(self) -> None:
        """See :meth:`descend_resolver`."""


def _composer() -> type[Any]:
    if CParser is not None:
        return type("_Fast", (_Resolve, CParser), {})
    from yaml.composer import Composer
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class Slow(Reader, Scanner, Parser, Composer, _Resolve):
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)

    return Slow


_Composer = _composer()


def convert(parsed: Parsed, node: Any) -> Any:
    """The value of ``node``; a node that was met before is an alias and gives nothing but text."""
    tag = node.tag
    if tag not in _TAGS:
        raise TextYAMLError(f"tag {tag!r}", node.start_mark.line + 1)
    seen = parsed.seen
    if seen is not None:
        if id(node) in seen:
            parsed.aliases = True
            return node.value if type(node) is ScalarNode else None
        seen.add(id(node))
    kind = type(node)
    if kind is ScalarNode:
        return None if tag in _NULL_TAGS else node.value
    if kind is SequenceNode:
        return [convert(parsed, n) for n in node.value]
    out: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if type(key_node) is not ScalarNode:
            raise TextYAMLError("a key that is not text", key_node.start_mark.line + 1)
        key = key_node.value
        if key in out:
            parsed.duplicates.append(key)
            del out[key]
        if type(value_node) is ScalarNode and seen is None and value_node.tag == _TEXT:
            out[key] = value_node.value
        else:
            out[key] = convert(parsed, value_node)
    return out


def compose(text: str) -> Any:
    """The root node of one document, with the marks of where everything stands; ``None``: there is nothing.

    Raises:
        TextYAMLError: not YAML, or nested too deeply.
    """
    if nested_too_deeply(text):
        raise TextYAMLError("nested too deeply")
    try:
        return _Composer(text).get_single_node()
    except YAMLError as e:
        opens = re.search("flow|quoted", getattr(e, "context", None) or "")
        mark = getattr(e, "context_mark" if opens else "problem_mark", None)
        raise TextYAMLError(str(getattr(e, "problem", None) or e), mark.line + 1 if mark else 0) from None
    except (RecursionError, ValueError, UnicodeError) as e:
        raise TextYAMLError(str(e)) from None


def parse_text(text: str) -> Parsed:
    """Parse one document.

    Values that are reached through aliases are not copied: with aliases present, everything that is no scalar is
    ``None``, so no document can grow.

    Raises:
        TextYAMLError: not YAML, an unknown tag, or nested too deeply.
    """
    parsed = Parsed()
    if "*" in text:
        parsed.seen = set()
    node = compose(text)
    if node is None:
        return parsed
    try:
        value = convert(parsed, node)
    except (RecursionError, ValueError, UnicodeError) as e:
        if isinstance(e, TextYAMLError):
            raise
        raise TextYAMLError(str(e)) from None
    if parsed.aliases and isinstance(value, dict):
        value = {k: v for k, v in value.items() if type(v) is str}
    parsed.value = value
    return parsed
