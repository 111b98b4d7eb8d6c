"""T-5: the ten skills that are made of other things. Each runs once at the command line on real files, mail, calendars and pages.

What the model was offered and read, what it said, the answer and the files are in ``golden``, a page for each skill.
"""

from __future__ import annotations

import json
import mailbox
import re
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import skillkit_simple_skills.plugin
from simple_stage import Stage, chosen, compare
from skillkit_skills import SkillFolderLoader

from skillkit_core.contracts.skill_loader import SkillSource

SKILLS = Path(skillkit_simple_skills.plugin.__file__).parent / "skills"
COMPOSED = {
    "document-creator": "automation", "daily-briefing": "research", "meeting-notes": "editor", "project-status": "research",
    "learning-review": "conversational", "comparison-report": "research", "inbox-triage": "automation",
    "template-fill": "automation", "research-to-document": "automation", "digest-emails": "automation",
}  # fmt: skip
"""The skills of the architecture's list, with their engines."""


@pytest.fixture
def stage(skillkit_cli: Any, llm_server: Any, skillkit_home: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the stage, once the workspace has its files."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-key")
    return lambda: Stage(skillkit_cli, llm_server, skillkit_home.cwd)


def mail(box: mailbox.Maildir, sender: str, subject: str, day: str, text: str, *, read: bool = False) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, "me@example.org", subject
    message["Message-ID"], message["Date"] = f"<{subject.split()[0].lower()}@example.org>", f"{day} 10:00:00 +0000"
    message.set_content(text)
    kept = mailbox.MaildirMessage(message)
    if read:
        kept.set_subdir("cur")
        kept.set_flags("S")
    box.add(kept)


@pytest.fixture
def box() -> mailbox.Maildir:
    made = mailbox.Maildir("mail")
    mail(
        made,
        "Ida <ida@example.org>",
        "Lunch on Tuesday?",
        "05 Jan 2026",
        "Can you make it at noon? Please tell me today.",
    )
    mail(made, "Bank <no-reply@bank.example>", "Statement", "04 Jan 2026", "Your statement is there.\n" * 12)
    mail(made, "Ole <ole@example.org>", "Old news", "02 Jan 2026", "Read long ago.", read=True)
    return made


def claims(heading: str, *pairs: tuple[str, str]) -> dict[str, Any]:
    return {"heading": heading, "claims": [{"text": text, "sources": [source]} for text, source in pairs]}


@pytest.mark.smoke
def test_t_5_the_ten_are_definitions_without_code_each_on_its_engine(make_host):
    loaded = SkillFolderLoader(make_host()).load(SkillSource("simple", "extra", path=SKILLS))
    found = {skill.name: skill for skill in loaded.skills}
    assert {name: found[name].engine for name in COMPOSED} == COMPOSED
    for name in COMPOSED:
        skill = found[name]
        assert [p for p in skill.problems if p.severity != "info"] == [], name
        assert skill.body and skill.examples and skill.not_for and skill.requires.python, name
    assert [path.name for path in SKILLS.rglob("*") if path.name != "SKILL.md" and path.is_file()] == []


def test_t_5_document_creator(stage):
    Path("Projects").mkdir()
    on = stage()
    text = "# Glaciers\n\nGlaciers move a metre a day.\n"
    on.run(
        "Make a new file glaciers in Projects/ice: glaciers move a metre a day",
        chosen("document_creator"),
        [("list_folders_tool", {})],
        [("create_user_folder_tool", {"path": "Projects/ice"})],
        [("create_user_file_tool", {"path": "Projects/ice/glaciers.md", "content": text})],
        "Projects/ice/glaciers.md: how fast glaciers move.",
        permit=["Edit(/Projects/**)"],
    ).ok()
    assert Path("Projects/ice/glaciers.md").read_text() == text
    compare("document-creator", on.transcript())


CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//x//EN
BEGIN:VEVENT
UID:1
DTSTAMP:20260101T000000Z
SUMMARY:Stand-up
DTSTART:20260105T090000Z
DTEND:20260105T091500Z
RRULE:FREQ=DAILY;COUNT=10
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.smoke
def test_t_5_daily_briefing(stage, box, web_site, skillkit_home):
    Path("calendar.ics").write_text(CALENDAR)
    Path("inbox.org").write_text("* TODO Pay the rent\n  DEADLINE: <2026-01-03 Sat>\n* TODO Call Ida\n* DONE Sleep\n")
    oslo = {"name": "Oslo", "latitude": 59.9, "longitude": 10.7, "country": "Norway"}
    web_site.api("/v1/search", lambda asked: {"results": [oslo]})
    web_site.api("/v1/forecast", lambda asked: {"current": {"temperature_2m": -4, "weather_code": 71}})
    urls = {f"{name}_url": web_site.base for name in ("forecast", "archive", "places")}
    about = {"weather": {"provider": "open-meteo", **urls}, "calendar": {"files": ["calendar.ics"], "zone": "UTC"}}
    skillkit_home.write_config(json.dumps({"mail": {"maildir": "mail"}, "context": {"facts": []}, **about}))
    on = stage()
    sections = [
        claims("Calendar", ("Stand-up at 09:00.", "S3")),
        claims("Tasks", ("Pay the rent is overdue since 3 January.", "S2"), ("Call Ida.", "S2")),
        claims("Mail", ("Ida asks whether you come to lunch on Tuesday, and wants to know today.", "S1")),
        claims("Weather", ("Oslo has -4 °C and snow.", "S4")),
    ]
    done = on.run(
        "My morning briefing for 5 January, I am in Oslo",
        chosen("daily-briefing"),
        [
            ("get_emails_tool", {"unread_only": True}),
            ("list_org_todos_tool", {}),
            ("list_events_tool", {"first": "2026-01-05", "last": "2026-01-06"}),
            ("weather_conditions_tool", {"place": "Oslo"}),
        ],
        "That is all.",
        {"sections": sections, "gaps": []},
        permit=["WebFetch(domain:127.0.0.1)"],
    ).ok()
    assert "- Pay the rent is overdue since 3 January. [S2]" in done.stdout and "Old news" not in on.transcript()
    compare("daily-briefing", on.transcript())


def test_t_5_a_briefing_without_calendar_and_weather_says_what_is_missing_and_claims_nothing(stage, box, skillkit_home):
    skillkit_home.write_config(json.dumps({"mail": {"maildir": "mail"}}))
    on = stage()
    answer = {
        "sections": [claims("Mail", ("Ida asks for lunch.", "S1"), ("It snows.", "S9"))],
        "gaps": ["The calendar: there is no file."],
    }
    done = on.run(
        "My briefing",
        chosen("daily-briefing"),
        [("get_emails_tool", {"unread_only": True}), ("list_events_tool", {})],
        "Done.",
        answer,
        answer,
    ).ok()
    assert "- Ida asks for lunch. [S1]" in done.stdout and "The calendar: there is no file." in done.stdout
    assert '"It snows." names no source that exists' in done.stdout or "Left out" in done.stdout


TRANSCRIPT = """# Stand-up

Ida: The boat is late, it comes on 12 January 2026.
Ole: Then we move the launch to 20 January. All agree.
Ida: I tell the harbour by Friday.
Ole: Who pays for the storage?
"""
NOTES = """
## Participants

Ida, Ole

## Decisions

- The launch is on 20 January.

## Action items

- [ ] Ida: tell the harbour (until Friday)

## Open questions

- Who pays for the storage?

"""


def test_t_5_meeting_notes(stage, skillkit_cli):
    file = Path("standup.md")
    file.write_text(TRANSCRIPT)
    on = stage()
    edit = {"op": "insert_after_heading", "heading": "Stand-up", "text": NOTES}
    on.run(
        "make meeting notes of this",
        chosen("meeting-notes"),
        [
            ("summarize_text_tool", {"text": TRANSCRIPT, "sentences": 2, "method": "rules"}),
            ("extract_structured_data_tool", {"text": TRANSCRIPT, "method": "rules"}),
        ],
        {"message": "The notes stand above the transcript.", "operations": [edit]},
        command=("edit", "standup.md"),
        permit=["Edit(/standup.md)"],
    ).ok()
    assert file.read_text() == TRANSCRIPT.replace("# Stand-up\n", f"# Stand-up\n{NOTES}")
    compare("meeting-notes", on.transcript())
    assert "taken back" in skillkit_cli("edit", "standup.md", "--undo").ok().stdout
    assert file.read_text() == TRANSCRIPT


def test_t_5_learning_review(stage):
    """An item is given in one session; in another it is asked for, and what became of it is kept."""
    on = stage()
    spanish = {"topic": "learning/spanish", "key": "hello", "value": "hola"}
    on.run(
        "Keep for my Spanish: hello is hola", chosen("learning-review"), [("store_fact_tool", spanish)], "Kept."
    ).ok()
    recall = [("recall_facts_tool", {"topic": name}) for name in ("learning/spanish", "learning-results/spanish")]
    done = on.run("Quiz me on my Spanish cards", chosen("learning-review"), recall, "What is “hello” in Spanish?").ok()
    assert "What is “hello” in Spanish?" in done.stdout
    result = {"topic": "learning-results/spanish", "key": "hello", "value": "right, 2026-01-05"}
    on.run(
        "hola", chosen("learning-review"), [("store_fact_tool", result)], "Right: hola. That was all.",
        options=("--continue",),
    ).ok()  # fmt: skip
    on.run(
        "Review my flash cards", chosen("learning-review"), [("recall_facts_tool", {"query": "hello"})], "You knew it."
    ).ok()
    assert "> learning-results/spanish: hello: right, 2026-01-05" in on.transcript()
    compare("learning-review", on.transcript())


