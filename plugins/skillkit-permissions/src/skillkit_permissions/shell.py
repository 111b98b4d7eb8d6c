"""Takes a shell line apart into its simple commands, with the parser of shfmt, and without running anything.

Every simple command counts: those of loops, functions, substitutions and here-documents too. Where the meaning of a word
depends on the moment the line runs (a variable, a glob, a substitution), the word says so.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

__all__ = ["LONGEST", "Command", "Line", "Redirect", "Word", "odd_characters", "parse"]

LONGEST = 10_000
_SECONDS = 3.0
# what a terminal does not show as it is: controls, zero-width characters, marks that change the direction
_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
# where the parser and bash read different lines: a comment, a here-document or a word that goes on in the next line
_GOES_ON = (
    (re.compile(r"(?:^|[\s|&;()<>`])#[^\n]*\\\n", re.M), "a comment that ends with a backslash"),
    (re.compile(r"<<.*\\\n", re.S), "a backslash at the end of a line, and a here-document"),
    (re.compile(r"[^ \t\n\\]\\\n|\\\\\n|\\\Z"), "a word that goes on in the next line"),
)
_ODD_BLANK = re.compile(r"[^\S \t\n]")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.S)
_ANSI_C = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NUMERIC = re.compile(r"\s*[0-9]*\s*\Z")
_ARITHMETIC_TESTS = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"}


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command.

    Attributes:
        text: the word after quotes are removed; an unknown part is empty.
        known: the whole word is known before the line runs.
        glob: the word is a pattern for names of files.
        tilde: the word begins with an unquoted ``~``, or what it assigns does.
        whole: however the word turns out, it is one word: what is not known stands in quotes.
    """

    text: str
    known: bool = True
    glob: bool = False
    tilde: bool = False
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection to or from a file.

    Attributes:
        writes: the file is written, else read.
        target: the file.
    """

    writes: bool
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command.

    Attributes:
        words: the program and its arguments; empty for assignments or redirections alone.
        assigned: the names of variables that are set for it, or for the rest of the line where there are no words.
    """

    words: tuple[Word, ...] = ()
    assigned: tuple[str, ...] = ()


@dataclass(slots=True)
class Line:
    """What a line runs.

    Attributes:
        commands: every simple command, in the order of the text.
        redirects: every redirection to or from a file.
        problems: why the line cannot be understood as a whole; empty for a line that is understood.
    """

    commands: list[Command] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def odd_characters(text: str) -> bool:
    """Return whether a text holds characters that make what is shown differ from what runs."""
    return _ODD.search(text) is not None


def parse(line: str, home: str | None = None) -> Line:
    """Return what a line runs.

    Args:
        home: the value of ``$HOME``; ``None``: unknown.
    """
    found = Line()
    if odd_characters(line):
        found.problems.append("characters that a terminal does not show")
    if len(line) > LONGEST:
        found.problems.append(f"longer than {LONGEST:,} characters")
        return found
    if not line.strip():
        found.problems.append("nothing to run")
        return found
    found.problems += [problem for pattern, problem in _GOES_ON if pattern.search(line)]
    try:
        tree = _tree(line.replace("\x00", ""))
        _Reader(found, home).statements(tree.get("Stmts", ()))
    except RecursionError:
        found.problems.append("nested too deeply")
    except (KeyError, TypeError, ValueError):
        found.problems.append("the parser reads something that is not understood")
    except _Unreadable as error:
        found.problems.append(str(error))
    if not found.commands and not found.redirects and not found.problems:
        found.problems.append("nothing to run")
    return found


class _Unreadable(Exception):
    """The line cannot be parsed."""


def _tree(line: str) -> Mapping[str, Any]:
    """Return the syntax tree of a line.

    Raises:
        _Unreadable: the line is no shell line, or the parser is missing, fails or needs too long.
    """
    program = _parser()
    if program is None:
        raise _Unreadable("the parser is missing: install shfmt-py")
    return _read_by(program, line)


