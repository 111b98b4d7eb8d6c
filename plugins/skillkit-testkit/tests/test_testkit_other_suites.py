"""The suites for runtimes, compactors, session stores and skill loaders, run on small complete implementations."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import signal as signals
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from skillkit_testkit.conformance import (
    CompactorConformance,
    RuntimeConformance,
    SessionStoreConformance,
    SkillLoaderConformance,
    UserInterfaceConformance,
)

from skillkit_core import (
    AbortSignal,
    CompactionRequest,
    CompactionResult,
    Compactor,
    ExecutionResult,
    LoadedSkills,
    SessionStore,
    Skill,
    SkillLoader,
    SkillRuntime,
    SkillSource,
    UserInterface,
)
from skillkit_core.errors import ToolError
from skillkit_core.messages import AssistantMessage, ToolResultMessage
from skillkit_core.skills import SkillProblem
from skillkit_core.testing import ScriptedUser

HERE = Path(__file__).parent


class SmallRuntime(SkillRuntime):
    """Processes in a group of their own, killed as a group."""

    async def execute(
        self,
        command: str | Sequence[str],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        on_output: Callable[[str], None] | None = None,
        *,
        on_error_output: Callable[[str], None] | None = None,
        signal: AbortSignal | None = None,
        stdin: bytes | None = None,
        max_output: int = 256 * 1024,
    ) -> ExecutionResult:
        if signal is not None and signal.aborted:
            return ExecutionResult(exit_code=None, aborted=True)
        if cwd is not None and not cwd.is_dir():
            raise ToolError(f"no such directory: {cwd}")
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env={"PATH": os.environ["PATH"]} if env is None else dict(env),
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise ToolError(f"no such program: {argv[0]}") from None
        ended: dict[str, bool] = {}

        def end(why: str) -> None:
            ended.setdefault(why, True)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signals.SIGKILL)

        loop = asyncio.get_running_loop()
        timer = loop.call_later(timeout, end, "timed_out") if timeout else None
        remove = signal.add_callback(lambda: end("aborted")) if signal else lambda: None
        try:
            out, err, _ = await asyncio.gather(
                self._read(process.stdout, on_output),
                self._read(process.stderr, on_error_output or on_output),
                self._feed(process.stdin, stdin),
            )
            code = await process.wait()
        except asyncio.CancelledError:
            end("cancelled")
            await process.communicate()
            raise
        finally:
            remove()
            if timer:
                timer.cancel()
        cut = [
            t if len(t) <= max_output else t[: max_output // 2] + " ... " + t[-max_output // 2 :] for t in (out, err)
        ]
        sizes = len(out.encode()), len(err.encode())
        exit_code = None if ended else code
        return ExecutionResult(
            *cut, exit_code, truncated=cut != [out, err], stdout_bytes=sizes[0], stderr_bytes=sizes[1], **ended
        )

    async def _read(self, reader: Any, tell: Callable[[str], None] | None) -> str:
        decoder, parts = codecs.getincrementaldecoder("utf-8")("replace"), []
        while True:
            data = await reader.read(65536)
            text = decoder.decode(data, final=not data)
            if text:
                parts.append(text)
                if tell:
                    tell(text)
            if not data:
                return "".join(parts)

    async def _feed(self, writer: Any, data: bytes | None) -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(data or b"")
            await writer.drain()
            writer.close()
            await writer.wait_closed()


class TestSmallRuntime(RuntimeConformance):
    @pytest.fixture
    def runtime(self) -> SkillRuntime:
        return SmallRuntime()


class TestARuntimeWithoutAShell(RuntimeConformance):
    """It starts programs and refuses strings; every other check holds."""

    shell = False

    @pytest.fixture
    def runtime(self) -> SkillRuntime:
        class Programs(SmallRuntime):
            async def execute(self, command: Any, *args: Any, **options: Any) -> ExecutionResult:
                if isinstance(command, str):
                    raise ToolError("no shell")
                return await super().execute(command, *args, **options)

        return Programs()


class KeepHalf(Compactor):
    """Summarises what lies before the first legal cut behind the middle."""

    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        open_calls: set[str] = set()
        for n, message in enumerate(request.messages):
            if isinstance(message, AssistantMessage):
                open_calls |= {c.id for c in message.tool_calls}
            elif isinstance(message, ToolResultMessage):
                open_calls.discard(message.tool_call_id)
            if n >= len(request.messages) // 2 and not open_calls and n + 1 < len(request.messages):
                summary = await request.complete("Summarise.", ())
                return CompactionResult(summary, n + 1) if summary.strip() else None
        return None


class TestKeepHalf(CompactorConformance):
    @pytest.fixture
    def compactor(self) -> Compactor:
        return KeepHalf()


class TestScriptedUser(UserInterfaceConformance):
    @pytest.fixture
    def make_ui(self) -> Callable[..., UserInterface]:
        return ScriptedUser

    @pytest.fixture
    def idle_ui(self) -> UserInterface:
        return ScriptedUser(*[lambda survey: asyncio.get_running_loop().create_future()] * 2)


class TestSmallStore(SessionStoreConformance):
    opener = "testkit_small_store:SmallStore"

    @pytest.fixture(autouse=True)
    def importable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(str(HERE))
        monkeypatch.setenv("PYTHONPATH", str(HERE))


class TestAForgetfulStore(SessionStoreConformance):
    """A store that cannot be opened elsewhere: the suite skips what does not apply and checks the rest."""

    durable = False

    @pytest.fixture
    def make_store(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], SessionStore]:
        monkeypatch.syspath_prepend(str(HERE))
        from testkit_small_store import SmallStore

        return lambda: SmallStore(tmp_path / "sessions")


class SmallLoader(SkillLoader):
    """Folders with a SKILL.md."""

    def accepts(self, source: SkillSource) -> bool:
        return source.path is not None and source.path.is_dir()

    def load(self, source: SkillSource) -> LoadedSkills:
        skills, problems = [], []
        for path in sorted((source.path or Path()).glob("*/SKILL.md")):
            found = re.match(r"---\n(.*?\n)---\n(.*)", path.read_text(), re.DOTALL)
            try:
                fields = yaml.safe_load(found[1]) if found else {}
                skills.append(Skill(name=fields["name"], description=fields["description"], body=found[2], path=path))
            except (yaml.YAMLError, KeyError, TypeError) as error:
                problems.append(SkillProblem("unreadable", str(error), "error", str(path)))
        return LoadedSkills(skills, problems)


class TestSmallLoader(SkillLoaderConformance):
    @pytest.fixture
    def loader(self) -> SkillLoader:
        return SmallLoader()


# -- the suites notice what is broken


class Grouped(SmallRuntime):
    """Kills the command alone, not its family."""

    async def execute(
        self, command: Any, cwd: Any = None, env: Any = None, timeout: Any = None, *args: Any, **more: Any
    ):
        process = await asyncio.create_subprocess_exec(*command, cwd=cwd, stdout=asyncio.subprocess.PIPE)
        line = await process.stdout.readline()
        process.kill()
        process._transport.close()
        await process.wait()
        return ExecutionResult(line.decode(), exit_code=None, timed_out=True)


def test_the_suite_catches_a_grandchild_that_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from skillkit_testkit.conformance.processes import Family

    family = Family(tmp_path)
    monkeypatch.setattr(family, "gone", lambda: Family.gone(family, 0.5))
    with pytest.raises(AssertionError, match="a grandchild survived"):
        TestSmallRuntime().test_a_timeout_ends_the_whole_family(Grouped(), family)
    family.end()
    assert Family.gone(family), "the suite leaves nothing behind"


class Careless(Compactor):
    def __init__(self, keep_from: int, summary: str = "") -> None:
        self.result = CompactionResult(summary, keep_from)

    async def compact(self, request: CompactionRequest) -> CompactionResult | None:
        keep = self.result.keep_from
        return CompactionResult(self.result.summary, len(request.messages) if keep < 0 else keep)


@pytest.mark.parametrize(
    ("compactor", "why"),
    [
        (Careless(-1), "empty"),
        (Careless(0, "summary"), "keep_from 0"),
        (Careless(2, "summary"), "between call and result"),
    ],
)
def test_the_suite_catches_an_illegal_compaction(compactor: Compactor, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        TestKeepHalf().test_one_giant_turn_is_not_split_illegally(compactor)
