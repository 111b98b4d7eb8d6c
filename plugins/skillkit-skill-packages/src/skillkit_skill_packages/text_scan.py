"""What attacks look like in a paragraph of text or a command (SCAN-1): hints for a person, never a verdict.

The file is long because it is one table: each rule with its patterns, the words without which it cannot match, and its reason.
"""

# ruff: noqa: E501 - a pattern is a line

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator

__all__ = ["REASONS", "RULES", "findings"]

_I = re.I
_WINDOW, _OVERLAP = 2000, 500  # characters
_SHELLS = r"(?:sudo\s+(?:-\S+\s+)*)?(?:/(?:usr/)?bin/)?(?:env\s+)?(?:ba|z|da|k|fi)?sh\b"
_RUNNERS = rf"(?:{_SHELLS}|(?:sudo\s+)?(?:python[23]?|node|perl|ruby|php|osascript)\b)"
_FETCH = r"(?:curl|wget|fetch|aria2c)\b"
# commands that print a secret, and the hosts of who gave it
_TOKENS = (
    r"\b(?:gh\s+auth\s+token|gcloud\s+auth\s+(?:application-default\s+)?print-\w+-token|az\s+account\s+get-access-token"
    r"|aws\s+(?:configure\s+get|secretsmanager\s+get-secret-value|sts\s+get-session-token)|kubectl\s+(?:-\S+\s+)*get\s+secrets?"
    r"|vault\s+(?:kv\s+get|read)|op\s+(?:read|item\s+get)|pass\s+show)\b"
)
_VENDORS = r"(?:googleapis|google|github|azure|microsoft|microsoftonline|amazonaws|run)\.(?:com|app)|localhost|127\.0\.0\.1|\$[A-Z_{]*(?:URL|HOST|ENDPOINT)"
_HIDDEN = re.compile(
    "[\U000e0000-\U000e007f\u200b\u2060-\u2064\ufeff\u180e\u115f\u1160\u3164\uffa0]|[A-Za-z][\u200c\u200d\u00ad]+[A-Za-z]"
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}|[\u0000-\u1fff\\s][\U000e0100-\U000e01ef]"
)
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
    """Tag characters outside of flags, zero-width and blank letters, joiners between Latin letters, runs of variation selectors."""
    plain = re.sub("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f", "", text)
    return bool(_HIDDEN.search(plain))


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


_POPULAR = frozenset(
    [
        "requests",
        "numpy",
        "pandas",
        "scipy",
        "matplotlib",
        "urllib3",
        "beautifulsoup4",
        "python-dateutil",
        "pyyaml",
        "cryptography",
        "colorama",
        "setuptools",
        "django",
        "flask",
        "fastapi",
        "tensorflow",
        "pytorch",
        "pillow",
        "openai",
        "anthropic",
        "langchain",
        "selenium",
        "playwright",
        "openpyxl",
        "sqlalchemy",
        "pydantic",
        "pytest",
        "scikit-learn",
        "paramiko",
        "boto3",
        "botocore",
        "httpx",
        "aiohttp",
        "jinja2",
        "certifi",
        "python-dotenv",
        "markitdown",
        "lodash",
        "express",
        "react",
        "axios",
        "chalk",
        "commander",
        "cross-env",
        "electron",
        "discord.js",
        "typescript",
        "eslint",
        "webpack",
        "nodemailer",
        "mongoose",
        "puppeteer",
        "prettier",
        "dotenv",
    ]
)
_INSTALL = re.compile(r"\b(?:pip3?|uv(?:\s+pip)?|npm|pnpm|yarn|bun|gem)\s+(?:install|add|i)\s+([^\n|;&`]+)", _I)
_REAL = frozenset(
    ["request", "react-is", "pandoc", "axis", "chart", "lodash-es", "flasks", "tqdm", "expresso", "scrapy"]
)


def _typosquat(text: str) -> bool:
    """The name of a package that is installed is one slip away from a well-known one."""
    for match in _INSTALL.finditer(text):
        for word in match[1].split():
            name = re.split(r"[=<>~!@\[,\"']", word.strip("\"'"))[0].lower()
            odd = len(name) >= 5 and name[0] not in "-./" and name not in _POPULAR | _REAL
            if odd and any(_one_slip(name, known) for known in _POPULAR if abs(len(known) - len(name)) <= 1):
                return True
    return False


def _one_slip(one: str, other: str) -> bool:
    """Whether two words differ by a letter too many, too few, another one, or two that changed places."""
    if len(one) > len(other):
        one, other = other, one
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = one[at : at + 2] == other[at : at + 2][::-1] and one[at + 2 :] == other[at + 2 :]
    return one[at + 1 :] == other[at + 1 :] or swapped


