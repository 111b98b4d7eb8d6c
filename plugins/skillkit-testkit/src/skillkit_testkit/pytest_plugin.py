"""The pytest plugin: fixtures for tests of SkillKit plugins. Nothing heavy is imported before a fixture is used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from skillkit_core import Host, ToolResultMessage

    from .command_line import CommandLine
    from .engines import Stage
    from .fork_server import ForkServer
    from .home import Home
    from .mcp_server import MCPServer
    from .oauth_server import OAuthServer
    from .server import LLMServer
    from .smtp_server import SMTPServer
    from .tally import Tally
    from .web_site import WebSite

pytest.register_assert_rewrite("skillkit_testkit.conformance")

# read before a test isolates itself
_SHARED = os.environ.get("SKILLKIT_SHARED")
_HOSTS: pytest.StashKey[list[Host]] = pytest.StashKey()
_TALLY: pytest.StashKey[Tally] = pytest.StashKey()
_MOST = 50  # rows of a table that is printed in any case


def pytest_configure(config: pytest.Config) -> None:
    """Say what the markers mean."""
    config.addinivalue_line("markers", "slow: takes long; -m 'not slow' leaves it out")
    config.addinivalue_line(
        "markers", "sample(number, each=None): all but so many cases, of each value of a parameter, are slow"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark ``slow`` what is beyond the sample of a test that repeats one rule."""
    from .sampling import mark_beyond_the_sample

    mark_beyond_the_sample(items)


@pytest.fixture
def llm_server() -> Iterator[LLMServer]:
    """A scripted model server on loopback (:class:`~skillkit_testkit.server.LLMServer`), running, without a script.

    The test fails at its end when something was asked that the script did not foresee.
    """
    from .server import LLMServer

    with LLMServer() as server:
        yield server
    server.check()


@pytest.fixture
def mcp_server() -> Iterator[MCPServer]:
    """A scripted MCP server (:class:`~skillkit_testkit.MCPServer`), running. The test fails where a function of a tool failed."""
    from .mcp_server import MCPServer

    with MCPServer() as server:
        yield server
    server.check()


@pytest.fixture
def oauth_server() -> Iterator[OAuthServer]:
    """An authorization server (:class:`~skillkit_testkit.OAuthServer`), running, where clients register themselves.

    It fails the test that sent it what no client may.
    """
    from .oauth_server import OAuthServer

    with OAuthServer() as server:
        yield server
    server.check()


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    """Counts cases by what they have in common (:class:`~skillkit_testkit.tally.Tally`); printed after the tests.

    Long tables show what is not whole; with ``-v`` or ``-rA`` everything.
    """
    from .tally import Tally

    return pytestconfig.stash.setdefault(_TALLY, Tally())


@pytest.hookimpl
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine on a loop of its own, unless another plugin (pytest-asyncio, anyio) runs it."""
    import asyncio
    import inspect

    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters

    hosts: list[Host] = pyfuncitem.stash.get(_HOSTS, [])

    async def test() -> None:
        try:
            await pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted})
        finally:
            for host in reversed(hosts):
                await host.aclose()  # here, because connections belong to the loop that opened them

    asyncio.run(test())
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Under pytest-xdist: hand what this process counted to the one that prints."""
    tally, output = session.config.stash.get(_TALLY, None), getattr(session.config, "workeroutput", None)
    if tally is not None and output is not None:
        output["skillkit_tally"] = tally.to_data()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Under pytest-xdist: take what a process counted."""
    counted = getattr(node, "workeroutput", {}).get("skillkit_tally")
    if counted:
        from .tally import Tally

        node.config.stash.setdefault(_TALLY, Tally()).take_in(counted)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print what was counted."""
    tally = config.stash.get(_TALLY, None)
    if tally is None:
        return
    everything = config.get_verbosity() > 0 or "A" in terminalreporter.reportchars
    terminalreporter.section("cases")
    for line in tally.lines(most=None if everything else _MOST):
        terminalreporter.write_line(line)


