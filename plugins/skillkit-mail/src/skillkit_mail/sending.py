"""Mail is written and handed to an SMTP server; a copy goes into the maildir."""

from __future__ import annotations

import mailbox
import smtplib
import ssl
from collections.abc import Sequence
from email import policy
from email.message import EmailMessage
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from skillkit_core import ToolError

if TYPE_CHECKING:
    from .config import SMTPConfig

__all__ = ["compose", "keep_copy", "recipients", "send"]


def recipients(texts: Sequence[str]) -> list[str]:
    """Return addresses as they were given, each once.

    Raises:
        ToolError: one of them is none, or there are none.
    """
    found = []
    for text in texts:
        if "\n" in text or "\r" in text:
            raise ToolError(f"{text!r} is no mail address")
        header: Any = policy.default.header_factory("To", text)
        listed = header.addresses
        if header.defects or len(listed) != 1 or not listed[0].username or not listed[0].domain:
            raise ToolError(f"{text!r} is no mail address")
        found.append(text.strip())
    if not found:
        raise ToolError("a mail needs somebody to go to")
    return list(dict.fromkeys(found))


def compose(
    sender: str,
    to: Sequence[str],
    subject: str,
    text: str,
    *,
    key: str,
    cc: Sequence[str] = (),
    html: str | None = None,
    answers: Sequence[str] = (),
) -> EmailMessage:
    """Return a message.

    Args:
        sender, to, cc: addresses.
        subject, text: words.
        key: what the message id is made of; the same key is the same message.
        html: the text as HTML, beside the plain one.
        answers: message ids of the messages above in the thread, the one that is answered last.

    Raises:
        ToolError: an address or the subject does not fit into a head.
    """
    message = EmailMessage()
    try:
        message["From"], message["To"] = sender, ", ".join(recipients(to))
        if cc:
            message["Cc"] = ", ".join(recipients(cc))
        message["Subject"] = subject
        domain = sender.rpartition("@")[2].strip("> ") or "localhost"
        message["Message-ID"] = f"<{''.join(c if c.isalnum() else '.' for c in key)}@{domain}>"
        message["Date"] = formatdate(localtime=True)
        if answers:
            message["In-Reply-To"], message["References"] = answers[-1], " ".join(answers)
    except ValueError as error:
        raise ToolError(f"the head of the mail cannot be written: {error}") from None
    message.set_content(text if text.endswith("\n") else f"{text}\n")
    if html is not None:
        message.add_alternative(html, subtype="html")
    return message


def send(message: EmailMessage, config: SMTPConfig, password: str | None) -> None:
    """Hand a message to the server. It is called in a thread.

    Raises:
        ToolError: the server did not take it.
    """
    where = f"{config.host}:{config.port}"
    try:
        with _connected(config) as server:
            if config.user:
                server.login(config.user, password or "")
            refused = server.send_message(message)
    except smtplib.SMTPResponseException as error:
        told = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        raise ToolError(f"{where} did not take the mail: {error.smtp_code} {told}") from None
    except smtplib.SMTPRecipientsRefused as error:
        raise ToolError(f"{where} takes mail to none of: {', '.join(error.recipients)}") from None
    except (smtplib.SMTPException, OSError, ValueError) as error:
        raise ToolError(f"{where} could not be used: {error}") from None
    if refused:
        raise ToolError(f"the mail was sent, but {where} takes none to: {', '.join(refused)}")


def _connected(config: SMTPConfig) -> smtplib.SMTP:
    if config.security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(config.host, config.port, timeout=config.timeout, context=context)
    server = smtplib.SMTP(config.host, config.port, timeout=config.timeout)
    if config.security == "starttls":
        server.starttls(context=ssl.create_default_context())
    return server


def keep_copy(message: EmailMessage, box: mailbox.Maildir, folder: str) -> None:
    """Put a copy of what was sent into a folder of the maildir, seen."""
    target = box.get_folder(folder) if folder in box.list_folders() else box.add_folder(folder)
    copy = mailbox.MaildirMessage(message)
    copy.set_subdir("cur")
    copy.add_flag("S")
    target.add(copy)
