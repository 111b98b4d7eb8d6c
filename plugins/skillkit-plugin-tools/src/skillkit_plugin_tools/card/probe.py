"""The child process of a card: imports one plugin on a bare core, and writes down what that did and what the plugin brings.

Started as ``python -B probe.py REQUEST ANSWER``, two files of JSON. Until the plugin is there it imports the core alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

WRITING = frozenset("wax+")
ACTS = {
    "os.mkdir": "makes a folder",
    "os.remove": "removes a file",
    "os.rename": "renames a file",
    "os.rmdir": "removes a folder",
    "os.symlink": "makes a link",
    "os.system": "runs a command",
    "os.posix_spawn": "starts a process",
    "os.fork": "starts a process",
    "subprocess.Popen": "starts a process",
    "socket.connect": "connects to a server",
    "socket.bind": "opens a socket",
    "socket.getaddrinfo": "asks for an address",
    "socket.gethostbyname": "asks for an address",
    "sqlite3.connect": "opens a database",
    "tempfile.mkstemp": "makes a file",
    "tempfile.mkdtemp": "makes a folder",
    "_thread.start_new_thread": "starts a thread",
    "signal.pthread_kill": "sends a signal",
    "os.kill": "sends a signal",
}


def main() -> None:
    """Answer: ``what`` (cost or effects), ``name`` and ``value`` of the entry point, ``own``, the folder of its files."""
    asked = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    here = str(Path(__file__).parent)
    sys.path[:] = [asked["own"], *(path for path in sys.path if path not in (here, asked["own"]))]
    answer = cost(asked["value"]) if asked["what"] == "cost" else effects(asked["name"], asked["value"], asked["own"])
    Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")


def cost(value: str) -> dict[str, Any]:
    """Import a plugin, and return the CPU time in seconds and the modules besides the core's that it takes."""
    _bare_core()
    known = set(sys.modules)
    began = time.process_time()
    _imported(value)
    spent = time.process_time() - began
    added = [name for name in sys.modules if name not in known]
    return {"seconds": spent, "modules": [name for name in added if name.partition(".")[0] != "skillkit_core"]}


def effects(name: str, value: str, own: str) -> dict[str, Any]:
    """Import a plugin, and return what that did, and what the plugin brings."""
    _bare_core()
    acts: list[str] = []
    before = _state()
    with _Printed() as printed:
        end = _watch(own, acts)
        error = _imported(value)
        end()
    acts += [f"prints {text.strip()[:60]!r}" for text in printed.texts if text.strip()]
    acts += _changes(before, _state())
    return {"error": error, "acts": list(dict.fromkeys(acts)), **({} if error else _brought(name))}


def _bare_core() -> None:
    """Import what each start imports anyway."""
    from skillkit_core import Host

    host = Host(discover=False)
    host.collect_all()
    host.close()


def _imported(value: str) -> str:
    """Import a plugin; return why it cannot be imported, or nothing."""
    from importlib import import_module
    from traceback import extract_tb

    module, _, attribute = value.partition(":")
    try:
        plugin: Any = import_module(module)
        for part in filter(None, attribute.split(".")):
            plugin = getattr(plugin, part)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the card says it
        frame = next((f for f in reversed(extract_tb(error.__traceback__)) if "importlib" not in f.filename), None)
        where = f"{frame.filename}:{frame.lineno}: " if frame is not None else ""
        return f"{where}{type(error).__name__}: {error}"
    return ""


def _watch(own: str, acts: list[str]) -> Callable[[], None]:
    """Note what the process does besides importing, until the returned function is called."""
    on = True

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not on:
            return
        act = ACTS.get(event)
        if event == "open" and isinstance(args[1], str | None) and _writes(args) and isinstance(args[0], (str, bytes)):
            act = f"writes {os.fsdecode(args[0])}"
        if act is not None:
            acts.append(f"{act} ({_line(own)})")

    def end() -> None:
        nonlocal on
        on = False

    sys.addaudithook(hook)
    return end


def _writes(args: tuple[Any, ...]) -> bool:
    _, mode, flags = args
    wanted = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    return bool(WRITING & set(mode or "")) or (mode is None and bool((flags or 0) & wanted))


