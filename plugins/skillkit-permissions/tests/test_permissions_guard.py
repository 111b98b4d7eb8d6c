"""The guard in a run: what is blocked, what asks, what is remembered."""

import asyncio
import json
from pathlib import Path

import pytest
import skillkit_permissions.plugin
from skillkit_permissions.memory import Memory
from skillkit_permissions.policy import mode_of, next_mode, policy_of, rules_of, set_mode

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Tool, hookimpl
from skillkit_core.testing import Call, Reply, ScriptedModel

TEXT = {"type": "object", "properties": {"command": {"type": "string"}}}
PATH = {"type": "object", "properties": {"path": {"type": "string"}}}
URL = {"type": "object", "properties": {"url": {"type": "string"}}}
ANY = {"type": "object"}


class Tools:
    """Tools that keep what they were called with, as plugins bring them."""

    name = "acme"

    def __init__(self):
        self.calls, self.more = [], []

    def tool(self, name, parameters, opt_in=False, **annotations):
        async def execute(args, ctx):
            self.calls.append((name, dict(args)))
            return "done"

        return Tool(name, "A tool.", execute, parameters, opt_in=opt_in, annotations=annotations)

    @hookimpl
    def register_tools(self, register):
        register(self.tool("bash", TEXT, opt_in=True, mutates="world", command="command"))
        register(self.tool("read", PATH, mutates="none", paths=["path"]))
        register(self.tool("edit", PATH, mutates="files", paths=["path"]))
        register(self.tool("web_fetch", URL, mutates="none", host="url"))
        register(self.tool("rocket", ANY))
        register(self.tool("think", ANY, mutates="none"))
        register(self.tool("calc__add", ANY, skill="calc", action="add"))
        register(self.tool("mcp__files__list", ANY, mutates="none"))
        for tool in self.more:
            register(tool)


