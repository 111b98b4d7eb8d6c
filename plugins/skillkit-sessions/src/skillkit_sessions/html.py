"""A branch of a session as one HTML page that loads nothing and runs nothing."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from skillkit_core.contracts.session_store import SessionEntry, SessionHeader

from .branches import Branches, role_of
from .describe import Part, line_of, parts_of, relation, title_of
from .output import time_of

__all__ = ["to_html"]

_IMAGES = re.compile(r"image/(png|jpeg|gif|webp)\Z")
_CODE = re.compile(r"`([^`\n]+)`")
_BOLD = re.compile(r"\*\*([^*\n<>]+)\*\*")
_STYLE = """
:root{--bg:#fbfbf9;--card:#fff;--text:#1d1f23;--dim:#6a7078;--line:#e4e4df;--user:#2563a8;--user-bg:#eef4fb;
--assistant:#5b4bb5;--tool:#8a6100;--bad:#b3261e;--code:#f4f4f0}
@media (prefers-color-scheme:dark){:root{--bg:#16181b;--card:#1e2125;--text:#e6e7e9;--dim:#9aa1aa;--line:#31353b;
--user:#82b4ec;--user-bg:#1d2835;--assistant:#b4a8f5;--tool:#e0b252;--bad:#f2a09a;--code:#15171a}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:16px/1.6 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:52rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
header{border-bottom:1px solid var(--line);padding-bottom:1.25rem;margin-bottom:1.75rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}
header p{margin:.15rem 0;color:var(--dim);font-size:.9rem;overflow-wrap:anywhere}
article{margin:0 0 1.1rem;padding:.9rem 1.1rem;background:var(--card);border:1px solid var(--line);border-radius:.6rem}
article.user{background:var(--user-bg);border-color:transparent}
article.tool_result,article.note{padding-top:.6rem;padding-bottom:.6rem}
article>h2{display:flex;gap:.6rem;align-items:baseline;margin:0 0 .35rem;font-size:.8rem;font-weight:650;
letter-spacing:.02em;color:var(--dim)}
article.user>h2>b{color:var(--user)}article.assistant>h2>b{color:var(--assistant)}
article.tool_result>h2>b{color:var(--tool)}
h2 b{font-weight:650}h2 time,h2 a{margin-left:auto;font-weight:400;color:var(--dim);text-decoration:none}
h2 time+a{margin-left:0}
.label{background:var(--tool);color:var(--card);border-radius:1rem;padding:0 .55rem}
p.text{margin:.4rem 0;white-space:pre-wrap;overflow-wrap:anywhere}
pre{margin:.5rem 0;padding:.7rem .85rem;background:var(--code);border:1px solid var(--line);border-radius:.4rem;
overflow-x:auto;font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre-wrap;
overflow-wrap:anywhere}
details{margin:.4rem 0}summary{cursor:pointer;color:var(--dim);font-size:.9rem;overflow-wrap:anywhere}
summary code{color:var(--text)}code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.thinking{color:var(--dim);font-style:italic}.bad{color:var(--bad)}
img{max-width:100%;border-radius:.4rem;margin:.4rem 0}
footer{margin-top:2rem;color:var(--dim);font-size:.85rem}
@media print{body{background:#fff}article{break-inside:avoid-page}}
"""
_OPEN = 12  # lines of a result that are shown without a click


def to_html(header: SessionHeader, branches: Branches, path: list[SessionEntry]) -> str:
    """The page. Everything that was said is escaped; images are in it when they are in the session."""
    title = escape(branches.title or header.title or f"Session {header.id}")
    about = [f"<p>{escape(word)}</p>" for word in _about(header, branches, path)]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            'img-src data:">',
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<header><h1>{title}</h1>",
            *about,
            "</header>",
            *(_article(entry, branches) for entry in path),
            "<footer>Exported by SkillKit</footer>\n</main>\n</body>\n</html>\n",
        ]
    )


def _about(header: SessionHeader, branches: Branches, path: list[SessionEntry]) -> Iterator[str]:
    place = f" in {header.cwd}" if header.cwd else ""
    yield f"{header.id}, {time_of(header.created)}{place}"
    if header.parent_session:
        yield f"{relation(header).capitalize()} {header.parent_session}"
    models = list(dict.fromkeys(m for e in path if isinstance(m := e.data.get("message", {}).get("model"), str) and m))
    ledger = [e.data for e in branches.entries if e.type == "usage"]
    tokens = sum(int(row.get(key) or 0) for row in ledger for key in ("input", "output", "cache_read", "cache_write"))
    cost = sum(float(row.get("cost") or 0.0) for row in ledger)
    words = [", ".join(models), f"{tokens:,} tokens" if tokens else "", f"${cost:.4f}" if cost else ""]
    if any(words):
        yield ", ".join(word for word in words if word)
    others = sum(e.type == "message" for e in branches.entries) - sum(e.type == "message" for e in path)
    if others:
        yield f"{others} messages of other branches are not shown"


def _article(entry: SessionEntry, branches: Branches) -> str:
    role = role_of(entry)
    kind = role if role in ("user", "assistant", "tool_result") else "note"
    label = branches.labels.get(entry.id)
    parts = list(parts_of(entry))
    name = next((part.name for part in parts if part.kind == "result"), "")
    head = f"<b>{escape(title_of(entry).capitalize())}</b>" + (f" <code>{escape(name)}</code>" if name else "")
    if label:
        head += f' <span class="label">{escape(label)}</span>'
    anchor = escape(entry.id, quote=True)
    head += f'<time>{escape(time_of(entry.ts) or "")}</time><a href="#{anchor}">{escape(entry.id)}</a>'
    if kind == "note":
        body = f"<details><summary>{escape(_short(line_of(entry)))}</summary>{''.join(map(_part, parts))}</details>"
    elif kind == "tool_result":
        body = "".join(_result(part) for part in parts)
    else:
        body = "".join(map(_part, parts))
    return f'<article class="{kind}" id="{anchor}"><h2>{head}</h2>{body}{_media(entry)}</article>'


def _part(part: Part) -> str:
    if part.kind == "call":
        if part.text in ("{}", ""):
            return f'<p class="text">→ <code>{escape(part.name)}</code></p>'
        about = f"→ <code>{escape(part.name)}</code> {escape(_short(part.text))}"
        return f"<details><summary>{about}</summary><pre>{escape(part.text)}</pre></details>"
    if part.kind == "thinking":
        return f'<details class="thinking"><summary>Thinking</summary><p class="text">{escape(part.text)}</p></details>'
    if part.kind == "data":
        return f'<p class="text bad">{escape(part.text)}</p>'
    return _prose(part.text) if part.kind == "text" else ""


def _result(part: Part) -> str:
    if part.kind == "result":
        return '<p class="text bad">failed</p>' if part.text else ""
    if part.kind != "text" or part.text.count("\n") < _OPEN:
        return f"<pre>{escape(part.text)}</pre>" if part.text else ""
    lines = part.text.count("\n") + 1
    return f"<details><summary>{lines} lines</summary><pre>{escape(part.text)}</pre></details>"


def _prose(text: str) -> str:
    """Text as paragraphs, fenced and quoted code as code, bold as bold; nothing else is interpreted."""
    out: list[str] = []
    for n, piece in enumerate(re.split(r"^```[^\n]*\n(.*?)^```[ \t]*$\n?", text, flags=re.MULTILINE | re.DOTALL)):
        if n % 2:
            out.append(f"<pre>{escape(piece.rstrip())}</pre>")
        elif piece.strip():
            plain = escape(piece.strip(), quote=False)
            rich = _BOLD.sub(r"<b>\1</b>", _CODE.sub(r"<code>\1</code>", plain))
            out.append(f'<p class="text">{rich}</p>')
    return "".join(out)


def _media(entry: SessionEntry) -> str:
    message = entry.data.get("message")
    blocks = message.get("content") or () if isinstance(message, Mapping) else ()
    return "".join(_medium(b) for b in blocks if isinstance(b, Mapping) and b.get("type") in ("image", "document"))


def _medium(block: Mapping[str, Any]) -> str:
    data, mime = block.get("data"), str(block.get("mime_type", "image/png"))
    if block["type"] == "image" and isinstance(data, str) and _IMAGES.match(mime):
        try:
            base64.b64decode(data, validate=True)
        except (ValueError, binascii.Error):
            pass
        else:
            return f'<img alt="" src="data:{mime};base64,{data}">'
    what = block.get("title") or block.get("url") or mime
    return f'<p class="text">[{escape(str(block["type"]))}: {escape(str(what))}]</p>'


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 100 else text[:99] + "…"
