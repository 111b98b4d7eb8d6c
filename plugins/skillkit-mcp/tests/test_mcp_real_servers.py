"""The servers that people use: time and git in Python, everything, filesystem and memory in Node."""

import asyncio
import subprocess
import sys

import pytest

from skillkit_core.testing import Call, Reply, ScriptedModel, user

TIME = {"command": sys.executable, "args": ["-m", "mcp_server_time", "--local-timezone", "Europe/Zurich"]}


@pytest.mark.smoke
async def test_the_time_server_answers_through_an_agents_tool(connect):
    client = connect({"time": TIME})
    result = await client.call(
        "mcp__time__convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"
    )
    assert not result.is_error and "21:00" in result.text
    wrong = await client.call("mcp__time__get_current_time", timezone="Nowhere/City")
    assert wrong.is_error and "Nowhere" in wrong.text
    assert [request.tool_name for request in client.approver.asked] == [
        "mcp__time__convert_time",
        "mcp__time__get_current_time",
    ]
    await client.host.aclose()


async def test_the_git_server_reads_and_commits_in_a_repository(connect, tmp_path):
    repository = tmp_path / "repo"
    git = ["git", "-C", str(repository), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "a.txt").write_text("one\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "First"], check=True)
    (repository / "a.txt").write_text("two\n")
    server = {"command": sys.executable, "args": ["-m", "mcp_server_git", "--repository", str(repository)]}
    client = connect({"git": {**server, "enabledTools": ["git_status", "git_diff*", "git_log"]}})
    tools = await client.tools()
    assert "mcp__git__git_status" in tools and "mcp__git__git_commit" not in tools
    assert tools["mcp__git__git_status"].annotations["mutates"] == "world"
    status, diff, log = await client.calls(
        ("mcp__git__git_status", {"repo_path": str(repository)}),
        ("mcp__git__git_diff_unstaged", {"repo_path": str(repository)}),
        ("mcp__git__git_log", {"repo_path": str(repository)}),
    )
    assert "modified:   a.txt" in status.text and "+two" in diff.text and "First" in log.text
    await client.host.aclose()


async def test_the_everything_server_shows_progress_asks_and_has_prompts_and_resources(connect, npm_servers):
    person = user.ScriptedUser(lambda survey: {"name": "Ada", **_answers(survey)})
    client = connect({"everything": {"command": str(npm_servers / "mcp-server-everything")}}, ui=person)
    tools = await client.tools()
    assert "mcp__everything__echo" in tools
    echo = await client.call("mcp__everything__echo", message="hello")
    assert "hello" in echo.text
    slow = next(name for name in tools if "long" in name.lower())
    done = await client.call(slow, duration=1, steps=4)
    assert not done.is_error, done.text
    assert any(shown.startswith("2/4") for shown in client.shown), client.shown
    image = next(name for name in tools if "image" in name.lower())
    assert any(block.type == "image" for block in (await client.call(image)).content)
    asking = next(name for name in tools if "elicitation" in name.lower())
    asked = await client.call(asking)
    assert person.surveys and "everything" in person.surveys[0].title
    assert "Ada" in asked.text, asked.text
    resources = (await client.call("mcp_resource")).text
    uri = next(line.split("  ")[0] for line in resources.splitlines() if "://" in line)
    assert (await client.call("mcp_resource", uri=uri)).text.strip()
    await client.host.aclose()


def _answers(survey):
    """Answer what the form wants, by kind."""
    found = {}
    for question in survey.questions:
        if question.kind == "confirm":
            found[question.id] = True
        elif question.kind == "choice":
            found[question.id] = question.options[0].value
        elif question.kind == "choices":
            found[question.id] = (question.options[0].value,)
        elif question.id == "name":
            found[question.id] = "Ada"
        elif question.default is None:
            found[question.id] = "7" if question.required else ""
    return found


async def test_the_filesystem_server_stays_in_its_folder(connect, npm_servers, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "note.txt").write_text("remember the milk")
    (tmp_path / "secret.txt").write_text("no")
    client = connect({"fs": {"command": str(npm_servers / "mcp-server-filesystem"), "args": [str(folder)]}})
    read, refused, written = await client.calls(
        ("mcp__fs__read_text_file", {"path": str(folder / "note.txt")}),
        ("mcp__fs__read_text_file", {"path": str(tmp_path / "secret.txt")}),
        ("mcp__fs__write_file", {"path": str(folder / "new.txt"), "content": "made"}),
    )
    assert "remember the milk" in read.text
    assert refused.is_error and "denied" in refused.text.lower()
    assert not written.is_error and (folder / "new.txt").read_text() == "made"
    await client.host.aclose()


async def test_the_memory_server_keeps_what_it_is_told_for_all_agents_of_a_host(connect, npm_servers, tmp_path):
    memory = {
        "command": str(npm_servers / "mcp-server-memory"),
        "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")},
    }
    client = connect({"memory": memory})
    entity = {"name": "Bern", "entityType": "city", "observations": ["has bears"]}
    await client.call("mcp__memory__create_entities", entities=[entity])
    found = await client.call("mcp__memory__search_nodes", query="bears")
    assert "Bern" in found.text and "bears" in (tmp_path / "memory.json").read_text()
    await client.host.aclose()


async def test_a_call_comes_back_at_once_when_its_run_is_aborted(connect, npm_servers):
    client = connect({"everything": {"command": str(npm_servers / "mcp-server-everything")}})
    name = next(name for name in await client.tools() if "long" in name.lower())
    async with client.agent() as agent:
        agent.set_adapter(ScriptedModel([Reply(calls=[Call(name, {"duration": 60, "steps": 60})])]))
        begun = asyncio.Event()
        agent.events.on("tool_execution_update", lambda event: begun.set())
        run = asyncio.create_task(agent.chat("go"))
        await begun.wait()
        agent.abort()
        await asyncio.wait_for(asyncio.gather(run, return_exceptions=True), 2)
    assert "hello" in (await client.call("mcp__everything__echo", message="hello")).text
    await client.host.aclose()