class Person(Approver):
    """Answers with what it was given, and keeps the questions."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    async def approve(self, request):
        self.asked.append([q.text for q in request.questions])
        return self.answers.pop(0)


YES, NO = ApprovalDecision("allow"), ApprovalDecision("deny", "no")


class Desk:
    """A host with the guard, and runs on it."""

    def __init__(self, make_host, folder):
        self.make_host, self.folder = make_host, folder
        self.tools = Tools()

    def host(self, **settings):
        given = {f"permissions.{key}": value for key, value in settings.items()}
        return self.make_host(("permissions", skillkit_permissions.plugin), self.tools, settings=given, cwd=self.folder)

    def run(self, host, *calls, person=None, mode=None, tools=(), runs=1):
        """Let a model make calls; return their outcomes and texts."""

        async def go():
            config = AgentConfig(approver=person, tools=tools)
            ended = []
            async with AgentRunner(config, host=host) as agent:
                if mode is not None:
                    set_mode(agent, mode)
                agent.events.on("tool_execution_end", lambda e: ended.append((str(e.outcome.value), e.content[0].text)))
                for _ in range(runs):
                    agent.set_adapter(ScriptedModel([*(Reply(calls=[c]) for c in calls), "Done."]))
                    await agent.chat("Go.")
            return ended

        return asyncio.run(go())


@pytest.fixture
def desk(make_host, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return Desk(make_host, folder)


def outcomes(ended):
    return [outcome for outcome, _ in ended]


def test_without_rules_what_changes_nothing_runs_and_the_rest_is_denied_where_nobody_can_be_asked(desk):
    calls = [Call("read", {"path": "a"}), Call("think"), Call("calc__add"), Call("edit", {"path": "a"}), Call("rocket")]
    calls += [Call("web_fetch", {"url": "https://example.com/"}), Call("mcp__files__list")]
    ended = desk.run(desk.host(), *calls)
    assert outcomes(ended) == ["ok", "ok", "ok", "denied", "denied", "denied", "denied"]
    assert "nobody can be asked" in ended[3][1] and "Edit(/a)" in ended[3][1]
    assert "WebFetch(domain:example.com)" in ended[5][1] and "What would allow it: rocket" in ended[4][1]


@pytest.mark.smoke
def test_a_rule_denies_and_says_where_it_stands(desk):
    host = desk.host(deny=["think", "Read(.env)"])
    ended = desk.run(host, Call("think"), Call("read", {"path": "sub/../.env"}))
    assert outcomes(ended) == ["blocked", "blocked"]
    assert ended[0][1] == "Blocked: permissions: a rule forbids it: think (flag for permissions.deny)"
    assert desk.tools.calls == []


def test_an_opt_in_tool_is_offered_where_a_rule_names_it_and_runs_what_the_rule_covers(desk):
    calls = [Call("bash", {"command": "git status"}), Call("bash", {"command": "git status && rm -rf ."})]
    assert [text for _, text in desk.run(desk.host(), calls[0])] == ["There is no tool 'bash'."]
    host = desk.host(allow=["Bash(git status:*)"])
    ended = desk.run(host, *calls)
    assert outcomes(ended) == ["ok", "denied"] and "Bash(rm -rf .)" in ended[1][1]
    assert desk.tools.calls == [("bash", {"command": "git status"})]


def test_modes_decide_where_no_rule_does(desk):
    calls = [Call("edit", {"path": "a"}), Call("edit", {"path": "/etc/a"}), Call("rocket"), Call("read", {"path": "a"})]
    host = desk.host(deny=["Edit(secret)"])
    assert outcomes(desk.run(host, *calls, mode="accept-edits")) == ["ok", "denied", "denied", "ok"]
    assert outcomes(desk.run(host, *calls, mode="read-only")) == ["blocked", "blocked", "blocked", "ok"]
    assert outcomes(desk.run(host, *calls, mode="bypass")) == ["ok", "ok", "ok", "ok"]
    assert outcomes(desk.run(host, Call("edit", {"path": "secret"}), mode="bypass")) == ["blocked"]


def test_rules_hold_for_files_that_a_tool_of_any_kind_is_given(desk):
    (desk.folder / "sub").mkdir()
    (desk.folder / "sub" / ".env").write_text("SECRET=1")
    files = {"file": None, "folder": "."}
    action = desk.tools.tool("calc__count", ANY, skill="calc", action="count", paths=files)
    desk.tools.more = [action]
    calls = [Call("calc__count", {"file": f, "folder": "other"}) for f in ("a", "sub/../sub/.ENV", "kept", "seen")]
    calls += [Call("calc__count", {"file": "a"}), Call("calc__count", {"file": "a", "folder": "sub"})]
    host = desk.host(deny=["Read(.env)", "Edit(kept)", "Edit"], ask=["Read(seen)"], mode="bypass")
    ended = desk.run(host, *calls)
    # nobody knows whether an action changes a file or looks into all of a folder: that is asked
    assert outcomes(ended) == ["ok", "blocked", "denied", "denied", "denied", "denied"]
    assert "calc__count may change kept, which a rule forbids: Edit(kept)" in ended[2][1]
    assert "a rule forbids something below .: Read(.env)" in ended[4][1]
    assert outcomes(desk.run(desk.host(deny=["Read"]), calls[0])) == ["blocked"]
    assert outcomes(desk.run(desk.host(), *calls)) == ["ok"] * 6


@pytest.mark.smoke
def test_a_person_is_asked_and_an_answer_holds_for_the_call(desk):
    person = Person(YES, NO)
    ended = desk.run(desk.host(), Call("rocket"), Call("rocket"), person=person)
    assert outcomes(ended) == ["ok", "denied"]
    assert person.asked[0] == ["no rule names it. What would allow it: rocket"]


def test_a_remembered_answer_holds_in_the_session_of_a_run_that_keeps_nothing(desk):
    person = Person(ApprovalDecision("allow", remember=True))
    ended = desk.run(desk.host(), Call("rocket"), Call("rocket"), person=person, runs=2)
    assert outcomes(ended) == ["ok"] * 4 and len(person.asked) == 1


@pytest.mark.parametrize("scope", ["project", "ever"])
def test_an_answer_is_remembered_for_the_project_or_ever_until_it_is_revoked(desk, scope, tmp_path):
    host = desk.host()
    person = Person(ApprovalDecision("allow", remember=scope, answer={"days": 3}))
    desk.run(host, Call("edit", {"path": "a"}), person=person)
    memory = policy_of(host).memory
    (answer,) = memory.all()
    assert (answer.rule, answer.kind, answer.scope) == ("Edit(/a)", "allow", scope)
    assert answer.expires is not None and round((answer.expires - answer.created) / 86_400) == 3
    assert outcomes(desk.run(desk.host(), Call("edit", {"path": "a"}))) == ["ok"]
    other = Desk(desk.make_host, tmp_path / "other")
    other.folder.mkdir()
    # "/a" is a path of the project, wherever that is
    assert outcomes(other.run(other.host(), Call("edit", {"path": "a"}))) == ["denied" if scope == "project" else "ok"]
    memory.revoke([answer.id])
    assert outcomes(desk.run(desk.host(), Call("edit", {"path": "a"}))) == ["denied"]


def test_an_answer_about_a_tool_of_a_server_asks_again_in_the_next_process_when_the_server_changed_it(desk):
    def described(digest):
        desk.tools.more = [desk.tools.tool("mcp__files__move", ANY, mutates="world", definition=digest)]
        return desk.host()

    person = Person(ApprovalDecision("allow", remember="ever"))
    assert outcomes(desk.run(described("a"), Call("mcp__files__move"), person=person)) == ["ok"]
    assert outcomes(desk.run(described("a"), Call("mcp__files__move"))) == ["ok"]
    ended = desk.run(described("b"), Call("mcp__files__move"))
    assert outcomes(ended) == ["denied"] and "differently than when it was allowed" in ended[0][1]


def test_a_remembered_no_is_a_rule_that_denies(desk):
    person = Person(ApprovalDecision("deny", remember="project"))
    host = desk.host()
    desk.run(host, Call("rocket"), person=person)
    ended = desk.run(host, Call("rocket"), person=Person(YES))
    assert outcomes(ended) == ["blocked"] and "remembered 1" in ended[0][1]


def test_an_answer_is_forgotten_when_its_days_are_over(desk):
    host = desk.host()
    memory = Memory(host.data_dir)
    memory.add(["rocket"], "allow", "ever", days=1)
    data = json.loads(Path(memory.path).read_text())
    data["answers"][0]["expires"] = 1.0
    Path(memory.path).write_text(json.dumps(data))
    assert outcomes(desk.run(host, Call("rocket"))) == ["denied"]


def test_revoking_ends_what_a_running_session_remembers(desk):
    host = desk.host()

    class Revokes(Person):
        async def approve(self, request):
            if self.asked:
                return NO
            answer = await super().approve(request)
            policy_of(host).memory.revoke()
            return answer

    person = Revokes(ApprovalDecision("allow", remember=True))
    assert outcomes(desk.run(host, Call("rocket"), Call("rocket"), person=person)) == ["ok", "denied"]


def test_a_written_ask_is_asked_every_time(desk):
    person = Person(ApprovalDecision("allow", remember=True), YES)
    host = desk.host(ask=["rocket"], allow=["rocket"], mode="bypass")
    ended = desk.run(host, Call("rocket"), Call("rocket"), person=person)
    assert outcomes(ended) == ["ok", "ok"] and len(person.asked) == 2


def test_a_tool_of_the_application_runs_unless_a_rule_says_otherwise(desk):
    async def execute(args, ctx):
        return "done"

    own = (Tool("mine", "A tool of the application.", execute),)
    assert outcomes(desk.run(desk.host(), Call("mine"), tools=own)) == ["ok"]
    assert outcomes(desk.run(desk.host(deny=["mine"]), Call("mine"), tools=own)) == ["blocked"]
    assert outcomes(desk.run(desk.host(), Call("mine"), tools=own, mode="read-only")) == ["blocked"]


def test_rules_of_another_plugin_count(desk, make_host):
    class Knows:
        name = "knows"

        @hookimpl(optionalhook=True)
        def register_permission_rules(self, register):
            from skillkit_core.descriptors import Factory

            register(Factory("here", lambda host: lambda agent: [("knows", {"allow": ["rocket"], "deny": ["think"]})]))

    host = make_host(("permissions", skillkit_permissions.plugin), desk.tools, Knows(), cwd=desk.folder)
    ended = desk.run(host, Call("rocket"), Call("think"))
    assert outcomes(ended) == ["ok", "blocked"] and "(knows)" in ended[1][1]


def test_a_plugin_with_topics_is_asked_where_one_of_them_is_armed(make_host, desk):
    asked = []

    class Forbids:
        while_ = ("office",)

        def __init__(self, host):
            pass

        def __call__(self, agent):
            asked.append(agent)
            return [("office hours", {"deny": ["rocket"]})]

    class Hours:
        name = "hours"

        @hookimpl(optionalhook=True)
        def register_permission_rules(self, register):
            from skillkit_core.descriptors import Factory

            register(Factory("office hours", Forbids))

    host = make_host(("permissions", skillkit_permissions.plugin), desk.tools, Hours(), cwd=desk.folder)

    async def below(args, ctx):
        async with AgentRunner(AgentConfig()) as nested:
            return str(len(rules_of(nested, policy_of(host)).deny))

    async def rules(*armed):
        """How many rules forbid something to an agent, and to one below it."""
        async with AgentRunner(AgentConfig(tools=(Tool("ask", "Ask.", below, ANY),)), host=host) as agent:
            agent.events.arm(*armed)
            agent.set_adapter(ScriptedModel([Reply(calls=[Call("ask")]), "done"]))
            await agent.chat("go")
            return len(rules_of(agent, policy_of(host)).deny), int(agent.messages[-2].text)

    assert asyncio.run(rules()) == (0, 0) and asked == []
    assert asyncio.run(rules("office")) == asyncio.run(rules("*")) == (1, 1)


def test_the_next_mode_is_none_that_the_policy_forbids(make_host, desk):
    class Strict:
        name = "strict"

        @hookimpl(optionalhook=True)
        def register_permission_rules(self, register):
            from skillkit_core.descriptors import Factory

            register(Factory("strict", lambda host: lambda agent: [("strict", {"mode": "ask"})]))

    def modes(host, count):
        async def go():
            async with AgentRunner(AgentConfig(model="any"), host=host) as agent:
                found = []
                for _ in range(count):
                    set_mode(agent, next_mode(agent, policy_of(host)))
                    found.append(mode_of(agent, policy_of(host)))
                return found

        return asyncio.run(go())

    assert modes(desk.host(), 3) == ["accept-edits", "read-only", "ask"]
    assert modes(desk.host(mode="bypass"), 2) == ["ask", "accept-edits"]
    strict = make_host(("permissions", skillkit_permissions.plugin), Strict(), cwd=desk.folder)
    assert modes(strict, 3) == ["read-only", "ask", "read-only"]


def test_a_damaged_memory_blocks(desk):
    host = desk.host()
    memory = Memory(host.data_dir)
    memory.add(["rocket"], "allow", "ever")
    Path(memory.path).write_text("{")
    ended = desk.run(host, Call("rocket"))
    assert outcomes(ended) == ["blocked"]
