"""Mail that lies in a maildir, as its messages are: nothing is moved, and no flag is set."""

from __future__ import annotations

import html
import mailbox
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parsedate_to_datetime
from pathlib import Path

from skillkit_core import ToolError

__all__ = ["Mail", "MailFolder", "folders", "mail_of", "opened", "statistics", "thread_of"]

_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^<>]*>", re.S | re.I)
_MESSAGE_ID = re.compile(r"<[^<>\s]+>")
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Mail:
    """One message.

    Attributes:
        id: the name that the maildir has for it.
        message_id: ``<...>`` of its head; may be empty.
        references: message ids that it answers, the oldest first.
        sender, to, cc, subject: of its head, decoded.
        date: when it was sent; 1970 where the head does not say.
        unread: nobody has marked it as seen.
        text: its plain text, or that of its HTML.
        attachments: their names.
    """

    id: str
    message_id: str
    references: tuple[str, ...]
    sender: str
    to: str
    cc: str
    subject: str
    date: datetime
    unread: bool
    text: str
    attachments: tuple[str, ...] = ()


def opened(path: str | None, cwd: Path) -> mailbox.Maildir:
    """Return the maildir that ``mail.maildir`` names.

    Raises:
        ToolError: none is named, or it is no maildir.
    """
    if not path:
        raise ToolError("needs mail.maildir in the configuration")
    folder = cwd / Path(path).expanduser()
    if not all((folder / part).is_dir() for part in ("cur", "new")):
        raise ToolError(f"needs a maildir: mail.maildir, {folder}, has no folders cur and new")
    return mailbox.Maildir(folder, create=False)


def folders(box: mailbox.Maildir) -> list[str]:
    """Return the folders of a maildir; ``INBOX`` is itself."""
    return ["INBOX", *sorted(box.list_folders())]


class MailFolder:
    """The messages of one folder.

    Args:
        box: the maildir.
        name: ``INBOX`` or a folder of it.

    Raises:
        ToolError: there is no such folder.
    """

    def __init__(self, box: mailbox.Maildir, name: str = "INBOX") -> None:
        known = folders(box)
        if name not in known:
            raise ToolError(f"there is no folder {name!r}; there are: {', '.join(known)}")
        self._box = box if name == "INBOX" else box.get_folder(name)
        self.name = name

    def __iter__(self) -> Iterator[Mail]:
        """Yield the messages, the newest first."""
        found = [mail for key in self._box.keys() if (mail := self._read(key)) is not None]  # noqa: SIM118 - it is no dict
        return iter(sorted(found, key=lambda mail: mail.date, reverse=True))

    def get(self, key: str) -> Mail:
        """Return a message.

        Raises:
            ToolError: it is not there.
        """
        found = next((mail for mail in self if key in (mail.id, mail.message_id)), None)
        if found is None:
            raise ToolError(f"there is no message {key!r} in {self.name}")
        return found

    def _read(self, key: str) -> Mail | None:
        try:
            raw, flags = self._box.get_bytes(key), self._box.get_message(key).get_flags()
        except (KeyError, OSError):  # another program has moved it
            return None
        return mail_of(key, raw, unread="S" not in flags)


def mail_of(key: str, raw: bytes, *, unread: bool) -> Mail:
    """Return a message as it is read from bytes; whatever is wrong with it, something is returned."""
    message = BytesParser(policy=policy.default).parsebytes(raw)
    assert isinstance(message, EmailMessage)
    answers = f"{_head(message, 'References')} {_head(message, 'In-Reply-To')}"
    text, names = _content(message)
    return Mail(
        id=key,
        message_id=next(iter(_MESSAGE_ID.findall(_head(message, "Message-ID"))), ""),
        references=tuple(dict.fromkeys(_MESSAGE_ID.findall(answers))),
        sender=_head(message, "From"),
        to=_head(message, "To"),
        cc=_head(message, "Cc"),
        subject=_head(message, "Subject"),
        date=_date(_head(message, "Date")),
        unread=unread,
        text=text,
        attachments=names,
    )


def _head(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, AttributeError, TypeError):  # the parser of the standard library gives up on some
        return ""


def _date(text: str) -> datetime:
    try:
        found = parsedate_to_datetime(text)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return _NEVER


def _content(message: EmailMessage) -> tuple[str, tuple[str, ...]]:
    """Return the text of a message and the names of its attachments."""
    names = tuple(part.get_filename() or part.get_content_type() for part in _attachments(message))
    body = message.get_body(("plain", "html"))
    if body is None:
        return "", names
    data = body.get_payload(decode=True)
    charset = body.get_content_charset() or "utf-8"
    raw = data if isinstance(data, bytes) else b""
    try:
        text = raw.decode(charset, "replace")
    except LookupError:
        text = raw.decode("utf-8", "replace")
    if body.get_content_type() == "text/html":
        broken = re.sub(r"(?i)<(br|/p|/div|/li|/tr|/h\d)\b[^<>]*>", "\n", text)
        text = "\n".join(" ".join(line.split()) for line in html.unescape(_TAG.sub("", broken)).splitlines())
        text = re.sub(r"\n{3,}", "\n\n", text)
    return text.replace("\r\n", "\n").strip(), names


def _attachments(message: EmailMessage) -> Iterator[EmailMessage]:
    for part in message.walk():
        if isinstance(part, EmailMessage) and part.get_content_disposition() == "attachment":
            yield part


def thread_of(mails: Sequence[Mail], start: Mail) -> list[Mail]:
    """Return the messages that answer one another with ``start`` among them, the oldest first."""
    known = {start.message_id, *start.references} - {""}
    inside = {start.id: start}
    grew = True
    while grew:
        grew = False
        for mail in mails:
            names = {mail.message_id, *mail.references} - {""}
            if mail.id not in inside and names & known:
                inside[mail.id], known, grew = mail, known | names, True
    return sorted(inside.values(), key=lambda mail: mail.date)


def statistics(mails: Sequence[Mail]) -> dict[str, object]:
    """Return how many messages there are, how many are unread, who writes most, and of which days they are."""
    dates = [mail.date for mail in mails if mail.date != _NEVER]
    return {
        "messages": len(mails),
        "unread": sum(mail.unread for mail in mails),
        "with_attachments": sum(bool(mail.attachments) for mail in mails),
        "senders": dict(Counter(mail.sender for mail in mails).most_common(10)),
        "first": min(dates).date().isoformat() if dates else None,
        "last": max(dates).date().isoformat() if dates else None,
    }
