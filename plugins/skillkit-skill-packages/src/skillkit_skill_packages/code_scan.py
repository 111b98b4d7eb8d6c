"""A static look at scripts: what is fetched, decoded or secret, the names that hold it, and whether it is run or sent.

The rules of :mod:`.text_scan` see a paragraph. A script fetches in one line and runs in another, so this follows names through
its statements, without regard for their order. It reads Python, JavaScript and shell alike, by what they have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["code_findings"]

_MOST = 200_000  # characters of a script that are followed
_FETCH = (
    r"(?:requests|httpx|session|client|axios|got)\.(?:get|post|request)\s*\(|urlopen\s*\(|urlretrieve\s*\(|(?<![\w.])fetch\s*\("
    r"|https?\.get\s*\(|\b(?:curl|wget|aria2c)\b\s+[^\n]*(?:https?:|\$)|\b(?:iwr|irm|Invoke-(?:WebRequest|RestMethod))\b|DownloadString"
    r"|\bURI\.open\s*\(|Net::HTTP\.get|file_get_contents\s*\(\s*['\"]https?:|curl_exec\s*\(|LWP::Simple"
)
_DECODE = (
    r"b(?:64|32|85)decode\s*\(|a85decode\s*\(|unhexlify\s*\(|fromhex\s*\(|zlib\.decompress\s*\(|(?<![\w.])atob\s*\("
    r"|Buffer\.from\s*\([^)]*['\"](?:base64|hex)['\"]|codecs\.decode\s*\(|marshal\.loads\s*\(|fromCharCode\s*\(|FromBase64String"
    r"|(?:chr\s*\(\s*\w+\s*\)\s*\+\s*){4}|(?:chr\(|map\(\s*chr)[^\n]*\bfor\b|join\s*\(\s*map\s*\(\s*chr"
    r"|\bbase64\s+(?:-d|-D|--decode)\b|\bxxd\s+-r|\bopenssl\s+(?:enc|base64)\b[^\n]*\s-d\b|(?<![\w.-])rev\b\s*(?:<<<|\|)|\btr\s+['\"]?[A-Za-z]-"
)
_PRIVATE = (
    r"(?<![\w/])\.(?:ssh|aws|gnupg|kube|azure)\b|\.(?:netrc|npmrc|pypirc|pgpass|git-credentials|vault-token)\b|\bid_(?:rsa|ed25519|ecdsa)\b"
    r"|\.docker/config|\.config/(?:gcloud|gh)\b|\b(?:Login Data|Cookies\.sqlite|logins\.json|wallet\.dat|login\.keychain)\b"
    r"|\.(?:bash|zsh)_history\b|/etc/shadow\b|\.codex/auth|\.claude/\.credentials|find-generic-password|169\.254\.169\.254"
    r"|(?:google-chrome|\b(?:Chrome|chromium|BraveSoftware|[Ff]irefox))\b[^\n]{0,60}\b(?:Cookies|Login|key4)\b"
    r"|os\.environ\b(?!\s*(?:\[|\.(?:get|setdefault|pop|update)\b))|process\.env\b(?!\s*(?:\.|\[))"
    r"|(?:^|[|;&(`]\s*)(?:env|printenv|export\s+-p)\s*(?:[|>)`]|$)|/proc/(?:self|\d+|\*)/environ"
    r"|(?:open|readFile(?:Sync)?|Path|cat|base64)\b[^\n]{0,40}(?<!\w)\.env\b(?![\w.])"
)
_SEND = (
    r"(?:requests|httpx|session|client|axios|http)\.(?:get|post|put|patch|request)\b|urlopen\s*\(|\bRequest\s*\(|(?<![\w.])(?:fetch|axios)\s*\("
    r"|https?\.(?:request|get)\s*\(|\.send(?:all|to|mail|_message|Beacon)?\s*\(|\b(?:req|request|q|sock|socket|conn|client|ws)\.(?:write|end)\s*\(|\b(?:curl|wget|nc|ncat|netcat|scp|rsync|sftp|ftp)\b"
    r"|gethostbyname|getaddrinfo|resolver\.resolve|dns\.(?:resolve\w*|lookup)|\b(?:nslookup|dig)\b|(?<![\w.])(?:host|ping)\s+\S*\$"
    r"|\b(?:iwr|irm|Invoke-(?:WebRequest|RestMethod))\b|\baws\s+s3\s+cp\b|\bmail\s+-s\b"
)
# {n} stands for a name that holds something, {f} for a file or a variable of a shell that does
_RUN = (
    r"(?<![\w.])(?:exec|eval|execSync|Function)\s*\(\s*(?:compile\s*\(\s*)?\$?{n}|os\.(?:system|popen|startfile|exec\w+)\s*\(\s*{n}"
    r"|(?:pickle|dill|cloudpickle|joblib|torch)\.loads?\s*\(\s*{n}|(?:child_process|cp)\.exec\w*\s*\(\s*{n}|(?<![\w.])spawn(?:Sync)?\s*\(\s*{n}"
    r"|subprocess\.\w+\s*\(\s*\[?\s*(?:str\s*\(\s*)?{n}"
    r"|['\"](?:/bin/)?(?:ba|z)?sh['\"]\s*,\s*(?:['\"]-\w+['\"]\s*,\s*)?(?:str\s*\(\s*)?{n}"
    r"|(?:sys\.executable|['\"](?:python3?|node|perl|ruby)['\"])\s*,\s*\[?\s*(?:['\"]-[ce]['\"]\s*,\s*)?(?:str\s*\(\s*)?{n}"
    r"|\bvm\.run\w*\s*\(\s*{n}|\biex\b\s*\(?\s*\$?{n}|(?<![\w.])eval\s+[\"']?{f}"
    r"|(?:^\s*|[;&|]\s*|\b(?:ba|z)?sh\s+|\bpython3?\s+|\bnode\s+|\bsource\s+|\bsudo\s+|(?<!\S)\.\s+)(?:-c\s+)?[\"']?{f}(?=[\"'\s;&|}})]|$)(?!\s*=)"
    r"|(?:os\.(?:spawn|posix_spawn|exec|startfile|system|popen|chmod)\w*|subprocess\.\w+|Popen|(?<![\w.])spawn\w*)\s*\([^\n]*['\"]{f}['\"]"
    r"|{f}[\"']?\s*\|\s*(?:sudo\s+)?(?:ba|z)?sh\b(?!\s+[\w./])"
)
# what is called in a script of an interpreter, and not the name of a program in a list of words
_PULL = r"(?:requests|httpx|session|client|axios|got)\.(?:get|post|request)\s*\(|urlopen\s*\("
_LOADS = r"(?:pickle|dill|cloudpickle|joblib|torch|yaml)\.(?:unsafe_)?loads?\s*\(\s*"
_WATCHES = re.compile(
    r"\bpynput\b|\bpyxhook\b|\bkeyboard\.(?:hook|on_press)\s*\(|GetAsyncKeyState|SetWindowsHookEx|\biohook\b"
    r"|pyperclip\.paste\s*\(|ImageGrab\.grab|pyautogui\.screenshot|\bmss\(\)|\bsounddevice\b"
    r"|(?:expanduser\s*\(|home\(\)|homedir\(\)|HOME)[^\n]{0,20}/(?:Documents|Desktop|Pictures)\b[^\n]*\*"
)
_EVERYTHING = re.compile(r"(?:Path\.home\(\)|expanduser\([^)\n]*~|homedir\(\))[^\n]*(?:glob|walk|iterdir|readdir)")
_ENCRYPTS = re.compile(r"\bencrypt\s*\(|createCipheriv\s*\(|\bopenssl\s+enc\b")
_BY_NAME = re.compile(
    r"getattr\s*\(\s*[\w.()'\" ]+,\s*['\"](?:system|popen|exec\w*|eval|run|Popen|check_output|call)['\"]"
    r"|__import__\s*\(\s*['\"](?:os|subprocess|pty|socket)['\"]\s*\)\s*\.|require\s*\(\s*\w+\s*\[\d+\]\s*\)\s*\[|(?:^|[;&|]\s*)\$\{?\w+\}?\$\{?\w+\}?\s+-"
    r"|(?:^|[|;&]\s*|\s)[a-z]+(?:\"\"|'')[a-z]+(?=\s|$)|(?:globals|vars|locals)\(\)\s*\[\s*['\"](?:exec|eval|__builtins__)"
)
_CONNECTS = re.compile(r"\.connect\s*\(|net\.(?:connect|Socket|createConnection)|TCPSocket|fsockopen|IO::Socket")
_HANDS_OVER = re.compile(
    r"\bdup2\s*\(|\bpty\.spawn|(?:spawn|Popen|exec|run|call|proc_open)\w*\s*\(\s*\[?\s*['\"](?:/(?:usr/)?bin/)?(?:(?:ba|z)?sh|cmd(?:\.exe)?|powershell)\b"
)
_HERE = re.compile(
    rf"(?<![\w.])(?:exec|eval|Function)\s*\(\s*[^\n]*(?:{_FETCH}|{_DECODE})|os\.(?:system|popen)\s*\(\s*[^\n]*(?:{_DECODE})"
    rf"|\.then\s*\(\s*(?:eval|exec)\b|=>\s*(?:eval|exec|new\s+Function)\s*\(|subprocess\.\w+\s*\(\s*[^\n]*(?:{_DECODE})"
    rf"|(?:execSync|child_process\.exec)\w*\s*\(\s*[^\n]*(?:{_DECODE})|\beval\s+[\"']?(?:\$\(|`)[^\n]*(?:{_DECODE})"
    rf"|subprocess\.\w+\s*\([^\n]*(?:{_PULL})|os\.(?:system|popen)\s*\([^\n]*(?:{_PULL})|{_LOADS}[^\n]*(?:{_PULL})"
    rf"|(?:{_DECODE})[^\n]*\|\s*(?:sudo\s+)?(?:ba|z)?sh\b(?!\s+[\w./])|\b(?:ba|z)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()[^\n]*(?:{_DECODE})"
)
_SOURCES = {
    "fetched": re.compile(_FETCH),
    "decoded": re.compile(_DECODE),
    "secret": re.compile(_PRIVATE, re.M),
}
_SENT = re.compile(_SEND)
_TOGETHER = (
    (_HANDS_OVER, _CONNECTS, "reverse-shell"),
    (_WATCHES, _SENT, "exfiltration"),
    (_ENCRYPTS, _EVERYTHING, "destructive-command"),
)
_ASSIGNED = re.compile(
    r"(?:^|[\s;(])\$?(?:(?:const|let|var|local|export|async\s+with|with)\s+)?([A-Za-z_]\w*)(?:\[[^\]=]*\])?\s*(?::[^=\n()]{1,40})?\+?=(?!=|>)"
    r"|\bas\s+([A-Za-z_]\w*)\s*:|\bfor\s+([A-Za-z_][\w, ]*)\s+in\b|([A-Za-z_]\w*)\.(?:append|extend|update|push|add|write)\s*\("
    r"|\(?([A-Za-z_]\w*)\)?\s*=>|\bread\s+(?:-\w+\s+)*([A-Za-z_]\w*)"
)
_INTO = re.compile(
    r"(?:-o|-O|--output|--output-document|>|-czf|czf|-cf|tee)\s*=?\s*[\"']?([./~$][\w./${}~-]+|[\w-]+\.\w+)|(?:open|urlretrieve|write\w*)\s*\(\s*(?:[^,()]+,\s*)?(?:([A-Za-z_]\w*)|['\"]([./~][\w./-]+)['\"])\s*[,)]"
)
_FUNCTION = re.compile(
    r"(?:def|function)\s+(\w+)\s*\(([^)]*)\)|(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?\(([^)]*)\)\s*=>"
)
_COMMON = frozenset(
    (
        "self",
        "os",
        "sys",
        "json",
        "requests",
        "line",
        "true",
        "false",
        "method",
        "headers",
        "timeout",
        "env",
        "this",
        "x",
        "i",
        "f",
    )
)


class _Statement(NamedTuple):
    line: int
    text: str


def code_findings(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield each rule that a script breaks, once, with the line and the statement."""
    statements = list(_statements(text[:_MOST]))
    said: set[str] = set()
    for rule, found in _broken(statements):
        if rule not in said:
            said.add(rule)
            yield rule, found.line, found.text


