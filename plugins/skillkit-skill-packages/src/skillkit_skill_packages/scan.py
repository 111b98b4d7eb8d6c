"""What the scan finds in a skill: in its text, in what it declares, and in all of its files, each with file and line.

``skillkit skills check`` and ``skillkit skills install`` show the same, because both call :func:`scan_skill`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from skillkit_markdown import FileLines
from skillkit_skills import commands_in, hook_lines, pattern_problem, skill_file

from skillkit_core.skills import Skill, SkillProblem

from .code_scan import code_findings
from .contents import File, Files
from .text_scan import REASONS, findings

__all__ = ["FINDINGS", "scan_files", "scan_skill"]

MAX_SCANNED = 4 * 2**20
_SCRIPTS = frozenset(
    (
        ".py",
        ".sh",
        ".bash",
        ".zsh",
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".rb",
        ".pl",
        ".php",
        ".ps1",
        ".bat",
        ".cmd",
        ".command",
    )
)
_TEXT = _SCRIPTS | {".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".html", ".svg", ".xml", ".cfg", ".ini"}
_PICTURES = frozenset(
    (".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".ttf", ".otf", ".woff", ".woff2", ".mp3", ".mp4")
)
# The rules search one paragraph at a time. A line of a minified file is cut, because their time grows faster than a text.
_PIECE, _OVERLAP = 1500, 200
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm")
_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_SETTINGS = re.compile(
    r"(?:^|/)(?:\.git/.+|\.githooks/.+|\.gitmodules|\.mcp\.json|\.claude/settings[^/]*\.json|\.vscode/(?:tasks|settings)\.json|\.devcontainer/.+"
    r"|\.husky/.+|\.envrc|sitecustomize\.py|usercustomize\.py|[^/]+\.pth|hooks/hooks\.json|\.cursorrules|\.skillkit/.+)$"
)
_INLINE = re.compile(
    r"(?:^|/)(?:(?:ba|z|da|k|fi)?sh|cmd(?:\.exe)?|powershell|pwsh|python[\d.]*|node|perl|ruby|php|osascript|deno|env)$"
)
_BROAD = re.compile(
    r"\*|(?:Bash|bash|shell|Write|Edit)\((?:\*+|:\*|\*:\*|\*\*/?\*?|/\*\*?)\)|(?:Bash|bash)\((?:sudo|sh|bash|python3?|node|eval|rm|nc)\b[^)]*\*\)|mcp__\*"
)
_RUNS = re.compile(
    r"\b(?:curl|wget|nc|ncat|ssh|scp|sudo|eval|base64|printenv|env|rm|chmod|python3?|node|perl|ruby|(?:ba|z)?sh|npx|pip3?|npm|git\s+(?:push|config))\b|>|\$\(|~/\."
)
_LIKE_LATIN = frozenset("аеорсухіјѕԁһԛԝвкмнтαοινρυχκντ")
_OWN = {
    "hook": "brings a command that runs by itself when tools are called",
    "inline-code": "has an action that hands code to a shell or an interpreter",
    "runs-when-read": "has commands in its text that do more than look, and run when it is read",
    "broad-grant": "wants tools allowed without a limit",
    "lookalike-name": "has letters of other scripts that look like Latin ones in its name",
    "binary-program": "brings a program that nobody can read",
    "disguised-file": "brings a file that is no picture, whatever its name says",
    "settings-file": "brings settings or hooks of other programs",
    "off-screen": "has text far to the right, where nobody looks",
    "link": "has a link that leads out of its folder",
    "incomplete": "has a file of which only the beginning was looked at",
}
FINDINGS: Mapping[str, str] = {**REASONS, **_OWN}
"""Every rule with its reason."""


def scan_skill(skill: Skill, files: Files | None = None) -> list[SkillProblem]:
    """A warning for each rule that a skill breaks, once a file, with its line where that can be known.

    Args:
        files: the files of the skill; default: those in its folder.
    """
    if files is None:
        files = _files(skill.path) if skill.path is not None else {}
    name = next((path for path in files if skill_file([path])), "SKILL.md")
    main = files.get(name)
    lines = FileLines(main.data) if main is not None else None
    said = [*_texts(skill, name, lines), *_declared(skill, name, lines)]
    for path, file in sorted(files.items()):
        if path != name:
            said += _of_file(path, file)
    if main is not None:
        said += _code_in(name, _decoded(main.data[:MAX_SCANNED]))
    once = {(one.code, one.path): one for one in reversed(said)}
    place = skill.path
    found = [one for one in said if once.get((one.code, one.path)) is one]
    if place is None:
        return [*found, *_patterns(skill, None)]
    return [*(_placed(one, place) for one in found), *_patterns(skill, str(place / name))]


def scan_files(files: Files) -> list[SkillProblem]:
    """A warning for each rule that files break, once a file, with its line where that can be known.

    Args:
        files: files of any package, by relative path; what is code in Markdown is looked at as code.
    """
    said = [one for path, file in sorted(files.items()) for one in _of_file(path, file)]
    once = {(one.code, one.path): one for one in reversed(said)}
    return [one for one in said if once.get((one.code, one.path)) is one]


def _placed(one: SkillProblem, folder: Path) -> SkillProblem:
    return SkillProblem(one.code, one.message, one.severity, str(folder / (one.path or "")), one.line)


def _finding(rule: str, text: str, path: str, line: int | None = None) -> SkillProblem:
    words = " ".join(text.split())
    shown = words if len(words) <= 80 else words[:79] + "…"
    reason = FINDINGS[rule]
    said = f"looks like {rule.replace('-', ' ')}, {reason}" if rule in REASONS else f"the skill {reason}"
    return SkillProblem(f"scan-{rule}", f"{said}: {shown!r}", "warning", path, line)


def _files(folder: Path) -> dict[str, File]:
    """The files of a skill on the disk, but what git, Python and npm keep there; links that lead out are told of."""
    found: dict[str, File] = {}
    home = folder.resolve()
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if (
            any(part in (".git", "__pycache__", "node_modules", ".venv", "venv") for part in parts)
            or len(found) > 2_000
        ):
            continue
        name = "/".join(parts)
        if path.is_symlink() and not path.resolve().is_relative_to(home):
            found[name] = File(b"", link=str(path.readlink()))
        elif path.is_file():
            with path.open("rb") as stream:
                found[name] = File(stream.read(MAX_SCANNED + 1), bool(path.stat().st_mode & 0o100))
    return found


def _texts(skill: Skill, path: str, lines: FileLines | None) -> Iterator[SkillProblem]:
    """What the description and the paragraphs of the body break."""
    for rule in findings(skill.description):
        at = lines.keys.find("description") if lines is not None else None
        yield _finding(rule, skill.description, path, at.line if at is not None else None)
    first, body = (lines.body_line, lines.body) if lines is not None else (None, skill.body)
    for line, text in _paragraphs(body, first or 1):
        for rule in findings(text):
            inside = next((i for i, one in enumerate(text.split("\n")) if rule in findings(one)), 0)
            yield _finding(rule, text, path, line + inside if first is not None else None)


def _declared(skill: Skill, path: str, lines: FileLines | None) -> Iterator[SkillProblem]:
    """What a skill says that it brings: hooks, actions, commands that run when it is read, wishes, its name."""

    def line(key: str) -> int | None:
        found = lines.keys.find(key) if lines is not None else None
        return found.line if found is not None else None

    for told in hook_lines(skill):
        yield _finding("hook", told, path, line("hooks"))
        yield from (_finding(rule, told, path, line("hooks")) for rule in _command_rules(told.partition(": ")[2]))
    for action in skill.actions:
        words = action.run or ()
        told = " ".join(words)
        if (
            words
            and _INLINE.search(words[0])
            and any(re.fullmatch(r"-\w*[ceE]|/[ck]|-Command|--eval|(?:ba|z)?sh", word) for word in words[1:3])
        ):
            yield _finding("inline-code", f"{action.name}: {told}", path, line("metadata"))
        for text in (told, action.description):
            yield from (
                _finding(rule, f"{action.name}: {text}", path, line("metadata")) for rule in _command_rules(text)
            )
    for command in commands_in(skill):
        if _RUNS.search(command):
            yield _finding("runs-when-read", command, path)
    for tool in skill.allowed_tools:
        if _BROAD.fullmatch(tool):
            yield _finding("broad-grant", tool, path, line("allowed-tools"))
    if _lookalike(skill.name):
        yield _finding("lookalike-name", skill.name, path, line("name"))


def _command_rules(text: str) -> list[str]:
    return [*findings(text), *(rule for rule, _, _ in code_findings(text) if rule not in findings(text))]


def _lookalike(name: str) -> bool:
    """Whether a name mixes Latin with other scripts that look alike, or has nothing but their letters."""
    letters = [c for c in name.lower() if c.isalpha()]
    foreign = [c for c in letters if not c.isascii() and not unicodedata.name(c, "").startswith("LATIN")]
    mixed = 0 < len(foreign) < len(letters) and any(c in _LIKE_LATIN for c in foreign)
    return (
        mixed
        or (bool(foreign) and all(c in _LIKE_LATIN for c in letters))
        or unicodedata.normalize("NFKC", name) != name
    )


def _of_file(path: str, file: File) -> Iterator[SkillProblem]:
    if file.link is not None:
        yield _finding("link", f"{path} -> {file.link}", path)
        return
    if _SETTINGS.search(path) or (path.endswith(".gitattributes") and b"filter=" in file.data):
        yield _finding("settings-file", path, path)
    suffix, head = PurePosixPath(path).suffix.lower(), file.data[:8]
    if head.startswith(_PROGRAMS) or suffix in (".pyc", ".pyo") or b"vbaProject.bin" in file.data:
        yield _finding("binary-program", path, path)
        return
    if suffix in _PICTURES and head[:2] == b"#!":
        yield _finding("disguised-file", path, path)
    if _binary(path, file):
        return
    text = _decoded(file.data[:MAX_SCANNED])
    for line, part in _paragraphs(text, 1):
        yield from (_finding(rule, part, path, line) for rule in findings(part))
    if suffix in _SCRIPTS or head[:2] == b"#!" or file.executable:
        yield from (_finding(rule, part, path, line) for rule, line, part in code_findings(text))
    elif suffix == ".md":
        yield from _code_in(path, text)
    if len(file.data) > MAX_SCANNED:
        yield _finding("incomplete", f"the first {MAX_SCANNED // 2**20} MiB", path)


def _code_in(path: str, text: str) -> Iterator[SkillProblem]:
    """What the blocks of code in Markdown break, and text that stands where nobody looks."""
    for match in re.finditer(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S):
        start = text.count("\n", 0, match.start(1))
        yield from (_finding(rule, part, path, start + line) for rule, line, part in code_findings(match[1]))
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > 200 and re.search(r"\S[ \t]{160,}[^\s|]", line):
            yield _finding("off-screen", line, path, number)
            return


def _binary(path: str, file: File) -> bool:
    """Whether a file is no text. A NUL hides no script: a shell passes over it."""
    if file.data[:2] in _BOMS:
        return False
    started = file.executable or file.data[:2] == b"#!" or PurePosixPath(path).suffix.lower() in _TEXT
    return b"\0" in file.data[:8192] and not started


def _decoded(data: bytes) -> str:
    """The text of a file. A byte order mark says how it is written, and is none of its characters."""
    encoding = _BOMS.get(data[:2]) or _BOMS.get(data[:3]) or "utf-8"
    return data.decode(encoding, "replace")


def _paragraphs(text: str, line: int) -> Iterator[tuple[int, str]]:
    """The paragraphs of a text with the line that each begins on."""
    for part in re.split(r"(\n\s*\n)", text):
        for start in range(0, len(part), _PIECE):
            yield line + part.count("\n", 0, start), part[max(0, start - _OVERLAP) : start + _PIECE]
        line += part.count("\n")


def _patterns(skill: Skill, path: str | None) -> Iterator[SkillProblem]:
    """A warning for each argument whose pattern cannot be matched, so that the argument takes no value."""
    for action in skill.actions:
        for arg in action.args:
            if arg.pattern is not None and (problem := pattern_problem(arg.pattern)) is not None:
                text = f"action {action.name!r}, argument {arg.name!r}: {problem}"
                yield SkillProblem("action-arg-pattern-unsupported", text, "warning", path)
