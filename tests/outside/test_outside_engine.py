"""An engine as the documentation writes it: under 60 lines, installed from wheels, judged by the suite, and asked."""

from __future__ import annotations

import re
from pathlib import Path

from skillkit_testkit import Reply

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "write-an-engine.md"
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)\n```", re.S)


def test_the_engine_of_the_page_passes_the_suite_is_installed_and_does_the_work_of_a_skill(outside, venv, llm_server):
    written = dict(FILE.findall(PAGE.read_text(encoding="utf-8")))
    for name, text in written.items():
        (file := outside.work / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    code = [text for name, text in written.items() if name.startswith("skillkit-twice/skillkit_twice/")]
    environment = venv("skillkit-default", "skillkit-testkit[engines]", "skillkit-routing", pip=True)

    judged = environment.run("python", "-m", "pytest", "-q", "skillkit-twice", env={"PYTHONPATH": "skillkit-twice"})
    environment.run("skillkit", "plugins", "install", "--yes", "./skillkit-twice").ok()
    llm_server.script(Reply(text="Roses are red."), Reply(text="Roses are red, violets are blue."))
    wire = ("--provider", "openai", "--api", "openai-chat", "--base-url", llm_server.openai_url, "--model", "loop")
    env = {"OPENAI_API_KEY": "sk-loopback"}
    answer = environment.run("skillkit", "run", "--skills-dir", "skills", *wire, "/poems about flowers", env=env).ok()
    why = environment.run("skillkit", "why", "latest").ok()

    assert sum(len(text.splitlines()) for text in code) < 60
    assert judged.status == 0 and "failed" not in judged.stdout, str(judged)
    assert answer.stdout == "Roses are red, violets are blue.\n"
    assert "poems via twice" in why.stdout
    assert "Four lines, and they rhyme." in llm_server.requests[0].system


def test_an_engine_that_is_made_by_the_command_passes_its_tests(outside, venv):
    environment = venv("skillkit-default", "skillkit-testkit[engines]", pip=True)
    environment.run("skillkit", "plugins", "new", "poet", "--kind", "family", "--of", "engines").ok()
    done = environment.run("python", "-m", "pytest", "-q", cwd=outside.work / "skillkit-poet")
    assert done.status == 0 and "failed" not in done.stdout, str(done)