def test_t_5_project_status(stage):
    Path("garden.org").write_text(
        "* TODO Build the fence :garden:\n  DEADLINE: <2026-01-02 Fri>\n* WAITING Seeds from Ole :garden:\n* DONE Dig :garden:\n"
    )
    Path("notes").mkdir()
    Path("notes/plan.md").write_text(
        "---\ntitle: Garden plan\ntype: plan\n---\nThe garden gets a fence and three beds.\n"
    )
    Path("notes/boat.md").write_text("---\ntitle: Boat\ntype: plan\n---\nPaint it.\n")
    on = stage()
    sections = [
        claims("Summary", ("The beds are dug, the fence is late.", "S3")),
        claims(
            "Overdue or waiting", ("Build the fence was due on 2 January.", "S3"), ("Seeds from Ole are awaited.", "S3")
        ),
        claims("Done", ("Dig.", "S4")),
        claims("Documents", ("The plan names a fence and three beds.", "S2")),
    ]
    done = on.run(
        "What is the status of the garden project?",
        chosen("project-status"),
        [
            ("list_org_todos_tool", {"tag": "garden"}),
            ("list_org_todos_tool", {"tag": "garden", "state": "DONE"}),
            ("list_documents_by_type_tool", {"type": "plan"}),
        ],
        "That is all.",
        {"sections": sections, "gaps": ["Nobody says who builds the fence."]},
    ).ok()
    assert "notes/plan.md" in done.stdout and "Nobody says who builds the fence." in done.stdout
    assert "Paint it" not in on.transcript()
    compare("project-status", on.transcript())


def test_t_5_comparison_report(stage, skillkit_cli):
    Path("offer-a.md").write_text("# Offer A\n\nThe roof costs 900 euros. It lasts ten years.\n")
    Path("offer-b.md").write_text("# Offer B\n\nThe roof costs 1200 euros. It lasts thirty years, with a warranty.\n")
    on = stage()
    table = {
        "columns": ["Offer", "Price", "Lasts"],
        "rows": [
            {"cells": ["A", "900 euros", "ten years"], "sources": ["S1"]},
            {"cells": ["B", "1200 euros", "thirty years"], "sources": ["S2"]},
        ],
        "gaps": ["Neither says when it can be done."],
    }
    texts = {name: Path(f"offer-{name}.md").read_text() for name in "ab"}
    done = on.run(
        "Compare offer-a.md and offer-b.md",
        chosen("comparison-report"),
        [("compare_texts_tool", texts)],
        "They differ in price and years.",
        table,
    ).ok()
    assert "| Price | 900 euros | 1200 euros |" in done.stdout and "- [S2] offer-b.md" in done.stdout
    compare("comparison-report", on.transcript())
    drawn = skillkit_cli("plans", "show", "latest", "--json").ok().json
    assert [(step["target"], step["state"]) for step in drawn["steps"]] == [
        ("comparison-report", "completed"), ("data_formatting", "completed")
    ]  # fmt: skip


def test_t_5_inbox_triage(stage):
    """Nothing is tagged before a person agrees, who decides in another process."""
    Path("inbox.org").write_text("* TODO Call the plumber\n* A film that Ida likes\n")
    Path("roof.md").write_text("---\ntitle: Roof\n---\nThe roof leaks.\n")
    on = stage()
    waiting = on.run(
        "Go through my inbox and sort it",
        chosen("inbox-triage"),
        [
            ("list_org_todos_tool", {}),
            ("parse_org_structure_tool", {"path": "inbox.org"}),
            ("list_documents_by_type_tool", {}),
        ],
        [("get_document_content_tool", {"path": "roof.md"})],
        [("tag_document_tool", {"path": "roof.md", "add": ["action"]})],
        options=("--approvals", "defer"),
    )
    assert "tag_document_tool" in waiting.stdout + waiting.stderr and "tags" not in Path("roof.md").read_text()
    (session,) = set(re.findall(r"resume (\S+)", waiting.stdout + waiting.stderr))
    on.told = [one.replace(session, "SESSION") for one in on.told]
    table = (
        "| item | category | next step | changed |\n|---|---|---|---|\n| Call the plumber | action | call today | no |\n"
        "| A film that Ida likes | someday | watch it | no |\n| roof.md | action | ask for an offer | tagged action |"
    )
    on.resume(session, table, options=("--allow", "all"))
    assert Path("roof.md").read_text() == "---\ntitle: Roof\ntags: [action]\n---\nThe roof leaks.\n"
    compare("inbox-triage", on.transcript())


