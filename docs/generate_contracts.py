"""Writes the reference page of contracts and values from the docstrings: ``python docs/generate_contracts.py [--check]``.

What a plugin implements, registers, gets and returns, with the fields and methods of each: types, defaults, units, errors. All of
it stands in the code.
"""

# ruff: noqa: E501 - lines of prose that go to the page

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).resolve().parent / "reference" / "contracts.md"
INTRODUCTION = """\
# Contracts and values

<!-- Written by docs/generate_contracts.py from the docstrings in skillkit_core. Do not edit it here. -->

What a plugin implements, registers and gets, field by field. Beside it: [hooks](hooks.md), [events](events.md), and [all public names](public.md).
Times are seconds, sizes of texts are characters, money is US dollars, unless a line says otherwise. Values are frozen: `dataclasses.replace` makes a
changed copy of a dataclass, `value._replace` of a named tuple.

"""

SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "What you implement",
        "A class of a contract. The host makes it from the import string that a plugin registered.",
        (
            "contracts.adapter:LLMAdapter", "contracts.runtime:SkillRuntime", "contracts.compactor:Compactor",
            "contracts.session_store:SessionStore", "contracts.session_store:SessionHandle",
            "contracts.skill_loader:SkillLoader", "contracts.tool_executor:ToolExecutor", "contracts.approver:Approver",
            "contracts.user_interface:UserInterface", "contracts.driver:Driver",
        ),
    ),
    (
        "What you register",
        "Descriptors, which a [registration hook](hooks.md#registration-hooks) passes to `register`. They create nothing heavy: what costs time is named by an "
        "import string, `\"package.module:attribute\"`.",
        (
            "tools:Tool", "tools:ToolSet", "descriptors:Factory", "descriptors:Provider", "models:ModelDefinition",
            "models:ModelCost", "descriptors:Command", "descriptors:ConfigSection", "descriptors:ContextProvider",
            "descriptors:TokenEstimator", "contracts.skill_loader:SkillSource",
        ),
    ),
    (
        "What your code is given",
        "The arguments of tools, adapters, handlers, compactors and commands.",
        (
            "tools:ToolContext", "events.context:HandlerContext", "contracts.adapter:LLMRequest",
            "contracts.adapter:ModelSettings", "contracts.compactor:CompactionRequest", "contracts.approver:ApprovalRequest",
            "contracts.driver:DrivenRun", "abort:AbortSignal", "cli.main:CliState",
        ),
    ),
    (
        "What your code returns",
        "",
        (
            "tools:ToolOutput", "stream:StreamEvent", "contracts.runtime:ExecutionResult",
            "contracts.compactor:CompactionResult", "contracts.approver:ApprovalDecision",
            "contracts.skill_loader:LoadedSkills",
        ),
    ),
    (
        "Messages and what they are made of",
        "Blocks are told apart by class, or by the class attribute `type` (`text`, `thinking`, `tool_call`, ...), messages by `role`. `Outcome` is explained in [Errors](errors.md#outcomes-of-tool-calls).",
        (
            "messages:UserMessage", "messages:AssistantMessage", "messages:ToolResultMessage", "messages:CustomMessage",
            "messages:TextBlock", "messages:ThinkingBlock", "messages:ToolCall", "messages:ImageBlock",
            "messages:DocumentBlock", "messages:RefusalBlock", "messages:ProviderBlock", "messages:StopReason",
            "messages:Outcome", "messages:Origin", "models:TokenUsage",
        ),
    ),
    (
        "Sessions",
        "The entries of a session are described in [Session file](session-file.md).",
        (
            "contracts.session_store:SessionHeader", "contracts.session_store:SessionEntry",
            "contracts.session_store:SessionNote",
        ),
    ),
    (
        "Errors",
        "[Errors and diagnostics](errors.md) has all classes, and says which kinds are tried again.",
        ("errors:SkillKitError", "errors:ProviderError", "errors:ToolError", "errors:UsageError"),
    ),
)  # fmt: skip


