"""The tools of mail on a real maildir, and on a real SMTP server."""

from __future__ import annotations

import mailbox
from pathlib import Path
from typing import ClassVar

import pytest
import skillkit_mail.plugin
import skillkit_permissions.plugin
from skillkit_mail.config import SMTPConfig
from skillkit_mail.maildir import mail_of
from skillkit_testkit.conformance import ToolConformance

from skillkit_core import ApprovalDecision, Approver


class TestConformance(ToolConformance):
    plugin = skillkit_mail.plugin
    settings: ClassVar = {"mail.maildir": "mail"}
    calls: ClassVar = {
        "get_emails_tool": {"folder": "INBOX"},
        "search_emails_tool": {"query": "lunch"},
        "get_email_thread_tool": {"id": "<1@example.org>"},
        "get_email_statistics_tool": {},
    }

    @pytest.fixture
    def tool_host(self, make_host, box):
        return make_host(self.plugin, settings={"tools.allow": sorted(self.calls), **self.settings})


@pytest.mark.smoke
def test_messages_are_listed_found_threaded_and_counted_and_nothing_of_the_maildir_changes(call, box):
    before = sorted(str(path) for path in Path("mail").rglob("*"))
    new, since, found, thread, counts = call(
        ("get_emails_tool", {"unread_only": True}),
        ("get_emails_tool", {"since": "2026-01-07"}),
        ("search_emails_tool", {"query": "TUESDAY ase"}),
        ("get_email_thread_tool", {"id": "<2@example.org>"}),
        ("get_email_statistics_tool", {}),
    )
    assert [row["subject"] for row in new.details] == ["Weekly", "Re: Lunch?"]
    assert [row["subject"] for row in since.details] == ["Weekly"]
    assert "Ships & bees\nmore" in since.text and "Attachments: bees.pdf" in since.text and "p{}" not in since.text
    assert [row["from"] for row in found.details] == ["Åse <ase@example.org>"]
    assert [row["subject"] for row in thread.details] == ["Lunch?", "Re: Lunch?"]
    assert counts.details["messages"] == 3 and counts.details["unread"] == 2 and counts.details["first"] == "2026-01-05"
    assert sorted(str(path) for path in Path("mail").rglob("*")) == before


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\xff\xfe\x00", b"Subject: =?utf-8?q?broken", b"From: <<>>@\nTo: ,,,\nDate: never\n\nx",
        b"Content-Type: text/plain; charset=x-nobody\n\ncaf\xc3\xa9", b"Content-Type: multipart/mixed; boundary=x\n\nno parts",
        b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n!!!", b"Message-ID: none\nReferences: <a> b <c\n\n",
    ],
)  # fmt: skip
def test_whatever_is_wrong_with_a_message_it_is_read(raw):
    found = mail_of("key", raw, unread=True)
    assert found.id == "key" and isinstance(found.text, str)
    found.text.encode()


def test_a_mail_is_sent_and_its_copy_is_in_the_maildir(call, box, smtp_server):
    args = {"to": ["Ida <ida@example.org>"], "cc": ["bo@example.org"], "subject": "Grüße", "body": "Hello\n\nIda"}
    (sent,) = call(("send_email_tool", args), smtp=smtp_server.port)
    assert sent.text == "Sent to Ida <ida@example.org>, bo@example.org: Grüße"
    (taken,) = smtp_server.taken
    message = taken.message
    assert (taken.sender, taken.to) == ("me@example.org", ("ida@example.org", "bo@example.org"))
    assert message["Subject"] == "Grüße" and message.get_content().splitlines() == ["Hello", "", "Ida"]
    (listed,) = call(("get_emails_tool", {"folder": "Sent"}))
    assert [row["subject"] for row in listed.details] == ["Grüße"] and not listed.details[0]["unread"]


def test_an_answer_goes_to_who_wrote_below_the_thread_with_the_words_quoted(call, box, smtp_server):
    reply = {"id": "<2@example.org>", "body": "See you there."}
    answered, thread = call(
        ("reply_to_email_tool", reply), ("get_email_thread_tool", {"id": "<1@example.org>"}), smtp=smtp_server.port
    )
    assert not answered.is_error, answered.text
    message = smtp_server.taken[0].message
    assert message["Subject"] == "Re: Lunch?" and message["In-Reply-To"] == "<2@example.org>"
    assert message["References"] == "<1@example.org> <2@example.org>" and smtp_server.taken[0].to == (
        "ase@example.org",
    )
    assert message.get_content().startswith("See you there.\n\n2026-01-06, Åse <ase@example.org>:\n> Tuesday is fine.")
    assert [row["subject"] for row in thread.details] == ["Lunch?", "Re: Lunch?", "Re: Lunch?"]


