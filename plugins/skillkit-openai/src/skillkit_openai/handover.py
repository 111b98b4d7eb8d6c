"""Handing a history over to a target (spec, section 11): what replays, what becomes text, what is left out."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import NamedTuple

from skillkit_core.messages import (
    AssistantMessage,
    DocumentBlock,
    ImageBlock,
    StopReason,
    ThinkingBlock,
)
from skillkit_core.models import ModelDefinition

__all__ = [
    "Target",
    "call_id",
    "image_note",
    "is_audio",
    "is_empty",
    "note",
    "replays",
    "text_of_document",
    "undescribed",
    "wire_name",
]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+\Z")
_NINE = re.compile(r"[A-Za-z0-9]{9}\Z")
_SEES = frozenset({"image", "pdf", "audio"})
_DEFAULT = ModelDefinition("").capabilities
_PARTIAL = frozenset({StopReason.aborted, StopReason.error})


def undescribed(model: ModelDefinition) -> bool:
    """Whether the definition says nothing of what the model can do; a window, which servers list with the name, does not."""
    said = model.cost or model.max_output_tokens or model.reasoning or model.thinking_levels
    return not said and model.capabilities == _DEFAULT


class Target(NamedTuple):
    """Whom the history is written for; ``image_types``: what it takes of images, ``None`` for any."""

    provider: str
    api: str
    model: str
    images: bool
    documents: bool
    audio: bool = False
    image_types: frozenset[str] | None = None

    @classmethod
    def of(cls, provider: str, api: str, model: ModelDefinition, image_types: frozenset[str] | None = None) -> Target:
        """The target of requests to ``model``; one that nobody described is expected to see and hear."""
        able = _SEES if undescribed(model) else model.capabilities
        return cls(provider, api, model.id, "image" in able, "pdf" in able, "audio" in able, image_types)

    def wrote(self, message: AssistantMessage) -> bool:
        """Whether the message is this target's own."""
        return (message.provider, message.api, message.model) == (self.provider, self.api, self.model)


def replays(block: ThinkingBlock, message: AssistantMessage, target: Target) -> bool:
    """Whether a thinking block goes back as thinking.

    Only to exactly who wrote it, only with the data that shows where it came from, and only from a message that was not
    cut short.
    """
    return bool(block.provider_data) and message.stop_reason not in _PARTIAL and target.wrote(message)


def call_id(id: str, longest: int, mistral: bool = False) -> str:
    """A tool-call id that the target takes; the same id gives the same answer every time."""
    if mistral:
        return id if _NINE.match(id) else hashlib.sha256(id.encode(errors="replace")).hexdigest()[:9]
    if len(id) <= longest and _PLAIN.match(id):
        return id
    return "call_" + hashlib.sha256(id.encode(errors="replace")).hexdigest()[:24]


def wire_name(name: str) -> str:
    """The name of a called tool as the wires take it; a model may have written anything, or nothing."""
    return name if _NAME.match(name) else (re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "_")


def is_audio(block: DocumentBlock) -> bool:
    """Whether the document is a recording."""
    return block.mime_type.startswith("audio/")


def is_empty(block: ImageBlock | DocumentBlock) -> bool:
    """Whether there is nothing to send."""
    return not block.data and not block.url


def text_of_document(block: DocumentBlock) -> str | None:
    """The text of a document that is nothing but text; ``None`` for every other one."""
    if not block.mime_type.startswith("text/") or not block.data:
        return None
    try:
        text = base64.b64decode(block.data, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        text = block.data
    return f"{block.title}:\n{text}" if block.title else text


def note(block: ImageBlock | DocumentBlock, model: str, why: str | None = None) -> str:
    """What stands in for an image, document or recording that is not sent; ``why``: default, the model does not take it."""
    if isinstance(block, DocumentBlock) and is_audio(block):
        return f"[audio left out: {why or f'{model} takes no audio'}]"
    if isinstance(block, DocumentBlock):
        name = f" {block.title!r}" if block.title else ""
        return f"[document{name} left out: {why or f'{model} takes no documents'}]"
    return f"[image left out: {why or f'{model} takes no images'}]"


def image_note(block: ImageBlock, target: Target) -> str | None:
    """What stands in for an image that ``target`` does not take; ``None``: it is sent. An address does not tell its type."""
    if not target.images:
        return note(block, target.model)
    kind = block.mime_type.partition(";")[0].strip().lower()
    if block.url or target.image_types is None or kind in target.image_types:
        return None
    return note(block, target.model, f"{kind or 'an unknown type'} is not taken")
