"""The adapter of the corpus: an agent whose scripted model makes each call, and the result as that model would get it."""

import asyncio
import os

import skillkit_files.plugin

from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.testing import Call, Reply, ScriptedModel

NAMES = ("read", "write", "edit", "apply_patch", "grep", "glob", "ls")
RIPGREP = os.environ.get("SKILLKIT_TEST_RIPGREP") == "1"


class Session:
    def __init__(self, root):
        self._loop = asyncio.new_event_loop()
        self._host = Host(plugins=[("files", skillkit_files.plugin)], discover=False)
        self._host.configure({"files.ripgrep": RIPGREP, "tools.allow": list(NAMES)})
        self._agent = AgentRunner(AgentConfig(cwd=root), host=self._host)

    def call(self, tool, args):
        return self._loop.run_until_complete(self._call("edit" if tool == "multi_edit" else tool, args))

    async def _call(self, tool, args):
        self._agent.set_adapter(ScriptedModel([Reply(calls=[Call(tool, args)]), "done"]))
        known = len(self._agent.messages)
        await self._agent.chat("go")
        (result,) = (m for m in self._agent.messages[known:] if m.role == "tool_result")
        # what the schema refuses never reaches the tool, and has no class
        error = (result.details or {}).get("error", "invalid") if result.is_error else None
        images = [block.mime_type for block in result.content if block.type == "image"]
        return {"ok": not result.is_error, "error": error, "text": result.text, "attachments": images}

    def close(self):
        self._loop.run_until_complete(self._agent.aclose())
        self._loop.run_until_complete(self._host.aclose())
        self._loop.close()


def open_session(root, options):
    return Session(root)


def warm_up(root):
    """Import what calls import, so that forked processes need not."""
    session = open_session(root, {})
    calls = [
        ("write", {"path": "a", "content": "x\n"}),
        ("grep", {"pattern": "x"}),
        ("glob", {"pattern": "*"}),
        ("ls", {}),
        ("edit", {"path": "a", "old": "x", "new": "y"}),
        ("read", {"path": "a"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}),
    ]
    for name, args in calls:
        assert session.call(name, args)["ok"]
    session.close()
