"""A process in which two skills work together, and which is killed where it is told: ``collaboration_desk.py HOME JOB``."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from collaboration_stage import A, Answers, C, P, R
from skillkit_collaboration import records_of
from skillkit_testkit.engines import FAMILY, installed, write_engine_skill

from skillkit_core import AgentConfig, AgentRunner, Host
from skillkit_core.testing import ScriptedModel

PATTERN = {"participants": ["research", "critic"], "roles": {"critic": "critic"}}


def main(home: Path, job: dict[str, Any]) -> None:
    """Run a request, or resume the session of one; tell on stdout what became of it."""
    for name in ("research", "critic"):
        write_engine_skill(home / "skills", name, engine="automation")
    names = [*FAMILY, "sessions", "engine-automation", "collaboration"]
    host = Host(
        discover=False,
        environ={"SKILLKIT_HOME": str(home)},
        plugins=[installed(name) for name in names],
        settings={"skills.dirs": [str(home / "skills")], "collaboration.patterns": {"pair": PATTERN}},
    )
    asyncio.run(_play(host, home, job))


async def _play(host: Host, home: Path, job: dict[str, Any]) -> None:
    what, _, number = str(job.get("dies") or "").partition(":")
    count = 0

    def die(kind: str) -> None:
        nonlocal count
        count += kind == what
        if kind == what and count == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    model = Answers({"research": _writes, "critic": _judges})

    def ask(request: Any) -> Any:
        answer = model(request)
        with (home / "asked").open("a") as file:
            file.write(f"{model.asked[-1]}\n")
        die("ask")
        return answer

    session = (home / "session").read_text() if job.get("resume") else "new"
    async with AgentRunner(AgentConfig(model="any"), host=host, session=session) as agent:
        agent.set_adapter(ScriptedModel([ask], repeat=True))
        agent.events.observe(lambda event: die("message"), ["collaboration_message"])
        (home / "session").write_text((await agent.open()).id)
        response = await (agent.resume() if job.get("resume") else agent.chat("/pair Write about glaciers."))
        (record,) = records_of(host, agent.session)
        trace = record.trace().model_dump(mode="json")
        print(json.dumps({"content": response.content, "trace": trace, "notes": len(agent.session.notes())}))
    await host.aclose()


def _writes(request: Any) -> str:
    return R if "critique text" in "\n".join(m.text for m in request.messages) else P


def _judges(request: Any) -> str:
    return A if "revision text" in "\n".join(m.text for m in request.messages) else C


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
