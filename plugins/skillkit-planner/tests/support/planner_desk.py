"""A desk that plans, in processes that are forked one for each job: it asks or resumes, and dies at one of its writes.

Jobs come as JSON lines on stdin: ``{"home": "...", "dies": [n, before], "resume": true, "defer": false}``; each answer is a line
``{"status": -9, "result": null}``.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner_stage import FAMILY, Answers, choice, step
from skillkit_planner import plans_of

from skillkit_core import AgentConfig, AgentRunner, ApprovalDecision, Approver, Host, RetryPolicy, Tool
from skillkit_core.errors import UsageError
from skillkit_core.frozen import thaw
from skillkit_core.testing import Call, Reply, ScriptedModel, ScriptedUser

QUERY = "Research X, capture key points to my inbox, and update chapter 12"
CHOICE = choice(
    step("deep-research", "Research X"),
    step("org-capture", "Capture the key points to my inbox", 1),
    step("fiction-editing", "Update chapter 12", 1),
)
SKILLS: Mapping[str, Mapping[str, Any]] = {
    "deep-research": {}, "org-capture": {"tools": ["add_org_inbox_item_tool"]}, "fiction-editing": {}
}  # fmt: skip


def write_skills(folder: Path) -> None:
    for name, fields in SKILLS.items():
        place = folder / name
        place.mkdir(parents=True)
        about = {"engine": "automation", **fields}
        head = {"name": name, "description": f"Does {name}.", "metadata": {"skillkit": about}}
        (place / "SKILL.md").write_text(f"---\n{json.dumps(head)}\n---\nDo it.\n")


class Desk:
    """What one process does: asks, or resumes; it dies at its n-th write of an entry, before it or after it."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.home = Path(job["home"])
        self.dies = tuple(job["dies"]) if job.get("dies") else None
        self.person, self.again = job.get("person", True), job.get("again", True)
        self.resume, self.guarded, self.decisions = bool(job.get("resume")), job.get("approver"), job.get("decisions")
        self.writes = 0

    def did(self, name: str) -> None:
        with (self.home / "effects").open("a") as file:
            file.write(f"{name}\n")

    def answers(self) -> Answers:
        def captures(request: Any) -> Any:
            if request.messages[-1].role == "tool_result":
                return "Captured."
            self.did("org-capture")
            return Reply(calls=[Call("add_org_inbox_item_tool", {}, "c1")])

        def says(name: str, text: str) -> Any:
            def answer(request: Any) -> str:
                self.did(name)
                return text

            return answer

        said = {
            "Research X": says("deep-research", "X is cold."), "Capture the key points": captures,
            "Update chapter 12": says("fiction-editing", "Updated."),
        }  # fmt: skip
        return Answers(CHOICE, said)

    async def add(self, args: Any, ctx: Any) -> str:
        self.did("tool")
        if self.dies == tuple("tool"):
            os.kill(os.getpid(), signal.SIGKILL)
        return "captured"

    def listen(self, handle: Any) -> None:
        """Die at a write of any session of this process."""
        kind = type(handle)
        append = kind.append

        async def counted(handle: Any, entry: Any, **how: Any) -> Any:
            self.writes += 1
            place = self.writes
            if self.dies == (place, True):
                os.kill(os.getpid(), signal.SIGKILL)
            done = await append(handle, entry, **how)
            if self.dies == (place, False):
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        kind.append = counted

    async def work(self) -> dict[str, Any]:
        """Ask, or resume; tell what came of it."""
        settings = {"skills.dirs": [str(self.home / "skills")]}
        environ = {"SKILLKIT_HOME": str(self.home)}
        host = Host(environ=environ, cwd=self.home, discover=False, plugins=FAMILY, settings=settings)
        annotations = {"mutates": "files", **({"requires_approval": True} if self.guarded else {})}
        tool = Tool("add_org_inbox_item_tool", "Capture.", self.add, annotations=annotations)
        user = ScriptedUser(*[{"again": self.again}] * 3)
        given: dict[str, Any] = (
            {"approver": Decides(self.guarded)} if self.guarded else {"ui": user if self.person else None}
        )
        known = self.home / "session"
        session = known.read_text() if known.exists() else "new"
        config = AgentConfig(model="any", tools=(tool,), retry=RetryPolicy(attempts=1), **given)
        async with AgentRunner(config, host=host, session=session) as agent:
            await agent.open()
            known.write_text(str(agent.session_id))
            self.listen(agent.session.handle)
            agent.set_adapter(ScriptedModel([self.answers()], repeat=True))
            waiting = agent.suspension
            decisions = {call.id: self.decisions for call in waiting.calls} if self.decisions and waiting else None
            try:
                response = await (agent.resume(decisions) if self.resume else agent.chat(QUERY))
            except UsageError:  # it died before the request was in the session
                response = await agent.chat(QUERY)
            plans = plans_of(agent.host, agent.session)
            records = [dict(thaw(record)) for record in plans[-1].records] if plans else []
            told = {"records": records, "states": {n: s.state for n, s in plans[-1].steps.items()} if plans else {}}
            about = {"outcome": response.outcome, "content": response.content, "reason": response.reason}
            return {**about, **told, "writes": self.writes, "asked": len(user.surveys)}


class Decides(Approver):
    """Decides with one word."""

    def __init__(self, word: str) -> None:
        self._word = word

    async def approve(self, request: Any) -> ApprovalDecision:
        return ApprovalDecision(self._word)  # type: ignore[arg-type]


def main() -> None:
    gc.freeze()
    for line in sys.stdin:
        job = json.loads(line)
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(out)
            try:
                result = asyncio.run(Desk(job).work())
                os.write(into, json.dumps({"modules": sorted(sys.modules), **result}).encode())
            except BaseException as error:
                os.write(into, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
            os._exit(0)
        os.close(into)
        with os.fdopen(out) as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        result = json.loads(text or "null")
        for name in result.pop("modules", ()) if result else ():  # what one has imported the next ones are forked with
            if name not in sys.modules and name.startswith(
                ("skillkit_", "pydantic", "yaml", "click", "json", "encodings")
            ):
                importlib.import_module(name)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status), "result": result}), flush=True)


if __name__ == "__main__":
    main()
