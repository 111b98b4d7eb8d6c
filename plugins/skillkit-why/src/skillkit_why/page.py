"""A turn, or the difference of two, as a page of text that fits 80 columns."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from skillkit_core.cli.output import printable, shorten

from .texts import Texts

__all__ = ["difference", "page", "page_of_difference"]

Paint = Callable[..., str]
BAR = 20
MOST_LINES = 12


def _plain(text: str, **how: Any) -> str:
    return text


class Page:
    """Collects the lines of a page: headings on the left, everything else beside them."""

    MARGIN = 12

    def __init__(self, width: int, paint: Paint, cwd: str = "") -> None:
        home = os.path.expanduser("~")  # noqa: PTH111 - pathlib is not imported for this
        self._folders = [(f"{cwd}/", ""), (f"{home}/", "~/")] if len(cwd) > 1 else [(f"{home}/", "~/")]
        self.width = max(60, min(width, 110))
        self.paint = paint
        self.lines: list[str] = []

    def head(self, name: str, *texts: str, **how: Any) -> None:
        """Begin a group: its name, then what there is to say on the first lines."""
        label = self.paint(name.ljust(self.MARGIN), bold=True)
        for text in texts or ("",):
            for piece in self._wrapped(text, self.width - self.MARGIN):
                self.lines.append((label + (self.paint(piece, **how) if how else piece)).rstrip())
                label = " " * self.MARGIN

    def say(self, text: str, indent: int = 0, **how: Any) -> None:
        """Add a text below, wrapped."""
        left = " " * (self.MARGIN + indent)
        for piece in self._wrapped(text, self.width - len(left)):
            self.lines.append(left + (self.paint(piece, **how) if how else piece))

    def rows(self, rows: Iterable[Sequence[str]], right: Sequence[int] = (), **how: Any) -> None:
        """Add aligned columns; the last one is wrapped below its beginning."""
        cells = [[printable(" ".join(str(c).split())) for c in row] for row in rows]
        if not cells:
            return
        widths = [min(34, max(len(row[i]) for row in cells)) for i in range(len(cells[0]) - 1)]
        for row in cells:
            left = "  ".join(
                shorten(c, w).rjust(w) if i in right else shorten(c, w).ljust(w)
                for i, (c, w) in enumerate(zip(row, widths, strict=False))
            )
            left = " " * self.MARGIN + (f"{left}  " if widths else "")
            pieces = self._wrapped(row[-1], max(20, self.width - len(left))) or [""]
            for i, piece in enumerate(pieces):
                self.lines.append(
                    ((left if i == 0 else " " * len(left)) + (self.paint(piece, **how) if how else piece)).rstrip()
                )

    def gap(self) -> None:
        """Add an empty line between groups."""
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def text(self) -> str:
        """Return the page."""
        return "\n".join(self.lines).rstrip()

    def _wrapped(self, text: str, width: int) -> list[str]:
        for folder, shown in self._folders:
            text = text.replace(folder, shown)
        return wrap(printable(" ".join(text.split())), width, break_on_hyphens=False) or [""]


def page(found: Mapping[str, Any], width: int = 80, paint: Paint = _plain) -> str:
    """Return the page of what :meth:`~skillkit_why.turns.History.explain` found."""
    out = Page(width, paint, found["cwd"] or "")
    title = f"Turn {found['turn']} of {found['turns']}, session {found['session']}"
    out.lines.append(paint(title, bold=True))
    if found["asked"]:
        out.lines.append(paint(shorten(printable(f"“{found['asked']}”"), out.width), dim=True))
    out.gap()
    if found["driven"]:
        out.head("Model", "none was asked for this turn: code or a plugin spoke", dim=True)
    else:
        _model(out, found)
    _sent(out, found)
    for section in found["explained"] or ():
        out.gap()
        out.head(section["title"], f"from {section['from']}", dim=True)
        out.rows(section["rows"])
    if found["driven"]:
        _guards(out, found["guards"])
        _answer(out, found)
        return out.text()
    if not found["recorded"]:
        out.gap()
        out.head(
            "Not known", "No note was kept of this turn: its system prompt, tools and skills are not known.", dim=True
        )
    _sections(out, found["sections"], found)
    _messages(out, found)
    _tools(out, found["tools"], found)
    _skills(out, found["skills"])
    _guards(out, found["guards"])
    _answer(out, found)
    return out.text()


def _model(out: Page, found: Mapping[str, Any]) -> None:
    model = found["model"]
    name = "/".join(filter(None, (model["provider"], model["id"]))) or "unknown"
    out.head("Model", name + (f" over {model['api']}" if model["api"] and model["api"] != model["provider"] else ""))
    if model["chosen_by"]:
        out.say(f"chosen by: {model['chosen_by']}", dim=True)
    for reason in model["fallbacks"]:
        out.say(f"instead of {reason}", fg="yellow")
    for row in found["request"]["retries"]:
        out.say(f"tried again after {row['delay']:g} s: {row['error']}", fg="yellow")


def _sent(out: Page, found: Mapping[str, Any]) -> None:
    request, usage = found["request"], found["usage"]
    tokens, window = request["tokens"], request["window"]
    if tokens and window:
        part = min(1.0, tokens / window)
        out.head("Request", f"about {tokens:,} of {window:,} tokens  {_bar(part)} {part:.0%}")
    elif tokens:
        out.head("Request", f"about {tokens:,} tokens; the window is not known")
    spent = [f"{usage['input'] + usage['cache_read'] + usage['cache_write']:,} in"]
    if usage["cache_read"]:
        spent.append(f"{usage['cache_read']:,} of them cached")
    spent.append(f"{usage['output']:,} out")
    cost = f"${usage['cost']:.4f}" if usage["cost"] is not None else ""
    if usage["unpriced"]:
        cost = f"{cost} and more, no price is known for all" if cost else "no price is known"
    if usage["requests"]:
        out.head("Cost", f"{', '.join(spent)}{': ' + cost if cost else ''}")
    told = " ".join([*found["model"]["fallbacks"], *(row["error"] for row in request["retries"])])
    extra = [r for r in usage["requests"] if (r["error"] and r["error"] not in told) or r["purpose"] != "turn"]
    if extra:
        out.rows(
            [
                [
                    str(r["purpose"]),
                    f"{r['input'] + r['cache_read'] + r['cache_write']:,} in",
                    f"{r['output']:,} out",
                    _why(r),
                ]
                for r in extra
            ],
            right=(1, 2),
            dim=True,
        )


def _why(row: Mapping[str, Any]) -> str:
    return str(row["model"]) + (f": {row['error']}" if row["error"] else "")


def _bar(part: float, width: int = BAR) -> str:
    full = max(1 if part > 0 else 0, round(part * width))
    return "█" * full + "░" * (width - full)


def _sections(out: Page, sections: Any, found: Mapping[str, Any]) -> None:
    if sections is None:
        if found["recorded"]:
            out.gap()
            out.head("System", "What was said is no longer kept on this machine.", dim=True)
        return
    out.gap()
    total = sum(row["tokens"] for row in sections)
    out.head("System", f"{total:,} tokens in {_count(len(sections), 'section')}" if sections else "no system prompt")
    most = max((row["tokens"] for row in sections), default=0) or 1
    out.rows(
        [
            [
                row["name"],
                row["from"],
                f"{row['tokens']:,}",
                f"left out {row['left_out']}" if row.get("left_out") else _size(row["tokens"] / most),
            ]
            for row in sections
        ],
        right=(2,),
    )


def _size(part: float) -> str:
    return "█" * max(1, round(part * BAR)) if part else ""


def _messages(out: Page, found: Mapping[str, Any]) -> None:
    messages = found["messages"]
    out.gap()
    left = sum(row["count"] for row in messages["left_out"])
    roles = ", ".join(f"{n} {role.replace('_', ' ')}" for role, n in messages["by_role"].items())
    said = f"{messages['sent']} sent (about {messages['tokens']:,} tokens: {roles})" if roles else "none sent"
    out.head("Messages", said + (f", {left} left out" if left else ""))
    out.rows(
        [
            [row["from"] if row["count"] == 1 else f"{row['from']} to {row['to']}", str(row["count"]), row["reason"]]
            for row in messages["left_out"]
        ],
        right=(1,),
    )
    out.rows([[row["entry"], row["reason"]] for row in messages["replaced"]])
    if messages["made_up"]:
        out.say(f"{_count(messages['made_up'], 'result')} made up for calls that had none")
    if messages["new"]:
        out.say(f"{_count(messages['new'], 'message')} added or rewritten by {messages['new_by']}")
    for row in found["compactions"]:
        kept = f", {row['pinned']} pinned kept" if row["pinned"] else ""
        cut = f", {row['replaced']} shortened" if row["replaced"] else ""
        before = f" of {row['tokens_before']:,} tokens" if row["tokens_before"] else ""
        out.say(f"compaction {row['entry']}{before} before this turn{kept}{cut}", fg="yellow")
        if row["summary"]:
            out.say(shorten(f"“{row['summary']}”", 2 * (out.width - 16)), 2, dim=True)


def _tools(out: Page, tools: Any, found: Mapping[str, Any]) -> None:
    if tools is None:
        return
    out.gap()
    offered, withheld = tools["offered"], tools["withheld"]
    total = sum(row["tokens"] for row in offered)
    out.head("Tools", f"{len(offered)} offered ({total:,} tokens), {len(withheld)} withheld")
    by: dict[str, list[str]] = {}
    for row in offered:
        by.setdefault(row["from"], []).append(row["name"])
    size = {source: sum(r["tokens"] for r in offered if r["from"] == source) for source in by}
    out.rows([[source, f"{size[source]:,}", ", ".join(names)] for source, names in sorted(by.items())], right=(1,))
    notes = _grouped([(row["note"], row["name"]) for row in offered if row.get("note")])
    if notes:
        out.say("offered, but not every call runs:")
        out.rows([["", ", ".join(names), note] for note, names in notes.items()])
    if withheld:
        out.say("withheld:")
        why = _grouped([(f"{row['by']}: {row['reason']}", row["name"]) for row in withheld])
        out.rows([["", ", ".join(names), reason] for reason, names in why.items()])


def _grouped(rows: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, name in rows:
        found.setdefault(key, []).append(name)
    return found


def _skills(out: Page, skills: Any) -> None:
    if not skills:
        return
    out.gap()
    counts = {state: [s for s in skills if s["state"] == state] for state in ("active", "listed", "hidden")}
    out.head("Skills", ", ".join(f"{len(rows)} {state}" for state, rows in counts.items() if rows))
    for state in ("active", "listed"):
        if counts[state]:
            out.rows([[state, ", ".join(s["name"] for s in counts[state])]])
    if counts["hidden"]:
        out.rows([["hidden" if i == 0 else "", s["name"], s["reason"]] for i, s in enumerate(counts["hidden"])])


def _guards(out: Page, guards: Sequence[Mapping[str, Any]]) -> None:
    if not guards:
        return
    out.gap()
    out.head("Guards", f"spoke about {_count(len(guards), 'call')}")
    for row in guards:
        said = ", ".join(f"{plugin}: {word}" for plugin, word in row["said"].items())
        out.rows([[row["tool"], " → ".join(filter(None, (said, row["decision"], row["outcome"])))]])
        for text in (row["reason"], row["answer"]):
            if text:
                out.say(text, 2, dim=True)


def _answer(out: Page, found: Mapping[str, Any]) -> None:
    answer = found["answer"]
    out.gap()
    if answer["error"] and found["entry"] is None:
        out.head("Answer", f"none: {answer['error']}", fg="red")
        return
    stop = f" (stopped: {answer['stop_reason']})" if answer["stop_reason"] not in (None, "stop", "tool_calls") else ""
    text = shorten(f"“{answer['text']}”", out.width - Page.MARGIN - len(stop)) if answer["text"] else ""
    out.head("Answer", text + stop or "no text")
    if answer["calls"]:
        out.say(f"called {', '.join(answer['calls'])}")


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" + ("" if n == 1 else "s")


# --- two turns ---------------------------------------------------------------------------------------------------


def difference(turns: Sequence[Mapping[str, Any]], texts: Texts) -> dict[str, Any]:
    """Return what changed from the first to the second of two explained turns: ``added``, ``removed`` and ``changed``."""
    a, b = turns
    sections = _changes(_named(a["sections"]), _named(b["sections"]))
    for row in sections["changed"]:
        before, after = texts.get(row["before"].get("text", "")), texts.get(row["after"].get("text", ""))
        if before is not None and after is not None:
            lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
            row["diff"] = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    tools = [(t or {"offered": [], "withheld": []}) for t in (a["tools"], b["tools"])]
    model = {
        k: [a["model"][k], b["model"][k]]
        for k in ("provider", "id", "api", "chosen_by")
        if a["model"][k] != b["model"][k]
    }
    return {
        "session": b["session"],
        "cwd": b["cwd"],
        "turns": [a["turn"], b["turn"]],
        "recorded": [a["recorded"], b["recorded"]],
        "model": model,
        "tokens": [a["request"]["tokens"], b["request"]["tokens"]],
        "usage": {k: [a["usage"][k], b["usage"][k]] for k in ("input", "output", "cache_read", "cache_write", "cost")},
        "sections": sections,
        "messages": {k: [a["messages"][k], b["messages"][k]] for k in ("sent", "tokens", "left_out")},
        "compactions": [row for row in b["compactions"] if row not in a["compactions"]],
        "tools": _changes(_named(tools[0]["offered"]), _named(tools[1]["offered"])),
        "withheld": _changes(_named(tools[0]["withheld"]), _named(tools[1]["withheld"])),
        "skills": _changes(_named(a["skills"]), _named(b["skills"])),
    }


def _named(rows: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row in rows or ():
        name, n = row["name"], 2
        while name in found:
            name, n = f"{row['name']} {n}", n + 1
        found[name] = row
    return found


def _changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {
        "added": [b[name] for name in b if name not in a],
        "removed": [a[name] for name in a if name not in b],
        "changed": [
            {"name": name, "before": a[name], "after": b[name]} for name in b if name in a and a[name] != b[name]
        ],
    }


def page_of_difference(found: Mapping[str, Any], width: int = 80, paint: Paint = _plain) -> str:
    """Return the page of what :func:`difference` found."""
    out = Page(width, paint, found["cwd"] or "")
    first, second = found["turns"]
    out.lines.append(paint(f"From turn {first} to turn {second}, session {found['session']}", bold=True))
    out.gap()
    for key, (before, after) in found["model"].items():
        out.head("Model" if key != "chosen_by" else "Chosen by", f"{before or 'unknown'} → {after or 'unknown'}")
    out.head("Request", _arrow(found["tokens"], "tokens, estimated"))
    tokens = _arrow([_input(found["usage"], i) for i in (0, 1)], "in"), _arrow(found["usage"]["output"], "out")
    out.head("Cost", ", ".join(filter(None, (*tokens, _dollars(found["usage"]["cost"])))))
    out.head("Messages", _arrow(found["messages"]["sent"], "sent"))
    for row in found["messages"]["left_out"][1]:
        if row not in found["messages"]["left_out"][0]:
            out.say(f"- {row['from']} to {row['to']}, {row['count']} messages: {row['reason']}", fg="red")
    for row in found["compactions"]:
        out.say(f"compaction {row['entry']}", fg="yellow")
    if not all(found["recorded"]):
        out.gap()
        out.head("Not known", "No note was kept of one of the turns: what else changed is not known.", dim=True)
        return out.text()
    groups = (("System", "sections"), ("Tools", "tools"), ("Withheld", "withheld"), ("Skills", "skills"))
    for name, key in groups:
        _changed(out, name, found[key])
    same = [name.lower() for name, key in groups if not any(found[key].values())]
    if same:
        out.gap()
        out.head("The same", ", ".join(same), dim=True)
    return out.text()


def _changed(out: Page, name: str, changes: Mapping[str, Any]) -> None:
    if not any(changes.values()):
        return
    out.gap()
    out.head(name, ", ".join(f"{len(rows)} {what}" for what, rows in changes.items() if rows))
    for mark, colour, what in (("+", "green", "added"), ("-", "red", "removed")):
        out.rows([[mark, row["name"], _about(row)] for row in changes[what]], fg=colour)
    for row in changes["changed"]:
        out.rows([["~", row["name"], _between(row["before"], row["after"])]], fg="yellow")
        lines = row.get("diff", [])
        for line in lines[:MOST_LINES]:
            out.lines.append(
                " " * 16 + out.paint(shorten(printable(line), out.width - 16), fg="green" if line[:1] == "+" else "red")
            )
        if len(lines) > MOST_LINES:
            out.say(f"and {len(lines) - MOST_LINES} more lines", 4, dim=True)


def _about(row: Mapping[str, Any]) -> str:
    size = f"{row['tokens']:,} tokens, {row['from']}" if "tokens" in row else ""
    return ": ".join(filter(None, (size or row.get("by") or row.get("state"), row.get("reason") or row.get("note"))))


def _between(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    said = []
    for key in ("tokens", "state", "by", "reason", "note", "left_out", "from"):
        if before.get(key) != after.get(key):
            said.append(f"{key} {before.get(key) or 'none'} → {after.get(key) or 'none'}")
    return ", ".join(said) or "another text of the same size"


def _arrow(pair: Sequence[Any], what: str) -> str:
    a, b = pair
    if a is None or b is None:
        return f"{'unknown' if a is None else format(a, ',')} → {'unknown' if b is None else format(b, ',')} {what}"
    return f"{a:,} → {b:,} {what} ({b - a:+,})" if a != b else f"{b:,} {what}"


def _input(usage: Mapping[str, Any], i: int) -> int:
    return sum(int(usage[name][i]) for name in ("input", "cache_read", "cache_write"))


def _dollars(pair: Sequence[Any]) -> str:
    shown = [f"${x:.4f}" if x is not None else "unknown" for x in pair]
    return "" if pair == [None, None] else " → ".join(shown)
