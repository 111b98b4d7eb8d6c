"""What rules deny, the kernel holds for the tool bash: also where nothing in the line says which file is meant."""

import asyncio
import json

import pytest
from skillkit_permissions.policy import set_mode
from skillkit_sandbox import Sandboxes

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Host
from skillkit_core.testing import Call, Reply, ScriptedModel

# the file's name in pieces, so that no rule sees it in the line
READS = "n=en; python3 -c \"print(open('.'+'$n'+'v').read())\""
WRITES = "n=lock; python3 -c \"open('$n'+'.json','a').write('x')\""
# a rule sees a file in none of them
MISREAD = r"""
n=env; cat /proc/self/cwd/.$n /proc/1/root$PWD/.$n
python3 -c "import os; d = os.open('.', 0); print(os.read(os.open('.e' + 'nv', 0, dir_fd=d), 99))"
cp -r . /tmp/all; grep -ra . /tmp/all; rm -r /tmp/all
tar cf - . | grep -a SECRET
n=deep; mv $n other; cat other/.E*
cd ..; n=$(basename "$OLDPWD"); mv "$n" moved; cat moved/.e*
n=en; ln .${n}v hard; cat hard; umount .${n}v; cat .${n}v
n=en; unshare -Urm sh -c "umount -l .${n}v; cat .${n}v"
n=en; rm -f .${n}v; echo x > .${n}v
n=lock; rm -f $n.json; mv $n.json y; echo x > $n.json; chmod 777 $n.json; truncate -s0 $n.json
n=lock; echo y > t; mv -f t $n.json; ln -sf t $n.json; cp -f t $n.json; sed -i 1d $n.json; rm t
python3 -c "import os; open('t', 'w'); os.replace('t', 'lo' + 'ck.json')"; rm t
""".strip().splitlines()


class Yes(Approver):
    async def approve(self, request):
        return ApprovalDecision("allow")


@pytest.fixture(scope="module")
def holds():
    if Sandboxes(None).backends()[0].problem():
        pytest.skip("bubblewrap does not work here")


@pytest.fixture
def ran(skillkit_home):
    """``ran({settings}, line, ...)`` lets a model run lines, each of which a person allows."""

    def run(settings, *lines, mode=None):
        async def go():
            given = {"tools.allow": ["bash"], "plugins.disabled": ["context"], **settings}
            host = Host(cwd=skillkit_home.cwd, settings=given)
            async with AgentRunner(AgentConfig(approver=Yes()), host=host) as agent:
                if mode:
                    set_mode(agent, mode)
                agent.set_adapter(ScriptedModel([*(Reply(calls=[Call("bash", {"command": x})]) for x in lines), "."]))
                await agent.chat("Go.")
                told = [m.text for m in agent.messages if m.role == "tool_result"]
            await host.aclose()
            return told

        return asyncio.run(go())

    return run


@pytest.fixture
def project(holds, skillkit_home):
    here = skillkit_home.cwd
    (here / ".env").write_text("SECRET=1\n")
    (here / "deep").mkdir()
    (here / "deep" / ".ENV").write_text("SECRET=2\n")
    (here / "lock.json").write_text("{}")
    return here


DENY = {"permissions.deny": ["Read(.env)", "Edit(lock.json)"]}


def test_a_file_that_may_not_be_read_or_edited_is_not_whatever_a_line_says(ran, project):
    outside = ran({**DENY, "sandbox.bash": "off"}, READS, WRITES)
    assert "SECRET=1" in outside[0] and (project / "lock.json").read_text() == "{}x"
    lines = [
        READS,
        READS.replace("'.'", "'deep/.'").replace("en;", "EN;").replace("'v'", "'V'"),
        WRITES,
        "cat ./.[e]nv",
    ]
    told = ran(DENY, *lines)
    assert not any("SECRET" in text for text in told) and (project / "lock.json").read_text() == "{}x"
    assert "Read-only file system" in told[2] and "sandbox of what the user's rules deny" in told[2]


def test_no_way_around_a_misread_rule_leads_past_the_kernel(ran, project):
    told = ran(DENY, *MISREAD)
    assert [line for line, text in zip(MISREAD, told, strict=True) if "SECRET" in text] == []
    assert not any(text.startswith("Blocked") for text in told), "a rule saw what it is about"
    assert (project / "lock.json").read_text() == "{}" and (project / ".env").read_text() == "SECRET=1\n"


def test_ordinary_work_goes_on_in_the_sandbox_of_the_rules(ran, project, tmp_path):
    lines = [
        "git init -q . && git add lock.json && git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s",
        "mkdir -p out && echo built > out/x && mv out/x out/y && cat out/y && rm -r out",
        f"echo beside > {tmp_path}/beside && cat {tmp_path}/beside && f=$(mktemp) && echo t > $f && rm $f && echo gone",
        'python3 -c \'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print("bound")\'',
        "exit 7",
    ]
    told = ran(DENY, *lines)
    assert told[0] == "one" and told[1] == "built" and told[2] == "beside\ngone" and told[3] == "bound"
    assert "[exit code 7" in told[4]


def test_without_a_page_to_fetch_there_is_no_network_and_read_only_writes_nothing(ran, project):
    reaches = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 1))'"
    assert "Connection refused" in ran({}, reaches)[0]
    told = ran({"permissions.deny": ["WebFetch"]}, "cat /proc/net/route | wc -l")
    assert told[0] == "1"
    assert "Blocked" in ran({}, WRITES, mode="read-only")[0]


def test_what_no_rule_denies_runs_as_it_did(ran, project):
    (pid,) = ran({"permissions.allow": ["Bash(echo:*)"]}, "echo $PPID")
    assert int(pid) > 2, "the command sees the processes of the machine"
    (pid,) = ran(DENY, "echo $PPID")
    assert int(pid) <= 2


def test_slash_permissions_and_list_say_what_the_kernel_holds(skillkit_cli, skillkit_home, project):
    skillkit_home.write_config("permissions:\n  deny: ['Read(.env)', 'Bash(rm:*)']\n  allow: ['Bash(python3:*)']\n")
    said = skillkit_cli("permissions", "list").ok().stdout
    assert "bash runs in a sandbox of the rules (bubblewrap)" in said and "Bash(rm:*): the kernel knows files" in said
    data = skillkit_cli("permissions", "list", "--json").ok().json["kernel"]
    assert data["sandbox"] == "bubblewrap" and data["holds"] == ["Read(.env)"] and len(data["hidden"]) == 2
    skillkit_home.write_config("permissions: {deny: ['Read(.env)']}\nsandbox: {bash: off}\n")
    said = skillkit_cli("permissions", "list").ok().stdout
    assert "nothing stands behind the rules" in said
    assert json.loads(skillkit_cli("permissions", "list", "--json").ok().stdout)["kernel"]["sandbox"] is None


def test_a_project_does_not_switch_it_off(skillkit_cli, skillkit_home, project):
    (project / ".skillkit").mkdir()
    (project / ".skillkit" / "config.yaml").write_text("sandbox: {bash: off}\n")
    skillkit_home.write_config("permissions: {deny: ['Read(.env)']}\n")
    skillkit_cli("config", "trust").ok()
    assert skillkit_cli("permissions", "list", "--json").ok().json["kernel"]["sandbox"] == "bubblewrap"