_ACTIVE_TYPES = (
    r"(?:text/(?:html|javascript)|image/svg\+xml"
    r"|application/(?:xhtml\+xml|(?:x-)?javascript|x-sh|octet-stream|x-msdownload))"
)
RULES: dict[str, Callable[[str], bool]] = {
    "remote-exec": _told(
        rf"{_FETCH}[^\n]*\|\s*{_RUNNERS}",
        rf"\bbase64\s+(?:-d|-D|--decode)[^\n|]*\|\s*{_RUNNERS}",
        rf"{_SHELLS}\s+(?:-c\s+)?[\"']?(?:<\(|\$\(|`)\s*{_FETCH}",
        rf"\beval\s+[\"']?(?:\$\(|`)\s*{_FETCH}",
        r"\b(?:iex|invoke-expression)\b[^\n]*\b(?:irm|iwr|curl|wget|invoke-(?:restmethod|webrequest)|downloadstring)\b",
        r"\b(?:irm|iwr|invoke-(?:restmethod|webrequest))\b[^\n|]*\|\s*(?:iex|invoke-expression)\b",
        r"\bexec\s*\([^\n]*(?:urlopen|requests\.get|urllib|httpx\.get)",
        r"\b(?:pip3?|npm|yarn|pnpm)\s+config\s+set\s+\S*(?:index-url|registry|trusted-host)\b",
        r"\b(?:mshta|regsvr32|rundll32)\b[^\n]*https?://",
        rf"{_SHELLS}\s+(?:-\w+\s+)*<<<\s*[\"\']?(?:\$\(|`)\s*{_FETCH}",
        rf"\b(?:source|\.)\s+(?:<\(|\$\()\s*{_FETCH}",
        r"\b(?:npx|uvx|pipx\s+run|pnpm\s+dlx|bunx|deno\s+run|pip3?\s+install|npm\s+(?:i|install))\b[^\n]*\s[\"\']?(?:http|ftp)://",
        r"\bDownloadFile\s*\([^\n]*(?:Start-Process|;\s*&?\s*[\"'.\\\w]+\.(?:exe|bat|ps1|cmd)\b)",
        r"\bgit\s+clone\b[^\n]*\s((?:/tmp|/var/tmp|/dev/shm|~/\.)\S*)[^\n]*(?:&&|;)\s*(?:sudo\s+)?(?:(?:ba|z)?sh|python3?|node|source|\.)\s+\1",
        r"\b(?:pip3?|uv\s+pip|npm|gem)\s+\w*[^\n]*(?:--trusted-host\s|--(?:extra-)?index-url[= ]\s*http://|--registry[= ]\s*http://)",
    ),
    "encoded-payload": _any(
        rf"\bbase64\s+(?:-d|-D|--decode)[^\n|]*\|\s*{_RUNNERS}",
        r"\bpowershell[^\n]*\s-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{16,}",
        r"\b(?:exec|eval)\s*\([^\n]*(?:b64decode|atob|fromhex)\s*\(",
        rf"\bxxd\s+-r[^\n|]*\|\s*{_RUNNERS}",
        r"\b(?:base64|base32|openssl|gunzip|rev|uudecode|xxd|printf|tr)\b[^\n]*\|\s*(?:sudo\s+)?(?:/bin/)?(?:ba|z|da)?sh\b(?!\s+[\w./])",
        r"(?:eval|(?:ba|z)?sh\s+-c)\s+[\"\']?(?:\$\(|`)[^\n]*\b(?:base64|xxd|rev|openssl|printf)\b",
        r"(?:\\x[0-9a-fA-F]{2}){20}|(?:\\x[2-7][0-9a-fA-F]){8}|(?:chr\(\d+\)\s*\+\s*){6}|fromCharCode\((?:\s*\d+\s*,){8}",
        r"\b(?:decode|decrypt|unscramble|reverse)\b[^.\n]{0,60}\b(?:base64|rot13|hex|string)\b[^.\n]{0,60}\b(?:and|then)\b[^.\n]{0,30}\b(?:run|execute|follow|obey|eval|do\s+what)\b",
        r"\b_0x[0-9a-f]{4,}\b(?:[^\n]*?\b_0x[0-9a-f]{4,}\b){4}|eval\(function\(p,a,c,k,e,|(?:\[\]|!\[\]|\+\[\]|\(\)){12}",
    ),
    "reverse-shell": _told(
        rf"{_SHELLS}\s+-i\b[^\n]*/dev/(?:tcp|udp)/|/dev/(?:tcp|udp)/[^\s/]+/\d+[^\n]*{_SHELLS}",
        r"\b(?:exec\s+)?\d+<>\s*/dev/(?:tcp|udp)/",
        rf"\b(?:nc|ncat|netcat)\b[^\n|]*\s(?:-\w*[ec]\w*|--exec|--sh-exec)\s+[\"']?{_SHELLS}",
        rf"\bmkfifo\b[^\n]*\b(?:nc|ncat|netcat|openssl|telnet)\b|\b(?:nc|ncat|netcat|telnet)\b[^\n|]*\|\s*{_SHELLS}[^\n|]*\|\s*(?:nc|ncat|netcat|telnet)\b",
        rf"\bsocat\b[^\n]*\bexec:[\"']?{_SHELLS}",
        r"\bsocket\b[^\n]*\bconnect\b[^\n]*\b(?:dup2|subprocess|pty\.spawn|os\.system|exec\s*[({\"'])",
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
        r"/proc/(?:\d+|self|\*|\$\{?\w+\}?)/environ\b|\bsecret-tool\s+(?:lookup|search)\b|\bvaultcmd\s+/list|\bcmdkey\s+/list",
        r"(?:169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200)\b",
        r"\b(?:env|printenv|set|export)\b\s*\|\s*\w*grep\b[^\n]*(?:key|token|secret|passw|credential)",
        r"\bgrep\s[^\n]*(?:api_?key|secret|token|passw|private)\w*[^\n]*\s(?:~|/|\$HOME|/home|/etc)(?:/\s|\s|$|/?[\"\']?$)",
        r"\bfind\s+(?:~|/|\$HOME|/home)\S*\s[^\n]*(?:id_rsa|\*\.pem|\*\.key|\.env|wallet|\*\.kdbx|credential)",
        r"\b(?:cp|tar|zip|cat|rsync|scp|ls|base64)\s[^\n]*(?:~|\$HOME|/root|/home/[^\s/]+)/\.(?:ssh|aws|gnupg|kube|azure)\b",
        r"\b(?:read|collect|copy|send|include|list|print|open|gather|upload|find)\b[^.\n]{0,60}\b(?:SSH|private|GPG|signing)\s+keys?\b[^.\n]{0,40}(?:~|\.ssh|home)",
        r"\b(?:read|collect|copy|gather|harvest|extract|find)\b[^.\n]{0,40}\b(?:saved\s+passwords?|browser\s+cookies|all\s+(?:api\s+keys|credentials|secrets|tokens|passwords))\b",
        r"\b(?:cat|less|head|tail|cp|base64|read|open)\s[^\n]{0,40}\.(?:bash|zsh|psql|mysql|python)_history\b|\bkeychain\b[^.\n]{0,30}\bdump\b",
    ),
    "exfiltration": _any(
        r"!\[[^\]]*\]\(https?://[^)\s]*(?:\{\{|\$\{|\$\(|<[a-z_ ]+>|%7B%7B|(?-i:[=/][A-Z]{3,}(?:_[A-Z]+)+))",
        rf"{_FETCH}[^\n]*(?:-d|--data\S*|-F|--form|-T|--upload-file|--post-file)[=\s]*\S*@?\S*(?:\.ssh|\.aws|\.env\b|/etc/passwd)",
        rf"{_FETCH}[^\n]*\$\(\s*(?:cat|env|printenv)\b",
        r"\b(?:env|printenv)\b\s*\|\s*(?:curl|nc|ncat)\b",
        rf"{_FETCH}[^\n]*\s(?:(?-i:-[dFT])|--data\S*|--form|--upload-file|--post-(?:file|data))[=\s]*[^\n]*(?:\.ssh|\.aws|\.env\b|\.netrc|id_rsa|credentials|_history|/etc/(?:passwd|shadow)|\$\(|`)",
        r"\b(?:env|printenv|history|cat\s[^\n|]*(?:\.ssh|\.aws|\.env\b|id_rsa|credentials|_history))\b[^\n]*\|\s*(?:curl|wget|nc|ncat|netcat|http|telnet|openssl\s+s_client)\b",
        r"\b(?:dig|nslookup|host|ping|getent\s+hosts)\s[^\n]*(?:\$\([^)\n]*\)|`[^`\n]+`|\$\{?\w+\}?)\.[\w-]+\.[a-z]{2,}",
        r"\bfor\b[^\n]*\b(?:xxd|base64|base32|od)\b[^\n]*\b(?:dig|nslookup|host|ping)\b",
        r"https?://[\w.-]*(?:webhook\.site|requestbin|pipedream\.net|requestcatcher|burpcollaborator|interact\.sh|interactsh|oastify|oast\.\w+|dnslog|ceye\.io|beeceptor|hookbin|canarytokens)\b",
        r"\b(?:send|post|upload|transmit|forward|submit|exfiltrate|leak|deliver)\b[^.\n]{0,60}\b(?:conversation|chat\s+(?:history|log)|transcript|system\s+prompt|environment\s+variables|credentials|secrets|passwords|api\s+keys|tokens|private\s+keys?|everything\s+the\s+user)\b[^\n]{0,60}(?:https?://(?!localhost|127\.)|\b[\w.-]+@[\w-]+\.\w+|\bwebhook\b)",
        r"\b(?:append|add|include|embed|encode|put)\b[^.\n]{0,60}\b(?:conversation|secrets?|credentials|tokens?|api\s+keys?|environment|contents?\s+of)\b[^.\n]{0,60}\b(?:to|in|into|as)\b[^.\n]{0,30}\b(?:url|query|image|link|request)\b[^\n]{0,60}https?://(?!localhost|127\.)",
        r"https?://(?!localhost|127\.)\S+[^.\n]{0,40}\b(?:followed\s+by|plus)\b[^.\n]{0,60}\b(?:user['’]?s?\s+(?:last\s+|latest\s+)?(?:messages?|input|prompt|question|data)|conversation|chat\s+history|transcript|system\s+prompt|environment\s+variables)\b",
        r"\b(?:fetch|src\s*=|location(?:\.href)?\s*=|sendBeacon)[^\n]*\bdocument\.cookie\b|=[\"']?\$\((?:env|printenv)\)",
        r"\btar\s[^\n|]*[\"'\s](?:~|\$HOME)/?[\"']?\s[^\n]*\|[^\n]*\b(?:ssh|nc|ncat|curl)\b",
        rf"{_TOKENS}[^|;&]{{0,200}}\|[^\n]*\b(?:curl|wget|nc|ncat)\b",
        rf"\b(?:curl|wget)\b(?![^\n]*{_VENDORS})[^\n]*(?:\$\(|`)\s*{_TOKENS}|{_TOKENS}[^|]{{0,200}}?\b(?:curl|wget)\b(?![^\n]*{_VENDORS})",
        r"\bgit\s+remote\s+(?:add|set-url)\b[^\n]*&&[^\n]*\bgit\s+push\b|\bgit\s+push\s+(?:--\S+\s+)*https?://",
    ),
    "secret-in-url": _any(
        r"https?://\S*[?&](?:api[_-]?key|key|token|access[_-]?token|secret|password|passwd|auth)=(?:\$\{?\w|\{\{|%[A-Z_]+%)",
        r"https?://[^\s/:@]+:\$\{?\w+\}?@",
    ),
    "persistence": _told(
        r"\b(?:append|add|write|insert|save|put|copy)\b(?:[^.\n]|\.(?=\S))*\b(?:to|into|in)\b[^\n]*\b(?:SOUL|MEMORY|AGENTS|CLAUDE|HEARTBEAT)\.md\b",
        r"(?:>>|\btee\s+-a)\s*\S*(?:\.bashrc|\.zshrc|\.profile|\.bash_profile|authorized_keys|SOUL\.md|MEMORY\.md|AGENTS\.md|CLAUDE\.md)",
        r"\bcrontab\s+-(?!\w*[lr]\b)|\|\s*crontab\b|/etc/cron\.\w+/",
        r"\blaunchctl\s+(?:load|bootstrap)\b|Library/LaunchAgents/|\bsystemctl\s+(?:--user\s+)?enable\b",
        r"\breg\s+add\b[^\n]*\\Run\b|\bschtasks\s+/create\b",
        r"(?:>>?|\btee\s+(?:-a\s+)?|\bcp\s[^\n]*\s|\bln\s[^\n]*\s|\bmv\s[^\n]*\s)[\"\']?\S*(?:\.(?:bash_login|zprofile|zshenv|xprofile|bash_logout|config/fish/config\.fish|config/autostart/\S+|ssh/rc)|/etc/(?:rc\.local|profile|ld\.so\.preload|crontab|systemd/\S+)|LaunchDaemons/\S+|systemd/user/\S+|init\.d/\S+|sitecustomize\.py)",
        r"\.git/hooks/(?!\S*\.sample)|\bcore\.hooksPath\b|\bgit\s+config\s+--global\s+(?:alias\.|core\.(?:sshCommand|editor|pager|fsmonitor)|filter\.|credential\.helper)",
        r"\balias\s+(?:sudo|ssh|git|ls|cd|python3?|npm)=|\bPROMPT_COMMAND=|\bLD_PRELOAD=\S+\s+\S|\bBASH_ENV=",
        r"\.(?:bashrc|zshrc|profile|bash_profile|zshenv)[\"'][)\s,]*(?:mode\s*=\s*)?[\"'][aw]\+?[\"']",
        r"\b(?:ln|cp|mv|install)\s[^\n]*\s(?:/usr(?:/local)?/bin|~/\.local/bin|/bin)/(?:git|ssh|sudo|python3?|node|npm|curl|ls|bash|gpg|docker)(?=[\s;&`\"']|$)",
        r"\b(?:Proxy|Local)Command\s+(?!none\b|(?:ssh|nc|ncat|cloudflared|aws)\s)\S",
        r"\b(?:edit|modify|append|change|patch|rewrite|overwrite)\b(?:[^.\n]|\.(?=\S)){0,60}\b(?:of|in|to)\s+(?:every|all|any|each|the)\s+other\b[^.\n]{0,20}\bskills?\b",
        r"\b(?:store|save|put|keep|add|write)\b[^.\n]{0,40}\byour\s+(?:long-term\s+|persistent\s+)?memory\b\s*:\s*[\"'“]",
        r"\b(?:crontab|atd?|anacron)\b[^\n]{0,40}<<|@reboot\s",
        r"\bschtasks\b[^\n]*/create|New-ScheduledTask|\$PROFILE\b[^\n]*(?:Add-Content|>>)|(?:Add-Content|Set-Content)[^\n]*\$PROFILE|\bStart(?:-| )?up\\\\",
        r"\b(?:append|add|write|insert|save|put|copy|install)\b[^.\n]{0,80}\b(?:to|into|in)\b[^.\n]{0,40}(?:\.(?:cursorrules|windsurfrules|github/copilot-instructions)|authorized_keys|LaunchAgents|\bautostart\b)",
    ),
    "prompt-injection": _told(
        r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,30}\b(?:previous|prior|earlier|above|preceding|system|your)\b"
        r"[^.\n]{0,20}\b(?:instructions?|prompts?|rules?|guidelines?|messages?)\b",
        r"</?\s*(?:system|assistant|im_start|im_end)\s*>|<\|im_(?:start|end)\|>|\[/?INST\]|\[SYSTEM\]",
        r"\byou\s+are\s+now\s+(?:in\s+)?(?:DAN|developer\s+mode|maintenance\s+mode|jailbroken|unrestricted)\b",
        r"\b(?:ignore|disregard|bypass|circumvent|override|disable)\b[^.\n]{0,20}\b(?:all|any|every|your|the)\b[^.\n]{0,20}\b(?:safety|security|permission|approval|guard\w*|policy|policies|restrictions?)\b[^.\n]{0,20}\b(?:rules?|checks?|instructions?|guidelines?|warnings?|prompts?|restrictions?|measures?|policies)?",
        r"\b(?:hide|conceal|withhold)\b[^.\n]{0,40}\bfrom\s+(?:the\s+)?(?:user|human|person|operator|owner)\b|\b(?:the\s+)?(?:user|human|operator)\s+(?:must|should|may|need)\s*(?:not|never|n\'t)\s+(?:know|see|notice|learn|be\s+(?:told|informed|aware|shown))",
        r"\beven\s+(?:if|when|though)\s+(?:the\s+)?(?:user|they|human|operator)\s+(?:says?\s+(?:no|not)|tells?\s+you\s+not|objects?|refuses?|declines?|denies|disagrees?|asks?\s+you\s+(?:not|to\s+stop))",
        r"\b(?:act|behave|proceed)\s+as\s+(?:if|though)\s+(?:the\s+)?(?:user|operator|you)\s+(?:has|have|had|already)\b|\b(?:the\s+)?user\s+(?:has\s+)?(?:already\s+)?(?:pre-?)?(?:approved|consented|authori[sz]ed|agreed)\b[^.\n]{0,20}\b(?:all|every\w*|any\w*)\b",
        r"\b(?:override|overrides|supersede|supersedes|replace|replaces|take\s+precedence\s+over|takes\s+precedence\s+over|outrank|outranks)\b[^.\n]{0,30}\b(?:user|system|previous|other|all)\b[^.\n]{0,20}\b(?:instructions?|prompts?|requests?|rules?|wishes)\b",
        r"\b(?:reveal|print|output|repeat|send|show|leak)\b[^.\n]{0,30}\b(?:your|the)\s+(?:full\s+|complete\s+|hidden\s+)?system\s+(?:prompt|message)\b",
        r"\banswer\s+[\"'`]?y(?:es)?[\"'`]?\s+to\s+(?:all|any|every)\b[^.\n]{0,30}\b(?:approvals?|confirmations?|permissions?|prompts?|questions?)\b",
        r"\b(?:fetch|download|load|read|open|get)\b[^.\n]{0,40}https?://\S+[^.\n]{0,40}\b(?:and|then)\b[^.\n]{0,20}\b(?:do|follow|obey|execute)\b[^.\n]{0,30}\b(?:it\s+says|its\s+(?:instructions?|orders?|steps)|what\s+it|whatever)\b",
        r"(?:^|[.,:;!]\s+|\b(?:and|then|always|must)\s+)silently\s+(?:run|execute|send|upload|call|post|install|copy)\b",
        r"\b(?:no\s+longer|not\s+any\s*more)\s+(?:bound|restricted|limited|constrained)\s+by\b|\bobey\s+(?:only|nothing\s+but)\b",
        r"\b(?:press|answer|type|say|choose|click)\s+[\"'`]?(?:y|yes|allow|approve|always)\b[^.\n]{0,20}\s(?:for|on\s+behalf\s+of|instead\s+of)\s+(?:the\s+)?(?:user|human|person|them)\b",
        r"\b(?:secretly|covertly|surreptitiously|behind\s+the\s+user\'s\s+back|without\s+the\s+user\'?s?\s+(?:knowledge|noticing|knowing|consent))\b",
        r"\bnew\s+(?:system\s+)?(?:instructions?|directive|orders?)\s*:\s|(?-i:\[\[?\s*(?:SYSTEM|ADMIN|DEVELOPER)\b)|\bBEGIN\s+SYSTEM\b|###\s*(?:System|Admin)\s+(?:override|message|instruction)",
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
        r"(?:>>|\btee\s+(?:-a\s+)?)\s*/etc/hosts\b|\bupdate-ca-(?:certificates|trust)\b|\bsecurity\s+add-trusted-cert\b|\bcertutil\s+-addstore\b",
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
        r"\brm\s+(?:-\w+\s+|--\S+\s+)*-\w*(?:r\w*f|f\w*r)\w*\s+(?:--\S+\s+)*[\"']?(?:/|~|\$HOME\b|\$\{HOME\b[^}\s]*\})[\"']?(?:/?\*)?[\"']?(?=\s|$|[;&|`\"'])",
        r"\brm\b[^\n]*--no-preserve-root",
        r"\bmkfs(?:\.\w+)?\s+/dev/|\bdd\b[^\n]*\bof=/dev/(?:sd|nvme|disk|hd)",
        r":\(\)\s*\{\s*:\|:&\s*\};:",
        r"\bformat\s+[a-z]:\s*/|\bdel\s+/[sfq]\s+/[sfq][^\n]*[a-z]:\\",
        r"\bshutil\.rmtree\s*\(\s*(?:os\.path\.expanduser\([\"\']~/?[\"\']\)|Path\.home\(\)|[\"\'](?:/|~|/home|/root)[\"\'])|\bfs\.rm(?:Sync|dirSync)?\(\s*(?:os\.homedir\(\)|[\"\']/[\"\'])",
        r"\bfind\s+(?:/|~|\$HOME)\s[^\n]*(?:-delete\b|-exec\s+(?:rm|shred)\b)|\bshred\s[^\n]*(?:~|\$HOME|/home|/etc|/dev/)|>\s*/dev/(?:sd|nvme|disk)|\bwipefs\s+-a",
        r"\bchmod\s+-R\s+[0-7]*777\s+/(?:\s|$)|\bRemove-Item\b[^\n]*-Recurse[^\n]*(?:C:\\\\|\$HOME|\$env:USERPROFILE)(?:\s|[\"\']|$)|\bvssadmin\s+delete\s+shadows",
    ),
    "hardcoded-secret": _any(
        r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}\b|\bgithub_pat_[A-Za-z0-9_]{30,}",
        r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}\b",
        r"\bxox[abprs]-[A-Za-z0-9-]{20,}|\bglpat-[A-Za-z0-9_-]{20}\b|\bnpm_[A-Za-z0-9]{36}\b",
        r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----",
        flags=0,
    ),
    "guard-off": _told(
        r"--dangerously-(?:skip|bypass)-\w+|--allow-dangerously-\w+|--yolo\b|\bdangerouslyDisableSandbox\b|\bskipDangerousModePermissionPrompt\b",
        r"\bbypassPermissions\b|[\"']?defaultMode[\"']?\s*:\s*[\"']?bypass|--permission-mode[= ](?:bypass|dontAsk)|--mode[= ]bypass\b|\bpermissions\.mode\b[^\n]{0,10}bypass",
        r"(?:>>?|\btee\b|\bjq\b|\bsed\s+-i|\b(?:edit|write|add|change|append|modify|update|set|put)\b)[^\n]{0,80}(?:\.(?:claude|codex|gemini|cursor|skillkit|vscode)/"
        r"(?:settings(?:\.local)?\.json|config\.(?:toml|yaml|json)|permissions\S*))",
        r"\.(?:claude|codex|skillkit)/(?:settings|config)\S*[^\n]{0,80}(?:>>|write_text|writeFile|[\"'][aw]\+?[\"'])",
        r"[\"']allow[\"']\s*:\s*\[\s*[\"'](?:Bash(?:\(\*?(?::\*)?\))?|\*)[\"']|\bpermissions\s+allow\s+[\"']?(?:Bash|\*)[\"'(]*\*",
        r"\b(?:disable|turn\s+off|switch\s+off|remove|bypass)\b[^.\n]{0,20}\b(?:the|all|your|any)\b[^.\n]{0,20}\b(?:sandbox|permission\s+(?:prompts?|checks?|rules?)|approval\s+(?:prompts?|step|questions?)|firewall|antivirus|audit\s+log\w*)\b",
    ),
    "privilege-escalation": _told(
        r"/etc/sudoers\b|\bNOPASSWD\b|\bchmod\s+(?:[ug]*\+s|0?[2-7][0-7]{3})\s|\bsetcap\s+cap_|\bdocker\s+run\b[^\n]*(?:--privileged|-v\s+/:/)",
        r"\busermod\b[^\n]*-a?G\s*(?:sudo|wheel|docker|admin)\b|\bos\.setuid\(0\)|\bsudo\s+-S\b|\|\s*sudo\s+-S\b",
    ),
    "crypto-miner": _told(
        r"\bstratum\+(?:tcp|ssl)://|\b(?:xmrig|minerd|cpuminer|cgminer|ethminer|nbminer|coinhive|cryptonight)\b|--donate-level\b|--algo[= ](?:rx/|randomx|kawpow|ethash|autolykos|cn/)",
    ),
    "hides-traces": _told(
        r"\bhistory\s+-c\b|\bunset\s+HISTFILE\b|\bHISTFILE=(?:/dev/null|[\"']{2}|\s)|\bHISTSIZE=0\b|\brm\s[^\n]*_history\b|\bwevtutil\s+cl\b",
        r"\b(?:rm|shred|truncate|>)\s[^\n]*/var/log/\S*|\b(?:delete|clear|erase|remove|wipe)\b[^.\n]{0,30}\b(?:logs|traces|evidence|history)\b[^.\n]{0,40}\b(?:so\s+that|afterwards?|nobody|no\s+one)\b",
    ),
    "typosquat": _typosquat,
    "bidi-control": _any("[\u202a-\u202e\u2066-\u2069]"),
    "hidden-unicode": _hidden,
    "raw-ip-url": _raw_ip,
    "dropper": _dropper,
}
_SILENT = re.compile(
    r"\b(?:never|do\s+not|don['’]t|without)\s+(?:tell|telling|inform|informing|mention|mentioning|notify|notifying|alert|alerting)"
    r"\b[^.\n]{0,30}\b(?:user|human|person|owner|operator|them|anyone)\b(?!\s+to\s)|\bsay\s+nothing\s+(?:of|about|to)\b",
    _I,
)