class Doc(NamedTuple):
    """A docstring in its parts: the text, and what its sections say by name; a section without names is under ``""``."""

    text: str
    attributes: dict[str, str]
    args: dict[str, str]
    raises: dict[str, str]


def main() -> None:
    """Write the page, or with ``--check`` say whether it is up to date."""
    text = page()
    if "--check" in sys.argv:
        raise SystemExit(PAGE.read_text(encoding="utf-8") != text and f"{PAGE.name} is out of date")
    PAGE.write_text(text, encoding="utf-8")


def page() -> str:
    """Return the text of the page."""
    parts = [INTRODUCTION]
    for title, _, names in SECTIONS:
        links = ", ".join(f"[`{name}`](#{name.lower()})" for name in (n.partition(":")[2] for n in names))
        parts.append(f"- [{title}](#{title.lower().replace(' ', '-')}): {links}\n")
    for title, words, names in SECTIONS:
        parts.append(f"\n## {title}\n\n" + (f"{words}\n\n" if words else "") + "\n".join(map(_entry, names)))
    return "".join(parts)


def _entry(where: str) -> str:
    module, _, name = where.partition(":")
    cls = getattr(import_module(f"skillkit_core.{module}"), name)
    doc = parsed(inspect.getdoc(cls) or "")
    lines = [f"### `{name}`\n", f"`from {_home(module, name)} import {name}`\n" if name != "CliState" else "", doc.text]
    words: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if str(base.__module__).startswith("skillkit_core"):
            inherited = parsed(inspect.getdoc(base) or "")
            words |= {**inherited.args, **inherited.attributes}
    lines += _table(_fields(cls, words))
    lines += ["", *_enum(cls, doc), *_methods(cls)]
    lines += [f"- `{kind}`: {words}" for kind, words in doc.raises.items()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _home(module: str, name: str) -> str:
    import skillkit_core

    return "skillkit_core" if name in skillkit_core.__all__ else f"skillkit_core.{module}"


def parsed(text: str) -> Doc:
    """Return the parts of a docstring in Google's style; an example is left out."""
    parts = re.split(r"^(Args|Attributes|Raises|Returns|Example|Examples)::?\n", text, flags=re.M)
    found: dict[str, dict[str, str]] = {}
    tail = ""
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        block = re.match(r"(?:(?:    .*)?\n|    .*\Z)*", body)
        inside = body[: block.end()] if block else body
        tail += body[len(inside) :]
        found[title] = dict(_items(textwrap.dedent(inside)))
    words = markdown(f"{parts[0].strip()}\n\n{tail.strip()}".strip())
    return Doc(words, found.get("Attributes", {}), found.get("Args", {}), found.get("Raises", {}))


def _items(text: str) -> list[tuple[str, str]]:
    """The names of a section with their words. Two names may share a line: ``width: of it. height: of it.``"""
    out: list[tuple[str, str]] = []
    for item in re.split(r"\n(?=\S)|(?<=\.) (?=[a-z_]+: )", text.strip()):
        name, sep, words = item.partition(":")
        if sep and re.fullmatch(r"[\w.*]+(, \w+)*", name):
            out += [(one, markdown(" ".join(words.split()))) for one in name.split(", ")]
    return out


def _table(rows: list[tuple[str, str, str, str]]) -> list[str]:
    """The table of fields. The words are left out where the text of the class says what they are."""
    if not rows:
        return []
    worded = any(words for *_, words in rows)
    head = [
        "\n| field | type | default |" + (" |" if worded else ""),
        "| --- | --- | --- |" + (" --- |" if worded else ""),
    ]
    return head + [
        f"| `{n}` | {_code(kind)} | {_code(value)} |" + (f" {_cell(words)} |" if worded else "")
        for n, kind, value, words in rows
    ]


def _fields(cls: Any, words: dict[str, str]) -> list[tuple[str, str, str, str]]:
    """The fields and properties of a class: name, type, default, words."""
    if _is_enum(cls):
        return []
    known = _annotations(cls)
    rows = [(name, kind, default, words.get(name, "")) for name, (kind, default) in known.items()]
    for name, member in _members(cls):
        if isinstance(member, property):
            kind = getattr(member.fget, "__annotations__", {}).get("return", "")
            rows.append((name, str(kind), "property", parsed(inspect.getdoc(member) or "").text))
    return rows + [(n, "", "", w) for n, w in words.items() if n not in known and not _known(cls, n)]


def _known(cls: Any, name: str) -> bool:
    return isinstance(inspect.getattr_static(cls, name, None), property)


def _annotations(cls: Any) -> dict[str, tuple[str, str]]:
    """The annotated names of a class and its bases with their types and defaults, as they are written."""
    out: dict[str, tuple[str, str]] = {}
    for base in reversed(cls.__mro__):
        if not str(getattr(base, "__module__", "")).startswith("skillkit_core"):
            continue
        try:
            node = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        except OSError:
            continue
        for item in getattr(node, "body", ()):
            if (
                not isinstance(item, ast.AnnAssign)
                or not isinstance(item.target, ast.Name)
                or item.target.id.startswith("_")
            ):
                continue
            kind = ast.unparse(item.annotation)
            value = "" if item.value is None else ast.unparse(item.value)
            if item.target.id in ("type", "role") and kind.startswith("ClassVar["):
                continue
            value = re.sub(r"field\((?:default=)?(\w+)\)", r"\1", value)
            value = re.sub(r"field\(default_factory=(.*?)\)$", r"\1()", value).replace("EMPTY", "{}")
            value = re.sub(r"field\(default=(.*)\)$", r"\1", value)
            out[item.target.id] = (_plain(kind), value)
    return out


def _plain(kind: str) -> str:
    """A type without what is for checkers alone."""
    kind = re.sub(r"Annotated\[(.*?), ['\"].*\]$", r"\1", kind)
    return re.sub(r"^ClassVar\[(.*)\]$", r"\1", kind).strip("\"'") if "Literal" not in kind else kind


def _is_enum(cls: Any) -> bool:
    return hasattr(cls, "__members__")


def _enum(cls: Any, doc: Doc) -> list[str]:
    if not _is_enum(cls):
        return []
    return [
        f"- `{member.name}`" + (f": {doc.attributes[member.name]}" if member.name in doc.attributes else "")
        for member in cls
    ]


def _members(cls: Any) -> list[tuple[str, Any]]:
    return [(name, member) for name, member in vars(cls).items() if not name.startswith("_")]


def _methods(cls: Any) -> list[str]:
    out: list[str] = []
    for name, member in _members(cls):
        function = getattr(member, "__func__", member)
        if not inspect.isfunction(function):
            continue
        doc = parsed(inspect.getdoc(function) or "")
        must = " (must be implemented)" if getattr(function, "__isabstractmethod__", False) else ""
        out.append(f"#### `{cls.__name__}.{name}`{must}\n\n```py\n{signature(function)}\n```\n\n{doc.text}\n")
        out += [f"- `{arg}`: {words}" for arg, words in doc.args.items()]
        out += [f"- raises `{kind}`: {words}" for kind, words in doc.raises.items()]
        out.append("")
    return out


def signature(function: Any) -> str:
    """The ``def`` line as it is written, over several lines where it is long."""
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    start = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    args = re.sub(r"(: [^=]+?)=(?!=)", r"\1 = ", ast.unparse(node.args))
    line = f"{start} {node.name}({args}){returns}"
    if len(line) <= 110:
        return line
    pieces = re.split(r", (?![^\[(]*[\])])", args)
    return f"{start} {node.name}(\n" + "".join(f"    {piece},\n" for piece in pieces) + f"){returns}"


def markdown(text: str) -> str:
    """The reStructuredText of docstrings as Markdown."""
    text = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`")


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