def _line(own: str) -> str:
    """Return the line of the plugin that is running, with the file as the wheel names it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(own):
            return f"{os.path.relpath(file, own)}:{frame.f_lineno}"
        frame = frame.f_back
    return "in what it imports"


class _Printed:
    """Takes what is written to stdout and stderr, by whatever way."""

    def __enter__(self) -> _Printed:
        import tempfile

        self.texts: list[str] = []
        self._kept = []
        for number, stream in ((1, sys.stdout), (2, sys.stderr)):
            stream.flush()
            taken = tempfile.TemporaryFile()
            self._kept.append((number, os.dup(number), stream, taken))
            os.dup2(taken.fileno(), number)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, kept, stream, taken in self._kept:
            stream.flush()
            os.dup2(kept, number)
            os.close(kept)
            taken.seek(0)
            self.texts.append(taken.read().decode(errors="replace"))
            taken.close()


def _state() -> dict[str, Any]:
    """Return what of the process a plugin must leave alone."""
    import asyncio
    import atexit
    import builtins
    import locale
    import logging
    import signal
    import threading
    import warnings

    signals = {
        one.name: repr(signal.getsignal(one)) for one in signal.Signals if one.name not in ("SIGKILL", "SIGSTOP")
    }
    return {
        "an environment variable": dict(os.environ),
        "the current directory": str(Path.cwd()),
        "sys.path": list(sys.path),
        "how modules are found": [repr(one) for one in (*sys.meta_path, *sys.path_hooks)],
        "the handler of a signal": signals,
        "the root logger": [logging.root.level, *map(repr, logging.root.handlers), logging.root.manager.disable],
        "the filters of warnings": list(map(repr, warnings.filters)),
        "the locale": locale.setlocale(locale.LC_ALL),
        "sys.excepthook": [repr(sys.excepthook), repr(sys.displayhook), repr(threading.excepthook)],
        "stdin, stdout or stderr": [id(sys.stdin), id(sys.stdout), id(sys.stderr)],
        "the built-in names": sorted(vars(builtins)),
        "what runs at the end": getattr(atexit, "_ncallbacks", int)(),
        "how event loops are made": repr(getattr(asyncio.events, "_event_loop_policy", None)),
        "the limit of recursion": sys.getrecursionlimit(),
        "a thread": sorted(thread.name for thread in threading.enumerate()),
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for what, value in before.items():
        now = after[what]
        if now == value:
            continue
        if isinstance(value, dict):
            names = sorted(key for key in {*value, *now} if value.get(key) != now.get(key))
            yield f"changes {what}: {', '.join(names)}"
        elif what == "a thread":
            yield f"leaves {what} running: {', '.join(sorted(set(now) - set(value)))}"
        elif what != "what runs at the end" or now > value:
            yield f"changes {what}"


def _brought(name: str) -> dict[str, Any]:
    """Load the plugin as an installed one on a host without any other, and return its hooks, items and problems."""
    from skillkit_core import Host
    from skillkit_core.errors import SkillKitError

    alone = Path("distribution.yaml")
    alone.write_text(f"schema_version: 1\nname: card\nplugins: [{name}]\npolicy: {{only_listed: true}}\n", "utf-8")
    try:
        host = Host(str(alone))
        host.collect_all()
    except SkillKitError as error:
        return {"problems": [str(error)], "hooks": [], "items": {}, "targets": []}
    try:
        loaded = host.plugins.get(name)
        items = {kind: [e for e in host.registry(kind).entries() if e.source == name] for kind in host.kinds}
        problems = [f"{p.stage}: {p.message}" for p in host.problems if p.severity == "error"]
        return {
            "problems": problems,
            "hooks": list(loaded.hooks) if loaded is not None else [],
            "items": {kind: [e.name for e in found] for kind, found in items.items() if found},
            "defines": sorted(loaded.defines) if loaded is not None else [],
            "targets": [line for kind, found in items.items() for e in found for line in _wrong(kind, e.item)]
            + [line for e in items["config"] for line in _unsaid(host, e.name)],
        }
    finally:
        host.close()


def _wrong(kind: str, item: Any) -> Iterator[str]:
    """Yield what is wrong with a descriptor: it does not say what it is, or it names what cannot be imported."""
    from skillkit_core.descriptors import load_object
    from skillkit_core.errors import SkillKitError

    what = f"{kind}: {getattr(item, 'name', item)!r}"
    for field in ("description", "help"):
        if hasattr(item, field) and not str(getattr(item, field) or "").strip():
            yield f"{what} has no {field}"
    named = [getattr(item, field, None) for field in ("create", "target", "model", "execute", "provide", "estimate")]
    if isinstance(apis := getattr(item, "apis", None), Mapping):
        named += apis.values()
    for target in named:
        if isinstance(target, str) and ":" in target:
            try:
                found = load_object(target)
            except (ImportError, SkillKitError) as error:
                yield f"{what} names {target}: {error}"
                continue
            if not callable(found):
                yield f"{what} names {target}, which cannot be called"


def _unsaid(host: Any, name: str) -> Iterator[str]:
    """Yield what is wrong with a section: nobody can leave it out, or a setting does not say what it is."""
    from skillkit_core.errors import SkillKitError

    try:
        section = host.config.section(name)
    except SkillKitError as error:
        yield f"config: {name!r} has no defaults that fit: {error}"
        return
    if isinstance(known := getattr(section, "__dataclass_fields__", None), Mapping):
        about = {setting: one.metadata.get("description") for setting, one in known.items()}
    else:
        about = {setting: one.description for setting, one in type(section).model_fields.items()}
    for setting, words in about.items():
        value = getattr(section, setting)
        group = hasattr(value, "__dataclass_fields__") or hasattr(type(value), "model_fields")
        if not words and not group:
            yield f"config: {name}.{setting} has no description, which 'skillkit config init' writes beside it"


if __name__ == "__main__":
    main()