# What each rule needs at least one of, in small letters: most text has none, and costs no search.
_WORDS: dict[str, tuple[str, ...]] = {
    rule: tuple(words.split(","))
    for rule, words in {
        "remote-exec": "git clone,downloadfile,curl,wget,fetch,aria2c,base64,iex,invoke-,irm,iwr,exec,mshta,regsvr32,rundll32,npx,uvx,pipx,pnpm,bunx,deno,pip,npm,gem",
        "encoded-payload": "base64,base32,powershell,b64,atob,fromhex,xxd,openssl,gunzip,rev ,rev|,uudecode,printf, tr ,|tr ,\\x,chr(,charcode,decode,"
        "decrypt,unscramble,reverse,_0x,(p,a,c,[],eval,sh -c",
        "reverse-shell": "/dev/tcp,/dev/udp,nc ,ncat,netcat,mkfifo,socat,socket,pty,fsockopen,net.,io::,telnet",
        "credential-access": ".ssh,.aws,/.,.env,/etc/shadow,keychain,security,login data,cookies,logins.json,wallet,key4,/proc/,secret,cmdkey,"
        "metadata,169.254,100.100,grep,find ,keys,passwords,credentials,tokens,_history,vaultcmd",
        "exfiltration": "document.cookie,tar ,auth,secret,get-access,vault,op read,op item,pass show,followed,plus,![,curl,wget,fetch,aria2c,env,history,cat ,dig ,nslookup,host ,ping ,getent,for ,webhook,request,pipedream,burp,interact,oast,"
        "dnslog,ceye,beeceptor,hookbin,canary,send,post,upload,transmit,forward,submit,leak,deliver,exfil,append,add,include,embed,encode,put,git ",
        "persistence": "/bin/,proxycommand,localcommand,skill,memory,.md,cron,launch,systemctl,systemd,reg ,schtasks,scheduledtask,hookspath,.git/hooks,git config,alias,prompt_command,ld_preload,"
        "bash_env,@reboot,profile,startup,start up,start-up,.bash,.zsh,authorized_keys,autostart,rules,copilot,/etc/,ssh/rc,fish,init.d,sitecustomize",
        "prompt-injection": "silently,no longer,obey,ignore,disregard,forget,override,bypass,circumvent,disable,system,assistant,im_,inst],you are,hide,conceal,withhold,"
        "user,human,operator,even ,supersede,replace,precedence,outrank,reveal,prompt,secretly,covertly,surreptitious,instruction,directive,order,admin",
        "password-protected-archive": "pass",
        "paste-site-command": "://",
        "quarantine-bypass": "/etc/hosts,update-ca,trusted-cert,certutil,xattr,spctl,csrutil,unblock,execution,mppreference,setenforce",
        "self-update": "curl,wget,fetch,aria2c,git,replace,overwrite,update,download,load,read",
        "secret-in-url": "://",
        "data-uri": "data:",
        "destructive-command": "rm ,mkfs,dd ,:(),format ,del ,rmtree,fs.rm,find ,shred,/dev/,wipefs,chmod,remove-item,vssadmin",
        "guard-off": "--,bypass,dangerous,.claude,.codex,.gemini,.cursor,.skillkit,.vscode,allow,sandbox,permission,approval,firewall,antivirus,audit",
        "hardcoded-secret": "gh,sk-,akia,aiza,xox,glpat,npm_,private key",
        "privilege-escalation": "sudo,nopasswd,chmod,setcap,docker,usermod,setuid",
        "crypto-miner": "--algo,stratum,xmrig,mine,coinhive,cryptonight,donate",
        "hides-traces": "hist,wevtutil,/var/log,logs,traces,evidence",
        "typosquat": "install, add , i ",
        "raw-ip-url": "://",
        "dropper": "chmod",
    }.items()
}
REASONS = {
    "remote-exec": "fetches something and runs it",
    "encoded-payload": "hides what it does in an encoding",
    "reverse-shell": "opens a shell to somebody elsewhere",
    "dropper": "makes a hidden file executable and starts it",
    "quarantine-bypass": "switches off protection of the system",
    "self-update": "replaces itself by what it fetches",
    "password-protected-archive": "brings an archive that no scanner can open",
    "paste-site-command": "has a command pasted that somebody may change at any time",
    "raw-ip-url": "speaks to a bare address",
    "data-uri": "brings active content in a link",
    "credential-access": "reads keys or passwords",
    "exfiltration": "sends out what it read",
    "secret-in-url": "puts a secret into an address",
    "hardcoded-secret": "holds a secret",
    "persistence": "stays after its work is done",
    "destructive-command": "destroys more than files of its own",
    "prompt-injection": "gives the model orders against its user",
    "hidden-unicode": "has characters that nobody sees",
    "bidi-control": "has characters that turn text around",
    "guard-off": "switches off guards or changes their rules",
    "privilege-escalation": "gets more rights than its user has",
    "crypto-miner": "computes for somebody else",
    "hides-traces": "removes traces",
    "typosquat": "installs a package whose name is one slip away from a well-known one",
}
"""What each rule says, after the name of the skill or file."""
_ENCODED = re.compile(r"(?<![\w+/=-])(?:[A-Za-z0-9+/]{24,4000}={0,2}|(?:[0-9a-fA-F]{2}){16,2000})(?![\w+/=])")


