"""Which arguments of a command are files, and which commands are known to change nothing."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .options import is_option, unruly
from .programs import SPEAKERS, VERSIONED, program_of, table_of, words_of
from .shell import Word

__all__ = ["Operand", "files_of", "only_reads"]


@dataclass(frozen=True, slots=True)
class Operand:
    """A file of a command.

    Attributes:
        word: its path.
        writes: the file is changed, replaced, made or removed; else it is read.
        deep: everything below a folder counts too.
    """

    word: Word
    writes: bool = False
    deep: bool = False


_READERS = table_of("""
    .
    awk -F -v
    base32 -w
    base64 -w
    bash
    bat
    batcat
    bzcat
    cat
    cksum
    cmp -n -i
    column -s -t -c
    comm
    cut -d -f -c -b --delimiter --fields
    dash
    dd
    diff -U -C --label
    ed
    emacs
    expand -t
    file
    fmt -w
    fold -w
    gawk -F -v
    gpg
    gunzip
    hd
    head -n -c --lines --bytes
    hexdump -e -f -n -s
    iconv -f -t
    join -t -1 -2 -j -o -e -a
    jq
    less
    look
    mawk -F -v
    md5
    md5sum
    more
    nano
    nl -b -d -f -h -i -l -n -s -v -w
    node
    nvim -c
    od -A -j -N -t -w -S
    openssl
    paste -d
    perl
    php
    pr
    python
    python3
    readlink
    rev
    ruby
    sdiff
    sh
    sha1sum
    sha256sum
    sha512sum
    shasum -a
    sort -k -t -S -T --key --field-separator
    source
    split -b -l -n -a
    stat -c -f --format
    strings -n -t -e
    sum
    tac -s
    tail -n -c -s --lines --bytes --pid
    unexpand -t
    uniq -f -s -w
    vi -c
    view -c
    vim -c
    vimdiff
    wc
    xmllint --xpath
    xxd -c -g -l -o -s
    xzcat
    yq
    zcat
    zless
    zsh
""")
_PATTERN_FIRST = words_of("""
    ack ag egrep fgrep grep rg zgrep
""")
_GREP_VALUES = words_of("""
    --context --exclude --exclude-dir --file --glob --include --max-count --regexp --type -A -B -C -D -T -d -e
    -f -g -j -m -t
""")
_WRITERS = table_of("""
    bzip2
    chattr
    chgrp
    chmod
    chown
    dos2unix
    ex -c
    gzip
    mkdir -m --mode
    mkfifo -m
    mknod -m
    patch -p -i
    prename
    rename
    rm
    rmdir
    setfacl -m -x -M -X
    shred -n -s
    sponge
    srm
    tee
    touch -d -r -t
    trash
    truncate -s -r --size
    unix2dos
    unlink
    xz
    zstd
""")
_MODE_FIRST = words_of("""
    chattr chgrp chmod chown
""")
_DEEP = words_of("""
    ack ag chgrp chmod chown mv rg rm srm trash
""")


def files_of(words: Sequence[Word]) -> Iterator[Operand]:
    """Yield the files that a command reads or changes, as far as its program is known."""
    name = program_of(words[0])
    args = words[1:]
    recursive = any(
        w.text in ("--recursive", "--archive") or re.match(r"-[A-Za-z]*[rRa][A-Za-z]*\Z", w.text) for w in args
    )
    deep = name in _DEEP or recursive
    if name == "dd":
        for word in args:
            key, _, value = word.text.partition("=")
            if key in ("of", "if"):
                yield Operand(_part(word, value), writes=key == "of")
    elif name in ("sed", "gsed"):
        yield from _sed_files(args)
    elif name in ("cp", "mv", "ln", "install", "rsync", "scp", "gcp", "gmv"):
        yield from _copied(name, args, deep)
    elif name in ("curl", "wget"):
        yield from _fetched(name, args)
    elif name in _PATTERN_FIRST:
        yield from _searched(args, deep, here=name in ("rg", "ag", "ack") or recursive)
    elif name in ("find", "gfind"):
        return
    elif name == "tree":
        yield from (Operand(w, writes=True) for w in _values(args, "-o", "--output"))
    elif name in _WRITERS:
        plain = list(_plain(args, _WRITERS[name]))
        yield from (Operand(w, writes=True, deep=deep) for w in (plain[1:] if name in _MODE_FIRST else plain))
    elif name in _READERS or VERSIONED.match(name):
        plain = list(_plain(args, _READERS.get(name, frozenset())))
        for at, word in enumerate(plain[1:] if name in ("awk", "gawk", "mawk", "jq", "yq") else plain):
            yield Operand(word, writes=at == 1 and name in ("uniq", "xxd"), deep=deep and name != "ls")
        if name == "sort":
            yield from (Operand(w, writes=True) for w in _values(args, "-o", "--output"))
    elif name in ("tar", "gtar", "bsdtar", "zip", "7z"):
        yield from (Operand(w, deep=True) for w in _plain(args, frozenset()))
    elif name == "git":
        yield from _git_files(args)


def _searched(args: Sequence[Word], deep: bool, here: bool) -> Iterator[Operand]:
    """Yield the files that a program like grep looks in; ``here``: without any in the working folder."""
    plain = list(_plain(args, _GREP_VALUES))
    given = any(
        is_option(w.text, "-e") or is_option(w.text, "-f") or w.text.startswith(("--regexp", "--file")) for w in args
    )
    for at, word in enumerate(args):
        if word.text in ("-f", "--file") and at + 1 < len(args):
            yield Operand(args[at + 1])
    plain = plain if given else plain[1:]
    yield from (Operand(w, deep=deep) for w in (plain or [Word(".")] * here))


_GIT_VALUED = words_of("""
    -C -c --git-dir --work-tree --namespace --config-env --super-prefix --attr-source
