"""YAML documents with the line of every key, kept parsed in the cache so that start-up does not pay for YAML."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ConfigError

__all__ = ["Document", "read_document"]

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML file: its data (a mapping) and the line of each key, by dotted path."""

    path: Path
    data: Mapping[str, Any]
    lines: Mapping[str, int] = field(default_factory=dict)

    def where(self, key: str = "") -> str:
        """``file:line: key`` for an error about ``key`` (a dotted path)."""
        probe = key
        while probe and probe not in self.lines:
            probe = probe.rpartition(".")[0]
        line = self.lines.get(probe)
        place = f"{self.path}:{line}" if line else str(self.path)
        return f"{place}: {key}" if key else place


def read_document(path: Path, cache: Path | None = None) -> Document | None:
    """The document at ``path``, or ``None`` when there is no such file.

    ``cache`` is a directory for parsed documents; an entry counts only for the same path, size and modification time.

    Raises:
        ConfigError: the file cannot be read, is not YAML, or is not a mapping; names file and line.
    """
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path)) from None
    stamp = [_FORMAT, str(path), stat.st_mtime_ns, stat.st_size]
    kept = None if cache is None else cache / "documents" / f"{zlib.crc32(os.fsencode(path)):08x}.json"
    if kept is not None:
        try:
            found = json.loads(kept.read_bytes())
            if found["stamp"] == stamp:
                return Document(path, found["data"], found["lines"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # a missing or damaged cache is only slower
    document = _parse(path)
    if kept is not None:
        _keep(kept, {"stamp": stamp, "data": document.data, "lines": document.lines})
    return document


def _keep(path: Path, value: Any) -> None:
    try:
        text = json.dumps(value)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(text)
        temporary.replace(path)
    except (OSError, TypeError, ValueError):
        pass  # nothing depends on the cache


def _parse(path: Path) -> Document:
    import yaml

    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 (byte {error.start})", where=str(path)) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=str(path)) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        node = loader.get_single_node()
        lines: dict[str, int] = {}
        if node is not None:
            _lines(path, node, "", lines, 0)
        data = None if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        raise ConfigError(f"is not valid YAML: {getattr(error, 'problem', None) or error}", where=place) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", where=str(path)) from None
    finally:
        loader.dispose()
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError(f"must be a mapping of settings, not {type(data).__name__}", where=f"{path}:1")
    return Document(path, data, lines)


def _lines(path: Path, node: Any, prefix: str, out: dict[str, int], depth: int) -> None:
    from yaml.nodes import MappingNode, SequenceNode

    if depth > 50:
        raise ConfigError("is nested too deeply", where=str(path))
    if isinstance(node, MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value)
            line = key.start_mark.line + 1
            if name in seen and name != "<<":
                raise ConfigError(
                    f"key {name!r} was given before, in line {seen[name]}", where=f"{path}:{line}: {prefix}{name}"
                )
            seen[name] = line
            out[prefix + name] = line
            _lines(path, value, f"{prefix}{name}.", out, depth + 1)
    elif isinstance(node, SequenceNode):
        for i, value in enumerate(node.value):
            out[f"{prefix}{i}"] = value.start_mark.line + 1
            _lines(path, value, f"{prefix}{i}.", out, depth + 1)
