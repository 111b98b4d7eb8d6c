"""A run at the command line as a text that can be compared: what the model was offered, read and said, the answer, the files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from skillkit_testkit import Call, Reply

__all__ = ["Stage", "chosen", "compare"]

GOLDEN = Path(__file__).parent.parent / "golden"
ROUTER = "You decide which skill"
WRITES = bool(os.environ.get("SKILLKIT_WRITE_GOLDEN"))  # read before a test takes variables away
_VARIES = ((r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"), (r"id: \d+\.M\d+P\d+\S*", "id: MAIL"))


def chosen(skill: str, *steps: dict[str, Any]) -> str:
    """Return what a model answers that chooses a skill."""
    return json.dumps({"skill": skill, "confidence": 0.9, "reason": "it fits", "steps": list(steps)})


class Stage:
    """Answers by script, and writes down what happened.

    A turn of the script is a list of calls, ``[("tool", {...}), ...]``, or an answer: a text, or what is said as JSON.
    """

    def __init__(self, cli: Any, server: Any, cwd: Path) -> None:
        self._cli, self._cwd, self._turns, self._read = cli, cwd, list[Any](), set[str]()
        self._wire = (
            "--provider",
            "openai",
            "--api",
            "openai-chat",
            "--base-url",
            server.openai_url,
            "--model",
            "loop",
        )
        self.told: list[str] = []
        self.offered: list[tuple[str, ...]] = []
        self._files = self._seen()
        server.always(self._answer)

    def run(
        self, words: str, *turns: Any, permit: Sequence[str] = (), command: Sequence[str] = ("run",), **more: Any
    ) -> Any:
        """Run a request with the answers of a model, and return what the command line said."""
        self._turns = list(turns)
        self.told.append(f"# {words}\n")
        rules = [part for rule in permit for part in ("--permit", rule)]
        done = self._cli(*command, *self._wire, *rules, *more.pop("options", ()), words, **more)
        assert not self._turns, f"the model was not asked for {self._turns}: {done}"
        self.told.append(f"## said\n\n{done.stdout.strip()}\n")
        self.told += self._changed()
        return done

    def resume(self, session: str, *turns: Any, **more: Any) -> Any:
        """Go on with a run that waited for a decision."""
        self._turns = list(turns)
        self.told.append("# the person agrees\n")
        done = self._cli("resume", session, *self._wire, *more.pop("options", ()), **more).ok()
        assert not self._turns, done
        self.told.append(f"## said\n\n{done.stdout.strip()}\n")
        self.told += self._changed()
        return done

    def transcript(self) -> str:
        """Return what happened, without what differs from run to run."""
        text = "\n".join(self.told).replace(str(self._cwd), "CWD")
        for pattern, name in _VARIES:
            text = re.sub(pattern, name, text)
        return text

    def _answer(self, request: Any) -> Reply:
        routed = ROUTER in request.system
        self.told.append("## choice" if routed else f"## model, offered: {', '.join(request.tool_names) or 'no tools'}")
        if not routed:
            self.offered.append(request.tool_names)
        results = [item.text for item in request.tool_results]
        for text in results or [request.user_text]:
            if text not in self._read:
                self._read.add(text)
                self.told.append(f"\n{_quoted(text)}\n")
        turn = self._turns.pop(0)
        if isinstance(turn, list):
            self.told += [f"calls {name} {json.dumps(args, ensure_ascii=False)}" for name, args in turn]
            return Reply(tool_calls=[Call(name, args) for name, args in turn])
        text = turn if isinstance(turn, str) else json.dumps(turn, ensure_ascii=False)
        self.told.append(f"answers {text}" if "\n" not in text else f"answers\n\n{_quoted(text)}")
        return Reply(text=text)

    def _seen(self) -> dict[str, str]:
        """Return the files of the workspace by path, but for mail."""
        files = [
            one for one in self._cwd.rglob("*") if one.is_file() and "mail" not in one.parts[len(self._cwd.parts) :]
        ]
        return {str(one.relative_to(self._cwd)): one.read_text() for one in files}

    def _changed(self) -> Iterator[str]:
        now, before = self._seen(), self._files
        self._files = now
        yield from (
            f"## file {name}\n\n{_quoted(now[name])}\n" for name in sorted(now) if now[name] != before.get(name)
        )
        yield from (f"## file {name} is gone\n" for name in sorted(before.keys() - now.keys()))


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.rstrip().splitlines())


def compare(name: str, text: str) -> None:
    """Compare a text with a golden file; ``SKILLKIT_WRITE_GOLDEN=1`` writes the file."""
    file = GOLDEN / f"{name}.md"
    if WRITES:
        file.write_text(text)
    assert text == file.read_text(), f"{file.name} differs; SKILLKIT_WRITE_GOLDEN=1 writes it again"
