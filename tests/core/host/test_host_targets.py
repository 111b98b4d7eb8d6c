"""Which provider and model answer, from names, keys and endpoints; asked through a whole agent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skillkit_core import AgentConfig, AgentError, AgentRunner, Host, ModelDefinition, Provider, hookimpl
from skillkit_core.errors import UnknownName, UsageError
from skillkit_core.testing import Reply, ScriptedModel


class Answering(ScriptedModel):
    """An adapter that answers with how it was made and what it was asked."""

    api = "acme-chat"
    made: list[Answering]

    def __init__(self, host: Any, *, provider: str, base_url: Any, api_key: Any, headers: Any, **options: Any) -> None:
        super().__init__([lambda request: Reply(f"{provider}/{request.model.id}")], repeat=True)
        self.provider, self.base_url, self.api_key = provider, base_url, api_key
        self.headers, self.options = headers, options
        host.made.append(self)


class OtherApi(Answering):
    api = "openai-chat"


class Plugin:
    name = "acme"

    @hookimpl
    def register_adapters(self, register: Any) -> None:
        both = {"acme-chat": Answering, "openai-chat": OtherApi}
        register(Provider("acme", both, base_url_env="ACME_URL", api_key_env=("ACME_KEY", "ACME_TOKEN"),
                          default_model="acme-1", rank=10, headers={"x": "y"}, options={"mode": "fast"}))  # fmt: skip
        register(Provider("beta", both, "https://beta.test/v1", api_key_env=("BETA_KEY",), default_model="b-1", rank=5))
        register(Provider("local", both, "http://localhost:1/v1", default_model="l-1", rank=1000))
        register(Provider("openish", {"openai-chat": OtherApi}, base_url_env="OPENISH_URL", api_key_env=("OPENISH_KEY",),
                          default_model="o-1", generic=True))  # fmt: skip
        register(Provider("bare", {"acme-chat": Answering}, api_aliases={"openish-compatible": "openai-chat"}))

    @hookimpl
    def register_models(self, register: Any) -> None:
        register(ModelDefinition("acme-1", "acme", "acme-chat", aliases=("acme-latest",)))
        register(ModelDefinition("twin", "acme", "acme-chat"))
        register(ModelDefinition("twin", "local", "acme-chat"))
        register(ModelDefinition("orphan", "nobody", "acme-chat"))


@pytest.fixture
def make(tmp_path: Any) -> Any:
    def make(**environ: str) -> Host:
        host = Host(discover=False, plugins=[Plugin()], cwd=tmp_path, environ={"HOME": str(tmp_path), **environ})
        host.made = []  # type: ignore[attr-defined]
        return host

    return make


def ask(host: Any, **config: Any) -> str:
    """The answer of an agent: provider/model."""

    async def main() -> str:
        async with AgentRunner(AgentConfig(**config), host=host) as agent:
            return (await agent.chat("hello")).content

    return asyncio.run(main())


def refused(host: Any, **config: Any) -> str:
    with pytest.raises(AgentError) as caught:
        ask(host, **config)
    assert isinstance(caught.value.__cause__, UsageError), repr(caught.value.__cause__)
    return str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("environ", "config", "answer"),
    [
        ({}, {}, "local/l-1"),
        ({"ACME_KEY": "k"}, {}, "acme/acme-1"),
        ({"ACME_TOKEN": "k"}, {}, "acme/acme-1"),
        ({"ACME_KEY": "k", "BETA_KEY": "k"}, {}, "beta/b-1"),
        ({"ACME_URL": "http://here"}, {}, "acme/acme-1"),
        ({"OPENISH_KEY": "k"}, {}, "local/l-1"),
        ({"ACME_KEY": "k"}, {"provider": "local"}, "local/l-1"),
        ({}, {"provider": "local", "model": "anything"}, "local/anything"),
        ({}, {"provider": "local", "model": "local/anything"}, "local/anything"),
        ({}, {"model": "local/some/deep/name"}, "local/some/deep/name"),
        ({"ACME_KEY": "k"}, {"model": "acme-latest"}, "acme/acme-1"),
        ({"ACME_KEY": "k"}, {"model": "acme/new"}, "acme/new"),
        ({"ACME_KEY": "k"}, {"model": "twin"}, "acme/twin"),
        ({}, {"model": "local/twin"}, "local/twin"),
        ({}, {"base_url": "http://server/v1", "model": "m"}, "openish/m"),
        ({}, {"base_url": "http://server/v1"}, "openish/o-1"),
        ({}, {"base_url": "http://server/v1", "provider": "acme", "model": "m"}, "acme/m"),
        ({}, {"api_key": "given", "provider": "beta"}, "beta/b-1"),
        ({}, {"model": ModelDefinition("own", "local", "acme-chat")}, "local/own"),
        ({"SKILLKIT_PROVIDER": "local", "SKILLKIT_MODEL": "configured"}, {}, "local/configured"),
        ({"SKILLKIT_PROVIDER": "local", "ACME_KEY": "k"}, {"model": "acme/mine"}, "acme/mine"),
    ],
)  # fmt: skip
def test_who_answers(make: Any, environ: dict[str, str], config: dict[str, Any], answer: str) -> None:
    assert ask(make(**environ), **config) == answer


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"provider": "amce"}, "unknown provider 'amce'; did you mean 'acme'"),
        ({"provider": "zzz"}, "unknown provider 'zzz'; known: acme, bare, beta, local, openish"),
        ({"model": "acme-2"}, "unknown model 'acme-2'; did you mean 'acme-1'? a model that is not listed needs --provider"),
        ({"provider": "acme"}, "provider 'acme' needs an API key; set ACME_KEY or ACME_TOKEN"),
        ({"provider": "beta", "model": "x"}, "provider 'beta' needs an API key; set BETA_KEY"),
        ({"model": "beta/x"}, "provider 'beta' needs an API key; set BETA_KEY"),
        ({"provider": "local", "api": "openai-cht"}, "unknown api 'openai-cht'; provider 'local' speaks acme-chat, openai-chat"),
        ({"provider": "bare", "model": "m", "api": "openish-compatible"},
         "unknown api 'openish-compatible'; provider 'bare' speaks acme-chat"),
        ({"provider": "bare"}, "provider 'bare' has no default model; name one with --model"),
        ({"model": "orphan"}, "unknown provider 'nobody'; model 'orphan' needs it; install its plugin"),
        ({"base_url": "http://x", "api": "acme-chat"}, "no installed provider takes an endpoint of its own with api 'acme-chat'"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_told_with_the_way_out(make: Any, config: dict[str, Any], error: str) -> None:
    assert refused(make(), **config).startswith(error)


def test_nothing_that_can_be_asked(tmp_path: Any) -> None:
    host = Host(discover=False, cwd=tmp_path, environ={"HOME": str(tmp_path)})
    assert refused(host).startswith("no provider can be asked; install the plugin of a provider, or name a provider")


def test_the_keys_that_are_missing_are_named_best_first(tmp_path: Any) -> None:
    host = Host(discover=False, cwd=tmp_path, environ={"HOME": str(tmp_path)})
    ranked = (
        ("later", 20, ("LATER_KEY",)),
        ("first", 10, ("FIRST_KEY", "FIRST_TOKEN")),
        ("never", None, ("NEVER_KEY",)),
    )
    for name, rank, keys in ranked:
        host.add_plugin(offering(Provider(name, {"x": "x:X"}, api_key_env=keys, rank=rank)), name=name)
    assert refused(host).startswith("no provider can be asked; set FIRST_KEY or LATER_KEY, or name a provider")


def offering(provider: Provider) -> Any:
    class Plugin:
        @hookimpl
        def register_adapters(self, register: Any) -> None:
            register(provider)

    return Plugin()


def test_an_adapter_is_made_with_its_provider_s_endpoint_key_headers_and_options(make: Any) -> None:
    host = make(ACME_KEY="", ACME_TOKEN="second", ACME_URL="http://own")
    ask(host, provider="acme")
    (adapter,) = host.made
    assert (adapter.provider, adapter.base_url, adapter.api_key) == ("acme", "http://own", "second")
    assert (adapter.headers, adapter.options) == ({"x": "y"}, {"mode": "fast"})
    ask(host, provider="acme", base_url="http://asked", api_key="third")
    assert (host.made[1].base_url, host.made[1].api_key) == ("http://asked", "third")


@pytest.mark.parametrize(
    ("configured", "config", "asked"),
    [
        ({}, {}, ("openish/o-1", "http://house")),
        ({}, {"model": "unlisted"}, ("openish/unlisted", "http://house")),
        ({}, {"provider": "openish"}, ("openish/o-1", "http://house")),
        ({}, {"provider": "openish", "model": "unlisted"}, ("openish/unlisted", "http://house")),
        ({}, {"provider": "local"}, ("local/l-1", "http://localhost:1/v1")),
        ({}, {"model": "local/any"}, ("local/any", "http://localhost:1/v1")),
        ({}, {"model": ModelDefinition("own", "local", "acme-chat")}, ("local/own", "http://localhost:1/v1")),
        ({}, {"base_url": "http://asked"}, ("openish/o-1", "http://asked")),
        ({"PROVIDER": "acme"}, {"model": "acme-latest"}, ("acme/acme-1", "http://house")),
        ({"PROVIDER": "acme"}, {"model": "unlisted"}, ("acme/unlisted", "http://house")),
        ({"PROVIDER": "acme"}, {"provider": "acme"}, ("acme/acme-1", "http://house")),
        ({"PROVIDER": "local", "MODEL": "acme-1"}, {}, ("local/acme-1", "http://house")),
    ],
)  # fmt: skip
def test_the_configured_endpoint_is_that_of_the_configured_provider(
    make: Any, configured: dict[str, str], config: dict[str, Any], asked: tuple[str, str]
) -> None:
    settings = {f"SKILLKIT_{name}": value for name, value in configured.items()}
    host = make(ACME_KEY="k", OPENISH_KEY="k", SKILLKIT_BASE_URL="http://house", **settings)
    assert (ask(host, **config), host.made[-1].base_url) == asked


def test_a_model_that_is_chosen_later_is_looked_for_at_the_configured_endpoint(make: Any) -> None:
    host = make(SKILLKIT_BASE_URL="http://house")

    async def main() -> None:
        async with AgentRunner(host=host) as agent:
            assert (await agent.chat("hello")).content == "openish/o-1"
            agent.set_model("unlisted")
            assert (await agent.chat("hello")).content == "openish/unlisted"

    asyncio.run(main())
    assert {adapter.base_url for adapter in host.made} == {"http://house"}


def test_one_adapter_serves_all_agents_with_the_same_target(make: Any) -> None:
    host = make(ACME_KEY="k")
    for model in ("a", "b"):
        ask(host, provider="acme", model=model)
    assert len(host.made) == 1
    ask(host, provider="acme", api="openish-compatible", model="a")
    assert [type(a) for a in host.made] == [Answering, OtherApi]


def test_an_alias_of_an_api_counts_for_every_provider_as_long_as_a_provider_declares_it(make: Any) -> None:
    host = make()
    plain = {"base_url": "http://server/v1", "model": "m"}
    assert ask(host, **plain, api="openish-compatible") == "openish/m"
    assert ask(host, model=ModelDefinition("own", "local", "openish-compatible")) == "local/own"
    assert {type(a) for a in host.made} == {OtherApi}
    host.adapters.unregister("bare")
    assert "with api 'openish-compatible'" in refused(host, **plain, api="openish-compatible")
    error = refused(host, provider="local", api="openish-compatible")
    assert error.startswith("unknown api 'openish-compatible'; provider 'local' speaks acme-chat, openai-chat")


def test_the_environment_of_the_host_counts_and_not_that_of_the_process(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_KEY", "from-the-process")
    monkeypatch.setenv("ACME_URL", "http://from-the-process")
    assert ask(make()) == "local/l-1"


def test_keys_from_a_credentials_plugin_count(make: Any) -> None:
    host = make()

    class Keys:
        @hookimpl
        def resolve_secret(self, name: str) -> str | None:
            return "from-the-vault" if name == "BETA_KEY" else None

    host.add_plugin(Keys())
    assert ask(host) == "beta/b-1"
    assert host.made[0].api_key == "from-the-vault"
    assert host.redact("it was from-the-vault") == "it was ***"


def test_hooks_answer_before_the_registries(make: Any) -> None:
    host = make()

    class Router:
        @hookimpl
        async def resolve_model(self, name: str) -> ModelDefinition | None:
            await asyncio.sleep(0)
            return ModelDefinition("chosen", "local") if name == "cheap" else None

        @hookimpl
        def resolve_adapter(self, provider: str, config: Any, host: Any) -> Any:
            return ScriptedModel(["from the hook"]) if config.model == "special" else None

    host.add_plugin(Router())
    assert ask(host, model="cheap") == "local/chosen"
    assert ask(host, model="special", provider="local") == "from the hook"


def test_unknown_names_are_lookup_errors_for_programs(make: Any) -> None:
    host = make()
    with pytest.raises(UnknownName):
        host.adapters.get("nobody")
    with pytest.raises(LookupError):
        host.runtimes.get("nothing")
    host.adapters.unregister("bare")
    assert "bare" not in host.adapters


def test_a_finished_adapter_can_be_registered_while_agents_run(make: Any) -> None:
    host = make()
    adapter = ScriptedModel(["ready-made"])
    host.adapters.register("mine", adapter)
    assert host.adapters.get("mine") is adapter
    assert host.adapters.provider("mine") is None
    assert ask(host, provider="mine", model="m") == "ready-made"
    assert "default model" in refused(host, provider="mine")
