"""What people see of a bundle: what it brings, what it would run, what it lacks here, and what of it has no effect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from skillkit_core.cli.output import echo, escaped, fields, style

from .model import Bundle, Hook, Problem
from .running import consent_digest

__all__ = ["bundle_data", "counted", "digests_of", "hook_line", "print_bundle", "print_problems", "summary"]

_MOST = 20


def counted(number: int, word: str) -> str:
    """Return a number with its word."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def brings(bundle: Bundle) -> str:
    """Return what a bundle brings, on one line."""
    kinds = (
        (len(bundle.skills), "skill"), (len(bundle.commands), "command"), (len(bundle.agents), "agent"),
        (len(bundle.servers), "server"), (len(bundle.hooks), "hook"),
    )  # fmt: skip
    return ", ".join(counted(number, word) for number, word in kinds if number) or "nothing"


def explained(bundle: Bundle, waiting: int) -> tuple[str, str]:
    """Return a bundle that counts in a turn as a line of its page: its name and version, and what it brings."""
    waits = f"; {counted(waiting, 'hook')} did not run before somebody consents" if waiting else ""
    return " ".join(filter(None, (bundle.name, bundle.version))), brings(bundle) + waits


def hook_line(hook: Hook) -> str:
    """Return what a hook runs, and when."""
    matcher = f" {hook.matcher}" if hook.matcher else ""
    guard = f", only if {hook.handler['if']}" if hook.handler.get("if") else ""
    return f"{hook.written or hook.event}{matcher} ({hook.type}{guard}): {hook.shown}"


def summary(name: str, bundle: Bundle | None) -> Iterator[str]:
    """Yield lines for whoever is to trust a folder with a bundle: what it brings, and each thing that it would run."""
    if bundle is None:
        yield f"bundle {name}: does not load"
        return
    yield f"bundle {bundle.name}: {brings(bundle)}"
    for server in bundle.servers:
        yield f"bundle {bundle.name}, MCP server {server.name}: {server.shown}"
    for hook in bundle.hooks:
        yield f"bundle {bundle.name}, hook {hook_line(hook)} (asked about once more)"
    if bundle.programs is not None:
        yield f"bundle {bundle.name}: programs in bin/"


def digests_of(bundle: Bundle) -> dict[str, Hook]:
    """Return the hooks of a bundle by the digest that is consented to."""
    return {consent_digest(bundle, hook): hook for hook in bundle.hooks}


def print_bundle(
    bundle: Bundle, digests: Mapping[str, Hook], missing: Mapping[str, str], about: Sequence[tuple[str, Any]] = (),
    consented: Mapping[str, Hook] | None = None,
) -> None:  # fmt: skip
    """Print everything that a person should know before a bundle counts.

    Args:
        digests: its hooks by the digest that is consented to.
        missing: programs that are not on this machine, each with who needs it.
        about: further lines.
        consented: those of the hooks that may run; ``None``: the bundle is not installed.
    """

    def said_of(digest: str, hook: Hook) -> str:
        state = "" if consented is None else "✓ " if digest in consented else "waits "
        return f"{state}{digest[7:19]} {hook_line(hook)}"

    said: list[tuple[str, Any]] = [
        ("format", bundle.dialect),
        ("description", " ".join(bundle.description.split())),
        *about,
        ("skills", [one.name for one in bundle.skills]),
        ("commands", [f"/{one.name}" for one in bundle.commands]),
        ("agents", [one.name for one in bundle.agents]),
        ("MCP servers", [f"{one.name}: {one.shown}" for one in bundle.servers]),
        ("hooks", [said_of(digest, hook) for digest, hook in digests.items()]),
        ("programs", "bin/" if bundle.programs is not None else ""),
        ("asks for", [_question(key, said) for key, said in bundle.options.items()]),
        ("needs bundles", ", ".join(bundle.dependencies)),
        ("missing here", [f"{name}, for {who}" for name, who in missing.items()]),
        ("no effect here", [f"{part.kind}: {part.file}" for part in bundle.parts if not part.supported]),
    ]
    name = style(escaped(bundle.name), bold=True) + (f" {escaped(bundle.version)}" if bundle.version else "")
    # nothing that a bundle says may look like a line of this screen
    rows = [
        (n, [escaped(v) for v in _cut(told)] if isinstance(told, list) else escaped(str(told)))
        for n, told in said
        if told
    ]
    fields([("bundle", name), *rows])


def _cut(lines: list[str]) -> list[str]:
    return lines if len(lines) <= _MOST * 3 else [*lines[: _MOST * 3], f"and {len(lines) - _MOST * 3} more"]


def _question(key: str, said: Mapping[str, Any]) -> str:
    about = str(said.get("title") or said.get("description") or "")
    facts = [str(said.get("type", "string"))]
    facts += [word for word in ("required", "sensitive") if said.get(word) is True]
    return f"{key} ({', '.join(facts)}): {' '.join(about.split())}"


def print_problems(problems: Iterable[Problem], *, limit: int | None = _MOST) -> None:
    """Print what was noticed, a line each."""
    every = list(problems)
    for problem in every[:limit]:
        mark = style("✗" if problem.fatal else "!", fg="red" if problem.fatal else "yellow")
        echo(f"  {mark} {escaped(str(problem))}")
    if limit is not None and len(every) > limit:
        echo(f"  and {len(every) - limit} more")


def bundle_data(bundle: Bundle, digests: Mapping[str, Hook], missing: Mapping[str, str]) -> dict[str, Any]:
    """Return a bundle as JSON."""
    return {
        "name": bundle.name,
        "version": bundle.version,
        "description": bundle.description,
        "format": bundle.dialect,
        "manifest": bundle.manifest,
        **{
            kind: [{"name": one.name, "file": one.file} for one in found]
            for kind, found in (("skills", bundle.skills), ("commands", bundle.commands), ("agents", bundle.agents))
        },
        "servers": [{"name": one.name, "file": one.file, "runs": one.shown} for one in bundle.servers],
        "hooks": [
            {
                "event": one.event, "matcher": one.matcher, "type": one.type, "runs": one.shown, "file": one.file,
                "digest": digest,
            }
            for digest, one in digests.items()
        ],
        "parts": [{"kind": one.kind, "file": one.file, "supported": one.supported} for one in bundle.parts],
        "options": {key: dict(value) for key, value in bundle.options.items()},
        "dependencies": list(bundle.dependencies),
        "missing": dict(missing),
        "problems": [problem_data(one) for one in bundle.problems],
    }  # fmt: skip


def problem_data(problem: Problem) -> dict[str, Any]:
    """Return a problem as JSON."""
    return {"code": problem.code, "where": problem.where, "what": problem.what, "fatal": problem.fatal}