""")
_GIT_SHOWS = words_of("""
    annotate blame cat-file diff difftool show
""")
_GIT_PATCHES = ("-L", "-p", "-u", "-U", "--patch", "--unified")
# a pattern of git, or its magic: any file may be meant
_GIT_PATTERN = re.compile(r"[*?\[]|\A:[(!^/]")


def _git_files(args: Sequence[Word]) -> Iterator[Operand]:
    """Yield the files that git reads or changes, in the folder that ``-C`` names."""
    at, folder = 0, ""
    while at < len(args) and args[at].text.startswith("-"):
        option, joined, value = args[at].text.partition("=")
        if option in _GIT_VALUED and not joined:
            at += 1
            value = args[at].text if at < len(args) else ""
        if option in ("-C", "--work-tree"):
            folder = posixpath.join(folder, value)
        at += 1
    for operand in _git_operands(args[at].text, args[at + 1 :]) if at < len(args) else ():
        word = operand.word
        yield replace(operand, word=_part(word, posixpath.join(folder, word.text))) if folder else operand


def _git_operands(subcommand: str, args: Sequence[Word]) -> Iterator[Operand]:
    if subcommand == "grep":
        # in front of "--" a revision may stand, whose files are all looked in
        named = any(w.text == "--" for w in args)
        yield from ([] if named else [Operand(Word("."), deep=True)])
        yield from (_git_pathspec(o) for o in _searched(args, True, here=named))
    elif subcommand in ("rm", "mv", "checkout", "restore", "clean"):
        yield from (
            Operand(w, writes=True, deep=True) for w in _plain(args, frozenset()) if w.text not in ("HEAD", ".")
        )
    elif subcommand in _GIT_SHOWS or (
        subcommand in ("log", "whatchanged") and any(w.text.startswith(_GIT_PATCHES) for w in args)
    ):
        # files outside of a repository are compared, too
        yield from (_git_pathspec(Operand(w, deep=True)) for w in _plain(args, frozenset()))
        # -L1,5:FILE
        yield from (Operand(_part(w, w.text.rpartition(":")[2])) for w in args if re.match(r"-L.*:", w.text))
    elif any(w.text == "--no-index" for w in args):
        yield from (Operand(w) for w in _plain(args, frozenset()))


def _git_pathspec(operand: Operand) -> Operand:
    """Return the file of a word as git reads it: ``REVISION:FILE``, a pattern that no shell has filled in, or a path."""
    word = operand.word
    if word.known and not word.glob and _GIT_PATTERN.search(word.text):
        return replace(operand, word=Word("."), deep=True)
    return replace(operand, word=_part(word, word.text.rpartition(":")[2] or ".")) if ":" in word.text else operand


def _part(word: Word, text: str) -> Word:
    return Word(text, word.known, word.glob, text.startswith("~"))


def _plain(args: Sequence[Word], valued: frozenset[str]) -> Iterator[Word]:
    """Yield the words that are no options."""
    at, options = 0, True
    while at < len(args):
        text = args[at].text
        if options and text == "--":
            options = False
        elif options and text in valued:
            at += 1
        elif text != "-" and (not options or not text.startswith("-")):
            yield args[at]
        at += 1


def _values(args: Sequence[Word], short: str, long: str) -> Iterator[Word]:
    """Yield the values of an option; the short one may stand behind other letters (not those of ``-XPUT``)."""
    for at, word in enumerate(args):
        if word.text == long:
            yield from args[at + 1 : at + 2]
        elif word.text.startswith(f"{long}="):
            yield _part(word, word.text.partition("=")[2])
        elif short and (match := re.match(rf"-[A-WYZa-z0-9#]*?{short[1]}", word.text)):
            joined = word.text[match.end() :]
            yield from [_part(word, joined)] if joined else args[at + 1 : at + 2]


def _sed_files(args: Sequence[Word]) -> Iterator[Operand]:
    places = any(re.match(r"-[nErsuz]*i|--in-place", w.text) for w in args)
    scripts = any(re.match(r"-[nErsuz]*[ef]|--expression|--file", w.text) for w in args)
    plain = list(_plain(args, frozenset({"-e", "-f", "--expression", "--file", "-l"})))
    yield from (Operand(w, writes=places) for w in (plain if scripts else plain[1:]))


def _copied(name: str, args: Sequence[Word], deep: bool) -> Iterator[Operand]:
    target = list(_values(args, "-t", "--target-directory"))
    plain = list(
        _plain(
            args,
            frozenset(
                {
                    "-t",
                    "--target-directory",
                    "-S",
                    "--suffix",
                    "-m",
                    "-o",
                    "-g",
                    "--mode",
                    "--owner",
                    "--group",
                    "-e",
                    "--rsh",
                }
            ),
        )
    )
    sources = plain if target else plain[:-1]
    if name == "ln" and len(plain) == 1 and not target:
        sources = plain
    if name in ("rsync", "scp"):
        plain = [w for w in plain if not re.match(r"[^/]*:", w.text)]
        sources = [w for w in sources if not re.match(r"[^/]*:", w.text)]
    yield from (Operand(w, writes=name == "mv", deep=deep) for w in sources)
    ends = target or [w for w in plain[-1:] if w not in sources or len(plain) > 1]
    for end in ends:
        yield Operand(end, writes=True)
        if end.known and not end.glob:
            for source in sources:
                if source.known and not source.glob:
                    yield Operand(
                        Word(f"{end.text.rstrip('/')}/{posixpath.basename(source.text.rstrip('/'))}", tilde=end.tilde),
                        writes=True,
                    )


_CURL_WRITES = {"-o": "output", "-D": "dump-header", "-c": "cookie-jar"}
_CURL_LOGS = words_of("""
    alt-svc etag-save hsts libcurl output-dir stderr trace trace-ascii
