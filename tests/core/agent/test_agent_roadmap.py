"""The roadmap's usage snippets run verbatim, and its stub signatures are accepted by the real classes."""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import importlib.util
import inspect
import os
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

import skillkit_core
from skillkit_core import AgentConfig, AgentRunner, ModelDefinition, StreamEvent, UnknownName
from skillkit_core.events.types import EVENTS
from skillkit_core.testing import Call, Fail, Reply, ScriptedModel

EXAMPLES = {"MyExtension"}  # classes that show how to use SkillKit; every other class of the page is a stub


def roadmap() -> str:
    roots = [p for p in Path(__file__).resolve().parents if (p / "skillkit_core").is_dir()]
    beside = roots[0].parent / "shared" if roots else Path("shared")
    shared = Path(os.environ["SKILLKIT_SHARED"]) if "SKILLKIT_SHARED" in os.environ else beside
    page = shared / "documents" / "roadmap.md"
    if page.is_file():
        return page.read_text()
    if os.environ.get("CI") == "true":
        pytest.fail(f"{page} is not there, and CI must not skip it")
    pytest.skip("the roadmap is not beside the repository; set SKILLKIT_SHARED to run this")


def complete(source: str) -> str:
    """A stub's ``def f(...) -> X`` lines as the Python that they mean: with a body."""
    out = []
    for line in source.splitlines():
        code = line.split("  #")[0].rstrip()
        if re.match(r"\s*(async )?def .*\)( -> .*)?$", code) and not code.endswith(":"):
            line = code + ": ..."
        out.append(line)
    return "\n".join(out)


@dataclasses.dataclass
class Block:
    """One fenced block: the sources of its usage statements and its stub classes."""

    source: str
    usage: list[tuple[ast.stmt, str]]
    stubs: list[ast.ClassDef]


def blocks() -> list[Block]:
    found = []
    for source in re.findall(r"```python\n(.*?)```", roadmap(), re.DOTALL):
        source = complete(source)
        wrapped = "async def main():\n" + textwrap.indent(source, "    ")
        (main,) = ast.parse(wrapped).body
        assert isinstance(main, ast.AsyncFunctionDef)
        usage, stubs, lines = [], [], wrapped.splitlines()
        for node in main.body:
            if isinstance(node, ast.ClassDef) and node.name not in EXAMPLES:
                stubs.append(node)
            elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
                usage.append((node, textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno]))))
        found.append(Block(source, usage, stubs))
    return found


def the_block(text: str) -> Block:
    (found,) = [b for b in blocks() if any(text in source for _, source in b.usage)]
    return found


async def run(source: str, agent: Any, engine: Any, **names: Any) -> dict[str, Any]:
    """Run statements verbatim inside an async function that holds ``agent`` and ``engine``; gives its names."""
    code = "async def main(agent, engine):\n" + textwrap.indent(source, "    ") + "\n    return locals()\n"
    public = {name: getattr(skillkit_core, name) for name in skillkit_core.__all__}
    scope: dict[str, Any] = {**public, **names}
    exec(compile(code, "roadmap.md", "exec"), scope)
    found: dict[str, Any] = await scope["main"](agent, engine)
    return found


# --- usage ----------------------------------------------------------------------------------------------------------


def test_the_guard_snippet_blocks_what_it_says(kit: Any, go: Any) -> None:
    async def main() -> None:
        ran: list[str] = []
        tool = kit.tool("bash", lambda args, ctx: ran.append(args["command"]) or "ok")
        calls = [Call("bash", {"command": "rm -rf /"}), Call("bash", {"command": "ls"})]
        agent = kit.agent(Reply(calls=calls), "end", tools=[tool])
        ((_, source),) = the_block("before_tool_call").usage
        await run(source, agent, agent.host)
        await agent.chat("clean up")
        results = [m for m in agent.messages if m.role == "tool_result"]
        assert [r.outcome for r in results] == ["blocked", "ok"] and ran == ["ls"]
        assert "Dangerous command blocked" in results[0].text

    go(main)


def test_the_plain_stream_snippet_prints_the_text(kit: Any, go: Any, capsys: Any) -> None:
    async def main() -> None:
        agent = kit.agent(Reply(["hel", "lo"], thinking="hm"))
        ((_, source),) = the_block('agent.chat_stream("hello")').usage
        await run(source, agent, agent.host)
        assert capsys.readouterr().out == "hello"

    go(main)


