"""A maildir with a thread, and an agent that calls the tools of mail."""

from __future__ import annotations

import mailbox
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any

import pytest
import skillkit_mail.plugin

SENDS = ["email_content_tool", "reply_to_email_tool", "send_email_tool"]


def mail(sender: str, subject: str, text: str, day: int, number: int, answers: int | None = None) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, "Me <me@example.org>", subject
    message["Date"] = f"{day:02d} Jan 2026 10:00:00 +0000"
    message["Message-ID"] = f"<{number}@example.org>"
    if answers is not None:
        message["In-Reply-To"] = f"<{answers}@example.org>"
    message.set_content(text)
    return message


@pytest.fixture
def box() -> mailbox.Maildir:
    """A maildir ``mail`` in the workspace: a thread of two, and a newsletter."""
    made = mailbox.Maildir("mail")
    read = mailbox.MaildirMessage(mail("Ida <ida@example.org>", "Lunch?", "Shall we have lunch on Tuesday?", 5, 1))
    read.set_subdir("cur")
    read.add_flag("S")
    made.add(read)
    made.add(mail("Åse <ase@example.org>", "Re: Lunch?", "Tuesday is fine.\n", 6, 2, answers=1))
    letter = mail("News <news@example.org>", "Weekly", "plain part", 7, 3)
    letter.clear_content()
    letter.set_content("<html><style>p{}</style><p>Ships &amp; bees</p><p>more</p></html>", subtype="html")
    letter.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="bees.pdf")
    made.add(letter)
    return made


@pytest.fixture
def call(make_host: Callable[..., Any], call_tools: Callable[..., Any]) -> Callable[..., Any]:
    """Calls tools, each allowed by name; ``smtp`` is the port of the server."""

    def calls(*turns: Any, smtp: int | None = None, settings: Any = None, plugins: Any = (), **config: Any) -> Any:
        given: dict[str, Any] = {"tools.allow": SENDS, "mail.maildir": "mail", **(settings or {})}
        if smtp is not None:
            given["mail.sender"] = "Me <me@example.org>"
            given["mail.smtp"] = {"host": "127.0.0.1", "port": smtp, "security": "none"}
        return call_tools(make_host(("mail", skillkit_mail.plugin), *plugins, settings=given), *turns, **config)

    return calls
