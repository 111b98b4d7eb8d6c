"""S2-8: each of the ten skills is a definition alone, and does its work once, from the request to the answer."""

from __future__ import annotations

import base64
import json
import mailbox
import re
import subprocess
import sys
from email.message import EmailMessage
from pathlib import Path

import pytest
import skillkit_simple_skills.plugin
from skillkit_skills import SkillFolderLoader
from skillkit_testkit import Call, Reply
from skillkit_testkit.conformance import ToolConformance

from skillkit_core.contracts.skill_loader import SkillSource

SKILLS = Path(skillkit_simple_skills.plugin.__file__).parent / "skills"
NAMES = [
    "dictionary", "email", "entertainment", "help", "image-description", "image-generation", "navigation", "org-capture", "rss",
    "weather",
]  # fmt: skip
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class TestConformance(ToolConformance):
    plugin = skillkit_simple_skills.plugin


def results(llm_server):
    """Return what the tools gave, as the model read it in its last request."""
    return [message["content"] for message in llm_server.requests[-1].body["messages"] if message["role"] == "tool"]


@pytest.mark.smoke
def test_s2_8_the_ten_skills_are_definitions_of_the_engine_automation_without_a_problem(make_host):
    host = make_host()
    loaded = SkillFolderLoader(host).load(SkillSource("simple", "extra", path=SKILLS))
    simple = {skill.name: skill for skill in loaded.skills if skill.name in NAMES}
    assert sorted(simple) == NAMES
    for skill in simple.values():
        assert skill.engine == "automation" and skill.body and skill.description and skill.examples, skill.name
        assert [p for p in skill.problems if p.severity == "error"] == [], skill.name
        assert set(skill.optional_tools) <= set(skill.tools), skill.name
    assert [path.name for path in SKILLS.rglob("*") if path.suffix == ".py"] == []


def test_s2_8_weather(ask, llm_server, web_site, skillkit_home):
    oslo = {"name": "Oslo", "latitude": 59.9, "longitude": 10.7, "country": "Norway"}
    web_site.api("/v1/search", lambda asked: {"results": [oslo]})
    web_site.api("/v1/forecast", lambda asked: {"current": {"temperature_2m": 12, "weather_code": 61}})
    urls = {f"{name}_url": web_site.base for name in ("forecast", "archive", "places")}
    skillkit_home.write_config(json.dumps({"weather": {"provider": "open-meteo", **urls}}))
    call = ("weather_conditions_tool", {"place": "Oslo"})
    done = ask("weather", "How warm is it in Oslo?", call, answer="12 °C.", permit=["WebFetch(domain:127.0.0.1)"])
    assert done.stdout.strip().endswith("12 °C.")
    assert [tool.name for tool in llm_server.requests[1].tools] == [
        "weather_conditions_tool", "weather_forecast_tool", "weather_history_tool"
    ]  # fmt: skip
    assert results(llm_server) == ["Oslo, Norway\nlight rain\ntemperature: 12.0 °C (53.6 °F)\n(from open-meteo)"]


def test_s2_8_dictionary(ask, llm_server, skillkit_home, install_plugin, tmp_path):
    module = tmp_path / "words_plugin.py"
    module.write_text(
        "from skillkit_core import Factory, hookimpl\nfrom skillkit_dictionary import Dictionary, Sense\n\n\n"
        "class Words(Dictionary):\n    name = 'words'\n\n    async def define(self, word):\n"
        "        return [Sense('adjective', 'lasting a very short time', ('ephemeral joys',), ('fleeting',))]\n\n\n"
        "@hookimpl(optionalhook=True)\ndef register_dictionaries(register):\n"
        "    register(Factory('words', lambda host: Words()))\n"
    )
    install_plugin("words", module)
    skillkit_home.write_config("dictionary: {provider: words}")
    done = ask(
        "dictionary", "What does ephemeral mean?", ("define_word_tool", {"word": "ephemeral"}), answer="Short-lived."
    )
    assert done.stdout.strip().endswith("Short-lived.")
    assert results(llm_server) == [
        "1. (adjective) lasting a very short time\n   example: ephemeral joys\n   synonyms: fleeting\n(from words)"
    ]


