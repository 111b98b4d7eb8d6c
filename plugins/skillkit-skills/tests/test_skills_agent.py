"""What an agent is offered: action tools, activation, the system prompt, questions and limits."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from skillkit_skills import plugin
from skillkit_skills.actions import run_action
from skillkit_skills.agent_skills import ACTIVATE, ACTIVE, MANY_ACTIONS, skills_of, tool_name
from skillkit_skills.content import MAX_RESOURCES, skill_content
from skillkit_skills.context import skills_prompt
from skillkit_skills.tools import skill_tools

from skillkit_core.abort import AbortSignal
from skillkit_core.errors import ToolError, UnknownName
from skillkit_core.events.bus import EventBus
from skillkit_core.events.types import ToolCallEvent
from skillkit_core.messages import ImageBlock, TextBlock, ToolResultMessage, UserMessage, text_of

ADD = """---
name: adder
description: Add numbers. Use for sums.
metadata:
  skillkit:
    keywords: [sum, plus]
    examples: [what is 1 plus 2]
    actions:
      - name: add
        description: Add two numbers
        script: scripts/add.py
        args:
          a: {type: integer, required: true, position: 1}
          b: {type: integer, default: 1, x-fill: request}
        output: json
        idempotent: true
        confirm: never
---

# Adder