@lru_cache(64)  # several guards look at one line, and it comes again
def _read_by(program: str, line: str) -> Mapping[str, Any]:
    try:
        done = subprocess.run(
            [program, "-ln", "bash", "--to-json"],
            input=line.encode("utf-8", "surrogatepass"),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise _Unreadable(f"the parser failed: {type(error).__name__}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise _Unreadable(f"not a complete shell line ({said[:120]})")
    tree: Mapping[str, Any] = json.loads(done.stdout)
    return tree


@cache
def _parser() -> str | None:
    """Return the path of the parser that the distribution ``shfmt-py`` brought, and never one from ``PATH``."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        found = files("shfmt-py") or ()
    except PackageNotFoundError:
        return None
    return next((str(file.locate()) for file in found if file.stem == "shfmt" and file.suffix in ("", ".exe")), None)


class _Reader:
    """Walks a syntax tree and fills a :class:`Line`."""

    def __init__(self, line: Line, home: str | None) -> None:
        self._line = line
        self._home = home

    def statements(self, statements: Sequence[Mapping[str, Any]]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, statement: Mapping[str, Any]) -> None:
        command = statement.get("Cmd")
        if command is not None:
            self._command(command)
        for redirect in statement.get("Redirs", ()):
            self._redirect(redirect)

    def _problem(self, text: str) -> None:
        if text not in self._line.problems:
            self._line.problems.append(text)

    def _command(self, node: Mapping[str, Any]) -> None:
        kind = node["Type"]
        if kind == "CallExpr":
            names = tuple(self._assignment(a) for a in node.get("Assigns", ()))
            words = tuple(self.word(w) for w in node.get("Args", ()))
            self._line.commands.append(Command(words, names))
        elif kind == "BinaryCmd":
            if node["Op"] in ("|", "|&") and node["Y"].get("Cmd", {}).get("Type") == "TimeClause":
                # for bash that may be a program
                self._problem("time in a pipe")
            self._statement(node["X"])
            self._statement(node["Y"])
        elif kind in ("Subshell", "Block"):
            self.statements(node.get("Stmts", ()))
        elif kind == "IfClause":
            for part in ("Cond", "Then"):
                self.statements(node.get(part, ()))
            if "Else" in node:
                self._command({"Type": "IfClause", **node["Else"]})
        elif kind == "WhileClause":
            self.statements(node.get("Cond", ()))
            self.statements(node.get("Do", ()))
        elif kind == "ForClause":
            if "Name" in node["Loop"]:
                self._set(str(node["Loop"]["Name"]["Value"]))
            self._words_in(node["Loop"])
            self.statements(node.get("Do", ()))
        elif kind == "CaseClause":
            self.word(node["Word"])
            for item in node.get("Items", ()):
                for pattern in item.get("Patterns", ()):
                    self.word(pattern)
                self.statements(item.get("Stmts", ()))
        elif kind in ("TimeClause", "CoprocClause"):
            if kind == "CoprocClause":
                self._problem("coproc")
            if "Name" in node:
                self._words_in(node["Name"])
                self._set("".join(str(part.get("Value", "")) for part in node["Name"].get("Parts", ())))
            if "Stmt" in node:
                self._statement(node["Stmt"])
        elif kind == "FuncDecl":
            self._problem(f"it defines the function {node['Name']['Value']}")
            self._statement(node["Body"])
        elif kind == "DeclClause":
            variant = node["Variant"]["Value"]
            options = [self.word(a["Value"]) for a in node.get("Args", ()) if a.get("Naked") and "Value" in a]
            if any(not o.known or set(o.text[1:]) - set("gxrapt") for o in options):
                self._problem(f"{variant} with options")
            names = tuple(self._assignment(a) for a in node.get("Args", ()) if "Name" in a)
            self._line.commands.append(Command((), names))
        elif kind == "TestClause":
            self._words_in(node["X"])
        elif kind in ("ArithmCmd", "LetClause"):
            self._arithmetic(node)
        else:
            self._problem(f"a {kind} is not understood")
            self._words_in(node)

    def _assignment(self, node: Mapping[str, Any]) -> str:
        if "Index" in node:
            self._arithmetic(node["Index"])
        for part in ("Value", "Array"):
            if part in node:
                self._words_in(node[part])
        name = str(node["Name"]["Value"])
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.A):
            # for bash that is a word
            self._problem(f"{name} is no name of a variable")
        if name == "HOME":
            self._home = None
        return name

    def _set(self, name: str) -> None:
        """Note that the line sets a variable, in whatever way."""
        self._line.commands.append(Command((), (self._assignment({"Name": {"Value": name}}),)))

    def _redirect(self, node: Mapping[str, Any]) -> None:
        op = node["Op"]
        target = self.word(node["Word"]) if "Word" in node else Word("", known=False)
        if "N" in node and (name := re.fullmatch(r"\{(\w+).*\}", str(node["N"]["Value"]))):
            self._set(name[1])
        if op in ("<<", "<<-"):
            self._words_in(node.get("Hdoc", {}))
        elif op == "<<<" or (op in (">&", "<&") and target.known and re.fullmatch(r"[0-9]*-?", target.text)):
            pass
        elif op in ("<", "<&"):
            self._line.redirects.append(Redirect(False, target))
        else:
            self._line.redirects.append(Redirect(True, target))

    def _words_in(self, node: Any) -> None:
        """Read the substitutions of everything below a node that is no command itself."""
        if isinstance(node, list):
            for one in node:
                self._words_in(one)
        elif isinstance(node, Mapping):
            kind = node.get("Type")
            if kind in ("BinaryArithm", "UnaryArithm", "ParenArithm") or (
                kind in ("BinaryTest", "UnaryTest") and node.get("Op") in _ARITHMETIC_TESTS
            ):
                self._arithmetic(node)
            elif "Parts" in node:
                self.word(node)
            else:
                for one in node.values():
                    self._words_in(one)

    def _arithmetic(self, node: Any) -> None:
        """Read an arithmetic expression: the value of a name in it is evaluated again, and may run commands."""
        for word in _words_below(node):
            read = self.word(word)
            if not read.known or not _NUMERIC.match(read.text):
                self._problem("arithmetic with variables")

    def word(self, node: Mapping[str, Any]) -> Word:
        """Return a word, and read the commands of its substitutions."""
        text: list[str] = []
        # what is not quoted, with a quoted piece as one letter: braces and patterns are read over all pieces
        bare: list[str] = []
        known = whole = True
        for part in node.get("Parts", ()):
            kind = part["Type"]
            if kind == "Lit":
                piece, unquoted = _unquoted(str(part["Value"]))
                text.append(piece)
                bare.append(unquoted)
                if _ODD_BLANK.search(unquoted):
                    self._problem("a blank that separates no words")
                continue
            if kind == "SglQuoted":
                piece, sure = str(part.get("Value", "")), True
                if part.get("Dollar"):
                    piece, sure = _ansi_c(piece)
                text.append(piece)
                known = known and sure
            elif kind == "DblQuoted":
                known = self._double_quoted(part, text) and known
                whole = whole and not any(_is_list(inner) for inner in part.get("Parts", ()))
            else:
                known = self._expansion(part, text) and known
                whole = False
            bare.append("\\" if text and set(text[-1]) & set("*?[]\\") else "_")
        return replace(_read_word("".join(text), "".join(bare), known), whole=whole)

    def _double_quoted(self, node: Mapping[str, Any], text: list[str]) -> bool:
        """Read what stands in double quotes and append its text. Return whether it is known before the line runs."""
        known = not node.get("Dollar")
        found: list[str] = []
        for inner in node.get("Parts", ()):
            if inner["Type"] == "Lit":
                found.append(re.sub(r'\\(?:([$`"\\])|\n)', r"\1", str(inner["Value"])))
            else:
                known = self._expansion(inner, found) and known
        text.append("".join(found))
        return known

    def _expansion(self, part: Mapping[str, Any], text: list[str]) -> bool:
        """Read an expansion and append its text. Return whether the text is known before the line runs."""
        kind = part["Type"]
        if kind in ("CmdSubst", "ProcSubst"):
            self.statements(part.get("Stmts", ()))
        elif kind == "ArithmExp":
            self._arithmetic(part.get("X"))
        elif kind == "ParamExp":
            return self._parameter(part, text)
        elif kind == "ExtGlob":
            # the parser keeps the pattern as text
            if re.search(r"[$`]", str(part.get("Pattern", {}).get("Value", ""))):
                self._problem("a substitution in a pattern")
        else:
            self._problem(f"a {kind} is not understood")
            self._words_in({k: v for k, v in part.items() if k != "Type"})
        return False

    def _parameter(self, part: Mapping[str, Any], text: list[str]) -> bool:
        name = str(part.get("Param", {}).get("Value", ""))
        plain = not {"Exp", "Excl", "Index", "Slice", "Repl", "Length", "Width", "Names", "NestedParam"} & set(part)
        if plain and name == "HOME" and self._home is not None:
            text.append(self._home)
            return not re.search(r"[\s*?\[]", self._home)
        if part.get("Excl") or part.get("Exp", {}).get("Op") == "@":
            self._problem(f"the value of {name} is expanded again")
        if "Index" in part:
            index = part["Index"]
            if [p.get("Value") for p in index.get("Parts", ())] not in (["@"], ["*"]):
                self._arithmetic(index)
        if part.get("Exp", {}).get("Op") in ("=", ":="):
            self._set(name)
        for key in ("Exp", "Repl"):
            self._words_in({k: v for k, v in part.get(key, {}).items() if k != "Op"})
        for bound in ("Offset", "Length"):
            if isinstance(slice_ := part.get("Slice"), Mapping) and bound in slice_:
                self._arithmetic(slice_[bound])
        return False


def _words_below(node: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(node, list):
        for one in node:
            yield from _words_below(one)
    elif isinstance(node, Mapping):
        if "Parts" in node:
            yield node
        else:
            for one in node.values():
                yield from _words_below(one)


def _unquoted(value: str) -> tuple[str, str]:
    """Return an unquoted text without its backslashes, and the same with a backslash or ``_`` for each escaped letter."""
    out: list[str] = []
    bare: list[str] = []
    at = 0
    while at < len(value):
        if value[at] == "\\":
            escaped = value[at + 1 : at + 2].replace("\n", "")
            out.append(escaped)
            bare.append(("\\" if escaped in "*?[]\\" else "_") if escaped else "")
            at += 2
            continue
        out.append(value[at])
        bare.append(value[at])
        at += 1
    return "".join(out), "".join(bare)


_BRACES = re.compile(r"\{.*,.*\}|\{[^{}]*\.\.[^{}]*\}", re.S)
_TILDE = re.compile(r"~|[A-Za-z_][A-Za-z0-9_]*\+?=(?:.*:)?~", re.S)
# brackets that bash and the standard library read differently
_BRACKETS = re.compile(r"\[\^|\[[:.=]|\\")


def _is_list(node: Mapping[str, Any]) -> bool:
    """Return whether an expansion in double quotes may be several words, or none: ``"$@"``, ``"${x[@]}"``."""
    return node["Type"] == "ParamExp" and (
        node.get("Param", {}).get("Value") in ("@", None)
        or bool({"Index", "Excl", "Names", "Exp", "Slice", "Repl"} & set(node))
    )


def _read_word(text: str, bare: str, known: bool) -> Word:
    """Return a word of its text, and of what of it is not quoted."""
    glob = any(c in bare for c in "*?[") and bare != "["  # the program [ is no pattern
    if _BRACES.search(bare) or (glob and _BRACKETS.search(bare)):
        known = False
    return Word(text, known, glob, _TILDE.match(bare) is not None)


def _ansi_c(value: str) -> tuple[str, bool]:
    """Return the text of ``$'...'``, and whether it is the same in every locale."""

    def one(match: re.Match[str]) -> str:
        hexa = match[1] or match[2] or match[3]
        if hexa:
            code = int(hexa, 16)
            return chr(code) if code < 0x110000 else "\ufffd"
        if match[4]:
            return chr(int(match[4], 8) & 0xFF)
        if match[5]:
            return chr(ord(match[5]) & 0x1F)
        return _ANSI_C.get(match[6], match[6] if match[6] in "\\'\"?" else match[0])

    found = _ESCAPE.sub(one, value).partition("\x00")[0]
    return found, found.isascii() and not re.search(r"\\c|\\x\{", value)
