"""Decides about a shell line: every simple command needs an allow, deny and ask look into every one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import iglob
from itertools import islice
from os.path import exists, join

from .file_arguments import GIT_PATCHES, files_of
from .files import decide_file
from .hosts import Unclear as UnclearHost, host_of, names_host
from .options import Arguments, read
from .paths import Unclear, inside, places
from .programs import known, program_of
from .repository import is_plain_repository
from .request import Decision, Request
from .risky_options import changes_nothing, harmless_variable, runs_scripts, sets, takes_over, unknown_option, unruly
from .rules import CommandPattern, Rule, Rules, command_pattern, parse_rule
from .shell import Command, Line, Redirect, Word, parse
from .wrappers import Inner, inner_of

__all__ = ["decide_line"]

_RANK = {"allow": 0, "ask": 1, "deny": 2}
_DEEPEST = 5
_EVERY_COMMAND = parse_rule("Bash", "allow")
_NO_FILES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin", "/dev/zero", "/dev/urandom")
_MOVES = frozenset({"cd", "pushd", "popd", "chdir"})
# subcommands behind which anything may stand: an answer holds for what stands there
_RUNS_ANYTHING = frozenset({"dlx", "exec", "run", "x"})


def decide_line(rules: Rules, request: Request) -> Decision:
    """Decide the shell line of a request."""
    folder = request.args.get("cwd")
    start = join(request.place.cwd, folder) if isinstance(folder, str) and folder else request.place.cwd
    return _Judge(rules, request, start).line(request.line or "")


@dataclass
class _Judge:
    """Decides the commands of one line, and of the lines in it.

    Attributes:
        rules: the rules.
        request: the request.
        start: where the line begins.
        cwds: the folders where a command may find itself.
        lost: a command may find itself anywhere.
    """

    rules: Rules
    request: Request
    start: str
    cwds: list[str] = field(default_factory=list)
    lost: bool = False

    def __post_init__(self) -> None:
        self.cwds.append(self.start)
        self.deny = [r for r in self.rules.deny if r.names("Bash")]
        self.ask = [r for r in self.rules.ask if r.names("Bash")]
        self.allow = [r for r in self.rules.allow if r.names("Bash") and not r.problem]
        self.bypass = self.request.mode == "bypass"
        # what might be hidden from a rule asks, also in bypass
        self.guarded = bool(self.deny or self.ask)
        forbidding = [r for r in (*self.rules.deny, *self.rules.ask) if r.spec is not None]
        # what no table knows may be hidden from a rule about files or hosts, too
        self.watched = any(r.names(tool) for r in forbidding for tool in ("Bash", "Read", "Edit", "WebFetch"))

    def line(self, text: str, depth: int = 0) -> Decision:
        """Decide a line."""
        if depth > _DEEPEST:
            return self._unclear("lines inside lines without end")
        return self._parsed(parse(text, self.request.place.home), depth)

    def _parsed(self, line: Line, depth: int) -> Decision:
        found = [self._unclear(problem) for problem in line.problems]
        programs = [program_of(c.words[0]) for c in line.commands if c.words]
        if "git" in programs and any(p in _MOVES for p in programs):
            found.append(self._unclear("git in a folder that the line changes to", False))
        for command in line.commands:
            found.append(self._command(command, depth))
        found += [self._redirect(redirect) for redirect in line.redirects]
        return _strictest(found) if found else self._unclear("nothing to run")

    def _unclear(self, why: str, hides: bool = True) -> Decision:
        """Return what something gets that is not understood."""
        if self.bypass and not (hides and self.guarded):
            return Decision("allow", "the mode is bypass")
        return Decision("ask", f"the command cannot be judged: {why}")

    def _command(self, command: Command, depth: int) -> Decision:
        found: list[Decision] = []
        for name in command.assigned:
            if not command.words and not takes_over(name):
                continue
            if not harmless_variable(name):
                found.append(self._unclear(f"{name} is set", takes_over(name)))
        if command.words:
            found.append(self._words(command.words, depth))
        return _strictest(found) if found else Decision("allow", "a variable is set")

    def _words(self, words: Sequence[Word], depth: int) -> Decision:
        """Decide one simple command and what it runs."""
        first = words[0]
        if not first.known or first.glob:
            return self._unclear("the program is not known before it runs")
        forbidden = self._forbidden(words)
        if forbidden is not None and forbidden.outcome == "deny":
            return forbidden
        found: list[Decision] = [] if forbidden is None else [forbidden]
        self._enter(words)
        inner = list(inner_of(words)) if depth < _DEEPEST else [Inner("unknown")]
        exact = self._exact(words)
        for one in inner:
            decided = self._inner(one, words, depth)
            if one.how == "launched" and decided.outcome == "allow":
                continue
            # an exact rule stands for what the command runs, too
            if exact is None or decided.outcome == "deny" or decided.rule:
                found.append(decided)
        found += self._files(words)
        if launched := self._launched(words):
            found.append(launched)
        found += [self._unclear(f"{name} is set") for name in sets(words) if takes_over(name)]
        if not (inner and all(one.how == "same" for one in inner)) or any(o.writes for o in files_of(words)):
            found.append(self._own(words, exact))
        return _strictest(found)

    def _own(self, words: Sequence[Word], exact: Rule | None) -> Decision:
        """Decide the command itself, where no rule forbids it."""
        name = program_of(words[0])
        if self.request.mode == "read-only" and not _only_reads(words):
            return Decision("deny", f"the mode is read-only, and {name} may change something")
        why = unruly(words)
        if why is None and self.watched and (option := unknown_option(words)):
            why = f"its option {option} is not known, and a rule that forbids is in force", self.guarded
        rule = exact or self._prefix(words)
        if rule is not None and (why is None or rule is exact):
            return Decision("allow", "a rule allows it", rule.text, rule.origin)
        if self.bypass:
            return self._unclear(*why) if why is not None else Decision("allow", "the mode is bypass")
        if name in _MOVES and words[0].text in _MOVES and self._moves_inside(words):
            return Decision("allow", "it stays in the project")
        if why is None and self._reads_as_the_tool(words):
            return Decision("allow", "it only reads, in the project")
        if why is not None:
            return Decision("ask", f"{name}: {why[0]}", offer=_exactly(words) if _all_known(words) else ())
        return Decision("ask", f"no rule allows {name}", offer=_offer(words))

    def _reads_as_the_tool(self, words: Sequence[Word]) -> bool:
        """Return whether a command with plain arguments reads no more than the tool ``read`` may, and says so in the tables."""
        program = known(words[0].text)
        given = read(program, words[1:])
        git = words[0].text == "git"
        if git and given.operands:
            program = known(f"git {given.operands[0].text}")
            given = read(program, given.operands[1:])
        if "plain" not in program.tags or not _all_known(words) or self.lost:
            return False
        # where a rule about commands cannot be read, nobody knows what its author wants
        if any(r.problem and r.names("Bash") for r in self.rules.allow):
            return False
        leaves = given.has(program.leaves) or any(w.text in program.leaves for w in words)
        if leaves or not _only_reads(words) or unknown_option(words):
            return False
        if git:
            return self._git_reads(given, "shows" in program.tags or given.has(GIT_PATCHES))
        files = list(files_of(words, looks=True))
        if any(self._file(o.word, writes=False, deep=o.deep).outcome != "allow" for o in files):
            return False
        return program.files == "look" or all(self._is_there(o.word) for o in files)

    def _git_reads(self, given: Arguments, shows: bool) -> bool:
        """Return whether git reads no more than the tool ``read`` may: its repository runs nothing."""
        named = given.behind or (given.operands and all(":" in w.text for w in given.operands))
        if shows and not named and any(r.names("Read") for r in (*self.rules.deny, *self.rules.ask)):
            # what was committed or changed may be what a rule keeps back
            return False
        return all(is_plain_repository(cwd, self.request.place.roots) for cwd in self.cwds)

    def _is_there(self, word: Word) -> bool:
        """Return whether a file is there now. What will be there later nobody knows."""
        return word.text == "-" or any(exists(join(cwd, word.text)) for cwd in self.cwds)

    def _forbidden(self, words: Sequence[Word]) -> Decision | None:
        """Return what a rule that denies or asks says of a command, by any spelling of it."""
        texts = [program_of(words[0]), *(w.text for w in words[1:])]
        for rule in (*self.deny, *self.ask):
            if rule.spec is None:
                if rule.kind == "ask":
                    return Decision("ask", "a rule asks", rule.text, rule.origin)
                continue
            pattern = command_pattern(rule.spec)
            if rule.problem:
                return Decision("ask", f"a rule cannot be read: {rule.problem}", rule.text, rule.origin)
            if (
                pattern.finds(texts)
                or pattern.covers([w.text for w in words])
                or _finds_real(pattern, words, self.cwds)
            ):
                return Decision(
                    rule.kind, "a rule forbids it" if rule.kind == "deny" else "a rule asks", rule.text, rule.origin
                )
            if _may_become(pattern, words, texts):
                return Decision("ask", "a word is not known before it runs", rule.text, rule.origin)
        return None

    def _exact(self, words: Sequence[Word]) -> Rule | None:
        return next(
            (r for r in self.allow if r.spec and command_pattern(r.spec).exact and self._covers(r, words)), None
        )

    def _prefix(self, words: Sequence[Word]) -> Rule | None:
        return next((r for r in self.allow if r.spec is None or self._covers(r, words)), None)

    def _covers(self, rule: Rule, words: Sequence[Word]) -> bool:
        pattern = command_pattern(rule.spec or "")
        needed = len(words) if pattern.exact else len(pattern.head)
        if any(not w.known or w.glob for w in words[:needed]) and "speaks" not in known(program_of(words[0])).tags:
            return False
        return pattern.covers([w.text for w in words])

    def _inner(self, inner: Inner, words: Sequence[Word], depth: int) -> Decision:
        if inner.how == "line":
            return (
                self.line(inner.line, depth + 1)
                if inner.line is not None
                else self._unclear("a line that is not known before it runs")
            )
        if inner.how == "unknown":
            return self._loose(words)
        if inner.how == "launched":
            # who may start it may start anything that no rule is about, and in which nothing may be hidden from one
            judge = replace(
                self, rules=replace(self.rules, allow=(*self.rules.allow, _EVERY_COMMAND)), cwds=[*self.cwds]
            )
            decided = judge._words(inner.words, depth + 1)
            return decided if self.watched or decided.rule else Decision("allow", "no rule is about it")
        return self._words(inner.words, depth + 1)

    def _loose(self, words: Sequence[Word]) -> Decision:
        """Decide a program that runs its arguments in ways that are not taken apart."""
        name = program_of(words[0])
        for at in range(1, len(words)):
            found = self._forbidden(words[at:]) if words[at].known else None
            if found is not None:
                return Decision("ask", f"{name} may run something that a rule is about", found.rule, found.origin)
        return self._unclear(f"what {name} runs is not known")

    def _launched(self, words: Sequence[Word]) -> Decision | None:
        """Return a question where a program that no table names, or a variable for make, holds a command that a rule is about."""
        name = program_of(words[0])
        program = known(name)
        if not self.guarded or not (program == known("") or {"assigns", "carries"} & program.tags):
            return None
        if "assigns" in program.tags:
            texts = [text for w in words[1:] if "=" in w.text for text in _COMMAND_ENDS.split(w.text.partition("=")[2])]
        else:
            texts = [text for w in words[1 + ("carries" in program.tags) :] for text in _COMMAND_ENDS.split(w.text)]
        for at, text in enumerate(texts):
            # a command may stand behind the letter of an option, too
            starts = (
                [text, *(text[cut:] for cut in range(2, min(len(text), 50)))] if re.match("-[^-]", text) else [text]
            )
            for start in filter(None, starts):
                found = self._forbidden([Word(start), *map(Word, texts[at + 1 :])])
                if found is not None:
                    return Decision("ask", f"{name} may run something that a rule is about", found.rule, found.origin)
        return None

    def _enter(self, words: Sequence[Word]) -> None:
        """Note the folder that an option makes a program work in; what follows may be there, too."""
        program = known(program_of(words[0]))
        for word in read(program, words[1:]).values(program.moves) if program.moves else ():
            if not word.known or word.glob:
                self.lost = True
                continue
            try:
                self.cwds += [p for cwd in tuple(self.cwds) for p in places(word.text, self.request.place, cwd)]
            except Unclear:
                self.lost = True

    def _files(self, words: Sequence[Word]) -> Iterator[Decision]:
        """Yield what the files of a command get, where they matter."""
        name = program_of(words[0])
        if name in _MOVES:
            yield from self._move(words)
            return
        listed = list(files_of(words))
        for operand in listed:
            found = self._file(operand.word, writes=operand.writes, deep=operand.deep)
            # who allows a program allows what it writes in the project; without a rule the program itself asks
            if found.outcome == "ask" and not found.rule and operand.writes and self._is_inside(operand.word):
                continue
            yield found
        # a program of which not all is known may write what it names
        judged = {id(o.word) for o in listed if o.writes or known(name).complete}
        if "speaks" in known(name).tags:
            return
        for word in words[1:]:
            for text in (word.text, word.text.partition("=")[2]):
                if "://" in text:
                    yield from self._address(text, name)
            if id(word) not in judged and word.known and word.text:
                yield from self._mentioned(word, name)

    def _mentioned(self, word: Word, name: str) -> Iterator[Decision]:
        """Yield a question where an argument of any program is, or ends in, a file that a rule is about."""
        deny, ask = (
            [r for r in rules if r.spec is not None and not r.problem] for rules in (self.rules.deny, self.rules.ask)
        )
        if not any(r.names("Edit") for r in (*deny, *ask)):
            return
        rules = Rules(tuple(deny), tuple(ask))
        texts = _parts_of(word)
        for cwd in self.cwds:
            if word.glob:
                texts = [*texts, *islice(iglob(word.text, root_dir=cwd, include_hidden=True), 500)]
            for text in texts:
                for writes in (False, True):
                    found = decide_file(rules, text, self.request.place, "bypass", writes=writes, cwd=cwd)
                    if found.rule:
                        yield Decision("ask", f"{name} may use {text}, which a rule is about", found.rule, found.origin)
                        return

    def _address(self, text: str, name: str) -> Iterator[Decision]:
        """Yield a question where an argument of any program is an address that a rule is about."""
        try:
            host = host_of(text)
        except UnclearHost:
            return
        for rule in (*self.rules.deny, *self.rules.ask):
            if rule.names("WebFetch") and rule.spec is not None and names_host(rule.spec, host, approves=False):
                yield Decision("ask", f"{name} may reach {host}, which a rule is about", rule.text, rule.origin)

    def _is_inside(self, word: Word) -> bool:
        """Return whether a file that is written is in the project, and in no folder that decides what runs."""
        from .paths import decides_what_runs

        if not word.known or word.glob or self.lost:
            return False
        try:
            found = [p for cwd in self.cwds for p in places(word.text, self.request.place, cwd)]
        except Unclear:
            return False
        place = self.request.place
        return all(inside(p, place.roots) and not decides_what_runs(p, place) for p in found)

    def _file(self, word: Word, *, writes: bool, deep: bool = False) -> Decision:
        """Decide a file of a command, wherever the command may find itself."""
        if word.known and not word.glob and word.text in _NO_FILES:
            return Decision("allow", "no file")
        files = [r for r in (*self.rules.deny, *self.rules.ask) if r.names("Edit" if writes else "Read")]
        if not word.known:
            if self.bypass and not files:
                return Decision("allow", "the mode is bypass")
            bare = next((r for r in files if r.kind == "deny" and r.spec is None), None)
            if bare is not None:
                return Decision("deny", "a rule forbids it", bare.text, bare.origin)
            if self.request.mode == "read-only" and writes:
                return Decision("deny", "the mode is read-only")
            return Decision("ask", "a file that is not known before it runs")
        if self.lost and not self.bypass and not word.text.startswith(("/", "~")):
            return Decision("ask", "the folder is not known before it runs")
        mode = self.request.mode
        if word.glob:
            return self._globbed(word, writes=writes, deep=deep, guarded=bool(files))
        found = [
            decide_file(self.rules, word.text, self.request.place, mode, writes=writes, cwd=cwd, deep=deep)
            for cwd in self.cwds
        ]
        return _strictest(found)

    def _globbed(self, word: Word, *, writes: bool, deep: bool, guarded: bool) -> Decision:
        """Decide the files that a pattern finds now. A pattern that finds none, or is guarded, may find others later."""
        found: list[Decision] = []
        for cwd in self.cwds:
            for at, path in enumerate(iglob(word.text, root_dir=cwd, include_hidden=True)):
                if at >= 500:
                    return Decision("ask", "a pattern that finds too many files")
                decided = decide_file(
                    self.rules, path, self.request.place, self.request.mode, writes=writes, cwd=cwd, deep=deep
                )
                found.append(decided)
        if writes and not self.bypass:
            found.append(Decision("ask", "a file that is not known before it runs"))
        if found:
            return _strictest(found)
        return (
            Decision("ask", "a pattern that finds nothing now")
            if guarded or not self.bypass
            else Decision("allow", "the mode is bypass")
        )

    def _redirect(self, redirect: Redirect) -> Decision:
        return self._file(redirect.target, writes=redirect.writes)

    def _move(self, words: Sequence[Word]) -> Iterator[Decision]:
        target = [w for w in words[1:] if w.text not in ("-L", "-P", "-e", "--")]
        if (
            len(target) != 1
            or not target[0].known
            or target[0].glob
            or target[0].text in ("-", "")
            or target[0].text[:1] in "+-"
        ):
            self.lost = True
            yield self._unclear("the folder is not known before it runs", False)
            return
        try:
            self.cwds += [p for cwd in tuple(self.cwds) for p in places(target[0].text, self.request.place, cwd)]
        except Unclear as error:
            self.lost = True
            yield self._unclear(str(error))

    def _moves_inside(self, words: Sequence[Word]) -> bool:
        return not self.lost and all(inside(cwd, self.request.place.roots) for cwd in self.cwds)


_PIECES = re.compile(r"[=@:,;<>|&(){}\s'\"]+")
_COMMAND_ENDS = re.compile(r"[\s;&|()`{}'\"!,:<>\[\]]+|\$\(|(?<=[A-Za-z0-9_-])=")


def _parts_of(word: Word) -> list[str]:
    """Return the texts in a word that may be paths: all of it, what stands between separators, and the ends of an option."""
    text = word.text
    found = dict.fromkeys([text] if not text.startswith("-") else [])
    found.update(dict.fromkeys(piece for piece in _PIECES.split(text) if piece and not piece.startswith("-")))
    if text.startswith("-"):
        joined = text.partition("=")[0]
        found.update(dict.fromkeys(joined[at:] for at in range(2, min(len(joined), 200))))
    return list(found)


def _strictest(found: Sequence[Decision]) -> Decision:
    """Return the strictest decision. Where several ask, offer the rules that would answer all of them, or none."""
    strictest = max(found, key=lambda d: (_RANK[d.outcome], bool(d.rule) and d.outcome != "allow"))
    if strictest.outcome != "ask":
        return strictest
    asking = [d for d in found if d.outcome == "ask"]
    offers = dict.fromkeys(rule for d in asking for rule in d.offer)
    return replace(strictest, offer=tuple(offers) if all(d.offer for d in asking) else ())


def _only_reads(words: Sequence[Word]) -> bool:
    """Return whether a command is known to change nothing."""
    return changes_nothing(words) and not any(operand.writes for operand in files_of(words))


def _all_known(words: Sequence[Word]) -> bool:
    return all(w.known and not w.glob for w in words)


def _finds_real(pattern: CommandPattern, words: Sequence[Word], cwds: Sequence[str]) -> bool:
    """Return whether a pattern finds the program that a path leads to: a link to a denied program does not hide it."""
    from os.path import basename, islink, realpath

    text = words[0].text
    if "/" not in text:
        return False
    for cwd in cwds:
        path = join(cwd, text)
        if islink(path) and pattern.finds([basename(realpath(path)), *(w.text for w in words[1:])]):
            return True
    return False


def _may_become(pattern: CommandPattern, words: Sequence[Word], texts: Sequence[str]) -> bool:
    """Return whether a pattern might find the command once its unknown words are known."""
    if all(w.known and not w.glob for w in words):
        return False
    if not pattern.head:
        return True
    if texts[0] != pattern.head[0]:
        return False
    for word, literal in zip(words[1:], pattern.head[1:], strict=False):
        if not word.known or word.glob:
            return True
        if word.text != literal and not word.text.startswith("-"):
            return False
    return True


def _exactly(words: Sequence[Word]) -> tuple[str, ...]:
    from shlex import join as joined

    text = joined([w.text for w in words])
    return () if "*" in text or len(text) > 200 else (f"Bash({text})",)


def _offer(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the rule that would allow a command: with its subcommand and anything behind, else exactly this one."""
    from shlex import join as joined

    if not _all_known(words):
        return ()
    texts = [w.text for w in words]
    if (
        "subcommands" in known(texts[0]).tags
        and len(texts) > 1
        and texts[1].replace("-", "").isalnum()
        and texts[1][0] != "-"
    ):
        if texts[1] not in _RUNS_ANYTHING:
            return (f"Bash({joined(texts[:2])}:*)",)
        behind = texts[2] if len(texts) > 2 else "-"
        if (
            texts[0] in ("docker", "kubectl")
            or behind[:1] == "-"
            or "shell" in known(behind).tags
            or runs_scripts(behind)
        ):
            return _exactly(words)
        return (f"Bash({joined(texts[:3])}:*)",)
    return (f"Bash({texts[0]}:*)",) if _only_reads(words) else _exactly(words)
