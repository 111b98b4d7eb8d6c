"""What a bundle would run on this machine: its hooks, each with the digest that a person consents to, servers, programs."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from skillkit_markdown import FileError, read_inside

from .formats.hook_files import named_files
from .model import Bundle, Hook

__all__ = ["consent_digest", "missing_programs", "programs_of"]

_MOST_BYTES = 4 << 20
_MOST_FILES = 500
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_BUILTIN = frozenset(
    (
        "[", "[[", ":", "{", "(", "!", "true", "false", "echo", "printf", "test", "cd", "if", "for", "while", "case", "exit",
        "export", "set", "source", ".", "eval", "exec", "read", "command", "trap", "wait", "return", "local", "unset", "umask",
        "ulimit", "type",
    )
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*\Z")


def consent_digest(bundle: Bundle, hook: Hook) -> str:
    """Return the digest that a person consents to: of what the hook says, and of the files of the bundle that it names.

    Beside a file that is named counts everything in its folder, because a script may load what lies beside it.
    """
    told = {"bundle": bundle.name, "event": hook.event, "matcher": hook.matcher, "handler": hook.handler}
    total = sha256(json.dumps([told, hook.dialect], sort_keys=True, default=str).encode())
    for path in sorted(_files_beside(bundle, hook)):
        try:
            data = read_inside(path, (bundle.root,), _MOST_BYTES)
        except FileError as error:
            data = error.reason.encode()
        total.update(f"{path.relative_to(bundle.root).as_posix()}\0{sha256(data).hexdigest()}\n".encode())
    return f"sha256-{total.hexdigest()}"


def _files_beside(bundle: Bundle, hook: Hook) -> set[Path]:
    found: set[Path] = set()
    for name in [*named_files(hook.handler), *_relative_files(bundle, hook)]:
        path = bundle.root / name
        found.add(path)
        beside = path.parent.iterdir() if path.parent == bundle.root else path.parent.rglob("*")
        for one in beside:
            if len(found) > _MOST_FILES:
                break
            if one.is_file() and "__pycache__" not in one.parts:
                found.add(one)
    return found


def _relative_files(bundle: Bundle, hook: Hook) -> Iterator[str]:
    """Yield the files that a hook names from the root of its bundle, as Copilot's hooks do."""
    if hook.dialect == "copilot" and hook.type == "command":
        for word in str(hook.handler.get("command", "")).split():
            plain = word.strip("\"'").removeprefix("./")
            if plain and ".." not in plain.split("/") and not plain.startswith("/") and (bundle.root / plain).is_file():
                yield plain


def programs_of(bundle: Bundle) -> dict[str, str]:
    """Return the programs that a bundle needs, each with who needs it first."""
    found: dict[str, str] = {}
    for hook in bundle.hooks:
        if hook.type != "command":
            continue
        who = f"hook {hook.event}"
        command, args = str(hook.handler.get("command", "")), hook.handler.get("args")
        for word in [command] if isinstance(args, list) else _first_words(command):
            _note(found, word, who)
        for name in named_files(hook.handler):
            _note(found, _interpreter(bundle.root / name, bundle.root), who)
    for server in bundle.servers:
        if isinstance(program := server.config.get("command"), str):
            _note(found, program, f"server {server.name}")
    if (folder := bundle.programs) is not None:
        for path in sorted(folder.iterdir()):
            if path.is_file():
                _note(found, _interpreter(path, bundle.root), f"program {path.name}")
    return found


def missing_programs(bundle: Bundle, environ: Mapping[str, str]) -> dict[str, str]:
    """Return those of the programs that are not on the path of this machine."""
    path = environ.get("PATH")
    return {name: who for name, who in programs_of(bundle).items() if shutil.which(name, path=path) is None}


def _note(found: dict[str, str], word: str, who: str) -> None:
    if _NAME.match(word) and word not in _BUILTIN:
        found.setdefault(word, who)


def _first_words(line: str) -> Iterator[str]:
    """Yield the programs that a shell line begins with, part by part, as far as they are plain words."""
    for part in re.split(r"\|\||&&|[;|&\n]", line):
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
        while words and _ASSIGNED.match(words[0]):
            words.pop(0)
        if words:
            yield words[0]


def _interpreter(path: Path, root: Path) -> str:
    """Return the program that a script's first line names; empty: none."""
    try:
        head = read_inside(path, (root,), 200)
    except FileError:
        return ""
    if not head.startswith(b"#!"):
        return ""
    words = head[2:].split(b"\n")[0].decode("utf-8", "replace").split()
    if not words:
        return ""
    first = words[0].rpartition("/")[2]
    if first == "env":
        rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        return rest[0] if rest else ""
    return first
