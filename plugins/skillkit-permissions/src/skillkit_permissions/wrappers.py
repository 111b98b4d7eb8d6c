"""What a command runs besides itself: behind ``timeout``, ``sudo``, ``xargs``, ``find -exec``, ``sh -c``, ``eval``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .programs import program_of, table_of, words_of, wrappers_of
from .shell import Word

__all__ = ["Inner", "inner_of"]

SHELLS = words_of("""
    ash bash csh dash fish ksh ksh93 mksh pwsh rbash sh tcsh yash zsh
""")


@dataclass(frozen=True, slots=True)
class Inner:
    """What a command runs besides itself.

    Attributes:
        how: ``same`` where the inner command is all that happens (``timeout``), ``other`` where the outer one counts too
            (``sudo``, ``xargs``), ``launched`` where of the inner one only what is forbidden counts (``uv run``), ``line``
            for a text that is read as a shell line, ``unknown`` where nobody can say.
        words: the inner command.
        line: the text; ``None`` where it is not known.
    """

    how: Literal["same", "other", "launched", "line", "unknown"]
    words: tuple[Word, ...] = ()
    line: str | None = None


# the number of words before the inner command, and the options that take the next word as their value
_SAME = wrappers_of("""
    builtin 0
    command 0
    gtimeout 1 --kill-after --signal -k -s
    nice 0 --adjustment -n
    nohup 0
    stdbuf 0 --error --input --output -e -i -o
    time 0 --format --output -f -o
    timeout 1 --kill-after --signal -k -s
""")
_OTHER = wrappers_of("""
    busybox 0
    caffeinate 0 -t -w
    catchsegv 0
    chroot 1 --groups --userspec
    chrt 1 -D -P -T -p
    doas 0 -C -u
    eatmydata 0
    env 0 --argv0 --chdir --unset -C -a -u
    exec 0 -a
    fakeroot 0 -f -i -l -s
    gnice 0 --adjustment -n
    ionice 0 --class --classdata -P -c -n -p -u
    ltrace 0 -A -D -F -a -e -l -n -o -p -s -u -x
    pkexec 0 --user
    rlwrap 0 -C -H -O -P -S -f -l -q -s -z
    setsid 0
    strace 0 -E -I -O -P -S -X -a -b -e -o -p -s -u
    sudo 0 --chdir --chroot --group --host --prompt --role --type --user -C -D -R -T -U -a -c -g -h -p -r -t -u
    taskset 1
    toybox 0
    unbuffer 0
    watch 0 --equexit --interval -n -q
    xargs 0 --arg-file --delimiter --eof --max-args --max-chars --max-lines --max-procs --replace -E -I -L -P -a
        -d -e -i -l -n -s
""")
# run their arguments in ways that are not taken apart: anything denied in their words asks
_LOOSE = words_of("""
    at batch bunx bwrap capsh cgexec chpst chronic compgen coproc cpulimit crontab daemonize dbus-run-session
    dumb-init entr envdir expect faketime firejail flock gdb genv gtime gxargs hyperfine i386 ifne linux32
    linux64 lldb logsave nocorrect noglob npx nsenter numactl parallel perf pipx pnpx prlimit proot proxychains
    proxychains4 run-parts run0 runuser screen script sem setarch setpriv setuidgid sg softlimit ssh-agent
    start-stop-daemon su systemd-run tini tmux torsocks ts tsocks unclutter unshare uvx valgrind x86_64 xdotool
    xvfb-run
""")
# run their arguments for what a project installed: who allows them allows that, but not what a rule forbids
_LAUNCHERS = table_of("""
    bundle exec
    conda run
    direnv exec
    hatch run
    mamba run
    mise exec x
    pdm run
    pipenv run
    pixi run
    pnpm dlx exec
    poetry run
    rye run
    uv run
    yarn dlx exec
