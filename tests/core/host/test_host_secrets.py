"""Secrets that plugins hold: async ones are awaited, refused ones are refreshed, and no key is ever the text of a coroutine."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentRunner, ErrorKind, Factory, Host, Provider, hookimpl
from skillkit_core.errors import AgentError, UsageError
from skillkit_core.testing import Fail, ScriptedModel


class Vault:
    """Holds secrets behind something that must be awaited."""

    def __init__(self, **secrets: str) -> None:
        self.secrets = secrets
        self.asked: list[str] = []

    @hookimpl
    async def resolve_secret(self, name: str) -> str | None:
        await asyncio.sleep(0)
        self.asked.append(name)
        return self.secrets.get(name)


class Source:
    """The same as a source of credentials."""

    def __init__(self, **secrets: str) -> None:
        self.secrets = secrets

    async def get(self, name: str) -> str | None:
        await asyncio.sleep(0)
        return self.secrets.get(name)

    @hookimpl
    def register_credentials(self, register: Any) -> None:
        register(Factory("source", lambda host: self))


class Adapters:
    """Two providers that want a key; each adapter keeps the one that it was made with."""

    def __init__(self, refuse: tuple[str, ...] = ()) -> None:
        self.refuse = refuse
        self.made: list[str] = []

    @hookimpl
    def register_adapters(self, register: Any) -> None:
        for rank, name in enumerate(("acme", "beta")):
            register(
                Provider(name, {"x": self.make}, api_key_env=(f"{name.upper()}_KEY",), default_model="m", rank=rank)
            )

    def make(self, host: Any, **options: Any) -> Any:
        key = options["api_key"]
        self.made.append(key)
        return ScriptedModel([Fail(ErrorKind.auth, "no such key") if key in self.refuse else key], repeat=True)


@pytest.fixture
def make(tmp_path: Any) -> Any:
    def make(*plugins: Any, **environ: str) -> Host:
        named = [(type(p).__name__.lower(), p) for p in plugins]
        return Host(discover=False, plugins=named, cwd=tmp_path, environ={"HOME": str(tmp_path), **environ})

    return make


def ask(host: Host, **config: Any) -> str:
    async def main() -> str:
        async with AgentRunner(AgentConfig(**config), host=host) as agent:
            return (await agent.chat("hi")).content

    return asyncio.run(main())


@pytest.mark.parametrize("kind", [Vault, Source])
@pytest.mark.parametrize("config", [{}, {"provider": "beta"}, {"model": "beta/m"}])
def test_an_async_plugin_gives_the_key_of_the_request(make: Any, kind: Any, config: Any) -> None:
    adapters = Adapters()
    host = make(kind(BETA_KEY="key-of-beta"), adapters)
    assert ask(host, **config) == "***", "the key itself, redacted: the adapter answers with it"
    assert adapters.made == ["key-of-beta"]
    assert not host.problems


def test_find_secret_asks_in_turn_and_the_environment_first(make: Any) -> None:
    vault = Vault(A="vault-a", B="vault-b", C="vault-c")

    class Plain:
        @hookimpl
        def resolve_secret(self, name: str) -> Any:
            return "plain" if name == "B" else None

    host = make(Plain(), vault, Source(D="source-d"), A="env")

    async def main() -> list[str | None]:
        return [await host.find_secret(name) for name in "ABCDE"]

    assert asyncio.run(main()) == ["env", "plain", "vault-c", "source-d", None]
    assert vault.asked == ["C", "D", "E"]
    assert host.redact("vault-c") == "vault-c", "seven characters are no secret"
    assert host.redact("source-d") == "***"


def test_where_no_loop_runs_an_async_plugin_is_waited_for(make: Any) -> None:
    host = make(Vault(ACME_KEY="from-the-vault"), Adapters())
    assert host.secret("ACME_KEY") == "from-the-vault"
    assert host.adapters.default() == "acme" and not host.problems


@pytest.mark.parametrize("kind", [Vault, Source])
def test_what_cannot_wait_is_told_which_plugin_and_hook_and_never_gets_a_coroutine(make: Any, kind: Any) -> None:
    host = make(kind(ACME_KEY="from-the-vault"), Adapters())

    async def main() -> None:
        assert host.secret("ACME_KEY") is None and host.secret("ACME_KEY") is None
        (problem,) = host.problems
        assert (problem.plugin, problem.stage, problem.severity) == (kind.__name__.lower(), "resolve_secret", "warning")
        assert "resolve_secret is async, and ACME_KEY was asked for where nothing can be awaited" in problem.message
        assert "await host.find_secret('ACME_KEY')" in problem.remedy
        agent = AgentRunner(host=host)
        with pytest.raises(UsageError, match="needs an API key"):
            agent.set_adapter("acme")
        assert await host.find_secret("ACME_KEY") == "from-the-vault"
        agent.set_adapter("acme")  # the answer is known now
        assert host.secret("ACME_KEY") == "from-the-vault"

    asyncio.run(main())


def test_an_async_plugin_that_fails_or_hangs_is_its_own_problem(make: Any) -> None:
    class Failing:
        @hookimpl
        async def resolve_secret(self, name: str) -> str:
            raise OSError("locked")

    class Hanging:
        @hookimpl
        async def resolve_secret(self, name: str) -> str:
            await asyncio.sleep(60)
            return "late"

    host = make(Failing(), Hanging(), Vault(ACME_KEY="from-the-vault"), SKILLKIT_PLUGINS__HOOK_TIMEOUT="0.05")
    assert asyncio.run(host.find_secret("ACME_KEY")) == "from-the-vault"
    assert [p.plugin for p in host.problems] == ["failing", "hanging"]
    assert "OSError: locked" in host.problems[0].message and "0.05 s" in host.problems[1].message


def test_a_cancellation_of_who_waits_passes(make: Any) -> None:
    class Slow:
        @hookimpl
        async def resolve_secret(self, name: str) -> str:
            await asyncio.sleep(60)
            return "late"

    host = make(Slow())

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await host.find_secret("KEY")

    asyncio.run(main())
    assert not host.problems


class Login:
    """Renews what was refused."""

    def __init__(self, *tokens: str | None) -> None:
        self.tokens = list(tokens)
        self.asked: list[tuple[str, str]] = []

    @hookimpl
    async def refresh_secret(self, name: str, stale: str) -> str | None:
        await asyncio.sleep(0)
        self.asked.append((name, stale))
        return self.tokens.pop(0) if self.tokens else None


def test_a_refreshed_secret_counts_in_place_of_the_stale_one_and_is_redacted(make: Any) -> None:
    login = Login("token-two", "token-three")
    host = make(login, KEY="token-one")

    async def main() -> None:
        assert await host.secrets.refresh("KEY", "token-one") == "token-two"
        assert host.secret("KEY") == await host.find_secret("KEY") == "token-two"
        assert await host.secrets.refresh("KEY", "token-one") == "token-two", "somebody else has refreshed it"
        assert await host.secrets.refresh("KEY", "token-two") == "token-three"
        assert host.secret("KEY") == "token-three"
        assert await host.secrets.refresh("KEY", "token-three") is None
        assert login.asked == [("KEY", "token-one"), ("KEY", "token-two"), ("KEY", "token-three")]
        assert host.redact("token-three of token-two") == "*** of ***"
        host.environ["KEY"] = "set-anew"
        assert host.secret("KEY") == "set-anew", "what replaced a value does not hide another one"

    asyncio.run(main())


def test_a_request_that_is_refused_for_its_key_is_made_once_more_with_a_fresh_one(make: Any) -> None:
    adapters, login = Adapters(refuse=("old-token",)), Login("new-token")
    host = make(adapters, login, ACME_KEY="old-token")

    async def main() -> None:
        async with AgentRunner(host=host) as agent:
            response = await agent.chat("hi")
            assert response.outcome == "completed"
            assert adapters.made == ["old-token", "new-token"]
            assert login.asked == [("ACME_KEY", "old-token")]
            await agent.chat("again")
            assert len(adapters.made) == 2

    asyncio.run(main())


@pytest.mark.parametrize("tokens", [(), ("old-token",), ("also-refused", "never-asked")])
def test_without_a_better_secret_the_run_fails_with_the_refusal(make: Any, tokens: tuple[str, ...]) -> None:
    adapters, login = Adapters(refuse=("old-token", "also-refused")), Login(*tokens)
    host = make(adapters, login, ACME_KEY="old-token")

    async def main() -> None:
        async with AgentRunner(host=host) as agent:
            with pytest.raises(AgentError, match="no such key"):
                await agent.chat("hi")
            assert len(login.asked) == 1

    asyncio.run(main())


def test_a_key_that_the_agent_was_given_is_not_refreshed(make: Any) -> None:
    adapters, login = Adapters(refuse=("own-token",)), Login("new-token")
    host = make(adapters, login, ACME_KEY="other-token")
    with pytest.raises(AgentError, match="no such key"):
        ask(host, provider="acme", api_key="own-token")
    assert login.asked == []
