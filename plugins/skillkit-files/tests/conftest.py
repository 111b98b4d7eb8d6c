"""An agent in a folder calls tools as a model does."""

import os
import shutil
import sys
from pathlib import Path

import pytest
import skillkit_files.plugin

from skillkit_core import AgentConfig, AgentRunner
from skillkit_core.testing import Call, Reply, ScriptedModel

NAMES = ("read", "write", "edit", "apply_patch", "grep", "glob", "ls")


@pytest.fixture
def work(skillkit_home):
    """The workspace: the project of the empty home."""
    return skillkit_home.cwd


@pytest.fixture
def agent_in(make_host):
    """``agent_in(folder, ...)`` makes an agent that may use all file tools."""

    def make(folder, *plugins, settings=None, session=None, allow=NAMES, **config):
        settings = {"tools.allow": list(allow), **(settings or {})}
        host = make_host(("files", skillkit_files.plugin), *plugins, settings=settings)
        return AgentRunner(AgentConfig(cwd=folder, **config), host=host, session=session)

    return make


@pytest.fixture
def call():
    """``await call(agent, "read", path="a")`` gives the result as the model reads it; several calls: ``call.batch``."""

    async def one(agent, name, /, **args):
        return (await batch(agent, (name, args)))[0]

    async def batch(agent, *wanted):
        agent.set_adapter(ScriptedModel([Reply(calls=[Call(name, args) for name, args in wanted]), "done"]))
        known = len(agent.messages)
        await agent.chat("go")
        return [m for m in agent.messages[known:] if m.role == "tool_result"]

    one.batch = batch
    return one


@pytest.fixture
def ripgrep(monkeypatch):
    """ripgrep in the path: that of the environment of the tests, else that of the system."""
    beside = Path(sys.executable).parent
    if (beside / "rg").exists():
        monkeypatch.setenv("PATH", f"{beside}:{os.environ['PATH']}")
    found = shutil.which("rg")
    if found is None:
        message = "ripgrep is not installed (the test group of skillkit-files has it)"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    return found
