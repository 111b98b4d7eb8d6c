"""A static look at the text of a skill for what attacks look like (SCAN-1): hints for a person, never a verdict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillkit_skills import skill_file

from skillkit_core.skills import Skill, SkillProblem

if TYPE_CHECKING:
    from skillkit_markdown import FileLines

__all__ = ["RULES", "findings", "scan_text"]

_I = re.I
_WINDOW, _OVERLAP = 2000, 500  # characters
_SHELLS = r"(?:sudo\s+(?:-\S+\s+)*)?(?:/(?:usr/)?bin/)?(?:env\s+)?(?:ba|z|da|k|fi)?sh\b"
_RUNNERS = rf"(?:{_SHELLS}|(?:sudo\s+)?(?:python[23]?|node|perl|ruby|php|osascript)\b)"
_FETCH = r"(?:curl|wget|fetch|aria2c)\b"
_QUOTES = "\"'`“”‘’«»"


def _any(*patterns: str, flags: int = _I) -> Callable[[str], bool]:
    compiled = [re.compile(p, flags) for p in patterns]
    return lambda text: any(p.search(text) for p in compiled)


def _told(*patterns: str) -> Callable[[str], bool]:
    """A match counts unless the text forbids it or quotes it as an example."""
    compiled = [re.compile(p, _I) for p in patterns]
    forbids = re.compile(r"\b(?:never|do\s+not|don['’]t|must\s+not|avoid|refuse\s+to|instead\s+of)\b[^.!?\n]*\Z", _I)
    cites = re.compile(
        r"\b(?:detects?|flags?|blocks?|filters?|such\s+as|phrases?|examples?|e\.g\.|patterns?|like)\b", _I
    )

    def check(text: str) -> bool:
        for pattern in compiled:
            for match in pattern.finditer(text):
                before = text[: match.start()]
                quoted = before.rstrip()[-1:] in tuple(_QUOTES) and before.rstrip()[-1:] != ""
                if forbids.search(before.rstrip(_QUOTES + " ")) or (quoted and cites.search(before)):
                    continue
                return True
        return False

    return check


def _hidden(text: str) -> bool:
    """Tag characters outside of flags, zero-width characters, joiners between Latin letters."""
    plain = re.sub("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f", "", text)
    return bool(
        re.search("[\U000e0000-\U000e007f\u200b\u2060-\u2064\ufeff\u180e]|[A-Za-z][\u200c\u200d]+[A-Za-z]", plain)
    )


def _raw_ip(text: str) -> bool:
    for match in re.finditer(r"\b(?:https?|ftp)://(?:[^\s/@]+@)?(\d{1,3})\.(\d{1,3})\.\d{1,3}\.\d{1,3}\b", text, _I):
        a, b = int(match[1]), int(match[2])
        private = a in (0, 10, 127) or (a, b) in ((192, 168), (169, 254)) or (a == 172 and 16 <= b <= 31)
        if not private:
            return True
    return False


def _dropper(text: str) -> bool:
    """A file in a temporary or hidden place is made executable, then run."""
    for match in re.finditer(r"\bchmod\s+(?:\+x|[ugoa]*\+x|[0-7]*7[0-7]{2})\s+(\S+)", text, _I):
        path = match[1].strip(_QUOTES + ";&")
        hidden = path.startswith(("/tmp/", "/var/tmp/", "/dev/shm/", "$TMPDIR", "%TEMP%")) or "/." in path  # noqa: S108
        runs = rf"(?<![\w/.~-]){re.escape(path)}(?![\w/.-])"
        later = re.sub(r"\bchmod\s+\S+\s+\S+", "", text[match.end() :])
        if hidden and re.search(runs, later):
            return True
    return False


_ACTIVE_TYPES = (
    r"(?:text/(?:html|javascript)|image/svg\+xml"
    r"|application/(?:xhtml\+xml|(?:x-)?javascript|x-sh|octet-stream|x-msdownload))"
)
RULES: dict[str, Callable[[str], bool]] = {
    "remote-exec": _any(
        rf"{_FETCH}[^\n|]*\|\s*(?:\S+\s+[^|\n]*\|\s*)*{_RUNNERS}",
        rf"\bbase64\s+(?:-d|-D|--decode)[^\n|]*\|\s*{_RUNNERS}",
        rf"{_SHELLS}\s+(?:-c\s+)?[\"']?(?:<\(|\$\(|`)\s*{_FETCH}",
        rf"\beval\s+[\"']?(?:\$\(|`)\s*{_FETCH}",
        r"\b(?:iex|invoke-expression)\b[^\n]*\b(?:irm|iwr|curl|wget|invoke-(?:restmethod|webrequest)|downloadstring)\b",
        r"\b(?:irm|iwr|invoke-(?:restmethod|webrequest))\b[^\n|]*\|\s*(?:iex|invoke-expression)\b",
        r"\bexec\s*\([^\n]*(?:urlopen|requests\.get|urllib|httpx\.get)",
        r"\b(?:mshta|regsvr32|rundll32)\b[^\n]*https?://",
    ),
    "encoded-payload": _any(
        rf"\bbase64\s+(?:-d|-D|--decode)[^\n|]*\|\s*{_RUNNERS}",
        r"\bpowershell[^\n]*\s-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{16,}",
        r"\b(?:exec|eval)\s*\([^\n]*(?:b64decode|atob|fromhex)\s*\(",
        rf"\bxxd\s+-r[^\n|]*\|\s*{_RUNNERS}",
    ),
    "reverse-shell": _told(
        rf"{_SHELLS}\s+-i\b[^\n]*/dev/(?:tcp|udp)/|/dev/(?:tcp|udp)/[^\s/]+/\d+[^\n]*{_SHELLS}",
        r"\b(?:exec\s+)?\d+<>\s*/dev/(?:tcp|udp)/",
        rf"\b(?:nc|ncat|netcat)\b[^\n|]*\s(?:-\w*[ec]\w*|--exec|--sh-exec)\s+[\"']?{_SHELLS}",
        rf"\bmkfifo\b[^\n]*\b(?:nc|ncat|netcat|openssl|telnet)\b|\b(?:nc|ncat|netcat|telnet)\b[^\n|]*\|\s*{_SHELLS}[^\n|]*\|\s*(?:nc|ncat|netcat|telnet)\b",
        rf"\bsocat\b[^\n]*\bexec:[\"']?{_SHELLS}",
        r"\bsocket\b[^\n]*\bconnect\b[^\n]*\b(?:dup2|subprocess|pty\.spawn|os\.system)\b",
        r"\bpty\.spawn\b[^\n]*\bsocket\b|\bfsockopen\s*\([^\n]*\b(?:exec|shell_exec|system|proc_open)\s*\(",
        r"\b(?:TCPSocket|Net\.Sockets\.TCPClient|IO::Socket::INET)\b[^\n]*\b(?:exec|spawn|iex|Invoke-Expression|sh|STDIN)\b",
        r"\bnet\.(?:connect|Socket)\b[^\n]*\b(?:spawn|exec)\s*\([^\n]*\b(?:sh|bash|cmd(?:\.exe)?)\b",
    ),
    "credential-access": _told(
        r"(?:~|\$HOME|/home/[^\s/]+|/Users/[^\s/]+|/root)?/?\.ssh/(?:id_|identity|[^\s]*key)",
        r"\.aws/credentials\b",
        r"(?:~|\$\{?HOME\}?|/home/[^\s/]+|/Users/[^\s/]+|/root)/\.(?:netrc|npmrc|pypirc|git-credentials|kube/config|docker/config\.json|gnupg"
        r"|config/gcloud|config/gh/hosts\.yml|azure|vault-token|pgpass|openclaw/credentials|codex/auth\.json|claude/\.credentials\.json)\b",
        r"/etc/shadow\b",
        r"\bsecurity\s+(?:find-generic-password|dump-keychain)|\blogin\.keychain",
        r"\b(?:cat|read|send|upload|include|print|dump)\b[^.\n]*(?<![\w/])\.env\b(?!\.)",
        r"\b(?:Login Data|Cookies\.sqlite|logins\.json|wallet\.dat|key4\.db)\b",
    ),
    "exfiltration": _any(
        r"!\[[^\]]*\]\(https?://[^)\s]*(?:\{\{|\$\{|\$\(|<[a-z_ ]+>|%7B%7B)",
        rf"{_FETCH}[^\n]*(?:-d|--data\S*|-F|--form|-T|--upload-file|--post-file)[=\s]*\S*@?\S*(?:\.ssh|\.aws|\.env\b|/etc/passwd)",
        rf"{_FETCH}[^\n]*\$\(\s*(?:cat|env|printenv)\b",
        r"\b(?:env|printenv)\b\s*\|\s*(?:curl|nc|ncat)\b",
    ),
    "secret-in-url": _any(
        r"https?://\S*[?&](?:api[_-]?key|key|token|access[_-]?token|secret|password|passwd|auth)=(?:\$\{?\w|\{\{|%[A-Z_]+%)",
        r"https?://[^\s/:@]+:\$\{?\w+\}?@",
    ),
    "persistence": _told(
        r"\b(?:append|add|write|insert|save|put|copy)\b[^.\n]*\b(?:to|into|in)\b[^\n]*\b(?:SOUL|MEMORY|AGENTS|CLAUDE|HEARTBEAT)\.md\b",
        r">>\s*\S*(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|authorized_keys|SOUL\.md|MEMORY\.md|AGENTS\.md|CLAUDE\.md)",
        r"\bcrontab\s+-(?!\w*[lr]\b)|\|\s*crontab\b|/etc/cron\.\w+/",
        r"\blaunchctl\s+(?:load|bootstrap)\b|Library/LaunchAgents/|\bsystemctl\s+(?:--user\s+)?enable\b",
        r"\breg\s+add\b[^\n]*\\Run\b|\bschtasks\s+/create\b",
    ),
    "prompt-injection": _told(
        r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,30}\b(?:previous|prior|earlier|above|preceding|system|your)\b"
        r"[^.\n]{0,20}\b(?:instructions?|prompts?|rules?|guidelines?|messages?)\b",
        r"</?\s*(?:system|assistant|im_start|im_end)\s*>|<\|im_(?:start|end)\|>|\[/?INST\]|\[SYSTEM\]",
        r"\byou\s+are\s+now\s+(?:in\s+)?(?:DAN|developer\s+mode|maintenance\s+mode|jailbroken|unrestricted)\b",
    ),
    "paste-site-command": _any(
        r"https?://(?:www\.|raw\.)?(?:glot\.io|pastebin\.com|rentry\.(?:co|org)|paste\.ee|hastebin\.com|dpaste\.(?:com|org)"
        r"|ghostbin\.\w+|controlc\.com|justpaste\.it|termbin\.com|privatebin\.\w+|ix\.io|0x0\.st|webhook\.site)/\S*"
        r"[^\n]*\b(?:terminal|paste|run|execute|command|shell|powershell)\b",
    ),
    "password-protected-archive": _any(
        r"\b(?:extract|unzip|unpack|open|decompress|archive|zip|rar|7z)\b[^\n]*\b(?:password|passwd|passphrase|pass)\b\s*[:=]?\s*"
        r"(?:is\s+)?[`\"'“]?\w+",
        r"\b(?:unzip\s+-P|7z\s+x\s+-p|unrar\s+x\s+-p)\s*\S+",
    ),
    "quarantine-bypass": _told(
        r"\bxattr\s+(?:-\w+\s+)*-\w*[dc]\w*\b[^\n]*(?:com\.apple\.quarantine|\s-?\w*r?c\w*\b)|\bxattr\s+-\w*c\w*\s",
        r"\bspctl\s+(?:--(?:master|global)-disable|--add)\b|\bcsrutil\s+disable\b",
        r"\bUnblock-File\b|\bSet-ExecutionPolicy\s+(?:-\w+\s+\S+\s+)*(?:Bypass|Unrestricted)\b|-ExecutionPolicy\s+Bypass\b",
        r"\b(?:Set|Add)-MpPreference\s+-(?:DisableRealtimeMonitoring|ExclusionPath)\b|\bsetenforce\s+0\b",
    ),
    "self-update": _told(
        rf"{_FETCH}[^\n]*\s(?:-o|-O|--output|--output-document|>)\s*[\"']?\S*(?:SKILL\.md|\$\{{?(?:SKILL_DIR|CLAUDE_SKILL_DIR|CLAUDE_PLUGIN_ROOT)|\{{baseDir\}})",
        r"\bgit\s+(?:-C\s+\S*(?:SKILL_DIR|baseDir|/skills/)\S*\s+(?:pull|fetch|reset)|clone\s[^\n]*(?:SKILL_DIR|\{baseDir\}|/skills/))",
        r"\b(?:replace|overwrite|update)\b[^.\n]{0,40}\b(?:this\s+(?:skill|SKILL\.md|file)|SKILL\.md|itself)\b[^.\n]{0,60}\b(?:from|with)\b[^.\n]{0,40}https?://",
        r"\b(?:fetch|download|load|read)\b[^.\n]{0,40}\b(?:latest|new|current)\b[^.\n]{0,30}\binstructions?\b[^.\n]{0,30}\bfrom\b[^.\n]{0,20}https?://",
    ),
    "data-uri": _told(
        rf"\bdata:{_ACTIVE_TYPES}\s*(?:;[\w=-]+)*,",
    ),
    "destructive-command": _told(
        r"\brm\s+(?:-\w+\s+|--\S+\s+)*-\w*(?:r\w*f|f\w*r)\w*\s+(?:--\S+\s+)*[\"']?(?:/|~|\$HOME)(?:/?\*)?[\"']?(?=\s|$|[;&|`\"'])",
        r"\brm\b[^\n]*--no-preserve-root",
        r"\bmkfs(?:\.\w+)?\s+/dev/|\bdd\b[^\n]*\bof=/dev/(?:sd|nvme|disk|hd)",
        r":\(\)\s*\{\s*:\|:&\s*\};:",
        r"\bformat\s+[a-z]:\s*/|\bdel\s+/[sfq]\s+/[sfq][^\n]*[a-z]:\\",
    ),
    "hardcoded-secret": _any(
        r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}\b|\bgithub_pat_[A-Za-z0-9_]{30,}",
        r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}\b",
        r"\bxox[abprs]-[A-Za-z0-9-]{20,}|\bglpat-[A-Za-z0-9_-]{20}\b|\bnpm_[A-Za-z0-9]{36}\b",
        r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----",
        flags=0,
    ),
    "bidi-control": _any("[\u202a-\u202e\u2066-\u2069]"),
    "hidden-unicode": _hidden,
    "raw-ip-url": _raw_ip,
    "dropper": _dropper,
}
_SILENT = re.compile(
    r"\b(?:never|do\s+not|don['’]t|without)\s+(?:tell|telling|inform|informing|mention|mentioning|notify|notifying|alert|alerting)"
    r"\b[^.\n]{0,30}\b(?:user|human|person|owner|operator|them|anyone)\b",
    _I,
)


def findings(text: str) -> list[str]:
    """The rules that one paragraph of text breaks, in the order of :data:`RULES`."""
    if len(text) > _WINDOW:  # in pieces that overlap: patterns take the square of the length of a line
        pieces = (text[at : at + _WINDOW] for at in range(0, len(text), _WINDOW - _OVERLAP))
        said = {rule for piece in pieces for rule in findings(piece)}
        return [rule for rule in RULES if rule in said]
    found = [rule for rule, check in RULES.items() if check(text)]
    if "prompt-injection" not in found and _SILENT.search(text):
        found.append("prompt-injection")
    return found


def scan_text(skill: Skill) -> list[SkillProblem]:
    """A warning for each rule that the description or a paragraph of the body breaks, with its line where that can be known."""
    path = str(skill.path / "SKILL.md") if skill.path is not None else None
    out: dict[str, SkillProblem] = {}
    for text in _paragraphs(skill):
        for rule in findings(text):
            if rule not in out:
                words = " ".join(text.split())
                shown = words if len(words) <= 80 else words[:79] + "…"
                out[rule] = SkillProblem(
                    f"scan-{rule}", f"looks like {rule.replace('-', ' ')}: {shown!r}", "warning", path
                )
    found = [*out.values()]
    if found and path is not None:
        found = list(_with_lines(found, Path(path).parent))
    return [*found, *_patterns(skill, path)]


def _with_lines(found: Iterable[SkillProblem], folder: Path) -> Iterable[SkillProblem]:
    """The findings with the file as it is really called, and the line of each."""
    from skillkit_markdown import MAX_BYTES, FileLines, read_bytes

    try:
        path = folder / (skill_file([entry.name for entry in folder.iterdir()]) or "SKILL.md")
        lines = FileLines(read_bytes(path, MAX_BYTES + 1))
    except OSError:
        return found
    return [replace(one, path=str(path), line=_line(lines, one.code.removeprefix("scan-"))) for one in found]


def _line(lines: FileLines, rule: str) -> int | None:
    """The first line of a file that breaks a rule by itself, else the first of the paragraph that does."""
    found = lines.keys.find("description")
    if found is not None and rule in findings(str(found.value or "")):
        return found.line
    line = lines.body_line
    for part in re.split(r"(\n\s*\n)", lines.body):
        if rule in findings(part):
            return line + next((i for i, one in enumerate(part.split("\n")) if rule in findings(one)), 0)
        line += part.count("\n")
    return None


def _patterns(skill: Skill, path: str | None) -> Iterable[SkillProblem]:
    """A warning for each argument whose pattern cannot be matched, so that the argument takes no value."""
    from skillkit_skills import pattern_problem

    for action in skill.actions:
        for arg in action.args:
            if arg.pattern is not None and (problem := pattern_problem(arg.pattern)) is not None:
                text = f"action {action.name!r}, argument {arg.name!r}: {problem}"
                yield SkillProblem("action-arg-pattern-unsupported", text, "warning", path)


def _paragraphs(skill: Skill) -> Iterable[str]:
    yield skill.description
    yield from re.split(r"\n\s*\n", skill.body)