def test_t_5_template_fill(stage):
    Path("templates").mkdir()
    Path("invoices").mkdir()
    Path("templates/invoice.md").write_text(
        "---\ntitle: Invoice\ntype: template\n---\nTo: {{client}}\n\nSum: {{sum}}\n\nDue: [date]\n"
    )
    on = stage()
    filled = "To: Ortega\n\nSum: 120 euros\n\nDue: [date]\n"
    on.run(
        "Use the invoice template for client Ortega, 120 euros",
        chosen("template-fill"),
        [("list_documents_by_type_tool", {"type": "template"})],
        [("get_document_content_tool", {"path": "templates/invoice.md"})],
        [("create_document_tool", {"title": "Invoice Ortega", "content": filled, "folder": "invoices"})],
        "invoices/invoice-ortega.md is made. Still open: date.",
        permit=["Edit(/invoices)"],
    ).ok()
    assert Path("invoices/invoice-ortega.md").read_text() == f"---\ntitle: Invoice Ortega\n---\n\n{filled}"
    assert "{{client}}" in Path("templates/invoice.md").read_text()
    compare("template-fill", on.transcript())


WEB = ["web_search", "web_fetch", "WebFetch(domain:127.0.0.1)"]


@pytest.fixture
def pages(web_site, skillkit_home):
    """A search and two pages on loopback."""
    hits = [{"title": name, "url": f"{web_site.base}/{name}", "content": "An excerpt."} for name in ("ice", "snow")]
    web_site.api("/search", lambda asked: {"results": hits})
    web_site.page("/ice", "<title>Ice</title><main><p>Glaciers move up to a metre a day.</p></main>")
    web_site.page("/snow", "<title>Snow</title><main><p>Snow becomes ice under its weight.</p></main>")
    host = web_site.base.removeprefix("http://")
    about = {
        "web": {"searxng_url": web_site.base, "private_hosts": [host], "robots": False},
        "tools": {"allow": WEB[:2]},
    }
    skillkit_home.write_config(json.dumps(about))
    return web_site


@pytest.mark.smoke
def test_t_5_research_to_document(stage, pages, skillkit_cli):
    Path("research").mkdir()
    on = stage()
    found = {"answer": "Glaciers move up to a metre a day [1].", "sources": [1]}
    text = f"Glaciers move up to a metre a day [1].\n\n## Sources\n\n[1] {pages.base}/ice\n"
    on.run(
        "Research how glaciers move and make a document of it",
        chosen("research-to-document"),
        found,
        [("create_document_tool", {"title": "How glaciers move", "content": text, "folder": "research"})],
        "research/how-glaciers-move.md: up to a metre a day.",
        permit=[*WEB, "Edit(/research)"],
    ).ok()
    assert "[1] http://127.0.0.1:PORT/ice" in on.transcript().partition("file research/how-glaciers-move.md")[2]
    assert "Glaciers move up to a metre a day" in on.transcript().partition("## choice")[2]
    compare("research-to-document", on.transcript())
    drawn = skillkit_cli("plans", "show", "latest", "--json").ok().json
    assert [(step["target"], step["state"]) for step in drawn["steps"]] == [
        ("web_research", "completed"), ("research-to-document", "completed")
    ]  # fmt: skip


def test_t_5_digest_emails(stage, box, skillkit_home):
    skillkit_home.write_config(json.dumps({"mail": {"maildir": "mail"}}))
    on = stage()
    wants = "Wants an answer\n- Ida: lunch on Tuesday at noon? Until today."
    digest = f"{wants}\n\nFor information\n- Bank: the statement is there.\n\n2 messages."
    on.run(
        "Summarize my unread mail",
        chosen("digest-emails"),
        [("get_emails_tool", {"unread_only": True})],
        [("summarize_text_tool", {"text": "Your statement is there.\n" * 12, "sentences": 1, "method": "rules"})],
        digest,
    ).ok()
    assert "Old news" not in on.transcript()
    compare("digest-emails", on.transcript())
    assert [message.get_flags() for message in mailbox.Maildir("mail") if message["Subject"] != "Old news"] == ["", ""]