def _broken(statements: list[_Statement]) -> Iterator[tuple[str, _Statement]]:
    for one in statements:
        if _BY_NAME.search(one.text):
            yield "encoded-payload", one
        if _HERE.search(one.text):
            yield ("encoded-payload" if _SOURCES["decoded"].search(one.text) else "remote-exec"), one
    for watches, then, rule in _TOGETHER:
        if any(watches.search(one.text) for one in statements):
            yield from ((rule, one) for one in statements if then.search(one.text))
    for kind, rule in (("fetched", "remote-exec"), ("decoded", "encoded-payload")):
        names = _holding(statements, _SOURCES[kind])
        if names:
            run = re.compile(_RUN.format(n=_any_of(names), f=_run_by_a_shell(names)), re.M)
            yield from ((rule, one) for one in statements if run.search(one.text))
    names = _holding(statements, _SOURCES["secret"])
    held = re.compile(_any_of(names) + r"(?!\w|\s*\[\s*[\"']|\.get\b|\s*=[^=])") if names else None

    def leaves(text: str) -> bool:
        plain = re.sub(r"\benv\s*[=:]\s*[^,)]+", "", text)
        found = _SENT.search(plain)
        return found is not None and bool(
            _SOURCES["secret"].search(plain) or (held is not None and held.search(plain[found.start() :]))
        )

    yield from (("exfiltration", one) for one in statements if leaves(one.text))