def test_the_match_over_the_stream_prints_each_kind_in_its_way(kit: Any, go: Any, capsys: Any) -> None:
    async def main() -> None:
        from skillkit_core import ErrorKind

        agent = kit.agent(
            Reply("look", [Call("peek")], thinking="hm"), Fail(ErrorKind.auth, "no key"), tools=[kit.tool("peek", "x")]
        )
        source = "\n".join(s for _, s in the_block("chat_stream_events").usage)
        await run(source, agent, agent.host)
        assert capsys.readouterr().out == "[thinking] hmlook\n> Calling peek...\nError: no key\n"

    go(main)


def test_the_tool_output_snippet_prints_live_output(kit: Any, go: Any, capsys: Any) -> None:
    async def main() -> None:
        def body(args: Any, ctx: Any) -> str:
            ctx.on_output("line 1\n")
            return "done"

        agent = kit.agent(Reply(calls=[Call("bash")]), "end", tools=[kit.tool("bash", body)])
        ((_, source),) = the_block("tool_execution_update").usage
        await run(source, agent, agent.host)
        await agent.chat("go")
        assert capsys.readouterr().out == "[bash] line 1\n"

    go(main)


def test_the_configuration_snippet_is_a_configuration(kit: Any, go: Any) -> None:
    async def main() -> None:
        ((_, source),) = the_block("AgentConfig(model=").usage
        names = await run(source, None, None)
        config = names["config"]
        assert (
            isinstance(config, AgentConfig)
            and config.model == "MiniMax-M2.1"
            and "..." not in repr(config).split("base_url")[0]
        )
        assert config.api_key == "..." and "api_key" not in repr(config)

    go(main)


def test_the_context_transformer_is_the_type_of_the_roadmap(kit: Any, go: Any) -> None:
    async def main() -> None:
        from collections.abc import Awaitable, Callable

        (source,) = [s for _, s in the_block("ContextTransformer = ").usage if s.startswith("ContextTransformer")]
        names = await run(source, None, None, Awaitable=Awaitable, Callable=Callable)
        wanted, real = names["ContextTransformer"], skillkit_core.ContextTransformer
        assert len(wanted.__args__) == len(real.__args__) == 2

        agent = kit.agent("end")

        async def transform(messages: list[Any]) -> list[Any]:
            assert type(messages) is list
            return messages

        agent.add_context_transformer(transform)
        assert (await agent.chat("go")).content == "end" and agent.seen.of("handler_error") == []

    go(main)


def extension() -> tuple[str, str]:
    found = the_block("engine.adapters.register")
    (cls,) = [s for n, s in found.usage if isinstance(n, ast.ClassDef)]
    (switch,) = [s for n, s in found.usage if isinstance(n, ast.Expr)]
    return cls, switch


class Local(ScriptedModel):
    """Stands for ``OpenAIAdapter`` where only the way of registering is looked at; made as every adapter is."""

    def __init__(self, host: Any, *, base_url: str | None = None) -> None:
        super().__init__([f"from {base_url}"])


def test_the_extension_snippet_registers_a_provider_and_the_agent_switches_to_it(kit: Any, go: Any) -> None:
    async def main() -> None:
        agent = kit.agent("first")
        engine = agent.host
        cls, switch = extension()
        names = await run(cls, agent, engine, OpenAIAdapter=Local)
        await agent.chat("one")
        with pytest.raises(UnknownName, match="my-local-llm"):
            await run(switch, agent, engine)
        names["MyExtension"]().activate(engine)
        await run(switch, agent, engine)
        assert (await agent.chat("two")).content == "from http://localhost:8080/v1"
        assert "my-local-llm" in engine.adapters.list()
        engine.adapters.unregister_by_source("my-extension")
        assert "my-local-llm" not in engine.adapters

    go(main)


def test_the_extension_snippet_runs_with_the_real_adapter(kit: Any, go: Any) -> None:
    if importlib.util.find_spec("skillkit_openai") is None:
        pytest.skip("skillkit-openai is not installed")

    async def main() -> None:
        from skillkit_openai import OpenAIAdapter  # type: ignore[import-not-found,unused-ignore]

        agent = kit.agent("first")
        cls, switch = extension()
        names = await run(cls, agent, agent.host, OpenAIAdapter=OpenAIAdapter)
        names["MyExtension"]().activate(agent.host)
        await run(switch, agent, agent.host)
        target = await agent.find_target()
        assert isinstance(target.adapter, OpenAIAdapter)
        await target.adapter.close()

    go(main)


