"""What a rule with a star does not cover: variables and options that make a program run, load or write something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from .programs import ALIKE, SPEAKERS, VERSIONED, program_of, table_of, words_of
from .shell import Word

__all__ = ["harmless_variable", "is_option", "runs_scripts", "takes_over", "unruly"]

_HARMLESS = words_of("""
    CGO_ENABLED CI CLICOLOR COLORTERM COLUMNS FORCE_COLOR GOARCH GOOS GREP_COLOR GREP_COLORS HISTSIZE LANG
    LANGUAGE LINES LS_COLORS NODE_ENV NO_COLOR PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING
    PYTHONUNBUFFERED PYTHONUTF8 RUST_BACKTRACE RUST_LOG SOURCE_DATE_EPOCH TERM TMOUT TZ
""")
_TAKES_OVER = re.compile(
    r"PATH|LD_.*|DYLD_.*|BASH_.*|ENV|IFS|SHELL|SHELLOPTS|BASHOPTS|PS[0-9]|PROMPT_COMMAND|CDPATH|HOME|GIT_.*|SSH_.*|.*PAGER|.*EDITOR|VISUAL|BROWSER"
    r"|LESS.*|NODE_.*|NPM_.*|npm_.*|PYTHON.*|PERL.*|RUBY.*|RUSTC.*|CARGO_.*|JAVA_.*|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_.*|GRADLE_.*"
    r"|MAKE.*|GNUMAKEFLAGS|CC|CXX|LUA_.*|GCONV_PATH|TAR_OPTIONS|RSYNC_.*|CVS_.*|DOCKER_.*|.*_COMMAND|.*_ASKPASS|.*_WRAPPER"
)


def harmless_variable(name: str) -> bool:
    """Return whether setting a variable changes nothing that a rule was given for."""
    return name in _HARMLESS or name.startswith("LC_")


def takes_over(name: str) -> bool:
    """Return whether a variable may make another program run than the one that is named."""
    return name not in _HARMLESS and _TAKES_OVER.fullmatch(name) is not None


def runs_scripts(name: str) -> bool:
    """Return whether a program is an interpreter, of whatever version."""
    versioned = VERSIONED.match(name)
    return ALIKE.get(name, versioned[1] if versioned else name) in _INTERPRETERS


# long options also as --name=value; a short one also with its value joined, or among others in one word
_RUNS = table_of("""
    7z -si
    Rscript -e
    apt -o --option -c
    bat --pager
    bun -e --eval -p
    cargo --config -Z
    curl -K --config --engine
    date -s --set -f --file
    delta --pager
    deno eval
    dpkg --pre-invoke --post-invoke --status-logger -i --install
    emacs --eval -eval -l --load -f --funcall --script -batch --batch
    file -C -m --magic-file --compile
    fzf --bind --preview --with-shell
    gcc -fplugin -wrapper -specs --specs -B
    gdb -ex -x --eval-command --command -iex -ix
    go -exec -toolexec -vettool -modfile -overlay
    hostname -F
    journalctl --pager
    jq -L --library-path
    ld -plugin --plugin
    less -k --lesskey-file --lesskey-src --lesskey-content -o -O --log-file --LOG-FILE
    lua -e -l
    make --eval -E
    man -P --pager -H --html -C --config-file -X -T -l
    mysql -e --execute --init-command --pager
    nc -e -c --exec --sh-exec --lua-exec
    nmap --script --script-args -iL
    node -e --eval -p --print -r --require --import --loader --experimental-loader
    npm --script-shell --node-options -C --prefix --globalconfig --userconfig -c --call --viewer --editor --git
        --shell exec x explore edit
    openssl -engine engine -provider -provider-path
    osascript -e
    perl -e -E -M -m -I -x -i
    php -r -B -E -R -F -d --run
    pip --python --config-settings
    psql -c -f --command --file
    pytest -p -c --rootdir --confcutdir
    python -c
    rg --pre --hostname-bin --search-zip
    rsync -e --rsh --rsync-path -M --remote-option --daemon --config
    ruby -e -r -I -i
    scp -o -F -S -D
    sftp -o -F -S -D -b
    sort --compress-program --files0-from
    sqlite3 -cmd -init
    ssh -o -F -I -E -w -S -J -D -L -R
    tar --to-command --checkpoint-action -I --use-compress-program --rsh-command --rmt-command -F --info-script
        --new-volume-script
    tcpdump -z -w
    vim -c --cmd -S -s -u -U -w -W -es --startuptime -i --servername --remote
    wget -e --execute --use-askpass --config -i --input-file
    wireshark -X
    zip -TT --unzip-command -T
""")
_INTERPRETERS = words_of("python perl ruby node php lua deno bun Rscript")
_GIT_HARMLESS_BEFORE = words_of("""
    --help --literal-pathspecs --no-optional-locks --no-pager --no-replace-objects --version -P