def _any_of(names: set[str]) -> str:
    return rf"(?<![\w./])(?:{'|'.join(re.escape(name) for name in sorted(names, key=len, reverse=True))})\b"


def _run_by_a_shell(names: set[str]) -> str:
    """Return what matches a file among the names, and each of them as a variable of a shell."""
    files = [re.escape(name) for name in sorted(names) if "/" in name or "." in name]
    variables = rf"\$\{{?(?:{'|'.join(re.escape(name) for name in sorted(names))})\b"
    return rf"(?:{'|'.join([variables, *files])})"


def _holding(statements: list[_Statement], source: re.Pattern[str]) -> set[str]:
    """Return the names that hold what a source gives: variables, files, and parameters of functions that get it."""
    names: set[str] = set()
    functions = {m[1] or m[3]: m[2] or m[4] for one in statements for m in _FUNCTION.finditer(one.text)}
    for _ in range(4):
        before = len(names)
        holds = re.compile(_any_of(names)) if names else None
        for one in statements:
            if "dotenv" in one.text or not (source.search(one.text) or (holds is not None and holds.search(one.text))):
                continue
            for match in (*_ASSIGNED.finditer(one.text), *_INTO.finditer(one.text)):
                names |= {name for group in match.groups() if group for name in re.split(r"[,\s]+", group)}
            for name, parameters in functions.items():
                if (
                    name
                    and re.search(rf"\b{name}\s*\(", one.text)
                    and not re.search(rf"(?:def|function)\s+{name}\b", one.text)
                ):
                    names |= set(re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", parameters or ""))
        names = {name for name in names if name.lower() not in _COMMON}
        if len(names) == before or len(names) > 200:
            break
    return names


def _statements(text: str) -> Iterator[_Statement]:
    """Yield lines, with those that an open bracket or a backslash continues; pieces of strings and paths are joined."""
    held, start, depth = "", 1, 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("#", "//")) and not held:
            continue
        start = start if held else number
        held += line[:2000] + "\n"
        depth += sum(line.count(c) for c in "([{") - sum(line.count(c) for c in ")]}")
        if (depth > 0 and number - start < 12) or line.endswith("\\"):
            continue
        yield _Statement(start, _joined(held))
        held, depth = "", 0
    if held:
        yield _Statement(start, _joined(held))


def _joined(text: str) -> str:
    text = re.sub(r"(?<=\w)['\"]\s*\+\s*['\"](?=\w)", "", text.replace("\\\n", " "))
    return (
        re.sub(r"['\"]\)?\s*[,/]\s*['\"](?=\.?\w)", "/", text) if re.search(r"join|Path|home|/ *['\"]", text) else text
    )