def test_a_report_has_a_plain_and_an_html_part(call, box, smtp_server):
    args = {
        "to": ["ida@example.org"],
        "subject": "Report",
        "content": "# Bees <3\n\nThey dance.",
        "note": "As you asked.",
    }
    call(("email_content_tool", args), smtp=smtp_server.port)
    message = smtp_server.taken[0].message
    assert message.get_body(("plain",)).get_content().startswith("As you asked.\n\n# Bees <3")
    assert "<p># Bees &lt;3</p>" in message.get_body(("html",)).get_content()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"to": ["nobody"]}, "'nobody' is no mail address"),
        ({"to": ["a@b, c@d"]}, "is no mail address"),
        ({"to": ["a@example.org\nBcc: x@example.org"]}, "is no mail address"),
        ({"subject": "x\nBcc: x@example.org"}, "the head of the mail cannot be written"),
        ({"to": []}, "to"),
        ({"body": ""}, "body"),
    ],
)
def test_what_would_be_no_mail_is_not_sent(call, box, smtp_server, args, told):
    (refused,) = call(
        ("send_email_tool", {"to": ["a@example.org"], "subject": "s", "body": "b", **args}), smtp=smtp_server.port
    )
    assert refused.is_error and told in refused.text and smtp_server.taken == []


def test_what_the_server_says_and_what_is_missing_is_told(call, box, smtp_server):
    turn = ("send_email_tool", {"to": ["a@example.org"], "subject": "s", "body": "b"})
    smtp_server.says = "554 too much"
    (refused,) = call(turn, smtp=smtp_server.port)
    assert "did not take the mail: 554 too much" in refused.text and not Path("mail/.Sent").exists()
    (bare,) = call(turn)
    assert bare.text == "needs mail.sender and mail.smtp in the configuration"
    (closed,) = call(turn, smtp=1)
    assert "127.0.0.1:1 could not be used" in closed.text
    smtp = {"host": "127.0.0.1", "port": smtp_server.port, "security": "none", "user": "me"}
    (keyless,) = call(turn, settings={"mail.sender": "me@example.org", "mail.smtp": smtp})
    assert keyless.text == "needs the password SMTP_PASSWORD: skillkit auth login SMTP_PASSWORD"
    (nothing,) = call(("get_emails_tool", {}), settings={"mail.maildir": None})
    (wrong,) = call(("get_emails_tool", {}), settings={"mail.maildir": "elsewhere"})
    (folder,) = call(("get_emails_tool", {"folder": "../.."}))
    assert nothing.text == "needs mail.maildir in the configuration" and "needs a maildir" in wrong.text
    assert "there are: INBOX" in folder.text


def test_a_connection_that_is_not_encrypted_leads_to_this_machine_alone():
    with pytest.raises(ValueError, match="on this machine alone"):
        SMTPConfig(host="mail.example.org", security="none")


class Decides(Approver):
    def __init__(self, word: str) -> None:
        self.word, self.asked = word, []

    async def approve(self, request):
        self.asked.append((request.tool_name, dict(request.args)))
        return ApprovalDecision(self.word, "not now")


def test_with_permissions_a_person_sees_every_word_before_a_mail_is_sent(call, box, smtp_server):
    args = {"to": ["ida@example.org"], "subject": "s", "body": "b"}
    guard = [("permissions", skillkit_permissions.plugin)]
    for word, count in (("deny", 0), ("allow", 1)):
        person = Decides(word)
        call(
            ("send_email_tool", args),
            smtp=smtp_server.port,
            plugins=guard,
            settings={"tools.allow": []},
            approver=person,
        )
        assert person.asked == [("send_email_tool", args)] and len(smtp_server.taken) == count


def test_without_permissions_no_mail_can_be_sent_unless_the_tool_is_allowed_by_name(call, box, smtp_server):
    turn = ("send_email_tool", {"to": ["ida@example.org"], "subject": "s", "body": "b"})
    (refused,) = call(turn, smtp=smtp_server.port, settings={"tools.allow": []})
    assert refused.is_error and smtp_server.taken == []


def test_the_maildir_that_is_read_is_that_of_other_programs(call, box):
    other = mailbox.Maildir("mail").add_folder("Lists")
    other.add(mailbox.MaildirMessage(b"Subject: listed\n\nx"))
    (listed,) = call(("get_emails_tool", {"folder": "Lists"}))
    assert [row["subject"] for row in listed.details] == ["listed"]
