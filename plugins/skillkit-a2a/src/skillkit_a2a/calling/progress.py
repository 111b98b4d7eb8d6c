"""What is known of a task elsewhere: its state, what it asks, and what it has made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ..chain import ERROR
from ..errors import PeerError

if TYPE_CHECKING:
    from pathlib import Path

    from a2a.types import Artifact, Message, Part, StreamResponse, Task, TaskStatus

__all__ = ["ENDED", "PAUSED", "Progress", "state_name"]

ENDED = frozenset(("completed", "failed", "canceled", "rejected"))
PAUSED = frozenset(("input-required", "auth-required"))
_SHOWN = 2_000  # characters of data that a text shows


def state_name(value: int) -> str:
    """Return a state of a task as the specification writes it: ``input-required``."""
    from a2a.types import TaskState

    return str(TaskState.Name(value)).removeprefix("TASK_STATE_").lower().replace("_", "-")


def _json(value: Any) -> Any:
    from google.protobuf.json_format import MessageToDict

    return MessageToDict(value)


class Progress:
    """The task as far as it has been told.

    Attributes:
        agent: who works on it, as people here say.
        task: its id there; empty: not known yet, or there is none, because the agent answered at once.
        context: the conversation there to which it belongs.
        state: ``submitted``, ``working``, ``input-required``, ``completed``, ...
        message: what the agent said of the state last.
        artifacts: what it has made, by id.
    """

    def __init__(self, agent: str, most: int, files: Path) -> None:
        self.agent, self._most, self._files = agent, most, files
        self.task, self.context, self.state = "", "", "submitted"
        self.message: Message | None = None
        self._since = ""
        self.artifacts: dict[str, Artifact] = {}

    def over_but(self, question: str = "") -> bool:
        """Return whether nothing more comes unless somebody here answers another question than one that was answered."""
        if self.state == "input-required":
            return self.asked != question and not self.owners
        return self.state in ENDED or self.state in PAUSED

    def take(self, event: StreamResponse) -> None:
        """Take a piece of a stream.

        Raises:
            PeerError: ``too_large``.
        """
        kind = event.WhichOneof("payload")
        if kind == "task":
            self.see(event.task)
        elif kind == "message":
            self.state, self.message = "completed", event.message
        elif kind == "status_update":
            self._about(event.status_update.task_id, event.status_update.context_id)
            self._status(event.status_update.status)
        elif kind == "artifact_update":
            update = event.artifact_update
            self._about(update.task_id, update.context_id)
            self._artifact(update.artifact, append=update.append)
        self._check()

    def see(self, task: Task) -> None:
        """Take the whole task."""
        self._about(task.id, task.context_id)
        self._status(task.status)
        self.artifacts = {}
        for artifact in task.artifacts:
            self._artifact(artifact, append=False)
        self._check()

    def _about(self, task: str, context: str) -> None:
        self.task, self.context = self.task or task, self.context or context

    def _status(self, status: TaskStatus) -> None:
        self.state = state_name(status.state)
        self.message = status.message if status.HasField("message") else None
        self._since = status.timestamp.ToJsonString() if status.HasField("timestamp") else ""

    def _artifact(self, given: Artifact, *, append: bool) -> None:
        known = self.artifacts.get(given.artifact_id)
        if known is None or not append:
            self.artifacts[given.artifact_id] = given
            return
        parts = list(given.parts)
        if parts and known.parts and parts[0].HasField("text") and known.parts[-1].HasField("text"):
            known.parts[-1].text += parts.pop(0).text
        known.parts.extend(parts)

    def _check(self) -> None:
        if sum(artifact.ByteSize() for artifact in self.artifacts.values()) > self._most:
            text = f"{self.agent} has made more than {self._most:,} bytes (a2a.client.max_bytes)"
            raise PeerError("too_large", text, task=self.task)

    @property
    def owners(self) -> bool:
        """Whether the agent asks its own owner, and nobody else may answer."""
        return self.state == "input-required" and any(one.get("by") == "owner" for one in self.data())

    # --- in other forms -----------------------------------------------------------------------------------------------

    @property
    def asked(self) -> str:
        """A name of the question that the agent asks now: the same while it is the same question."""
        if self.message is not None and self.message.message_id:
            return self.message.message_id
        told = self.message.SerializeToString(deterministic=True) if self.message is not None else b""
        return sha256(self._since.encode() + told).hexdigest()[:32]

    @property
    def said(self) -> str:
        """What the agent said of the state, as text."""
        return "\n".join(p.text for p in self.message.parts if p.text.strip()) if self.message is not None else ""

    def text(self) -> str:
        """Return what came of the task, as text: its artifacts, else what the agent said. Data are shown where no text is."""
        parts = [part for one in self.artifacts.values() for part in one.parts]
        if not parts and self.message is not None:
            parts = list(self.message.parts)
        if any(part.text.strip() for part in parts):
            parts = [part for part in parts if not part.HasField("data")]
        return "\n\n".join(filter(None, map(self._shown, parts)))

    def _shown(self, part: Part) -> str:
        told = self._part(part)
        if "text" in told:
            return str(told["text"])
        if "data" in told:
            text = json.dumps(told["data"], ensure_ascii=False, indent=1)
            return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\n[... {len(text) - _SHOWN:,} characters more]"
        where = told.get("path") or told.get("url")
        return f"[file {told['name'] or 'without a name'}, {told['media_type'] or 'of no known type'}: {where}]"

    def _part(self, part: Part) -> dict[str, Any]:
        kind = part.WhichOneof("content")
        if kind == "text":
            return {"text": part.text}
        if kind == "data":
            return {"data": _json(part.data)}
        about = {"name": part.filename, "media_type": part.media_type}
        if kind == "url":
            return {**about, "url": part.url}
        return {**about, "bytes": len(part.raw), "path": str(self._kept(part.raw))}

    def _kept(self, raw: bytes) -> Path:
        """Keep the bytes of a file below the data folder, under their digest: no name of a stranger is a path here."""
        file = self._files / sha256(raw).hexdigest()
        if not file.exists():
            self._files.mkdir(parents=True, exist_ok=True)
            file.write_bytes(raw)
        return file

    def made(self) -> list[dict[str, Any]]:
        """Return what was made as JSON, one for each part of an artifact, with where it comes from.

        Each has ``text``, ``data``, ``url`` or ``path``, as artifacts of any tool here.
        """
        return [
            {
                "name": one.name or one.artifact_id,
                **{key: value for key, value in self._part(part).items() if value not in ("", None)},
                "agent": self.agent,
                "task": self.task,
                "artifact": one.artifact_id,
            }
            for one in self.artifacts.values()
            for part in one.parts
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        told = {"agent": self.agent, "task": self.task or None, "context": self.context or None, "state": self.state}
        return {**told, "text": self.text(), "artifacts": self.made()}

    def data(self) -> list[Mapping[str, Any]]:
        """Return the objects among what the agent said of the state."""
        parts = self.message.parts if self.message is not None else ()
        found = [_json(part.data) for part in parts if part.WhichOneof("content") == "data"]
        return [one for one in found if isinstance(one, Mapping)]

    def failure(self) -> PeerError | None:
        """Return why the task is not done; ``None``: it is, or it goes on."""
        if self.state == "auth-required":
            hint = "log in there, then go on with the task"
            return PeerError("auth", f"{self.agent} wants a login: {self.said or 'it does not say which'}", hint=hint)
        if self.state not in ("failed", "canceled", "rejected"):
            return None
        metadata = _json(self.message.metadata) if self.message is not None else {}
        code = metadata.get(ERROR) if metadata.get(ERROR) in ("ring", "depth") else self.state
        why = self.said or "it does not say why"
        return PeerError(str(code), f"the task of {self.agent} was {_WORDS[self.state]}: {why}", task=self.task)


_WORDS = {"failed": "not done", "canceled": "canceled", "rejected": "rejected"}