""")
_SPLIT = re.compile(r"-[iv0]*S|--s[a-z-]*(?:=|\Z)")
_XARGS_JOINED = re.compile(r"-(?:[adEILnPseil].+|[0rtpxo]+)\Z")


def inner_of(words: Sequence[Word]) -> Iterator[Inner]:
    """Yield what a command runs besides itself."""
    name = program_of(words[0])
    if name in _SAME or name in _OTHER:
        yield from _wrapped(name, words)
    elif name in SHELLS:
        yield from _shell(words)
    elif name in _LAUNCHERS:
        yield from _launched(words, _LAUNCHERS[name])
    elif name == "eval":
        yield _line_of(words[1:], joined=True) if len(words) > 1 else Inner("unknown")
    elif name == "trap":
        lines = [w for w in words[1:] if w.text not in ("--", "-")]
        if len(lines) > 1 and not lines[0].text.startswith("-"):
            yield _line_of(lines[:1])
        yield Inner("unknown")
    elif name == "alias":
        for word in words[1:]:
            _, equal, value = word.text.partition("=")
            if equal:
                yield Inner("line", line=value if word.known else None)
        yield Inner("unknown")
    elif name in ("find", "gfind"):
        yield from _find(words)
    elif name in ("fd", "fdfind"):
        for at, word in enumerate(words):
            if re.match(r"-[A-Za-z]*[xX]\Z|--exec(?:-batch)?\Z", word.text):
                yield Inner("other", tuple(words[at + 1 :]))
            elif word.text.startswith(("-x", "-X", "--exec")):
                yield Inner("unknown")
    elif (
        name in ("source", ".", "enable", "hash", "bind", "complete", "mapfile", "readarray") and len(words) > 1
    ) or name in _LOOSE:
        yield Inner("unknown")


def _wrapped(name: str, words: Sequence[Word]) -> Iterator[Inner]:
    valued, before = _SAME.get(name) or _OTHER[name]
    at = 1
    while at < len(words):
        text = words[at].text
        if name == "command" and text in ("-v", "-V"):
            return
        if name == "env" and (split := _SPLIT.match(text)):
            given = [Word(text[split.end() :], words[at].known), *words[at + 1 :]]
            yield _line_of([w for w in given if w.text], joined=True)
            return
        if text == "--":
            at += 1
            break
        if text.startswith("-") and len(text) > 1:
            if not words[at].known:
                break
            takes = _takes_next(text, valued)
            if name == "xargs" and not takes and not text.startswith("--") and not _XARGS_JOINED.match(text):
                yield Inner("unknown")
            at += 2 if takes else 1
        elif name in ("env", "sudo", "doas") and re.match(r"[A-Za-z_][A-Za-z0-9_]*=|-\Z", text):
            at += 1
        else:
            break
    at += before
    rest = tuple(words[at:])
    if not rest:
        # a line behind sudo -s, and what the wrapper does alone
        if name in ("sudo", "doas"):
            yield Inner("unknown")
        return
    if any(not w.known for w in words[1:at]):
        yield Inner("unknown")
    if name == "xargs":
        rest = (*rest, Word("", known=False))
        if any(w.text and w.text in rest[0].text for w in _replaced(words[1:at])):
            rest = (Word("", known=False), *rest[1:])
    if name == "watch":
        yield _line_of(rest, joined=True)
        return
    yield Inner("same" if name in _SAME else "other", rest)


def _launched(words: Sequence[Word], subcommands: frozenset[str]) -> Iterator[Inner]:
    """Yield every command that may stand behind the subcommand and its options, each of which may take a word."""
    start = next((at for at, word in enumerate(words) if at and word.text in subcommands), len(words))
    for at in range(start + 1, len(words)):
        if not words[at].text.startswith("-"):
            yield Inner("launched", tuple(words[at:]))
            if not words[at - 1].text.startswith("-") or words[at - 1].text == "--":
                return


def _takes_next(text: str, valued: frozenset[str]) -> bool:
    """Return whether the next word is the value of an option: of one cut short, or of the last of several letters, too."""
    if text.startswith("--"):
        return "=" not in text and any(option.startswith(text) for option in valued)
    first = next((at for at, letter in enumerate(text) if at and f"-{letter}" in valued), None)
    return first == len(text) - 1


def _replaced(options: Sequence[Word]) -> Iterator[Word]:
    """Yield the texts that xargs replaces by its input."""
    for at, word in enumerate(options):
        if word.text in ("-I", "--replace") and at + 1 < len(options):
            yield options[at + 1]
        elif word.text.startswith("-I"):
            yield Word(word.text[2:])
        elif word.text.startswith(("-i", "--replace")):
            yield Word(word.text.partition("=")[2] or word.text[2:] if not word.text.startswith("--") else "{}")
            yield Word("{}")


def _shell(words: Sequence[Word]) -> Iterator[Inner]:
    at = 1
    while at < len(words):
        text = words[at].text
        if not words[at].known:
            break
        if text in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            at += 2
        elif text.startswith("--"):
            at += 1
        elif text[:1] in "-+" and len(text) > 1:
            # each "o" takes a word: bash -euo pipefail
            taken = 1 + text.lower().count("o")
            if "c" in text and text[0] == "-":
                at += taken
                while at < len(words) and words[at].known and words[at].text[:1] in "-+" and len(words[at].text) > 1:
                    at += 2 if words[at].text in ("-o", "+o", "-O", "+O") else 1
                yield _line_of(words[at : at + 1])
                return
            at += taken
        else:
            break
    if [w.text for w in words[1:]] not in (["--version"], ["--help"]):
        # a script from a file, from a pipe or from a here-document
        yield Inner("unknown")


def _line_of(words: Sequence[Word], joined: bool = False) -> Inner:
    """Return the line that words make; unknown where a word is."""
    if not words or any(not w.known or w.glob for w in (words if joined else words[:1])):
        return Inner("line")
    return Inner("line", line=" ".join(w.text for w in words))


def _find(words: Sequence[Word]) -> Iterator[Inner]:
    at = 1
    while at < len(words):
        if words[at].text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = at + 1
            while (
                end < len(words)
                and words[end].text != ";"
                and not (words[end].text == "+" and words[end - 1].text == "{}")
            ):
                end += 1
            found = tuple(Word("", known=False) if "{}" in w.text else w for w in words[at + 1 : end])
            yield Inner("other", found) if found else Inner("unknown")
            at = end
        elif not words[at].known:
            yield Inner("unknown")
        at += 1