""")
_GIT_RUNS = (
    "--upload-pack", "-u", "--receive-pack", "--exec", "-x", "--open-files-in-pager", "-O", "--ext-diff", "--textconv",
    "--extcmd", "--template", "-c", "--config", "--tool", "--gpg-sign", "--to-cover", "--ssh",
    "--smtp-server", "--to-cmd", "--cc-cmd", "--output", "-o", "--output-directory", "--config-env",
)  # fmt: skip
# short options that mean something harmless for these subcommands
_GIT_SHORT = table_of("""
    -u clone fetch ls-remote pull
    -x rebase difftool
    -O grep
    -o archive format-patch push fetch pull ls-remote
    -c clone
""")
_GIT_LINES = words_of("""
    bisect citool config credential cvsserver daemon difftool fast-import filter-branch for-each-repo gui help
    hook http-backend instaweb maintenance mergetool p4 receive-pack remote-ext remote-fd rerere send-email
    sh-setup shell submodule subtree svn upload-pack web--browse
""")
_GIT_PLAIN = {
    ("submodule", "status"),
    ("submodule", "summary"),
    ("bisect", "log"),
    ("submodule", "update"),
    ("submodule", "init"),
}
_SED_SAFE = re.compile(
    r"(?:\s*(?:(?:[0-9]+|\$|/(?:[^/\\\n]|\\.)*/I?)(?:~[0-9]+)?(?:\s*,\s*(?:[+~]?[0-9]+|\$|/(?:[^/\\\n]|\\.)*/I?))?)?\s*!?\s*"
    r"(?:[pdqPDgGhHnNxl=]|q[0-9]*|s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/[gpiI0-9]*|s\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\|[gpiI0-9]*"
    r"|s#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#[gpiI0-9]*|s,(?:[^,\\\n]|\\.)*,(?:[^,\\\n]|\\.)*,[gpiI0-9]*|y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/)\s*(?:;|\n|\Z))+\Z"
)
_AWK_RUNS = re.compile(r"system|getline|\||>|@|\bclose\b|\bfflush\b")
_MAKE_SHELL = re.compile(r"\.?SHELL(FLAGS)?[:?+]*=|MAKEFLAGS=")


def unruly(words: Sequence[Word]) -> tuple[str, bool] | None:
    """Return why a rule with a star does not cover a command, and whether the reason may hide a command that it runs.

    ``None``: it does cover it.
    """
    name = program_of(words[0])
    name = ALIKE.get(name, name)
    if versioned := VERSIONED.match(name):
        name = versioned[1]
    args = words[1:]
    if name not in SPEAKERS and any(not w.known for w in args):
        return "an argument that is not known before it runs", name in _RUNS or name in _SPECIAL
    texts = [w.text for w in args]
    if (name in _RUNS or name in _SPECIAL) and any(w.glob and w.text[:1] in "*?[-" for w in args):
        return "file names that may turn out to be options", True
    if name in _INTERPRETERS and _reads_its_script(texts):
        return "a script from its input", True
    if special := _SPECIAL.get(name):
        return special(texts)
    for option in sorted(_RUNS.get(name, ())):
        if any(is_option(text, option) for text in texts):
            return f"{option} of {name} runs or loads something", True
    return None


def _reads_its_script(texts: Sequence[str]) -> bool:
    """Return whether an interpreter takes its script from its input: no argument names one."""
    if len(texts) == 1 and texts[0] in ("--version", "-V", "-v", "--help", "-h"):
        return False
    return all(text.startswith("-") for text in texts) or any(t in ("-", "/dev/stdin") for t in texts)


def is_option(text: str, option: str) -> bool:
    """Return whether a word gives an option: alone, with its value, cut short, or among other letters."""
    if text == option or (option.startswith("--") and text.startswith(f"{option}=")):
        return True
    if option.startswith("--"):
        # long options may be cut short
        return len(text) > 4 and text.startswith("--") and option.startswith(text.partition("=")[0])
    if len(option) == 2 and option[0] == "-":
        return text[:1] == "-" and text[:2] != "--" and option[1] in re.split(r"[^A-Za-z0-9]", text[1:])[0]
    return option.startswith("-") and text.startswith(option)


def _git(texts: Sequence[str]) -> tuple[str, bool] | None:
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] not in _GIT_HARMLESS_BEFORE:
            return f"{texts[at]} in front of the subcommand of git", True
        at += 1
    rest = texts[at:]
    if not rest:
        return None
    sub = rest[0]
    if sub in _GIT_LINES and tuple(rest[:2]) not in _GIT_PLAIN:
        return f"git {sub} may run other commands", True
    for text in rest[1:]:
        if re.match(r"(?:ext|fd)::", text) or "::" in text.partition("/")[0]:
            return "an address that names a program", True
        for option in _GIT_RUNS:
            narrow = _GIT_SHORT.get(option)
            if narrow is not None and sub not in narrow:
                continue
            if (
                text == option
                or text.startswith(f"{option}=")
                or (len(option) == 2 and text.startswith(option) and not text.startswith("--"))
            ):
                return f"{option} of git {sub} runs or writes something", True
            if (
                option.startswith("--")
                and len(text) > 4
                and text.startswith("--")
                and option.startswith(text.partition("=")[0])
            ):
                return f"{option} of git {sub} runs or writes something", True
    return None


def _find_options(texts: Sequence[str]) -> tuple[str, bool] | None:
    for text in texts:
        if text in ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls"):
            return f"{text} of find changes files", False
    return None


def _sed(texts: Sequence[str]) -> tuple[str, bool] | None:
    scripts, files, plain = [], False, []
    at = 0
    while at < len(texts):
        text = texts[at]
        if text in ("-e", "--expression"):
            scripts.append(texts[at + 1] if at + 1 < len(texts) else "")
            at += 1
        elif text.startswith("--expression="):
            scripts.append(text.partition("=")[2])
        elif text.startswith(("-f", "--file")):
            files = True
        elif text.startswith("-") and not text.startswith("--") and len(text) > 1:
            flags = text[1:].partition("i")[0]
            if "e" in flags:
                scripts.append(flags.partition("e")[2] or (texts[at + 1] if at + 1 < len(texts) else ""))
                at += 0 if flags.partition("e")[2] else 1
            files = files or "f" in flags
        elif not text.startswith("--"):
            plain.append(text)
        at += 1
    if not scripts and not files:
        scripts = plain[:1]
    if files or any(not _SED_SAFE.match(script) for script in scripts):
        return "a script of sed may run commands and write files", True
    return None


def _awk(texts: Sequence[str]) -> tuple[str, bool] | None:
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] not in ("-F", "-v", "--field-separator", "--assign", "--"):
            if not re.match(r"-F.|-v.|--field-separator=|--assign=|--version|--posix|--re-interval", texts[at]):
                return f"{texts[at]} of awk", True
            at += 1
        else:
            at += 1 if texts[at] == "--" else 2
    if at < len(texts) and _AWK_RUNS.search(texts[at]):
        return "a program of awk may run commands and write files", True
    return None


def _vim(texts: Sequence[str]) -> tuple[str, bool] | None:
    if any(text.startswith("+") for text in texts):
        return "a command for the program", True
    for option in (*_RUNS["vim"], *_RUNS["less"]):
        if any(is_option(text, option) for text in texts):
            return f"{option} runs or writes something", True
    return None


def _tar(texts: Sequence[str]) -> tuple[str, bool] | None:
    if texts and not texts[0].startswith("-") and ("I" in texts[0] or "F" in texts[0]):
        return "an option of tar that runs something", True
    for option in _RUNS["tar"]:
        if any(is_option(text, option) for text in texts):
            return f"{option} of tar runs something", True
    if any(re.match(r"[^/=]+:", text) for text in texts if not text.startswith("-")):
        return "an archive on another machine", True
    return None


def _sqlite(texts: Sequence[str]) -> tuple[str, bool] | None:
    if (
        any(re.search(r"(?:\A|\n)\s*\.|load_extension|writefile|edit\s*\(", text) for text in texts)
        or "-cmd" in texts
        or "-init" in texts
    ):
        return "a command of sqlite3 that may run a program", True
    return None


def _make(texts: Sequence[str]) -> tuple[str, bool] | None:
    if any(_MAKE_SHELL.match(text) for text in texts) or any(
        is_option(t, "--eval") or t.startswith("-E") for t in texts
    ):
        return "make is told what to run", True
    return None


def _always(texts: Sequence[str]) -> tuple[str, bool] | None:
    return ("it runs a shell or a program of its own", True) if texts else None


def _printf(texts: Sequence[str]) -> tuple[str, bool] | None:
    return ("-v evaluates a name", True) if any(t.startswith("-v") for t in texts) else None


def _tests(texts: Sequence[str]) -> tuple[str, bool] | None:
    return _evaluates(texts) if "-v" in texts else None


def _evaluates(texts: Sequence[str]) -> tuple[str, bool] | None:
    return ("a subscript is evaluated", True) if any("[" in t for t in texts) else None


def _shellish(texts: Sequence[str]) -> tuple[str, bool] | None:
    # what a shell runs is read as a line or asks (inner_of)
    return None


_SPECIAL: Mapping[str, Callable[[Sequence[str]], tuple[str, bool] | None]] = {
    "git": _git, "find": _find_options, "sed": _sed, "awk": _awk, "vim": _vim, "nano": _vim, "less": _vim, "tar": _tar,
    "sqlite3": _sqlite, "make": _make, "printf": _printf, "test": _tests, "[": _tests,
    "script": _always, "expect": _always, "su": _always,
    "source": _always, ".": _always, "socat": _always, "ed": _always, "unset": _evaluates, "read": _evaluates,
    "declare": _evaluates, "wait": _evaluates, "getopts": _evaluates,
}  # fmt: skip
