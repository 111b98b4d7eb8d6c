"""YAML documents with the line of every key. The cache keeps them parsed, so that start-up does not pay for YAML."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from errno import EINVAL
from os.path import dirname, join
from stat import S_ISREG
from typing import Any, BinaryIO, NamedTuple

from ..errors import ConfigError


def write_whole(path: str, content: str | bytes) -> None:
    """Write the file ``path`` at once: a reader finds the old content or the new one, never a part.

    Missing directories are made with mode 0700.

    Raises:
        OSError: the file cannot be written, and is unchanged.
    """
    os.makedirs(dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}"
    try:
        with open(temporary, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass  # the temporary file was never made
        raise


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; a pipe or a device could keep its reader waiting for ever.

    Raises:
        OSError: the file cannot be opened, or is no regular file.
    """
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115 - for the caller
    if not S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(EINVAL, "it is no regular file", path)
    return file


DEEPEST = 1_000
_BRACKET = re.compile(r"[\[\]{}]")
_COMPACT = re.compile(rf"(?:[-?:][ \t]+){{{DEEPEST // 4}}}")


def nested_too_deeply(text: str) -> bool:
    """Return whether ``text`` could nest deeper than :data:`DEEPEST` levels, by brackets or by ``- - -`` on one line.

    Indentation is not counted: each level needs a longer line, and no file that is read is long enough for that.
    """
    if text.count("[") + text.count("{") > DEEPEST:
        depth = 0
        for bracket in _BRACKET.finditer(text):
            if bracket[0] in "[{":
                depth += 1
                if depth > DEEPEST:
                    return True
            elif depth:
                depth -= 1
    return text.count("- ") + text.count("? ") > DEEPEST // 4 and _COMPACT.search(text) is not None


_HINTS = {
    "start any token": "indent by spaces, not tabs, and quote a text that begins with @, ` or %",
    "mapping values": "quote a text that holds ': ', or mend the indent", "undefined alias": "quote a text that begins with *",
    "another document": "leave the line --- out", "did not find": "close the bracket, or mend the indent",
}  # fmt: skip
_FORMAT = 3
_MAX_DEPTH = 50
# A few lines of YAML can stand for billions of keys: an alias is walked wherever it is used.
_MAX_KEYS = 20_000
# Seconds. A younger file can change again within one tick of its time stamp.
_SETTLED = 2.0


class Document(NamedTuple):
    """A YAML file: its data (a mapping) and the line of each key, by dotted path."""

    path: str
    data: Mapping[str, Any]
    lines: Mapping[str, int]

    def where(self, key: str = "") -> str:
        """Return ``file:line: key`` for an error about ``key``, a dotted path."""
        probe = key
        while probe and probe not in self.lines:
            probe = probe.rpartition(".")[0]
        line = self.lines.get(probe)
        place = f"{self.path}:{line}" if line else self.path
        return f"{place}: {key}" if key else place


def read_document(path: str | os.PathLike[str], cache: str | os.PathLike[str] | None = None) -> Document | None:
    """Return the document at ``path``, or ``None`` when there is no such file.

    Args:
        cache: directory for parsed documents. An entry counts only for the same unchanged file.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or is not a mapping. The error names file and line.
    """
    path = os.fspath(path)
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=path) from None
    stamp = [_FORMAT, path, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size]
    kept = None if cache is None else join(cache, "documents", f"{stat.st_dev:x}-{stat.st_ino:x}.json")
    match recall(kept, stamp) if kept is not None else None:
        case [dict(data), dict(lines)]:
            return Document(path, data, lines)
    document = _parse(path)
    if kept is not None and settled(stat.st_mtime):
        keep(kept, stamp, [document.data, document.lines])
    return document


def settled(changed: float) -> bool:
    """Return whether a file that changed at the time ``changed`` gets another time stamp when it changes again."""
    return time.time() - changed > _SETTLED


def recall(path: str, stamp: list[Any]) -> Any:
    """Return the JSON value that the cache file ``path`` keeps for the same ``stamp``, else ``None``."""
    try:
        with open_regular(path) as file:
            text = file.read()
    except OSError:
        return None
    import json

    try:
        found = json.loads(text)
        return found["data"] if found["stamp"] == stamp else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # what was kept is made again


def keep(path: str, stamp: list[Any], value: Any) -> None:
    """Keep a JSON value for ``stamp`` in the cache file ``path``, where that is possible."""
    import json

    try:
        text = json.dumps({"stamp": stamp, "data": value})
        if json.loads(text)["data"] == value:  # JSON would change keys that are no text, and dates
            write_whole(path, text)
    except (OSError, TypeError, ValueError):
        pass  # without the cache the next start is slower, nothing else


def _parse(path: str) -> Document:
    import yaml

    try:
        with open_regular(path) as file:
            text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 (byte {error.start})", where=path, hint="save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=path) from None
    lines: dict[str, int] = {}
    try:
        if nested_too_deeply(text):
            raise RecursionError
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        try:
            node = loader.get_single_node()
            if node is not None:
                _lines(path, node, "", lines, 0)
            data = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else path
        problem = str(getattr(error, "problem", None) or error).removeprefix("but ")
        hint = next((hint for words, hint in _HINTS.items() if words in problem), None)
        raise ConfigError(f"is not valid YAML: {problem}", where=place, hint=hint) from None
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"holds an impossible date or number: {error}", where=path) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", where=path) from None
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError(f"must be a mapping of settings, not {type(data).__name__}", where=f"{path}:1")
    return Document(path, data, lines)


def _lines(path: str, node: Any, prefix: str, out: dict[str, int], depth: int) -> None:
    from yaml.nodes import MappingNode, SequenceNode

    if depth > _MAX_DEPTH or len(out) > _MAX_KEYS:
        problem = "is nested too deeply" if depth > _MAX_DEPTH else f"has more than {_MAX_KEYS} keys"
        raise ConfigError(problem, where=f"{path}:{node.start_mark.line + 1}")
    if isinstance(node, MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value)
            line = key.start_mark.line + 1
            if name in seen and name != "<<":
                where = f"{path}:{line}: {prefix}{name}"
                raise ConfigError(f"key {name!r} was given before, in line {seen[name]}", where=where, hint="keep one")
            seen[name] = line
            out[prefix + name] = line
            _lines(path, value, f"{prefix}{name}.", out, depth + 1)
    elif isinstance(node, SequenceNode):
        for i, value in enumerate(node.value):
            out[f"{prefix}{i}"] = value.start_mark.line + 1
            _lines(path, value, f"{prefix}{i}.", out, depth + 1)