Use add. The files are in {baseDir}.
"""
ADD_PY = """
import json, sys
import helper
a, b = int(sys.argv[1]), int(sys.argv[3])
print(json.dumps({"answer": f"It is {helper.add(a, b)}.", "value": a + b}))
"""


@dataclass
class Session:
    id: str = "s1"
    messages: list[Any] = field(default_factory=list)


class Agent:
    """What this plugin uses of an agent runner."""

    def __init__(self, host, skills=(), session=None):
        self.host, self.session = host, session or Session()
        self.config = SimpleNamespace(skills=tuple(skills))
        self.target = None
        self.events, self.looked_again = EventBus(), 0
        self.toolbox = SimpleNamespace(changed=self.changed)

    def changed(self):
        self.looked_again += 1


@dataclass
class Context:
    cwd: Path
    session_id: str | None = "s1"
    signal: AbortSignal = field(default_factory=AbortSignal)
    output: list[tuple[str, str]] = field(default_factory=list)
    ui: None = None
    agent: Any = None

    def on_output(self, output: str, stream: str = "stdout") -> None:
        self.output.append((stream, output))


def put(root: Path, name: str, text: str, **scripts: str) -> Path:
    folder = root / name
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    for file, code in scripts.items():
        (folder / "scripts" / f"{file}.py").write_text(code)
    return folder


def simple(name: str, body: str = "Do it.", **block: Any) -> str:
    extra = f"metadata: {{skillkit: {json.dumps(block)}}}\n" if block else ""
    return f"---\nname: {name}\ndescription: About {name}.\n{extra}---\n{body}\n"


@pytest.fixture
def adder(host, tmp_path):
    put(tmp_path / "skills", "adder", ADD, add=ADD_PY, helper="def add(a, b): return a + b")
    return host.take(tmp_path / "skills")


def call(tool, host, **args):
    return asyncio.run(tool.execute(args, Context(host.cwd, agent=Agent(host))))


def by_name(agent):
    return {t.name: t for t in skill_tools(agent)}


def test_an_action_is_a_tool_that_says_what_the_offline_model_needs(adder):
    tool = by_name(Agent(adder))["adder__add"]
    assert tool.description == "Add two numbers" and tool.replay == "safe"
    assert tool.parameters["required"] == ["a"] and tool.parameters["properties"]["b"]["default"] == 1
    facts = tool.annotations
    assert (facts["skill"], facts["action"], facts["order"]) == ("adder", "add", 0)
    assert (facts["keywords"], facts["examples"]) == (["sum", "plus"], ["what is 1 plus 2"])
    assert facts["skill_description"] == "Add numbers. Use for sums."
    assert facts["args"]["a"] == {"type": "integer", "required": True, "position": 1, "secret": False}
    assert facts["args"]["b"]["x-fill"] == "request"


def test_a_tool_runs_its_script_and_leads_with_the_answer(adder):
    output = call(by_name(Agent(adder))["adder__add"], adder, a=2)
    assert output.content == 'It is 3.\n{"value":3}'
    assert output.details == {"answer": "It is 3.", "value": 3} and not output.is_error


def test_a_failing_action_is_an_error_that_says_how(host, tmp_path):
    code = "import sys; print('half'); sys.exit('no such thing')"
    action = {"name": "go", "script": "scripts/go.py", "confirm": "never"}
    put(tmp_path / "skills", "broken", simple("broken", actions=[action]), go=code)
    output = call(by_name(Agent(host.take(tmp_path / "skills")))["broken__go"], host)
    assert output.is_error and output.details["error"] == "exit-code:1"
    assert output.content.splitlines() == ["Action go failed (exit-code:1).", "half", "no such thing"]


def test_a_bad_argument_is_an_error_in_one_line(adder):
    with pytest.raises(ToolError, match="argument 'a': expected integer, got 'two'"):
        call(by_name(Agent(adder))["adder__add"], adder, a="two")


def test_the_same_tools_come_back_while_nothing_changed(adder):
    agent = Agent(adder)
    first = skill_tools(agent)
    assert skill_tools(agent) is first
    adder.skills.register("other", adder.skills.get("adder"), "elsewhere")
    assert skill_tools(agent) is not first


def test_names_that_providers_refuse_end_in_a_hash():
    assert tool_name("pdf-forms", "fill") == "pdf-forms__fill"
    long, foreign = tool_name("a" * 64, "b" * 64), tool_name("données", "x")
    assert len(long) == 64 and long != tool_name("a" * 64, "b" * 63)
    assert foreign.isascii() and foreign != tool_name("donn-es", "x")


def test_a_skill_that_cannot_run_here_is_not_offered(host, tmp_path):
    put(tmp_path / "skills", "absent", simple("absent", requires={"bins": ["no-such-program-xyz"]}))
    put(tmp_path / "skills", "plain", simple("plain"))
    put(tmp_path / "skills", "off", simple("off"))
    host.config.data["skills"] = {"disabled": ["off"]}
    agent = Agent(host.take(tmp_path / "skills"))
    text = skills_prompt(agent) or ""
    assert "<name>plain</name>" in text and "absent" not in text and "off" not in text
    assert by_name(agent)[ACTIVATE].parameters["properties"]["name"]["enum"] == ["plain"]


def test_without_skills_there_is_neither_a_list_nor_a_tool(host):
    agent = Agent(host)
    assert skills_prompt(agent) is None and skill_tools(agent) == ()


def many(host, tmp_path, count):
    actions = [{"name": f"a{i}", "run": "true"} for i in range(count)]
    put(tmp_path / "skills", "many", simple("many", actions=actions))
    put(tmp_path / "skills", "few", simple("few", actions=[{"name": "one", "run": "true"}]))
    return host.take(tmp_path / "skills")


def test_many_actions_are_offered_only_once_their_skill_is_active(host, tmp_path):
    agent = Agent(many(host, tmp_path, MANY_ACTIONS))
    assert set(by_name(agent)) == {ACTIVATE}
    call(by_name(agent)[ACTIVATE], host, name="few")
    assert set(by_name(agent)) == {ACTIVATE, "few__one", "skill_file"}


def test_how_actions_are_exposed_is_a_setting(host, tmp_path):
    many(host, tmp_path, MANY_ACTIONS - 1)
    assert len(by_name(Agent(host))) == MANY_ACTIONS + 1
    host.config.data["skills"] = {"expose_actions": "activated"}
    assert set(by_name(Agent(host))) == {ACTIVATE}
    host.config.data["skills"] = {"expose_actions": "always"}
    assert len(by_name(Agent(host))) == MANY_ACTIONS + 1


# --- activation -------------------------------------------------------------------------------------------------------


def test_activation_gives_the_body_its_folder_and_its_files(adder):
    folder = adder.skills.get("adder").path
    (folder / "references").mkdir()
    (folder / "references/rules.md").write_text("secret text")
    (folder / ".hidden").write_text("")
    agent = Agent(adder)
    output = call(by_name(agent)[ACTIVATE], adder, name="adder")
    assert output.content == (
        '<skill_content name="adder">\n# Adder\n\n'
        f"Use add. The files are in {folder}.\n\nSKILL_DIR: {folder}\n"
        "<skill_resources>\nreferences/rules.md\nscripts/add.py\nscripts/helper.py\n</skill_resources>\n</skill_content>"
    )
    assert [s.name for s in skills_of(agent).active()] == ["adder"]


def test_activating_twice_does_not_say_it_twice(adder):
    agent = Agent(adder)
    call(by_name(agent)[ACTIVATE], adder, name="adder")
    again = call(by_name(agent)[ACTIVATE], adder, name="adder")
    assert "active already" in again.content and "Use add." not in again.content


def test_a_resumed_session_remembers_what_was_active(adder):
    first = Agent(adder)
    output = call(by_name(first)[ACTIVATE], adder, name="adder")
    message = ToolResultMessage(content=output.content, tool_call_id="1", tool_name=ACTIVATE, details=output.details)
    assert text_of(message.content) == output.content
    assert skills_of(Agent(adder, session=Session(messages=[message]))).is_active("adder")
    called = UserMessage(content=skill_content(adder.skills.get("adder")))
    assert skills_of(Agent(adder, session=Session(messages=[called]))).is_active("adder")


def test_the_files_of_a_skill_are_listed_up_to_a_limit(adder):
    folder = adder.skills.get("adder").path
    for i in range(MAX_RESOURCES + 10):
        (folder / f"f{i:03}.txt").write_text("")
    text = call(by_name(Agent(adder))[ACTIVATE], adder, name="adder").content
    assert text.count(".txt") == MAX_RESOURCES and "(and more)" in text


def test_skills_of_the_configuration_are_active_from_the_start(adder):
    agent = Agent(adder, skills=["adder"])
    assert '<skill_content name="adder">' in (skills_prompt(agent) or "")
    assert "active already" in call(by_name(agent)[ACTIVATE], adder, name="adder").content
    with pytest.raises(UnknownName, match="did you mean 'adder'"):
        skill_tools(Agent(adder, skills=["addr"]))


def test_gates_open_with_what_the_person_says(host, tmp_path):
    put(tmp_path / "skills", "caption", simple("caption", requires_image_context=True))
    put(tmp_path / "skills", "rare", simple("rare", requires_explicit_keywords=True, keywords=["unicorn"]))
    put(tmp_path / "skills", "common", simple("common"))
    session = Session()
    agent = Agent(host.take(tmp_path / "skills"), session=session)

    def offered():
        return by_name(agent)[ACTIVATE].parameters["properties"]["name"]["enum"]

    assert offered() == ["common"]
    session.messages = [UserMessage(content=(TextBlock("A Unicorn!"), ImageBlock(data="")))]
    assert offered() == ["caption", "common", "rare"]


# --- guard ------------------------------------------------------------------------------------------------------------


def ask(agent, tool, annotations=None, **args):
    event = ToolCallEvent(tool_name=tool, args=args, annotations=annotations or {})
    return plugin.before_tool_call(event, SimpleNamespace(agent=agent))


def test_actions_ask_as_their_skill_says(host, tmp_path):
    actions = [{"name": n, "run": "true", "confirm": n} for n in ("never", "first", "always")]
    put(tmp_path / "skills", "s", simple("s", actions=actions))
    agent = Agent(host.take(tmp_path / "skills"))
    answers = {n: ask(agent, t.name, t.annotations) for n, t in by_name(agent).items() if n != ACTIVATE}
    assert answers["s__never"] is None
    assert answers["s__first"].ask and answers["s__first"].ask_key == "skill-action:s:first"
    assert answers["s__always"].ask and answers["s__always"].ask_key is None


def test_an_active_skill_limits_tools_and_asks_for_what_it_names(host, tmp_path):
    block = {"tools_only": True, "tools": ["mail_draft", "mail_send"], "confirm": ["mail_s*"]}
    put(tmp_path / "skills", "mail", simple("mail", **block))
    text = simple("careful").replace("description:", "disallowed-tools: Bash(rm:*) Write\ndescription:")
    put(tmp_path / "skills", "careful", text)
    agent = Agent(host.take(tmp_path / "skills"))
    assert ask(agent, "bash", command="ls") is None
    assert (agent.events.armed, agent.looked_again) == (frozenset(), 0)
    skills_of(agent).activate("careful")
    assert (agent.events.armed, agent.looked_again) == ({ACTIVE}, 1)
    assert ask(agent, "Bash", command="ls && rm -r x").block
    assert ask(agent, "bash", command="ls $(rm x)").block
    assert ask(agent, "Bash", command="ls") is None
    assert "careful" in ask(agent, "write", path="x").reason
    skills_of(agent).activate("mail")
    assert ask(agent, "Bash", command="ls").block
    assert ask(agent, "mail_draft") is None and ask(agent, ACTIVATE, name="mail") is None
    assert "confirmed" in ask(agent, "mail_send").ask


# --- running ----------------------------------------------------------------------------------------------------------

SHOW = "import json, os, sys; print(json.dumps({'env': dict(os.environ), 'argv': sys.argv[1:], 'cwd': os.getcwd()}))"


def show(host, tmp_path, action=None, args=None, **block):
    raw = {"name": "show", "script": "scripts/show.py", "output": "json", **(action or {})}
    folder = put(tmp_path / "skills", "shows", simple("shows", actions=[raw], **block), show=SHOW)
    skill = host.take(tmp_path / "skills").skills.get("shows")
    result = asyncio.run(run_action(host, skill, skill.actions[0], args or {}))
    assert result.ok, result
    return result.data, folder


@pytest.mark.spec("13.13")
def test_the_environment_is_clean_and_holds_what_was_declared(host, tmp_path):
    host.environ |= {"SECRET": "s", "TOKEN": "t", "KEY": "k", "LANG": "C.UTF-8", "PYTHONPATH": "/x"}
    host.config.data["skills"] = {"entries": {"shows": {"env": {"OWN": "o"}}}}
    data, folder = show(host, tmp_path, {"env": ["TOKEN"]}, requires={"env": ["KEY"]})
    env = {k: v for k, v in data["env"].items() if k != "LC_CTYPE"}  # Python itself sets it in the C locale
    assert env == {
        "PATH": host.environ["PATH"], "HOME": host.environ["HOME"], "LANG": "C.UTF-8", "SKILL_DIR": str(folder),
        "SKILLKIT_ACTION": "show", "TOKEN": "t", "KEY": "k", "OWN": "o",
    }  # fmt: skip
    assert host.runtime.calls[0]["argv"][:2] == [sys.executable, str(folder / "scripts/show.py")]
    assert data["cwd"] == str(host.cwd)


@pytest.mark.spec("13.13")
def test_a_secret_reaches_the_program_by_its_environment_only(host, tmp_path):
    host.environ["API_KEY"] = "hush"
    args = {"api_key": {"secret": True, "required": True}, "q": "string"}
    data, _ = show(host, tmp_path, {"args": args}, {"q": "x"})
    assert data["argv"] == ["--q", "x"] and data["env"]["API_KEY"] == "hush"
    assert "api_key" not in host.skills.get("shows").actions[0].parameters["properties"]


def test_a_value_that_begins_with_a_dash_is_never_an_option(host, tmp_path):
    args = {"n": "integer", "f": {"type": "file", "position": 1}, "q": "string"}
    data, _ = show(host, tmp_path, {"args": args}, {"n": -3, "f": "-rf", "q": "--all"})
    assert data["argv"] == ["./-rf", "--n=-3", "--q=--all"]


def test_a_program_in_the_skills_folder_gets_absolute_files(host, tmp_path):
    args = {"f": {"type": "file", "position": 1}}
    data, folder = show(host, tmp_path, {"cwd": "skill", "args": args}, {"f": "a.txt"})
    assert data["cwd"] == str(folder) and data["argv"] == [str(host.cwd / "a.txt")]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "link/x", ""])
def test_a_file_outside_the_workspace_is_refused(host, tmp_path, path):
    (host.cwd / "link").symlink_to("/etc")
    with pytest.raises(ToolError, match="argument 'f'"):
        show(host, tmp_path, {"args": {"f": "file"}}, {"f": path})
    assert host.runtime.calls == []


def test_an_action_with_needs_of_its_own_says_what_is_missing(host, tmp_path):
    with pytest.raises(ToolError, match="missing-bin:no-such-program-xyz"):
        show(host, tmp_path, {"requires": {"bins": ["no-such-program-xyz"]}})


def test_a_script_that_became_a_link_to_elsewhere_is_not_run(adder, tmp_path):
    script = adder.skills.get("adder").path / "scripts/add.py"
    script.unlink()
    script.symlink_to("/bin/true")
    with pytest.raises(ToolError, match="leaves the skill's folder"):
        call(by_name(Agent(adder))["adder__add"], adder, a=1)


def test_what_is_no_json_is_an_error_even_when_python_reads_it(host, tmp_path):
    action = {"name": "go", "run": ["echo", '{"x": NaN}'], "output": "json", "confirm": "never"}
    put(tmp_path / "skills", "nan", simple("nan", actions=[action]))
    output = call(by_name(Agent(host.take(tmp_path / "skills")))["nan__go"], host)
    assert output.is_error and output.details["error"] == "output-not-json"


def test_a_file_is_named_from_where_the_program_ran(host, tmp_path):
    inside, outside = {"name": "in", "cwd": "skill"}, {"name": "out", "cwd": "skill"}
    more = {"output": "file", "confirm": "never"}
    inside |= {"run": ["echo", str(host.cwd / "x.pdf")]} | more
    outside |= {"run": "echo x.pdf"} | more
    put(tmp_path / "skills", "files", simple("files", actions=[inside, outside]))
    tools = by_name(Agent(host.take(tmp_path / "skills")))
    assert call(tools["files__in"], host).content == f"Wrote {host.cwd / 'x.pdf'}"
    assert call(tools["files__out"], host).details["error"] == "output-file-outside"


def test_text_is_shown_while_it_comes_and_data_is_not(adder):
    ctx = Context(adder.cwd)
    asyncio.run(by_name(Agent(adder))["adder__add"].execute({"a": 1}, ctx))
    assert ctx.output == []  # JSON is for programs
    skill = adder.skills.get("adder")
    said = replace(skill, actions=(replace(skill.actions[0], output="text"),))
    adder.skills.register("adder", said, skill.source)
    asyncio.run(by_name(Agent(adder))["adder__add"].execute({"a": 1}, ctx))
    assert ctx.output and ctx.output[0][0] == "stdout" and "It is 2." in ctx.output[0][1]