@pytest.fixture
def skillkit_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty home (:class:`~skillkit_testkit.home.Home`) for this process and what it starts.

    Home, XDG and SkillKit directories lie in ``tmp_path``, no variable holds a key, an endpoint or a SkillKit setting,
    and the current directory is an empty project.
    """
    from .home import isolate

    return isolate(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def skillkit_preload() -> Sequence[str]:
    """Modules that the processes of ``skillkit_cli`` have imported as they start, on Linux; define it anew in ``conftest.py``.

    They are forked from one that imported them, which saves the seconds that an SDK takes. None: each process is a Python of
    its own.
    """
    return ()


@pytest.fixture(scope="session")
def _fork_server(
    skillkit_preload: Sequence[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ForkServer | None]:
    from .fork_server import ForkServer, shared_server

    if not skillkit_preload or not ForkServer.supported():
        yield None
        return
    if "PYTEST_XDIST_WORKER" in os.environ:
        server = shared_server(skillkit_preload, tmp_path_factory.getbasetemp().parent)
    else:
        server = ForkServer(skillkit_preload)
    yield server
    server.close()


@pytest.fixture
def skillkit_cli(_fork_server: ForkServer | None, skillkit_home: Home) -> CommandLine:
    """Runs the ``skillkit`` command as a real process in the empty home: ``skillkit_cli("models", "list", "--json")``.

    Gives a :class:`~skillkit_testkit.command_line.CommandResult`: ``exit_code``, ``stdout``, ``stderr``, ``json``.
    """
    from .command_line import CommandLine

    return CommandLine(skillkit_home, _fork_server)


@pytest.fixture
def install_plugin(skillkit_home: Home, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path], None]:
    """Installs a module as a plugin for the processes that the test starts: ``install_plugin("mine", Path("mine_plugin.py"))``.

    The module is found in the current environment of the test (``PYTHONPATH``), the plugin through an entry point.
    """
    from .home import install

    def add(name: str, module: Path) -> None:
        site = install(skillkit_home, name, module)
        known = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != str(site)]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *known]))

    return add


@pytest.fixture
def make_host(skillkit_home: Home, request: pytest.FixtureRequest) -> Iterator[Callable[..., Host]]:
    """Makes hosts that know only the plugins they are given: ``make_host(plugin, ("name", module), settings={...})``.

    Keyword arguments are those of :class:`~skillkit_core.Host`; ``discover`` is false unless given. Hosts are closed
    after the test.
    """
    made: list[Host] = request.node.stash.setdefault(_HOSTS, [])

    def make(*plugins: Any, **options: Any) -> Host:
        from skillkit_core import Host

        host = Host(plugins=plugins, **{"discover": False, **options})
        made.append(host)
        return host

    yield make
    for host in reversed(made):
        host.close()


@pytest.fixture
def host(make_host: Callable[..., Host]) -> Host:
    """A host without plugins; add some with ``host.add_plugin``."""
    return make_host()


@pytest.fixture
def engine_plugins() -> Sequence[Any]:
    """The plugins of ``engine_stage`` beside the family; define it anew in ``conftest.py``: ``return ["engine-mine"]``.

    Names of installed plugins, or pairs of a name and a plugin, as ``make_host`` takes them.
    """
    return ()


@pytest.fixture
def engine_name() -> str | None:
    """The engine of the skills that ``engine_skill`` writes; define it anew in ``conftest.py``. ``None``: they name none."""
    return None


@pytest.fixture
def engine_skill(tmp_path: Path, engine_name: str | None) -> Callable[..., Path]:
    """Writes a skill for ``engine_stage``: ``engine_skill("weather", "Forecasts.", body="...", tools=["look"])``.

    The fields are those of ``metadata.skillkit``; ``engine`` is that of the fixture ``engine_name`` unless it is given.
    """
    from .engines import write_engine_skill

    def write(name: str, description: str = "", **fields: Any) -> Path:
        return write_engine_skill(tmp_path / "skills", name, description, **{"engine": engine_name, **fields})

    return write


@pytest.fixture
def engine_stage(make_host: Callable[..., Host], tmp_path: Path, engine_plugins: Sequence[Any]) -> Stage:
    """Makes agents with the family of engines (:class:`~skillkit_testkit.engines.Stage`), each with a model by script.

    ``agent, model = engine_stage("the answer", tools=[...])``; it needs ``skillkit-engines``. ``/NAME words`` calls a skill.
    """
    from .engines import Stage

    return Stage(make_host, tmp_path / "skills", engine_plugins)


@pytest.fixture
def web_site() -> Iterator[WebSite]:
    """A web site on loopback (:class:`~skillkit_testkit.web_site.WebSite`), running, without a page."""
    from .web_site import WebSite

    with WebSite() as site:
        yield site
    site.check()


@pytest.fixture
def smtp_server() -> Iterator[SMTPServer]:
    """A mail server on loopback (:class:`~skillkit_testkit.smtp_server.SMTPServer`), running; it needs ``aiosmtpd``."""
    from .smtp_server import SMTPServer

    with SMTPServer() as server:
        yield server


@pytest.fixture
def call_tools() -> Callable[..., list[ToolResultMessage]]:
    """Calls tools as a model does, one after the other in one conversation, and returns their results.

    ``call_tools(host, ("look_tool", {"place": "Oslo"}), ...)``; a text among the calls is what the model answers where the tool
    before it asks one. Keyword arguments are those of :class:`~skillkit_core.AgentConfig`, and ``clock``.
    """
    from .tool_calls import call_tools

    return call_tools


@pytest.fixture
def shared_data(request: pytest.FixtureRequest) -> Path:
    """The directory of third-party test data: ``SKILLKIT_SHARED``, else ``shared`` beside the repository.

    Where it is absent the test is skipped; with ``CI=true`` it fails.
    """
    from .shared import find_shared

    found = find_shared(request.path, _SHARED)
    if found is not None:
        return found
    message = "no third-party test data: set SKILLKIT_SHARED, or put it into ../shared beside the repository"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{message} (required where CI=true)", pytrace=False)
    pytest.skip(message)