# --- stubs ----------------------------------------------------------------------------------------------------------

PLUGINS = {
    "SlidingWindowCompactor": "skillkit_compactors",
    "TokenBudgetCompactor": "skillkit_compactors",
    "BashRuntime": "skillkit_bash",
}


def real_class(name: str) -> Any:
    if name not in PLUGINS:
        return getattr(skillkit_core, name)
    if importlib.util.find_spec(PLUGINS[name]) is None:
        return None
    return getattr(importlib.import_module(PLUGINS[name]), name)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [a.arg for a in function.args.args if a.arg != "self"]


def accepts(real: Any, names: list[str], required: int) -> None:
    """The real callable takes the stub's arguments by position and by name, and no more than them is required."""
    signature = inspect.signature(real)
    dummy = dict.fromkeys(names, object())
    own = [object()] if "self" in signature.parameters else []
    signature.bind(*own, *dummy.values())
    signature.bind(*own, **dummy)
    signature.bind(*own, *list(dummy.values())[:required])


def test_every_stub_is_accepted_by_the_real_class() -> None:
    seen: set[str] = set()
    for block in blocks():
        for stub in block.stubs:
            real = real_class(stub.name)
            if real is None:
                continue
            seen.add(stub.name)
            functions = [n for n in stub.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
            for function in functions:
                found = getattr(real, function.name)
                names = parameters(function)
                accepts(found, names, len(names) - len(function.args.defaults))
                if isinstance(function, ast.AsyncFunctionDef):
                    assert inspect.iscoroutinefunction(found), f"{stub.name}.{function.name} must be async"
            fields = [n for n in stub.body if isinstance(n, ast.AnnAssign)]
            if any(isinstance(d, ast.Name) and d.id == "dataclass" for d in stub.decorator_list):
                names = [n.target.id for n in fields if isinstance(n.target, ast.Name)]
                assert [f.name for f in dataclasses.fields(real)][: len(names)] == names
                accepts(real, names, len([n for n in fields if n.value is None]))
                for node in fields:
                    if node.value is not None and isinstance(node.target, ast.Name):
                        default = next(f.default for f in dataclasses.fields(real) if f.name == node.target.id)
                        assert default == ast.literal_eval(node.value)
            else:
                for node in fields:
                    assert isinstance(node.target, ast.Name)
                    assert hasattr(real, node.target.id) or node.target.id in ("events",)
    assert seen >= {
        "EventBus", "AgentRunner", "StreamEvent", "ModelDefinition", "ModelCost", "ModelRegistry", "AgentMessage", "LLMMessage",
        "SkillRuntime", "AdapterRegistry",
    }  # fmt: skip


def test_the_stream_types_of_the_roadmap_exist() -> None:
    from typing import get_args

    from skillkit_core.stream import StreamType

    (stub,) = [s for b in blocks() for s in b.stubs if s.name == "StreamEvent"]
    (annotation,) = [
        n.annotation for n in stub.body if isinstance(n, ast.AnnAssign) and ast.unparse(n.target) == "type"
    ]
    wanted = {c.value for c in ast.walk(annotation) if isinstance(c, ast.Constant)}
    assert len(wanted) == 12 and wanted <= set(get_args(StreamType))


def test_every_event_of_the_roadmap_can_be_listened_to() -> None:
    names = re.findall(r"^\| `(\w+)` \|", roadmap(), re.MULTILINE)
    assert len(names) == 8 and set(names) <= set(EVENTS)


def test_the_pipeline_of_the_roadmap_is_there(kit: Any, go: Any) -> None:
    """``transform_context``, ``convert_to_llm`` and ``estimate_tokens``, as the body of its ``chat`` calls them."""

    async def main() -> None:
        agent: AgentRunner = kit.agent("end", model=ModelDefinition("m", "scripted", "scripted", context_window=1000))
        await agent.chat("hello")
        context = await agent.transform_context(agent.messages)
        messages = agent.convert_to_llm(context)
        assert [m.role for m in messages] == ["user", "assistant"] and agent.estimate_tokens(messages) > 0

    go(main)


def test_snippets_are_found_at_all() -> None:
    found = blocks()
    assert len(found) >= 10 and sum(len(b.usage) for b in found) >= 8 and StreamEvent("done").terminal
    assert asyncio.iscoroutinefunction(AgentRunner.chat)