@pytest.mark.smoke
def test_s2_8_help_says_what_is_there_and_what_others_need(ask, llm_server):
    ask(
        "help",
        "What can you do?",
        ("list_capabilities_tool", {}),
        ("list_capabilities_tool", {"topic": "commands", "query": "run"}),
    )
    skills, commands = results(llm_server)
    assert "org-capture: Capture a note" in skills and "skillkit run: " in commands
    assert "weather: Weather of any place" in skills and "(needs the setting weather.provider)" in skills


@pytest.fixture
def box():
    made = mailbox.Maildir("mail")
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Ida <ida@example.org>", "me@example.org", "Lunch?"
    message["Message-ID"], message["Date"] = "<1@example.org>", "05 Jan 2026 10:00:00 +0000"
    message.set_content("Tuesday?")
    made.add(message)
    return made


def test_s2_8_email(ask, llm_server, smtp_server, skillkit_home, box):
    smtp = {"host": "127.0.0.1", "port": smtp_server.port, "security": "none"}
    skillkit_home.write_config(json.dumps({"mail": {"maildir": "mail", "sender": "me@example.org", "smtp": smtp}}))
    reply = ("reply_to_email_tool", {"id": "<1@example.org>", "body": "Yes."})
    ask("email", "Tell Ida yes.", ("get_emails_tool", {}), reply, answer="It was not sent.")
    first, second = results(llm_server)
    assert "Subject: Lunch?" in first and "enied" in second and smtp_server.taken == []