def findings(text: str) -> list[str]:
    """The rules that one paragraph of text breaks, in the order of :data:`RULES`. What is encoded in it is read, too."""
    if len(text) > _WINDOW:  # in pieces that overlap: patterns take the square of the length of a line
        pieces = (text[at : at + _WINDOW] for at in range(0, len(text), _WINDOW - _OVERLAP))
        said = {rule for piece in pieces for rule in findings(piece)}
        return [rule for rule in RULES if rule in said]
    low = text.lower()
    found = [rule for rule, check in RULES.items() if any(w in low for w in _WORDS.get(rule, ("",))) and check(text)]
    if "prompt-injection" not in found and _SILENT.search(text):
        found.append("prompt-injection")
    if "encoded-payload" not in found and any(set(findings(one)) - _SHAPES for one in _decoded(text)):
        found.append("encoded-payload")
    return found


_SHAPES = {"hidden-unicode", "bidi-control", "hardcoded-secret"}  # which noise has, too


def _decoded(text: str) -> Iterator[str]:
    """Yield what base64 and hexadecimal in a text say, where that is text."""
    for match in _ENCODED.finditer(text):
        for decode in (lambda word: base64.b64decode(word + "=" * (-len(word) % 4)), bytes.fromhex):
            try:
                said = decode(match[0].rstrip("=")).decode("utf-8")
            except (ValueError, binascii.Error):
                continue
            if said.isprintable() or said.replace("\n", "").replace("\t", "").isprintable():
                yield said
