"""An editor that drives ``skillkit acp`` through the protocol's own client library."""

import asyncio
import os
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "support" / "editor_plugin.py"


@pytest.fixture(scope="session", autouse=True)
def _client_library():
    """Import with the first test what takes long, and not where tests are collected."""
    global acp, s, spawn_agent_process
    import acp
    from acp import schema as s
    from acp.stdio import spawn_agent_process


class Editor:
    """Keeps what it is told, and answers as the test says."""

    def __init__(self):
        self.updates, self.asked, self.forms, self.terminals = [], [], [], {}
        self.choose, self.form, self.on_ask = "allow", None, None
        self.texts, self.written = {}, {}
        self.news = asyncio.Condition()

    def on_connect(self, agent):
        """Take the agent's side."""
        self.agent = agent

    async def session_update(self, session_id, update, **_):
        """Keep an update."""
        async with self.news:
            self.updates.append((session_id, update))
            self.news.notify_all()

    async def request_permission(self, session_id, tool_call, options, **_):
        """Choose an option by its id."""
        self.asked.append((tool_call, options))
        if self.on_ask is not None:
            await self.on_ask(session_id)
        if self.choose is None:
            return s.RequestPermissionResponse(outcome=s.DeniedOutcome(outcome="cancelled"))
        return s.RequestPermissionResponse(outcome=s.AllowedOutcome(outcome="selected", option_id=self.choose))

    async def create_elicitation(self, message, mode, **_):
        """Fill the form in."""
        self.forms.append((message, mode.requested_schema.model_dump(mode="json", by_alias=True, exclude_none=True)))
        form = self.form[len(self.forms) - 1] if isinstance(self.form, list) else self.form
        return (
            s.DeclineElicitationResponse(action="decline")
            if form is None
            else s.AcceptElicitationResponse(action="accept", content=form)
        )

    async def read_text_file(self, session_id, path, **_):
        """Return what is not saved yet, else what is on the disk."""
        return s.ReadTextFileResponse(content=self.texts.get(path) or Path(path).read_text())

    async def write_text_file(self, session_id, path, content, **_):
        """Take a text."""
        self.written[path] = content

    async def create_terminal(self, session_id, command, args=None, cwd=None, **_):
        """Run a command, as terminals of editors do."""
        name = f"terminal-{len(self.terminals)}"
        process = await asyncio.create_subprocess_exec(
            command, *args, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.terminals[name] = [process, "", False]
        return s.CreateTerminalResponse(terminal_id=name)

    async def wait_for_terminal_exit(self, session_id, terminal_id, **_):
        """Wait for the end of it."""
        kept = self.terminals[terminal_id]
        out, _ = await kept[0].communicate()
        kept[1] += out.decode()
        code = kept[0].returncode
        return s.WaitForTerminalExitResponse(
            exit_code=code if code >= 0 else None, signal=None if code >= 0 else "SIGKILL"
        )

    async def terminal_output(self, session_id, terminal_id, **_):
        """Return what it printed."""
        return s.TerminalOutputResponse(output=self.terminals[terminal_id][1], truncated=False)

    async def kill_terminal(self, session_id, terminal_id, **_):
        """End it."""
        self.terminals[terminal_id][0].kill()

    async def release_terminal(self, session_id, terminal_id, **_):
        """Forget it."""
        self.terminals[terminal_id][2] = True

    # --- what the test asks -----------------------------------------------------------------------------------

    def of(self, kind):
        """Return the updates of a kind."""
        return [update for _, update in self.updates if update.session_update == kind]

    def text(self, kind="agent_message_chunk"):
        """Return the text of all updates of a kind."""
        return "".join(getattr(update.content, "text", "") for update in self.of(kind))

    async def heard(self, condition):
        """Wait until a condition holds."""
        async with asyncio.timeout(30), self.news:
            await self.news.wait_for(condition)

    async def begin(self, folder):
        """Begin a session; return its id."""
        return (await self.agent.new_session(cwd=str(folder), mcp_servers=[])).session_id

    async def say(self, session, text, *blocks):
        """Say something; return how it ended."""
        return await self.agent.prompt(session_id=session, prompt=[acp.text_block(text), *blocks])


@pytest.fixture
def acp_argv(skillkit_cli, install_plugin):
    """The command line that an editor starts."""
    install_plugin("obeys", PLUGIN)
    return [*skillkit_cli.program, "-P", "obeys", "acp", "--provider", "obeys"]


@pytest.fixture
def with_editor(acp_argv, skillkit_home):
    """``with_editor(work)`` gives what ``await work(editor, hello)`` does with an agent process of its own."""

    @asynccontextmanager
    async def opened(*options, files=False, terminal=False, forms=False):
        editor = Editor()
        elicitation = s.ElicitationCapabilities(form=s.ElicitationFormCapabilities()) if forms else None
        can = s.ClientCapabilities(
            fs=s.FileSystemCapabilities(read_text_file=files, write_text_file=files),
            terminal=terminal,
            elicitation=elicitation,
        )
        started = spawn_agent_process(
            editor, *acp_argv, *options, env=dict(os.environ), cwd=skillkit_home.cwd, use_unstable_protocol=True
        )
        async with asyncio.timeout(60), started as (agent, _):
            hello = await agent.initialize(
                protocol_version=1, client_capabilities=can, client_info=s.Implementation(name="test", version="1")
            )
            yield editor, hello

    def run(work, *options, **can):
        async def main():
            async with opened(*options, **can) as (editor, hello):
                return await work(editor, hello)

        return asyncio.run(main())

    run.opened = opened
    return run
