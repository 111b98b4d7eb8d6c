"""Compactors and sources of credentials of an isolated plugin: their contracts hold over the wire."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from isolation_kit import write_package
from skillkit_testkit.conformance import CompactorConformance

from skillkit_core import AgentConfig, AgentRunner, Compactor, Host, ModelDefinition, Selection
from skillkit_core.testing import ScriptedModel

SMALL = ModelDefinition("small", "scripted", "scripted", context_window=5_000)
HALF = '''
class Half(Compactor):
    """Keeps the newest messages that fit into half of the budget, and lets the model sum up the others."""

    async def compact(self, request):
        turns = [n for n, m in enumerate(request.messages) if m.role == "user" and n]
        fit = [n for n in turns if request.estimate(request.messages[n:]) < request.budget // 2]
        if not fit:
            return None
        summary = await request.complete("Sum up.", request.messages[:fit[0]])
        if not summary.strip():
            summary = f"{len(request.messages)} messages in {os.getpid()}, {request.model.id}"
        return CompactionResult(summary, fit[0], details={"reason": request.reason})

class Rude(Compactor):
    async def compact(self, request):
        os._exit(3)

class Wrong(Compactor):
    async def compact(self, request):
        return "short"

@hookimpl
def register_compactors(register):
    register(Factory("half", lambda host: Half(), "keeps what fits"))
    register(Factory("rude", lambda host: Rude()))
    register(Factory("wrong", lambda host: Wrong()))

class Vault:
    async def get(self, name):
        if name == "END":
            os._exit(3)
        return {"ACME_KEY": "acme-key-of-the-vault", "NUMBER": 7}.get(name)

@hookimpl
def register_credentials(register):
    register(Factory("vault", lambda host: Vault()))
'''


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """One host with the plugin in a process of its own, for all tests."""
    folder = tmp_path_factory.mktemp("apart")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        write_package(folder, "half", HALF)
        only = Selection(only=("isolation", "half"))
        settings = {"plugins.isolate": ["half"], "isolation.restarts": 9}
        host = Host(selection=only, settings=settings, environ={"SKILLKIT_HOME": str(folder), "PATH": "/usr/bin:/bin"})
        assert host.problems == [] and "half" in host.plugins
        yield host
        host.close()


class TestCompactor(CompactorConformance):
    """An isolated compactor does what one in the process of the host does."""

    @pytest.fixture
    def compactor(self, apart: Host) -> Compactor:
        found: Compactor = apart.compactors.get("half")
        assert type(found).__name__ == "IsolatedCompactor"
        return found


async def test_a_run_is_compacted_by_another_process_and_one_that_fails_costs_the_compaction_alone(apart: Host) -> None:
    for name, summed in (("half", True), ("rude", False), ("wrong", False)):
        apart.configure({"compactor": name})
        async with AgentRunner(AgentConfig(model=SMALL), host=apart) as agent:
            agent.set_adapter(model := ScriptedModel([*["word " * 600] * 4, "a summary of the model"]))
            for n in range(4):
                await agent.chat(f"question {n}")
            try:
                await agent.compact()
            except Exception as error:
                assert not summed and ("ended with status 3" in str(error) or "answered with a str" in str(error)), (
                    error
                )
            assert (model.requests[-1].messages[-1].text == "Sum up.") is summed
            assert ("a summary of the model" in agent.messages[0].text) is summed


async def test_a_source_of_credentials_is_asked_in_its_process_and_what_it_gives_is_kept_out_of_texts(
    apart: Host,
) -> None:
    assert await apart.find_secret("ACME_KEY") == "acme-key-of-the-vault" == apart.secret("ACME_KEY")
    assert apart.redact("it is acme-key-of-the-vault") == "it is ***"
    assert await apart.find_secret("NOBODY") is None
    before = len(apart.problems)
    assert await apart.find_secret("NUMBER") is None and await apart.find_secret("END") is None
    said = [p.message for p in apart.problems[before:]]
    assert "answered with a int" in said[0] and "ended with status 3" in said[1], said