def test_s2_9_a_mail_of_the_skill_is_sent_when_a_person_approves_it_and_not_before(
    skillkit_cli, llm_server, smtp_server, skillkit_home, box, monkeypatch
):
    """The run waits for a decision, which is made in another process."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback-key")
    smtp = {"host": "127.0.0.1", "port": smtp_server.port, "security": "none"}
    skillkit_home.write_config(json.dumps({"mail": {"maildir": "mail", "sender": "me@example.org", "smtp": smtp}}))
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")
    choice = json.dumps({"skill": "email", "confidence": 0.9, "reason": "it fits", "steps": []})
    send = {"to": ["ida@example.org"], "subject": "Lunch", "body": "Tuesday."}
    llm_server.script(
        Reply(text=choice), Reply(tool_calls=[Call("send_email_tool", send, "call_1")]), Reply(text="It is sent.")
    )
    waiting = skillkit_cli("run", *wire, "--approvals", "defer", "Invite Ida to lunch on Tuesday.")
    assert smtp_server.taken == [] and "send_email_tool" in waiting.stdout + waiting.stderr
    (session,) = set(re.findall(r"resume (\S+)", waiting.stdout + waiting.stderr))
    done = skillkit_cli("resume", session, *wire, "--allow", "all").ok()
    assert done.stdout.strip().endswith("It is sent.")
    (taken,) = smtp_server.taken
    assert taken.to == ("ida@example.org",) and taken.message["Subject"] == "Lunch"
    assert [str(mail["Subject"]) for mail in mailbox.Maildir("mail").get_folder("Sent")] == ["Lunch"]


def test_s2_8_rss(ask, llm_server, web_site, skillkit_home):
    item = "<item><title>Bees</title><guid isPermaLink='false'>1</guid></item>"
    feed = f"<rss version='2.0'><channel><title>News</title>{item}</channel></rss>"
    web_site.page("/rss", feed, "application/rss+xml")
    skillkit_home.write_config('web: {private_hosts: ["127.0.0.1"]}')
    call = ("read_feed_tool", {"url": f"{web_site.base}/rss"})
    ask("rss", "What is new?", call, answer="Bees.", permit=["WebFetch(domain:127.0.0.1)"])
    assert results(llm_server) == ["News: 1 items, 1 new\n* Bees"]


def test_s2_8_navigation(ask, llm_server):
    Path("places.yaml").write_text(
        "Home: {latitude: 59.9139, longitude: 10.7522}\nOffice: {latitude: 60.393, longitude: 5.324}\n"
    )
    call = ("compute_distance_tool", {"origin": "home", "destination": "office"})
    ask("navigation", "How far is it to the office?", ("list_locations_tool", {}), call, answer="305 km.")
    assert results(llm_server)[1] == "Home to Office: 305.0 km (189.5 mi) as the crow flies."


def test_s2_8_entertainment(ask, llm_server):
    Path("films.md").write_text("---\ntitle: Films\ntags: [list]\n---\n- [ ] Stalker\n- [x] Solaris\n")
    calls = [("search_documents_tool", {"query": "films"}), ("get_document_content_tool", {"path": "films.md"})]
    ask("entertainment", "What should I watch?", *calls, answer="Stalker.")
    found, text = results(llm_server)
    assert found.startswith("films.md: Films") and "- [ ] Stalker" in text


def test_s2_8_org_capture(ask, llm_server):
    call = ("add_org_inbox_item_tool", {"title": "Buy milk", "deadline": "2026-01-31"})
    ask("org-capture", "Capture: buy milk by Saturday", call, answer="Captured.", permit=["Edit(/inbox.org)"])
    assert Path("inbox.org").read_text() == "* TODO Buy milk\n  DEADLINE: <2026-01-31 Sat>\n"


def test_s2_8_image_generation(ask, llm_server, web_site, skillkit_home):
    web_site.api("/v1/images/generations", lambda asked: {"data": [{"b64_json": base64.b64encode(PNG).decode()}]})
    skillkit_home.write_config(json.dumps({"images": {"provider": "openai-images", "base_url": f"{web_site.base}/v1"}}))
    call = ("generate_image_tool", {"prompt": "A fox", "path": "fox"})
    ask("image-generation", "Draw a fox", call, answer="It is in fox.png.", permit=["WebFetch(domain:127.0.0.1)"])
    assert Path("fox.png").read_bytes() == PNG


def test_s2_8_image_description(make_host):
    import asyncio

    import skillkit_engine_automation.plugin
    import skillkit_engines.plugin
    import skillkit_skills.plugin

    from skillkit_core import AgentConfig, AgentRunner, ImageBlock
    from skillkit_core.testing import ScriptedModel

    plugins = [("skills", skillkit_skills.plugin), ("engines", skillkit_engines.plugin),
               ("engine-automation", skillkit_engine_automation.plugin)]  # fmt: skip
    host = make_host(*plugins, settings={"skills.dirs": [str(SKILLS)]})
    image = ImageBlock(data=base64.b64encode(PNG).decode())

    async def chat(**more):
        async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
            model = ScriptedModel(["A red pixel."])
            agent.set_adapter(model)
            return (await agent.chat("/image-description what is it?", **more)).content, model.requests

    told, (request,) = asyncio.run(chat(images=[image]))
    assert told == "A red pixel." and request.tools == () and request.messages[-1].content[1].data == image.data
    without, requests = asyncio.run(chat())
    assert "requires_image_context" in without and requests == []


@pytest.mark.smoke
def test_a_skill_whose_package_or_setting_is_missing_cannot_be_used_and_says_what_it_needs(skillkit_cli):
    listed = {row["name"]: row for row in skillkit_cli("skills", "list", "--all", "--json").ok().json["skills"]}
    assert "missing-config:weather.provider" in json.dumps(listed["weather"])


def test_the_example_of_the_page_prints_what_the_page_says(skillkit_home):
    """The block of Python, and the text below it, in which ``...`` stands for anything."""
    page = (Path(__file__).parent.parent / "README.md").read_text()
    program = re.search(r"```python\n(.*?)```", page, re.S)[1]
    said = page.partition("It prints:")[2].partition("```text\n")[2].partition("```")[0].strip()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    pattern = ".*".join(map(re.escape, said.split("...")))
    assert re.fullmatch(pattern, done.stdout.strip(), re.S), (done.stdout, done.stderr)