""")
_CURL_DATA = words_of("""
    data data-ascii data-binary data-urlencode form header json proxy-header url-query variable write-out
""")
_CURL_SHORT = {"data": "-d", "form": "-F", "header": "-H", "write-out": "-w"}


def _fetched(name: str, args: Sequence[Word]) -> Iterator[Operand]:
    if name == "curl":
        written = [w for short, long in _CURL_WRITES.items() for w in _values(args, short, f"--{long}")]
        written += [w for long in _CURL_LOGS for w in _values(args, "", f"--{long}")]
        read = list(_values(args, "-T", "--upload-file"))
        for long in _CURL_DATA:
            for word in _values(args, _CURL_SHORT.get(long, ""), f"--{long}"):
                if found := re.search(r"[@<](.*)", word.text, re.S):
                    read.append(_part(word, found[1]))
        # what has no "=" is a file of cookies
        read += [w for w in _values(args, "-b", "--cookie") if "=" not in w.text]
        read += [
            _part(w, re.sub(r"(?i)\Afile:(?://[^/]*)?", "", w.text)) for w in args if w.text[:5].lower() == "file:"
        ]
        if any(
            w.text in ("-O", "--remote-name", "-J", "--remote-header-name")
            or re.fullmatch(r"-[a-zA-Z]*O[a-zA-Z]*", w.text)
            for w in args
        ):
            written.append(Word("."))
    else:
        written = [
            *_values(args, "-O", "--output-document"),
            *_values(args, "-o", "--output-file"),
            *_values(args, "-P", "--directory-prefix"),
        ]
        read = [w for long in ("--post-file", "--body-file") for w in _values(args, "", long)]
    yield from (Operand(w, writes=True) for w in written)
    yield from (Operand(w) for w in read)


_READ_ONLY = words_of("""
    : [ arch awk base64 basename bzcat cal cat cd cksum cmp column comm cut date df diff dir dirname du echo
    egrep env exit expand false fgrep file find fmt fold free gawk getconf grep groups head hexdump hostname id
    join jq less locale ls lsof man mawk md5sum more nl nproc od paste printenv printf ps pwd readlink realpath
    rev rg sed seq sha1sum sha256sum sha512sum sleep sort stat strings tac tail test tr tree true tty type uname
    uniq uptime wc whereis which whoami xxd xzcat zcat
""")
_GIT_READ_ONLY = words_of("""
    blame cat-file count-objects describe diff grep log ls-files ls-tree merge-base name-rev rev-list rev-parse
    shortlog show show-ref status whatchanged
""")


def only_reads(words: Sequence[Word]) -> bool:
    """Return whether a command is known to change nothing."""
    name = words[0].text
    if name == "git":
        plain = [w.text for w in words[1:] if not w.text.startswith("-")]
        return bool(plain) and plain[0] in _GIT_READ_ONLY and unruly(words) is None
    if name not in _READ_ONLY or any(not w.known for w in words[1:] if name not in SPEAKERS):
        return False
    if (
        name in ("env", "date", "hostname")
        and len(words) > 1
        and not all(w.text.startswith(("+", "-u", "-I", "-R")) for w in words[1:])
    ):
        return False
    return unruly(words) is None and not any(o.writes for o in files_of(words))
